//! What a contract test needs of a pollset's surroundings: clients, and time that passes.
//!
//! Owns the two surroundings: loopback sockets for the kernel's pollset, a world for the simulated one.

use std::net::SocketAddr;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown};
use rustix::process::{Resource, Rlimit};
use sys::pollset::epoll::Epoll;
use sys::pollset::sim::{self, ClientId, ClientState, Faults, Sim, Stall, World};
use sys::pollset::{ListenOptions, Patience, Pollset, Ready, Speaks, Token};
use sys::socket::{ListenAddress, Listener, Socket};

/// Longest time a test waits for what must come: far beyond what a loaded machine needs.
const COMES_WITHIN_NS: u64 = 20_000_000_000;

/// How long a test waits for what must not come. A pollset that reports wrongly does so in the next wait.
const STAYS_AWAY_NS: u64 = 15_000_000;

/// One look at the pollset while something is awaited.
const LOOK_NS: u64 = 5_000_000;

/// What a client saw of the end of its connection.
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
    /// An address nobody listens at.
    fn free_address(&mut self) -> ListenAddress;
    fn connect(&mut self, listener: &<Self::Pollset as Pollset>::Listener) -> Self::Client;
    fn client_send(&mut self, client: &Self::Client, bytes: &[u8]);
    /// Takes what has arrived; from here on the client reads.
    fn client_received(&mut self, client: &Self::Client) -> Vec<u8>;
    /// How the connection ended, once everything that came before was taken.
    fn client_seen(&mut self, client: &Self::Client) -> Seen;
    /// The client does not read until it is asked what it received.
    fn client_stall(&mut self, client: &Self::Client);
    fn client_end_output(&mut self, client: &Self::Client);
    fn client_reset(&mut self, client: Self::Client);
    /// From now on only so many more descriptors can be opened.
    fn leave_descriptors(&mut self, count: usize);
    /// Lets a little time pass where time does not pass by itself.
    fn pass(&mut self, nanoseconds: u64);

    /// Waits until a bound, letting the time pass.
    fn wait_for(&mut self, nanoseconds: u64) -> usize {
        let until_ns = self.pollset().monotonic_ns() + nanoseconds;
        let count = self.pollset().wait(Patience::Until(until_ns)).unwrap();
        if count == 0 {
            self.pass(nanoseconds);
            return self.pollset().wait(Patience::None).unwrap();
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

    /// Nothing may come.
    fn expect_no_event(&mut self, why: &str) {
        let count = self.wait_for(STAYS_AWAY_NS);
        let events: Vec<_> = (0..count).map(|index| self.pollset().event(index)).collect();
        assert!(events.is_empty(), "{why}: {events:?}");
    }

    /// Looks again and again until something is so.
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

    /// Everything the client receives until it has so many bytes.
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

/// How tests listen unless they say otherwise.
pub(crate) fn listening(address: ListenAddress) -> ListenOptions {
    ListenOptions { address, backlog: 64, first: Speaks::Either }
}

/// The kernel's pollset with loopback clients.
pub(crate) struct Kernel {
    epoll: Epoll,
}

impl Kernel {
    pub(crate) fn new() -> Self {
        Self { epoll: Epoll::new(None).unwrap() }
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
        // The receive before this one may have taken the error: the kernel tells it once, then an end.
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

    fn leave_descriptors(&mut self, count: usize) {
        // The lowest free number: below the limit there is room for exactly so many more.
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

/// A socket that was reset is not connected any more.
fn is_gone(client: &Socket) -> bool {
    rustix::net::getpeername(client).is_err()
}

/// The simulated pollset in a world.
pub(crate) struct Simulated {
    world: World,
    sim: Sim,
    ports: u16,
}

impl Simulated {
    pub(crate) fn new(faults: Faults) -> Self {
        let world = World::new(1, faults);
        let sim = world.pollset(0);
        Self { world, sim, ports: 1 }
    }
}

impl Harness for Simulated {
    type Pollset = Sim;
    type Client = ClientId;

    fn pollset(&mut self) -> &mut Sim {
        &mut self.sim
    }

    fn free_address(&mut self) -> ListenAddress {
        self.ports += 1;
        ListenAddress::Tcp(SocketAddr::from(([127, 0, 0, 1], self.ports)))
    }

    fn connect(&mut self, listener: &sim::Listener) -> ClientId {
        self.world.connect(&listener.local_address()).expect("there is a listener with room")
    }

    fn client_send(&mut self, client: &ClientId, bytes: &[u8]) {
        self.world.client_send(*client, bytes);
    }

    fn client_received(&mut self, client: &ClientId) -> Vec<u8> {
        self.world.client_stall(*client, Stall::Nothing);
        self.world.client_received(*client)
    }

    fn client_seen(&mut self, client: &ClientId) -> Seen {
        match self.world.client_state(*client) {
            ClientState::Open => Seen::Nothing,
            ClientState::EndedByServer => Seen::End,
            ClientState::Reset => Seen::Reset,
            other => panic!("no test does this: {other:?}"),
        }
    }

    fn client_stall(&mut self, client: &ClientId) {
        self.world.client_stall(*client, Stall::Reading);
    }

    fn client_end_output(&mut self, client: &ClientId) {
        self.world.client_end_output(*client);
    }

    fn client_reset(&mut self, client: ClientId) {
        self.world.client_reset(client);
    }

    fn leave_descriptors(&mut self, count: usize) {
        self.world.set_descriptor_limit(0, self.world.open_descriptors(0) + count);
    }

    fn pass(&mut self, nanoseconds: u64) {
        self.world.advance(nanoseconds);
    }
}
