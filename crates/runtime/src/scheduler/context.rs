//! What the service is lent while it works.
//!
//! Owns the borrow of disjoint parts of a scheduler. Never calls a handler.

use sys::pollset::Pollset;

use super::Scheduler;
use super::drain::Drain;
use crate::clock::Clock;
use crate::mailbox::Mailbox;
use crate::output::Output;
use crate::post::Post;
use crate::process::Process;
use crate::service::{Context, Service, ServiceContext};
use crate::slots::ProcessId;
use crate::timer::Tick;

/// The process whose handler is being called.
#[derive(Clone, Copy, Debug)]
pub(super) struct Running {
    pub(super) id: ProcessId,
    pub(super) kind: usize,
    /// Bytes of its inbox, which is lent to the handler meanwhile.
    pub(super) lent_bytes: usize,
}

/// What a run of a process works on.
pub(super) type Run<'a, P, S> = (
    &'a mut S,
    &'a mut Process<<P as Pollset>::Socket, <S as Service>::Process>,
    Context<'a, <S as Service>::Message>,
);

impl<P: Pollset, S: Service> Scheduler<P, S> {
    /// The service and what it may do besides running a process.
    pub(super) fn service_context(&mut self) -> (&mut S, ServiceContext<'_, S::Message>) {
        self.stats.mail = self.mailbox.counters();
        let context = ServiceContext {
            now: self.clock.now(),
            mail: &mut self.mailbox,
            stats: &self.stats,
            processes: self.table.len(),
            post: Post {
                lanes: &mut self.table,
                spare_outboxes: &mut self.spare_outboxes,
                posted: &mut self.posted,
            },
            commands: &mut self.commands,
            alarm_ns: &mut self.alarm_ns,
        };
        (&mut self.service, context)
    }

    /// Begins a run of a process: itself, the service and the context, which are disjoint parts of the scheduler. For
    /// input the same is written out, as the bytes are lent by another part.
    pub(super) fn begin_run(&mut self, id: ProcessId, lent_bytes: usize) -> Option<Run<'_, P, S>> {
        let process = self.table.lookup(id)?;
        self.running = Some(Running { id, kind: S::kind(&process.state), lent_bytes });
        let context = Self::context(
            id,
            process,
            &self.clock,
            &mut self.output,
            &mut self.mailbox,
            &self.drain,
        );
        Some((&mut self.service, process, context))
    }

    /// The service and the context of a process that is not there yet.
    pub(super) fn newcomer(&mut self, id: ProcessId) -> (&mut S, Context<'_, S::Message>) {
        let context = Context {
            id,
            now: self.clock.now(),
            output: &mut self.output,
            mail: &mut self.mailbox,
            deadline: Tick::NEVER,
            queued_bytes: 0,
            queued_file: false,
            draining: Self::is_draining(&self.drain),
        };
        (&mut self.service, context)
    }

    /// The context of one run of a process, from disjoint parts of the scheduler.
    #[inline]
    pub(super) fn context<'a>(
        id: ProcessId,
        process: &Process<P::Socket, S::Process>,
        clock: &Clock,
        output: &'a mut Output,
        mail: &'a mut Mailbox<S::Message>,
        drain: &Option<Drain>,
    ) -> Context<'a, S::Message> {
        Context {
            id,
            now: clock.now(),
            output,
            mail,
            deadline: process.deadline,
            queued_bytes: process.outbox.as_ref().map_or(0, |outbox| outbox.queued_bytes()),
            queued_file: process.outbox.as_ref().is_some_and(|outbox| outbox.holds_file()),
            draining: Self::is_draining(drain),
        }
    }
}
