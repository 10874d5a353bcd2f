//! Connecting: from an address to a socket that is connected, is connecting, or cannot be had.
//!
//! Owns the calls that begin a connection, and the names of errors. Never waits: the pollset does.

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

/// The destination of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemoteAddress {
    /// TCP over IPv4 or IPv6.
    Tcp(SocketAddr),
    /// The file of a Unix stream socket. Reference-counted, so that a million connections do not copy it.
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
    /// The destination.
    pub to: RemoteAddress,
    /// The local address, for TCP: each has its own range of ports. `None`: the kernel chooses.
    pub from: Option<IpAddr>,
}

/// The state of a new connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connecting {
    /// Connected.
    Done,
    /// Connecting: an event will tell.
    Pending,
}

/// Begins a connection.
///
/// # Errors
/// As described for [`Pollset::connect`](crate::pollset::Pollset::connect).
pub fn begin(options: &ConnectOptions) -> Result<(Socket, Connecting), Errno> {
    match &options.to {
        RemoteAddress::Tcp(address) => begin_tcp(address, options.from),
        RemoteAddress::Unix(path) => {
            let descriptor = open(AddressFamily::UNIX)?;
            let address = SocketAddrUnix::new(&**path)?;
            // It connects at once or not at all: a full queue is EAGAIN, and waiting does not help.
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
        // The port is chosen when the destination is known: then the same port serves many destinations, and
        // each local address has all ports.
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

/// Over loopback the handshake is complete before the first call returns, which still says "in progress"; the
/// second call tells the result. It costs no more than the later query that it replaces, and saves the
/// wait.
fn ask_again(descriptor: &OwnedFd, to: &impl SocketAddrArg) -> Result<Connecting, Errno> {
    match rustix::net::connect(descriptor, to) {
        Ok(()) | Err(Errno::ISCONN) => Ok(Connecting::Done),
        Err(Errno::ALREADY | Errno::INPROGRESS) => Ok(Connecting::Pending),
        Err(error) => Err(error),
    }
}

/// The error kind that the pollset reports for an error of connecting.
pub(crate) fn kind_of(error: Errno) -> io::ErrorKind {
    match error {
        Errno::MFILE | Errno::NFILE | Errno::NOSPC => io::ErrorKind::QuotaExceeded,
        Errno::NOMEM | Errno::NOBUFS => io::ErrorKind::OutOfMemory,
        error => error.kind(),
    }
}
