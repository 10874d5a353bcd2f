//! The service contract: what an application provides to a scheduler, and what it is given.
//!
//! Handlers see no descriptors and need no system calls: they borrow the received bytes, write
//! bytes into [`Output`](crate::output::Output), and return what happens next. Everything that can
//! happen to a process is a method or an [`Event`]; the sets are closed.

mod context;

use std::io;

use sys::pollset::Token;
use sys::socket::Peer;

pub use crate::close_reason::CloseReason;
pub use context::{Command, Connect, Context, ServiceContext};

use crate::limits::INBOX_BYTES;
use crate::mailbox::Endpoint;
use crate::output::FileRegion;

/// Which of the scheduler's listeners a connection came through, in the order they were given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ListenerIndex(pub u16);

impl ListenerIndex {
    pub(crate) fn token(self) -> Token {
        Token(Token::WAKE.0 - 1 - u64::from(self.0))
    }

    pub(crate) fn of_token(token: Token) -> Option<Self> {
        let distance = (Token::WAKE.0 - 1).checked_sub(token.0)?;
        u16::try_from(distance).ok().map(ListenerIndex)
    }
}

/// What happened to a process besides bytes that came.
///
/// The examples of [`Service`], [`Context`] and [`Command`] handle some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The peer ended its output; what it sent before was given. Output may still reach it. Where the connection is over in both
    /// directions the process is closed behind this, whatever it wants next.
    InputEnded,
    /// The other side has ended its output, and the process is parked. Told once, and again when it has been given
    /// input since. There may be input before that end; it comes, and [`Event::InputEnded`] after it, once the process
    /// reads again. Where the connection is over in both directions a parked process is closed instead.
    PeerFinished,
    /// The deadline it set has passed. While output waits for the peer, no deadline runs: the floor for slow
    /// readers does.
    DeadlineReached,
    /// Its output had to wait, or it parked, and everything was sent. Its deadline did not run meanwhile.
    OutputDrained,
    /// It was resumed: what it waited for is there. Or the service has it run ([`Command::Run`]).
    Resumed,
    /// The scheduler is shutting down: finish what runs, begin nothing.
    Draining,
    /// It was just accepted, and queues hold so much that there is no memory for it: say so and finish. Whoever goes on
    /// is closed.
    Overloaded,
    /// The connection it began stands. What it puts out now leaves at once.
    Connected,
    /// The connection it began came to nothing: `ConnectionRefused`, `TimedOut`, whatever the network says. It ends,
    /// whatever it wants next.
    ConnectFailed(io::ErrorKind),
}

/// What is to happen to a process next.
///
/// See [`Service`] for an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Give it input as it comes.
    Read,
    /// It has become another kind of process in this run: [`Service::kind`] says which. The input not consumed yet is given to
    /// it as that, and then input as it comes.
    Changed,
    /// Give it no input until it is resumed or its output is drained; then what is left of the input comes first.
    Park,
    /// Send what is queued, then close.
    Finish,
    /// Send what is queued, end our output, discard what the peer still sends within bounds, then close: for
    /// answers to requests that were not read to their end (RFC 9112 section 9.6).
    Linger,
    /// Close now, with a reset: what is queued is not sent.
    Abort,
}

/// How much of its input a process took, and what is to happen next.
///
/// See [`Service`] for an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes taken; the rest is kept and given again with what comes.
    pub consumed: usize,
    /// What is to happen next.
    pub next: Next,
}

/// When the clock is read for the times that a service is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockUse {
    /// Once in each turn: it costs nothing, and the last event of a turn is told the time of the first.
    PerTurn,
    /// Before every call of the service, and before the bytes it is given are received: some 20 ns each.
    PerRun,
}

/// An application on one scheduler. Each scheduler has its own; nothing in it is shared.
///
/// ```
/// use runtime::Peer;
/// use runtime::service::{Context, Event, ListenerIndex, Next, Progress, Service};
/// use world::Stage;
///
/// /// Sends everything back in capital letters.
/// struct Upper;
///
/// impl Service for Upper {
///     type Process = ();
///     type Message = ();
///     const KINDS: &'static [&'static str] = &["upper"];
///
///     fn kind(_: &()) -> usize {
///         0
///     }
///
///     fn is_idle(_: &()) -> bool {
///         true
///     }
///
///     fn on_accept(&mut self, _: ListenerIndex, _: Peer, _: &mut Context<'_, ()>) -> Option<()> {
///         Some(())
///     }
///
///     fn on_input(&mut self, _: &mut (), input: &[u8], context: &mut Context<'_, ()>) -> Progress {
///         context.output.put(&input.to_ascii_uppercase());
///         Progress { consumed: input.len(), next: Next::Read }
///     }
///
///     fn on_event(&mut self, _: &mut (), event: Event, _: &mut Context<'_, ()>) -> Next {
///         if event == Event::InputEnded { Next::Finish } else { Next::Read }
///     }
/// }
///
/// let mut stage = Stage::new(1, || Upper);
/// let client = stage.connect();
/// assert_eq!(stage.exchange(client, "abc"), "ABC");
/// ```
pub trait Service {
    /// The states of a process: a closed enum, kept in the process's slot.
    type Process;
    /// What crosses schedulers: a closed enum.
    type Message: Send;

    /// Names of the kinds of process, for statistics.
    const KINDS: &'static [&'static str];

    /// When the clock is read.
    const CLOCK: ClockUse = ClockUse::PerTurn;

    /// Which of [`Self::KINDS`] a process is.
    fn kind(process: &Self::Process) -> usize;

    /// The scheduler begins: before its first turn.
    fn on_start(&mut self, _context: &mut ServiceContext<'_, Self::Message>) {}

    /// A connection that was asked for was begun; [`Event::Connected`] or [`Event::ConnectFailed`] follows, perhaps at
    /// once, unless its deadline comes first or the service ends it. `None` gives it up. It may put out nothing yet.
    ///
    /// Or it could not be begun: `QuotaExceeded` (no descriptor, or the limit of connections), `AddrNotAvailable` (no
    /// such local address, or no port left of it), `Interrupted` (the scheduler drains), `OutOfMemory`, or whatever the
    /// network said at once, `ConnectionRefused` above all. Then there is no process, and what is returned is dropped.
    ///
    /// `context.now` is the time before it was begun.
    fn on_connect(
        &mut self,
        _ticket: u64,
        _begun: Result<(), io::ErrorKind>,
        _context: &mut Context<'_, Self::Message>,
    ) -> Option<Self::Process> {
        None
    }

    /// A connection was accepted. Its output is sent at once. `None` closes it, and nothing is sent.
    fn on_accept(
        &mut self,
        listener: ListenerIndex,
        peer: Peer,
        context: &mut Context<'_, Self::Message>,
    ) -> Option<Self::Process>;

    /// Bytes came, or were left from before. They are lent for this call.
    fn on_input(
        &mut self,
        process: &mut Self::Process,
        input: &[u8],
        context: &mut Context<'_, Self::Message>,
    ) -> Progress;

    /// Something else happened.
    fn on_event(
        &mut self,
        process: &mut Self::Process,
        event: Event,
        context: &mut Context<'_, Self::Message>,
    ) -> Next;

    /// Whether a process does nothing now, so that it may be closed when room is needed.
    fn is_idle(process: &Self::Process) -> bool;

    /// Whether a process waits for the rest of something that its peer began and that costs this side nothing to lose, such as the head
    /// of a request. When room is needed the one whose deadline is nearest is closed, before any that is idle.
    fn is_beginning(_process: &Self::Process) -> bool {
        false
    }

    /// Bytes that a process may leave unread; beyond, it is closed. They are in the memory of its scheduler, which has a bound for all.
    fn inbox_bytes(_process: &Self::Process) -> usize {
        INBOX_BYTES
    }

    /// A file that a process is sending is not in memory: have this region read and then resume the process.
    /// `false`: that cannot be done, the connection is closed.
    fn on_cold_file(
        &mut self,
        _process: &Self::Process,
        _region: &FileRegion,
        _context: &mut Context<'_, Self::Message>,
    ) -> bool {
        false
    }

    /// A process ended.
    fn on_close(&mut self, _process: Self::Process, _reason: CloseReason) {}

    /// A message came.
    fn on_message(
        &mut self,
        _from: Endpoint,
        _message: Self::Message,
        _context: &mut ServiceContext<'_, Self::Message>,
    ) {
    }

    /// A turn ends; called before mailboxes and outboxes go out.
    fn on_turn_end(&mut self, _context: &mut ServiceContext<'_, Self::Message>) {}

    /// The scheduler has ended: send what is still held. The service is dropped on its thread after this; what is to
    /// outlive it leaves here, by mail or by a channel of its own.
    fn on_stop(&mut self, _context: &mut ServiceContext<'_, Self::Message>) {}
}
