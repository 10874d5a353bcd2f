//! Files of secrets: those that sign cookies, and the keys of channels.
//!
//! Owns which file is acceptable. Waits for the disk; runs on the main thread. Never reveals the
//! content of the file.

use std::fmt;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::limits::{SECRET_FILE_SIZE, SECRET_SIZE_MIN, SECRETS_MAX};
use crate::rules::Root;

/// Permissions that let users other than the owner read or change the file.
const OPEN_TO_OTHERS: u32 = 0o066;

/// The mend of a file that should have a secret of this server.
pub const MAKE_SECRET: &str = "make one with: openssl rand -base64 32";

/// The mend of a file that should have a private key.
pub const WRITE_KEY: &str = "write the private key in PEM into it";

/// A file of secrets.
#[derive(Clone)]
pub struct SecretFile {
    text: String,
    /// A problem of the file that does not prevent its use.
    pub warning: Option<String>,
}

/// Why a file is not usable. [`with_mend`](Self::with_mend) says how to mend it, too.
#[derive(Debug, thiserror::Error)]
pub enum SecretFault {
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(io::Error),
    /// It is a directory, a pipe, or similar.
    #[error("is not a file")]
    NotAFile,
    /// It is where clients could read it.
    #[error("lies in `{0}`, which is served: put it where no client finds it")]
    Served(PathBuf),
    /// It is too long.
    #[error("is longer than {SECRET_FILE_SIZE} bytes")]
    TooLong,
    /// It is not printable text.
    #[error("is not printable text in line {line}")]
    NotText {
        /// The first line that is not, from 1.
        line: usize,
    },
    /// It has no secret.
    #[error("is empty")]
    Empty,
    /// A line is too short, so it could be guessed.
    #[error("has {bytes} bytes in line {line}, less than {SECRET_SIZE_MIN}")]
    TooShort {
        /// The line, from 1.
        line: usize,
        /// Its length in bytes.
        bytes: usize,
    },
    /// It has too many lines.
    #[error("has more than {SECRETS_MAX} secrets: take old ones away")]
    TooMany,
    /// A public key in it is not Ed25519.
    #[error(
        "has a key that is no public key of Ed25519 in PEM, in line {line}; make one with: \
         openssl genpkey -algorithm ed25519 -out private.pem; openssl pkey -in private.pem \
         -pubout"
    )]
    NotEd25519 {
        /// The line in which it begins, from 1.
        line: usize,
    },
}

impl SecretFault {
    /// The fault, and this mend if the file lacks what it should have.
    pub fn with_mend(&self, mend: &str) -> String {
        let lacks = match self {
            Self::Unreadable(error) => error.kind() == io::ErrorKind::NotFound,
            Self::NotAFile | Self::TooLong | Self::Empty => true,
            Self::NotText { .. } | Self::TooShort { .. } => true,
            Self::Served(_) | Self::TooMany | Self::NotEd25519 { .. } => false,
        };
        if lacks { format!("{self}; {mend}") } else { self.to_string() }
    }
}

impl SecretFile {
    /// Reads a file.
    ///
    /// # Errors
    /// If it is not usable.
    pub fn read(path: &Path, roots: &[Root]) -> Result<Self, SecretFault> {
        let metadata = std::fs::metadata(path).map_err(SecretFault::Unreadable)?;
        if !metadata.is_file() {
            return Err(SecretFault::NotAFile);
        }
        if let Some(root) = root_around(path, roots) {
            return Err(SecretFault::Served(root));
        }
        if metadata.len() > SECRET_FILE_SIZE {
            return Err(SecretFault::TooLong);
        }
        let bytes = std::fs::read(path).map_err(SecretFault::Unreadable)?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let good = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
            SecretFault::NotText { line: 1 + good.iter().filter(|byte| **byte == b'\n').count() }
        })?;
        let mode = metadata.permissions().mode() & 0o777;
        let warning = (mode & OPEN_TO_OTHERS != 0).then(|| {
            let path = path.display();
            format!("{path}: others than its owner may read or change the secret: chmod 600 {path}")
        });
        Ok(Self { text, warning })
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its secrets, one per line; empty lines are skipped.
    ///
    /// # Errors
    /// If one is invalid, or there are none or too many.
    pub fn secrets(&self) -> Result<Vec<&str>, SecretFault> {
        secrets_of(&self.text)
    }
}

impl fmt::Debug for SecretFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SecretFile")
    }
}

/// The root that contains a file, whatever path leads there.
pub fn root_around(path: &Path, roots: &[Root]) -> Option<PathBuf> {
    let path = path.canonicalize().ok()?;
    let around = |root: &&Root| root.path.canonicalize().is_ok_and(|root| path.starts_with(root));
    roots.iter().find(around).map(|root| root.path.clone())
}

/// The secrets of a text, one per line; empty lines are skipped.
///
/// # Errors
/// If one is invalid, or there are none or too many.
pub fn secrets_of(text: &str) -> Result<Vec<&str>, SecretFault> {
    let mut secrets = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        if line.contains(char::is_control) {
            return Err(SecretFault::NotText { line: number });
        }
        if line.len() < SECRET_SIZE_MIN {
            return Err(SecretFault::TooShort { line: number, bytes: line.len() });
        }
        if secrets.len() == SECRETS_MAX {
            return Err(SecretFault::TooMany);
        }
        secrets.push(line);
    }
    if secrets.is_empty() { Err(SecretFault::Empty) } else { Ok(secrets) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_a_secret() {
        let [new, old] = ["n".repeat(32), "o".repeat(44)];
        let text = format!("\n  {new}\r\n\n{old}");
        assert_eq!(secrets_of(&text).unwrap(), [&new, &old]);
    }

    #[test]
    fn mend_is_told_of_a_file_that_lacks_what_it_should_have() {
        let told = |fault: SecretFault| fault.with_mend("write it");
        let unreadable = |kind: io::ErrorKind| SecretFault::Unreadable(kind.into());
        assert_eq!(told(SecretFault::Empty), "is empty; write it");
        assert!(told(unreadable(io::ErrorKind::NotFound)).ends_with("; write it"));
        for other in [unreadable(io::ErrorKind::PermissionDenied), SecretFault::TooMany] {
            assert!(!told(other).contains("write it"));
        }
    }

    #[test]
    fn weak_or_binary_secret_is_refused() {
        let long = "x".repeat(32);
        let refused = |text: &str| secrets_of(text).unwrap_err();
        assert!(matches!(refused(""), SecretFault::Empty));
        assert!(matches!(refused(" \n\n"), SecretFault::Empty));
        let short = format!("{long}\n\nsecret");
        assert!(matches!(refused(&short), SecretFault::TooShort { line: 3, bytes: 6 }));
        assert!(matches!(refused(&format!("{long}\n{long}\0")), SecretFault::NotText { line: 2 }));
        let many = format!("{long}\n").repeat(SECRETS_MAX + 1);
        assert!(matches!(refused(&many), SecretFault::TooMany));
        assert_eq!(secrets_of(&many[33..]).unwrap().len(), SECRETS_MAX);
    }
}
