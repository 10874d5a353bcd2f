//! The service contract: what an application gives a scheduler, and what it is given.
//!
//! Handlers see no descriptors, and nothing here needs a system call of them: they borrow the bytes that came, put bytes into
//! [`Output`], and say what is to happen next. Everything that can happen to a process is a method or an
//! [`Event`]; the sets are closed.

use std::io;
use std::net::IpAddr;
use std::rc::Rc;

use sys::connect::RemoteAddress;
use sys::pollset::Token;
use sys::socket::Peer;

pub use crate::close_reason::CloseReason;

use crate::clock::Now;
use crate::mailbox::{Endpoint, Mailbox};
use crate::output::{FileRegion, Output};
use crate::post::{Post, Refused};
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes taken; the rest is kept and given again with what comes.
    pub consumed: usize,
    /// What is to happen next.
    pub next: Next,
}

/// One run of a process: its name, the time, its output, the way to other endpoints.
pub struct Context<'a, M> {
    /// The process's name, for messages that come back to it.
    pub id: ProcessId,
    /// The time of its turn, or of its run: as [`Service::CLOCK`] says.
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

/// A connection to be begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connect {
    /// Where it leads.
    pub to: RemoteAddress,
    /// The local address, for TCP: each has ports of its own. `None`: the kernel chooses.
    pub from: Option<IpAddr>,
    /// The service's name for it, given back with [`Service::on_connect`].
    pub ticket: u64,
}

/// When the clock is read for the times that a service is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockUse {
    /// Once in each turn: it costs nothing, and the last event of a turn is told the time of the first.
    PerTurn,
    /// Before every call of the service, and before the bytes it is given are received: some 20 ns each.
    PerRun,
}

/// What a service asks of its scheduler outside the run of a process.
#[derive(Clone, Debug)]
pub enum Command {
    /// Run a process that was parked; nothing happens when it has ended.
    Resume(ProcessId),
    /// Run a process: it gets [`Event::Resumed`] whether it is parked or not, at once. Nothing happens when it has ended
    /// or is about to.
    Run(ProcessId),
    /// Close a process at once: what it waits for will not come.
    Close(ProcessId),
    /// Begin a connection, at the end of this turn or of one soon after: so many in one turn
    /// ([`CONNECTS_PER_TURN`](crate::limits::CONNECTS_PER_TURN)), in the order in which they were asked for. The service
    /// hears of each by [`Service::on_connect`], unless the scheduler stops before.
    Connect(Connect),
    /// Stop accepting and connecting, finish what runs, and stop after so many milliseconds whatever still runs. With 0
    /// everything is closed in this turn, and the scheduler ends.
    Drain {
        /// How long what runs may go on.
        deadline_ms: u64,
        /// How long an idle connection is kept to learn that it is to close.
        idle_grace_ms: u64,
    },
}

/// The scheduler as a service sees it outside the run of a process.
pub struct ServiceContext<'a, M> {
    /// The time of the turn, or of this call: as [`Service::CLOCK`] says.
    pub now: Now,
    /// The scheduler's mailbox.
    pub mail: &'a mut Mailbox<M>,
    /// What was counted so far.
    pub stats: &'a Stats,
    /// How many processes there are.
    pub processes: usize,
    pub(crate) post: Post<'a>,
    pub(crate) commands: &'a mut Vec<Command>,
    pub(crate) alarm_ns: &'a mut Option<u64>,
}

impl<M> ServiceContext<'_, M> {
    /// Queues bytes for a process of this scheduler. All that is queued for it in a turn leaves in one write. Processes of a
    /// scheduler share the bytes; their counter is a plain one.
    ///
    /// # Errors
    /// When the process is gone, or `bound` bytes and more would wait for its peer. Of a process for which nothing waits
    /// everything is taken.
    pub fn queue(&mut self, to: ProcessId, bytes: &Rc<[u8]>, bound: usize) -> Result<(), Refused> {
        self.post.queue(to, bytes, bound)
    }

    /// Asks for something; it happens after the handler returned.
    pub fn command(&mut self, command: Command) {
        self.commands.push(command);
    }

    /// Has a turn made in so many milliseconds at the latest, even if nothing happens until then.
    pub fn wake_after_ms(&mut self, milliseconds: u64) {
        self.wake_at_ns(
            self.now.monotonic_ns.saturating_add(milliseconds.saturating_mul(1_000_000)),
        );
    }

    /// Has a turn made at this monotonic time at the latest, as exactly as the scheduler's
    /// [`Punctuality`](crate::scheduler::Punctuality). Of several times the earliest counts; once it has come, none does.
    pub fn wake_at_ns(&mut self, monotonic_ns: u64) {
        let earlier = self.alarm_ns.is_none_or(|alarm_ns| monotonic_ns < alarm_ns);
        if earlier {
            *self.alarm_ns = Some(monotonic_ns);
        }
    }
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
