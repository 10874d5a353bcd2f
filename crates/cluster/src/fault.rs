//! Why a connection to NATS has ended.
//!
//! Owns the words for it, with the mend where there is one.

use std::{fmt, io};

use wire::nats::NatsProblem;

/// Why a connection to NATS has ended, or was not established.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkFault {
    /// No connection was established.
    #[error(fmt = unreachable)]
    Unreachable(io::ErrorKind),
    /// The name of the server has no address.
    #[error("the name has no address")]
    UnknownName,
    /// The handshake of TLS failed.
    #[error("the TLS handshake failed: {0}")]
    Encryption(String),
    /// The server wants encrypted connections.
    #[error("the server wants TLS; write the server as \"tls://HOST:PORT\"")]
    WantsEncryption,
    /// The server has ended the connection.
    #[error("the server has ended the connection")]
    Ended,
    /// It did not welcome the link in time.
    #[error("the server did not answer in time")]
    NotWelcomed,
    /// It has said nothing for too long.
    #[error("the server has been silent for 6 s")]
    Silent,
    /// It was there, and messages of other nodes have not arrived.
    #[error(
        "messages of other nodes did not arrive, because the server was cut off from others of NATS; this node \
         connects again, and reads what it has missed"
    )]
    CutOff,
    /// It is about to stop, and has asked its clients to go.
    #[error("the server is about to stop")]
    ServerStops,
    /// It is no server of NATS.
    #[error("the server does not speak the protocol of NATS")]
    NotNats,
    /// It does not know header fields.
    #[error("the server is too old; 2.11 or later is needed")]
    TooOld,
    /// It broke the protocol.
    #[error("the server broke the protocol: {0}")]
    Protocol(NatsProblem),
    /// It does not accept the credentials.
    #[error(
        "the server does not accept the credentials ({0}); see `user`, `password_file`, \
         `token_file` and `nkey_file`"
    )]
    Credentials(String),
    /// It has refused something else, and closed.
    #[error("the server says: {0}")]
    Refused(String),
    /// This node ends.
    #[error("this node ends")]
    Stopping,
}

fn unreachable(kind: &io::ErrorKind, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    match kind {
        io::ErrorKind::ConnectionRefused => out.write_str("no server listens there"),
        kind => write!(out, "it cannot be reached: {kind}"),
    }
}

impl LinkFault {
    /// The fault that a server tells before it ends a connection.
    pub(crate) fn of_error(text: &str) -> Self {
        let is_of_credentials = text.to_ascii_lowercase().contains("auth");
        let text = text.to_owned();
        if is_of_credentials { Self::Credentials(text) } else { Self::Refused(text) }
    }
}

impl From<NatsProblem> for LinkFault {
    fn from(problem: NatsProblem) -> Self {
        match problem {
            NatsProblem::UnknownOperation => Self::NotNats,
            problem => Self::Protocol(problem),
        }
    }
}
