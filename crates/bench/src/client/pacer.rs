//! When requests are due in an open loop, and which of them wait for a connection.
//!
//! Owns the queue of due requests and the list of free connections. A due request waits until a
//! connection takes it. The server causes that wait, so it counts.

use std::collections::VecDeque;

use runtime::slots::ProcessId;

use crate::plan::{Schedule, TemplateState, Upkeep, WeightedChoice};

/// One peer's part.
#[derive(Debug, Default)]
struct Queue {
    /// When the waiting requests were due.
    due_ns: VecDeque<u64>,
    /// Connections that were free when they were added here; their seats tell whether they still are.
    free: VecDeque<u32>,
    /// Connections that are opened only when needed.
    closed: Vec<u32>,
}

/// A connection's entry.
#[derive(Clone, Copy, Debug, Default)]
struct Seat {
    /// The process, if it is free to take a request.
    free: Option<ProcessId>,
    /// Whether its number is in the list of its peer.
    is_listed: bool,
}

/// The connections of a pace. Plain data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seats {
    /// The number of connections.
    pub(crate) connections: u32,
    /// Which one is used next.
    pub(crate) upkeep: Upkeep,
}

/// A connection that should take a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taker {
    /// An open connection.
    Open(ProcessId),
    /// One that has to be opened, by its number.
    Closed(u32),
}

/// The pace of one thread.
#[derive(Debug)]
pub(super) struct Pacer {
    schedule: Schedule,
    start_ns: u64,
    /// When the next request is due, after the start.
    next_due_ns: u64,
    upkeep: Upkeep,
    peers: WeightedChoice,
    queues: Vec<Queue>,
    /// By the number of the connection.
    seats: Vec<Seat>,
}

impl Pacer {
    pub(super) fn new(
        mut schedule: Schedule,
        start_ns: u64,
        weights: &[u32],
        seats: Seats,
    ) -> Self {
        let next_due_ns = schedule.next_due_ns();
        let queues = weights.iter().map(|_| Queue::default()).collect();
        let Seats { connections, upkeep } = seats;
        let seats = vec![Seat::default(); connections as usize];
        let peers = WeightedChoice::new(weights);
        Self { schedule, start_ns, next_due_ns, upkeep, peers, queues, seats }
    }

    /// Sets the start time, which was not known before.
    pub(super) fn start(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
    }

    /// When the next request is due.
    pub(super) fn next_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.next_due_ns)
    }

    /// Queues what has become due by now, at most `most`; returns how many.
    pub(super) fn advance(&mut self, now_ns: u64, most: u64, state: &mut TemplateState) -> u64 {
        let mut count = 0;
        while count < most && self.next_ns() <= now_ns {
            let peer = self.peers.pick(state);
            if let Some(queue) = self.queues.get_mut(peer) {
                queue.due_ns.push_back(self.start_ns.saturating_add(self.next_due_ns));
                count += 1;
            }
            self.next_due_ns = self.schedule.next_due_ns();
        }
        count
    }

    /// Like [`Self::advance`], for what became due before the end of a run. The end itself is excluded, because a
    /// request of that moment would count with an age of zero.
    pub(super) fn advance_to_end(
        &mut self,
        end_ns: u64,
        most: u64,
        state: &mut TemplateState,
    ) -> u64 {
        self.advance(end_ns.saturating_sub(1), most, state)
    }

    /// Takes a due request of this peer.
    #[inline]
    pub(super) fn take(&mut self, peer: usize) -> Option<u64> {
        self.queues.get_mut(peer)?.due_ns.pop_front()
    }

    /// Puts a request back that this peer has not begun.
    pub(super) fn give_back(&mut self, peer: usize, due_ns: u64) {
        if let Some(queue) = self.queues.get_mut(peer) {
            queue.due_ns.push_front(due_ns);
        }
    }

    /// The number of due requests that no connection has taken.
    pub(super) fn waiting(&self) -> u64 {
        self.queues.iter().map(|queue| queue.due_ns.len() as u64).sum()
    }

    /// Gives up all waiting requests; reports each with the time at which it was due.
    pub(super) fn abandon(&mut self, mut tell: impl FnMut(u64)) {
        for queue in &mut self.queues {
            queue.due_ns.drain(..).for_each(&mut tell);
        }
    }

    /// The number of peers.
    pub(super) fn peers(&self) -> usize {
        self.queues.len()
    }

    /// A connection of this peer can take a request.
    #[inline]
    pub(super) fn list_open(&mut self, peer: usize, number: u32, id: ProcessId) {
        let Some(seat) = self.seats.get_mut(number as usize) else { return };
        seat.free = Some(id);
        if !std::mem::replace(&mut seat.is_listed, true)
            && let Some(queue) = self.queues.get_mut(peer)
        {
            queue.free.push_back(number);
        }
    }

    /// A connection has ended.
    pub(super) fn unlist(&mut self, number: u32) {
        if let Some(seat) = self.seats.get_mut(number as usize) {
            seat.free = None;
        }
    }

    /// A connection of this peer will be opened when needed.
    pub(super) fn list_closed(&mut self, peer: usize, number: u32) {
        if let Some(queue) = self.queues.get_mut(peer) {
            queue.closed.push(number);
        }
    }

    /// Assigns a connection to each waiting request, as long as there are free ones.
    pub(super) fn call(&mut self, opening: &[usize], mut take: impl FnMut(Taker)) {
        for (peer, queue) in self.queues.iter_mut().enumerate() {
            // Those that are being opened take one request each.
            let mut wanted =
                queue.due_ns.len().saturating_sub(opening.get(peer).copied().unwrap_or(0));
            while wanted > 0 {
                let free = match self.upkeep {
                    Upkeep::Replace => queue.free.pop_back(),
                    Upkeep::Hold => queue.free.pop_front(),
                };
                if let Some(number) = free {
                    let Some(seat) = self.seats.get_mut(number as usize) else { continue };
                    seat.is_listed = false;
                    // A connection that has ended meanwhile takes nothing.
                    let Some(id) = seat.free.take() else { continue };
                    take(Taker::Open(id));
                } else if let Some(number) = queue.closed.pop() {
                    take(Taker::Closed(number));
                } else {
                    break;
                }
                wanted -= 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::plan::{Arrivals, RequestRate, ThreadShare};

    #[test]
    fn a_request_of_the_last_moment_is_of_no_run() {
        let rate = RequestRate::steady(1000.0, Duration::from_secs(10), Arrivals::Constant);
        let schedule = Schedule::new(&rate, Duration::ZERO, &ThreadShare::of_rate(0, 1), 1);
        let seats = Seats { connections: 1, upkeep: Upkeep::Hold };
        let mut pacer = Pacer::new(schedule, 0, &[1], seats);
        let end_ns = 5_000_000;
        let asked = pacer.advance_to_end(end_ns, u64::MAX, &mut TemplateState::new(1, 0, 1));
        let mut ages = Vec::new();
        pacer.abandon(|due_ns| ages.push(end_ns - due_ns));
        assert_eq!((asked, ages.iter().min()), (5, Some(&1_000_000)));
    }
}
