//! Sockets as a scheduler holds them: opened, bound and closed by the thread whose table they are in.
//!
//! Owns addresses and socket options. Never waits (that is the pollset) and never hands a descriptor to another
//! thread: [`Socket`] and [`Listener`] are neither `Send` nor `Sync`, because with a descriptor table per
//! scheduler the same number is a different socket elsewhere.

use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    AddressFamily, SocketAddrAny, SocketAddrUnix, SocketFlags, SocketType, ipproto, sockopt,
};

use crate::limits::{PROBE_AFTER_S, PROBE_EVERY_S, PROBES, UNSENT_BYTES};

/// Where a listener listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenAddress {
    /// TCP over IPv4 or IPv6, where nobody else listens.
    Tcp(SocketAddr),
    /// The same, beside listeners of this process: it opened the first one as [`Self::Tcp`].
    TcpBeside(SocketAddr),
    /// A Unix stream socket; one scheduler opens it, a stale file at that path is replaced.
    Unix(UnixAddress),
    /// A socket that was open when the process started (systemd's `LISTEN_FDS`), shared by all schedulers.
    Inherited(RawFd),
}

/// A Unix socket's path and the permission bits of its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnixAddress {
    /// The file.
    pub path: PathBuf,
    /// Its mode, for example `0o660`.
    pub mode: u32,
}

impl ListenAddress {
    /// The address, when it is one of TCP.
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

/// Who is at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Address; unspecified (`0.0.0.0`) for a Unix socket.
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
        Peer { address: address.ip(), port: address.port() }
    }
}

/// A connected stream socket of this thread's descriptor table. Dropped, it is closed.
#[derive(Debug)]
pub struct Socket {
    descriptor: OwnedFd,
    _table: PhantomData<*const ()>,
}

// One descriptor number, no more: a million idle connections pay for each byte.
const _: () = assert!(size_of::<Option<Socket>>() == 4);

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// A listening socket of this thread's descriptor table. Dropped, it is closed and its Unix path removed.
#[derive(Debug)]
pub struct Listener {
    descriptor: OwnedFd,
    kind: Kind,
    _table: PhantomData<*const ()>,
}

/// Whose door a listener is.
#[derive(Debug)]
enum Kind {
    Tcp,
    /// Until its file has been removed.
    Unix(Option<PathBuf>),
    /// Somebody else has it, too.
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
            // Removing is a courtesy to whoever lists the directory: the next start replaces a stale file anyway.
            let _removed_or_gone = self.refuse_new();
        }
    }
}

impl Listener {
    /// Opens a TCP listener where nobody else listens; others of this user may then join with [`Self::tcp_beside`].
    ///
    /// `SO_REUSEPORT` is set last. Set before, another server of the same user that sets it too would go unnoticed,
    /// and the kernel would hand each a part of the connections. The kernel looks again when a socket begins to
    /// listen: of two servers that start at the same time one is refused.
    pub fn tcp(address: SocketAddr, backlog: u32) -> io::Result<Self> {
        let listener = Self::tcp_socket(address)?;
        listener.bind_and_listen(address, backlog)?;
        sockopt::set_socket_reuseport(&listener.descriptor, true)?;
        Ok(listener)
    }

    /// Opens one more TCP listener at an address that [`Self::tcp`] has taken.
    pub fn tcp_beside(address: SocketAddr, backlog: u32) -> io::Result<Self> {
        let listener = Self::tcp_socket(address)?;
        sockopt::set_socket_reuseport(&listener.descriptor, true)?;
        listener.bind_and_listen(address, backlog)?;
        Ok(listener)
    }

    /// A socket as listeners need it: an address left in TIME_WAIT can be bound, TCP_NODELAY and the bound of unsent
    /// bytes are inherited by what is accepted.
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
            // `[::]` and `0.0.0.0` are two listeners: what is configured is what is open.
            sockopt::set_ipv6_v6only(&descriptor, true)?;
        }
        Ok(Self { descriptor, kind: Kind::Tcp, _table: PhantomData })
    }

    fn bind_and_listen(&self, address: SocketAddr, backlog: u32) -> io::Result<()> {
        rustix::net::bind(&self.descriptor, &address)?;
        Ok(rustix::net::listen(&self.descriptor, i32::try_from(backlog).unwrap_or(i32::MAX))?)
    }

    /// Opens a Unix stream listener; replaces a stale socket file, refuses one that somebody answers.
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
        let kind = Kind::Unix(Some(address.path.clone()));
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

    /// Accepts only connections whose first bytes are there (`TCP_DEFER_ACCEPT`), for so many seconds at the most:
    /// after that the connection comes without bytes and meets the header deadline like any other. 0 switches it off;
    /// a listener that is not TCP has no such thing and stays as it is.
    ///
    /// The kernel counts in handshakes it repeats, which it does after 1, 3, 7, 15 ... seconds: it takes the next of
    /// these.
    pub fn defer_accept(&self, seconds: u32) -> io::Result<()> {
        if !self.is_tcp()? {
            return Ok(());
        }
        let seconds = i32::try_from(seconds).unwrap_or(i32::MAX);
        crate::descriptor::set_tcp_defer_accept(self.as_fd(), seconds)
    }

    /// Has the kernel ask peers that say nothing whether they are there. Accepted connections inherit it, without a call for each. A
    /// listener that is not TCP has no such thing and stays as it is.
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
    /// The listeners must have been opened in core order: the number is an index into the group. A group begins with
    /// the second listener.
    pub fn attach_reuseport_by_cpu(&self) -> io::Result<()> {
        crate::descriptor::attach_reuseport_by_cpu(self.as_fd())
    }

    /// The address the kernel gave, with the port that was asked for as 0.
    pub fn local_address(&self) -> io::Result<ListenAddress> {
        match SocketAddr::try_from(rustix::net::getsockname(&self.descriptor)?) {
            Ok(address) => Ok(ListenAddress::Tcp(address)),
            Err(_) => {
                let path = match &self.kind {
                    Kind::Unix(path) => path.clone().unwrap_or_default(),
                    Kind::Tcp | Kind::Inherited => PathBuf::new(),
                };
                Ok(ListenAddress::Unix(UnixAddress { path, mode: 0 }))
            }
        }
    }

    /// Whether a connection waits in the queue, as far as the kernel tells without taking it.
    pub fn has_waiting(&self) -> bool {
        let mut polled = [PollFd::new(&self.descriptor, PollFlags::IN)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut polled, Some(&at_once)) != Ok(0)
    }

    /// Lets no new connection join the queue, while those that have begun still do: closing a listener resets
    /// whoever is in its queue, or is about to be.
    ///
    /// What begins a TCP connection gets no answer, so a client tries again after a second and finds the listener
    /// closed, or its successor. An inherited socket is left as it is: whoever passed it keeps its queue.
    ///
    /// # Errors
    /// When the kernel refuses; the queue then is open until the listener is closed.
    pub fn refuse_new(&mut self) -> io::Result<()> {
        match &mut self.kind {
            Kind::Tcp => crate::descriptor::drop_new_connections(self.descriptor.as_fd()),
            // Once only: by the second time the file may be that of a successor.
            Kind::Unix(path) => path.take().map_or(Ok(()), std::fs::remove_file),
            Kind::Inherited => Ok(()),
        }
    }

    /// Takes one connection from the queue.
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

/// Removes the file of a socket nobody listens on; an answered one stays and is an error.
fn remove_stale(path: &Path, address: &SocketAddrUnix) -> io::Result<()> {
    if !path.exists() {
        return Ok(());
    }
    let probe = rustix::net::socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    match rustix::net::connect(&probe, address) {
        Ok(()) => Err(io::Error::new(io::ErrorKind::AddrInUse, "another process answers there")),
        Err(rustix::io::Errno::CONNREFUSED) => std::fs::remove_file(path),
        Err(error) => Err(error.into()),
    }
}

impl Socket {
    /// A socket that was opened in this thread.
    pub(crate) fn of(descriptor: OwnedFd) -> Self {
        Self { descriptor, _table: PhantomData }
    }

    /// Connects to a TCP address and waits until it stands: for clients and tests, never inside a turn.
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
