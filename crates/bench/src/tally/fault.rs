//! Why handshakes fail.
//!
//! Owns the names of the causes, and what a user can do about each. Never decides which one it was: the transport does.

use std::fmt;

use runtime::transport::{CertificateFault, Violation};

/// Why a handshake failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HandshakeFault {
    /// This side does not accept the server's certificate.
    Certificate(CertificateFault),
    /// The server sent this fatal alert (RFC 8446 section 6).
    Alert(u8),
    /// Both sides have no version, algorithm or application protocol in common.
    NothingInCommon,
    /// The server broke the protocol, or does not speak it.
    Protocol,
    /// The connection ended in the middle.
    Cut,
    /// It was not over in time.
    Timeout,
}

impl From<Violation> for HandshakeFault {
    fn from(violation: Violation) -> Self {
        match violation {
            Violation::Protocol | Violation::OtherProtocol => Self::Protocol,
            Violation::NothingInCommon | Violation::UnknownName => Self::NothingInCommon,
            Violation::Alert(number) => Self::Alert(number),
            Violation::Cut => Self::Cut,
            Violation::Certificate(fault) => Self::Certificate(fault),
        }
    }
}

impl HandshakeFault {
    /// The name in a report as JSON, such as `expired` or `alert_48`.
    pub fn code(self) -> String {
        let code = match self {
            Self::Alert(number) => return format!("alert_{number}"),
            Self::Certificate(CertificateFault::Missing) => "no_certificate",
            Self::Certificate(CertificateFault::Expired) => "expired",
            Self::Certificate(CertificateFault::NotYetValid) => "not_yet_valid",
            Self::Certificate(CertificateFault::WrongName) => "wrong_name",
            Self::Certificate(CertificateFault::UnknownAuthority) => "unknown_authority",
            Self::Certificate(CertificateFault::Revoked) => "revoked",
            Self::Certificate(CertificateFault::Invalid) => "invalid_certificate",
            Self::NothingInCommon => "nothing_in_common",
            Self::Protocol => "protocol",
            Self::Cut => "cut",
            Self::Timeout => "timeout",
        };
        code.to_owned()
    }

    /// A user's remedy for it.
    pub fn mend(self) -> Option<&'static str> {
        Some(match self {
            Self::Certificate(CertificateFault::WrongName) => {
                "name the server as its certificate does, with --sni NAME"
            }
            Self::Certificate(CertificateFault::UnknownAuthority) => {
                "name the authority's file with --cacert, or accept any certificate with --insecure"
            }
            Self::Certificate(_) => "renew it, or accept any certificate with --insecure",
            Self::Alert(112) => "name the server as its certificate does, with --sni NAME",
            Self::Alert(40 | 42..=46 | 48 | 49 | 116) => {
                "if it asks for certificates of clients, show one that it accepts with --cert and --key"
            }
            Self::Alert(120) => {
                "it speaks another version of HTTP over TLS: add --h2, or leave it out"
            }
            Self::Protocol => "see that it speaks TLS at this port",
            Self::Cut => "the server's log may say why",
            Self::Timeout => "wait longer with --timeout",
            Self::NothingInCommon => "with --h2, see that it offers HTTP/2 (ALPN)",
            Self::Alert(_) => return None,
        })
    }
}

impl fmt::Display for HandshakeFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Alert(number) => {
                return match tls::alert_name(*number) {
                    "unknown" => write!(formatter, "alert {number}"),
                    name => write!(formatter, "alert {number} ({name})"),
                };
            }
            Self::Certificate(CertificateFault::Missing) => "the server shows no certificate",
            Self::Certificate(CertificateFault::Expired) => "the certificate has expired",
            Self::Certificate(CertificateFault::NotYetValid) => "the certificate is not valid yet",
            Self::Certificate(CertificateFault::WrongName) => "the certificate is for another name",
            Self::Certificate(CertificateFault::UnknownAuthority) => {
                "the certificate is by an unknown authority"
            }
            Self::Certificate(CertificateFault::Revoked) => "the certificate is revoked",
            Self::Certificate(CertificateFault::Invalid) => "the certificate is not valid",
            Self::NothingInCommon => "no version, cipher or application protocol in common",
            Self::Protocol => "the answer is not TLS",
            Self::Cut => "the connection ended in the middle",
            Self::Timeout => "not over in time",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alert_has_its_number_and_its_name() {
        assert_eq!(HandshakeFault::Alert(48).to_string(), "alert 48 (unknown_ca)");
        assert_eq!(HandshakeFault::Alert(99).to_string(), "alert 99");
        assert_eq!(HandshakeFault::Alert(48).code(), "alert_48");
    }

    #[test]
    fn a_violation_of_the_transport_keeps_its_cause_as_a_fault() {
        let of = |violation| HandshakeFault::from(violation);
        let expired = of(Violation::Certificate(CertificateFault::Expired));
        assert_eq!(expired.code(), "expired");
        let unknown = of(Violation::Certificate(CertificateFault::UnknownAuthority));
        assert_eq!(unknown.code(), "unknown_authority");
        assert_eq!(of(Violation::Alert(40)), HandshakeFault::Alert(40));
        assert_eq!(of(Violation::Cut), HandshakeFault::Cut);
    }
}
