//! A certificate with its key as one file, and the check that the two belong together.
//!
//! Owns the form: the key, then the chain, in PEM (RFC 7468). One file, so that no crash can separate them.

use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::{self, PemObject};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use crate::limits::CHAIN;
use crate::moment::{Fraction, UtcSecond};
use crate::names::CertificateNames;
use crate::provider::provider;
use crate::schedule::Life;
use crate::sink::IssuedCertificate;
use tls::{Certificate, MalformedCertificate, PemDamage};

/// A certificate in use, as the control thread keeps it.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    /// The content of its file.
    pem: Vec<u8>,
    /// Its content.
    facts: Certificate,
}

/// Why bytes are not a certificate for some names.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum KeepingError {
    /// They are not PEM, or lack a certificate or a key.
    #[error("it is not PEM with a certificate and a key: {0}")]
    Pem(PemDamage),
    /// The chain is longer than [`CHAIN`].
    #[error("its chain has more than {CHAIN} certificates")]
    Chain,
    #[error("{0}")]
    Malformed(MalformedCertificate),
    /// The certificate does not name this.
    #[error("the certificate does not name {0}")]
    Name(String),
    /// The key is not that of the certificate, or of an unknown kind.
    #[error("the key does not belong to the certificate: {0}")]
    Key(String),
}

impl Kept {
    /// The content of a file for a chain and a key in PEM.
    pub(crate) fn join(chain_pem: &str, key_pem: &str) -> Vec<u8> {
        format!("{}\n{}\n", key_pem.trim_end(), chain_pem.trim_end()).into_bytes()
    }

    /// Reads the content of a file.
    pub(crate) fn read(
        pem: Vec<u8>,
        names: &CertificateNames,
    ) -> Result<(Self, IssuedCertificate), KeepingError> {
        let wrong = |error: pem::Error| KeepingError::Pem(PemDamage::of(&error));
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&pem)
            .take(CHAIN + 1)
            .collect::<Result<_, _>>()
            .map_err(wrong)?;
        let key = PrivateKeyDer::from_pem_slice(&pem).map_err(wrong)?;
        let first = chain.first().ok_or(KeepingError::Pem(PemDamage::NoSection))?;
        if chain.len() > CHAIN {
            return Err(KeepingError::Chain);
        }
        let facts = Certificate::read(first).map_err(KeepingError::Malformed)?;
        for name in names.iter().map(ToString::to_string) {
            if !facts.names.contains(&name) {
                return Err(KeepingError::Name(name));
            }
        }
        CertifiedKey::from_der(chain.clone(), key.clone_key(), &provider())
            .map_err(|error| KeepingError::Key(error.to_string()))?;
        let issued = IssuedCertificate { names: names.clone(), chain, key, facts: facts.clone() };
        Ok((Self { pem, facts }, issued))
    }

    /// The content of its file.
    pub(crate) fn pem(&self) -> &[u8] {
        &self.pem
    }

    /// Its place in the window of its authority: chance, but the same at every look and after a restart.
    pub(crate) fn spread(&self) -> Fraction {
        let [a, b, c, d, ..] = self.fingerprint();
        Fraction::from_bits(u32::from_be_bytes([a, b, c, d]))
    }

    /// The SHA-256 fingerprint of its certificate.
    pub(crate) const fn fingerprint(&self) -> [u8; 32] {
        self.facts.fingerprint
    }

    /// The identifier of its certificate for questions about its renewal (RFC 9773 section 4.1).
    pub(crate) fn renewal_identifier(&self) -> Option<String> {
        self.facts.renewal_identifier()
    }

    /// The last second of its certificate.
    pub(crate) const fn not_after(&self) -> UtcSecond {
        UtcSecond::from_unix(self.facts.not_after)
    }

    pub(crate) const fn life(&self) -> Life {
        Life {
            not_before: UtcSecond::from_unix(self.facts.not_before),
            not_after: self.not_after(),
        }
    }
}
