//! The channels whose home this scheduler is, in a cluster of nodes.
//!
//! Owns what is asked of the cluster and which news go where. `commits` publishes into streams, `interest` says which
//! channels are followed, `confirming` when that is in force, `following` merges their messages, `reads` bounds what
//! is read, `histories` takes it in, `rounds` go through all channels, `nodes` knows the members elsewhere, `questions`
//! asks other nodes. Never knows how a node is reached: the caller takes the orders and brings the news.

mod commits;
mod confirming;
mod following;
mod histories;
mod interest;
mod nodes;
mod questions;
mod reads;
mod rounds;

use std::sync::Arc;

use runtime::service::ServiceContext;

use super::Channels;
use super::transit::Bound;
use crate::cluster::{ClusterNews, ClusterOrder, Keeping};
use crate::message::Payload;

use self::commits::Commits;
use self::confirming::Confirming;
pub(in crate::hub) use self::confirming::PatternNote;
use self::nodes::Nodes;
use self::questions::Questions;
use self::reads::Reads;
use self::rounds::Rounds;

/// Whether the cluster can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Contact {
    Away { since_ms: u64 },
    Back,
}

/// The knowledge of a scheduler about the cluster.
#[derive(Debug)]
pub(super) struct Cluster {
    orders: Vec<ClusterOrder>,
    contact: Contact,
    /// How often it has come back.
    returns: u64,
    /// Bytes of messages that wait until a history was read.
    held_bytes: usize,
    commits: Commits,
    reads: Reads,
    rounds: Rounds,
    nodes: Nodes,
    questions: Questions,
    confirming: Confirming,
}

impl Cluster {
    pub(super) fn order(&mut self, order: ClusterOrder) {
        self.orders.push(order);
    }

    /// Whether the cluster has been away for longer than subscribers wait.
    fn is_long_away(&self, now_ms: u64, after_ms: u64) -> bool {
        match self.contact {
            Contact::Away { since_ms } => now_ms.saturating_sub(since_ms) >= after_ms,
            Contact::Back => false,
        }
    }
}

impl Channels {
    /// Joins a cluster, before there is any channel. From now on the caller takes the
    /// [orders](Self::take_cluster_orders) after each turn, and brings the [news](Self::on_cluster). The cluster is
    /// away until it reports that it is there.
    pub fn join_cluster(&mut self, now_ms: u64) {
        debug_assert!(self.by_name.is_empty(), "channels are followed from their beginning");
        self.cluster = Some(Box::new(Cluster {
            orders: Vec::new(),
            contact: Contact::Away { since_ms: now_ms },
            returns: 0,
            held_bytes: 0,
            commits: Commits::default(),
            reads: Reads::default(),
            rounds: Rounds::default(),
            nodes: Nodes::default(),
            questions: Questions::default(),
            confirming: Confirming::default(),
        }));
    }

    /// The orders to the cluster since the last call, in order.
    pub fn take_cluster_orders(&mut self) -> Vec<ClusterOrder> {
        self.cluster.as_mut().map_or_else(Vec::new, |of| std::mem::take(&mut of.orders))
    }

    /// News of the cluster.
    pub fn on_cluster<M>(&mut self, news: ClusterNews, context: &mut ServiceContext<'_, M>) {
        match news {
            ClusterNews::Announced { name, body } => self.on_announced(&name, &body, context),
            ClusterNews::Committed { name, position, before, body } => {
                self.on_committed(&name, position, (before, &body), context);
            }
            ClusterNews::CommitResult { commit, result } => {
                self.on_commit_result(commit, result, context);
            }
            ClusterNews::History { name, read, part } => {
                self.on_history(&name, read, &part, context);
            }
            ClusterNews::ReadFailed { name, read } => self.on_read_failed(&name, read, context),
            ClusterNews::Member { node, name, member, step } => {
                self.on_remote_member(node, &name, &member, step);
            }
            ClusterNews::NodeCame { node } => self.on_node_came(node),
            ClusterNews::NodeGone { node } => self.on_node_gone(node),
            ClusterNews::Asked { from, question } => self.on_asked(from, question),
            ClusterNews::Answered { query, node, answer } => self.on_answered(query, node, answer),
            ClusterNews::QueryOver { query } => self.on_query_over(query, context),
            ClusterNews::Followed { name } => self.on_followed(&name, context),
            ClusterNews::FollowedAll => self.on_followed_all(context),
            ClusterNews::Away => self.on_away(context),
            ClusterNews::Back => self.on_back(),
        }
    }

    fn on_away<M>(&mut self, context: &mut ServiceContext<'_, M>) {
        let since_ms = context.now.monotonic_ms();
        if let Some(cluster) = &mut self.cluster
            && cluster.contact == Contact::Back
        {
            cluster.contact = Contact::Away { since_ms };
            self.confirm_all(context);
        }
    }

    /// A message of another node, of a channel without history.
    fn on_announced<M>(
        &mut self,
        name: &Arc<str>,
        body: &Payload,
        context: &mut ServiceContext<'_, M>,
    ) {
        let channel = self.rulebook.find(name);
        if self.home(name) != self.here || self.rulebook.rules_of(channel).history.keeps() {
            return;
        }
        self.lags.begin(None);
        // Without room it is lost, as on its way. Subscribers of such channels are not promised more.
        if self.accept(channel, body, context.now.monotonic_ms()).is_err() {
            self.stats.dropped += 1;
        }
    }

    /// A message for the subscribers of patterns alone.
    fn accept_for_patterns(&mut self, name: &str, body: &Payload, at_ms: u64) {
        let matching = self.match_patterns(name);
        if matching.is_empty() {
            return;
        }
        let (matching, number, place) = (&*matching, None, None);
        let channel = self.rulebook.find(name);
        let message = Bound { channel, body, number, place, matching, at_ms };
        if self.accept_numbered(message).is_err() {
            self.stats.dropped += 1;
        }
    }

    /// The part of a turn's end that concerns the cluster.
    pub(super) fn run_cluster<M>(&mut self, context: &mut ServiceContext<'_, M>) {
        self.run_rounds(context);
        self.begin_reads();
        self.run_departures(context);
        self.ask_for_members();
        self.follow_for_patterns(context);
    }

    /// How often the cluster has come back.
    fn returns(&self) -> u64 {
        self.cluster.as_ref().map_or(0, |cluster| cluster.returns)
    }

    /// The messages of a channel that the cluster keeps, by the rules.
    fn keeping(&self, place: u32) -> Option<Keeping> {
        let channel = self.channels[place as usize].as_ref()?;
        let keeps = channel.rules.history.keeps();
        Some(if keeps { Keeping::History } else { Keeping::Nothing })
    }
}
