//! The work of a leader: it executes orders, its own clients' and those of replicas, and sends the records.
//!
//! Owns which orders of replicas were executed. Never asks anything of another node.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::events::DoneOrders;
use super::post::{Post, ReplicationMoment};
use crate::failure::StoreFailure;
use crate::limits::{ANSWER_SIZE, LEAD_EVERY_MS, RECORDS_SIZE, REPLICAS};
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
    /// The number of the last order of each replica, and the order in which they came.
    last: BTreeMap<ReplicationPeer, (u64, u64)>,
    count: u64,
    next_lead_ms: u64,
}

impl Leading {
    pub(super) fn order(&mut self, number: u64, orders: Vec<Order>) {
        self.waiting.push((OrdersOf::Own(number), orders));
    }

    /// Orders of this node's clients that are not executed.
    pub(super) fn take_local(&mut self) -> Vec<(u64, Vec<Order>)> {
        let own = |(of, orders)| match of {
            OrdersOf::Own(number) => Some((number, orders)),
            OrdersOf::Peer(..) => None,
        };
        self.waiting.drain(..).filter_map(own).collect()
    }

    /// The next turn tells all nodes who leads.
    pub(super) fn lead_soon(&mut self) {
        self.next_lead_ms = 0;
    }

    pub(super) fn on_talk(
        &mut self,
        writer: &mut Writer,
        post: &mut Post,
        (from, talk): (ReplicationPeer, Talk),
        names: &[String],
    ) -> Result<(), StoreFailure> {
        match talk {
            Talk::Ask { ask, position, starts } => {
                answer(writer, post, (from, ask), (position, &starts))?;
            }
            Talk::Want { load, cursor } => {
                let piece = writer.piece(&cursor)?;
                post.tell(from, &Talk::Piece { load, cursor, piece });
            }
            Talk::Orders { order, bytes } if self.is_new(from, order) => {
                self.take_orders((from, order), &bytes, post, names);
            }
            _ => {}
        }
        Ok(())
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

    /// Whether this order of a replica has not come yet.
    fn is_new(&mut self, from: ReplicationPeer, order: u64) -> bool {
        if self.last.get(&from).is_some_and(|(last, _)| order <= *last) {
            return false;
        }
        self.count += 1;
        self.last.insert(from, (order, self.count));
        if self.last.len() > REPLICAS {
            let oldest = self.last.iter().min_by_key(|(_, (_, count))| *count);
            if let Some(oldest) = oldest.map(|(peer, _)| *peer) {
                self.last.remove(&oldest);
            }
        }
        true
    }

    pub(super) fn turn(
        &mut self,
        writer: &mut Writer,
        post: &mut Post,
        done: &mut Vec<DoneOrders>,
        now: ReplicationMoment,
    ) -> Result<u64, StoreFailure> {
        let (mut of, mut all) = (Vec::new(), Vec::new());
        for (who, mut orders) in self.waiting.drain(..) {
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
        Ok(self.next_lead_ms - now.ms)
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
