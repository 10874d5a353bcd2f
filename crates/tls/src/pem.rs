//! PEM files with certificates and a key (RFC 7468).
//!
//! Owns which kinds of section are taken. Never judges what is in them.

use std::io;
use std::path::{Path, PathBuf};

use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::limits::PEM_BYTES;

/// Why a PEM file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PemError {
    /// It cannot be read.
    #[error(
        "cannot read `{path}`: {1}",
        path = .0.display()
    )]
    Read(PathBuf, io::Error),
    /// It is not PEM, or is damaged.
    #[error(
        "`{path}` is not a PEM file: {1}",
        path = .0.display()
    )]
    Damaged(PathBuf, pem::Error),
    /// It has no certificate.
    #[error("`{}` has no certificate; it must contain `-----BEGIN CERTIFICATE-----`", .0.display())]
    NoCertificate(PathBuf),
    /// It has no private key.
    #[error("`{}` has no private key; it must contain `-----BEGIN PRIVATE KEY-----`", .0.display())]
    NoKey(PathBuf),
    /// Its private key is encrypted.
    #[error(
        "the key in `{}` has a password, which nobody types when a server starts; write it without \
         one: openssl pkey -in {} -out NEW.key",
        .0.display(), .0.display()
    )]
    EncryptedKey(PathBuf),
}

/// Reads all certificates of a PEM file, in order: at least one.
///
/// # Errors
/// If the file cannot be read or has none.
pub fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, PemError> {
    let text = read(path)?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let certificates =
        certificates.map_err(|error| PemError::Damaged(path.to_path_buf(), error))?;
    if certificates.is_empty() {
        return Err(PemError::NoCertificate(path.to_path_buf()));
    }
    Ok(certificates)
}

/// Reads the first private key of a file: PKCS#8, PKCS#1 or SEC 1, without a password.
pub(crate) fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>, PemError> {
    let text = read(path)?;
    match PrivateKeyDer::from_pem_slice(&text) {
        Ok(key) => Ok(key),
        Err(pem::Error::NoItemsFound) if is_encrypted(&text) => {
            Err(PemError::EncryptedKey(path.to_path_buf()))
        }
        Err(pem::Error::NoItemsFound) => Err(PemError::NoKey(path.to_path_buf())),
        Err(error) => Err(PemError::Damaged(path.to_path_buf(), error)),
    }
}

fn is_encrypted(text: &[u8]) -> bool {
    const SECTION: &[u8] = b"-----BEGIN ENCRYPTED PRIVATE KEY-----";
    text.windows(SECTION.len()).any(|window| window == SECTION)
}

fn read(path: &Path) -> Result<Vec<u8>, PemError> {
    sys::regular_file::bytes(path, PEM_BYTES)
        .map_err(|error| PemError::Read(path.to_path_buf(), error))
}
