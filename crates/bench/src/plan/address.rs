//! From a host name to an address, and whether it may be loaded.
//!
//! Owns the only name lookup of a run (`getaddrinfo`), and the rule that hosts of other owners are
//! not loaded by mistake. Never opens a connection that stays.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;
use std::time::Duration;

use super::url::ServerPlace;
use crate::limits::PROBE_MS;

/// The destination of connections.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LoadAddress {
    /// TCP.
    Tcp(SocketAddr),
    /// A Unix stream socket.
    Unix(PathBuf),
}

impl LoadAddress {
    /// Whether it is certainly on this host.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Tcp(address) => {
                let address = address.ip().to_canonical();
                address.is_loopback() || address.is_unspecified()
            }
            Self::Unix(_) => true,
        }
    }

    /// The address, if it is a TCP address.
    pub fn tcp(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(address) => Some(*address),
            Self::Unix(_) => None,
        }
    }
}

impl fmt::Display for LoadAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(formatter),
            Self::Unix(path) => write!(formatter, "unix:{}", path.display()),
        }
    }
}

/// The user's declaration about the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// Nothing: only this host and private networks are loaded.
    Unsaid,
    /// It belongs to the user (`--i-own-this-host`).
    Declared,
}

/// Why a place cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadAddressError {
    /// The name cannot be looked up.
    #[error(
        "the name `{host}` cannot be resolved ({error}); check its spelling, or give an address"
    )]
    Unresolvable {
        /// The name.
        host: String,
        /// The error.
        error: io::Error,
    },
    /// The name has no address.
    #[error("the name `{0}` has no address; give one, as in 127.0.0.1:8080")]
    NoAddress(String),
    /// It is a public host that the user has not declared to own.
    #[error(fmt = stranger)]
    Stranger {
        /// The place as given.
        place: String,
        /// The public address.
        address: IpAddr,
    },
    /// There is no such socket.
    #[error("`{}` cannot be asked ({error}); name the socket a server listens on", .path.display())]
    NoSocket {
        /// Its path.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
    /// An address to connect from is not one of this host.
    #[error(
        "cannot connect from {address} ({error}); give addresses of this host (`ip address` lists \
         them)"
    )]
    Source {
        /// The address.
        address: IpAddr,
        /// The error.
        error: io::Error,
    },
}

fn stranger(place: &str, address: &IpAddr, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    let known_as =
        if place.contains(&address.to_string()) { String::new() } else { format!(" ({address})") };
    write!(
        formatter,
        "{place}{known_as} is outside this host and private networks; if it is yours to load, \
                     say --i-own-this-host"
    )
}

/// The address of a place that may be loaded. For a name with several addresses it is the first that answers, or
/// the first if none does.
///
/// # Errors
/// If there is none, or it is a public host that the user has not declared to own.
pub fn resolve(place: &ServerPlace, ownership: Ownership) -> Result<LoadAddress, LoadAddressError> {
    let addresses: Vec<SocketAddr> = match place {
        ServerPlace::Unix(path) => return unix(path),
        ServerPlace::Address { address, port } => vec![SocketAddr::new(*address, *port)],
        ServerPlace::Name { host, port } => (host.as_str(), *port)
            .to_socket_addrs()
            .map_err(|error| LoadAddressError::Unresolvable { host: host.clone(), error })?
            .collect(),
    };
    let stranger = addresses.iter().map(SocketAddr::ip).find(|address| !is_near(*address));
    if let (Some(address), Ownership::Unsaid) = (stranger, ownership) {
        return Err(LoadAddressError::Stranger { place: place.to_string(), address });
    }
    choose(&addresses)
        .map(LoadAddress::Tcp)
        .ok_or_else(|| LoadAddressError::NoAddress(place.to_string()))
}

/// The first address that answers, or else the first. A single one is not tried.
fn choose(addresses: &[SocketAddr]) -> Option<SocketAddr> {
    let answered = || addresses.iter().find(|address| is_answered(address));
    if addresses.len() > 1 { answered().or(addresses.first()) } else { addresses.first() }.copied()
}

fn unix(path: &std::path::Path) -> Result<LoadAddress, LoadAddressError> {
    let is_socket = std::fs::metadata(path).and_then(|found| {
        let strange = || io::Error::other("it is not a socket");
        found.file_type().is_socket().then_some(()).ok_or_else(strange)
    });
    match is_socket {
        Ok(()) => Ok(LoadAddress::Unix(path.to_owned())),
        Err(error) => Err(LoadAddressError::NoSocket { path: path.to_owned(), error }),
    }
}

#[expect(clippy::disallowed_types, reason = "closed at once, before any thread or table exists")]
fn is_answered(address: &SocketAddr) -> bool {
    std::net::TcpStream::connect_timeout(address, Duration::from_millis(PROBE_MS)).is_ok()
}

/// Whether an address is on this host or in a private network: RFC 1918, RFC 4193, RFC 6598, link-local.
fn is_near(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            address.is_loopback()
                || address.is_private()
                || address.is_link_local()
                || address.is_unspecified()
                || is_shared(address)
        }
        IpAddr::V6(address) => {
            address.is_loopback()
                || address.is_unspecified()
                || address.is_unique_local()
                || address.is_unicast_link_local()
        }
    }
}

/// 100.64.0.0/10, which providers and private overlays use (RFC 6598).
fn is_shared(address: Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    first == 100 && second & 0xC0 == 64
}

/// Refuses source addresses that this host does not have.
///
/// # Errors
/// The first such address.
pub fn check_sources(sources: &[IpAddr]) -> Result<(), LoadAddressError> {
    for address in sources {
        // A datagram socket uses none of the ports that connections will need.
        std::net::UdpSocket::bind((*address, 0))
            .map_err(|error| LoadAddressError::Source { address: *address, error })?;
    }
    Ok(())
}

/// The first `count` addresses of 127.0.0.0/8 that connections may come from, beginning with 127.0.0.1.
pub fn loopback_sources(count: u32) -> impl Iterator<Item = IpAddr> {
    let first = Ipv4Addr::LOCALHOST.to_bits();
    let last = Ipv4Addr::new(127, 255, 255, 254).to_bits();
    (first..=last).take(count as usize).map(|bits| Ipv4Addr::from_bits(bits).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(text: &str, ownership: Ownership) -> Result<LoadAddress, LoadAddressError> {
        resolve(&text.parse::<super::super::LoadUrl>().unwrap().place, ownership)
    }

    #[test]
    fn loopback_target_needs_no_declaration() {
        for near in [
            "127.0.0.1",
            "127.255.0.3",
            "0.0.0.0",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.1.1",
            "100.64.0.0",
            "100.127.255.255",
            "[::1]",
            "[::]",
            "[fd00::1]",
            "[fc00::1]",
            "[fe80::1]",
            "[::ffff:10.0.0.1]",
        ] {
            assert!(resolved(near, Ownership::Unsaid).is_ok(), "{near}");
        }
    }

    #[test]
    fn a_stranger_is_loaded_by_its_owner_only() {
        for far in [
            "9.255.255.255",
            "11.0.0.0",
            "172.15.0.1",
            "172.32.0.1",
            "192.167.1.1",
            "192.169.0.1",
            "100.63.255.255",
            "100.128.0.0",
            "169.253.1.1",
            "8.8.8.8",
            "[2001:db8::1]",
            "[fb00::1]",
            "[fec0::1]",
            "[::ffff:8.8.8.8]",
        ] {
            let refused = resolved(far, Ownership::Unsaid).unwrap_err();
            assert!(matches!(refused, LoadAddressError::Stranger { .. }), "{far}: {refused}");
            assert!(refused.to_string().contains("--i-own-this-host"), "{refused}");
            assert!(resolved(far, Ownership::Declared).is_ok(), "{far}");
        }
    }

    #[test]
    #[expect(clippy::disallowed_types, reason = "a test holds a listener of its own")]
    fn a_name_is_looked_up_and_the_answered_address_taken() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let place = ServerPlace::Name { host: "localhost".to_owned(), port: address.port() };
        assert_eq!(resolve(&place, Ownership::Unsaid).unwrap(), LoadAddress::Tcp(address));
    }

    #[test]
    #[expect(clippy::disallowed_types, reason = "a test holds a listener of its own")]
    fn of_several_addresses_the_first_that_is_answered_is_taken() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let open = listener.local_addr().unwrap();
        // No program listens at the other addresses of this host.
        let silent = |last| SocketAddr::new(Ipv4Addr::new(127, 0, 0, last).into(), open.port());
        assert_eq!(choose(&[silent(2), open, silent(3)]), Some(open));
        assert_eq!(choose(&[silent(2), silent(3)]), Some(silent(2)));
        assert_eq!(choose(&[silent(2)]), Some(silent(2)));
        assert_eq!(choose(&[]), None);
    }

    #[test]
    fn a_name_of_nothing_is_said() {
        let error = resolved("http://no-such-name.invalid/", Ownership::Unsaid).unwrap_err();
        assert!(error.to_string().contains("`no-such-name.invalid`"), "{error}");
        let error = resolved("unix:/no/such/socket", Ownership::Unsaid).unwrap_err();
        assert!(error.to_string().contains("`/no/such/socket`"), "{error}");
        let error = resolved("unix:/etc/passwd", Ownership::Unsaid).unwrap_err();
        assert!(error.to_string().contains("`/etc/passwd` cannot be asked (it is not a socket)"));
    }

    #[test]
    fn sources_are_addresses_of_this_host() {
        let loopback: Vec<IpAddr> = loopback_sources(300).collect();
        assert_eq!(loopback.len(), 300);
        assert_eq!(loopback[0].to_string(), "127.0.0.1");
        assert_eq!(loopback[299].to_string(), "127.0.1.44");
        check_sources(&loopback).unwrap();
        let error = check_sources(&["192.0.2.7".parse().unwrap()]).unwrap_err();
        assert!(error.to_string().contains("192.0.2.7"), "{error}");
    }
}
