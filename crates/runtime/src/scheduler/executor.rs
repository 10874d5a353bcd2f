//! The parts of a scheduler that a run of a process uses: everything except the table of processes.
//!
//! Owns these parts. A process is borrowed from the table once per event and lent to the functions
//! of the executor together with its name. Never looks a process up by name, and never closes one:
//! a function that ends its process returns the reason.

use sys::pollset::Pollset;

use super::drain::Drain;
use super::handshakes::Handshakes;
use super::queues::{Queue, Queues};
use super::settings::SchedulerSettings;
use crate::clock::Clock;
use crate::extras::Extras;
use crate::group::Group;
use crate::lent::Lent;
use crate::limits;
use crate::mailbox::Mailbox;
use crate::outbox::SpareOutboxes;
use crate::output::Output;
use crate::posted::Posted;
use crate::process::{Flags, Process};
use crate::sampler::Sampler;
use crate::service::{ClockUse, CloseReason, Service};
use crate::slots::ProcessId;
use crate::spin::Spin;
use crate::stats::Stats;
use crate::watch::Watch;

/// A process of a scheduler with these sockets and this service.
pub(super) type ProcessOf<P, S> = Process<<P as Pollset>::Socket, <S as Service>::Process>;

/// Whether a process lives on; if not, why it ends. Then nothing more is done to it.
pub(super) type Lives<T = ()> = Result<T, CloseReason>;

/// The process whose handler is being called. Plain data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Running {
    pub(crate) id: ProcessId,
    pub(crate) kind: usize,
    /// Bytes of its inbox, which is lent to the handler during the call.
    pub(crate) lent_bytes: usize,
    /// Bytes that its state held before the call.
    pub(crate) held_bytes: usize,
}

/// The parts that run processes. Plain data: a part owns its own, and each function borrows those that it needs beside
/// a process.
pub(super) struct Executor<P: Pollset, S: Service> {
    pub(crate) pollset: P,
    pub(crate) service: S,
    pub(crate) mailbox: Mailbox<S::Message>,
    pub(crate) clock: Clock,
    /// The output of the running process.
    pub(crate) output: Output,
    pub(crate) group: Group,
    pub(crate) spare_outboxes: SpareOutboxes,
    pub(crate) posted: Posted,
    /// The parts that only some processes have.
    pub(crate) extras: Extras,
    /// The buffers that transports decode and encode into.
    pub(crate) lent: Lent,
    pub(crate) queues: Queues,
    /// Processes that were told to wait for memory, since the list was last emptied; some have ended or been read
    /// since.
    pub(crate) starved: Vec<ProcessId>,
    /// Processes that came to hold much since the list was last searched; some have ended or let go of it since.
    pub(crate) large: Vec<ProcessId>,
    pub(crate) running: Option<Running>,
    pub(crate) spin: Spin,
    pub(crate) sampler: Sampler,
    /// The use of each process, while somebody watches.
    pub(crate) watch: Option<Watch>,
    pub(crate) stats: Stats,
    pub(crate) settings: SchedulerSettings,
    /// Bytes that the queues hold at least when anything is done about it.
    pub(crate) scarce_bytes: u64,
    pub(crate) drain: Option<Drain>,
    /// Bytes of queued output that may still be sent in this turn.
    pub(crate) sends_left: usize,
    pub(crate) handshakes: Handshakes,
}

impl<P: Pollset, S: Service> Executor<P, S> {
    pub(super) fn new(
        mut pollset: P,
        service: S,
        mailbox: Mailbox<S::Message>,
        settings: SchedulerSettings,
    ) -> Self {
        let clock = Clock::new(&mut pollset);
        let sampler = Sampler::new(clock.now().monotonic_ns);
        Self {
            pollset,
            service,
            mailbox,
            clock,
            output: Output::default(),
            group: Group::default(),
            spare_outboxes: SpareOutboxes::default(),
            posted: Posted::default(),
            extras: Extras::new(settings.connections),
            lent: Lent::default(),
            queues: Queues::default(),
            starved: Vec::new(),
            large: Vec::new(),
            running: None,
            spin: Spin::new(settings.spin_ns),
            sampler,
            watch: None,
            stats: Stats::default(),
            settings,
            scarce_bytes: settings.percent_of_buffered(limits::MEMORY_PERCENT_OF_READ_AGAIN),
            drain: None,
            sends_left: limits::QUEUED_BYTES_SENT_PER_TURN,
            handshakes: Handshakes::default(),
        }
    }

    /// Called before each call of the service, which may want the time of the call.
    #[inline]
    pub(super) fn read_clock_for_run(&mut self) {
        if S::CLOCK == ClockUse::PerRun {
            self.clock.read(&mut self.pollset);
        }
    }

    /// Makes closing the socket of a process a reset. A stream has no socket; its carrier learns how it ends.
    pub(super) fn reset_on_close(&mut self, process: &ProcessOf<P, S>) {
        if let Some(socket) = &process.socket {
            self.pollset.reset_on_close(socket);
        }
    }

    #[inline]
    pub(super) fn note_sent(&mut self, id: ProcessId, bytes: usize) {
        self.stats.sent_bytes += bytes as u64;
        if let Some(watch) = &mut self.watch {
            watch.of_mut(id).sent_bytes += bytes as u64;
        }
    }

    #[inline]
    pub(super) fn note_received(&mut self, id: ProcessId, bytes: usize) {
        self.stats.received_bytes += bytes as u64;
        if let Some(watch) = &mut self.watch {
            watch.of_mut(id).received_bytes += bytes as u64;
        }
    }

    /// Whether processes should know that the scheduler is stopping.
    #[inline]
    pub(super) fn is_draining(&self) -> bool {
        self.drain.as_ref().is_some_and(Drain::is_told)
    }

    /// Puts a process into the run queue, once.
    #[inline(never)]
    pub(super) fn queue(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) {
        if !process.flags.has(Flags::QUEUED) {
            process.flags.set(Flags::QUEUED);
            self.queues.push(Queue::Run, id, process);
        }
    }
}
