//! The pollset contract: what a scheduler needs from the outside world.
//!
//! A pollset owns the readiness of sockets, the one receive buffer of its scheduler and the clock. It never
//! interprets bytes and never decides when a connection ends. There are two pollsets: [`epoll`], the
//! kernel, and the crate `world`, a seeded network and clock in memory; both pass `tests/pollset_contract.rs`.
//!
//! The duties of a pollset, and the guarantees on which its scheduler may rely:
//!
//! 1. **Tokens.** [`Pollset::watch`] connects a socket with a token; every event carries it. An event of a socket that
//!    was dropped may still come once, in the batch being read: tokens carry a generation, and the
//!    scheduler ignores stale ones.
//! 2. **Readiness is reported on change** (edge). After an event the scheduler receives until it gets
//!    [`Received::Blocked`], or bytes with [`Rest::No`] (unless the event said `ended`: then until the end is
//!    seen), or remembers that it has not. An event describes the moment of the wait: later changes within the
//!    batch are not in it, and a pollset may report spuriously.
//!    Bytes that were there before `watch` are reported by the first wait after it.
//! 3. **Bytes are lent.** [`Pollset::receive`] fills the pollset's own buffer and lends it until the next call.
//!    An idle socket owns no buffer.
//! 4. **Sends accept what fits.** [`Sent::Part`] means: the rest waits until the socket is reported writable, which
//!    only happens while [`Interest::ReadWrite`] is set, or when the connection is over in both directions: that is
//!    reported as readable, writable, ended and over at once. Setting the interest reports room that is already there.
//!    A file may be sent in shorter steps: there only a step of zero bytes means that there is no room. For a peer that
//!    does not read little is accepted ([`UNSENT_BYTES`](crate::limits::UNSENT_BYTES) over TCP, plus what is on the
//!    way).
//! 5. **The end is distinguished.** A peer that ended its output gives [`Received::End`] once all bytes were
//!    received; a reset gives [`Received::Failed`], once, unless a send reported it before. Both are announced
//!    by an event, but a receive may come first.
//! 6. **Dropping a socket closes it** and removes it from the pollset.
//! 7. **Accept distinguishes three problems** ([`AcceptError`]): nothing there, no room for a descriptor, a
//!    connection that died in the queue. [`AcceptError::NoDescriptor`] means that a connection waits.
//! 8. **Time.** [`Pollset::monotonic_ns`] never goes back; [`Pollset::wait`] returns no later than its bound, as
//!    exactly as [`WaitLimit`] says.
//! 9. **Connecting never waits.** [`Pollset::connect`] returns a socket that is established ([`Connecting::Done`]: it
//!    is like an accepted one, and not watched) or one that is not yet ([`Connecting::Pending`]). The latter is already
//!    watched, under the given token and with [`Interest::ReadWrite`], which stays until it is changed. Until it is
//!    established or has failed, a receive gives [`Received::Blocked`], a send [`Sent::Part`] of nothing, and there are
//!    only spurious events. Both results are reported as writable, and a failure also as ended; [`Pollset::outcome`]
//!    tells which, a failure once. Dropping a pending socket abandons the attempt.

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

/// The owner of an event: chosen by the scheduler, opaque to the pollset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Token(pub u64);

impl Token {
    /// The event of the wake descriptor: another thread has put a message into a mailbox.
    pub const WAKE: Token = Token(u64::MAX);
}

/// The events for which a watched socket is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Bytes or the end of the peer's output.
    Read,
    /// The same, and room for output: only while output is left over.
    ReadWrite,
}

/// The events of a socket or listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The token of the socket or listener.
    pub token: Token,
    /// Bytes, connections, an end or an error can be received.
    pub readable: bool,
    /// There is room for output.
    pub writable: bool,
    /// The peer ended its output or the connection: receive until the end is seen.
    pub ended: bool,
    /// The connection is over in both directions: output would not arrive.
    pub over: bool,
}

/// Whether a receive may have left bytes in the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// The buffer was filled: receive again.
    Perhaps,
    /// The socket was emptied: further bytes come with an event.
    No,
}

/// The result of a receive.
#[derive(Debug, PartialEq, Eq)]
pub enum Received<'a> {
    /// Bytes, lent until the pollset's next call. The caller may change them, for example decrypt them in place.
    Bytes(&'a mut [u8], Rest),
    /// Nothing now.
    Blocked,
    /// The peer ended its output.
    End,
    /// The connection has failed.
    Failed(io::ErrorKind),
}

/// The result of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// All of it.
    All,
    /// This many bytes, perhaps none, were accepted; the socket has no more room now.
    Part(usize),
    /// The file's bytes are not in the page cache: reading them would block the turn.
    Cold,
    /// The connection has failed (or, for a file, the file is shorter than it was).
    Failed(io::ErrorKind),
}

/// Whether the kernel may hold a partial segment back because more output, or its end, follows at once: a small head
/// travels with the body after it, and a small answer with the end of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corking {
    /// No: transmit now.
    Off,
    /// Yes (`MSG_MORE`), until more output or [`Pollset::end_output`].
    On,
}

/// Why no connection was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcceptError {
    /// No connection is waiting.
    Blocked,
    /// No descriptor or kernel memory for another connection, which stays in the queue.
    NoDescriptor,
    /// One connection died in the queue; try again.
    Aborted,
    /// The listener itself has failed.
    Listener(io::ErrorKind),
}

/// How a listener is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenOptions {
    /// The address.
    pub address: ListenAddress,
    /// Length of the accept queue. The kernel limits it to `net.core.somaxconn`.
    pub backlog: u32,
    /// Whether the client speaks first: then a connection is accepted only once its bytes have arrived. For a Unix
    /// socket this has no effect.
    pub first: Speaks,
    /// Whether the kernel probes a peer that is silent for long. For a Unix socket this has no effect.
    pub silent: Silence,
}

/// Whether the kernel probes a peer that is silent for long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silence {
    /// No: the server's own deadlines end the connection of a dead peer.
    Trusted,
    /// Yes (`SO_KEEPALIVE`, tcp(7)): it ends the connection of a peer that does not answer.
    Probed,
}

/// Which side sends the first bytes of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaks {
    /// The client (HTTP): `TCP_DEFER_ACCEPT`.
    Client {
        /// How long a connection without bytes is deferred, rounded up to whole seconds; 0 means not at all.
        defer: Duration,
    },
    /// The server, or unknown.
    Either,
}

impl Speaks {
    /// The client, which has a second.
    pub const CLIENT: Self = Self::Client { defer: Duration::from_nanos(DEFER_ACCEPT_NS) };

    /// For how many seconds a connection without bytes is deferred.
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
pub enum WaitLimit {
    /// Check and return.
    None,
    /// Until this monotonic time in nanoseconds; a kernel may take a few milliseconds more.
    Until(u64),
    /// The same, as exactly as the kernel's timers allow: within tens of microseconds, less with a timer slack of
    /// zero ([`crate::thread::set_timer_slack_ns`]). It takes more than one call if the time is far away.
    UntilExactly(u64),
    /// Until something happens.
    Unbounded,
}

/// The outside world of one scheduler. The module's header is the contract.
pub trait Pollset {
    /// A listening socket; dropping it closes it.
    type Listener;
    /// A connection; dropping it closes it.
    type Socket;

    /// Opens a listener and reports its connections under `token` for as long as any wait in its queue.
    fn listen(&mut self, options: &ListenOptions, token: Token) -> io::Result<Self::Listener>;

    /// Accepts one waiting connection.
    fn accept(&mut self, listener: &Self::Listener) -> Result<(Self::Socket, Peer), AcceptError>;

    /// Begins a connection. One that is not established at once is watched under `token` (clause 9).
    ///
    /// # Errors
    /// Then nothing is left of it. `QuotaExceeded`: no descriptor, or no room in the pollset; `OutOfMemory`;
    /// `AddrNotAvailable`: the local address does not exist, or has no port left for this destination; `WouldBlock`:
    /// the queue of a Unix socket is full; otherwise an error of the kernel or the network, mostly `ConnectionRefused`.
    fn connect(
        &mut self,
        options: &ConnectOptions,
        token: Token,
    ) -> Result<(Self::Socket, Connecting), io::ErrorKind>;

    /// The state of a pending connection, after an event of it.
    ///
    /// # Errors
    /// Why it failed, mostly `ConnectionRefused` or `TimedOut`.
    fn outcome(&mut self, socket: &Self::Socket) -> Result<Connecting, io::ErrorKind>;

    /// Stops reporting a listener, because there is no room for its connections.
    fn pause(&mut self, listener: &Self::Listener, token: Token) -> io::Result<()>;

    /// Reports a paused listener again.
    fn resume(&mut self, listener: &Self::Listener, token: Token) -> io::Result<()>;

    /// Keeps new connections out of a listener's queue. Those that have begun still join, and are reported.
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

    /// The peer reads at once: more of its output may wait in the kernel from now on, if there is a limit.
    fn note_fast_peer(&mut self, socket: &Self::Socket);

    /// Receives into the pollset's buffer and lends it.
    fn receive(&mut self, socket: &Self::Socket) -> Received<'_>;

    /// Sends several pieces in one write.
    fn send(&mut self, socket: &Self::Socket, parts: &[IoSlice<'_>], follows: Corking) -> Sent;

    /// Sends one piece: the plain path.
    fn send_bytes(&mut self, socket: &Self::Socket, bytes: &[u8], follows: Corking) -> Sent;

    /// Sends a region of a file that is in the page cache; [`Sent::Cold`] if it is not.
    fn send_file(
        &mut self,
        socket: &Self::Socket,
        file: &FileHandle,
        offset: u64,
        length: usize,
    ) -> Sent;

    /// Bytes sent that the peer has not acknowledged; 0 if the kernel does not say.
    fn outstanding(&mut self, socket: &Self::Socket) -> u64;

    /// Ends our output. The peer sees the end after all bytes sent, including those that were held back for it.
    fn end_output(&mut self, socket: &Self::Socket);

    /// Makes closing this socket a reset: further input from the peer is refused at once.
    fn reset_on_close(&mut self, socket: &Self::Socket);

    /// Waits for events and returns their number; [`Pollset::event`] reads them.
    fn wait(&mut self, patience: WaitLimit) -> io::Result<usize>;

    /// Event `index` of the last wait.
    fn event(&self, index: usize) -> Ready;

    /// Monotonic time in nanoseconds.
    fn monotonic_ns(&mut self) -> u64;

    /// Wall-clock time in nanoseconds since 1970.
    fn unix_ns(&mut self) -> u64;

    /// A counter that grows evenly with time and is cheap to read, with thousands of ticks per microsecond: for
    /// measuring times within a turn.
    fn tick_counter(&mut self) -> u64 {
        crate::clock::tick_counter()
    }
}
