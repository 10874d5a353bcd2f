//! The work of a leader: it executes orders, its own clients' and those of replicas, and sends the records.
//!
//! Owns the orders that wait. Never asks anything of another node.

use std::sync::Arc;

use super::comers::OrdersCome;
use super::events::DoneOrders;
use super::post::{Post, ReplicationMoment};
use crate::failure::StoreFailure;
use crate::limits::{
    ANSWER_SIZE, HANDED_OVER_MS, HEARD_MS, LEAD_EVERY_MS, LISTENS_MS, RECORDS_SIZE,
};
use crate::order::Order;
use crate::replication::{
    LeaderTerm, OrderUnread, ReplicationPeer, Standing, StorePosition, Talk, decode_orders,
    encode_results,
};
use crate::writer::Writer;

/// The party that waits for orders.
#[derive(Clone, Copy, Debug)]
enum OrdersOf {
    /// The program of this node, which has given them this number.
    Own(u64),
    /// A replica, which has.
    Peer(ReplicationPeer, u64),
}

#[derive(Debug, Default)]
pub(super) struct Leading {
    waiting: Vec<(OrdersOf, Vec<Order>)>,
    next_lead_ms: u64,
    listens: Listens,
}

/// Whether a leader listens before it executes orders: another store may lead since it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Listens {
    /// No more.
    #[default]
    Done,
    /// From its first turn on.
    First,
    Until(u64),
    /// That replica is to lead.
    HandsOver(ReplicationPeer, u64),
}

impl Leading {
    /// A leader whose program has just begun.
    pub(super) fn again() -> Self {
        Self { listens: Listens::First, ..Self::default() }
    }

    /// The others hear this node from now on, and answer at once.
    pub(super) fn come_back(&mut self, now_ms: u64) {
        self.next_lead_ms = 0;
        let heard_ms = now_ms + HEARD_MS;
        self.listens = match self.listens {
            Listens::Done => Listens::Done,
            Listens::First => Listens::Until(heard_ms),
            Listens::Until(until_ms) => Listens::Until(until_ms.min(heard_ms)),
            Listens::HandsOver(to, until_ms) => Listens::HandsOver(to, until_ms),
        };
    }

    /// Whether it stands still because a replica is to lead.
    pub(super) fn hands_over(&self) -> bool {
        matches!(self.listens, Listens::HandsOver(..))
    }

    pub(super) fn order(&mut self, number: u64, orders: Vec<Order>) {
        self.waiting.push((OrdersOf::Own(number), orders));
    }

    /// Another node leads. Orders of replicas that were not begun are refused, so that their clients may send them
    /// there; this node's own ones are returned.
    pub(super) fn end(&mut self, post: &mut Post) -> Vec<(u64, Vec<Order>)> {
        let mut own = Vec::new();
        for (who, orders) in self.waiting.drain(..) {
            match who {
                OrdersOf::Own(number) => own.push((number, orders)),
                OrdersOf::Peer(peer, order) => refuse(post, peer, order),
            }
        }
        own
    }

    pub(super) fn on_talk(
        &mut self,
        writer: &mut Writer,
        post: &mut Post,
        (from, talk): (ReplicationPeer, Talk),
        (names, come): (&[String], &mut OrdersCome),
        now: ReplicationMoment,
    ) -> Result<(), StoreFailure> {
        match talk {
            Talk::Ask { ask, position, starts } => {
                answer(writer, post, (from, ask), (position, &starts))?;
            }
            Talk::Want { load, cursor } => {
                let piece = writer.piece(&cursor)?;
                post.tell(from, &Talk::Piece { load, cursor, piece });
            }
            Talk::HandOver { ask } => {
                // Two that are promoted at once would set each other's writes aside.
                let is_taken = matches!(self.listens, Listens::HandsOver(to, _) if to != from);
                if let Some(position) = writer.position()?.filter(|_| !is_taken) {
                    self.listens = Listens::HandsOver(from, now.ms + HANDED_OVER_MS);
                    self.refuse_waiting_of(from, post);
                    post.tell(from, &Talk::HandedOver { ask, position });
                }
            }
            Talk::Orders { order, bytes } if come.is_new(from, order) => {
                self.take_orders((from, order), &bytes, post, names);
            }
            _ => {}
        }
        Ok(())
    }

    /// Gives a replica that is to lead the orders back that were not begun: it executes them then.
    fn refuse_waiting_of(&mut self, replica: ReplicationPeer, post: &mut Post) {
        let is_its = |of: &OrdersOf| matches!(of, OrdersOf::Peer(peer, _) if *peer == replica);
        for (of, _) in self.waiting.extract_if(.., |(of, _)| is_its(of)) {
            if let OrdersOf::Peer(peer, order) = of {
                refuse(post, peer, order);
            }
        }
    }

    fn take_orders(
        &mut self,
        (from, order): (ReplicationPeer, u64),
        bytes: &[u8],
        post: &mut Post,
        names: &[String],
    ) {
        let text = match decode_orders(bytes, names) {
            Ok(orders) => {
                self.waiting.push((OrdersOf::Peer(from, order), orders));
                return;
            }
            Err(OrderUnread::NoDatabase(name)) => {
                format!(
                    "its leader has no database `{name}`: add it to `databases` in [store] there"
                )
            }
            Err(OrderUnread::Cut) => "its leader has another version".to_owned(),
        };
        // One result stands for all.
        let bytes = encode_results(&[Err(StoreFailure::Storage(text))]);
        post.tell(from, &Talk::Done { order, at: StorePosition::default(), bytes });
    }

    pub(super) fn turn(
        &mut self,
        writer: &mut Writer,
        post: &mut Post,
        done: &mut Vec<DoneOrders>,
        now: ReplicationMoment,
    ) -> Result<u64, StoreFailure> {
        let listens_ms = self.listens_ms(now.ms);
        let (mut of, mut all) = (Vec::new(), Vec::new());
        for (who, mut orders) in self.waiting.extract_if(.., |_| listens_ms == 0) {
            of.push((who, orders.len()));
            all.append(&mut orders);
        }
        let mut results = writer.execute(&all, now.unix_ms).into_iter();
        // Before the results, so that a replica has the records when it hears that they are there.
        let records = writer.take_records();
        if !records.is_empty() {
            self.send_records(writer, post, records)?;
            self.next_lead_ms = now.ms + LEAD_EVERY_MS;
        }
        let at = writer.position()?.unwrap_or_default();
        for (who, count) in of {
            let results: Vec<_> = results.by_ref().take(count).collect();
            match who {
                OrdersOf::Own(number) => done.push((number, results)),
                OrdersOf::Peer(peer, order) => {
                    let bytes = encode_results(&results);
                    post.tell(peer, &Talk::Done { order, at, bytes });
                }
            }
        }
        if now.ms >= self.next_lead_ms {
            self.next_lead_ms = now.ms + LEAD_EVERY_MS;
            if let Some(position) = writer.position()? {
                post.tell_all(&Talk::Lead { time_ms: now.unix_ms, position });
            }
        }
        let rest_ms = self.next_lead_ms - now.ms;
        Ok(if listens_ms > 0 { rest_ms.min(listens_ms) } else { rest_ms })
    }

    /// How much longer it listens.
    fn listens_ms(&mut self, now_ms: u64) -> u64 {
        if self.listens == Listens::First {
            self.listens = Listens::Until(now_ms + LISTENS_MS);
        }
        let rest_ms = match self.listens {
            Listens::Until(until_ms) | Listens::HandsOver(_, until_ms) => {
                until_ms.saturating_sub(now_ms)
            }
            Listens::First | Listens::Done => 0,
        };
        if rest_ms == 0 {
            self.listens = Listens::Done;
        }
        rest_ms
    }

    fn send_records(
        &self,
        writer: &mut Writer,
        post: &mut Post,
        records: Vec<Arc<[u8]>>,
    ) -> Result<(), StoreFailure> {
        let Some(last) = writer.position()? else { return Ok(()) };
        for records in messages(records) {
            post.tell_all(&Talk::Records { answer: 0, last, records });
        }
        Ok(())
    }
}

/// Tells a replica that its order was not begun here, and will not be.
pub(super) fn refuse(post: &mut Post, peer: ReplicationPeer, order: u64) {
    // One result stands for all.
    let bytes = encode_results(&[Err(StoreFailure::LeaderAway)]);
    post.tell(peer, &Talk::Done { order, at: StorePosition::default(), bytes });
}

/// Answers the question of a replica that is at this position.
fn answer(
    writer: &mut Writer,
    post: &mut Post,
    (from, ask): (ReplicationPeer, u64),
    (position, starts): (Option<StorePosition>, &[(LeaderTerm, u64)]),
) -> Result<(), StoreFailure> {
    let Some(last) = writer.position()? else { return Ok(()) };
    let Some(asker) = position else {
        post.tell(from, &Talk::Take { ask, shared: 0 });
        return Ok(());
    };
    let known = writer.hash_at(asker.number);
    if known == Some(asker.hash)
        && let Some(records) = writer.records_after(asker.number, ANSWER_SIZE)
    {
        let mut messages = messages(records).peekable();
        if messages.peek().is_none() {
            post.tell(from, &Talk::Records { answer: ask, last, records: Vec::new() });
        }
        for records in messages {
            post.tell(from, &Talk::Records { answer: ask, last, records });
        }
        return Ok(());
    }
    let own = &writer.standing()?.starts;
    let mut shared = Standing::shared((own, last.number), (starts, asker.number));
    if known.is_some_and(|hash| hash != asker.hash) && shared >= asker.number {
        // Other records of the same term: one of the stores was restored from a copy.
        shared = 0;
    }
    post.tell(from, &Talk::Take { ask, shared });
    Ok(())
}

/// Puts records into as few messages as their size allows.
fn messages(records: Vec<Arc<[u8]>>) -> impl Iterator<Item = Vec<Arc<[u8]>>> {
    let mut records = records.into_iter();
    std::iter::from_fn(move || {
        let (mut size, mut message) = (0, Vec::new());
        while size < RECORDS_SIZE {
            let Some(record) = records.next() else { break };
            size += record.len();
            message.push(record);
        }
        (!message.is_empty()).then_some(message)
    })
}
