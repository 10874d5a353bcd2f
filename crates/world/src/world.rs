//! The handle of a world: its clock, its clients and what a test can observe.
//!
//! Owns no state: the state is in the world, and all handles refer to the same one.

use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;

use sys::connect::RemoteAddress;
use sys::socket::{ListenAddress, Peer};

use super::Sim;
use super::agenda::Key;
use super::connection::{ClientState, Stall};
use super::faults::Faults;
use super::state::State;

/// A client's end of a connection. It always refers to that connection, also after its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(Key);

/// A seeded network and clock in memory. Clones are handles of the same world.
///
/// [`Stage`](crate::Stage) puts schedulers into one. By itself it is a network for pollsets:
///
/// ```
/// use sys::pollset::{ListenOptions, Pollset, Received, Silence, Speaks, Token};
/// use sys::socket::ListenAddress;
/// use world::{Faults, World};
///
/// let world = World::new(1, Faults::none());
/// let mut pollset = world.pollset(0);
/// let address = ListenAddress::Tcp(([10, 0, 0, 1], 80).into());
/// let options = ListenOptions { address: address.clone(), backlog: 1, first: Speaks::Either, silent: Silence::Trusted };
/// let listener = pollset.listen(&options, Token(1))?;
/// let client = world.connect(&address).expect("somebody listens");
/// let (socket, _peer) = pollset.accept(&listener).expect("a client waits");
/// world.client_send(client, b"hello");
/// assert!(matches!(pollset.receive(&socket), Received::Bytes(bytes, _) if *bytes == *b"hello"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct World {
    state: Rc<RefCell<State>>,
}

impl World {
    /// A world without schedulers or connections. The same seed, faults and calls give the same world.
    pub fn new(seed: u64, faults: Faults) -> Self {
        Self { state: Rc::new(RefCell::new(State::new(seed, faults))) }
    }

    /// The pollset of a scheduler; schedulers are numbered from 0 and have one pollset each.
    pub fn pollset(&self, scheduler: usize) -> Sim {
        self.state.borrow_mut().add_scheduler(scheduler);
        Sim::new(self.state.clone(), u16::try_from(scheduler).expect("schedulers are few"))
    }

    /// Changes the faults from now on.
    pub fn set_faults(&self, faults: Faults) {
        self.state.borrow_mut().set_faults(faults);
    }

    /// Most descriptors of a scheduler, listeners included. Lowering it closes nothing.
    pub fn set_descriptor_limit(&self, scheduler: usize, limit: usize) {
        self.state.borrow_mut().set_descriptor_limit(scheduler, limit);
    }

    /// Makes every cold file warm.
    pub fn warm(&self) {
        self.state.borrow_mut().warm();
    }

    /// Monotonic time.
    pub fn now_ns(&self) -> u64 {
        self.state.borrow().now_ns()
    }

    /// Advances the time; what was due in between has happened in its order.
    pub fn advance(&self, nanoseconds: u64) {
        self.state.borrow_mut().pass(nanoseconds);
    }

    /// When something will happen next: now if a scheduler has something to be told, otherwise when the next
    /// segment arrives or a span ends. `None` when nothing happens any more by itself.
    pub fn next_event_ns(&self) -> Option<u64> {
        self.state.borrow_mut().next_event_ns()
    }

    /// Whether the next wait of a scheduler reports something (unless a fault holds it back).
    pub fn is_ready(&self, scheduler: usize) -> bool {
        let state = &mut *self.state.borrow_mut();
        state.settle();
        u16::try_from(scheduler).is_ok_and(|scheduler| state.is_ready(scheduler))
    }

    /// One number for everything that happened: two runs that differ anywhere have different numbers.
    pub fn fingerprint(&self) -> u64 {
        self.state.borrow().fingerprint()
    }

    /// Open descriptors of a scheduler: its listeners and connections, accepted or opened.
    pub fn open_descriptors(&self, scheduler: usize) -> usize {
        self.state.borrow().open_descriptors(scheduler)
    }

    /// Connections that wait at an address and have not been accepted, deferred ones included.
    pub fn waiting_connections(&self, address: &ListenAddress) -> usize {
        self.state.borrow_mut().waiting_connections(address)
    }

    /// Connects from an address of the world's choosing. `None` when nobody listens at exactly this address, or
    /// the chosen listener's queue is full.
    pub fn connect(&self, address: &ListenAddress) -> Option<ClientId> {
        let state = &mut *self.state.borrow_mut();
        let peer = match address {
            ListenAddress::Unix(_) => Peer::LOCAL,
            ListenAddress::Tcp(_) | ListenAddress::TcpBeside(_) | ListenAddress::Inherited(_) => {
                made_up_peer(state.count_connect())
            }
        };
        state.connect(address, peer).map(ClientId)
    }

    /// Connects from this address.
    pub fn connect_from(&self, address: &ListenAddress, peer: Peer) -> Option<ClientId> {
        self.state.borrow_mut().connect(address, peer).map(ClientId)
    }

    /// Listens at an address for connections that schedulers make.
    pub fn listen_remote(&self, address: &RemoteAddress) {
        self.state.borrow_mut().listen_remote(address);
    }

    /// Stops listening; waiting connections are reset.
    pub fn close_remote(&self, address: &RemoteAddress) {
        self.state.borrow_mut().close_remote(address);
    }

    /// Takes the other end of a connection that a scheduler made, with the address it comes from. From here on it is a
    /// client like any other; the scheduler's end is the server's.
    pub fn accept_remote(&self, address: &RemoteAddress) -> Option<(ClientId, Peer)> {
        let accepted = self.state.borrow_mut().accept_remote(address);
        accepted.map(|(key, peer)| (ClientId(key), peer))
    }

    /// Sends. Bytes for which the server has no room wait at the client.
    pub fn client_send(&self, client: ClientId, bytes: &[u8]) {
        self.with_client(client, |state, index| state.client_send(index, bytes));
    }

    /// Bytes that wait at the client because the server does not read.
    pub fn client_unsent(&self, client: ClientId) -> usize {
        self.with_client(client, |state, index| state.connection(index).unsent()).unwrap_or(0)
    }

    /// Takes everything that arrived and the client has read.
    pub fn client_received(&self, client: ClientId) -> Vec<u8> {
        self.with_client(client, State::client_received).unwrap_or_default()
    }

    /// Takes at most this many bytes of what arrived, also those that a stalled client has not read: a slow reader.
    pub fn client_read(&self, client: ClientId, most: usize) -> Vec<u8> {
        self.with_client(client, |state, index| state.client_read(index, most)).unwrap_or_default()
    }

    /// Ends the client's output after what it has sent; it still receives.
    pub fn client_end_output(&self, client: ClientId) {
        self.with_client(client, State::client_end_output);
    }

    /// Resets the connection and closes the client's end.
    pub fn client_reset(&self, client: ClientId) {
        self.with_client(client, State::client_reset);
    }

    /// Closes the client's end: what the server still sends is answered by a reset.
    pub fn client_close(&self, client: ClientId) {
        self.with_client(client, State::client_close);
    }

    /// Stalls the client, or ends the stall.
    pub fn client_stall(&self, client: ClientId, stall: Stall) {
        self.with_client(client, |state, index| state.client_stall(index, stall));
    }

    /// The state of the connection as the client sees it.
    pub fn client_state(&self, client: ClientId) -> ClientState {
        self.with_client(client, |state, index| state.connection(index).client_state())
            .unwrap_or(ClientState::Closed)
    }

    /// The scheduler that accepted or made the connection, once one has.
    pub fn client_scheduler(&self, client: ClientId) -> Option<usize> {
        self.with_client(client, |state, index| state.connection(index).scheduler())
            .filter(|scheduler| *scheduler != u16::MAX)
            .map(usize::from)
    }

    fn with_client<T>(
        &self,
        client: ClientId,
        act: impl FnOnce(&mut State, u32) -> T,
    ) -> Option<T> {
        let state = &mut *self.state.borrow_mut();
        let index = state.find(client.0)?;
        let done = act(state, index);
        state.settle();
        Some(done)
    }
}

/// Addresses from 10.0.0.0/8, a new one for each connection, and ports from the upper half.
fn made_up_peer(number: u64) -> Peer {
    let [.., second, third, fourth] = number.to_be_bytes();
    let port = 0x8000 | u16::from_be_bytes([third, fourth]);
    Peer { address: IpAddr::V4(Ipv4Addr::new(10, second, third, fourth)), port }
}
