//! The encryption of connections, as stored and in words.
//!
//! Owns the names and units of its fields, and the words for an agreement and a certificate. Never decides whether to
//! trust a certificate: the handshake has.

use serde::{Deserialize, Serialize};
use tls::Certificate;

use crate::plan::{Encryption, EncryptionAsk, HandshakeMode as Wanted, ServerTrust};
use crate::report::figures::numbered;
use crate::report::latency::LatencyReport;
use crate::tally::{AgreedTerms, HandshakeTally};

/// Seconds of a day.
const DAY_S: i64 = 86_400;

/// How a plan wants connections encrypted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EncryptionPlanReport {
    /// Whether any certificate was accepted.
    pub insecure: bool,
    /// The file of the authorities; null: those of the system.
    pub authorities: Option<String>,
    /// The file of the certificate that the generator shows; null without one.
    pub client_certificate: Option<String>,
    /// The server name that was asked for instead of the host of the URL; null without one.
    pub server_name: Option<String>,
    /// Which handshakes were wanted: `full` or `resumed`.
    pub handshakes: String,
}

impl EncryptionPlanReport {
    /// The encryption of a plan.
    pub fn of(encryption: &Encryption) -> Self {
        let EncryptionAsk { trust, own, server_name, handshakes } = encryption.ask();
        let written = |path: &std::path::PathBuf| path.display().to_string();
        let wanted = match handshakes {
            Wanted::Full => "full",
            Wanted::Resumed => "resumed",
        };
        Self {
            insecure: *trust == ServerTrust::Anyone,
            authorities: match trust {
                ServerTrust::File(path) => Some(written(path)),
                ServerTrust::System | ServerTrust::Anyone => None,
            },
            client_certificate: own.as_ref().map(|files| written(&files.certificate)),
            server_name: server_name.clone(),
            handshakes: wanted.to_owned(),
        }
    }

    /// Whether handshakes should resume sessions.
    pub(crate) fn wants_resumption(&self) -> bool {
        self.handshakes == "resumed"
    }
}

/// The handshakes of a run; of kept connections including the warm-up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EncryptionReport {
    /// From the established connection until the handshake was over.
    pub handshake: LatencyReport,
    /// Full handshakes.
    pub full: u64,
    /// Handshakes that resumed an earlier session.
    pub resumed: u64,
    /// Those that failed, by cause.
    pub failed: Vec<HandshakeFaultReport>,
    /// The terms that connections agreed on.
    pub agreements: Vec<AgreementReport>,
}

/// Handshakes that failed for one cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandshakeFaultReport {
    /// The cause, such as `expired` or `alert_48`.
    pub reason: String,
    /// The same in words.
    pub text: String,
    /// The user's remedy for it.
    pub mend: Option<String>,
    /// How many there were.
    pub count: u64,
}

/// Terms that connections agreed on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgreementReport {
    /// The version, such as `TLSv1.3`.
    pub version: String,
    /// The cipher suite, such as `TLS_AES_128_GCM_SHA256`.
    pub cipher: String,
    /// The group of the key exchange, such as `X25519MLKEM768`; empty if there was none.
    pub group: String,
    /// The application protocol; null if none was negotiated.
    pub protocol: Option<String>,
    /// The server's certificate; null if it cannot be read.
    pub certificate: Option<CertificateReport>,
    /// Connections that agreed on this.
    pub connections: u64,
}

/// A server's certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CertificateReport {
    /// The kind and size of its key, such as `ECDSA P-256`.
    pub key: String,
    /// The host names and addresses for which it is valid.
    pub names: Vec<String>,
    /// The name of the authority that issued it.
    pub issuer: String,
    /// Its last second, in seconds since 1970-01-01 00:00 UTC.
    pub not_after_unix_s: i64,
}

impl EncryptionReport {
    /// The report of the handshakes of a run.
    pub fn of(handshakes: &HandshakeTally) -> Self {
        let failed = handshakes.failed.iter().map(|(fault, count)| HandshakeFaultReport {
            reason: fault.code(),
            text: fault.to_string(),
            mend: fault.mend().map(str::to_owned),
            count: *count,
        });
        Self {
            handshake: LatencyReport::of(handshakes.latency()),
            full: handshakes.full,
            resumed: handshakes.resumed,
            failed: failed.collect(),
            agreements: handshakes.terms.iter().map(AgreementReport::of).collect(),
        }
    }

    /// The share of handshakes that resumed a session.
    pub fn resumed_share(&self) -> f64 {
        self.resumed as f64 / (self.full + self.resumed).max(1) as f64
    }

    /// How many handshakes failed.
    pub fn failures(&self) -> u64 {
        self.failed.iter().map(|fault| fault.count).sum()
    }
}

/// The failed handshakes of several runs, by cause.
pub(crate) fn sum_faults<'r>(
    runs: impl Iterator<Item = &'r EncryptionReport>,
) -> Vec<HandshakeFaultReport> {
    let mut sums: Vec<HandshakeFaultReport> = Vec::new();
    for fault in runs.flat_map(|tls| &tls.failed) {
        match sums.iter_mut().find(|known| known.reason == fault.reason) {
            Some(known) => known.count += fault.count,
            None => sums.push(fault.clone()),
        }
    }
    sums
}

impl AgreementReport {
    fn of(terms: &AgreedTerms) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let certificate = terms.certificate.as_deref().and_then(|der| Certificate::read(der).ok());
        Self {
            version: terms.version.to_owned(),
            cipher: terms.cipher.to_owned(),
            group: terms.group.to_owned(),
            protocol: terms.protocol.as_deref().map(text),
            certificate: certificate.map(|read| CertificateReport::of(&read)),
            connections: terms.connections,
        }
    }

    /// Version, cipher, key exchange and protocol.
    pub(crate) fn words(&self) -> String {
        let protocol = self.protocol.as_deref().unwrap_or("no application protocol");
        let group = if self.group.is_empty() { "no key exchange" } else { &self.group };
        format!("{}, {}, {group}, {protocol}", self.version, self.cipher)
    }
}

impl CertificateReport {
    fn of(certificate: &Certificate) -> Self {
        Self {
            key: certificate.key.clone(),
            names: certificate.names.clone(),
            issuer: certificate.issuer.clone(),
            not_after_unix_s: certificate.not_after,
        }
    }

    /// Kind, names, life and issuer, at this time.
    pub(crate) fn words(&self, now_unix_s: u64) -> String {
        let left_s = self.not_after_unix_s.saturating_sub_unsigned(now_unix_s);
        let days = numbered(left_s.unsigned_abs() / DAY_S.unsigned_abs(), "day");
        let life = if left_s < 0 { format!("expired {days} ago") } else { format!("{days} left") };
        // A certificate may have a hundred names.
        let names = match self.names.as_slice() {
            [] => "no name".to_owned(),
            [shown @ .., _] if shown.len() > 2 => {
                format!("{} and {} more", self.names[..2].join(", "), self.names.len() - 2)
            }
            names => names.join(", "),
        };
        format!("{} for {names}, {life}, by {}", self.key, self.issuer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_told_with_its_life_and_its_first_names() {
        let certificate = |names: &[&str], not_after_unix_s| CertificateReport {
            key: "RSA 2048".to_owned(),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            issuer: "CN=Test".to_owned(),
            not_after_unix_s,
        };
        let words = |names: &[&str], end| certificate(names, end).words(86_400 * 10);
        assert_eq!(words(&["a", "b"], 86_400 * 99), "RSA 2048 for a, b, 89 days left, by CN=Test");
        let many = words(&["a", "b", "c", "d"], 86_400 * 11 + 5);
        assert_eq!(many, "RSA 2048 for a, b and 2 more, 1 day left, by CN=Test");
        assert_eq!(words(&[], 86_400 * 8), "RSA 2048 for no name, expired 2 days ago, by CN=Test");
    }
}
