//! The seam to the server: what it is given, and what it is told.
//!
//! Owns the calls and their data. Knows neither schedulers nor mailboxes: the server implements `Sink` with what it
//! has.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use crate::ledger::LimitReached;
use crate::moment::UtcSecond;
use crate::names::{CertificateNames, Name};
use crate::schedule::OrderReason;
use tls::Certificate;

/// The server, as the control thread sees it. All calls come from one thread at a time: from `start`, and then from
/// the control thread. They must not wait for a scheduler.
pub trait Sink: Send {
    /// Uses a certificate for its names. It replaces the one before for the same names, at once.
    fn use_certificate(&mut self, certificate: IssuedCertificate);

    /// An authority will ask for this. Confirm as soon as every scheduler answers it; a confirmation that is dropped
    /// says that it will not be answered. It stays until `withdraw`.
    fn answer(&mut self, answer: ChallengeAnswer, confirmation: Confirmation);

    /// The authority no longer asks for this. Called once for each answer, also after a failure.
    fn withdraw(&mut self, answer: &ChallengeAnswer);

    /// A line for the log.
    fn tell(&mut self, event: AcmeEvent);
}

/// A certificate with its key.
pub struct IssuedCertificate {
    /// The names for which it was ordered.
    pub names: CertificateNames,
    /// The certificate, then those that lead to the authority.
    pub chain: Vec<CertificateDer<'static>>,
    /// Its key, in PKCS #8.
    pub key: PrivateKeyDer<'static>,
    /// The content of the first certificate.
    pub facts: Certificate,
}

impl fmt::Debug for IssuedCertificate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("IssuedCertificate").field("facts", &self.facts).finish_non_exhaustive()
    }
}

/// An answer to an authority's question.
pub enum ChallengeAnswer {
    /// `GET /.well-known/acme-challenge/TOKEN` on port 80 is answered 200 with the key authorization as body (RFC 8555
    /// section 8.3).
    Http01 {
        /// The name or address that is proved: the host of the request.
        name: Name,
        /// The last segment of the path, of the alphabet of base64url.
        token: String,
        /// The body.
        key_authorization: String,
    },
    /// A handshake on port 443 that offers the protocol `acme-tls/1` and nothing else is answered with this
    /// certificate, and the connection is closed after it (RFC 8737 section 3).
    TlsAlpn01 {
        /// The server name of the handshake: the name, or for an address its name in `in-addr.arpa` or `ip6.arpa` (RFC
        /// 8738 section 6).
        server_name: String,
        /// The self-signed certificate. Its extension is critical, so rustls's `CertifiedKey::new` takes it, and
        /// `CertifiedKey::from_der`, which checks that the key belongs to it, does not.
        certificate: CertificateDer<'static>,
        /// Its key, in PKCS #8.
        key: PrivateKeyDer<'static>,
    },
}

impl fmt::Debug for ChallengeAnswer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http01 { name, token, .. } => {
                out.debug_struct("Http01").field("name", name).field("token", token).finish()
            }
            Self::TlsAlpn01 { server_name, .. } => {
                out.debug_struct("TlsAlpn01").field("server_name", server_name).finish()
            }
        }
    }
}

impl Clone for ChallengeAnswer {
    fn clone(&self) -> Self {
        match self {
            Self::Http01 { name, token, key_authorization } => Self::Http01 {
                name: name.clone(),
                token: token.clone(),
                key_authorization: key_authorization.clone(),
            },
            Self::TlsAlpn01 { server_name, certificate, key } => Self::TlsAlpn01 {
                server_name: server_name.clone(),
                certificate: certificate.clone(),
                key: key.clone_key(),
            },
        }
    }
}

/// The server's statement that all its schedulers give an answer. It may be sent to another thread, and shared among
/// the schedulers: then all have to confirm.
#[derive(Debug)]
pub struct Confirmation(Arc<Shares>);

#[derive(Debug)]
struct Shares {
    /// Shares that were not confirmed yet.
    open: AtomicUsize,
    all: SyncSender<()>,
}

impl Confirmation {
    /// A confirmation, and the end on which the control thread waits for it.
    pub(crate) fn new() -> (Self, Confirmed) {
        let (all, receiver) = sync_channel(1);
        (Self(Arc::new(Shares { open: AtomicUsize::new(1), all })), Confirmed(receiver))
    }

    /// Another share of it, which has to be confirmed as well.
    #[must_use = "a share that is dropped is never confirmed"]
    pub fn share(&self) -> Self {
        self.0.open.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(&self.0))
    }

    /// Says that the answer is given, by every scheduler or by that of this share.
    pub fn in_force(self) {
        // The thread that confirms the last share sees everything that the other threads did before they confirmed
        // theirs.
        if self.0.open.fetch_sub(1, Ordering::AcqRel) == 1 {
            // If this fails, the control thread does not wait any more: the order has ended, and the answer is
            // withdrawn.
            let _ = self.0.all.try_send(());
        }
    }
}

/// The end on which the control thread waits for a confirmation.
#[derive(Debug)]
pub(crate) struct Confirmed(Receiver<()>);

/// How a wait for a confirmation went on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Force {
    Yes,
    NotYet,
    Never,
}

impl Confirmed {
    pub(crate) fn wait(&self, longest: Duration) -> Force {
        match self.0.recv_timeout(longest) {
            Ok(()) => Force::Yes,
            Err(RecvTimeoutError::Timeout) => Force::NotYet,
            Err(RecvTimeoutError::Disconnected) => Force::Never,
        }
    }
}

/// How much an event matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// All is well.
    Info,
    /// Something failed and is tried again.
    Warning,
    /// Without help a certificate will be missing, or is.
    Error,
}

/// An event that a sink is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AcmeEvent {
    /// A certificate was found in the state.
    Loaded {
        /// Its names.
        names: CertificateNames,
        /// Its last second.
        not_after: UtcSecond,
    },
    /// A record of the state cannot be used. A certificate is ordered anew unless it is in use; without the
    /// ledger nothing is ordered.
    Unreadable {
        /// The name of the file, and whose it is.
        what: String,
        /// Why.
        error: String,
    },
    /// Another server orders with the same state; this one uses what it gets.
    Follows,
    /// This server orders.
    Leads,
    /// An order begins.
    Ordering {
        /// The names.
        names: CertificateNames,
        /// The directory of the issuer.
        issuer: String,
        /// Why.
        reason: OrderReason,
    },
    /// The issuer does not offer the profile; its default is ordered.
    NoProfile {
        /// The profile.
        profile: String,
        /// The directory of the issuer.
        issuer: String,
    },
    /// The certificate was already replaced, says the authority; the order is made without saying so.
    AlreadyReplaced {
        /// The names.
        names: CertificateNames,
    },
    /// A record in DNS has to be there for a validation. It is set once.
    RecordNeeded {
        /// The domain of the record.
        domain: String,
        /// The text of the TXT record.
        text: String,
    },
    /// A certificate was issued and is in use.
    Issued {
        /// The names.
        names: CertificateNames,
        /// The directory of the issuer.
        issuer: String,
        /// Its last second.
        not_after: UtcSecond,
    },
    /// An attempt failed.
    Failed {
        /// The names.
        names: CertificateNames,
        /// The directory of the issuer.
        issuer: String,
        /// The error in one line.
        error: String,
        /// When the next attempt is made.
        next: UtcSecond,
        /// The last second of the certificate in use.
        not_after: Option<UtcSecond>,
        /// Warning, or error if there is no certificate or it ends soon.
        severity: Severity,
    },
    /// An order waits for a limit of authorities.
    Waits {
        /// The names.
        names: CertificateNames,
        /// The limit, and until when.
        reached: LimitReached,
        /// Warning, or error if there is no certificate or it ends soon.
        severity: Severity,
    },
    /// The state cannot be written. Certificates stay in use; nothing is ordered.
    NotStored {
        /// Why.
        error: String,
    },
}

impl AcmeEvent {
    /// How much it matters.
    pub const fn severity(&self) -> Severity {
        match self {
            Self::Failed { severity, .. } | Self::Waits { severity, .. } => *severity,
            Self::NotStored { .. } => Severity::Error,
            Self::Unreadable { .. } | Self::NoProfile { .. } | Self::AlreadyReplaced { .. } => {
                Severity::Warning
            }
            Self::Loaded { .. }
            | Self::Follows
            | Self::Leads
            | Self::Ordering { .. }
            | Self::RecordNeeded { .. }
            | Self::Issued { .. } => Severity::Info,
        }
    }
}

impl fmt::Display for AcmeEvent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loaded { names, not_after } => {
                write!(out, "certificate for {names} loaded, valid until {not_after}")
            }
            Self::Unreadable { what, error } => write!(out, "{what} cannot be used: {error}"),
            Self::Follows => out.write_str(
                "another server has the lock of the state and orders certificates; they are used here as \
                 well",
            ),
            Self::Leads => out.write_str("this server orders the certificates of its state"),
            Self::Ordering { names, issuer, reason } => {
                let reason = match reason {
                    OrderReason::Missing => "there is none",
                    OrderReason::Renewal => "it is to be renewed before its end",
                    OrderReason::Authority => "the authority asks for its renewal",
                };
                write!(out, "ordering a certificate for {names} from {issuer}: {reason}")
            }
            Self::NoProfile { profile, issuer } => {
                write!(out, "{issuer} has no profile {profile}; its default is ordered")
            }
            Self::AlreadyReplaced { names } => write!(
                out,
                "the authority does not let the certificate for {names} be replaced; a new one is ordered"
            ),
            Self::RecordNeeded { domain, text } => {
                write!(out, "DNS needs this record once: {domain} IN TXT \"{text}\"")
            }
            Self::Issued { names, issuer, not_after } => {
                write!(out, "certificate for {names} issued by {issuer}, valid until {not_after}")
            }
            Self::Failed { names, issuer, error, next, not_after, .. } => {
                write!(out, "certificate for {names} from {issuer} failed: {error}; next attempt at {next}")?;
                match not_after {
                    Some(not_after) => write!(out, "; the one in use ends at {not_after}"),
                    None => out.write_str("; there is no certificate"),
                }
            }
            Self::Waits { names, reached: LimitReached { limit, until }, .. } => write!(
                out,
                "no certificate for {names} is ordered before {until}, because authorities have a limit: {limit}"
            ),
            Self::NotStored { error } => {
                write!(out, "the state cannot be written: {error}; nothing is ordered until it can")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_in_force_once_every_share_is_confirmed_and_never_if_one_is_dropped() {
        let (first, confirmed) = Confirmation::new();
        let second = first.share();
        first.in_force();
        assert_eq!(confirmed.wait(Duration::ZERO), Force::NotYet);
        second.in_force();
        assert_eq!(confirmed.wait(Duration::ZERO), Force::Yes);
        let (first, confirmed) = Confirmation::new();
        drop(first.share());
        first.in_force();
        assert_eq!(confirmed.wait(Duration::ZERO), Force::Never);
    }
}
