//! One connection of a world: two pipes and the state of each end.
//!
//! Owns what a kernel would answer about a socket at this moment (its readiness). Changes only itself: the
//! consequences of a change are the world's task.

use std::io;

use sys::pollset::{Interest, Ready, Token};
use sys::socket::Peer;

use super::pipe::{Bytes, End, Pipe};

/// Where the server's end is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// Held back by a listener until its first bytes arrive.
    Deferred,
    /// In a listener's queue.
    Queued,
    /// Owned by a scheduler.
    Accepted,
    /// Closed, or never accepted.
    Closed,
}

/// The state of a connection as its client sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientState {
    /// It is open.
    Open,
    /// The server ended its output, and the client has received everything before the end.
    EndedByServer,
    /// The server reset it, or closed the listener before it was accepted.
    Reset,
    /// A fault of the world reset it at both ends.
    Cut,
    /// The client itself closed or reset it.
    Closed,
}

/// How the server's end is watched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watch {
    pub(super) token: Token,
    pub(super) interest: Interest,
}

/// A flag of a connection: one bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark(u16);

impl Mark {
    /// It is in its scheduler's list of changes.
    pub(super) const CHANGED: Mark = Mark(1);
    /// Its change was held back once already.
    pub(super) const HELD: Mark = Mark(1 << 1);
    /// A send found no room: report when there is some.
    pub(super) const WANTS_ROOM: Mark = Mark(1 << 2);
    /// A fault: there is no room for some time.
    pub(super) const CHOKED: Mark = Mark(1 << 3);
    /// Closing it sends a reset.
    pub(super) const RESET_ON_CLOSE: Mark = Mark(1 << 4);
    /// The connection no longer exists for the server.
    pub(super) const GONE: Mark = Mark(1 << 5);
    /// The client does not read.
    pub(super) const STALLED: Mark = Mark(1 << 6);
    /// The client ends its output after the bytes it has not sent yet.
    pub(super) const ENDING: Mark = Mark(1 << 7);
    /// The client's application has closed its socket.
    pub(super) const RELEASED: Mark = Mark(1 << 8);
    /// Its scheduler opened it, and the handshake has not ended.
    pub(super) const CONNECTING: Mark = Mark(1 << 9);
}

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) generation: u32,
    pub(super) listener: u32,
    pub(super) scheduler: u16,
    marks: u16,
    pub(super) place: Position,
    /// The state that the client was told; see [`Connection::client_state`].
    pub(super) client: ClientState,
    pub(super) peer: Peer,
    pub(super) watch: Option<Watch>,
    /// The next operation of the server fails with this error, once.
    pub(super) error: Option<io::ErrorKind>,
    pub(super) to_server: Pipe,
    pub(super) to_client: Pipe,
    /// Bytes at the server's end that a receive can return; the others come later.
    pub(super) visible: u32,
    /// Bytes at the client's end that its application has not read.
    pub(super) unread: u32,
    /// Bytes that the client wants to send and has no room for.
    pub(super) unsent: Bytes,
    /// Bytes that the server sent and announced more after.
    pub(super) corked: Bytes,
}

// A world of a million idle connections should fit into memory beside the server under test.
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

    /// Clears a flag and returns whether it was set.
    pub(super) fn take(&mut self, mark: Mark) -> bool {
        let had = self.has(mark);
        self.marks &= !mark.0;
        had
    }

    /// Bytes that a send of the server can take now.
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

    /// Bytes that the client can still send.
    pub(super) fn room_to_server(&self) -> usize {
        let used = self.to_server.flying as usize + self.to_server.arrived.len();
        (self.to_server.capacity as usize).saturating_sub(used)
    }

    /// Makes all bytes that have arrived receivable.
    pub(super) fn reveal(&mut self) {
        self.visible = u32::try_from(self.to_server.arrived.len()).expect("bounded by a capacity");
    }

    /// Whether some of the bytes that have arrived come later.
    pub(super) fn hides(&self) -> bool {
        (self.visible as usize) < self.to_server.arrived.len()
    }

    /// Whether both directions have ended, or it was reset.
    fn is_hung_up(&self) -> bool {
        let both = self.to_server.end == End::Arrived && self.to_client.end != End::Open;
        both || self.has(Mark::GONE)
    }

    /// The readiness that epoll would report of it now; `None` if there is none.
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

    /// The state as its client sees it.
    pub(super) fn client_state(&self) -> ClientState {
        let reads_on = self.client == ClientState::EndedByServer && self.unread > 0;
        if reads_on { ClientState::Open } else { self.client }
    }
}
