//! Origins: the servers that requests go to (RFC 9110, 4.3.1).
//!
//! Owns what makes two requests use the same connections. Never connects.

use std::borrow::Cow;
use std::net::IpAddr;

use tls::Connector;
use wire::http::url::Scheme;

/// A server: scheme, host and port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// Whether the connection is encrypted.
    pub transport: Transport,
    /// The host.
    pub host: Host,
    /// The port.
    pub port: u16,
}

/// The transport that an origin wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// None: `http`.
    Plain,
    /// One that encrypts, and checks that the host is the one in the URL: `https`.
    Encrypted,
}

/// What connections are kept and counted by: the origin, and the certificates that are trusted and shown. Requests that
/// differ in one of these do not share a connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Destination {
    pub(crate) origin: Origin,
    /// The settings of TLS; `None` for a plain transport.
    pub(crate) connector: Option<Connector>,
}

impl Destination {
    /// The name for which the server shows a certificate.
    pub(crate) fn server_name(&self) -> Cow<'_, str> {
        match &self.origin.host {
            Host::Name(name) => Cow::Borrowed(name),
            Host::Address(address) => Cow::Owned(address.to_string()),
        }
    }
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
