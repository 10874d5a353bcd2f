//! Ports of this machine that a test needs.

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU32, Ordering};

/// The ports of which [`free_address`] chooses.
const FIRST_PORT: u16 = 20_000;
const PORTS: u32 = 12_000;

/// A port of 127.0.0.1 that is in use as long as this is kept.
pub(crate) fn used_port() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// An address of 127.0.0.1 whose port was free a moment ago. It is below those that the kernel gives to connections
/// and to listeners on port 0 (`ip_local_port_range`), so that only another call of this may take it.
pub(crate) fn free_address() -> SocketAddr {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let begin = std::process::id().wrapping_mul(617);
    let ports = (0..PORTS).map(|_| begin.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)));
    let mut addresses = ports
        .map(|number| SocketAddr::from(([127, 0, 0, 1], FIRST_PORT + (number % PORTS) as u16)));
    addresses.find(|address| TcpListener::bind(address).is_ok()).expect("a free port")
}
