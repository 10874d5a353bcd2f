//! The service contract: what an application gives a scheduler, and what it is given.
//!
//! Handlers make no system calls and see no descriptors: they borrow the bytes that came, put bytes into
//! [`Output`], and say what is to happen next. Everything that can happen to a process is a method or an
//! [`Event`]; the sets are closed.

use sys::pollset::Token;
use sys::socket::Peer;

use crate::clock::Now;
use crate::mailbox::{Endpoint, Mailbox};
use crate::output::{FileRegion, Output};
use crate::slots::ProcessId;
use crate::stats::Stats;
use crate::timer::Tick;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The peer ended its output; what it sent before was given.
    InputEnded,
    /// The deadline it set has passed. While output waits for the peer, no deadline runs: the floor for slow
    /// readers does.
    DeadlineReached,
    /// Its output had to wait, or it parked, and everything was sent. Its deadline did not run meanwhile.
    OutputDrained,
    /// It was resumed: what it waited for is there.
    Resumed,
    /// The scheduler is shutting down: finish what runs, begin nothing.
    Draining,
    /// It was just accepted, and queues hold so much that there is no memory for it: say so and finish. Whoever goes on
    /// is closed.
    Overloaded,
}

/// What is to happen to a process next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Give it input as it comes.
    Read,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes taken; the rest is kept and given again with what comes.
    pub consumed: usize,
    /// What is to happen next.
    pub next: Next,
}

/// Why a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// The service finished it.
    Finished,
    /// The peer ended the connection.
    PeerEnded,
    /// The connection failed.
    Failed,
    /// The service aborted it.
    Aborted,
    /// The peer did not take our output: no progress, or slower than the floor.
    SlowReader,
    /// More output was queued than an outbox holds.
    OutboxFull,
    /// More input was left unread than an inbox holds.
    InboxFull,
    /// It was the longest idle and room was needed.
    Evicted,
    /// The scheduler stopped before it was done.
    Stopped,
    /// Its handler panicked.
    Panicked,
}

impl CloseReason {
    /// How many reasons there are.
    pub const COUNT: usize = 10;

    /// The reason as statistics name it.
    pub const NAMES: [&'static str; Self::COUNT] = [
        "finished",
        "peer-ended",
        "failed",
        "aborted",
        "slow-reader",
        "outbox-full",
        "inbox-full",
        "evicted",
        "stopped",
        "panicked",
    ];
}

/// One run of a process: its name, the time, its output, the way to other endpoints.
pub struct Context<'a, M> {
    /// The process's name, for messages that come back to it.
    pub id: ProcessId,
    /// The turn's time.
    pub now: Now,
    /// Where its bytes go.
    pub output: &'a mut Output,
    /// The scheduler's mailbox.
    pub mail: &'a mut Mailbox<M>,
    pub(crate) deadline: Tick,
    pub(crate) queued_bytes: usize,
    pub(crate) queued_file: bool,
    pub(crate) draining: bool,
}

impl<M> Context<'_, M> {
    /// Sets the process's one deadline, so many milliseconds from now; the former one is forgotten.
    #[inline]
    pub fn set_deadline_after_ms(&mut self, milliseconds: u64) {
        self.deadline = self.now.tick_after_ms(milliseconds);
    }

    /// Forgets the deadline.
    #[inline]
    pub fn clear_deadline(&mut self) {
        self.deadline = Tick::NEVER;
    }

    /// Whether so much is queued, or a file, that the service should stop producing and park: it gets
    /// [`Event::OutputDrained`].
    #[inline]
    pub fn output_is_full(&self) -> bool {
        self.queued_file
            || self.queued_bytes + self.output.queued_bytes()
                > crate::limits::OUTBOX_HIGH_WATER_BYTES
            || self.output.holds_file()
    }

    /// Whether the scheduler is shutting down.
    #[inline]
    pub fn is_draining(&self) -> bool {
        self.draining
    }
}

/// What a service asks of its scheduler outside the run of a process.
#[derive(Clone, Debug)]
pub enum Command {
    /// Run a process that was parked; nothing happens when it has ended.
    Resume(ProcessId),
    /// Close a process at once: what it waits for will not come.
    Close(ProcessId),
    /// Stop accepting, finish what runs, and stop after so many milliseconds whatever still runs.
    Drain {
        /// How long what runs may go on.
        deadline_ms: u64,
        /// How long an idle connection is kept to learn that it is to close.
        idle_grace_ms: u64,
    },
}

/// The scheduler as a service sees it outside the run of a process.
pub struct ServiceContext<'a, M> {
    /// The turn's time.
    pub now: Now,
    /// The scheduler's mailbox.
    pub mail: &'a mut Mailbox<M>,
    /// What was counted so far.
    pub stats: &'a Stats,
    /// How many processes there are.
    pub processes: usize,
    pub(crate) commands: &'a mut Vec<Command>,
    pub(crate) alarm_ns: &'a mut Option<u64>,
}

impl<M> ServiceContext<'_, M> {
    /// Asks for something; it happens after the handler returned.
    pub fn command(&mut self, command: Command) {
        self.commands.push(command);
    }

    /// Has a turn made in so many milliseconds at the latest, even if nothing happens until then.
    pub fn wake_after_ms(&mut self, milliseconds: u64) {
        let due_ns = self.now.monotonic_ns.saturating_add(milliseconds.saturating_mul(1_000_000));
        let earlier = self.alarm_ns.is_none_or(|alarm_ns| due_ns < alarm_ns);
        if earlier {
            *self.alarm_ns = Some(due_ns);
        }
    }
}

/// An application on one scheduler. Each scheduler has its own; nothing in it is shared.
pub trait Service {
    /// The states of a process: a closed enum, kept in the process's slot.
    type Process;
    /// What crosses schedulers: a closed enum.
    type Message: Send;

    /// Names of the kinds of process, for statistics.
    const KINDS: &'static [&'static str];

    /// Which of [`Self::KINDS`] a process is.
    fn kind(process: &Self::Process) -> usize;

    /// A connection was accepted. `None` closes it at once.
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

    /// The scheduler has ended: send what is still held.
    fn on_stop(&mut self, _context: &mut ServiceContext<'_, Self::Message>) {}
}
