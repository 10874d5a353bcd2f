//! The secret that cookies of pages are signed with: read from its file, or drawn at the start.
//!
//! Owns what is a good file. Waits for the disk; runs on the main thread. Never shows what is in the file.

use std::fmt;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use files::rules::Root;
use script::engine::Keys;

use crate::limits;

/// The permissions of a file that let others than its owner read or change it.
const OPEN_TO_OTHERS: u32 = 0o066;

/// The secret in force. All schedulers share it, so that each takes the cookies of the others.
#[derive(Clone, Debug, Default)]
pub struct Secret {
    /// What pages sign with.
    pub keys: Keys,
    /// What is not right about the file, though it is good enough.
    pub warning: Option<String>,
}

/// Why there is no secret.
#[derive(Debug)]
pub enum SecretError {
    /// The operating system gives no random bytes.
    Random,
    /// The file cannot be used.
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        fault: SecretFault,
    },
}

/// Why a file is no good secret.
#[derive(Debug)]
pub enum SecretFault {
    /// It cannot be read.
    Unreadable(io::Error),
    /// It is a directory, a pipe, ..
    NotAFile,
    /// It lies where clients find it.
    Served(PathBuf),
    /// It is longer than any file of secrets.
    TooLong,
    /// It is not printable text.
    NotText,
    /// It has no line.
    Empty,
    /// A line of it can be guessed.
    TooShort {
        /// Which, from 1.
        line: usize,
        /// How many bytes it has.
        bytes: usize,
    },
    /// It has more lines than are tried.
    TooMany,
}

impl fmt::Display for SecretError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let make = "make one with: openssl rand -base64 32";
        let (path, fault) = match self {
            Self::Random => {
                return formatter.write_str("the operating system gives no random bytes");
            }
            Self::File { path, fault } => (path, fault),
        };
        write!(formatter, "the secret_file `{}` of [pages] ", path.display())?;
        match fault {
            SecretFault::Unreadable(error) if error.kind() == io::ErrorKind::NotFound => {
                write!(formatter, "cannot be read: {error}; {make}")
            }
            SecretFault::Unreadable(error) => write!(formatter, "cannot be read: {error}"),
            SecretFault::NotAFile => write!(formatter, "is not a file; {make}"),
            SecretFault::Served(root) => {
                let root = root.display();
                write!(
                    formatter,
                    "lies in `{root}`, which is served: put it where no client finds it"
                )
            }
            SecretFault::TooLong => {
                write!(formatter, "is longer than {} bytes; {make}", limits::SECRET_FILE_SIZE)
            }
            SecretFault::NotText => write!(formatter, "is not printable text; {make}"),
            SecretFault::Empty => write!(formatter, "is empty; {make}"),
            SecretFault::TooShort { line, bytes } => {
                let least = limits::SECRET_SIZE_MIN;
                write!(formatter, "has {bytes} bytes in line {line}, less than {least}; {make}")
            }
            SecretFault::TooMany => {
                write!(
                    formatter,
                    "has more than {} secrets: take old ones away",
                    limits::SECRETS_MAX
                )
            }
        }
    }
}

impl std::error::Error for SecretError {}

impl Secret {
    /// The secret of the configured file; where there is none, the one from `before`, and at the start a new one.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn load(
        settings: &config::Pages,
        roots: &[Root],
        before: Option<&Self>,
    ) -> Result<Self, SecretError> {
        if let Some(path) = &settings.secret_file {
            let fault = |fault| SecretError::File { path: path.clone(), fault };
            return read(path, roots).map_err(fault);
        }
        match before {
            Some(before) => Ok(before.clone()),
            None => {
                let keys = Keys::random().ok_or(SecretError::Random)?;
                Ok(Self { keys, warning: None })
            }
        }
    }
}

fn read(path: &Path, roots: &[Root]) -> Result<Secret, SecretFault> {
    let metadata = std::fs::metadata(path).map_err(SecretFault::Unreadable)?;
    if !metadata.is_file() {
        return Err(SecretFault::NotAFile);
    }
    if let Some(root) = root_around(path, roots) {
        return Err(SecretFault::Served(root));
    }
    if metadata.len() > limits::SECRET_FILE_SIZE {
        return Err(SecretFault::TooLong);
    }
    let bytes = std::fs::read(path).map_err(SecretFault::Unreadable)?;
    let keys = Keys::new(secrets_of(&bytes)?);
    let mode = metadata.permissions().mode() & 0o777;
    let warning = (mode & OPEN_TO_OTHERS != 0).then(|| {
        let path = path.display();
        format!("{path}: others than its owner may read or change the secret: chmod 600 {path}")
    });
    Ok(Secret { keys, warning })
}

/// The root that a file lies in, whatever names lead there.
fn root_around(path: &Path, roots: &[Root]) -> Option<PathBuf> {
    let path = path.canonicalize().ok()?;
    let around = |root: &&Root| root.path.canonicalize().is_ok_and(|root| path.starts_with(root));
    roots.iter().find(around).map(|root| root.path.clone())
}

/// The secrets of a file, one on each line; lines with nothing on them are passed over.
fn secrets_of(bytes: &[u8]) -> Result<Vec<&str>, SecretFault> {
    let text = str::from_utf8(bytes).map_err(|_| SecretFault::NotText)?;
    let mut secrets = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        if line.contains(char::is_control) {
            return Err(SecretFault::NotText);
        }
        if line.len() < limits::SECRET_SIZE_MIN {
            return Err(SecretFault::TooShort { line: number, bytes: line.len() });
        }
        if secrets.len() == limits::SECRETS_MAX {
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
        assert_eq!(secrets_of(text.as_bytes()).unwrap(), [&new, &old]);
    }

    #[test]
    fn what_could_be_guessed_or_is_no_text_is_refused() {
        let long = "x".repeat(32);
        let refused = |text: &str| secrets_of(text.as_bytes()).unwrap_err();
        assert!(matches!(refused(""), SecretFault::Empty));
        assert!(matches!(refused(" \n\n"), SecretFault::Empty));
        let short = format!("{long}\n\nsecret");
        assert!(matches!(refused(&short), SecretFault::TooShort { line: 3, bytes: 6 }));
        assert!(matches!(refused(&format!("{long}\0")), SecretFault::NotText));
        assert!(matches!(secrets_of(&[0xff; 40]), Err(SecretFault::NotText)));
        let many = format!("{long}\n").repeat(limits::SECRETS_MAX + 1);
        assert!(matches!(refused(&many), SecretFault::TooMany));
        assert_eq!(secrets_of(&many.as_bytes()[33..]).unwrap().len(), limits::SECRETS_MAX);
    }
}
