//! Walks over the table of processes, for those who look at a scheduler from outside.
//!
//! Owns how many slots are seen in one turn, so that no walk delays requests. What is made of it, the service knows.

use sys::pollset::Pollset;

use super::Scheduler;
use crate::limits::SLOTS_WALKED_PER_TURN;
use crate::process::{Flags, Mode};
use crate::service::{Seen, Service};
use crate::watch::Watch;

impl<P: Pollset, S: Service> Scheduler<P, S> {
    /// Shows the service the processes from this slot on, as many as one turn may see.
    pub(super) fn walk(&mut self, from: usize) {
        let now = self.executor.clock.now();
        match &mut self.executor.watch {
            Some(watch) => watch.extend(now.monotonic_ns),
            None => self.executor.watch = Some(Watch::new(now.monotonic_ns)),
        }
        let to = from.saturating_add(SLOTS_WALKED_PER_TURN).min(self.table.used_slots());
        for index in from..to {
            let Some(id) = self.table.id_at(index) else { continue };
            let Some(process) = self.table.get(index) else { continue };
            let used = self.executor.watch.as_ref().map(|watch| watch.of(id)).unwrap_or_default();
            let idle_ns = self
                .executor
                .clock
                .ns_of(now.tick())
                .saturating_sub(self.executor.clock.ns_of(process.last_run));
            let seen = Seen {
                id,
                process: &process.state,
                state: state_of(process.mode, process.flags),
                is_layered: self.executor.extras.is_layered(process.extra),
                queued_bytes: process.outbox.as_ref().map_or(0, |outbox| outbox.queued_bytes()),
                unread_bytes: process.inbox.as_ref().map_or(0, |inbox| inbox.waiting().len()),
                idle_ms: idle_ns / 1_000_000,
                used,
            };
            self.executor.service.on_seen(&seen);
        }
        let next = (to < self.table.used_slots()).then_some(to);
        let (service, mut context) = self.service_context();
        service.on_walked(next, &mut context);
    }

    /// Ends the watching when nobody has asked for long.
    pub(super) fn check_watch(&mut self) {
        let now_ns = self.executor.clock.now().monotonic_ns;
        if self.executor.watch.as_ref().is_some_and(|watch| watch.is_over(now_ns)) {
            self.executor.watch = None;
        }
    }
}

/// The activity of a process, in a word or two.
fn state_of(mode: Mode, flags: Flags) -> &'static str {
    match mode {
        _ if flags.has(Flags::STARVED) => "waits for memory",
        _ if flags.has(Flags::COLD) => "waits for the disk",
        _ if flags.has(Flags::WANTS_ROOM) => "sends",
        Mode::Connecting => "connects",
        Mode::Reading => "reads",
        Mode::Parked | Mode::Collecting => "waits",
        Mode::Finishing | Mode::Lingering | Mode::Discarding => "ends",
    }
}
