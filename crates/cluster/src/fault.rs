//! Why a connection to NATS has ended.
//!
//! Owns the words for it, with the mend where there is one.

use std::fmt;
use std::io;

use wire::nats::NatsProblem;

/// Why a connection to NATS has ended, or was not established.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkFault {
    /// No connection was established.
    Unreachable(io::ErrorKind),
    /// The name of the server has no address.
    UnknownName,
    /// The handshake of TLS failed.
    Encryption(String),
    /// The server wants encrypted connections.
    WantsEncryption,
    /// The server has ended the connection.
    Ended,
    /// It did not welcome the link in time.
    NotWelcomed,
    /// It has said nothing for too long.
    Silent,
    /// It is about to stop, and has asked its clients to go.
    ServerStops,
    /// It is no server of NATS.
    NotNats,
    /// It does not know header fields.
    TooOld,
    /// It broke the protocol.
    Protocol(NatsProblem),
    /// It does not accept the credentials.
    Credentials(String),
    /// It has refused something else, and closed.
    Refused(String),
    /// This node ends.
    Stopping,
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

impl fmt::Display for LinkFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(io::ErrorKind::ConnectionRefused) => {
                out.write_str("no server listens there")
            }
            Self::Unreachable(kind) => write!(out, "it cannot be reached: {kind}"),
            Self::UnknownName => out.write_str("the name has no address"),
            Self::Encryption(why) => write!(out, "the TLS handshake failed: {why}"),
            Self::WantsEncryption => {
                out.write_str("the server wants TLS; write the server as \"tls://HOST:PORT\"")
            }
            Self::Ended => out.write_str("the server has ended the connection"),
            Self::NotWelcomed => out.write_str("the server did not answer in time"),
            Self::Silent => out.write_str("the server has been silent for 6 s"),
            Self::ServerStops => out.write_str("the server is about to stop"),
            Self::NotNats => out.write_str("the server does not speak the protocol of NATS"),
            Self::TooOld => out.write_str("the server is too old; 2.11 or later is needed"),
            Self::Protocol(problem) => write!(out, "the server broke the protocol: {problem}"),
            Self::Credentials(text) => {
                write!(out, "the server does not accept the credentials ({text}); see `user`, ")?;
                out.write_str("`password_file`, `token_file` and `nkey_file`")
            }
            Self::Refused(text) => write!(out, "the server says: {text}"),
            Self::Stopping => out.write_str("this node ends"),
        }
    }
}
