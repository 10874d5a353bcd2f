//! The context that a service is lent during a call.
//!
//! Owns the borrow of disjoint parts of a scheduler. Never calls a handler.

use sys::pollset::Pollset;

use super::Scheduler;
use super::drain::Drain;
use super::executor::{Executor, ProcessOf, Running};
use crate::account::{TimeAccount, change_to};
use crate::clock::Clock;
use crate::extras::{ExtraIndex, Extras};
use crate::mailbox::Mailbox;
use crate::output::Output;
use crate::post::Post;
use crate::service::{Context, Service, ServiceContext};
use crate::slots::ProcessId;
use crate::timer::Tick;

impl<P: Pollset, S: Service> Scheduler<P, S> {
    /// The service, and its context outside the run of a process.
    pub(super) fn service_context(&mut self) -> (&mut S, ServiceContext<'_, S::Message>) {
        self.executor.stats.mail = self.executor.mailbox.counters();
        let context = ServiceContext {
            now: self.executor.clock.now(),
            mail: &mut self.executor.mailbox,
            stats: &self.executor.stats,
            sampler: &mut self.executor.sampler,
            processes: self.table.len(),
            post: Post {
                lanes: &mut self.table,
                spare_outboxes: &mut self.executor.spare_outboxes,
                posted: &mut self.executor.posted,
            },
            commands: &mut self.commands,
            alarm_ns: &mut self.alarm_ns,
        };
        (&mut self.executor.service, context)
    }
}

impl<P: Pollset, S: Service> Executor<P, S> {
    /// Begins a run of a process: returns the service and the context, which are disjoint parts of the executor. The
    /// path for input repeats this code, because there the bytes are borrowed from a third part.
    pub(super) fn begin_run(
        &mut self,
        id: ProcessId,
        process: &ProcessOf<P, S>,
        lent_bytes: usize,
    ) -> (&mut S, Context<'_, S::Message>) {
        change_to(TimeAccount::Handler);
        self.running = Self::running(id, process, lent_bytes);
        let context = Self::context(
            id,
            process,
            &self.clock,
            &mut self.output,
            &mut self.mailbox,
            &mut self.extras,
            &self.drain,
        );
        (&mut self.service, context)
    }

    /// The state that a call for a process begins with.
    #[inline]
    pub(super) fn running(
        id: ProcessId,
        process: &ProcessOf<P, S>,
        lent_bytes: usize,
    ) -> Option<Running> {
        let (kind, held_bytes) = (S::kind(&process.state), S::held_bytes(&process.state));
        Some(Running { id, kind, lent_bytes, held_bytes })
    }

    /// The service and the context for a process that is not in the table yet.
    pub(super) fn newcomer(&mut self, id: ProcessId) -> (&mut S, Context<'_, S::Message>) {
        let draining = self.is_draining();
        let context = Context {
            id,
            now: self.clock.now(),
            output: &mut self.output,
            mail: &mut self.mailbox,
            extras: &mut self.extras,
            extra: Some(ExtraIndex::NOWHERE),
            deadline: Tick::NEVER,
            queued_bytes: 0,
            queued_file: false,
            draining,
        };
        (&mut self.service, context)
    }

    /// The context of one run of a process, from disjoint parts of the executor.
    #[inline]
    pub(super) fn context<'a>(
        id: ProcessId,
        process: &ProcessOf<P, S>,
        clock: &Clock,
        output: &'a mut Output,
        mail: &'a mut Mailbox<S::Message>,
        extras: &'a mut Extras,
        drain: &Option<Drain>,
    ) -> Context<'a, S::Message> {
        Context {
            id,
            now: clock.now(),
            output,
            mail,
            extras,
            extra: process.extra,
            deadline: process.deadline,
            queued_bytes: process.outbox.as_ref().map_or(0, |outbox| outbox.queued_bytes()),
            queued_file: process.outbox.as_ref().is_some_and(|outbox| outbox.holds_file()),
            draining: drain.as_ref().is_some_and(Drain::is_told),
        }
    }
}
