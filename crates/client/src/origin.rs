//! Origins: the servers that requests go to (RFC 9110, 4.3.1).
//!
//! Owns what makes two requests use the same connections. Never connects.

use std::borrow::Cow;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use sys::connect::RemoteAddress;
use tls::Connector;
use wire::http::url::Scheme;

use crate::version::{HTTP2, Versions};

/// A server: scheme, host and port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ServerOrigin {
    /// Whether the connection is encrypted.
    pub transport: OriginTransport,
    /// The host.
    pub host: OriginHost,
    /// The port.
    pub port: u16,
}

/// The transport that an origin wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OriginTransport {
    /// None: `http`.
    Plain,
    /// One that encrypts, and checks that the host is the one in the URL: `https`.
    Encrypted,
}

/// The key by which connections are kept and counted: the origin, and the certificates that are trusted and shown.
/// Requests that differ in one of these do not share a connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Destination {
    pub(crate) origin: ServerOrigin,
    /// The settings of TLS; `None` for a plain transport.
    pub(crate) connector: Option<Connector>,
    /// The name of its certificate, if that is not its host.
    named: Option<Box<str>>,
    /// The versions of HTTP that its connections may speak.
    pub(crate) versions: Versions,
}

impl Destination {
    /// The destination for an origin. With a connector, its certificate has this name, or that of its host; `None` if
    /// it cannot have one.
    pub(crate) fn checked(
        origin: ServerOrigin,
        connector: Option<Connector>,
        named: Option<Box<str>>,
    ) -> Option<Self> {
        let is_offered = connector.as_ref().is_some_and(|connector| connector.offers(HTTP2));
        let versions = if is_offered { Versions::Agreed } else { Versions::Http1 };
        let destination = Self { origin, connector, named, versions };
        let has_name =
            destination.connector.is_none() || Connector::is_name(&destination.server_name());
        has_name.then_some(destination)
    }

    /// The same with HTTP/2 on plain connections, which is not negotiated (RFC 9113, 3.3). Encrypted ones negotiate it.
    pub(crate) fn with_prior_knowledge(self) -> Self {
        match self.connector {
            None => Self { versions: Versions::Http2, ..self },
            Some(_) => self,
        }
    }

    /// The scheme of its requests.
    pub(crate) fn scheme(&self) -> Scheme {
        match self.origin.transport {
            OriginTransport::Plain => Scheme::Http,
            OriginTransport::Encrypted => Scheme::Https,
        }
    }

    /// The name for which the server shows a certificate.
    pub(crate) fn server_name(&self) -> Cow<'_, str> {
        match (&self.named, &self.origin.host) {
            (Some(name), _) | (None, OriginHost::Name(name)) => Cow::Borrowed(name),
            (None, OriginHost::Address(address)) => Cow::Owned(address.to_string()),
            // A file has no name that a certificate could be for.
            (None, OriginHost::Socket(_)) => Cow::Borrowed(""),
        }
    }

    /// The place that a connection to one of its addresses leads to, for those who look.
    pub(crate) fn place(&self, address: IpAddr) -> String {
        match &self.origin.host {
            OriginHost::Socket(path) => path.display().to_string(),
            OriginHost::Name(_) | OriginHost::Address(_) => {
                SocketAddr::new(address, self.origin.port).to_string()
            }
        }
    }

    /// The place that a connection to one of its addresses leads to.
    pub(crate) fn remote(&self, address: IpAddr) -> RemoteAddress {
        match &self.origin.host {
            OriginHost::Socket(path) => RemoteAddress::Unix(Arc::clone(path)),
            OriginHost::Name(_) | OriginHost::Address(_) => {
                RemoteAddress::Tcp(SocketAddr::new(address, self.origin.port))
            }
        }
    }
}

impl fmt::Display for ServerOrigin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.transport {
            OriginTransport::Plain => "http",
            OriginTransport::Encrypted => "https",
        };
        match &self.host {
            OriginHost::Address(address) => {
                write!(out, "{scheme}://{}", SocketAddr::new(*address, self.port))
            }
            OriginHost::Name(name) => write!(out, "{scheme}://{name}:{}", self.port),
            OriginHost::Socket(path) => write!(out, "{scheme} at {}", path.display()),
        }
    }
}

impl From<Scheme> for OriginTransport {
    fn from(scheme: Scheme) -> Self {
        match scheme {
            Scheme::Http => Self::Plain,
            Scheme::Https => Self::Encrypted,
        }
    }
}

/// The host of an origin.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OriginHost {
    /// An address, which needs no lookup.
    Address(IpAddr),
    /// A name in lower case, without a final dot.
    Name(Box<str>),
    /// The file of a Unix socket, which has no port. No URL leads there.
    Socket(Arc<Path>),
}

/// A placeholder for the address of a Unix socket, which has none: the socket is one place.
pub(crate) const OF_SOCKET: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
