//! When requests are due in an open loop, and which of them wait for a connection.
//!
//! Owns the queue of what is due and the list of who is free. A request that is due stays so until a connection takes it:
//! that it had to wait is the server's doing, and counts.

use std::collections::VecDeque;

use runtime::slots::ProcessId;

use crate::plan::{Choice, Schedule, TemplateState};

/// One peer's part.
#[derive(Debug, Default)]
struct Queue {
    /// When the requests that wait were due.
    due_ns: VecDeque<u64>,
    /// Connections without a request. Some may have ended meanwhile.
    free: Vec<ProcessId>,
    /// Connections that are opened only when they are needed.
    closed: Vec<u32>,
}

/// Who is to take a request.
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
    next_ns: u64,
    peers: Choice,
    queues: Vec<Queue>,
}

impl Pacer {
    pub(super) fn new(mut schedule: Schedule, start_ns: u64, weights: &[u32]) -> Self {
        let next_ns = start_ns.saturating_add(schedule.next_due_ns());
        let queues = weights.iter().map(|_| Queue::default()).collect();
        Self { schedule, start_ns, next_ns, peers: Choice::new(weights), queues }
    }

    /// When the next request is due.
    pub(super) fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// Queues what has become due by now; gives how many that were.
    pub(super) fn advance(&mut self, now_ns: u64, state: &mut TemplateState) -> u64 {
        let mut count = 0;
        while self.next_ns <= now_ns {
            let peer = self.peers.pick(state);
            if let Some(queue) = self.queues.get_mut(peer) {
                queue.due_ns.push_back(self.next_ns);
                count += 1;
            }
            self.next_ns = self.start_ns.saturating_add(self.schedule.next_due_ns());
        }
        count
    }

    /// Takes a request of this peer that is due.
    #[inline]
    pub(super) fn take(&mut self, peer: usize) -> Option<u64> {
        self.queues.get_mut(peer)?.due_ns.pop_front()
    }

    /// A connection of this peer has nothing to do.
    #[inline]
    pub(super) fn list_open(&mut self, peer: usize, id: ProcessId) {
        if let Some(queue) = self.queues.get_mut(peer) {
            queue.free.push(id);
        }
    }

    /// A connection of this peer is to be opened when it is needed.
    pub(super) fn list_closed(&mut self, peer: usize, number: u32) {
        if let Some(queue) = self.queues.get_mut(peer) {
            queue.closed.push(number);
        }
    }

    /// Calls somebody for each request that waits, as long as anybody is free.
    pub(super) fn call(&mut self, opening: &[usize], mut take: impl FnMut(Taker)) {
        for (peer, queue) in self.queues.iter_mut().enumerate() {
            // Those that are being opened come for one each.
            let mut wanted =
                queue.due_ns.len().saturating_sub(opening.get(peer).copied().unwrap_or(0));
            while wanted > 0 {
                wanted -= 1;
                if let Some(id) = queue.free.pop() {
                    take(Taker::Open(id));
                } else if let Some(number) = queue.closed.pop() {
                    take(Taker::Closed(number));
                } else {
                    break;
                }
            }
        }
    }
}
