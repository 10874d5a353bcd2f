//! The pollset contract: what a scheduler asks of the outside world, stated once.
//!
//! A pollset owns the sockets' readiness, the one receive buffer of its scheduler and the clock. It never
//! knows what the bytes mean and never decides when a connection ends. Two pollsets exist: [`epoll`], the
//! kernel, and the crate `world`, a seeded network and clock in memory; both pass `tests/pollset_contract.rs`.
//!
//! What a pollset must provide, and what its scheduler may rely on:
//!
//! 1. **Tokens.** [`Pollset::watch`] ties a socket to a token; every event carries it. A token of a socket that
//!    was dropped may still come once in the batch that was being read: tokens carry a generation, and the
//!    scheduler ignores what is stale.
//! 2. **Readiness is reported on change** (edge). After an event the scheduler receives until it gets
//!    [`Received::Blocked`], or bytes with [`Rest::No`] (unless the event said `ended`: then until the end is
//!    seen), or remembers that it has not. An event tells of the moment of the wait: what has changed within the
//!    batch is not in it, and a pollset may report for nothing.
//!    Bytes that were there before `watch` are reported by the first wait after it.
//! 3. **Bytes are lent.** [`Pollset::receive`] fills the pollset's own buffer and lends it until the next call.
//!    An idle socket owns no buffer.
//! 4. **Sends take what fits.** [`Sent::Part`] means: the rest waits until the socket is reported writable,
//!    which only happens while [`Interest::ReadWrite`] is set, or when the connection is over in both directions:
//!    that is reported as readable, writable, ended and over at once. Setting it reports room that is there already.
//!    A file may be sent in shorter steps: there only a step of no bytes means that there is no room.
//!    A peer that does not read is sent little ([`UNSENT_BYTES`](crate::limits::UNSENT_BYTES) over TCP, besides what is under way).
//! 5. **The end is told apart.** A peer that ended its output gives [`Received::End`] once all bytes were
//!    received; a reset gives [`Received::Failed`], once, if no send was told of it before. Both are announced
//!    by an event, but a receive may come first.
//! 6. **Dropping a socket closes it** and takes it out of the pollset.
//! 7. **Accept tells its three troubles apart** ([`AcceptError`]): nothing there, no room for a descriptor, a
//!    connection that died in the queue. [`AcceptError::NoDescriptor`] means that a connection waits.
//! 8. **Time.** [`Pollset::monotonic_ns`] never goes back; [`Pollset::wait`] returns no later than its bound, as
//!    exactly as [`Patience`] says.
//! 9. **Connecting never waits.** [`Pollset::connect`] gives a socket that stands ([`Connecting::Done`]: it is as one
//!    that was accepted, and not watched) or one that does not yet ([`Connecting::Pending`]). That one is watched
//!    already, under the token that was given and with [`Interest::ReadWrite`], which stays until it is changed.
//!    Until it stands or has failed a receive gives [`Received::Blocked`], a send [`Sent::Part`] of nothing, and
//!    nothing is reported of it unless for nothing. Either is reported as writable, and a failure as ended, too;
//!    [`Pollset::outcome`] says which, a failure once. Dropping a pending socket gives the attempt up.

pub mod epoll;
mod exact;
pub mod polling;

use std::io;
use std::io::IoSlice;
use std::time::Duration;

pub use crate::connect::{ConnectOptions, Connecting};
use crate::file::FileHandle;
use crate::limits::DEFER_ACCEPT_NS;
use crate::socket::{ListenAddress, Peer};

/// What an event belongs to: chosen by the scheduler, opaque to the pollset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Token(pub u64);

impl Token {
    /// The event of the wake descriptor: some other thread has put a message into a mailbox.
    pub const WAKE: Token = Token(u64::MAX);
}

/// What a watched socket is reported for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Bytes or the end of the peer's output.
    Read,
    /// The same, and room for output: only while something is left over.
    ReadWrite,
}

/// What happened to a socket or listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// Whose event it is.
    pub token: Token,
    /// Bytes, connections, an end or an error can be received.
    pub readable: bool,
    /// There is room for output.
    pub writable: bool,
    /// The peer ended its output or the connection: receive until the end is seen.
    pub ended: bool,
    /// The connection is over in both directions: nothing that is sent would arrive.
    pub over: bool,
}

/// Whether a receive may have left bytes in the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// The buffer was filled: receive again.
    Perhaps,
    /// The socket was emptied: the next bytes come with an event.
    No,
}

/// What a receive gave.
#[derive(Debug, PartialEq, Eq)]
pub enum Received<'a> {
    /// Bytes, lent until the pollset's next call.
    Bytes(&'a [u8], Rest),
    /// Nothing now.
    Blocked,
    /// The peer ended its output.
    End,
    /// The connection is gone.
    Failed(io::ErrorKind),
}

/// What a send took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// All of it.
    All,
    /// So many bytes, perhaps none; the socket has no room for more now.
    Part(usize),
    /// The file's bytes are not in memory: reading them would block the turn.
    Cold,
    /// The connection is gone (or, for a file, the file is shorter than it was).
    Failed(io::ErrorKind),
}

/// Whether more output follows at once, or its end, so that a small head travels with the body behind it, and a
/// small answer with the end of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follows {
    /// Nothing: transmit now.
    Nothing,
    /// More output or [`Pollset::end_output`]: the kernel may hold a partial segment back (`MSG_MORE`).
    More,
}

/// Why no connection was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcceptError {
    /// No connection waits.
    Blocked,
    /// No descriptor or kernel memory for another connection; it stays in the queue.
    NoDescriptor,
    /// One connection died in the queue; look again.
    Aborted,
    /// The listener itself is broken.
    Listener(io::ErrorKind),
}

/// How a listener is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenOptions {
    /// Where.
    pub address: ListenAddress,
    /// Length of the accept queue; the kernel cuts it at `net.core.somaxconn`.
    pub backlog: u32,
    /// Whether the client speaks first: then a connection is accepted only once its bytes are there. On a Unix
    /// socket it makes no difference.
    pub first: Speaks,
    /// Whether the kernel probes a peer that is silent for long. On a Unix socket it makes no difference.
    pub silent: Silence,
}

/// Whether the kernel probes a peer that is silent for long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silence {
    /// It does not: deadlines of the server's own end the connection of a peer that is gone.
    Trusted,
    /// It does (`SO_KEEPALIVE`, tcp(7)), and ends the connection of a peer that does not answer.
    Probed,
}

/// Who sends the first bytes of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaks {
    /// The client (HTTP): `TCP_DEFER_ACCEPT`.
    Client {
        /// How long a connection without bytes is kept back, rounded up to whole seconds; nothing for not at all.
        defer: Duration,
    },
    /// The server, or it is not known.
    Either,
}

impl Speaks {
    /// The client, which is given a second.
    pub const CLIENT: Self = Self::Client { defer: Duration::from_nanos(DEFER_ACCEPT_NS) };

    /// For how many seconds a connection without bytes is kept back.
    pub fn defer_s(self) -> u32 {
        match self {
            Self::Client { defer } => {
                let seconds = defer.as_secs() + u64::from(defer.subsec_nanos() > 0);
                u32::try_from(seconds).unwrap_or(u32::MAX)
            }
            Self::Either => 0,
        }
    }
}

/// How long a wait may last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// Look and come back.
    None,
    /// Until this monotonic time in nanoseconds; a kernel may take some milliseconds more.
    Until(u64),
    /// The same, no later than the timers of the kernel allow: tens of microseconds, less with a timer slack of
    /// nothing ([`crate::thread::set_timer_slack_ns`]). It costs more than one call when the time is far off.
    UntilExactly(u64),
    /// Until something happens.
    Unbounded,
}

/// The outside world of one scheduler. The module's header is the contract.
pub trait Pollset {
    /// A listening socket; dropped, it is closed.
    type Listener;
    /// A connection; dropped, it is closed.
    type Socket;

    /// Opens a listener and reports its connections under `token` for as long as any wait in its queue.
    fn listen(&mut self, options: &ListenOptions, token: Token) -> io::Result<Self::Listener>;

    /// Takes one waiting connection.
    fn accept(&mut self, listener: &Self::Listener) -> Result<(Self::Socket, Peer), AcceptError>;

    /// Begins a connection; one that does not stand at once is watched under `token` (clause 9).
    ///
    /// # Errors
    /// Nothing is left of it then. `QuotaExceeded`: no descriptor is left, or no room in the pollset; `OutOfMemory`;
    /// `AddrNotAvailable`: the local address is none, or has no port left for this destination; `WouldBlock`: the
    /// queue of a Unix socket is full; whatever else the kernel or the network says, `ConnectionRefused` above all.
    fn connect(
        &mut self,
        options: &ConnectOptions,
        token: Token,
    ) -> Result<(Self::Socket, Connecting), io::ErrorKind>;

    /// What has become of a pending connection, after an event of it.
    ///
    /// # Errors
    /// Why it failed, `ConnectionRefused` or `TimedOut` above all.
    fn outcome(&mut self, socket: &Self::Socket) -> Result<Connecting, io::ErrorKind>;

    /// Stops reporting a listener: there is no room for what it would bring.
    fn pause(&mut self, listener: &Self::Listener, token: Token) -> io::Result<()>;

    /// Reports a paused listener again.
    fn resume(&mut self, listener: &Self::Listener, token: Token) -> io::Result<()>;

    /// Lets no new connection join a listener's queue; those that have begun still do, and are reported.
    fn refuse_new(&mut self, listener: &mut Self::Listener) -> io::Result<()>;

    /// Begins to report a socket under `token`.
    fn watch(&mut self, socket: &Self::Socket, token: Token) -> io::Result<()>;

    /// Changes what a watched socket is reported for.
    fn set_interest(
        &mut self,
        socket: &Self::Socket,
        token: Token,
        interest: Interest,
    ) -> io::Result<()>;

    /// The peer takes what it gets at once: more of its output may wait below from now on, where there is a bound of it.
    fn note_fast_peer(&mut self, socket: &Self::Socket);

    /// Receives into the pollset's buffer and lends it.
    fn receive(&mut self, socket: &Self::Socket) -> Received<'_>;

    /// Sends several pieces in one write.
    fn send(&mut self, socket: &Self::Socket, parts: &[IoSlice<'_>], follows: Follows) -> Sent;

    /// Sends one piece: the plain path.
    fn send_bytes(&mut self, socket: &Self::Socket, bytes: &[u8], follows: Follows) -> Sent;

    /// Sends a region of a file that is in the page cache; [`Sent::Cold`] when it is not.
    fn send_file(
        &mut self,
        socket: &Self::Socket,
        file: &FileHandle,
        offset: u64,
        length: usize,
    ) -> Sent;

    /// Bytes sent that the peer has not acknowledged; 0 where the kernel does not tell.
    fn outstanding(&mut self, socket: &Self::Socket) -> u64;

    /// Whether sockets may hold back bytes that were taken ([`owed`](Self::owed)), and a receive may give none though more waits.
    const LAYERED: bool = false;

    /// Bytes that the pollset took and holds back because the socket has no room: the next send, also of nothing, tries again.
    fn owed(&self, _socket: &Self::Socket) -> usize {
        0
    }

    /// Says in the way of the socket's layer that nothing follows, once; whether bytes wait to be sent for it. Called when all
    /// output is sent, before [`Pollset::end_output`].
    fn take_leave(&mut self, _socket: &Self::Socket) -> bool {
        false
    }

    /// Ends our output; the peer sees the end after all bytes sent, also those held back for it.
    fn end_output(&mut self, socket: &Self::Socket);

    /// Makes the close of this socket a reset: what the peer still sends is refused at once.
    fn reset_on_close(&mut self, socket: &Self::Socket);

    /// Waits for events and says how many there are; [`Pollset::event`] reads them.
    fn wait(&mut self, patience: Patience) -> io::Result<usize>;

    /// Event `index` of the last wait.
    fn event(&self, index: usize) -> Ready;

    /// Monotonic time in nanoseconds.
    fn monotonic_ns(&mut self) -> u64;

    /// Wall-clock time in nanoseconds since 1970.
    fn unix_ns(&mut self) -> u64;

    /// A counter that grows evenly with time and is cheap to read, some thousands in a microsecond: for times within a turn.
    fn tick_counter(&mut self) -> u64 {
        crate::clock::tick_counter()
    }
}
