//! Connecting: from an address to a socket that stands, is about to, or cannot be had.
//!
//! Owns the calls that begin a connection and the names of what can go wrong. Never waits: that is the pollset.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, addr::SocketAddrArg, ipproto, sockopt,
};

use crate::descriptor;
use crate::socket::Socket;

/// Where a connection leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemoteAddress {
    /// TCP over IPv4 or IPv6.
    Tcp(SocketAddr),
    /// A Unix stream socket's file. Counted, so that a million connections do not copy it.
    Unix(Arc<Path>),
}

impl fmt::Display for RemoteAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(formatter),
            Self::Unix(path) => write!(formatter, "unix:{}", path.display()),
        }
    }
}

/// How a connection is begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectOptions {
    /// Where it leads.
    pub to: RemoteAddress,
    /// The local address, for TCP: each has ports of its own. `None`: the kernel chooses.
    pub from: Option<IpAddr>,
}

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connecting {
    /// It stands.
    Done,
    /// It does not yet: an event will tell.
    Pending,
}

/// Begins a connection.
///
/// # Errors
/// As [`Pollset::connect`](crate::pollset::Pollset::connect) names them.
pub fn begin(options: &ConnectOptions) -> Result<(Socket, Connecting), Errno> {
    match &options.to {
        RemoteAddress::Tcp(address) => begin_tcp(address, options.from),
        RemoteAddress::Unix(path) => {
            let descriptor = open(AddressFamily::UNIX)?;
            let address = SocketAddrUnix::new(&**path)?;
            // It stands at once or not at all: a full queue is EAGAIN, and nothing comes of waiting.
            rustix::net::connect(&descriptor, &address)?;
            Ok((Socket::of(descriptor), Connecting::Done))
        }
    }
}

fn open(family: AddressFamily) -> Result<OwnedFd, Errno> {
    let protocol = (family != AddressFamily::UNIX).then_some(ipproto::TCP);
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    rustix::net::socket_with(family, SocketType::STREAM, flags, protocol)
}

fn begin_tcp(to: &SocketAddr, from: Option<IpAddr>) -> Result<(Socket, Connecting), Errno> {
    let family = if to.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
    let descriptor = open(family)?;
    sockopt::set_tcp_nodelay(&descriptor, true)?;
    if let Some(address) = from {
        // The port is chosen when the destination is known: then the same one serves for many destinations, and
        // each local address has all of them.
        descriptor::set_bind_address_no_port(descriptor.as_fd())
            .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::INVAL))?;
        rustix::net::bind(&descriptor, &SocketAddr::new(address, 0))?;
    }
    let connecting = match rustix::net::connect(&descriptor, to) {
        Ok(()) => Connecting::Done,
        Err(Errno::INPROGRESS) if to.ip().is_loopback() => ask_again(&descriptor, to)?,
        Err(Errno::INPROGRESS) => Connecting::Pending,
        Err(error) => return Err(error),
    };
    Ok((Socket::of(descriptor), connecting))
}

/// Over loopback the handshake is over before the first call returns, which says "in progress" all the same; the
/// second call says how it ended. It costs no more than the question for the outcome that it saves, and saves the
/// wait.
fn ask_again(descriptor: &OwnedFd, to: &impl SocketAddrArg) -> Result<Connecting, Errno> {
    match rustix::net::connect(descriptor, to) {
        Ok(()) | Err(Errno::ISCONN) => Ok(Connecting::Done),
        Err(Errno::ALREADY | Errno::INPROGRESS) => Ok(Connecting::Pending),
        Err(error) => Err(error),
    }
}

/// The kind under which the pollset names an error of connecting.
pub(crate) fn kind_of(error: Errno) -> io::ErrorKind {
    match error {
        Errno::MFILE | Errno::NFILE | Errno::NOSPC => io::ErrorKind::QuotaExceeded,
        Errno::NOMEM | Errno::NOBUFS => io::ErrorKind::OutOfMemory,
        error => error.kind(),
    }
}
