//! The PROXY header that this server sends at the start of a connection to another one.
//!
//! Owns its two forms (proxy-protocol.txt of HAProxy, sections 2.1 and 2.2). Never decides whom it tells of.

use std::net::{IpAddr, SocketAddr};

use crate::proxy::{ProxiedClient, V2_SIGNATURE};

/// The form of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyVersion {
    /// A line of text.
    V1,
    /// Binary.
    V2,
}

/// The header that tells of this client, at most
/// [`PROXY_V1_BYTES_MAXIMUM`](crate::limits::PROXY_V1_BYTES_MAXIMUM) bytes. Version 1 has no word for a connection of
/// the proxy itself, which is an unknown client there.
pub fn write(version: ProxyVersion, client: &ProxiedClient) -> Vec<u8> {
    match version {
        ProxyVersion::V1 => write_v1(client).into_bytes(),
        ProxyVersion::V2 => write_v2(client),
    }
}

fn write_v1(client: &ProxiedClient) -> String {
    let ProxiedClient::Inet { source, destination } = client else {
        return "PROXY UNKNOWN\r\n".to_owned();
    };
    let (source, destination) = of_one_family(*source, *destination);
    let family = if source.is_ipv4() { "TCP4" } else { "TCP6" };
    let (from, to) = (source.ip(), destination.ip());
    format!("PROXY {family} {from} {to} {} {}\r\n", source.port(), destination.port())
}

fn write_v2(client: &ProxiedClient) -> Vec<u8> {
    let mut header = V2_SIGNATURE.to_vec();
    let ProxiedClient::Inet { source, destination } = client else {
        // Version 2; the command LOCAL or PROXY; no family; no addresses.
        let command = if *client == ProxiedClient::Local { 0x20 } else { 0x21 };
        header.extend_from_slice(&[command, 0, 0, 0]);
        return header;
    };
    let (source, destination) = of_one_family(*source, *destination);
    // The family and a stream; the size of two addresses and two ports.
    let (family, size) = if source.is_ipv4() { (0x11, 12) } else { (0x21, 36) };
    header.extend_from_slice(&[0x21, family, 0, size]);
    for end in [source, destination] {
        match end.ip() {
            IpAddr::V4(address) => header.extend_from_slice(&address.octets()),
            IpAddr::V6(address) => header.extend_from_slice(&address.octets()),
        }
    }
    for end in [source, destination] {
        header.extend_from_slice(&end.port().to_be_bytes());
    }
    header
}

/// Both addresses in one family, because a header has one for both: an address of IPv4 beside one of IPv6 is mapped
/// (RFC 4291 section 2.5.5.2). All addresses of this host are those of either family.
fn of_one_family(source: SocketAddr, destination: SocketAddr) -> (SocketAddr, SocketAddr) {
    let mapped = |end: SocketAddr| match end.ip() {
        IpAddr::V4(address) => SocketAddr::new(address.to_ipv6_mapped().into(), end.port()),
        IpAddr::V6(_) => end,
    };
    match (source, destination.ip()) {
        (SocketAddr::V4(_), IpAddr::V6(all)) if all.is_unspecified() => {
            let all = IpAddr::from([0, 0, 0, 0]);
            (source, SocketAddr::new(all, destination.port()))
        }
        (SocketAddr::V6(_), IpAddr::V4(all)) if all.is_unspecified() => {
            let all = IpAddr::from([0; 16]);
            (source, SocketAddr::new(all, destination.port()))
        }
        _ if source.is_ipv4() == destination.is_ipv4() => (source, destination),
        _ => (mapped(source), mapped(destination)),
    }
}
