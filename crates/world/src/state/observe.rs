//! The view that a test has of a world, and the conditions that it sets.
//!
//! Owns the answers. Changes nothing that happens by itself.

use sys::socket::ListenAddress;

use super::State;
use crate::faults::Faults;
use crate::fingerprint::Happening;

impl State {
    /// Changes the faults from now on.
    pub(crate) fn set_faults(&mut self, faults: Faults) {
        self.faults = faults;
    }

    pub(crate) fn set_descriptor_limit(&mut self, scheduler: usize, limit: usize) {
        self.side(scheduler).descriptor_limit = limit;
    }

    /// Makes every cold file warm.
    pub(crate) fn warm(&mut self) {
        for until_ns in self.cold.values_mut() {
            *until_ns = self.now_ns;
        }
    }

    pub(crate) fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Lets this much time pass.
    pub(crate) fn pass(&mut self, nanoseconds: u64) {
        self.advance(self.now_ns + nanoseconds);
        self.fingerprint.note(Happening::Advanced, nanoseconds, 0);
    }

    /// When something will happen next: now if a scheduler has something to be told.
    pub(crate) fn next_event_ns(&mut self) -> Option<u64> {
        self.settle();
        let schedulers = u16::try_from(self.sides.len()).expect("schedulers are few");
        if (0..schedulers).any(|scheduler| self.is_ready(scheduler)) {
            return Some(self.now_ns);
        }
        self.agenda.next_ns()
    }

    /// One number for everything that happened.
    pub(crate) fn fingerprint(&self) -> u64 {
        self.fingerprint.value()
    }

    pub(crate) fn open_descriptors(&self, scheduler: usize) -> usize {
        self.sides.get(scheduler).map_or(0, |side| side.descriptors)
    }

    /// Connections that have not been accepted, deferred ones included.
    pub(crate) fn waiting_connections(&mut self, address: &ListenAddress) -> usize {
        self.settle();
        let gates = self.gates.iter().filter(|gate| gate.listens_at(address));
        gates.map(super::Gate::waiting).sum()
    }
}
