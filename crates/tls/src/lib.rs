//! TLS 1.2 and 1.3 (RFC 5246, RFC 8446) as a transport of the runtime, for both sides of a connection.
//!
//! Owns certificates and the choice among them, the settings of listeners and of connections to other servers, and the
//! sessions. Knows no protocol above it, opens no socket, and reads files only when it is told to. It keeps out rustls:
//! nothing else names a type of it.

mod alert;
mod carrier;
mod certificate;
mod choice;
mod client;
mod failure;
mod identity;
pub mod limits;
mod own_sessions;
mod pem;
mod provider;
mod self_signed;
mod server;
mod session;
mod stream;

pub use alert::alert_name;
pub use certificate::{Certificate, MalformedCertificate, days_left, time_left};
pub use choice::{CHALLENGE_PROTOCOL, Challenge, ChallengeError};
pub use client::{Authorities, Connector, ConnectorError, TrustedServers};
pub use identity::{Flaw, Identity, IdentityError};
pub use pem::{PemDamage, PemError, read_certificates};
pub use self_signed::{SelfSignedError, self_signed};
pub use server::{
    Acceptor, AcceptorError, Certificates, ClientAuthorities, ClientCertificates, Tickets,
};
pub use stream::{StreamError, TlsStream};
