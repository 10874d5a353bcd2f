//! The surroundings of a pollset in a contract test: clients, remotes, and passing time.
//!
//! Owns what every environment has to offer, and the environment of the kernel's pollset: loopback sockets.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, SocketType};
use rustix::process::{Resource, Rlimit};
use sys::connect::RemoteAddress;
use sys::pollset::epoll::Epoll;
use sys::pollset::{ListenOptions, Pollset, Ready, Silence, Speaks, Token, WaitLimit};
use sys::socket::{ListenAddress, Listener, Socket, UnixAddress};

/// Maximum time a test waits for something that must come: far more than a loaded machine needs.
const COMES_WITHIN_NS: u64 = 20_000_000_000;

/// How long a test waits for something that must not come. A pollset that reports wrongly does so in the next wait.
const STAYS_AWAY_NS: u64 = 15_000_000;

/// One check of the pollset while something is awaited.
const LOOK_NS: u64 = 5_000_000;

/// How a client saw its connection end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Nothing,
    End,
    Reset,
}

/// A pollset and the clients around it.
pub(crate) trait Harness {
    type Pollset: Pollset;
    type Client;

    fn pollset(&mut self) -> &mut Self::Pollset;
    /// An address without a listener.
    fn free_address(&mut self) -> ListenAddress;
    fn connect(&mut self, listener: &<Self::Pollset as Pollset>::Listener) -> Self::Client;
    fn client_send(&mut self, client: &Self::Client, bytes: &[u8]);
    /// Takes what has arrived; from here on the client reads.
    fn client_received(&mut self, client: &Self::Client) -> Vec<u8>;
    /// How the connection ended, once everything before it was taken.
    fn client_seen(&mut self, client: &Self::Client) -> Seen;
    /// The client does not read until it is asked what it received.
    fn client_stall(&mut self, client: &Self::Client);
    fn client_end_output(&mut self, client: &Self::Client);
    fn client_reset(&mut self, client: Self::Client);
    /// An address where a remote listens for the pollset's connections.
    fn remote(&mut self) -> RemoteAddress;
    fn remote_v6(&mut self) -> RemoteAddress;
    fn remote_unix(&mut self) -> RemoteAddress;
    /// An address without a listener.
    fn deaf_remote(&mut self) -> RemoteAddress;
    /// A remote that answers no connection until it is told to.
    fn slow_remote(&mut self) -> RemoteAddress;
    fn let_remote_answer(&mut self);
    /// From now on there is no listener, and unanswered connections are refused.
    fn close_remote(&mut self, remote: &RemoteAddress);
    /// The other end of a connection of the pollset, with the address it comes from.
    fn accept_remote(&mut self, remote: &RemoteAddress) -> Option<(Self::Client, IpAddr)>;
    /// From now on only this many more descriptors can be opened.
    fn leave_descriptors(&mut self, count: usize);
    /// Lets some time pass where it does not pass by itself.
    fn pass(&mut self, nanoseconds: u64);

    /// Waits until a bound, letting the time pass.
    fn wait_for(&mut self, nanoseconds: u64) -> usize {
        let until_ns = self.pollset().monotonic_ns() + nanoseconds;
        let count = self.pollset().wait(WaitLimit::Until(until_ns)).unwrap();
        if count == 0 {
            self.pass(nanoseconds);
            return self.pollset().wait(WaitLimit::None).unwrap();
        }
        count
    }

    /// All events of the next wait that has any.
    fn events(&mut self) -> Vec<Ready> {
        let until_ns = self.pollset().monotonic_ns() + COMES_WITHIN_NS;
        while self.pollset().monotonic_ns() < until_ns {
            let count = self.wait_for(LOOK_NS);
            if count > 0 {
                return (0..count).map(|index| self.pollset().event(index)).collect();
            }
        }
        panic!("an event was to come");
    }

    /// The next event, which must be of this token.
    fn event_of(&mut self, token: Token) -> Ready {
        let events = self.events();
        assert!(events.iter().all(|event| event.token == token), "{token:?} of {events:?}");
        *events.last().expect("events are not empty")
    }

    /// Fails if any event comes.
    fn expect_no_event(&mut self, why: &str) {
        let count = self.wait_for(STAYS_AWAY_NS);
        let events: Vec<_> = (0..count).map(|index| self.pollset().event(index)).collect();
        assert!(events.is_empty(), "{why}: {events:?}");
    }

    /// Checks repeatedly until there is a result.
    fn await_that<T>(&mut self, what: &str, mut look: impl FnMut(&mut Self) -> Option<T>) -> T {
        let until_ns = self.pollset().monotonic_ns() + COMES_WITHIN_NS;
        while self.pollset().monotonic_ns() < until_ns {
            if let Some(found) = look(self) {
                return found;
            }
            self.pass(LOOK_NS);
        }
        panic!("was to come: {what}");
    }

    /// Everything the client receives until it has this many bytes.
    fn client_receives(&mut self, client: &Self::Client, count: usize) -> Vec<u8> {
        let mut all = Vec::new();
        self.await_that("bytes at the client", |harness| {
            all.extend(harness.client_received(client));
            (all.len() >= count).then_some(())
        });
        all
    }

    /// How the client sees its connection end.
    fn client_sees_end(&mut self, client: &Self::Client) -> Seen {
        self.await_that("an end at the client", |harness| {
            let _taken = harness.client_received(client);
            Some(harness.client_seen(client)).filter(|seen| *seen != Seen::Nothing)
        })
    }
}

/// The default options of tests.
pub(crate) fn listening(address: ListenAddress) -> ListenOptions {
    ListenOptions { address, backlog: 64, first: Speaks::Either, silent: Silence::Trusted }
}

/// The kernel's pollset with loopback clients.
pub(crate) struct Kernel {
    epoll: Epoll,
    remotes: Vec<(RemoteAddress, Listener)>,
    /// Bound, so that no other program listens there.
    deaf: Vec<OwnedFd>,
    /// Connections that fill the queue of a slow remote.
    fillers: Vec<Socket>,
}

impl Kernel {
    pub(crate) fn new() -> Self {
        let epoll = Epoll::new(None).unwrap();
        Self { epoll, remotes: Vec::new(), deaf: Vec::new(), fillers: Vec::new() }
    }

    fn listen_at(&mut self, address: SocketAddr, backlog: u32) -> RemoteAddress {
        let listener = Listener::tcp(address, backlog).unwrap();
        let address = listener.local_address().unwrap().tcp().unwrap();
        self.remotes.push((RemoteAddress::Tcp(address), listener));
        RemoteAddress::Tcp(address)
    }
}

impl Harness for Kernel {
    type Pollset = Epoll;
    type Client = Socket;

    fn pollset(&mut self) -> &mut Epoll {
        &mut self.epoll
    }

    fn free_address(&mut self) -> ListenAddress {
        ListenAddress::Tcp(SocketAddr::from(([127, 0, 0, 1], 0)))
    }

    fn connect(&mut self, listener: &Listener) -> Socket {
        let ListenAddress::Tcp(address) = listener.local_address().unwrap() else {
            panic!("the tests listen on TCP");
        };
        Socket::connect_blocking(address).unwrap()
    }

    fn client_send(&mut self, client: &Socket, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let count = rustix::net::send(client, bytes, SendFlags::NOSIGNAL).unwrap();
            bytes = &bytes[count..];
        }
    }

    fn client_received(&mut self, client: &Socket) -> Vec<u8> {
        let mut all = Vec::new();
        let mut buffer = vec![0; 1 << 16];
        while let Ok((count @ 1.., _)) = rustix::net::recv(client, &mut *buffer, RecvFlags::empty())
        {
            all.extend_from_slice(&buffer[..count]);
        }
        all
    }

    fn client_seen(&mut self, client: &Socket) -> Seen {
        // An earlier receive may have taken the error: the kernel reports it once, then an end.
        if rustix::net::sockopt::socket_error(client).unwrap() == Err(Errno::CONNRESET) {
            return Seen::Reset;
        }
        match rustix::net::recv(client, &mut [0_u8; 1][..], RecvFlags::PEEK) {
            Ok((0, _)) if is_gone(client) => Seen::Reset,
            Ok((0, _)) => Seen::End,
            Err(Errno::CONNRESET) => Seen::Reset,
            Ok(_) | Err(_) => Seen::Nothing,
        }
    }

    fn client_stall(&mut self, _client: &Socket) {}

    fn client_end_output(&mut self, client: &Socket) {
        rustix::net::shutdown(client, Shutdown::Write).unwrap();
    }

    fn client_reset(&mut self, client: Socket) {
        self.epoll.reset_on_close(&client);
    }

    fn remote(&mut self) -> RemoteAddress {
        self.listen_at(SocketAddr::from(([127, 0, 0, 1], 0)), 64)
    }

    fn remote_v6(&mut self) -> RemoteAddress {
        self.listen_at(SocketAddr::from((Ipv6Addr::LOCALHOST, 0)), 64)
    }

    fn remote_unix(&mut self) -> RemoteAddress {
        let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
        let path = directory.join(format!("remote-{}.sock", std::process::id()));
        let address = UnixAddress { path: path.clone(), mode: 0o600 };
        let remote = RemoteAddress::Unix(path.into());
        self.remotes.push((remote.clone(), Listener::unix(&address, 64).unwrap()));
        remote
    }

    fn deaf_remote(&mut self) -> RemoteAddress {
        let family = rustix::net::AddressFamily::INET;
        let socket = rustix::net::socket(family, SocketType::STREAM, None).unwrap();
        rustix::net::bind(&socket, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let address = rustix::net::getsockname(&socket).unwrap();
        self.deaf.push(socket);
        RemoteAddress::Tcp(SocketAddr::try_from(address).unwrap())
    }

    fn slow_remote(&mut self) -> RemoteAddress {
        // A full queue: the kernel drops the beginning of another connection, which is repeated after a second.
        let remote = self.listen_at(SocketAddr::from(([127, 0, 0, 1], 0)), 0);
        let RemoteAddress::Tcp(address) = remote else { panic!("it is TCP") };
        self.fillers.push(Socket::connect_blocking(address).unwrap());
        remote
    }

    fn let_remote_answer(&mut self) {
        let (_, listener) = self.remotes.last().unwrap();
        listener.accept().unwrap();
    }

    fn close_remote(&mut self, remote: &RemoteAddress) {
        self.remotes.retain(|(address, _)| address != remote);
    }

    fn accept_remote(&mut self, remote: &RemoteAddress) -> Option<(Socket, IpAddr)> {
        let (_, listener) = self.remotes.iter().find(|(address, _)| address == remote).unwrap();
        listener.accept().ok().map(|(socket, peer)| (socket, peer.address))
    }

    fn leave_descriptors(&mut self, count: usize) {
        // The lowest free number: below the limit there is room for exactly this many more.
        let probe = rustix::io::fcntl_dupfd_cloexec(std::io::stdin(), 0).unwrap();
        let lowest = std::os::fd::AsRawFd::as_raw_fd(&probe).unsigned_abs();
        let maximum = rustix::process::getrlimit(Resource::Nofile).maximum;
        let current = Some(u64::from(lowest) + count as u64);
        rustix::process::setrlimit(Resource::Nofile, Rlimit { current, maximum }).unwrap();
    }

    fn pass(&mut self, _nanoseconds: u64) {
        std::thread::yield_now();
    }
}

/// A socket that was reset is no longer connected.
fn is_gone(client: &Socket) -> bool {
    rustix::net::getpeername(client).is_err()
}
