//! Orders of a replica's clients on their way to the leader.
//!
//! Owns their order, and how long each may take. A client gets its answer when this store has what the leader has
//! written for it, so its next read sees it. An order is sent again only if the last leader says that it has not begun
//! it: an answer that does not come may be that of an order that was executed.

use std::collections::VecDeque;

use super::events::DoneOrders;
use super::post::{Post, ReplicationMoment};
use crate::failure::StoreFailure;
use crate::limits::{FORWARDED, ORPHAN_MS};
use crate::order::{Executed, Order};
use crate::replication::{
    ReplicationPeer, StorePosition, Talk, encode_orders, move_orders, move_result, moved,
};
use crate::writer::Writer;

/// Orders that a leader has got. They are kept for the next one, in case it has not begun them.
#[derive(Debug, Default)]
struct SentOrders {
    to: ReplicationPeer,
    number: u64,
    orders: Vec<Order>,
}

/// The state of a message of orders.
#[derive(Debug)]
enum State {
    /// It waits for its turn, or for a leader.
    Waiting(Vec<Order>),
    /// The leader has it.
    Sent(SentOrders),
    /// The leader had it when its term ended: until then it may say that it has not begun it.
    Orphaned(SentOrders, u64),
    /// Its results are there; this store has to reach that position.
    Answered(StorePosition, Vec<Result<Executed, StoreFailure>>),
    /// It has failed.
    Failed(StoreFailure),
}

#[derive(Debug)]
struct Forward {
    number: u64,
    count: usize,
    until_ms: u64,
    state: State,
}

#[derive(Debug, Default)]
pub(super) struct Forwards {
    queue: VecDeque<Forward>,
}

impl Forwards {
    pub(super) fn add(&mut self, number: u64, orders: Vec<Order>, until_ms: u64) {
        let (count, state) = (orders.len(), State::Waiting(orders));
        self.queue.push_back(Forward { number, count, until_ms, state });
    }

    /// The leader has answered.
    pub(super) fn on_done(
        &mut self,
        (from, order): (ReplicationPeer, u64),
        at: StorePosition,
        results: Vec<Result<Executed, StoreFailure>>,
    ) {
        let is_it = |forward: &&mut Forward| match &forward.state {
            State::Sent(sent) => sent.is((from, order)),
            _ => false,
        };
        let Some(forward) = self.queue.iter_mut().find(is_it) else { return };
        forward.state = match results.into_iter().map(Some).collect::<Vec<_>>() {
            mut results if results.len() == 1 && forward.count != 1 => match results[0].take() {
                Some(Err(failure)) => State::Failed(failure),
                _ => State::Failed(StoreFailure::LeaderSilent),
            },
            results if results.len() == forward.count => {
                State::Answered(at, results.into_iter().flatten().collect())
            }
            _ => State::Failed(StoreFailure::LeaderSilent),
        };
    }

    /// A node that no longer leads has not begun it: it waits for the next leader.
    pub(super) fn on_refused(&mut self, of: (ReplicationPeer, u64)) {
        for forward in &mut self.queue {
            match &mut forward.state {
                State::Sent(sent) | State::Orphaned(sent, _) if sent.is(of) => {
                    forward.state = State::Waiting(std::mem::take(&mut sent.orders));
                    return;
                }
                _ => {}
            }
        }
    }

    /// Another program leads in the same term: it knows nothing of what the last one was sent.
    pub(super) fn on_new_leader(&mut self, leader: ReplicationPeer) {
        for forward in &mut self.queue {
            if matches!(&forward.state, State::Sent(sent) if sent.to != leader) {
                forward.fail();
            }
        }
    }

    /// Another term begins.
    pub(super) fn end_term(&mut self, now_ms: u64) {
        for forward in &mut self.queue {
            if let State::Sent(sent) = &mut forward.state {
                forward.state = State::Orphaned(std::mem::take(sent), now_ms + ORPHAN_MS);
            }
        }
    }

    /// Sends what may be sent, and answers what is done, in the order in which it came.
    pub(super) fn turn(
        &mut self,
        writer: &mut Writer,
        (post, leader): (&mut Post, Option<ReplicationPeer>),
        (names, done): (&[String], &mut Vec<DoneOrders>),
        (position, now): (&StorePosition, ReplicationMoment),
    ) {
        while let Some(front) = self.queue.front_mut() {
            front.step(writer, (position, now));
            let Some(results) = front.results(position) else { break };
            done.push((front.number, results));
            self.queue.pop_front();
        }
        let Some(leader) = leader else { return };
        for forward in self.queue.iter_mut().take(FORWARDED) {
            match &mut forward.state {
                // It may have to be sent again, and those behind it come after it.
                State::Orphaned(..) => break,
                State::Waiting(orders) => {
                    let (order, ahead) = (post.next_number(), writer.clock().ahead());
                    move_orders(orders, ahead);
                    let bytes = encode_orders(orders, names);
                    move_orders(orders, -ahead);
                    post.tell(leader, &Talk::Orders { order, bytes });
                    let orders = std::mem::take(orders);
                    forward.state = State::Sent(SentOrders { to: leader, number: order, orders });
                }
                _ => {}
            }
        }
    }

    /// This store is the leader now, and knows only of those that wait that they were not executed: those are returned,
    /// the others fail.
    pub(super) fn give_up(&mut self, done: &mut Vec<DoneOrders>) -> Vec<(u64, Vec<Order>)> {
        let mut not_sent = Vec::new();
        for mut forward in self.queue.drain(..) {
            if let State::Waiting(orders) = &mut forward.state {
                not_sent.push((forward.number, std::mem::take(orders)));
                continue;
            }
            forward.fail();
            let results = forward.results(&StorePosition::default());
            done.extend(results.map(|results| (forward.number, results)));
        }
        not_sent
    }

    /// The time at which the first one fails.
    pub(super) fn until_ms(&self) -> Option<u64> {
        self.queue.front().map(Forward::until_ms)
    }
}

impl SentOrders {
    /// Whether a node got them under this number.
    fn is(&self, of: (ReplicationPeer, u64)) -> bool {
        (self.to, self.number) == of
    }
}

impl Forward {
    /// Executes orders that only read, or gives up what takes too long. It is the first one.
    fn step(&mut self, writer: &mut Writer, (position, now): (&StorePosition, ReplicationMoment)) {
        match &self.state {
            State::Waiting(orders) if !orders.iter().any(Order::changes) => {
                let ahead = writer.clock().ahead();
                let mut results = writer.execute(orders, moved(now.unix_ms, ahead));
                for executed in results.iter_mut().flatten() {
                    move_result(executed, -ahead);
                }
                self.state = State::Answered(StorePosition::default(), results);
            }
            State::Answered(at, _) if is_at(position, at) && is_lost(writer, position, at) => {
                self.fail();
            }
            State::Answered(at, _) if is_at(position, at) => {}
            State::Failed(_) => {}
            _ if now.ms >= self.until_ms() => self.fail(),
            _ => {}
        }
    }

    fn until_ms(&self) -> u64 {
        match self.state {
            State::Orphaned(_, until_ms) => self.until_ms.min(until_ms),
            _ => self.until_ms,
        }
    }

    fn fail(&mut self) {
        let why = match &self.state {
            State::Waiting(_) => StoreFailure::LeaderAway,
            State::Sent(..) | State::Orphaned(..) | State::Answered(..) => {
                StoreFailure::LeaderSilent
            }
            State::Failed(_) => return,
        };
        self.state = State::Failed(why);
    }

    /// Its results, if a store at this position may give them.
    fn results(&mut self, position: &StorePosition) -> Option<Vec<Result<Executed, StoreFailure>>> {
        match &mut self.state {
            State::Answered(at, results) if is_at(position, at) => Some(std::mem::take(results)),
            State::Failed(failure) => Some(vec![Err(failure.clone()); self.count]),
            _ => None,
        }
    }
}

/// Whether a store at this position has what one at the other had. The numbers of a store that has left the history of
/// its leader may be higher, in an earlier term.
fn is_at(position: &StorePosition, other: &StorePosition) -> bool {
    position.term >= other.term && position.number >= other.number
}

/// Whether a record is not in the history of a store that is behind it: a later leader may not have it. Number 0 is no
/// record: a refusal stays one.
fn is_lost(writer: &mut Writer, position: &StorePosition, record: &StorePosition) -> bool {
    let is_other_term = record.number > 0 && position.term > record.term;
    is_other_term && writer.hash_at(record.number) != Some(record.hash)
}
