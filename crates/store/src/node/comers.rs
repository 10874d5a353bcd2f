//! The orders of replicas that have come to this node, whatever its role was.
//!
//! Owns which of them are new. Numbers of a node's messages grow, so that none is executed twice, and none that was
//! executed is said to be refused.

use std::collections::BTreeMap;

use crate::limits::REPLICAS;
use crate::replication::ReplicationPeer;

#[derive(Debug, Default)]
pub(super) struct OrdersCome {
    /// The number of the last order of each replica, and the order in which they came.
    last: BTreeMap<ReplicationPeer, (u64, u64)>,
    count: u64,
}

impl OrdersCome {
    /// Whether this order of a replica has not come yet. From now on it has.
    pub(super) fn is_new(&mut self, from: ReplicationPeer, order: u64) -> bool {
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
}
