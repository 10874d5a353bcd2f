//! `[acme]` as plain data.
//!
//! Owns the shape and the defaults. Never reads text: `acme` does.

use std::path::PathBuf;

/// `[acme]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcmeSettings {
    /// The names, each of which gets a certificate; none: nothing is ordered.
    pub names: Vec<String>,
    /// Where authorities may send mail.
    pub email: Option<String>,
    /// The authorities in the order in which they are asked.
    pub issuers: Vec<AcmeIssuer>,
    /// The profile of certificates.
    pub profile: Option<String>,
    /// How names are proved, the preferred way first.
    pub challenges: Vec<AcmeChallenge>,
    /// Where accounts, keys and certificates are kept.
    pub state: AcmeState,
    /// A PEM file with authorities that issuers may prove themselves with, besides the public ones.
    pub ca: Option<PathBuf>,
}

/// Where accounts, keys and certificates are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum AcmeState {
    /// In a directory that depends on the user.
    #[default]
    Usual,
    /// In this directory.
    Directory(PathBuf),
    /// In the store.
    Store,
}

/// An authority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcmeIssuer {
    /// The URL of its directory.
    pub directory: String,
    /// An account with it outside of ACME, where it asks for one.
    pub account: Option<AcmeAccount>,
}

/// An account with an authority outside of ACME (RFC 8555 section 7.3.4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcmeAccount {
    /// Its key identifier.
    pub key_id: String,
    /// The file with its key in base64url.
    pub key_file: PathBuf,
}

/// How a name is proved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AcmeChallenge {
    /// By an answer on port 80.
    Http01,
    /// By a certificate on port 443.
    TlsAlpn01,
    /// By a lasting record in DNS.
    DnsPersist01,
}

impl Default for AcmeSettings {
    fn default() -> Self {
        let [(_, directory), _] = ISSUERS;
        Self {
            names: Vec::new(),
            email: None,
            issuers: vec![AcmeIssuer { directory: directory.to_owned(), account: None }],
            profile: None,
            challenges: vec![AcmeChallenge::Http01, AcmeChallenge::TlsAlpn01],
            state: AcmeState::Usual,
            ca: None,
        }
    }
}

/// Authorities that have a name here, and the URLs of their directories.
pub(crate) const ISSUERS: [(&str, &str); 2] = [
    ("letsencrypt", "https://acme-v02.api.letsencrypt.org/directory"),
    ("letsencrypt-staging", "https://acme-staging-v02.api.letsencrypt.org/directory"),
];
