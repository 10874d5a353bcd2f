//! The names of a certificate: DNS names, wildcards and addresses.
//!
//! Owns which texts are names, and the key by which the names of one certificate are found again. Never looks a name
//! up.

use std::fmt;
use std::net::IpAddr;

use sha2::{Digest, Sha256};

use crate::limits::{LABEL_BYTES, NAME_BYTES, NAMES};

/// A name that a certificate proves.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Name {
    /// A DNS name in small letters, without the final dot.
    Dns(String),
    /// All names one label longer than this one.
    Wildcard(String),
    /// An address (RFC 8738).
    Address(IpAddr),
}

/// Why a text is not a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// It is empty, or one of its labels is.
    #[error("it is empty, or has two dots in a row")]
    Empty,
    /// It, or one of its labels, is too long.
    #[error(
        "it is longer than {NAME_BYTES} bytes, or a label than \
         {LABEL_BYTES}"
    )]
    TooLong,
    /// It contains something else than letters, digits and hyphens, or a label begins or ends with a hyphen.
    #[error(
        "it contains a character that names in DNS do not have; write other letters \
         as `xn--`"
    )]
    Character,
    /// A star that is not the whole first label.
    #[error("a star can only be the whole first label")]
    Star,
    /// A single label, for which no authority issues.
    #[error("it has no dot, and authorities issue only for public names")]
    SingleLabel,
}

impl Name {
    /// Reads a name as an administrator writes it. Names with other letters have to be written as in DNS (`xn--`).
    ///
    /// # Errors
    /// If it is neither a name nor an address.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Self::Address(address));
        }
        let text = text.strip_suffix('.').unwrap_or(text);
        if text.len() > NAME_BYTES {
            return Err(NameError::TooLong);
        }
        let (base, is_wildcard) =
            text.strip_prefix("*.").map_or((text, false), |base| (base, true));
        base.split('.').try_for_each(check_label)?;
        if !base.contains('.') {
            return Err(NameError::SingleLabel);
        }
        let base = base.to_ascii_lowercase();
        Ok(if is_wildcard { Self::Wildcard(base) } else { Self::Dns(base) })
    }
}

fn check_label(label: &str) -> Result<(), NameError> {
    let is_letter = |character: char| character.is_ascii_alphanumeric() || character == '-';
    match label {
        "" => Err(NameError::Empty),
        _ if label.len() > LABEL_BYTES => Err(NameError::TooLong),
        _ if label.contains('*') => Err(NameError::Star),
        _ if label.starts_with('-') || label.ends_with('-') => Err(NameError::Character),
        _ if label.chars().all(is_letter) => Ok(()),
        _ => Err(NameError::Character),
    }
}

impl fmt::Display for Name {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dns(name) => out.write_str(name),
            Self::Wildcard(base) => write!(out, "*.{base}"),
            Self::Address(address) => write!(out, "{address}"),
        }
    }
}

/// The names of one certificate, each once, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateNames {
    names: Vec<Name>,
    key: String,
}

/// Why names cannot be those of one certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NamesError {
    /// There is none.
    #[error("a certificate needs a name")]
    None,
    /// There are too many.
    #[error("a certificate has at most {NAMES} names")]
    TooMany,
}

impl CertificateNames {
    /// Puts names in order.
    ///
    /// # Errors
    /// If there are none, or too many.
    pub fn new(names: impl IntoIterator<Item = Name>) -> Result<Self, NamesError> {
        let mut names: Vec<Name> = names.into_iter().collect();
        names.sort_unstable();
        names.dedup();
        let first = names.first().ok_or(NamesError::None)?;
        if names.len() > NAMES {
            return Err(NamesError::TooMany);
        }
        let key = key(first, &names);
        Ok(Self { names, key })
    }

    /// The key: a file name that begins with the first name, and differs for different names.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The names in order.
    pub fn iter(&self) -> impl Iterator<Item = &Name> {
        self.names.iter()
    }
}

fn key(first: &Name, names: &[Name]) -> String {
    let mut hash = Sha256::new();
    for name in names {
        hash.update(name.to_string());
        hash.update(b"\n");
    }
    let shown: String = first
        .to_string()
        .chars()
        .map(|character| if character.is_ascii_alphanumeric() { character } else { '-' })
        .take(100)
        .collect();
    let hash: String = hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("{shown}.{hash}")
}

impl fmt::Display for CertificateNames {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, name) in self.names.iter().enumerate() {
            write!(out, "{}{name}", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}
