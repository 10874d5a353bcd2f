//! What a certificate says (RFC 5280): its names, its time, its issuer.
//!
//! Owns the facts that the server shows, checks and warns of. Never decides whether to trust one: rustls does.

use std::fmt;
use std::net::IpAddr;

use sha2::{Digest, Sha256};
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

/// The facts of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The subject, such as `CN=example.org`.
    pub subject: String,
    /// The issuer, such as `C=US, O=Let's Encrypt, CN=R10`.
    pub issuer: String,
    /// Host names that it is for, in lower case; perhaps with a wildcard as first label.
    pub names: Vec<String>,
    /// Addresses that it is for.
    pub addresses: Vec<IpAddr>,
    /// Its fingerprint, SHA-256 over all of it.
    pub fingerprint: [u8; 32],
    /// Its first second, in seconds since 1970.
    pub not_before: i64,
    /// Its last second, in seconds since 1970.
    pub not_after: i64,
    /// Whether it has signed itself.
    pub is_self_signed: bool,
}

/// A certificate that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable(String);

impl fmt::Display for Unreadable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "not a certificate: {}", self.0)
    }
}

impl std::error::Error for Unreadable {}

impl Certificate {
    /// Reads one in DER.
    ///
    /// # Errors
    /// If it is not an X.509 certificate.
    pub fn read(der: &[u8]) -> Result<Self, Unreadable> {
        let (_, read) =
            X509Certificate::from_der(der).map_err(|error| Unreadable(error.to_string()))?;
        let (mut names, mut addresses) = (Vec::new(), Vec::new());
        let alternative = read.subject_alternative_name().ok().flatten();
        for name in alternative.iter().flat_map(|names| &names.value.general_names) {
            match name {
                GeneralName::DNSName(name) => names.push(name.to_ascii_lowercase()),
                GeneralName::IPAddress(bytes) => addresses.extend(address_of(bytes)),
                _ => {}
            }
        }
        Ok(Self {
            subject: read.subject().to_string(),
            issuer: read.issuer().to_string(),
            names,
            addresses,
            fingerprint: Sha256::digest(der).into(),
            not_before: read.validity().not_before.timestamp(),
            not_after: read.validity().not_after.timestamp(),
            is_self_signed: read.subject() == read.issuer(),
        })
    }

    /// The fingerprint in hexadecimal, as `openssl x509 -fingerprint -sha256` shows it, without colons.
    pub fn fingerprint_text(&self) -> String {
        self.fingerprint.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Whether it is for this host name. A wildcard stands for one label (RFC 6125 section 6.4.3).
    pub fn is_for(&self, host: &str) -> bool {
        self.names.iter().any(|name| matches(name, host))
    }
}

fn matches(pattern: &str, host: &str) -> bool {
    match pattern.strip_prefix("*.") {
        None => pattern.eq_ignore_ascii_case(host),
        Some(parent) => host.split_once('.').is_some_and(|(label, behind)| {
            !label.is_empty() && parent.eq_ignore_ascii_case(behind)
        }),
    }
}

fn address_of(bytes: &[u8]) -> Option<IpAddr> {
    <[u8; 4]>::try_from(bytes)
        .map(IpAddr::from)
        .or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from))
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wildcard_stands_for_one_label() {
        for (pattern, host, expected) in [
            ("example.org", "example.org", true),
            ("example.org", "EXAMPLE.org", true),
            ("example.org", "a.example.org", false),
            ("*.example.org", "a.example.org", true),
            ("*.example.org", "example.org", false),
            ("*.example.org", ".example.org", false),
            ("*.example.org", "a.b.example.org", false),
        ] {
            assert_eq!(matches(pattern, host), expected, "{pattern} {host}");
        }
    }
}
