//! The context that a service is lent during a call, and its requests to the scheduler.
//!
//! Owns these two contexts and the closed set of commands. Never executes them: the scheduler does.

use std::any::Any;
use std::net::IpAddr;
use std::rc::Rc;

use sys::connect::RemoteAddress;

use crate::account::Accounts;
use crate::clock::Now;
use crate::extras::{ExtraIndex, Extras};
use crate::mailbox::Mailbox;
use crate::output::Output;
use crate::patience::PeerPatience;
use crate::post::{Post, Refused};
use crate::sampler::{Remarkable, Sampler};
use crate::slots::ProcessId;
use crate::stats::Stats;
use crate::streams::Streams;
use crate::timer::Tick;
use crate::transport::Agreed;

/// One run of a process: its name, the time, its output, and the way to other endpoints.
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
    /// The process's name, for messages that return to it.
    pub id: ProcessId,
    /// The time of its turn or of its run, as [`Service::CLOCK`](super::Service::CLOCK) says.
    pub now: Now,
    /// The output of this run.
    pub output: &'a mut Output,
    /// The scheduler's mailbox.
    pub mail: &'a mut Mailbox<M>,
    pub(crate) extras: &'a mut Extras,
    pub(crate) extra: Option<ExtraIndex>,
    pub(crate) deadline: Tick,
    pub(crate) queued_bytes: usize,
    pub(crate) queued_file: bool,
    pub(crate) draining: bool,
}

impl<M> Context<'_, M> {
    /// Sets the deadline of the process, in milliseconds from now. It replaces the previous one.
    #[inline]
    pub fn set_deadline_after_ms(&mut self, milliseconds: u64) {
        self.deadline = self.now.tick_after_ms(milliseconds);
    }

    /// Removes the deadline.
    #[inline]
    pub fn clear_deadline(&mut self) {
        self.deadline = Tick::NEVER;
    }

    /// Whether a file, or so many bytes, are queued that the service should stop producing and park. It then gets
    /// [`Event::OutputDrained`](super::Event::OutputDrained).
    #[inline]
    pub fn output_is_full(&self) -> bool {
        let holds_file = self.queued_file || self.output.holds_file();
        holds_file || self.queued_bytes() > crate::limits::OUTBOX_HIGH_WATER_BYTES
    }

    /// Whether this process is a stream, which another process carries. The end of its input does not mean that its
    /// peer has gone.
    #[must_use]
    pub fn is_stream(&mut self) -> bool {
        self.extras.carriage(self.extra).is_some()
    }

    /// For how long the carrier of this process has kept its peer from sending: time in which nothing could come.
    /// Nothing, if the process is no stream.
    #[must_use]
    pub fn held_back_ns(&mut self) -> u64 {
        let now_ns = self.now.monotonic_ns;
        self.extras.carriage(self.extra).map_or(0, |carriage| carriage.held_back().sum_ns(now_ns))
    }

    /// Takes what the carrier of this process has said with the end of its input
    /// ([`Streams::end_input_with`](crate::streams::Streams::end_input_with)).
    pub fn take_with_end(&mut self) -> Option<Box<dyn Any>> {
        self.extras.carriage(self.extra)?.take_with_end()
    }

    /// The streams that this process carries.
    pub fn streams(&mut self) -> Streams<'_> {
        let Self { id, extra, extras, output, .. } = self;
        Streams::of(*id, extra, extras, output)
    }

    /// The agreement of the transport of this connection with the peer. `None` if there is no transport, or its
    /// handshake is not over.
    #[must_use]
    pub fn agreed(&mut self) -> Option<Rc<Agreed>> {
        self.extras.layer(self.extra)?.agreed().cloned()
    }

    /// Bytes that are queued for the peer, with those of this run. For a service with a smaller limit than that of
    /// [`output_is_full`](Self::output_is_full).
    #[inline]
    pub fn queued_bytes(&self) -> usize {
        self.queued_bytes + self.output.queued_bytes()
    }

    /// Whether the scheduler is shutting down.
    #[inline]
    pub fn is_draining(&self) -> bool {
        self.draining
    }
}

/// A connection to begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connect {
    /// The address to connect to.
    pub to: RemoteAddress,
    /// The local address, for TCP: each has its own range of ports. `None`: the kernel chooses.
    pub from: Option<IpAddr>,
    /// The service's number for the connection, passed to [`Service::on_connect`](super::Service::on_connect).
    pub ticket: u64,
}

/// A request of a service to its scheduler outside the run of a process.
///
/// ```
/// use runtime::Peer;
/// use runtime::service::{
///     SchedulerCommand, Context, Event, ListenerIndex, Next, Progress, Service, ServiceContext,
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
///             context.command(SchedulerCommand::Resume(process));
///         }
///     }
/// }
///
/// let mut stage = Stage::new(1, Parking::default);
/// let client = stage.connect();
/// assert_eq!(stage.exchange(client, "a"), "resumed");
/// ```
#[derive(Clone, Debug)]
pub enum SchedulerCommand {
    /// Run a parked process, before the next events. Does nothing if it has ended.
    Resume(ProcessId),
    /// Run a process now, parked or not: it gets [`Event::Resumed`](super::Event::Resumed). Does nothing if the process
    /// has ended or is about to end.
    Run(ProcessId),
    /// Close a process now, because what it waits for will not come.
    Close(ProcessId),
    /// Begin a connection, at the end of this turn or of one soon after: at most
    /// [`CONNECTS_PER_TURN`](crate::limits::CONNECTS_PER_TURN) begin in one turn, in the order of the requests. Each is
    /// reported through [`Service::on_connect`](super::Service::on_connect), unless the scheduler stops before.
    Connect(Connect),
    /// Show [`Service::on_seen`](super::Service::on_seen) the processes from this slot on, at most
    /// [`SLOTS_WALKED_PER_TURN`](crate::limits::SLOTS_WALKED_PER_TURN) slots, then call
    /// [`Service::on_walked`](super::Service::on_walked). For a while from now on it is counted what each process uses.
    Walk {
        /// The slot to begin with.
        from: usize,
    },
    /// Free the room that is kept for the next work, and give the end of this thread's heap back to the kernel.
    GiveMemoryBack,
    /// From now on wait for peers like this.
    SetPatience(PeerPatience),
    /// Sets the most connections. If there are more, those that [`SchedulerSettings::connections`] would close for a
    /// new one are closed for the next new ones.
    ///
    /// [`SchedulerSettings::connections`]: crate::scheduler::SchedulerSettings::connections
    SetConnections(usize),
    /// Stop accepting and connecting, let running work finish, and stop after this many milliseconds even if some still
    /// runs. With 0 everything is closed in this turn, and the scheduler ends.
    Drain {
        /// How long running work may continue.
        deadline_ms: u64,
        /// How long an idle connection stays open, so that its client learns that it will close.
        idle_grace_ms: u64,
    },
}

/// The scheduler as a service sees it outside the run of a process.
///
/// See [`SchedulerCommand`] for an example.
pub struct ServiceContext<'a, M> {
    /// The time of the turn or of this call, as [`Service::CLOCK`](super::Service::CLOCK) says.
    pub now: Now,
    /// The scheduler's mailbox.
    pub mail: &'a mut Mailbox<M>,
    /// The counters so far.
    pub stats: &'a Stats,
    /// The number of processes.
    pub processes: usize,
    pub(crate) sampler: &'a mut Sampler,
    pub(crate) post: Post<'a>,
    pub(crate) commands: &'a mut Vec<SchedulerCommand>,
    pub(crate) alarm_ns: &'a mut Option<u64>,
}

impl<M> ServiceContext<'_, M> {
    /// The time of the scheduler by account, from its start until now.
    pub fn accounts(&mut self) -> Accounts {
        self.sampler.accounts(self.now.monotonic_ns, self.stats)
    }

    /// The longest run of one process since this was last asked: its ticks, and its kind.
    pub fn take_longest_run(&mut self) -> (u64, Option<usize>) {
        self.sampler.take_longest_run()
    }

    /// The remarkable turns since this was last asked.
    pub fn take_remarkable(&mut self) -> Remarkable {
        self.sampler.take_remarkable()
    }

    /// Queues bytes for a process of this scheduler. Everything queued for it in one turn is sent in one write. The
    /// processes of a scheduler share the bytes, with a reference count that is not atomic.
    ///
    /// # Errors
    /// If the process has ended, or more than `bound` bytes would wait for its peer. If nothing waits for the process,
    /// any number of bytes is accepted.
    pub fn queue(&mut self, to: ProcessId, bytes: &Rc<[u8]>, bound: usize) -> Result<(), Refused> {
        self.post.queue(to, bytes, bound)
    }

    /// Requests something. It happens after the handler has returned.
    pub fn command(&mut self, command: SchedulerCommand) {
        self.commands.push(command);
    }

    /// Requests a turn within this many milliseconds, even if nothing happens until then.
    pub fn wake_after_ms(&mut self, milliseconds: u64) {
        self.wake_at_ns(
            self.now.monotonic_ns.saturating_add(milliseconds.saturating_mul(1_000_000)),
        );
    }

    /// Requests a turn at this monotonic time, as exactly as the scheduler's
    /// [`Punctuality`](crate::scheduler::Punctuality) allows. Of several times only the earliest counts, and it counts
    /// once.
    pub fn wake_at_ns(&mut self, monotonic_ns: u64) {
        let earlier = self.alarm_ns.is_none_or(|alarm_ns| monotonic_ns < alarm_ns);
        if earlier {
            *self.alarm_ns = Some(monotonic_ns);
        }
    }
}
