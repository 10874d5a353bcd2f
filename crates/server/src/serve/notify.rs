//! Tells the service manager the state of the server (sd_notify(3)).
//!
//! Owns the datagrams. Never waits: a manager that does not read misses a state.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
// Not on a scheduler: the main thread and a start send these.
use std::os::unix::net::{SocketAddr, UnixDatagram};

use sys::clock::monotonic_ns;

/// The states that the manager is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It serves, or serves again.
    Ready,
    /// It reloads its configuration.
    Reloading,
    /// It drains.
    Stopping,
}

/// Tells the state. Without a manager nothing happens.
pub(super) fn tell(state: State) {
    let Some(name) = env::var_os("NOTIFY_SOCKET") else { return };
    let text = match state {
        State::Ready => "READY=1\n".to_owned(),
        // Without the time `systemctl reload` waits forever.
        State::Reloading => format!("RELOADING=1\nMONOTONIC_USEC={}\n", monotonic_ns() / 1000),
        State::Stopping => "STOPPING=1\n".to_owned(),
    };
    let _manager_is_gone_or_busy = send(&name, &text);
}

fn send(name: &OsStr, text: &str) -> io::Result<()> {
    let address = match name.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(name)?,
    };
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    socket.send_to_addr(text.as_bytes(), &address).map(drop)
}
