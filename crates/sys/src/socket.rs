//! Sockets as a scheduler holds them: opened, bound and closed by the thread in whose descriptor table they are.
//!
//! Owns addresses and socket options. Never waits (the pollset does) and never passes a descriptor to another
//! thread: [`Socket`] and [`Listener`] are neither `Send` nor `Sync`, because with a descriptor table per
//! scheduler the same number is a different socket elsewhere.

mod place;

use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    AddressFamily, SocketAddrAny, SocketAddrUnix, SocketFlags, SocketType, ipproto, sockopt,
};

use self::place::{SocketFile, remove_stale};
pub use self::place::{has_ipv6, may_listen};
use crate::limits::{PROBE_AFTER_S, PROBE_EVERY_S, PROBES, UNSENT_BYTES};

/// The address of a listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenAddress {
    /// TCP over IPv4 or IPv6, where no other program listens.
    Tcp(SocketAddr),
    /// The same, next to listeners of this process: it opened the first one as [`Self::Tcp`].
    TcpBeside(SocketAddr),
    /// A Unix stream socket; one scheduler opens it, and a stale file at that path is replaced.
    Unix(UnixAddress),
    /// A socket that was open when the process started (systemd's `LISTEN_FDS`), shared by all schedulers.
    Inherited(RawFd),
}

/// The path of a Unix socket and the permission bits of its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnixAddress {
    /// The file.
    pub path: PathBuf,
    /// Its mode, for example `0o660`.
    pub mode: u32,
}

impl ListenAddress {
    /// The address, if it is a TCP address.
    pub fn tcp(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(address) | Self::TcpBeside(address) => Some(*address),
            Self::Unix(_) | Self::Inherited(_) => None,
        }
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) | Self::TcpBeside(address) => address.fmt(formatter),
            Self::Unix(address) => write!(formatter, "unix:{}", address.path.display()),
            Self::Inherited(number) => write!(formatter, "inherited descriptor {number}"),
        }
    }
}

/// The other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Peer {
    /// The address; unspecified (`0.0.0.0`) for a Unix socket.
    pub address: IpAddr,
    /// Port; 0 for a Unix socket.
    pub port: u16,
}

impl Peer {
    /// The peer of a Unix socket, which has no address.
    pub const LOCAL: Peer = Peer { address: IpAddr::V4(Ipv4Addr::UNSPECIFIED), port: 0 };
}

impl From<SocketAddr> for Peer {
    fn from(address: SocketAddr) -> Self {
        // A socket for both families shows clients of IPv4 as mapped addresses: they are the same clients.
        Peer { address: address.ip().to_canonical(), port: address.port() }
    }
}

/// A connected stream socket in this thread's descriptor table. Dropping it closes it.
#[derive(Debug)]
pub struct Socket {
    descriptor: OwnedFd,
    _table: PhantomData<*const ()>,
}

// One descriptor number, no more, because a million idle connections pay for each byte.
const _: () = assert!(size_of::<Option<Socket>>() == 4);

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// A listening socket in this thread's descriptor table. Dropping it closes it and removes its Unix path.
#[derive(Debug)]
pub struct Listener {
    descriptor: OwnedFd,
    kind: Kind,
    _table: PhantomData<*const ()>,
}

/// The owner of a listener.
#[derive(Debug)]
enum Kind {
    Tcp,
    /// Until its file was removed.
    Unix(Option<SocketFile>),
    /// Another process has it, too.
    Inherited,
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if matches!(self.kind, Kind::Unix(_)) {
            // Removing the file only tidies the directory: the next start replaces a stale file anyway.
            let _removed_or_gone = self.refuse_new();
        }
    }
}

impl Listener {
    /// Opens a TCP listener where no other program listens; further ones of this user may then join with
    /// [`Self::tcp_beside`].
    ///
    /// `SO_REUSEPORT` is set last. If it were set before, another server of the same user that also sets it would go
    /// unnoticed, and the kernel would give each a part of the connections. The kernel checks again when a socket
    /// begins to listen: if two servers start at the same time, one is refused.
    pub fn tcp(address: SocketAddr, backlog: u32) -> io::Result<Self> {
        let listener = Self::tcp_socket(address)?;
        listener.bind_and_listen(address, backlog)?;
        sockopt::set_socket_reuseport(&listener.descriptor, true)?;
        Ok(listener)
    }

    /// Opens another TCP listener at an address that [`Self::tcp`] has opened.
    pub fn tcp_beside(address: SocketAddr, backlog: u32) -> io::Result<Self> {
        let listener = Self::tcp_socket(address)?;
        sockopt::set_socket_reuseport(&listener.descriptor, true)?;
        listener.bind_and_listen(address, backlog)?;
        Ok(listener)
    }

    /// A socket with the options of a listener: an address in TIME_WAIT can be bound, and accepted connections inherit
    /// TCP_NODELAY and the limit of unsent bytes.
    fn tcp_socket(address: SocketAddr) -> io::Result<Self> {
        let family = if address.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
        let descriptor = rustix::net::socket_with(
            family,
            SocketType::STREAM,
            SocketFlags::NONBLOCK | SocketFlags::CLOEXEC,
            Some(ipproto::TCP),
        )?;
        sockopt::set_socket_reuseaddr(&descriptor, true)?;
        sockopt::set_tcp_nodelay(&descriptor, true)?;
        crate::descriptor::set_unsent_bound(descriptor.as_fd(), UNSENT_BYTES)?;
        if address.is_ipv6() {
            // `[::]` and `0.0.0.0` are two listeners: exactly what is configured is opened.
            sockopt::set_ipv6_v6only(&descriptor, true)?;
        }
        Ok(Self { descriptor, kind: Kind::Tcp, _table: PhantomData })
    }

    fn bind_and_listen(&self, address: SocketAddr, backlog: u32) -> io::Result<()> {
        rustix::net::bind(&self.descriptor, &address)?;
        Ok(rustix::net::listen(&self.descriptor, i32::try_from(backlog).unwrap_or(i32::MAX))?)
    }

    /// Opens a Unix stream listener; replaces a stale socket file, and refuses one on which a program answers.
    pub fn unix(address: &UnixAddress, backlog: u32) -> io::Result<Self> {
        let kernel_address = SocketAddrUnix::new(&address.path)?;
        remove_stale(&address.path, &kernel_address)?;
        let descriptor = rustix::net::socket_with(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::NONBLOCK | SocketFlags::CLOEXEC,
            None,
        )?;
        rustix::net::bind(&descriptor, &kernel_address)?;
        rustix::fs::chmod(&address.path, rustix::fs::Mode::from_raw_mode(address.mode))?;
        rustix::net::listen(&descriptor, i32::try_from(backlog).unwrap_or(i32::MAX))?;
        let kind = Kind::Unix(Some(SocketFile::at(&address.path)));
        Ok(Self { descriptor, kind, _table: PhantomData })
    }

    /// Takes up a listening socket that was open when the process started.
    ///
    /// The number is duplicated, so that each scheduler closes only its own copy.
    pub fn inherited(number: RawFd) -> io::Result<Self> {
        let borrowed = crate::descriptor::borrow_inherited(number)?;
        let descriptor = rustix::io::fcntl_dupfd_cloexec(borrowed, 3)?;
        let flags = rustix::fs::fcntl_getfl(&descriptor)?;
        rustix::fs::fcntl_setfl(&descriptor, flags | rustix::fs::OFlags::NONBLOCK)?;
        if !sockopt::socket_acceptconn(&descriptor)? {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "it is not a listening socket",
            ));
        }
        let listener = Self { descriptor, kind: Kind::Inherited, _table: PhantomData };
        if listener.is_tcp()? {
            crate::descriptor::set_unsent_bound(listener.as_fd(), UNSENT_BYTES)?;
        }
        Ok(listener)
    }

    /// Accepts only connections whose first bytes have arrived (`TCP_DEFER_ACCEPT`), for at most this many seconds:
    /// after that the connection is accepted without bytes, and the header deadline applies as to any other. 0 turns it
    /// off; a listener that is not TCP stays as it is.
    ///
    /// The kernel counts in repeated handshakes, which it makes after 1, 3, 7, 15 ... seconds: it uses the next of
    /// these.
    pub fn defer_accept(&self, seconds: u32) -> io::Result<()> {
        if !self.is_tcp()? {
            return Ok(());
        }
        let seconds = i32::try_from(seconds).unwrap_or(i32::MAX);
        crate::descriptor::set_tcp_defer_accept(self.as_fd(), seconds)
    }

    /// Makes the kernel probe silent peers. Accepted connections inherit it, without a call for each. A
    /// listener that is not TCP stays as it is.
    pub fn probe_silent_peers(&self) -> io::Result<()> {
        if !self.is_tcp()? {
            return Ok(());
        }
        sockopt::set_tcp_keepidle(&self.descriptor, Duration::from_secs(PROBE_AFTER_S))?;
        sockopt::set_tcp_keepintvl(&self.descriptor, Duration::from_secs(PROBE_EVERY_S))?;
        sockopt::set_tcp_keepcnt(&self.descriptor, PROBES)?;
        Ok(sockopt::set_socket_keepalive(&self.descriptor, true)?)
    }

    fn is_tcp(&self) -> io::Result<bool> {
        let family = sockopt::socket_domain(&self.descriptor)?;
        Ok(family == AddressFamily::INET || family == AddressFamily::INET6)
    }

    /// Lets the kernel choose among the group's listeners by the CPU that received the connection.
    ///
    /// The listeners must have been opened in core order, because the number is an index into the group. The second
    /// listener creates the group.
    pub fn attach_reuseport_by_cpu(&self) -> io::Result<()> {
        crate::descriptor::attach_reuseport_by_cpu(self.as_fd())
    }

    /// The address that the kernel assigned, with the port if it was requested as 0.
    pub fn local_address(&self) -> io::Result<ListenAddress> {
        match SocketAddr::try_from(rustix::net::getsockname(&self.descriptor)?) {
            Ok(address) => Ok(ListenAddress::Tcp(address)),
            Err(_) => {
                let path = match &self.kind {
                    Kind::Unix(Some(file)) => file.path().to_path_buf(),
                    Kind::Unix(None) | Kind::Tcp | Kind::Inherited => PathBuf::new(),
                };
                Ok(ListenAddress::Unix(UnixAddress { path, mode: 0 }))
            }
        }
    }

    /// Whether a connection waits in the queue, as far as the kernel tells without accepting it.
    pub fn has_waiting(&self) -> bool {
        let mut polled = [PollFd::new(&self.descriptor, PollFlags::IN)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut polled, Some(&at_once)) != Ok(0)
    }

    /// Keeps new connections out of the queue, while those that have begun still join: closing a listener resets
    /// connections that are in its queue or about to be.
    ///
    /// A TCP connection attempt gets no answer, so a client tries again after a second and finds the listener closed,
    /// or its successor. An inherited socket stays as it is, because the process that passed it keeps its queue.
    ///
    /// # Errors
    /// If the kernel refuses; the queue is then open until the listener is closed.
    pub fn refuse_new(&mut self) -> io::Result<()> {
        match &mut self.kind {
            Kind::Tcp => crate::descriptor::drop_new_connections(self.descriptor.as_fd()),
            // Only once: the second time the file may belong to a successor.
            Kind::Unix(file) => file.take().map_or(Ok(()), |file| file.remove()),
            Kind::Inherited => Ok(()),
        }
    }

    /// Accepts one connection from the queue.
    pub fn accept(&self) -> Result<(Socket, Peer), rustix::io::Errno> {
        let (descriptor, address) = rustix::net::acceptfrom_with(
            &self.descriptor,
            SocketFlags::NONBLOCK | SocketFlags::CLOEXEC,
        )?;
        let peer = address.map_or(Peer::LOCAL, peer_of);
        Ok((Socket { descriptor, _table: PhantomData }, peer))
    }
}

fn peer_of(address: SocketAddrAny) -> Peer {
    SocketAddr::try_from(address).map_or(Peer::LOCAL, Peer::from)
}

impl Socket {
    /// A socket that was opened in this thread.
    pub(crate) fn of(descriptor: OwnedFd) -> Self {
        Self { descriptor, _table: PhantomData }
    }

    /// Connects to a TCP address and waits until the connection is established: for clients and tests, never inside a
    /// turn.
    pub fn connect_blocking(address: SocketAddr) -> io::Result<Self> {
        let family = if address.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
        let descriptor =
            rustix::net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        rustix::net::connect(&descriptor, &address)?;
        let flags = rustix::fs::fcntl_getfl(&descriptor)?;
        rustix::fs::fcntl_setfl(&descriptor, flags | rustix::fs::OFlags::NONBLOCK)?;
        Ok(Self { descriptor, _table: PhantomData })
    }
}
