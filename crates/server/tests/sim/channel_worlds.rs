//! Worlds of channels: clients of every protocol connect, disconnect, stall, reset and reconnect, on several
//! schedulers, while others publish and the rules change; at the end all leave, or the server stops.
//!
//! Owns the properties that always hold: no client receives a message twice, out of order or with another text than
//! others; every loss is reported, unless the rules say otherwise; a client that stays to the end receives the last
//! message; and nothing is kept.

use std::path::Path;
use std::sync::Arc;

use runtime::mailbox::Endpoint;
use runtime::scheduler::SchedulerSettings;
use runtime::service::CloseReason;
use server::conn::Connections;
use server::message::ToScheduler;
use server::site::{Helpers, Site};
use server::site_data::SiteData;
use sys::pollset::Speaks;
use sys::socket::ListenAddress;
use world::{Faults, Random, Stall};

use crate::publisher::{Onward, Publisher, Truth};
use crate::seeds;
use crate::subscriber::{Heard, Position, Subscriber, WAYS, Way};
use crate::world::{MILLISECOND_NS, SECOND_NS, Setting, Stage, address};
use config::{Config, Overrides};

const CHANNELS: [&str; 3] = ["a", "b", "c"];
const STEPS: usize = 40;

fn addresses() -> [ListenAddress; 2] {
    [address(), ListenAddress::Tcp(([10, 0, 0, 1], 6379).into())]
}

/// The messages that may be dropped for a slow subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drops {
    Nothing,
    Some,
}

/// A random configuration of channels, with the same `slow` for all of a world.
fn data(slow: &str, generation: u64, random: &mut Random) -> Arc<SiteData> {
    let (history, behind) = (1 + random.below(40), 3_000 + random.below(20_000));
    let text = format!(
        "[[listener]]\naddress = \"127.0.0.1:1\"\n[[listener]]\naddress = \"127.0.0.1:2\"\nprotocol = \
         \"resp\"\n[[channel]]\npattern = \"*\"\nslow = \"{slow}\"\nhistory = {history}\nhistory_age = \
         \"60s\"\nbehind = \"{behind}B\"\n"
    );
    let root = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let read = Config::from_text(&text, "velodrome.toml", root, &Overrides::default());
    let read = read.unwrap_or_else(|error| panic!("{error}"));
    Arc::new(SiteData::compile(read, generation).unwrap())
}

fn stage(setting: &Setting, data: &Arc<SiteData>) -> Stage<Connections> {
    let mut stage = Stage::new(setting, Vec::new(), |number, _: &[Endpoint]| {
        let helpers = Helpers::of_files(u16::try_from(setting.schedulers).unwrap(), Vec::new());
        let mut site = Site::open(Arc::clone(data), helpers, number as u128).unwrap();
        site.join_schedulers(Endpoint(u16::try_from(number).unwrap()), 7);
        Connections::new(site, data, None)
    });
    stage.listen_also(addresses()[1].clone());
    stage
}

/// A subscriber and its state.
struct Member {
    subscriber: Subscriber,
    /// The messages it received, in order.
    heard: Vec<(Option<Position>, String)>,
    /// It was told that messages are missing before the next one.
    is_told: bool,
    /// It was told that its subscription is established.
    stands: bool,
    /// It was told that its subscription ends.
    ended: Option<String>,
}

/// Everything of one world.
struct Play {
    stage: Stage<Connections>,
    random: Random,
    slow: &'static str,
    drops: Drops,
    publishers: Vec<Publisher>,
    members: Vec<Member>,
    /// Those that have disconnected.
    left: Vec<Member>,
    truth: Truth,
    published: u64,
    /// Most bytes of a message: a few long ones fill the queue of a client that stalls.
    longest: usize,
    generation: u64,
}

impl Play {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let slow = ["disconnect", "drop_oldest", "latest"][random.index(3)];
        let faults = match random.below(3) {
            0 => Faults::none(),
            1 => Faults { no_descriptor: 0, ..Faults::gentle() },
            _ => Faults { no_descriptor: 0, ..Faults::drawn(&mut random) },
        };
        let setting = Setting {
            faults,
            schedulers: 1 + random.index(3),
            scheduler: SchedulerSettings { connections: 500, ..SchedulerSettings::default() },
            first: Speaks::Either,
            ..Setting::quiet(seed)
        };
        let data = data(slow, 1, &mut random);
        let longest = [700, 20_000][random.index(2)];
        Self {
            stage: stage(&setting, &data),
            random,
            longest,
            slow,
            drops: if slow == "disconnect" { Drops::Nothing } else { Drops::Some },
            publishers: Vec::new(),
            members: Vec::new(),
            left: Vec::new(),
            truth: Truth::default(),
            published: 0,
            generation: 1,
        }
    }

    fn join(&mut self, channel: &str, at: Option<Position>) {
        let way = WAYS[self.random.index(WAYS.len())];
        let world = &self.stage.world;
        let Some(subscriber) = Subscriber::new(world, &addresses(), way, channel, at) else {
            return;
        };
        let heard = Vec::new();
        let (is_told, stands, ended) = (false, false, None);
        self.members.push(Member { subscriber, heard, is_told, stands, ended });
    }

    fn publish(&mut self, channel: &str, text: String) {
        let world = &self.stage.world;
        let number = self.random.index(3);
        if self.publishers.len() <= number {
            let Some(id) = world.connect(&address()) else { return };
            self.publishers.push(Publisher::new(id));
        }
        self.publishers.last_mut().unwrap().publish(world, channel, text);
    }

    fn publish_some(&mut self) {
        for _ in 0..1 + self.random.index(12) {
            self.published += 1;
            let filler = "x".repeat(self.random.index(self.longest));
            let channel = CHANNELS[self.random.index(CHANNELS.len())];
            self.publish(channel, format!("m{}.{filler}", self.published));
        }
    }

    fn read_publishers(&mut self) {
        let (world, truth) = (&self.stage.world, &mut self.truth);
        self.publishers.retain_mut(|publisher| publisher.read(world, truth) == Onward::Stays);
    }

    fn read_members(&mut self) {
        let mut members = std::mem::take(&mut self.members);
        for member in &mut members {
            for heard in member.subscriber.read(&self.stage.world) {
                self.hear(member, heard);
            }
        }
        self.members = members;
    }

    fn hear(&mut self, member: &mut Member, heard: Heard) {
        match heard {
            Heard::Stands(at) => {
                member.stands = true;
                if let (Some((epoch, before)), Some((now, number))) = (&member.subscriber.at, &at)
                    && epoch == now
                {
                    assert!(number >= before, "back from {before} to {number}: {member:?}");
                    // A client that reconnects continues where it was, or was told of a loss.
                    member.is_told |= number > before;
                }
                member.subscriber.at = at;
            }
            Heard::Lost => member.is_told = true,
            Heard::Message(at, text) => {
                let channel = member.subscriber.channel.clone();
                if let Some(at) = &at {
                    self.truth.note(&channel, at, &text);
                    if let Some((epoch, before)) = &member.subscriber.at {
                        assert_eq!(*epoch, at.0, "one epoch for a subscriber: {member:?}");
                        assert!(at.1 > *before, "{at:?} again, or out of order: {member:?}");
                        let may_skip = member.is_told || self.drops == Drops::Some;
                        assert!(at.1 == before + 1 || may_skip, "a gap before {at:?}: {member:?}");
                    }
                    member.is_told = false;
                    member.subscriber.at = Some(at.clone());
                }
                member.heard.push((at, text));
            }
            Heard::Ends(why) => member.ended = Some(why),
        }
    }

    /// Lets every client do something, some less than others.
    fn go_on(&mut self) {
        for _ in 0..self.random.index(8) {
            self.stage.round(&mut []);
            let nanoseconds = self.random.below(50_000);
            self.stage.world.advance(nanoseconds);
        }
    }

    /// Advances the time by this much; every client reads ten times per second.
    fn pass(&mut self, nanoseconds: u64) {
        let until_ns = self.stage.now_ns() + nanoseconds;
        while self.stage.now_ns() < until_ns {
            let next_ns = (self.stage.now_ns() + 100 * MILLISECOND_NS).min(until_ns);
            self.stage.run_to(next_ns);
            self.read_members();
            self.read_publishers();
        }
    }

    fn step(&mut self) {
        let some = !self.members.is_empty();
        match self.random.below(12) {
            0..=2 => {
                let channel = CHANNELS[self.random.index(CHANNELS.len())];
                self.join(channel, None);
            }
            3 if !self.left.is_empty() => {
                let Member { subscriber, .. } = &self.left[self.random.index(self.left.len())];
                let (channel, at) = (subscriber.channel.clone(), subscriber.at.clone());
                self.join(&channel, at);
            }
            4 if some => {
                let member = self.members.swap_remove(self.random.index(self.members.len()));
                match self.random.below(2) {
                    0 => self.stage.world.client_reset(member.subscriber.id),
                    _ => self.stage.world.client_close(member.subscriber.id),
                }
                self.left.push(member);
            }
            5 if some => {
                let member = &self.members[self.random.index(self.members.len())];
                member.subscriber.stall(&self.stage.world, &mut self.random);
            }
            6 if self.random.below(4) == 0 => {
                self.generation += 1;
                let data = data(self.slow, self.generation, &mut self.random);
                self.stage.tell_all(|| ToScheduler::Reload(Arc::clone(&data)).into());
            }
            7 => {
                let nanoseconds = self.random.below(3 * SECOND_NS);
                self.pass(nanoseconds);
            }
            _ => self.publish_some(),
        }
        self.go_on();
        self.read_members();
        self.read_publishers();
    }

    /// All read, the network has no faults, and a last message is published to each channel: every subscriber receives
    /// it.
    fn end_well(&mut self) {
        for member in &self.members {
            self.stage.world.client_stall(member.subscriber.id, Stall::Nothing);
        }
        self.stage.world.set_faults(Faults::none());
        self.pass(12 * SECOND_NS);
        for publisher in self.publishers.drain(..) {
            self.stage.world.client_close(publisher.id);
        }
        for channel in CHANNELS {
            self.publish(channel, format!("last of {channel}"));
        }
        self.pass(SECOND_NS);
        let answered = self.publishers.iter().all(|publisher| publisher.is_answered());
        assert!(answered, "who publishes in a good network is answered");
        for member in &self.members {
            let here = member.subscriber.stands(&self.stage.world) && member.ended.is_none();
            let last = format!("last of {}", member.subscriber.channel);
            let heard = member.heard.last().is_some_and(|(_, text)| *text == last);
            assert!(
                !here || heard && member.stands,
                "it stands, and has not heard the last: {member:?}"
            );
        }
    }

    /// Clients whose messages have no numbers received them in the same order as all others.
    fn check_those_without_numbers(&self) {
        let all = self.members.iter().chain(&self.left);
        for member in all.filter(|member| matches!(member.subscriber.way, Way::Socket | Way::Redis))
        {
            let mut before: Option<&Position> = None;
            for (_, text) in &member.heard {
                let here = self.truth.place(text);
                if let (Some((epoch, before)), Some((now, number))) = (before, here) {
                    assert_eq!(epoch, now, "{member:?}");
                    assert!(number > before, "{text} again, or out of order: {member:?}");
                    let is_next = *number == before + 1 || self.drops == Drops::Some;
                    assert!(is_next, "a gap before {text}: {member:?}");
                }
                before = here;
            }
        }
    }

    fn leave(&mut self) {
        let publishers = self.publishers.drain(..).map(|publisher| publisher.id);
        let members = self.members.iter().map(|member| member.subscriber.id);
        for id in publishers.chain(members) {
            self.stage.world.client_close(id);
        }
        self.pass(130 * SECOND_NS);
        for scheduler in &mut self.stage.schedulers {
            let stats = scheduler.service().http().application().channel_stats();
            let kept = [stats.channels, stats.subscriptions, stats.history_bytes];
            assert_eq!(kept, [0; 3], "something is kept: {stats:?}");
        }
    }

    fn drain(&mut self) {
        let drained_ns = self.stage.now_ns();
        let order = || ToScheduler::Drain { deadline_ms: 60_000, idle_grace_ms: 500 }.into();
        self.stage.tell_all(order);
        while !self.stage.schedulers.iter().all(|scheduler| scheduler.is_finished()) {
            let waited_ns = self.stage.now_ns() - drained_ns;
            let world = &self.stage.world;
            let open = self.members.iter().filter(|member| member.subscriber.stands(world));
            let open: Vec<_> = open.collect();
            let publishers = self.publishers.len();
            let processes = self.stage.processes();
            assert!(
                waited_ns < 30 * SECOND_NS,
                "the drain does not end: {processes} processes, {publishers} publishers, {open:#?}"
            );
            self.pass(100 * MILLISECOND_NS);
        }
        assert_eq!(self.stage.closed(CloseReason::Stopped), 0, "nobody is cut off");
    }
}

impl std::fmt::Debug for Member {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { subscriber, heard, is_told, stands, ended } = self;
        let short = |(at, text): &(Option<Position>, String)| {
            let number = at.as_ref().map(|(_, number)| *number);
            (number, text.chars().take(12).collect::<String>())
        };
        let last: Vec<_> = heard.iter().rev().take(5).rev().map(short).collect();
        write!(
            formatter,
            "{subscriber:?}: told {is_told}, stands {stands}, ended {ended:?}, {last:?}"
        )
    }
}

fn channel_world(seed: u64) -> u64 {
    let mut play = Play::new(seed);
    for _ in 0..STEPS {
        play.step();
    }
    play.end_well();
    play.check_those_without_numbers();
    if play.random.below(3) == 0 {
        play.drain();
    } else {
        play.leave();
    }
    play.stage.assert_nothing_is_left();
    assert!(play.stage.schedulers.iter().all(|scheduler| scheduler.stats().panics == 0));
    play.stage.world.fingerprint() ^ play.stage.turns
}

#[test]
fn worlds_of_channels() {
    seeds::run("worlds_of_channels", 80, |seed| {
        channel_world(seed);
    });
}

#[test]
fn a_world_of_channels_comes_again_with_its_seed() {
    seeds::run("a_world_of_channels_comes_again_with_its_seed", 5, |seed| {
        assert_eq!(channel_world(seed), channel_world(seed));
    });
}
