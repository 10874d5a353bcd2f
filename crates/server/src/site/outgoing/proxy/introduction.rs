//! The introduction of a client to a server before the first byte of a request: the PROXY header.
//!
//! Owns whom it tells of. Its form is in `wire`; a connection that begins with it serves one request.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::rc::Rc;

use config::ListenerAddress;
use http::Request;
use wire::proxy::ProxiedClient;
use wire::proxy_header::{ProxyVersion, write};

use crate::site::exchange::address_of;
use crate::site_data::SiteData;

/// The client of a request, and the listener through which it came.
pub(in crate::site) fn client_of(request: &Request<'_>, data: &SiteData) -> ProxiedClient {
    let Some(address) = address_of(request) else { return ProxiedClient::Unknown };
    let listener = data.config.listeners.get(usize::from(request.listener.0));
    let destination = match listener.map(|listener| &listener.address) {
        Some(ListenerAddress::Tcp(listens)) => *listens,
        // The client has reached a proxy in front of this socket, or systemd knows the address.
        Some(ListenerAddress::Unix(_) | ListenerAddress::Systemd(_)) | None => {
            let all: IpAddr = match address {
                IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
                IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
            };
            SocketAddr::new(all, 0)
        }
    };
    ProxiedClient::Inet { source: SocketAddr::new(address, request.peer.port), destination }
}

/// The header in this version.
pub(in crate::site) fn lead(version: ProxyVersion, client: &ProxiedClient) -> Rc<[u8]> {
    write(version, client).into()
}
