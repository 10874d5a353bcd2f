//! Clients that subscribe to all channels by a pattern.
//!
//! Owns what they have heard: no message twice, unless the network repeats some. Only subscribers of channels are
//! protected from that.

use std::collections::BTreeSet;

use world::ClientId;

use super::Nodes;

/// A client, and the numbers of the messages that it has heard, which are `m1`, `m2` and so on with some `x` behind.
pub(crate) struct Watcher {
    node: usize,
    client: ClientId,
    heard: BTreeSet<u64>,
    unread: String,
    may_repeat: bool,
}

impl Watcher {
    pub(crate) fn new(nodes: &mut Nodes, node: usize) -> Self {
        let client = nodes.connect(node);
        nodes.send(node, client, "psub *\n");
        let may_repeat = nodes.bus.faults.repeat > 0;
        Self { node, client, heard: BTreeSet::new(), unread: String::new(), may_repeat }
    }

    pub(crate) fn client(&self) -> (usize, ClientId) {
        (self.node, self.client)
    }

    pub(crate) fn count(&self) -> u64 {
        self.heard.len() as u64
    }

    /// It looks at what it has received.
    pub(crate) fn look(&mut self, nodes: &mut Nodes) {
        let bytes = nodes.stages[self.node].world().client_received(self.client);
        self.unread.push_str(&String::from_utf8_lossy(&bytes));
        let Some(end) = self.unread.rfind("\r\n") else { return };
        let rest = self.unread.split_off(end);
        let whole = std::mem::replace(&mut self.unread, rest);
        for text in whole.split("\r\n").filter_map(|line| line.strip_prefix('m')) {
            let number = text.trim_end_matches('x').parse().expect("a number");
            let is_new = self.heard.insert(number);
            assert!(is_new || self.may_repeat, "a pattern gets m{number} twice");
        }
    }
}
