//! The other nodes: signs of life, and when one counts as ended.
//!
//! Owns the leases. A node has one, renewed by the link of its first scheduler, and by another if that is not heard;
//! each of its links tells when it has connected again, because what it would have told of its members before was not
//! heard. Signs are numbered: one that is missing shows that servers of NATS were cut off from each other. Time is an
//! argument.

use std::collections::BTreeMap;

use channels::ClusterNode;

use crate::likeness::KeptForm;
use crate::limits::{HEARTBEAT_MS, LEASE_MS, NODES, QUIET_MS, SILENCE_MS};
use crate::plan::{ClusterPlan, LinkSeat, StreamPlan};
use crate::sign_form::{Occasion, SignForm};

/// 250 ms between two signs of life because others have just come.
const GREETING_MS: u64 = 250;

/// 250 ms by which each further link of a node waits longer for the signs of those before it, and the most of them.
const TURN_MS: u64 = 250;
const LAST_TURN_MS: u64 = 3_000;

/// 3 s after which a server that was asked ([`QUIET_MS`]) has answered, if it is there.
const NEWS_MS: u64 = QUIET_MS + 1_000;

/// The number of the first sign behind a greeting. A server of NATS that has just begun takes links before it has found
/// the other servers, so their greetings may reach nobody, and nothing else of theirs either.
const AFTER_GREETING: u64 = 1;

/// Whose turn it is to tell that a node is alive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Turn {
    /// That of another link.
    #[default]
    Others,
    /// That of this link: no other was heard.
    Own,
    /// Another link is heard again. This one tells once more: links that were cut off from it have missed the signs
    /// before, and perhaps hear this node without a gap otherwise.
    Last,
}

/// Another node as this one knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeView {
    /// The node.
    pub node: ClusterNode,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The number of its schedulers.
    pub schedulers: u16,
}

/// What a sign of life has brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Nothing new.
    Alive,
    /// A node has come, or one of its links has connected again.
    Came(ClusterNode),
    /// A node has ended.
    Ended(ClusterNode),
    /// Signs of this node before it did not arrive, and with them other messages may not have, since this time.
    Gap { node: ClusterNode, since_ms: u64 },
}

/// The last sign of a link of another node.
#[derive(Clone, Copy, Debug)]
struct LastSign {
    connection: u64,
    /// `None`: what follows need not be the next one.
    number: Option<u64>,
    heard_ms: u64,
}

impl LastSign {
    /// The number of the next sign on this connection; `None`: it may be any.
    fn expects(self, connection: u64) -> Option<u64> {
        self.number.filter(|_| self.connection == connection).map(|last| last + 1)
    }
}

/// The last signs of the links of a node, by their numbers.
type LastSigns = BTreeMap<u16, LastSign>;

#[derive(Debug)]
struct Other {
    view: NodeView,
    heard_ms: u64,
    links: LastSigns,
    kept: Option<KeptForm>,
}

impl Other {
    /// One that has not said who it is.
    fn new(node: ClusterNode, heard_ms: u64) -> Self {
        let view = NodeView { node, name: String::new(), version: String::new(), schedulers: 0 };
        Self { view, heard_ms, links: LastSigns::new(), kept: None }
    }
}

/// The nodes that a link knows.
#[derive(Debug, Default)]
pub(crate) struct Nodes {
    others: BTreeMap<u64, Other>,
    /// The last signs of those that were given up or have ended: one may have been cut off, or a sign may come late.
    given_up: BTreeMap<u64, LastSigns>,
    /// The number of this link's next sign on its connection.
    number: u64,
    /// When it has sent the last one.
    sent_ms: Option<u64>,
    turn: Turn,
    /// Since when it is connected.
    up_ms: u64,
    next_sign_ms: u64,
    greeted_ms: u64,
    /// When it was looked last for nodes that have ended.
    looked_ms: u64,
    /// How this node keeps channels.
    kept: KeptForm,
}

impl Nodes {
    /// Those of a node that keeps channels like that.
    pub(crate) fn of(plan: &StreamPlan) -> Self {
        Self { kept: KeptForm::of(plan), ..Self::default() }
    }

    /// From now on, this node keeps channels like that.
    pub(crate) fn keep(&mut self, plan: &StreamPlan) {
        self.kept = KeptForm::of(plan);
    }

    /// The complaint about a node that keeps channels otherwise, or has the name of this one.
    pub(crate) fn complaint(&self, own: &str) -> Option<String> {
        let of = |other: &Other| self.kept.complaint(&other.view.name, other.kept?);
        let is_same = |other: &Other| other.view.name == own;
        self.others.values().find_map(of).or_else(|| {
            self.others.values().any(is_same).then(|| {
                format!(
                    "another node has the name `{own}`, so people cannot tell them apart: give each its own `name` in \
                     [cluster]"
                )
            })
        })
    }

    pub(crate) fn nodes(&self) -> impl Iterator<Item = ClusterNode> {
        self.others.values().map(|other| other.view.node)
    }

    pub(crate) fn views(&self) -> impl Iterator<Item = &NodeView> {
        // One that has not said who it is has no connection yet that is known.
        self.others.values().filter(|of| !of.links.is_empty()).map(|other| &other.view)
    }

    /// The link is connected again: nodes that cannot have been heard have time to be, and signs that were missed until
    /// now have no meaning.
    pub(crate) fn come_back(&mut self, seat: LinkSeat, now_ms: u64) {
        for other in self.others.values_mut() {
            other.heard_ms = now_ms;
            other.links.values_mut().for_each(|last| last.number = None);
        }
        self.given_up.clear();
        (self.number, self.sent_ms, self.up_ms) = (0, None, now_ms);
        self.give_way(seat, now_ms);
    }

    /// The node has just been heard, by others as well: this link's turn comes when it is not heard again in time.
    fn give_way(&mut self, seat: LinkSeat, now_ms: u64) {
        let turn_ms = (u64::from(seat.number) * TURN_MS).min(LAST_TURN_MS);
        self.next_sign_ms = now_ms + HEARTBEAT_MS + turn_ms;
        self.turn = Turn::Others;
    }

    /// Another link of this node was heard.
    fn hear_own(&mut self, seat: LinkSeat, now_ms: u64) {
        match self.turn {
            Turn::Others => self.give_way(seat, now_ms),
            Turn::Own => {
                // Until then the servers of NATS have found each other.
                (self.next_sign_ms, self.turn) = (now_ms + HEARTBEAT_MS, Turn::Last);
            }
            Turn::Last => {}
        }
    }

    /// The greeting of a link that has connected.
    pub(crate) fn greeting(&self, plan: &ClusterPlan, of: (LinkSeat, u64)) -> Vec<u8> {
        self.sign(plan, of, (Occasion::Came, None))
    }

    /// The farewell of a node at its end.
    pub(crate) fn farewell(&self, plan: &ClusterPlan, of: (LinkSeat, u64)) -> Vec<u8> {
        self.sign(plan, of, (Occasion::Ends, None))
    }

    /// A sign was sent.
    pub(crate) fn count_sign(&mut self, now_ms: u64) {
        self.number += 1;
        self.sent_ms = Some(now_ms);
    }

    /// The sign of life, if it is time for one.
    pub(crate) fn sign_of_life(
        &mut self,
        plan: &ClusterPlan,
        of: (LinkSeat, u64),
        now_ms: u64,
    ) -> Option<Vec<u8>> {
        if now_ms < self.next_sign_ms {
            return None;
        }
        if self.turn == Turn::Last {
            self.give_way(of.0, now_ms);
        } else {
            (self.next_sign_ms, self.turn) = (now_ms + HEARTBEAT_MS, Turn::Own);
        }
        let after_ms = self.sent_ms.map(|sent_ms| now_ms.saturating_sub(sent_ms));
        Some(self.sign(plan, of, (Occasion::Time, after_ms)))
    }

    fn sign(
        &self,
        plan: &ClusterPlan,
        (seat, connection): (LinkSeat, u64),
        (why, after_ms): (Occasion, Option<u64>),
    ) -> Vec<u8> {
        SignForm {
            node: plan.node.0,
            name: plan.name.clone(),
            version: plan.version.clone(),
            schedulers: seat.schedulers,
            link: seat.number,
            connection,
            number: Some(self.number),
            after_ms,
            why,
            kept: Some(self.kept),
        }
        .written()
    }

    /// A member of a node was heard of. If it is not known yet, and no sign of life follows, its members leave.
    pub(crate) fn meet(&mut self, node: ClusterNode, now_ms: u64) {
        if self.others.len() < NODES {
            self.others.entry(node.0).or_insert_with(|| Other::new(node, now_ms));
        }
    }

    /// Something was heard of a node.
    pub(crate) fn hear(
        &mut self,
        payload: &[u8],
        (own, seat): (ClusterNode, LinkSeat),
        now_ms: u64,
    ) -> Heard {
        let Some(form) = SignForm::read(payload) else { return Heard::Alive };
        let node = ClusterNode(form.node);
        if node == own {
            if form.why == Occasion::Ends {
                // This link does not bring it back.
                self.next_sign_ms = u64::MAX;
            } else if seat.number > 0 {
                self.hear_own(seat, now_ms);
            }
            return Heard::Alive;
        }
        if form.why == Occasion::Ends {
            let Some(known) = self.others.remove(&form.node) else { return Heard::Alive };
            // A sign of another link of it may come later, through another server of NATS.
            self.given_up.insert(form.node, known.links);
            return Heard::Ended(node);
        }
        // The first link answers; the others have been told of by their own greetings.
        let is_first = seat.number == 0;
        if is_first && form.why == Occasion::Came && now_ms >= self.greeted_ms + GREETING_MS {
            // It knows nobody yet. Many may come at once, so not each is answered by itself.
            self.greeted_ms = now_ms;
            self.next_sign_ms = now_ms;
        }
        if self.others.len() >= NODES && !self.others.contains_key(&form.node) {
            // It may have room later, and was not cut off before.
            self.up_ms = now_ms;
            return Heard::Alive;
        }
        // The sign before this one was sent when this link was there, even if this one was on its way for as long as a
        // link stays with a server that is silent.
        let was_there = form.after_ms.is_some_and(|after_ms| {
            after_ms <= LEASE_MS && self.up_ms + SILENCE_MS + after_ms <= now_ms
        });
        let (name, version, schedulers) = (form.name, form.version, form.schedulers);
        let other = self.others.entry(form.node).or_insert_with(|| Other::new(node, now_ms));
        other.view = NodeView { node, name, version, schedulers };
        other.kept = form.kept;
        other.heard_ms = now_ms;
        let given_up = self.given_up.remove(&form.node);
        let was_given_up = given_up.is_some();
        other.links.extend(given_up.into_iter().flatten());
        let last = LastSign { connection: form.connection, number: form.number, heard_ms: now_ms };
        let known = other.links.get(&form.link).copied();
        if known.is_some_and(|known| known.connection > form.connection) {
            // It comes late, through another server of NATS than those after it.
            return if was_given_up { Heard::Came(node) } else { Heard::Alive };
        }
        other.links.insert(form.link, last);
        let is_gap = form.number.is_some_and(|number| {
            let in_order = known.and_then(|known| known.expects(form.connection));
            in_order.map_or(was_there && number > AFTER_GREETING, |expected| number > expected)
        });
        match known {
            _ if is_gap => Heard::Gap { node, since_ms: known.map_or(0, |known| known.heard_ms) },
            Some(known) if known.connection == form.connection && !was_given_up => Heard::Alive,
            _ => Heard::Came(node),
        }
    }

    /// The nodes that have not been heard for too long, although the server has been heard at `heard_ms`: the silence
    /// of all of them is that of the network.
    pub(crate) fn take_ended(&mut self, now_ms: u64, heard_ms: u64) -> Vec<ClusterNode> {
        let mut ended = Vec::new();
        self.looked_ms = now_ms;
        self.others.retain(|node, other| {
            let end_ms = other.heard_ms + LEASE_MS;
            let is_alive = now_ms < end_ms || heard_ms + NEWS_MS < end_ms;
            if !is_alive {
                ended.push(other.view.node);
                self.given_up.insert(*node, std::mem::take(&mut other.links));
            }
            is_alive
        });
        while self.given_up.len() > NODES {
            self.given_up.pop_first();
        }
        ended
    }

    /// When the next sign of life is due, for a link that stays.
    pub(crate) fn next_sign_ms(&self) -> u64 {
        self.next_sign_ms
    }

    /// When the next of the others has been silent for too long.
    pub(crate) fn next_end_ms(&self) -> Option<u64> {
        let ends = self.others.values().map(|other| other.heard_ms + LEASE_MS);
        // One that is over and was not told is looked at again when the server is heard.
        ends.filter(|end_ms| *end_ms > self.looked_ms).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::NatsCredentials;

    fn plan(node: u64) -> ClusterPlan {
        ClusterPlan {
            node: ClusterNode(node),
            name: "n".to_owned(),
            version: "1".to_owned(),
            prefix: "v".to_owned(),
            servers: Vec::new(),
            credentials: NatsCredentials::default(),
            streams: StreamPlan {
                count: 1,
                replicas: 1,
                bytes: 1,
                messages: 1,
                age_ms: 0,
                sections: 0,
            },
            publish_wait_ms: 0,
        }
    }

    /// When a link that is connected since 0 is sure to hear the next sign of others.
    const UP_MS: u64 = HEARTBEAT_MS + SILENCE_MS;

    /// Signs of the first node are missing since this time.
    fn gap(since_ms: u64) -> Heard {
        Heard::Gap { node: ClusterNode(1), since_ms }
    }

    fn seat(number: u16) -> LinkSeat {
        LinkSeat { number, schedulers: 2 }
    }

    #[test]
    fn a_node_lives_on_while_one_of_its_links_does() {
        let (own, mut first, mut second) = (plan(1), Nodes::default(), Nodes::default());
        first.come_back(seat(0), 0);
        second.come_back(seat(1), 0);
        let mut other = Nodes::default();
        let hear = |other: &mut Nodes, sign: &[u8], now_ms| {
            other.hear(sign, (ClusterNode(2), seat(0)), now_ms)
        };
        let (mut by_first, mut by_second) = (0, 0);
        for now_ms in (0..30_000).step_by(50) {
            let is_up = now_ms < 10_000;
            let sign = first.sign_of_life(&own, (seat(0), 1), now_ms).filter(|_| is_up);
            if let Some(sign) = sign {
                by_first += 1;
                first.count_sign(now_ms);
                assert_eq!(second.hear(&sign, (own.node, seat(1)), now_ms), Heard::Alive);
                hear(&mut other, &sign, now_ms);
            }
            if let Some(sign) = second.sign_of_life(&own, (seat(1), 1), now_ms) {
                by_second += 1;
                second.count_sign(now_ms);
                assert!(now_ms > 10_000, "not while the first is heard");
                hear(&mut other, &sign, now_ms);
            }
            assert_eq!(other.take_ended(now_ms, now_ms), []);
        }
        assert_eq!((by_first, by_second), (4, 10));
        assert_eq!(other.take_ended(40_000, 40_000), [own.node]);
    }

    #[test]
    fn nodes_do_not_end_because_the_server_is_not_heard() {
        let mut nodes = Nodes::default();
        nodes.come_back(seat(0), 0);
        nodes.meet(ClusterNode(9), 1_000);
        assert_eq!(nodes.next_end_ms(), Some(1_000 + LEASE_MS));
        // Nothing at all has come for as long.
        assert_eq!(nodes.take_ended(7_000, 2_900), []);
        assert_eq!(nodes.next_end_ms(), None, "until the server is heard");
        // It was heard, as it is at least every two seconds, and the node was not.
        assert_eq!(nodes.take_ended(7_100, 5_000), [ClusterNode(9)]);
    }

    /// The signs of a node with one link, by their connection and number, one every 2 s.
    fn hear(nodes: &mut Nodes, (connection, number): (u64, u64), now_ms: u64) -> Heard {
        let of_sender = Nodes { number, ..Nodes::default() };
        let after_ms = (number > 0).then_some(HEARTBEAT_MS);
        let sign = of_sender.sign(&plan(1), (seat(0), connection), (Occasion::Time, after_ms));
        nodes.hear(&sign, (ClusterNode(2), seat(0)), now_ms)
    }

    #[test]
    fn a_node_with_the_name_of_this_one_is_told() {
        let mut nodes = Nodes::default();
        assert_eq!(nodes.complaint("n"), None);
        hear(&mut nodes, (1, 0), 0);
        assert!(nodes.complaint("n").is_some_and(|told| told.contains("has the name `n`")));
        assert_eq!(nodes.complaint("another"), None);
    }

    #[test]
    fn a_missing_sign_of_a_connection_is_a_gap() {
        let came = Heard::Came(ClusterNode(1));
        for (signs, last) in [
            (&[(1, 7), (1, 8)][..], Heard::Alive),
            (&[(1, 7), (1, 9)], gap(UP_MS - 1)),
            // It comes twice, or late.
            (&[(1, 7), (1, 7)], Heard::Alive),
            (&[(1, 7), (2, 0)], came),
            // Only its greeting is missing.
            (&[(1, 7), (2, 1)], came),
            (&[(1, 7), (2, 2)], gap(UP_MS - 1)),
        ] {
            let mut nodes = Nodes::default();
            let heard =
                (UP_MS - 1..).zip(signs).map(|(now_ms, sign)| hear(&mut nodes, *sign, now_ms));
            assert_eq!(heard.collect::<Vec<_>>(), [came, last], "{signs:?}");
        }
    }

    #[test]
    fn signs_of_a_connection_that_has_ended_may_come_late_and_are_no_gap() {
        let mut nodes = Nodes::default();
        // Its server of NATS stood still, and goes on when the link has connected to another one.
        let heard = [(1, 7), (2, 0), (2, 1), (1, 8), (1, 9), (2, 2)];
        let heard = heard.map(|sign| hear(&mut nodes, sign, 0));
        assert!(!heard.contains(&gap(0)), "{heard:?}");
        assert_eq!(hear(&mut nodes, (2, 4), 0), gap(0));
    }

    #[test]
    fn a_node_that_was_given_up_and_comes_back_stood_still_or_was_cut_off() {
        for (number, expected) in [(1, Heard::Came(ClusterNode(1))), (4, gap(0))] {
            let mut nodes = Nodes::default();
            hear(&mut nodes, (1, 0), 0);
            assert_eq!(nodes.take_ended(LEASE_MS, LEASE_MS), [ClusterNode(1)]);
            assert_eq!(hear(&mut nodes, (1, number), LEASE_MS), expected);
        }
    }

    #[test]
    fn a_node_that_was_never_heard_and_has_said_something_was_cut_off() {
        for (number, now_ms, expected) in [
            (1, LEASE_MS, Heard::Came(ClusterNode(1))),
            (3, UP_MS - 1, Heard::Came(ClusterNode(1))),
            (3, UP_MS, gap(0)),
        ] {
            let mut nodes = Nodes::default();
            nodes.come_back(seat(0), 0);
            assert_eq!(hear(&mut nodes, (1, number), now_ms), expected, "{number} at {now_ms}");
        }
        let mut nodes = Nodes::default();
        nodes.come_back(seat(0), 0);
        nodes.meet(ClusterNode(1), UP_MS);
        let heard = hear(&mut nodes, (1, 3), UP_MS);
        assert_eq!(heard, gap(0), "one of its members has come before it");
        let mut nodes = Nodes::default();
        hear(&mut nodes, (1, 0), 0);
        nodes.come_back(seat(0), 0);
        let heard = hear(&mut nodes, (1, 3), UP_MS);
        assert_eq!(heard, gap(0), "the link connected meanwhile");
    }

    #[test]
    fn a_link_that_was_cut_off_from_the_others_of_its_node_tells_once_more_when_it_hears_them() {
        let node = plan(1);
        // The links of this node are connected to different servers of NATS; one was cut off with a link of another
        // node, which hears the first link all the time, and may have connected after the second.
        for is_known in [true, false] {
            let (mut first, mut second) = (Nodes::default(), Nodes::default());
            let mut other = Nodes::default();
            first.come_back(seat(0), 0);
            second.come_back(seat(1), 0);
            other.come_back(seat(0), 0);
            let greeting = second.greeting(&node, (seat(1), 1));
            second.count_sign(0);
            if is_known {
                other.hear(&greeting, (ClusterNode(2), seat(0)), 0);
            }
            let (mut signs, mut gaps) = (0, Vec::new());
            for now_ms in (50..40_000).step_by(50) {
                let is_cut = (10_000..20_000).contains(&now_ms);
                if let Some(sign) = first.sign_of_life(&node, (seat(0), 1), now_ms) {
                    first.count_sign(now_ms);
                    if !is_cut {
                        second.hear(&sign, (node.node, seat(1)), now_ms);
                    }
                    let heard = other.hear(&sign, (ClusterNode(2), seat(0)), now_ms);
                    assert!(!matches!(heard, Heard::Gap { .. }), "at {now_ms}");
                }
                if let Some(sign) = second.sign_of_life(&node, (seat(1), 1), now_ms) {
                    second.count_sign(now_ms);
                    signs += 1;
                    if !is_cut {
                        let heard = other.hear(&sign, (ClusterNode(2), seat(0)), now_ms);
                        gaps.extend(matches!(heard, Heard::Gap { .. }).then_some(now_ms));
                    }
                }
            }
            assert_eq!((gaps, signs), (vec![22_000], 6), "one more, then it is silent again");
        }
    }

    #[test]
    fn a_sign_that_comes_behind_the_farewell_of_its_node_is_no_gap() {
        let mut nodes = Nodes::default();
        hear(&mut nodes, (1, 4), 0);
        let farewell = Nodes::default().farewell(&plan(1), (seat(1), 1));
        let own = (ClusterNode(2), seat(0));
        assert_eq!(nodes.hear(&farewell, own, UP_MS), Heard::Ended(ClusterNode(1)));
        assert_eq!(hear(&mut nodes, (1, 5), UP_MS), Heard::Came(ClusterNode(1)));
    }

    #[test]
    fn a_node_that_found_no_room_before_was_not_cut_off() {
        let mut nodes = Nodes::default();
        (0..NODES as u64).for_each(|node| nodes.meet(ClusterNode(1_000 + node), UP_MS));
        assert_eq!(hear(&mut nodes, (1, 7), 2 * UP_MS), Heard::Alive);
        nodes.others.pop_first();
        let next_ms = 2 * UP_MS + HEARTBEAT_MS;
        assert_eq!(hear(&mut nodes, (1, 8), next_ms), Heard::Came(ClusterNode(1)));
    }

    #[test]
    fn signs_that_were_missed_before_the_link_connected_again_are_no_gap() {
        let mut nodes = Nodes::default();
        hear(&mut nodes, (1, 0), 0);
        nodes.come_back(seat(0), 5_000);
        assert_eq!(hear(&mut nodes, (1, 3), 5_100), Heard::Alive);
        assert_eq!(hear(&mut nodes, (1, 5), 7_100), gap(5_100));
    }
}
