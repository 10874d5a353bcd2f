//! The pending events of a world, in order of time.
//!
//! Owns the order: by time, then by insertion. Never removes an event early: a stale one is recognised by its
//! generation.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use sys::connect::RemoteAddress;

/// A connection, by its index and the generation of that index. Plain data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

/// A segment from one end to the other.
#[derive(Debug)]
pub(super) enum Segment {
    Bytes(Box<[u8]>),
    End,
    Reset,
}

/// An event of a connection.
#[derive(Debug)]
pub(super) enum Event {
    /// A segment arrives at the server.
    ToServer(Segment),
    /// A segment arrives at the client.
    ToClient(Segment),
    /// The deferral of its acceptance has ended.
    Undefer,
    /// The bytes that a cut receive left out can be received.
    Reveal,
    /// A choked send buffer has room again.
    Unchoke,
    /// Held back bytes are transmitted.
    Uncork,
    /// A handshake that a scheduler began succeeds.
    Establish(RemoteAddress),
    /// A handshake that a scheduler began is refused by the remote.
    Refuse,
}

/// An event and its time. Plain data.
#[derive(Debug)]
pub(crate) struct Appointment {
    pub(crate) at_ns: u64,
    pub(crate) key: Key,
    pub(crate) event: Event,
}

/// An appointment and its place among those of one time.
#[derive(Debug)]
struct Entry {
    appointment: Appointment,
    sequence: u64,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        let times = self.appointment.at_ns.cmp(&other.appointment.at_ns);
        times.then(self.sequence.cmp(&other.sequence))
    }
}

/// All pending events.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    heap: BinaryHeap<Reverse<Entry>>,
    sequence: u64,
}

impl Agenda {
    pub(super) fn put(&mut self, at_ns: u64, key: Key, event: Event) {
        self.sequence += 1;
        let appointment = Appointment { at_ns, key, event };
        self.heap.push(Reverse(Entry { appointment, sequence: self.sequence }));
    }

    /// The time of the next event.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse(entry)| entry.appointment.at_ns)
    }

    /// Takes the next event if its time is not after `until_ns`.
    pub(super) fn take_due(&mut self, until_ns: u64) -> Option<Appointment> {
        if self.next_ns()? > until_ns {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| entry.appointment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_time_then_as_put_in() {
        let mut agenda = Agenda::default();
        for (index, at_ns) in [30, 10, 20, 10].into_iter().enumerate() {
            let key = Key { index: u32::try_from(index).unwrap(), generation: 0 };
            agenda.put(at_ns, key, Event::Reveal);
        }
        let mut order = Vec::new();
        while let Some(appointment) = agenda.take_due(20) {
            order.push(appointment.key.index);
        }
        assert_eq!(order, [1, 3, 2]);
        assert_eq!(agenda.next_ns(), Some(30));
    }
}
