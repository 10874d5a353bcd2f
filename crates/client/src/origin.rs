//! Origins: the servers that requests go to (RFC 9110, 4.3.1).
//!
//! Owns what makes two requests use the same connections. Never connects.

use std::net::IpAddr;

use wire::http::url::Scheme;

/// A server: scheme, host and port. Connections are kept and counted by origin.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// Whether the connection is encrypted.
    pub transport: Transport,
    /// The host.
    pub host: Host,
    /// The port.
    pub port: u16,
}

/// The transport that an origin wants. Certificates to trust and to show join [`Transport::Encrypted`] with the
/// transport that checks them: requests that differ in them must not share a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// None: `http`.
    Plain,
    /// One that encrypts, and checks that the host is the one in the URL: `https`. Refused today.
    Encrypted,
}

impl From<Scheme> for Transport {
    fn from(scheme: Scheme) -> Self {
        match scheme {
            Scheme::Http => Self::Plain,
            Scheme::Https => Self::Encrypted,
        }
    }
}

/// The host of an origin.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Host {
    /// An address, which needs no lookup.
    Address(IpAddr),
    /// A name in lower case, without a final dot.
    Name(Box<str>),
}
