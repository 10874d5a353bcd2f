//! One connection of a world: two directions and the state of each end.
//!
//! Owns what a kernel would answer about a socket at this moment (its readiness). Changes only itself: the
//! consequences of a change are the world's task. `server_end` and `client_end` have the operations of the ends.

mod client_end;
mod server_end;

use std::io;

use sys::pollset::{Interest, Token};
use sys::socket::Peer;

use super::bytes::Bytes;
pub use client_end::{ClientState, Stall};
pub(super) use server_end::{Farewell, Taken};

/// A direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    ToServer,
    ToClient,
}

/// Where the server's end is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    /// Held back by a listener until its first bytes arrive.
    Deferred,
    /// In a listener's queue.
    Queued,
    /// Owned by a scheduler.
    Accepted,
    /// Closed, or never accepted.
    Closed,
}

/// How the server's end is watched.
#[derive(Clone, Copy, Debug)]
struct Watch {
    token: Token,
    interest: Interest,
}

/// A flag of a connection: one bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark(u16);

impl Mark {
    /// It is in its scheduler's list of changes.
    const CHANGED: Mark = Mark(1);
    /// Its change was held back once already.
    const HELD: Mark = Mark(1 << 1);
    /// A send found no room: report when there is some.
    const WANTS_ROOM: Mark = Mark(1 << 2);
    /// A fault: there is no room for some time.
    const CHOKED: Mark = Mark(1 << 3);
    /// Closing it sends a reset.
    const RESET_ON_CLOSE: Mark = Mark(1 << 4);
    /// The connection no longer exists for the server.
    const GONE: Mark = Mark(1 << 5);
    /// The client does not read.
    const STALLED: Mark = Mark(1 << 6);
    /// The client ends its output after the bytes it has not sent yet.
    const ENDING: Mark = Mark(1 << 7);
    /// The client's application has closed its socket.
    const RELEASED: Mark = Mark(1 << 8);
    /// Its scheduler opened it, and the handshake has not ended.
    const CONNECTING: Mark = Mark(1 << 9);
}

/// How far the end of a direction has travelled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum End {
    /// The sender may send.
    #[default]
    Open,
    /// The sender has ended its output; the receiver has not learned it yet.
    Sent,
    /// The receiver has learned it.
    Arrived,
}

/// One direction; its bytes in flight are in the world's agenda.
#[derive(Debug)]
struct Pipe {
    /// Bytes that have arrived at the receiver.
    arrived: Bytes,
    /// Bytes in flight.
    flying: u32,
    /// Most bytes in flight and unread.
    capacity: u32,
    /// Bytes sent next arrive no earlier than this: they do not overtake each other.
    last_arrival_ns: u64,
    end: End,
}

impl Pipe {
    fn new(capacity: u32) -> Self {
        Self { arrived: Bytes::default(), flying: 0, capacity, last_arrival_ns: 0, end: End::Open }
    }
}

#[derive(Debug)]
pub(super) struct Connection {
    generation: u32,
    listener: u32,
    scheduler: u16,
    marks: u16,
    place: Position,
    /// The state that the client was told; see [`Connection::client_state`].
    client: ClientState,
    peer: Peer,
    watch: Option<Watch>,
    /// The next operation of the server fails with this error, once.
    error: Option<io::ErrorKind>,
    to_server: Pipe,
    to_client: Pipe,
    /// Bytes at the server's end that a receive can return; the others come later.
    visible: u32,
    /// Bytes at the client's end that its application has not read.
    unread: u32,
    /// Bytes that the client wants to send and has no room for.
    unsent: Bytes,
    /// Bytes that the server sent and announced more after.
    corked: Bytes,
}

// A world of a million idle connections should fit into memory beside the server under test.
const _: () = assert!(size_of::<Connection>() <= 144);

impl Connection {
    pub(super) fn new(listener: u32, peer: Peer, capacities: [u32; 2]) -> Self {
        Self {
            generation: 0,
            listener,
            scheduler: u16::MAX,
            marks: 0,
            place: Position::Deferred,
            client: ClientState::Open,
            peer,
            watch: None,
            error: None,
            to_server: Pipe::new(capacities[0]),
            to_client: Pipe::new(capacities[1]),
            visible: 0,
            unread: 0,
            unsent: Bytes::default(),
            corked: Bytes::default(),
        }
    }

    /// Begins a new connection in place of one that has retired.
    pub(super) fn reuse(&mut self, listener: u32, peer: Peer, capacities: [u32; 2]) {
        *self = Self { generation: self.generation, ..Self::new(listener, peer, capacities) };
    }

    /// Once both ends have closed it, its place can be used again, and keys of it are stale.
    pub(super) fn retire(&mut self) -> bool {
        let retires = self.place == Position::Closed && self.take(Mark::RELEASED);
        if retires {
            self.generation += 1;
            self.to_client.arrived.clear();
            self.unsent.clear();
        }
        retires
    }

    /// Which of the connections it is that have used its place one after the other.
    pub(super) fn generation(&self) -> u32 {
        self.generation
    }

    /// The address of its client.
    pub(super) fn peer(&self) -> Peer {
        self.peer
    }

    fn has(&self, mark: Mark) -> bool {
        self.marks & mark.0 != 0
    }

    fn set(&mut self, mark: Mark) {
        self.marks |= mark.0;
    }

    /// Clears a flag and returns whether it was set.
    fn take(&mut self, mark: Mark) -> bool {
        let had = self.has(mark);
        self.marks &= !mark.0;
        had
    }

    fn pipe(&mut self, way: Way) -> &mut Pipe {
        match way {
            Way::ToServer => &mut self.to_server,
            Way::ToClient => &mut self.to_client,
        }
    }

    /// When a segment arrives that would arrive at `at_ns` if it could overtake those before it.
    pub(super) fn in_order_ns(&mut self, way: Way, at_ns: u64) -> u64 {
        let pipe = self.pipe(way);
        pipe.last_arrival_ns = pipe.last_arrival_ns.max(at_ns);
        pipe.last_arrival_ns
    }

    /// Bytes are on their way.
    pub(super) fn depart(&mut self, way: Way, bytes: &[u8]) {
        self.pipe(way).flying += u32::try_from(bytes.len()).expect("bounded by a capacity");
    }

    /// Bytes are no longer on their way.
    pub(super) fn land(&mut self, way: Way, bytes: &[u8]) {
        self.pipe(way).flying -= u32::try_from(bytes.len()).expect("it was counted");
    }
}
