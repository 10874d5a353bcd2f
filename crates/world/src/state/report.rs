//! The report of a wait: changes since the last one, and the faults of reporting.
//!
//! Owns the order and number of events. Reports only changes, except as a fault.

use sys::pollset::Ready;

use super::State;
use crate::fingerprint::Happening;
use crate::limits::EVENT_BATCH;
use crate::random::scramble;

impl State {
    /// Whether a wait of this scheduler would report something that happened.
    pub(crate) fn is_ready(&self, scheduler: u16) -> bool {
        let Some(side) = self.sides.get(usize::from(scheduler)) else { return false };
        self.gates.iter().any(|gate| gate.readiness(scheduler).is_some())
            || side.changed.iter().any(|index| {
                let connection = &self.connections[*index as usize];
                connection.has_changed_for(scheduler) && connection.readiness().is_some()
            })
    }

    /// The events of one wait.
    pub(crate) fn collect(&mut self, scheduler: u16, events: &mut Vec<Ready>) {
        self.settle();
        events.clear();
        events.extend(self.gates.iter().filter_map(|gate| gate.readiness(scheduler)));
        self.collect_changes(scheduler, events);
        self.add_spurious(scheduler, events);
        if self.random.chance(self.faults.shuffle) {
            self.random.shuffle(events);
        }
        for index in 0..events.len() {
            if events.len() < EVENT_BATCH && self.random.chance(self.faults.duplicate) {
                events.push(events[index]);
            }
        }
        for event in events {
            let flags = [event.readable, event.writable, event.ended];
            let detail = flags.iter().fold(0, |bits, flag| bits << 1 | u64::from(*flag));
            self.fingerprint.note(Happening::Reported, event.token.0, scramble(detail));
        }
    }

    fn collect_changes(&mut self, scheduler: u16, events: &mut Vec<Ready>) {
        for _ in 0..self.sides[usize::from(scheduler)].changed.len() {
            if events.len() >= EVENT_BATCH {
                return;
            }
            let side = &mut self.sides[usize::from(scheduler)];
            let Some(index) = side.changed.pop_front() else { return };
            let connection = &mut self.connections[index as usize];
            if !connection.has_changed_for(scheduler) {
                continue;
            }
            if !connection.is_held_back() && self.random.chance(self.faults.hold) {
                connection.hold_back();
                self.sides[usize::from(scheduler)].changed.push_back(index);
                continue;
            }
            events.extend(connection.report());
        }
    }

    fn add_spurious(&mut self, scheduler: u16, events: &mut Vec<Ready>) {
        if self.connections.is_empty()
            || events.len() >= EVENT_BATCH
            || !self.random.chance(self.faults.spurious)
        {
            return;
        }
        let index = self.random.index(self.connections.len());
        events.extend(self.connections[index].spurious(scheduler));
    }
}
