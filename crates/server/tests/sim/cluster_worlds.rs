//! Worlds of a cluster: nodes with a simulated NATS between them. Clients of every protocol subscribe and publish at
//! all nodes, leave and come back elsewhere, while connections to NATS stall and are cut, answers get lost, streams are
//! lost or NATS is away.
//!
//! Owns the properties that always hold: one order and one text for each position at all nodes; nothing twice; every
//! gap is told; and when the faults end, every client hears what is published then. NATS itself knows what it ever had,
//! so that a gap is seen.

use std::collections::BTreeMap;

use runtime::scheduler::SchedulerSettings;
use server::conn::Connections;
use sys::pollset::Speaks;
use world::{Faults, Random, Stall, World};

use crate::cluster_node::{addresses, node};
use crate::nats::SimulatedNats;
use crate::nats_stream::Stream;
use crate::publisher::{Onward, Publisher, Truth};
use crate::seeds;
use crate::subscriber::{Heard, Position, Subscriber, WAYS, Way};
use crate::world::{MILLISECOND_NS, SECOND_NS, Setting, Stage, address};

pub(crate) const CHANNELS: [&str; 3] = ["a", "b", "c"];
pub(crate) const NODES: usize = 2;
const STEPS: usize = 30;

/// A subscriber and its state.
pub(crate) struct Member {
    pub(crate) node: usize,
    pub(crate) subscriber: Subscriber,
    pub(crate) heard: Vec<(Option<Position>, String)>,
    /// It was told that messages are missing before the next one.
    pub(crate) is_told: bool,
    /// It is not where it was, and must be told before the next message that some are missing.
    expects_word: bool,
    pub(crate) ended: Option<String>,
}

/// Everything of one world.
pub(crate) struct Play {
    pub(crate) nodes: Vec<Stage<Connections>>,
    pub(crate) nats: SimulatedNats,
    pub(crate) random: Random,
    publishers: Vec<Option<Publisher>>,
    pub(crate) members: Vec<Member>,
    left: Vec<Member>,
    truth: Truth,
    /// All messages that lost streams ever had, by the number of their making: channel, number and text.
    lost: Vec<BTreeMap<(String, u64), String>>,
    pub(crate) published: u64,
}

impl Play {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let faults = match random.below(3) {
            0 => Faults::none(),
            1 => Faults { no_descriptor: 0, ..Faults::gentle() },
            _ => Faults { no_descriptor: 0, ..Faults::drawn(&mut random) },
        };
        let history = 1 + u32::try_from(random.below(40)).unwrap();
        let nodes = (1..=NODES as u64).map(|number| {
            let setting = Setting {
                faults: faults.clone(),
                schedulers: 1 + random.index(2),
                scheduler: SchedulerSettings { connections: 500, ..SchedulerSettings::default() },
                first: Speaks::Either,
                ..Setting::quiet(seed ^ (number << 40))
            };
            node(&setting, number, history)
        });
        let nodes: Vec<_> = nodes.collect();
        Self {
            nodes,
            nats: SimulatedNats::new(seed),
            random,
            publishers: (0..NODES).map(|_| None).collect(),
            members: Vec::new(),
            left: Vec::new(),
            truth: Truth::of_cluster(),
            lost: Vec::new(),
            published: 0,
        }
    }

    pub(crate) fn join(&mut self, channel: &str, at: Option<Position>) {
        let (way, node) = (WAYS[self.random.index(WAYS.len())], self.random.index(NODES));
        let world = &self.nodes[node].world;
        let Some(subscriber) = Subscriber::new(world, &addresses(), way, channel, at) else {
            return;
        };
        let heard = Vec::new();
        let (is_told, expects_word, ended) = (false, false, None);
        self.members.push(Member { node, subscriber, heard, is_told, expects_word, ended });
    }

    pub(crate) fn publish(&mut self, channel: &str, node: usize) {
        self.published += 1;
        let filler = "x".repeat(self.random.index(300));
        let text = format!("m{}.{filler}", self.published);
        self.publish_text(channel, node, text);
    }

    fn publish_text(&mut self, channel: &str, node: usize, text: String) {
        let world = &self.nodes[node].world;
        if self.publishers[node].is_none() {
            self.publishers[node] = world.connect(&address()).map(Publisher::new);
        }
        if let Some(publisher) = &mut self.publishers[node] {
            publisher.publish(world, channel, text);
        }
    }

    /// Advances all nodes and NATS by this much, in small steps.
    pub(crate) fn pass(&mut self, nanoseconds: u64) {
        let until_ns = self.nodes[0].now_ns() + nanoseconds;
        while self.nodes[0].now_ns() < until_ns {
            let step_ns = (1 + self.random.below(30)) * MILLISECOND_NS;
            let next_ns = (self.nodes[0].now_ns() + step_ns).min(until_ns);
            self.nodes.iter_mut().for_each(|node| node.run_to(next_ns));
            let worlds: Vec<&World> = self.nodes.iter().map(|node| &node.world).collect();
            self.nats.serve(&worlds, next_ns / MILLISECOND_NS);
            self.read_publishers();
            self.read_members();
        }
    }

    fn read_publishers(&mut self) {
        for (node, publisher) in self.nodes.iter().zip(&mut self.publishers) {
            let read = publisher.as_mut().map(|one| one.read(&node.world, &mut self.truth));
            if read == Some(Onward::Ended) {
                *publisher = None;
            }
        }
    }

    fn read_members(&mut self) {
        let mut members = std::mem::take(&mut self.members);
        for member in &mut members {
            for heard in member.subscriber.read(&self.nodes[member.node].world) {
                self.hear(member, heard);
            }
        }
        self.members = members;
    }

    fn hear(&mut self, member: &mut Member, heard: Heard) {
        match heard {
            Heard::Stands(at) => {
                if let (Some((epoch, before)), Some((now, number))) = (&member.subscriber.at, &at)
                    && epoch == now
                {
                    assert!(number >= before, "back from {before} to {number}: {member:?}");
                    let missed = self.missed(member, epoch, *before, number + 1);
                    member.expects_word |= missed.is_some() && !member.is_told;
                } else if member.subscriber.at.is_some() && at.is_some() {
                    member.expects_word |= !member.is_told;
                }
                member.subscriber.at = at;
            }
            Heard::Lost => (member.is_told, member.expects_word) = (true, false),
            Heard::Message(at, text) => {
                assert!(!member.expects_word, "a gap, and no word of it: {member:?}");
                if let Some(at) = &at {
                    self.truth.note(&member.subscriber.channel, at, &text);
                    if let Some((epoch, before)) = &member.subscriber.at {
                        let is_later = *epoch == at.0 && at.1 > *before;
                        let is_new = *epoch != at.0 && member.is_told;
                        assert!(is_later || is_new, "{at:?} out of order: {member:?}");
                        if is_later {
                            let missed = self.missed(member, epoch, *before, at.1);
                            let gap = missed.filter(|_| !member.is_told);
                            assert!(gap.is_none(), "a gap: {gap:?} for {member:?}");
                        }
                    }
                    member.is_told = false;
                    member.subscriber.at = Some(at.clone());
                }
                member.heard.push((at, text));
            }
            Heard::Ends(why) => member.ended = Some(why),
        }
    }

    /// A message of the channel between these numbers, as far as anybody has ever received it.
    fn missed(
        &self,
        member: &Member,
        epoch: &str,
        after: u64,
        before: u64,
    ) -> Option<(u64, String)> {
        let channel = &member.subscriber.channel;
        let of_streams = self.nats.streams.values().flat_map(|stream| {
            stream
                .ever()
                .filter(|(_, token, _)| token == channel)
                .map(|(number, _, text)| (number, String::from_utf8(text.to_vec()).unwrap()))
        });
        let of_lost = self.lost.iter().flatten().filter(|((name, _), _)| name == channel);
        let of_lost = of_lost.map(|((_, number), text)| (*number, text.clone()));
        of_streams.chain(of_lost).find(|(number, text)| {
            let is_between = *number > after && *number < before;
            is_between && self.truth.is_at(channel, (epoch.to_owned(), *number), text)
        })
    }

    /// NATS loses its streams.
    fn lose_streams(&mut self) {
        for stream in std::mem::take(&mut self.nats.streams).into_values() {
            let ever = stream.ever().map(|(number, channel, text)| {
                ((channel.to_owned(), number), String::from_utf8(text.to_vec()).unwrap())
            });
            self.lost.push(ever.collect());
        }
    }

    fn step(&mut self) {
        let worlds: Vec<&World> = self.nodes.iter().map(|node| &node.world).collect();
        match self.random.below(16) {
            0..=2 => {
                let channel = CHANNELS[self.random.index(CHANNELS.len())];
                self.join(channel, None);
            }
            3 | 4 if !self.left.is_empty() => {
                let Member { subscriber, .. } = &self.left[self.random.index(self.left.len())];
                let (channel, at) = (subscriber.channel.clone(), subscriber.at.clone());
                self.join(&channel, at);
            }
            5 if !self.members.is_empty() => {
                let member = self.members.swap_remove(self.random.index(self.members.len()));
                worlds[member.node].client_close(member.subscriber.id);
                self.left.push(member);
            }
            6 => {
                let milliseconds = self.random.below(9_000);
                self.nats.stall(milliseconds);
            }
            7 => {
                let node = self.random.index(NODES + 1);
                self.nats.cut(&worlds, (node < NODES).then_some(node));
            }
            8 if self.random.below(3) == 0 => {
                // All its connections end with it.
                self.nats.cut(&worlds, None);
                self.lose_streams();
            }
            9 => self.nats.lost_answers = self.random.below(300_000),
            10 => self.nats.lost_messages = self.random.below(300_000),
            11 => {
                let nanoseconds = self.random.below(12 * SECOND_NS);
                self.pass(nanoseconds);
            }
            _ => {
                for _ in 0..1 + self.random.index(8) {
                    let channel = CHANNELS[self.random.index(CHANNELS.len())];
                    let node = self.random.index(NODES);
                    self.publish(channel, node);
                }
            }
        }
        let nanoseconds = self.random.below(200) * MILLISECOND_NS;
        self.pass(nanoseconds);
    }

    /// The faults end: what is published then reaches everybody who stands.
    fn end_well(&mut self) {
        self.nats.end_faults();
        for node in &self.nodes {
            node.world.set_faults(Faults::none());
        }
        for member in &self.members {
            self.nodes[member.node].world.client_stall(member.subscriber.id, Stall::Nothing);
        }
        self.pass(30 * SECOND_NS);
        for (node, publisher) in self.nodes.iter().zip(&mut self.publishers) {
            if let Some(publisher) = publisher.take() {
                node.world.client_close(publisher.id);
            }
        }
        for (number, channel) in CHANNELS.into_iter().enumerate() {
            self.publish_text(channel, number % NODES, format!("last of {channel}"));
        }
        self.pass(3 * SECOND_NS);
        for publisher in self.publishers.iter().flatten() {
            assert!(publisher.is_answered(), "who publishes in a good network is answered");
        }
        for member in &self.members {
            let world = &self.nodes[member.node].world;
            let here = member.subscriber.stands(world) && member.ended.is_none();
            let last = format!("last of {}", member.subscriber.channel);
            let heard = member.heard.last().is_some_and(|(_, text)| *text == last);
            assert!(!here || heard, "it stands, and has not heard the last: {member:?}");
            assert!(!here || !member.expects_word, "a gap, and no word of it: {member:?}");
        }
    }

    /// The epochs in which a text has a place: more than one if NATS has lost it and its publisher has sent it again.
    fn epochs_of(&self, channel: &str, text: &str) -> usize {
        let is_it = |(name, other): (&str, &[u8])| name == channel && other == text.as_bytes();
        let lost = |of: &&BTreeMap<(String, u64), String>| {
            of.iter().any(|((name, _), other)| is_it((name, other.as_bytes())))
        };
        let stands = |of: &&Stream| of.ever().any(|(_, name, other)| is_it((name, other)));
        self.lost.iter().filter(lost).count() + self.nats.streams.values().filter(stands).count()
    }

    /// Clients whose messages have no numbers received them in the order of all others.
    fn check_those_without_numbers(&self) {
        let plain = |member: &&Member| matches!(member.subscriber.way, Way::Socket | Way::Redis);
        for member in self.members.iter().chain(&self.left).filter(plain) {
            let mut before: Option<&Position> = None;
            for (_, text) in &member.heard {
                let channel = &member.subscriber.channel;
                let epochs = self.epochs_of(channel, text);
                let times = member.heard.iter().filter(|(_, other)| other == text).count();
                assert!(
                    times <= epochs,
                    "{text:.12} {times} times, of {epochs} epochs: {member:?}"
                );
                // The truth knows only the last place of a text.
                let here = self.truth.place(text).filter(|_| epochs == 1);
                if let (Some((epoch, before)), Some((now, number))) = (before, here)
                    && epoch == now
                {
                    assert!(number > before, "{text:.12} again, or out of order: {member:?}");
                }
                before = here;
            }
        }
    }
}

impl std::fmt::Debug for Member {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { node, subscriber, heard, is_told, ended, .. } = self;
        let short = |(at, text): &(Option<Position>, String)| {
            let number = at.as_ref().map(|(_, number)| *number);
            (number, text.chars().take(12).collect::<String>())
        };
        let last: Vec<_> = heard.iter().rev().take(5).rev().map(short).collect();
        write!(
            formatter,
            "{subscriber:?} at node {node}: told {is_told}, ended {ended:?}, {last:?}"
        )
    }
}

/// Plays the world of a seed; what its members heard.
fn cluster_world(seed: u64) -> Vec<Vec<String>> {
    let mut play = Play::new(seed);
    play.pass(SECOND_NS);
    for _ in 0..STEPS {
        play.step();
    }
    play.end_well();
    play.check_those_without_numbers();
    for node in &play.nodes {
        assert!(node.schedulers.iter().all(|scheduler| scheduler.stats().panics == 0));
    }
    let texts = |of: &Member| of.heard.iter().map(|(_, text)| text.clone()).collect();
    play.members.iter().chain(&play.left).map(texts).collect()
}

#[test]
fn worlds_of_a_cluster() {
    seeds::run("worlds_of_a_cluster", 40, |seed| drop(cluster_world(seed)));
}

#[test]
fn a_world_of_a_cluster_can_be_played_again() {
    for seed in 0..10 {
        assert_eq!(cluster_world(seed), cluster_world(seed), "seed {seed}");
    }
}
