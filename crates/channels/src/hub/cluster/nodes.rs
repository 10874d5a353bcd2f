//! The members of channels on other nodes.
//!
//! Owns what other nodes are told of the members here, and what happens with those of a node that has ended. A node
//! reports a user's first and last subscription; what was missed is asked for. Members count as long as the node does.

use std::collections::VecDeque;
use std::sync::Arc;

use runtime::service::ServiceContext;

use super::super::Channels;
use crate::cluster::{ClusterAnswer, ClusterOrder};
use crate::limits::LEAVING_PER_TURN;
use crate::member::{Member, MemberStep, Whereabouts};
use crate::node::{ClusterNode, Remainder};
use crate::rules::Presence;

/// Nodes that have ended, and those that have come.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    departures: VecDeque<Departure>,
    /// Each with the channel about which it is asked next; `None`: all nodes.
    arrivals: VecDeque<(Option<ClusterNode>, usize)>,
}

/// A node whose members leave, a part in each turn.
#[derive(Debug)]
struct Departure {
    node: ClusterNode,
    /// Where it goes on: in this channel, behind this user.
    place: usize,
    after: Option<Arc<str>>,
}

impl Channels {
    /// Other nodes are told that a user is here now, or no longer.
    pub(in crate::hub) fn tell_nodes(&mut self, name: &str, member: &Member, step: MemberStep) {
        if let Some(cluster) = &mut self.cluster {
            let (name, member) = (name.into(), member.clone());
            cluster.order(ClusterOrder::Member { name, member, step });
        }
    }

    /// The members of a channel on other nodes are asked for, if it has presence.
    pub(super) fn ask_about_members(&mut self, place: u32) {
        let Some(channel) = &self.channels[place as usize] else { return };
        if channel.rules.presence == Presence::On
            && let Some(cluster) = &mut self.cluster
        {
            cluster.questions.want_members(Arc::clone(&channel.name), None, None);
        }
    }

    /// A user's first subscription on another node began, or its last ended.
    pub(super) fn on_remote_member(
        &mut self,
        node: ClusterNode,
        name: &str,
        member: &Member,
        step: MemberStep,
    ) {
        let has_presence = self.rulebook.of(name).presence == Presence::On;
        if self.home(name) != self.here || !has_presence {
            return;
        }
        // Without room a member is not known here. Others who come are not told of it.
        if step == MemberStep::Leaves || self.users.has_room() {
            self.on_member(Whereabouts::Node(node), name, member, step);
        }
    }

    /// The members that a node reported may be out of date: it is asked for all members of the channels here.
    pub(super) fn on_node_came(&mut self, node: ClusterNode) {
        let Some(cluster) = &mut self.cluster else { return };
        cluster.nodes.departures.retain(|departure| departure.node != node);
        self.ask_about_all(Some(node));
    }

    /// A node, or all of them, are asked for all members of the channels here.
    pub(super) fn ask_about_all(&mut self, node: Option<ClusterNode>) {
        let Some(cluster) = &mut self.cluster else { return };
        cluster.nodes.arrivals.retain(|(other, _)| *other != node);
        cluster.nodes.arrivals.push_back((node, 0));
    }

    /// The next channel about which a node is asked that has come.
    pub(super) fn next_arrival(&mut self) -> Option<(Option<ClusterNode>, Arc<str>)> {
        let arrivals = &mut self.cluster.as_mut()?.nodes.arrivals;
        while let Some((node, place)) = arrivals.front_mut() {
            let rest = self.channels.get(*place..).unwrap_or_default();
            let found = rest.iter().position(|channel| {
                channel
                    .as_ref()
                    .is_some_and(|of| of.shared.is_some() && of.rules.presence == Presence::On)
            });
            let Some(found) = found else {
                arrivals.pop_front();
                continue;
            };
            *place += found + 1;
            let channel = rest[found].as_ref()?;
            return Some((*node, Arc::clone(&channel.name)));
        }
        None
    }

    /// The members of a node leave.
    pub(super) fn on_node_gone(&mut self, node: ClusterNode) {
        if let Some(cluster) = &mut self.cluster {
            cluster.nodes.arrivals.retain(|(other, _)| *other != Some(node));
            cluster.nodes.departures.push_back(Departure { node, place: 0, after: None });
        }
    }

    /// Goes on with the oldest departure for as long as this turn may.
    pub(super) fn run_departures<M>(&mut self, context: &mut ServiceContext<'_, M>) {
        let mut left = LEAVING_PER_TURN;
        while let Some(cluster) = &mut self.cluster
            && let Some(Departure { node, place, after }) = cluster.nodes.departures.front_mut()
        {
            if left == 0 {
                return context.wake_after_ms(0);
            }
            let node = *node;
            let Some(channel) = self.channels.get(*place) else {
                cluster.nodes.departures.pop_front();
                continue;
            };
            let users = channel.as_ref().map(|channel| {
                (
                    channel.name.clone(),
                    channel.everywhere.of_node(node, (after.as_deref(), None), left),
                )
            });
            match users {
                Some((name, users)) if !users.is_empty() => {
                    left -= users.len();
                    *after = users.last().cloned();
                    for user in users {
                        let member = Member { user, info: None };
                        let at = Whereabouts::Node(node);
                        self.on_member(at, &name, &member, MemberStep::Leaves);
                    }
                }
                _ => (*place, *after) = (*place + 1, None),
            }
        }
    }

    /// A node says which members it has in a range of names.
    pub(super) fn on_present(&mut self, node: ClusterNode, answer: ClusterAnswer) {
        let ClusterAnswer::Present { name, after, members, rest } = answer else { return };
        let Some(place) = self.by_name.get(&name).copied() else { return };
        let Some(channel) = &self.channels[place as usize] else { return };
        if channel.shared.is_none() {
            return;
        }
        let last = match rest {
            Remainder::None => None,
            Remainder::Some => members.last().map(|member| Arc::clone(&member.user)),
        };
        let range = (after.as_deref(), last.as_deref());
        let mut before = channel.everywhere.of_node(node, range, usize::MAX);
        before.retain(|user| !members.iter().any(|member| member.user == *user));
        for user in before {
            let member = Member { user, info: None };
            self.on_member(Whereabouts::Node(node), &name, &member, MemberStep::Leaves);
        }
        for member in &members {
            self.on_remote_member(node, &name, member, MemberStep::Comes);
        }
        if let (Some(last), Some(cluster)) = (last, &mut self.cluster) {
            cluster.questions.want_members(name, Some(node), Some(last));
        }
    }
}
