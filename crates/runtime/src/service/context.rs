//! What a service is lent during a call, and what it can request from its scheduler.
//!
//! Owns these two contexts and the closed set of commands. Never executes them: the scheduler does.

use std::net::IpAddr;
use std::rc::Rc;

use sys::connect::RemoteAddress;

use crate::clock::Now;
use crate::mailbox::Mailbox;
use crate::output::Output;
use crate::post::{Post, Refused};
use crate::slots::ProcessId;
use crate::stats::Stats;
use crate::timer::Tick;

/// One run of a process: its name, the time, its output, the way to other endpoints.
///
/// ```
/// use runtime::Peer;
/// use runtime::service::{Context, Event, ListenerIndex, Next, Progress, Service};
/// use std::time::Duration;
/// use world::Stage;
///
/// /// Ends a connection that sends nothing for a second.
/// struct Impatient;
///
/// impl Service for Impatient {
///     type Process = ();
///     type Message = ();
///     const KINDS: &'static [&'static str] = &["impatient"];
///
///     fn kind(_: &()) -> usize {
///         0
///     }
///
///     fn is_idle(_: &()) -> bool {
///         true
///     }
///
///     fn on_accept(&mut self, _: ListenerIndex, _: Peer, context: &mut Context<'_, ()>) -> Option<()> {
///         context.set_deadline_after_ms(1_000);
///         Some(())
///     }
///
///     fn on_input(&mut self, _: &mut (), input: &[u8], context: &mut Context<'_, ()>) -> Progress {
///         context.set_deadline_after_ms(1_000);
///         Progress { consumed: input.len(), next: Next::Read }
///     }
///
///     fn on_event(&mut self, _: &mut (), event: Event, context: &mut Context<'_, ()>) -> Next {
///         if event == Event::DeadlineReached {
///             context.output.put(b"too late");
///         }
///         Next::Finish
///     }
/// }
///
/// let mut stage = Stage::new(1, || Impatient);
/// let client = stage.connect();
/// stage.pass(Duration::from_millis(900));
/// assert_eq!(stage.exchange(client, "a"), "");
/// stage.pass(Duration::from_millis(1_100));
/// assert_eq!(stage.received(client), "too late");
/// ```
pub struct Context<'a, M> {
    /// The process's name, for messages that come back to it.
    pub id: ProcessId,
    /// The time of its turn, or of its run: as [`Service::CLOCK`](super::Service::CLOCK) says.
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
    /// [`Event::OutputDrained`](super::Event::OutputDrained).
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
    /// The service's name for it, given back with [`Service::on_connect`](super::Service::on_connect).
    pub ticket: u64,
}

/// What a service asks of its scheduler outside the run of a process.
///
/// ```
/// use runtime::Peer;
/// use runtime::service::{
///     Command, Context, Event, ListenerIndex, Next, Progress, Service, ServiceContext,
/// };
/// use runtime::slots::ProcessId;
/// use world::Stage;
///
/// /// Parks each process that sends something, and resumes it at the end of the turn.
/// #[derive(Default)]
/// struct Parking(Vec<ProcessId>);
///
/// impl Service for Parking {
///     type Process = ();
///     type Message = ();
///     const KINDS: &'static [&'static str] = &["parking"];
///
///     fn kind(_: &()) -> usize {
///         0
///     }
///
///     fn is_idle(_: &()) -> bool {
///         false
///     }
///
///     fn on_accept(&mut self, _: ListenerIndex, _: Peer, _: &mut Context<'_, ()>) -> Option<()> {
///         Some(())
///     }
///
///     fn on_input(&mut self, _: &mut (), input: &[u8], context: &mut Context<'_, ()>) -> Progress {
///         self.0.push(context.id);
///         Progress { consumed: input.len(), next: Next::Park }
///     }
///
///     fn on_event(&mut self, _: &mut (), event: Event, context: &mut Context<'_, ()>) -> Next {
///         if event != Event::Resumed {
///             return Next::Finish;
///         }
///         context.output.put(b"resumed");
///         Next::Read
///     }
///
///     fn on_turn_end(&mut self, context: &mut ServiceContext<'_, ()>) {
///         for process in self.0.drain(..) {
///             context.command(Command::Resume(process));
///         }
///     }
/// }
///
/// let mut stage = Stage::new(1, Parking::default);
/// let client = stage.connect();
/// assert_eq!(stage.exchange(client, "a"), "resumed");
/// ```
#[derive(Clone, Debug)]
pub enum Command {
    /// Run a process that was parked; nothing happens when it has ended.
    Resume(ProcessId),
    /// Run a process: it gets [`Event::Resumed`](super::Event::Resumed) whether it is parked or not, at once. Nothing happens when it has ended
    /// or is about to.
    Run(ProcessId),
    /// Close a process at once: what it waits for will not come.
    Close(ProcessId),
    /// Begin a connection, at the end of this turn or of one soon after: so many in one turn
    /// ([`CONNECTS_PER_TURN`](crate::limits::CONNECTS_PER_TURN)), in the order in which they were asked for. The service
    /// hears of each by [`Service::on_connect`](super::Service::on_connect), unless the scheduler stops before.
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
///
/// See [`Command`] for an example.
pub struct ServiceContext<'a, M> {
    /// The time of the turn, or of this call: as [`Service::CLOCK`](super::Service::CLOCK) says.
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
