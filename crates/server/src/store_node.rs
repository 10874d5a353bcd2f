//! The node of a store with a role, on the thread of the store's writer.
//!
//! Owns which scheduler waits for which orders, and what is told of the node. Never decides who leads: `store` does.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ahash::HashMap;
use runtime::helper::send_patiently;
use runtime::mailbox::Endpoint;
use store::{
    PromoteRefused, Promoted, ReplicationEvent, ReplicationMoment, ReplicationNews, Replicator,
    StoreFailure, StoreRole, Writer,
};

use crate::events::{Kind, Trouble};
use crate::message::{Mailbox, OrderedBy, StoreOrders, StorePost, ToScheduler};
use crate::store_writer_stats::StoreWriterStats;

/// The node, and the orders that it has.
pub(crate) struct StoreNode {
    node: Replicator,
    /// Processes that wait for the orders of each number.
    sent: HashMap<u64, (Endpoint, Vec<OrderedBy>)>,
    last: u64,
    /// Bytes of other stores that were taken, and that the link has not been told of.
    taken: usize,
}

impl StoreNode {
    /// The scheduler whose link carries the messages of a node.
    pub(crate) const LINK: Endpoint = Endpoint(0);

    /// A node with nothing to do.
    pub(crate) fn new(node: Replicator) -> Self {
        Self { node, sent: HashMap::default(), last: 0, taken: 0 }
    }

    /// Takes the orders of a scheduler.
    pub(crate) fn order(&mut self, from: Endpoint, orders: StoreOrders, now: ReplicationMoment) {
        let StoreOrders { waiting, orders, .. } = orders;
        self.last += 1;
        self.sent.insert(self.last, (from, waiting));
        self.node.order(self.last, orders, now);
    }

    /// Takes news of the transport.
    pub(crate) fn hear(
        &mut self,
        writer: &mut Writer,
        news: ReplicationNews,
        now: ReplicationMoment,
    ) -> Result<(), StoreFailure> {
        if let ReplicationNews::Heard(bytes) = &news {
            self.taken += bytes.len();
        }
        self.node.hear(writer, news, now)
    }

    /// Begins to make the store the leader.
    pub(crate) fn promote(&mut self, writer: &mut Writer, now: ReplicationMoment) {
        self.node.promote(writer, now);
    }

    /// Takes the end of an attempt to lead: the store leads, or why it does not.
    pub(crate) fn take_promoted(&mut self) -> Option<Result<Promoted, String>> {
        Some(self.node.take_promoted()?.map_err(|refused| match refused {
            PromoteRefused::Leads => "the store is the leader".to_owned(),
            PromoteRefused::HasNothing => "the store has no records of a leader yet: promote \
                another one, or let it take a snapshot first"
                .to_owned(),
            PromoteRefused::Incomplete(number) => format!(
                "its leader is well, and the store does not have its records up to {number}: the event \
                 `replica_refused` says why if it cannot apply them; otherwise wait until `record` in \
                 `velodrome ctl status` is the same at both, or end the leader first"
            ),
            PromoteRefused::Unanswered => "its leader is well and does not stop for it, perhaps \
                because another store is being promoted: try again, or end the leader first"
                .to_owned(),
            PromoteRefused::OtherTerm(term) => {
                format!("another store has begun term {} meanwhile", term.number)
            }
            PromoteRefused::Store(failure) => failure.to_string(),
        }))
    }

    /// Does what is due, and sends what follows from it. Returns the milliseconds until something else is due.
    pub(crate) fn turn(
        &mut self,
        writer: &mut Writer,
        mailbox: &mut Mailbox,
        now: ReplicationMoment,
    ) -> Result<u64, StoreFailure> {
        // A panic is a defect of the store. Nobody is told that a change was made that was not.
        let turned = catch_unwind(AssertUnwindSafe(|| self.node.turn(writer, now)));
        let panicked = |_| Err(StoreFailure::Storage("its node panicked".to_owned()));
        let turned = turned.unwrap_or_else(panicked);
        for (number, results) in self.node.take_done() {
            let Some((from, waiting)) = self.sent.remove(&number) else { continue };
            let stored = waiting.into_iter().zip(results).collect();
            // A scheduler has at most two unanswered messages, so its mailbox has room.
            let _nobody_turns =
                send_patiently(mailbox, from, ToScheduler::Stored(Box::new(stored)).into());
        }
        let orders = self.node.take_orders();
        if !orders.is_empty() || self.taken > 0 {
            let post = StorePost { orders, taken: self.taken, waiting: self.sent.len() };
            // A link that is too slow loses messages.
            if mailbox.send(Self::LINK, ToScheduler::Replication(Box::new(post)).into()).is_ok() {
                self.taken = 0;
            }
        }
        turned
    }

    /// The troubles that an operator should know.
    pub(crate) fn take_troubles(&mut self) -> impl Iterator<Item = Trouble> {
        self.node.take_events().into_iter().map(|event| trouble(&event))
    }

    /// Writes what the node says of itself.
    pub(crate) fn note(&self, writer: &mut Writer, stats: &mut StoreWriterStats) {
        if let Ok(status) = self.node.status(writer) {
            stats.is_member = 1;
            stats.term = status.term.number;
            stats.record = status.number;
            stats.leader_record = status.leader_number;
            stats.leads = u64::from(status.role == StoreRole::Leader);
            stats.hears_leader = u64::from(status.hears_leader);
        }
    }
}

fn trouble(event: &ReplicationEvent) -> Trouble {
    match event {
        ReplicationEvent::Fenced(term) => {
            let text = format!("the store follows the leader of term {} now", term.number);
            Trouble::new(Kind::StoreFenced, "", text)
        }
        ReplicationEvent::HandedOver(term) => {
            let text = format!(
                "the store has stopped, and follows the leader of term {} now",
                term.number
            );
            Trouble::new(Kind::StoreHandedOver, "", text)
        }
        ReplicationEvent::SetAside(aside) => {
            let text = format!(
                "records {} to {} are not in the history of the leader: they are in `{}`",
                aside.first,
                aside.last,
                aside.path.display()
            );
            // It is told besides the event that a later term has begun.
            Trouble::new(Kind::StoreFenced, "aside", text)
        }
        ReplicationEvent::SnapshotBegun(number) => {
            let text = format!("a snapshot of the leader is requested, behind record {number}");
            Trouble::new(Kind::ReplicaSnapshot, "", text)
        }
        ReplicationEvent::SnapshotTaken(number) => {
            let text = format!("the store has the snapshot of record {number}");
            Trouble::new(Kind::ReplicaSnapshot, "taken", text)
        }
        ReplicationEvent::Behind(number, leader) => {
            let leader = leader.map_or_else(
                || "does not hear its leader".to_owned(),
                |leader| format!("its leader is at {leader}"),
            );
            let text = format!("the store is at record {number}, and {leader}");
            Trouble::new(Kind::ReplicaBehind, "", text)
        }
        ReplicationEvent::NotApplied(why) => {
            Trouble::new(Kind::ReplicaRefused, "", format!("what the leader sent: {why}"))
        }
        ReplicationEvent::OtherHistory(peer) => {
            let text = format!("node {:016x} has a store with another history", peer.0);
            Trouble::new(Kind::ReplicaRefused, "", text)
        }
        ReplicationEvent::OtherVersion(version) => {
            let text = format!(
                "the store of another node speaks version {version}, which this program does not: what it sends is \
                 ignored. Run one version of Velodrome on all nodes"
            );
            Trouble::new(Kind::ReplicaRefused, "version", text)
        }
    }
}
