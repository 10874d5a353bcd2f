//! PEM files with certificates and a key (RFC 7468).
//!
//! Owns which kinds of section are taken. Never judges what is in them.

use std::io;
use std::path::{Path, PathBuf};

use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::limits::PEM_BYTES;

/// That of UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

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
    Damaged(PathBuf, PemDamage),
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

/// How a PEM text is damaged. It shows nothing of the text, which may be a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PemDamage {
    /// A section has no end, or its markers share a line with something else.
    #[error(
        "a section does not end; `-----BEGIN ...-----` and `-----END ...-----` must be lines of \
         their own"
    )]
    NoEnd,
    /// The first line of a section is malformed.
    #[error("a line that begins with `-----BEGIN` does not end with `-----`")]
    Start,
    /// There is something else in a section.
    #[error("between its `-----BEGIN` and `-----END` is something else than base64")]
    NotBase64,
    /// There is no section of the kind that is looked for.
    #[error("a section is missing")]
    NoSection,
    /// Something else.
    #[error("it cannot be read")]
    Other,
}

impl PemDamage {
    /// The damage that was found.
    pub fn of(error: &pem::Error) -> Self {
        match error {
            pem::Error::MissingSectionEnd { .. } => Self::NoEnd,
            pem::Error::IllegalSectionStart { .. } => Self::Start,
            pem::Error::Base64Decode(_) => Self::NotBase64,
            pem::Error::NoItemsFound => Self::NoSection,
            _ => Self::Other,
        }
    }
}

/// Reads all certificates of a PEM file, in order: at least one.
///
/// # Errors
/// If the file cannot be read or has none.
pub fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, PemError> {
    let text = read(path)?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let certificates = certificates.map_err(|error| damaged(path, &error))?;
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
        Err(_) if is_encrypted(&text) => Err(PemError::EncryptedKey(path.to_path_buf())),
        Err(pem::Error::NoItemsFound) => Err(PemError::NoKey(path.to_path_buf())),
        Err(error) => Err(damaged(path, &error)),
    }
}

fn damaged(path: &Path, error: &pem::Error) -> PemError {
    PemError::Damaged(path.to_path_buf(), PemDamage::of(error))
}

/// Whether it has a key with a password, in the form of PKCS#8 or in the older one of OpenSSL (RFC 1421).
fn is_encrypted(text: &[u8]) -> bool {
    let marks: [&[u8]; 2] = [b"-----BEGIN ENCRYPTED PRIVATE KEY-----", b"Proc-Type: 4,ENCRYPTED"];
    marks.iter().any(|mark| text.windows(mark.len()).any(|window| window == *mark))
}

/// The text of a file. Editors of some systems begin it with a byte order mark, which would hide the first section.
fn read(path: &Path) -> Result<Vec<u8>, PemError> {
    let mut text = sys::regular_file::bytes(path, PEM_BYTES)
        .map_err(|error| PemError::Read(path.to_path_buf(), error))?;
    if text.starts_with(BYTE_ORDER_MARK) {
        text.drain(..BYTE_ORDER_MARK.len());
    }
    Ok(text)
}
