//! Random programs on two or three nodes. Clients subscribe, leave, return with their position to another node, stall,
//! and publish; messages between nodes are lost, repeated and put in another order, nodes are cut off, and streams are
//! lost or fall back. In every case all subscribers of a channel see one order, no message twice and no gap of which
//! they are not told, and in the end all agree.

use std::collections::BTreeMap;
use std::time::Duration;

use channels::{ChannelGlob, Rulebook, SlowPolicy};
use runtime::scheduler::TurnWait;
use world::{ClientId, ClientState, Random, Stall};

use super::Nodes;
use super::bus::{BusFaults, stream_of};
use super::watchers::Watcher;
use super::weather::Weather;
use crate::stage::{Heard, heard};

const CHANNELS: [&str; 4] = ["a", "b", "c", "d"];
const STEPS: u64 = 80;
const USERS: usize = 4;

/// A position, with its epoch.
type At = (String, u64);

/// A client that subscribes to one channel on one node.
struct Subscriber {
    node: usize,
    client: ClientId,
    channel: &'static str,
    at: Option<At>,
    /// The positions with which it subscribed.
    named: Vec<Option<At>>,
    /// It was told another position, so it has to be told next that messages are lost.
    has_moved: bool,
    unread: String,
    user: usize,
    present: BTreeMap<String, bool>,
}

struct Program {
    nodes: Nodes,
    random: Random,
    weather: Weather,
    slow: SlowPolicy,
    subscribers: Vec<Subscriber>,
    left: Vec<(&'static str, Option<At>)>,
    publishers: Vec<ClientId>,
    watchers: Vec<Watcher>,
    texts: BTreeMap<(&'static str, At), String>,
    /// Bytes of a message; with long ones a subscriber that stalls falls behind.
    longest: u64,
    number: u64,
}

impl Program {
    fn new(seed: u64, weather: Weather) -> Self {
        let mut random = Random::new(seed);
        let rules = weather.rules(&mut random);
        let (slow, longest) = (rules.slow, weather.longest(&mut random));
        let rulebook = Rulebook::new([(ChannelGlob::new("*"), rules)]);
        let schedulers: Vec<u16> =
            (0..2 + random.below(2)).map(|_| 1 + random.below(2) as u16).collect();
        let faults = weather.faults(&mut random);
        let mut nodes = Nodes::new(&schedulers, &rulebook, seed, faults);
        let publishers = (0..schedulers.len()).map(|node| nodes.connect(node)).collect();
        let watchers = (0..schedulers.len()).map(|node| Watcher::new(&mut nodes, node)).collect();
        let (subscribers, left, texts) = (Vec::new(), Vec::new(), BTreeMap::new());
        Self {
            nodes,
            random,
            weather,
            slow,
            subscribers,
            left,
            publishers,
            watchers,
            texts,
            longest,
            number: 0,
        }
    }

    fn node(&mut self) -> usize {
        self.random.index(self.nodes.stages.len())
    }

    /// A client sends lines; perhaps others do in the same turn, and perhaps something arrives meanwhile.
    fn say(&mut self, node: usize, client: ClientId, lines: &str) {
        self.nodes.stages[node].world().client_send(client, lines.as_bytes());
        if self.random.chance(500_000) {
            return self.nodes.rest(node);
        }
        for _ in 0..self.random.below(6) {
            let schedulers = self.nodes.stages[node].schedulers();
            let scheduler = self.random.index(schedulers.len());
            schedulers[scheduler].turn(TurnWait::Forbidden).unwrap();
        }
        self.nodes.take_orders(node);
    }

    fn subscribe(subscriber: &mut Subscriber) -> String {
        subscriber.named.push(subscriber.at.clone());
        let since = subscriber.at.as_ref();
        let since = since.map_or(String::new(), |(epoch, number)| format!(" {epoch}-{number}"));
        format!("sub {}{since}\n", subscriber.channel)
    }

    fn join(&mut self, channel: &'static str, at: Option<At>) {
        let node = self.node();
        let (client, user) = (self.nodes.connect(node), self.random.index(USERS));
        let (unread, present, has_moved) = (String::new(), BTreeMap::new(), false);
        let named = Vec::new();
        let mut subscriber =
            Subscriber { node, client, channel, at, named, has_moved, unread, user, present };
        let lines = format!("as u{user}\n{}", Self::subscribe(&mut subscriber));
        self.subscribers.push(subscriber);
        self.say(node, client, &lines);
    }

    fn leave(&mut self) {
        let at = self.random.index(self.subscribers.len());
        self.read(at);
        let subscriber = self.subscribers.swap_remove(at);
        let world = self.nodes.stages[subscriber.node].world();
        if self.random.chance(500_000) {
            world.client_reset(subscriber.client);
        } else {
            world.client_close(subscriber.client);
        }
        self.left.push((subscriber.channel, subscriber.at));
    }

    /// A subscriber goes and comes back at once, perhaps more than once.
    fn come_back(&mut self) {
        let at = self.random.index(self.subscribers.len());
        let (node, client) = (self.subscribers[at].node, self.subscribers[at].client);
        let unsub = format!("unsub {}\n", self.subscribers[at].channel);
        for _ in 0..1 + self.random.below(3) {
            self.say(node, client, &unsub);
            self.read(at);
            let again = Self::subscribe(&mut self.subscribers[at]);
            self.say(node, client, &again);
        }
    }

    fn publish(&mut self) {
        let node = self.node();
        let most = if self.weather == Weather::Calm { 3 } else { 20 };
        let mut lines = String::new();
        for _ in 0..1 + self.random.below(most) {
            self.number += 1;
            let filler = "x".repeat(self.random.below(self.longest) as usize);
            let channel = CHANNELS[self.random.index(CHANNELS.len())];
            lines.push_str(&format!("pub {channel} m{}{filler}\n", self.number));
        }
        self.say(node, self.publishers[node], &lines);
    }

    /// Some of what is on its way arrives.
    fn arrive(&mut self) {
        for _ in 0..self.random.below(12) {
            let node = self.node();
            let schedulers = self.nodes.stages[node].schedulers().len();
            let (at, most) = (self.random.index(schedulers), 1 + self.random.index(6));
            self.nodes.arrive(node, at, most);
        }
    }

    fn trouble(&mut self) {
        let node = self.node();
        match (self.weather, self.random.below(6)) {
            (Weather::Calm, _) => {}
            (_, 0..=1) => self.nodes.bus.cut_off(node),
            (_, 2..=3) => self.nodes.bus.connect_again(node),
            (Weather::Rough, _) => {}
            (Weather::Stormy, what) => {
                let (stream, count) = (self.random.index(2), self.random.below(20));
                let stream = &mut self.nodes.bus.streams[stream];
                match (what, count) {
                    (4, 0..=1) => stream.lose(),
                    (4, 2..=4) => stream.roll_back(count),
                    (5, _) => stream.evict(count as usize),
                    _ => {}
                }
            }
        }
    }

    fn step(&mut self) {
        let channel = CHANNELS[self.random.index(CHANNELS.len())];
        match self.random.below(16) {
            0..=2 if self.subscribers.len() < 20 => self.join(channel, None),
            3..=4 if !self.left.is_empty() => {
                let (channel, at) = self.left.swap_remove(self.random.index(self.left.len()));
                self.join(channel, at);
            }
            5 if !self.subscribers.is_empty() => self.leave(),
            6 if !self.subscribers.is_empty() => self.come_back(),
            7 if !self.subscribers.is_empty() => {
                let stall =
                    if self.random.chance(500_000) { Stall::Reading } else { Stall::Nothing };
                let Subscriber { node, client, .. } =
                    self.subscribers[self.random.index(self.subscribers.len())];
                self.nodes.stages[node].world().client_stall(client, stall);
            }
            8 => {
                let duration = Duration::from_millis(self.random.below(3_000));
                self.nodes.let_pass(duration);
            }
            9..=10 => self.trouble(),
            _ => self.publish(),
        }
        self.arrive();
        for at in 0..self.subscribers.len() {
            self.read(at);
        }
        for watcher in &mut self.watchers {
            watcher.look(&mut self.nodes);
        }
    }

    /// A subscriber looks at what it has received.
    fn read(&mut self, at: usize) {
        let subscriber = &mut self.subscribers[at];
        let world = self.nodes.stages[subscriber.node].world();
        let bytes = world.client_received(subscriber.client);
        subscriber.unread.push_str(&String::from_utf8_lossy(&bytes));
        let Some(end) = subscriber.unread.rfind("\n\n") else { return };
        let rest = subscriber.unread.split_off(end + 2);
        let whole = std::mem::replace(&mut subscriber.unread, rest);
        for event in heard(&whole) {
            let subscriber = &mut self.subscribers[at];
            match event {
                Heard::At(id) => {
                    let next = position(&id);
                    subscriber.present.clear();
                    assert!(!subscriber.has_moved, "moved from {:?} to {id}", subscriber.at);
                    let next = Some(next);
                    subscriber.has_moved =
                        subscriber.named.iter().all(|of| of.is_some() && *of != next);
                    subscriber.at = next;
                }
                Heard::Lost => {
                    assert!(self.weather != Weather::Calm, "nothing is lost");
                    subscriber.has_moved = false;
                }
                Heard::Message(id, text) => {
                    let next = position(&id.expect("a position"));
                    self.hear(at, next, text);
                }
                Heard::Member(is_there, user) => {
                    subscriber.present.insert(user, is_there);
                }
                Heard::Other(text) => {
                    assert!(text == "too slow" || text.starts_with("refused"), "{text}");
                }
            }
        }
    }

    fn hear(&mut self, at: usize, next: At, text: String) {
        let subscriber = &mut self.subscribers[at];
        let channel = subscriber.channel;
        let before = subscriber.at.replace(next.clone()).expect("a position before a message");
        assert!(!subscriber.has_moved, "{channel}: moved to {before:?} without being told");
        assert_eq!(before.0, next.0, "{channel}: another epoch without being told");
        assert!(before.1 < next.1, "{channel}: {next:?} behind {before:?}");
        let ever = &self.nodes.bus.streams[stream_of(channel)].ever;
        let missing = ever.iter().find(|(epoch, of, number)| {
            format!("{epoch:x}") == next.0
                && of == channel
                && before.1 < *number
                && *number < next.1
        });
        assert!(
            missing.is_none() || self.slow == SlowPolicy::Latest,
            "{channel}: {next:?} behind {before:?}, without {missing:?}"
        );
        let known = self.texts.entry((channel, next.clone())).or_insert_with(|| text.clone());
        assert_eq!(*known, text, "all hear the same at {next:?}");
    }

    /// Everything works again; all read to the end and agree; then they leave, and nothing is kept.
    fn finish(mut self) {
        self.nodes.bus.faults = BusFaults::default();
        for node in 0..self.nodes.stages.len() {
            self.nodes.bus.connect_again(node);
        }
        for Subscriber { node, client, .. } in &self.subscribers {
            self.nodes.stages[*node].world().client_stall(*client, Stall::Nothing);
        }
        self.nodes.pass(Duration::from_secs(12));
        // Only a message behind the one that is missing shows that it is.
        for channel in CHANNELS {
            self.nodes.send(0, self.publishers[0], &format!("pub {channel} last\n"));
        }
        self.nodes.pass(Duration::from_secs(5));
        for at in 0..self.subscribers.len() {
            self.read(at);
        }
        let is_open = |of: &Subscriber| {
            self.nodes.stages[of.node].world().client_state(of.client) == ClientState::Open
        };
        let open: Vec<&Subscriber> = self.subscribers.iter().filter(|of| is_open(of)).collect();
        for subscriber in &open {
            let stream = &self.nodes.bus.streams[stream_of(subscriber.channel)];
            let last = stream.ever.iter().rfind(|(_, of, _)| of == subscriber.channel);
            let last = last.map(|(epoch, _, number)| (format!("{epoch:x}"), *number));
            assert_eq!(subscriber.at, last, "{} on {}", subscriber.channel, subscriber.node);
            for (user, is_there) in &subscriber.present {
                let mut others = open.iter().filter(|other| other.channel == subscriber.channel);
                let is_known = others.any(|other| format!("u{}", other.user) == *user);
                assert_eq!(*is_there, is_known, "{user} in {}", subscriber.channel);
            }
        }
        for watcher in &mut self.watchers {
            watcher.look(&mut self.nodes);
        }
        for watcher in &self.watchers {
            let is_whole = watcher.count() == self.number;
            assert!(is_whole || self.weather != Weather::Calm, "a pattern misses messages");
        }
        let added: u64 = self.nodes.bus.streams.iter().map(|stream| stream.added).sum();
        assert_eq!(self.confirmed(), added, "each message that was added was confirmed");
        let here: Vec<(usize, ClientId)> =
            self.subscribers.iter().map(|of| (of.node, of.client)).collect();
        let publishers = self.publishers.clone().into_iter().enumerate();
        let watchers = self.watchers.iter().map(Watcher::client);
        let watchers: Vec<_> = watchers.collect();
        for (node, client) in here.into_iter().chain(publishers).chain(watchers) {
            self.nodes.stages[node].world().client_close(client);
        }
        self.nodes.pass(Duration::from_secs(70));
        for scheduler in self.nodes.stages.iter_mut().flat_map(|stage| stage.schedulers()) {
            let stats = scheduler.service().channels.stats();
            let kept =
                (stats.channels, stats.subscriptions, stats.history_bytes, stats.members_bytes);
            assert_eq!(kept, (0, 0, 0, 0), "something is kept");
        }
        assert!(self.nodes.bus.follows_nothing(), "something is still followed");
    }

    fn confirmed(&mut self) -> u64 {
        let schedulers = self.nodes.stages.iter_mut().flat_map(|stage| stage.schedulers());
        let receipts = schedulers.map(|scheduler| {
            scheduler.service().receipts.iter().filter(|receipt| receipt.result.is_ok()).count()
        });
        receipts.sum::<usize>() as u64
    }
}

fn position(id: &str) -> At {
    let (epoch, number) = id.split_once('-').unwrap();
    (epoch.to_owned(), number.parse().unwrap())
}

fn run(weather: Weather) {
    let seeds = std::env::var("SIM_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(12);
    let only = std::env::var("SIM_SEED").ok().and_then(|text| text.parse::<u64>().ok());
    for seed in only.map_or(0..seeds, |seed| seed..seed + 1) {
        let outcome = std::panic::catch_unwind(|| {
            let mut program = Program::new(seed, weather);
            for _ in 0..STEPS {
                program.step();
            }
            program.finish();
        });
        assert!(outcome.is_ok(), "seed {seed}");
    }
}

#[test]
fn without_trouble_no_message_is_lost_and_positions_are_good_on_all_nodes() {
    run(Weather::Calm);
}

#[test]
fn with_a_bad_network_between_nodes_no_gap_is_silent_and_nothing_comes_twice() {
    run(Weather::Rough);
}

#[test]
fn also_if_streams_are_lost_fall_back_or_forget() {
    run(Weather::Stormy);
}
