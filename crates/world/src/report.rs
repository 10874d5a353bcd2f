//! The report of a wait: changes since the last one, and the faults of reporting.
//!
//! Owns the order and number of events. Reports only changes, except as a fault.

use sys::pollset::{Interest, Ready};

use super::connection::Mark;
use super::fingerprint::Happening;
use super::listening::Gate;
use super::random::scramble;
use super::state::State;
use crate::limits::EVENT_BATCH;

impl State {
    /// Whether a wait of this scheduler would report something that happened.
    pub(super) fn is_ready(&self, scheduler: u16) -> bool {
        let connects = |gate: &Gate| gate.scheduler == scheduler && gate.is_ready();
        let Some(side) = self.sides.get(usize::from(scheduler)) else { return false };
        self.gates.iter().any(connects)
            || side.changed.iter().any(|index| {
                let connection = &self.connections[*index as usize];
                connection.has(Mark::CHANGED)
                    && connection.scheduler == scheduler
                    && connection.readiness().is_some()
            })
    }

    /// The events of one wait.
    pub(super) fn collect(&mut self, scheduler: u16, events: &mut Vec<Ready>) {
        self.settle();
        events.clear();
        let listeners = self.gates.iter().filter(|gate| gate.scheduler == scheduler);
        for gate in listeners.filter(|gate| gate.is_ready()) {
            let token = gate.token;
            let (readable, writable) = (true, false);
            events.push(Ready { token, readable, writable, ended: false, over: false });
        }
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
            if connection.scheduler != scheduler || !connection.has(Mark::CHANGED) {
                continue;
            }
            if !connection.has(Mark::HELD) && self.random.chance(self.faults.hold) {
                connection.set(Mark::HELD);
                self.sides[usize::from(scheduler)].changed.push_back(index);
                continue;
            }
            connection.take(Mark::CHANGED);
            connection.take(Mark::HELD);
            events.extend(self.look(index));
        }
    }

    fn add_spurious(&mut self, scheduler: u16, events: &mut Vec<Ready>) {
        if self.connections.is_empty()
            || events.len() >= EVENT_BATCH
            || !self.random.chance(self.faults.spurious)
        {
            return;
        }
        let connection = &self.connections[self.random.index(self.connections.len())];
        let Some(watch) = connection.watch else { return };
        if connection.scheduler == scheduler {
            let writable = watch.interest == Interest::ReadWrite;
            let (token, readable) = (watch.token, true);
            events.push(Ready { token, readable, writable, ended: false, over: false });
        }
    }
}
