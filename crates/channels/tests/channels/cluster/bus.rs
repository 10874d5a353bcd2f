//! The network of an in-memory cluster.
//!
//! Owns the link of each scheduler: what it follows, and what is on its way to it. It can drop, delay, duplicate and
//! reorder what comes from streams, and cut a node off. Never runs a scheduler: the driver does.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use channels::{
    ClusterAnswer, ClusterNews, ClusterNode, ClusterOrder, ClusterQuestion, Keeping, Position,
    QueryOrigin,
};
use world::Random;

use super::stream::Stream;

/// A scheduler of a node.
pub(crate) type Place = (usize, usize);

/// Milliseconds without a node after which its members leave.
const LEASE_MS: u64 = 6_000;

/// The faults that can happen, per million.
#[derive(Clone, Copy, Default)]
pub(crate) struct BusFaults {
    pub(crate) drop: u32,
    pub(crate) repeat: u32,
    pub(crate) reorder: u32,
    /// Reads come from a replica that is behind.
    pub(crate) lag: u32,
    pub(crate) fail_read: u32,
}

/// The link of a scheduler.
#[derive(Default)]
struct Link {
    follows: BTreeMap<String, (Keeping, u64)>,
    follows_all: bool,
    /// The news on its way to it, in order.
    inbox: VecDeque<ClusterNews>,
    /// Answers of the streams, which come in any order.
    answers: Vec<ClusterNews>,
    /// Commits that are sent again after a cut: what was ordered without a result.
    commits: VecDeque<(u64, ClusterOrder)>,
    queries: BTreeMap<u64, BTreeSet<usize>>,
    reads: BTreeMap<u64, Arc<str>>,
}

/// The network.
pub(crate) struct Bus {
    links: BTreeMap<Place, Link>,
    pub(crate) streams: [Stream; 2],
    pub(crate) faults: BusFaults,
    /// Since when a node is cut off, and whether its lease is over.
    cut: BTreeMap<usize, (u64, bool)>,
    pub(crate) now_ms: u64,
    origins: BTreeMap<String, (Place, u64, usize)>,
    next_origin: u64,
    random: Random,
}

/// The stream of a channel.
pub(crate) fn stream_of(name: &str) -> usize {
    usize::from(name.bytes().last().unwrap_or(0) % 2)
}

impl Bus {
    pub(crate) fn new(places: impl Iterator<Item = Place>, seed: u64, faults: BusFaults) -> Self {
        let links = places.map(|place| (place, Link::default())).collect();
        let streams = [Stream::new(1_000), Stream::new(1_001)];
        let (cut, origins) = (BTreeMap::new(), BTreeMap::new());
        let random = Random::new(seed);
        Self { links, streams, faults, cut, now_ms: 0, origins, next_origin: 0, random }
    }

    fn nodes(&self) -> BTreeSet<usize> {
        self.links.keys().map(|(node, _)| *node).collect()
    }

    pub(crate) fn is_cut(&self, node: usize) -> bool {
        self.cut.contains_key(&node)
    }

    /// A link and what it asked.
    pub(crate) fn take(&mut self, at: Place, order: ClusterOrder) {
        let is_cut = self.is_cut(at.0);
        match order {
            ClusterOrder::Announce { name, body } if !is_cut => {
                let news = ClusterNews::Announced { name: Arc::clone(&name), body };
                self.publish(Some(at), &name, Keeping::Nothing, &news);
            }
            ClusterOrder::Commit { commit, .. } => {
                self.link(at).commits.push_back((commit, order));
                if !is_cut {
                    self.commit(at);
                }
            }
            ClusterOrder::Follow { name, keeping } => {
                let last = self.streams[stream_of(&name)].last();
                let before = self.link(at).follows.insert(name.to_string(), (keeping, last));
                assert_eq!(before, None, "{name} is followed once");
                if keeping == Keeping::Nothing && !is_cut {
                    self.link(at).inbox.push_back(ClusterNews::Followed { name });
                }
            }
            ClusterOrder::Unfollow { name, keeping } => {
                let before = self.link(at).follows.remove(&*name);
                assert_eq!(before.map(|(keeping, _)| keeping), Some(keeping), "{name}");
            }
            ClusterOrder::Read { name, read, after, at_most } => {
                let link = self.link(at);
                if is_cut {
                    link.inbox.push_back(ClusterNews::ReadFailed { name, read });
                } else {
                    link.reads.insert(read, Arc::clone(&name));
                    let news = self.read(at, name, read, after, at_most as usize);
                    self.link(at).answers.push(news);
                }
            }
            ClusterOrder::FollowAll => {
                let link = self.link(at);
                link.follows_all = true;
                if !is_cut {
                    link.inbox.push_back(ClusterNews::FollowedAll);
                }
            }
            ClusterOrder::UnfollowAll => self.link(at).follows_all = false,
            ClusterOrder::Member { name, member, step } if !is_cut => {
                let node = ClusterNode(at.0 as u64);
                for (other, link) in &mut self.links {
                    if other.0 != at.0
                        && !self.cut.contains_key(&other.0)
                        && link.follows.contains_key(&*name)
                    {
                        let (name, member) = (Arc::clone(&name), member.clone());
                        link.inbox.push_back(ClusterNews::Member { node, name, member, step });
                    }
                }
            }
            ClusterOrder::Ask { query, to, question } => self.ask(at, query, to, &question),
            ClusterOrder::Answer { to, answer } if !is_cut => self.answer(at, &to, answer),
            ClusterOrder::Announce { .. }
            | ClusterOrder::Member { .. }
            | ClusterOrder::Answer { .. } => {}
        }
    }

    /// The other nodes are asked, each on one of its schedulers.
    fn ask(&mut self, at: Place, query: u64, to: Option<ClusterNode>, question: &ClusterQuestion) {
        let is_cut = self.is_cut(at.0);
        let others = self.nodes().into_iter().filter(|node| {
            *node != at.0 && !self.is_cut(*node) && to.is_none_or(|to| to.0 == *node as u64)
        });
        let others: BTreeSet<usize> = if is_cut { BTreeSet::new() } else { others.collect() };
        for node in &others {
            let schedulers = self.links.keys().filter(|(of, _)| of == node).count();
            let scheduler = self.random.index(schedulers);
            self.next_origin += 1;
            let origin = format!("inbox.{}", self.next_origin);
            self.origins.insert(origin.clone(), (at, query, *node));
            let from = QueryOrigin(origin.into());
            let question = question.clone();
            self.link((*node, scheduler)).inbox.push_back(ClusterNews::Asked { from, question });
        }
        if others.is_empty() {
            self.link(at).inbox.push_back(ClusterNews::QueryOver { query });
        } else {
            self.link(at).queries.insert(query, others);
        }
    }

    fn link(&mut self, at: Place) -> &mut Link {
        self.links.get_mut(&at).unwrap()
    }

    fn answer(&mut self, from: Place, to: &QueryOrigin, answer: ClusterAnswer) {
        let Some((at, query, node)) = self.origins.remove(&*to.0) else { return };
        assert_eq!(node, from.0);
        if self.is_cut(at.0) {
            return;
        }
        let link = self.link(at);
        let Some(left) = link.queries.get_mut(&query) else { return };
        left.remove(&node);
        let is_over = left.is_empty();
        let node = ClusterNode(node as u64);
        link.inbox.push_back(ClusterNews::Answered { query, node, answer });
        if is_over {
            link.queries.remove(&query);
            link.inbox.push_back(ClusterNews::QueryOver { query });
        }
    }

    /// Commits what a link has waiting.
    fn commit(&mut self, at: Place) {
        for (commit, order) in std::mem::take(&mut self.link(at).commits) {
            let ClusterOrder::Commit { name, offer, .. } = order else { unreachable!() };
            let unique = format!("{at:?} {commit}");
            let key = offer.key.as_ref().map_or(unique, |key| format!("{name} {key}"));
            let now_ms = self.now_ms;
            let stream = &mut self.streams[stream_of(&name)];
            let (number, before) = stream.add(&name, &offer.body, &key, now_ms);
            let position = Position { epoch: stream.epoch, offset: number };
            if let Some(before) = before {
                let (of, body) = (Arc::clone(&name), offer.body.clone());
                let news = ClusterNews::Committed { name: of, position, before, body };
                self.publish(None, &name, Keeping::History, &news);
            }
            let news = ClusterNews::CommitResult { commit, result: Ok(position) };
            self.link(at).answers.push(news);
        }
    }

    /// A message goes to all who follow its channel.
    fn publish(&mut self, from: Option<Place>, name: &str, of: Keeping, news: &ClusterNews) {
        for (place, link) in &mut self.links {
            let follows = link.follows.get(name).is_some_and(|(keeping, _)| *keeping == of);
            if self.cut.contains_key(&place.0)
                || from.is_some_and(|from| from.0 == place.0)
                || !follows && !link.follows_all
            {
                continue;
            }
            let random = &mut self.random;
            if of == Keeping::History && random.chance(self.faults.drop) {
                continue;
            }
            link.inbox.push_back(news.clone());
            if of == Keeping::History && random.chance(self.faults.repeat) {
                link.inbox.push_back(news.clone());
            }
            let last = link.inbox.len() - 1;
            if of == Keeping::History && last > 0 && random.chance(self.faults.reorder) {
                link.inbox.swap(last, last - 1);
            }
        }
    }

    fn read(
        &mut self,
        at: Place,
        name: Arc<str>,
        read: u64,
        after: u64,
        most: usize,
    ) -> ClusterNews {
        if self.random.chance(self.faults.fail_read) {
            return ClusterNews::ReadFailed { name, read };
        }
        let least = self.link(at).follows.get(&*name).map_or(0, |(_, last)| *last);
        let stream = &self.streams[stream_of(&name)];
        let mut seen = stream.last();
        if self.random.chance(self.faults.lag) {
            seen = seen.saturating_sub(self.random.below(4)).max(least).min(stream.last());
        }
        let most = most.min(1 + self.random.index(20));
        let part = stream.read(&name, after, (seen, most), self.now_ms);
        ClusterNews::History { name, read, part }
    }

    /// A node loses its connection: what is on its way to it is lost.
    pub(crate) fn cut_off(&mut self, node: usize) {
        if self.cut.insert(node, (self.now_ms, false)).is_some() {
            return;
        }
        for (place, link) in &mut self.links {
            if place.0 != node {
                continue;
            }
            let results = link
                .answers
                .drain(..)
                .filter(|news| matches!(news, ClusterNews::CommitResult { .. }));
            let results: Vec<ClusterNews> = results.collect();
            link.inbox.retain(|news| {
                !matches!(
                    news,
                    ClusterNews::Announced { .. }
                        | ClusterNews::Followed { .. }
                        | ClusterNews::FollowedAll
                        | ClusterNews::Committed { .. }
                        | ClusterNews::History { .. }
                        | ClusterNews::Member { .. }
                        | ClusterNews::Asked { .. }
                        | ClusterNews::Answered { .. }
                )
            });
            link.inbox.push_back(ClusterNews::Away);
            link.inbox.extend(results);
            for (read, name) in std::mem::take(&mut link.reads) {
                link.inbox.push_back(ClusterNews::ReadFailed { name, read });
            }
            for query in std::mem::take(&mut link.queries).into_keys() {
                link.inbox.push_back(ClusterNews::QueryOver { query });
            }
        }
        // Others wait for its answers in vain.
        for link in self.links.values_mut() {
            let mut over = Vec::new();
            for (query, left) in &mut link.queries {
                left.remove(&node);
                if left.is_empty() {
                    over.push(*query);
                }
            }
            for query in over {
                link.queries.remove(&query);
                link.inbox.push_back(ClusterNews::QueryOver { query });
            }
        }
    }

    /// It has a connection again.
    pub(crate) fn connect(&mut self, node: usize) {
        let was_cut = self.cut.remove(&node);
        let lasts = [self.streams[0].last(), self.streams[1].last()];
        let places: Vec<Place> = self.links.keys().copied().collect();
        for place in places {
            let cut = &self.cut;
            let link = self.links.get_mut(&place).unwrap();
            if place.0 == node {
                for (name, (_, last)) in &mut link.follows {
                    *last = lasts[stream_of(name)];
                }
                // It asks by itself what it has missed.
                link.inbox.push_back(ClusterNews::Back);
                self.commit(place);
            } else if was_cut.is_some() && !cut.contains_key(&place.0) {
                link.inbox.push_back(ClusterNews::NodeCame { node: ClusterNode(node as u64) });
            }
        }
    }

    /// Nodes that were cut off for long are gone, for the others and they for it.
    pub(crate) fn expire(&mut self) {
        let now_ms = self.now_ms;
        let others = self.nodes();
        let over: Vec<usize> = self
            .cut
            .iter()
            .filter(|(_, (since, is_over))| !is_over && now_ms - since >= LEASE_MS)
            .map(|(node, _)| *node)
            .collect();
        for node in over {
            if let Some((_, is_over)) = self.cut.get_mut(&node) {
                *is_over = true;
            }
            for (place, link) in &mut self.links {
                let gone: Vec<usize> = if place.0 == node {
                    others.iter().copied().filter(|other| *other != node).collect()
                } else {
                    vec![node]
                };
                for node in gone {
                    link.inbox.push_back(ClusterNews::NodeGone { node: ClusterNode(node as u64) });
                }
            }
        }
    }

    /// Some of what is on its way to a scheduler arrives.
    pub(crate) fn arrive(&mut self, at: Place, most: usize) -> Vec<ClusterNews> {
        let mut arrived = Vec::new();
        for _ in 0..most {
            let has_answer = !self.links[&at].answers.is_empty();
            let from_answers = has_answer && self.random.below(2) == 0;
            let index =
                if has_answer { self.random.index(self.links[&at].answers.len()) } else { 0 };
            let link = self.link(at);
            let news = if from_answers || has_answer && link.inbox.is_empty() {
                Some(link.answers.remove(index))
            } else {
                link.inbox.pop_front()
            };
            let Some(news) = news else { break };
            if let ClusterNews::History { read, .. } | ClusterNews::ReadFailed { read, .. } = &news
            {
                link.reads.remove(read);
            }
            arrived.push(news);
        }
        arrived
    }

    /// A node that was cut off has a connection again.
    pub(crate) fn connect_again(&mut self, node: usize) {
        if self.is_cut(node) {
            self.connect(node);
        }
    }

    pub(crate) fn follows_nothing(&self) -> bool {
        self.links.values().all(|link| link.follows.is_empty() && !link.follows_all)
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.links.values().all(|link| link.inbox.is_empty() && link.answers.is_empty())
    }
}
