//! Ports of this machine that a test needs.

use std::net::{SocketAddr, TcpListener};

/// A port of 127.0.0.1 that is in use as long as this is kept.
pub(crate) fn used_port() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// An address of 127.0.0.1 whose port was free a moment ago.
pub(crate) fn free_address() -> SocketAddr {
    used_port().1
}
