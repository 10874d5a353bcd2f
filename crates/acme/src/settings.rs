//! The decisions of an administrator: names, issuers, challenges, and where the state is kept.
//!
//! Plain data, and the check of it. Opens no file, and makes no directory but that of the state.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use rustls_pki_types::CertificateDer;

use crate::folder;
use crate::limits::{CERTIFICATES, ISSUERS, NAMES};
use crate::names::{CertificateNames, Name};

/// The directory of Let's Encrypt.
pub const LETS_ENCRYPT: &str = "https://acme-v02.api.letsencrypt.org/directory";

/// Everything that `start` needs to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenewalSettings {
    /// The certificates. One for each name is best: then a name that fails holds up no other. Addresses share one.
    pub certificates: Vec<CertificateNames>,
    /// The issuers in the order in which they are asked; at least one.
    pub issuers: Vec<Issuer>,
    /// The address to which an authority can send mail; most authorities no longer send any.
    pub email: Option<String>,
    /// The profile of certificates, such as `shortlived`. An issuer that does not offer it issues its own default. For
    /// addresses without a profile it is `shortlived`, because others have none.
    pub profile: Option<String>,
    /// The challenges that may be used, the preferred one first. After a failure the next one is tried.
    pub challenges: Vec<ChallengeKind>,
    /// Where accounts, certificates and keys are kept. Servers that share it never order both.
    pub state: StatePlace,
    /// Authorities that are trusted for the connections to issuers, besides the public ones: for issuers of one's own,
    /// and tests.
    pub roots: Vec<CertificateDer<'static>>,
    /// Whether the administrator agrees to the terms of the issuers.
    pub terms: TermsAgreement,
}

/// Where the state is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatePlace {
    /// In files of a directory.
    Directory(PathBuf),
    /// In records of the server ([`RecordKeeper`](crate::RecordKeeper)).
    Server {
        /// The file whose lock lets one of the servers order that have the same records.
        lock: PathBuf,
    },
}

impl StatePlace {
    /// The file of the lock.
    pub(crate) fn lock(&self) -> PathBuf {
        match self {
            Self::Directory(path) => path.join("lock"),
            Self::Server { lock } => lock.clone(),
        }
    }

    /// The directory, if the state has one of its own.
    pub fn directory(&self) -> Option<&Path> {
        match self {
            Self::Directory(path) => Some(path),
            Self::Server { .. } => None,
        }
    }

    /// The path that is written: the directory, or the file of the lock.
    pub fn path(&self) -> &Path {
        match self {
            Self::Directory(path) | Self::Server { lock: path } => path,
        }
    }

    /// Makes the directory and the folders in it if they are not there: for a server that may make none later. Only
    /// the user of this process can read one that is made; one that is there keeps its mode.
    ///
    /// # Errors
    /// If one cannot be made.
    pub fn make(&self) -> io::Result<()> {
        self.directory().map_or(Ok(()), folder::make)
    }
}

impl From<PathBuf> for StatePlace {
    fn from(directory: PathBuf) -> Self {
        Self::Directory(directory)
    }
}

/// Whether the terms of the issuers are agreed to. Without that, no account can be made (RFC 8555 section 7.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TermsAgreement {
    /// They are.
    Agreed,
    /// They are not.
    NotAgreed,
}

/// An authority that issues certificates by ACME.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issuer {
    /// The URL of its directory (RFC 8555 section 7.1.1); `https` only.
    pub directory: String,
    /// The account with the authority that the ACME account belongs to, where it asks for one (RFC 8555 section 7.3.4).
    pub external_account: Option<ExternalAccount>,
}

/// An account with an authority outside of ACME.
#[derive(Clone, PartialEq, Eq)]
pub struct ExternalAccount {
    /// Its key identifier.
    pub id: String,
    /// Its key, decoded.
    pub key: Vec<u8>,
}

impl fmt::Debug for ExternalAccount {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ExternalAccount").field("id", &self.id).finish_non_exhaustive()
    }
}

/// How a name is proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChallengeKind {
    /// A file that is answered on port 80 (RFC 8555 section 8.3).
    Http01,
    /// A certificate that is shown on port 443 (RFC 8737).
    TlsAlpn01,
    /// A lasting record in DNS that names the account. The administrator sets it once; the event `RecordNeeded` says
    /// which.
    DnsPersist01,
}

impl ChallengeKind {
    /// Its name in ACME.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http01 => "http-01",
            Self::TlsAlpn01 => "tls-alpn-01",
            Self::DnsPersist01 => "dns-persist-01",
        }
    }

    /// Whether it can prove a name of this kind: HTTP and TLS prove no wildcard (RFC 8555 section 8.3, RFC 8737
    /// section 3), DNS no address.
    pub const fn can_prove(self, name: &Name) -> bool {
        match self {
            Self::Http01 | Self::TlsAlpn01 => !matches!(name, Name::Wildcard(_)),
            Self::DnsPersist01 => !matches!(name, Name::Address(_)),
        }
    }
}

/// Why settings cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The terms of the issuers are not agreed to.
    #[error("the terms of the issuers are not agreed to")]
    Terms,
    /// No certificate, or more than [`CERTIFICATES`].
    #[error("there have to be 1 to {CERTIFICATES} certificates")]
    Certificates,
    /// More addresses than the names of one certificate.
    #[error(
        "there are more than {NAMES} addresses, which share a certificate; write names instead"
    )]
    Addresses,
    /// The same names twice.
    #[error("{0} is there twice")]
    Twice(String),
    /// No issuer, or more than [`ISSUERS`].
    #[error("there have to be 1 to {ISSUERS} issuers")]
    Issuers,
    /// The URL of an issuer does not begin with `https://`.
    #[error("the directory {0} does not begin with https://")]
    Directory(String),
    /// No challenge can prove a name.
    #[error(
        "none of the challenges can prove {0}; wildcards need dns-persist-01, addresses http-01 \
         or tls-alpn-01"
    )]
    Unprovable(String),
}

impl RenewalSettings {
    /// Settings with Let's Encrypt as issuer and a certificate for each name, proved on port 80 or 443. Addresses share
    /// one: clients that connect to an address do not say to which (RFC 6066 section 3). The terms are not agreed to.
    ///
    /// # Errors
    /// If there are more addresses than a certificate can have.
    pub fn new(
        names: impl IntoIterator<Item = Name>,
        state: impl Into<StatePlace>,
    ) -> Result<Self, SettingsError> {
        let is_address = |name: &Name| matches!(name, Name::Address(_));
        let (addresses, names): (Vec<Name>, Vec<Name>) = names.into_iter().partition(is_address);
        let one =
            |name| CertificateNames::new([name]).expect("one name is neither none nor too many");
        let mut certificates: Vec<CertificateNames> = names.into_iter().map(one).collect();
        if !addresses.is_empty() {
            certificates
                .push(CertificateNames::new(addresses).map_err(|_| SettingsError::Addresses)?);
        }
        Ok(Self {
            certificates,
            issuers: vec![Issuer { directory: LETS_ENCRYPT.to_owned(), external_account: None }],
            email: None,
            profile: None,
            challenges: vec![ChallengeKind::Http01, ChallengeKind::TlsAlpn01],
            state: state.into(),
            roots: Vec::new(),
            terms: TermsAgreement::NotAgreed,
        })
    }

    /// Checks the settings without opening anything.
    ///
    /// # Errors
    /// The first problem.
    pub fn check(&self) -> Result<(), SettingsError> {
        if self.terms == TermsAgreement::NotAgreed {
            return Err(SettingsError::Terms);
        }
        if self.certificates.is_empty() || self.certificates.len() > CERTIFICATES {
            return Err(SettingsError::Certificates);
        }
        if self.issuers.is_empty() || self.issuers.len() > ISSUERS {
            return Err(SettingsError::Issuers);
        }
        let is_insecure = |issuer: &&Issuer| !issuer.directory.starts_with("https://");
        if let Some(issuer) = self.issuers.iter().find(is_insecure) {
            return Err(SettingsError::Directory(issuer.directory.clone()));
        }
        let mut all: Vec<&CertificateNames> = self.certificates.iter().collect();
        all.sort_unstable_by_key(|names| names.key());
        if let Some(pair) = all.windows(2).find(|pair| pair[0].key() == pair[1].key()) {
            return Err(SettingsError::Twice(pair[0].to_string()));
        }
        let provable = |name: &Name| self.challenges.iter().any(|kind| kind.can_prove(name));
        let unprovable =
            self.certificates.iter().flat_map(CertificateNames::iter).find(|name| !provable(name));
        unprovable.map_or(Ok(()), |name| Err(SettingsError::Unprovable(name.to_string())))
    }
}
