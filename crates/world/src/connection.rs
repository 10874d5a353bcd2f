//! One connection of a world: two pipes and what each end knows.
//!
//! Owns what a kernel would answer about a socket at this moment (its readiness). Never changes anything outside
//! of itself: what follows from a change is the world's.

use std::io;

use sys::pollset::{Interest, Ready, Token};
use sys::socket::Peer;

use super::pipe::{Bytes, End, Pipe};

/// Where the server's end is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// With a listener, until its first bytes arrive.
    Deferred,
    /// In a listener's queue.
    Queued,
    /// With a scheduler.
    Accepted,
    /// Nowhere: closed, or never accepted.
    Closed,
}

/// What a client sees of its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientState {
    /// It stands.
    Open,
    /// The server ended its output, and the client has everything that came before.
    EndedByServer,
    /// The server reset it, or closed the listener before it was accepted.
    Reset,
    /// A fault of the world reset it, at both ends.
    Cut,
    /// The client itself closed or reset it.
    Closed,
}

/// How a server's end is watched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watch {
    pub(super) token: Token,
    pub(super) interest: Interest,
}

/// A yes or no of a connection, one bit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark(u16);

impl Mark {
    /// In its scheduler's list of changes.
    pub(super) const CHANGED: Mark = Mark(1);
    /// The change was already held back once.
    pub(super) const HELD: Mark = Mark(1 << 1);
    /// A send found no room: say when there is some.
    pub(super) const WANTS_ROOM: Mark = Mark(1 << 2);
    /// A fault: no room for a span.
    pub(super) const CHOKED: Mark = Mark(1 << 3);
    /// The close is to be a reset.
    pub(super) const RESET_ON_CLOSE: Mark = Mark(1 << 4);
    /// The connection is gone for the server.
    pub(super) const GONE: Mark = Mark(1 << 5);
    /// The client does not read.
    pub(super) const STALLED: Mark = Mark(1 << 6);
    /// The client ends its output after what it has not sent yet.
    pub(super) const ENDING: Mark = Mark(1 << 7);
    /// The client's application has closed its socket.
    pub(super) const RELEASED: Mark = Mark(1 << 8);
    /// Its scheduler made it, and the handshake is not over.
    pub(super) const CONNECTING: Mark = Mark(1 << 9);
}

/// One connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) generation: u32,
    pub(super) listener: u32,
    pub(super) scheduler: u16,
    marks: u16,
    pub(super) place: Position,
    /// What the client was told; see [`Connection::client_state`].
    pub(super) client: ClientState,
    pub(super) peer: Peer,
    pub(super) watch: Option<Watch>,
    /// The next operation of the server fails with this, once.
    pub(super) error: Option<io::ErrorKind>,
    pub(super) to_server: Pipe,
    pub(super) to_client: Pipe,
    /// Bytes at the server's end that a receive can get; the others come later.
    pub(super) visible: u32,
    /// Bytes at the client's end that its application has not read.
    pub(super) unread: u32,
    /// What the client wants to send and has no room for.
    pub(super) unsent: Bytes,
    /// What the server sent and announced more after.
    pub(super) corked: Bytes,
}

// A world of a million idle connections is to fit beside the server under test.
const _: () = assert!(size_of::<Connection>() <= 144);

impl Connection {
    pub(super) fn new(generation: u32, listener: u32, peer: Peer, capacities: [u32; 2]) -> Self {
        Self {
            generation,
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

    pub(super) fn has(&self, mark: Mark) -> bool {
        self.marks & mark.0 != 0
    }

    pub(super) fn set(&mut self, mark: Mark) {
        self.marks |= mark.0;
    }

    /// Takes a mark away and says whether it was there.
    pub(super) fn take(&mut self, mark: Mark) -> bool {
        let had = self.has(mark);
        self.marks &= !mark.0;
        had
    }

    /// Bytes a send of the server can take now.
    pub(super) fn room(&self) -> usize {
        if self.has(Mark::CHOKED) {
            return 0;
        }
        (self.to_client.capacity as usize).saturating_sub(self.outstanding())
    }

    /// Bytes that the server has sent and the client has not read.
    pub(super) fn outstanding(&self) -> usize {
        self.corked.len() + self.to_client.flying as usize + self.unread as usize
    }

    /// Linux reports room once a third of the buffer is free, so that a writer is not woken for every byte.
    pub(super) fn has_room(&self) -> bool {
        self.room() * 3 >= self.to_client.capacity as usize
    }

    /// Bytes the client can still put on the way.
    pub(super) fn room_to_server(&self) -> usize {
        let used = self.to_server.flying as usize + self.to_server.arrived.len();
        (self.to_server.capacity as usize).saturating_sub(used)
    }

    /// Everything that arrived can be received.
    pub(super) fn reveal(&mut self) {
        self.visible = u32::try_from(self.to_server.arrived.len()).expect("bounded by a capacity");
    }

    /// Whether some of what arrived comes later.
    pub(super) fn hides(&self) -> bool {
        (self.visible as usize) < self.to_server.arrived.len()
    }

    /// Whether both directions have ended, or it was reset.
    fn is_hung_up(&self) -> bool {
        let both = self.to_server.end == End::Arrived && self.to_client.end != End::Open;
        both || self.has(Mark::GONE)
    }

    /// What epoll would report of it now; `None` when nothing.
    pub(super) fn readiness(&self) -> Option<Ready> {
        let watch = self.watch.filter(|_| !self.has(Mark::CONNECTING))?;
        let hung_up = self.is_hung_up();
        let ended = hung_up || self.to_server.end == End::Arrived;
        let wants_room = watch.interest == Interest::ReadWrite;
        let has_room = self.has_room() || self.to_client.end != End::Open;
        let ready = Ready {
            token: watch.token,
            readable: ended || self.visible > 0,
            writable: hung_up || (wants_room && has_room),
            ended,
            over: hung_up,
        };
        (ready.readable || ready.writable).then_some(ready)
    }

    /// What its client sees.
    pub(super) fn client_state(&self) -> ClientState {
        let reads_on = self.client == ClientState::EndedByServer && self.unread > 0;
        if reads_on { ClientState::Open } else { self.client }
    }
}
