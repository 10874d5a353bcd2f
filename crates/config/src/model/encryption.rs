//! The part of a configuration on encrypted connections: certificates of listeners and of clients, the way of a host's
//! clients to them.
//!
//! Owns the shape. Never opens a file.

use std::path::PathBuf;
use std::time::Duration;

/// The encryption of a listener's connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// The certificates that the server shows.
    pub certificates: ListenerCertificates,
    /// The certificates that clients show.
    pub clients: ClientCertificatePolicy,
}

/// The certificates that a listener shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenerCertificates {
    /// Those of files, chosen by the name that a client asks for. The first is for clients that ask for none of them.
    Files(Vec<CertificateFiles>),
    /// One that is made at the start and has signed itself.
    SelfSigned,
    /// Certificates that the server orders.
    Acme,
}

impl Tls {
    /// Encryption with these certificates; clients show none.
    pub(crate) fn of(certificates: ListenerCertificates) -> Self {
        Self { certificates, clients: ClientCertificatePolicy::Ignored }
    }
}

/// A certificate and its key, each in a PEM file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The server's own certificate first, then those of its issuers.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// Whether clients show certificates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientCertificatePolicy {
    /// They are not asked for.
    Ignored,
    /// They are asked for; those that are shown must be issued by an authority of this file.
    Asked(PathBuf),
    /// The same, and a client without one is refused.
    Required(PathBuf),
}

/// How the clients of a host come to encrypted connections, and stay there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Https {
    /// Whether requests over plain connections are redirected.
    pub redirect: bool,
    /// How long browsers shall use encrypted connections only (RFC 6797).
    pub strict_for: Option<Duration>,
}
