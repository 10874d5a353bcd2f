//! A certificate with its chain and its key: what a server or a client shows.
//!
//! Owns the checks of such a pair: that the key fits, and what the chain lacks. Never chooses among several.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::InconsistentKeys;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use crate::certificate::{Certificate, MalformedCertificate};
use crate::pem::{PemError, read_certificates, read_key};
use crate::provider::provider;

/// A certificate with its chain and its key. Clones share it: ten thousand of them are listed again at each change.
#[derive(Clone, Debug)]
pub struct Identity(Arc<Pair>);

#[derive(Debug)]
struct Pair {
    key: Arc<CertifiedKey>,
    private: PrivateKeyDer<'static>,
    facts: Certificate,
    /// Its flaws; it can be used in spite of them.
    flaws: Vec<Flaw>,
}

/// A flaw of a certificate that can be used in spite of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// No certificate follows that has issued it: clients that do not know the issuer refuse it.
    IncompleteChain {
        /// The missing issuer.
        issuer: String,
    },
    /// The certificate of an issuer follows, but others stand before it (RFC 5246 section 7.4.2): some clients refuse
    /// the connection.
    ChainOrder {
        /// The issuer.
        issuer: String,
    },
    /// It is for no name: clients do not look at its subject (RFC 9525 section 2).
    NoName,
}

impl fmt::Display for Flaw {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IncompleteChain { issuer } => write!(
                formatter,
                "the chain ends before {issuer}: clients that do not have that certificate refuse the \
                 connection; append it to the file"
            ),
            Self::ChainOrder { issuer } => write!(
                formatter,
                "the certificate of {issuer} must stand right behind the one that it has issued: some \
                 clients refuse another order"
            ),
            Self::NoName => formatter.write_str(
                "it has no name of a host and no address (subjectAltName): clients refuse it",
            ),
        }
    }
}

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// A file cannot be read.
    #[error("{0}")]
    Pem(PemError),
    /// The certificate cannot be read.
    #[error(
        "`{path}`: {1}",
        path = .0.display()
    )]
    Certificate(PathBuf, MalformedCertificate),
    /// The key is of a kind that TLS does not use, or is too short.
    #[error(
        "the key in `{}` cannot sign: it must be ECDSA (P-256, P-384), Ed25519, or RSA of 2048 to \
         8192 bits",
        .0.display()
    )]
    Key(PathBuf),
    /// The key belongs to another certificate.
    #[error(
        "the key in `{}` does not belong to the certificate in `{}`; the first certificate of the \
         file must be the server's own",
        .key.display(), .certificate.display()
    )]
    OtherKey {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
    },
}

impl Identity {
    /// Reads the chain and the key from PEM files, which may be the same.
    ///
    /// # Errors
    /// The problem, and the file that has it.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, IdentityError> {
        let chain = read_certificates(certificate).map_err(IdentityError::Pem)?;
        let private = read_key(key).map_err(IdentityError::Pem)?;
        Self::of(chain, private, (certificate, key))
    }

    /// The identity of a chain and a key. Errors name these files, from which the caller has read them.
    ///
    /// # Errors
    /// The problem, and which of them has it.
    pub fn of(
        chain: Vec<CertificateDer<'static>>,
        private: PrivateKeyDer<'static>,
        (certificate, key): (&Path, &Path),
    ) -> Result<Self, IdentityError> {
        let unreadable = |error| IdentityError::Certificate(certificate.to_path_buf(), error);
        let facts = chain.iter().map(|der| Certificate::read(der)).collect::<Result<Vec<_>, _>>();
        let facts = facts.map_err(unreadable)?;
        let signing = provider()
            .key_provider
            .load_private_key(private.clone_key())
            .map_err(|_| IdentityError::Key(key.to_path_buf()))?;
        let pair = CertifiedKey::new(chain, signing);
        match pair.keys_match() {
            // A kind of key of which this cannot be told.
            Ok(()) | Err(rustls::Error::InconsistentKeys(InconsistentKeys::Unknown)) => {}
            Err(_) => {
                return Err(IdentityError::OtherKey {
                    certificate: certificate.to_path_buf(),
                    key: key.to_path_buf(),
                });
            }
        }
        let flaws = flaws_of(&facts);
        let Some(own) = facts.into_iter().next() else {
            return Err(IdentityError::Pem(PemError::NoCertificate(certificate.to_path_buf())));
        };
        Ok(Self(Arc::new(Pair { key: Arc::new(pair), private, facts: own, flaws })))
    }

    /// The contents of the certificate.
    pub fn certificate(&self) -> &Certificate {
        &self.0.facts
    }

    /// Its flaws; it can be used in spite of them.
    pub fn flaws(&self) -> &[Flaw] {
        &self.0.flaws
    }

    /// The key, for a client that shows the certificate.
    pub(crate) fn private_key(&self) -> PrivateKeyDer<'static> {
        self.0.private.clone_key()
    }

    pub(crate) fn key(&self) -> &Arc<CertifiedKey> {
        &self.0.key
    }
}

/// Each certificate must be followed by its issuer, until one whose issuer clients have. Which ones they have cannot be
/// told: a certificate without the one of its authority is the usual mistake.
fn flaws_of(chain: &[Certificate]) -> Vec<Flaw> {
    let Some(own) = chain.first() else { return Vec::new() };
    let no_name = own.names.is_empty().then_some(Flaw::NoName);
    no_name.into_iter().chain(flaw_of_chain(chain)).collect()
}

fn flaw_of_chain(chain: &[Certificate]) -> Option<Flaw> {
    for (place, one) in chain.iter().enumerate() {
        if one.is_self_signed() {
            return None;
        }
        let (issuer, mut behind) = (&one.issuer, chain.iter().skip(place + 1));
        let follows = behind.next().is_some_and(|next| next.subject == *issuer);
        if follows {
            continue;
        }
        if behind.any(|other| other.subject == *issuer) {
            return Some(Flaw::ChainOrder { issuer: issuer.clone() });
        }
        return (place == 0).then(|| Flaw::IncompleteChain { issuer: issuer.clone() });
    }
    None
}
