//! Random programs: subscribers join, leave, stall, reset and return with their position, on one to three schedulers,
//! while others publish. In every case no client gets a message twice or out of order, no loss is left unreported, and
//! nothing is kept.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::stage::{Heard, Lines, heard, services};
use channels::{ChannelGlob, ChannelPolicy, HistoryRules, Presence, Rulebook, SlowPolicy};
use runtime::scheduler::TurnWait;
use world::{ClientId, ClientState, Faults, Random, Stage, Stall};

const CHANNELS: [&str; 3] = ["a", "b", "c"];
const STEPS: u64 = 60;
const USERS: usize = 4;

/// Whether messages are left out for slow subscribers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Drops {
    None,
    Some,
}

/// The view of a client on one channel.
#[derive(Clone, Debug, Default)]
struct View {
    /// Its position, and whether messages may be missing before the next one.
    position: Option<(String, u64)>,
}

/// A client that subscribes to one channel; its events name no channel.
struct Member {
    client: ClientId,
    channel: usize,
    view: View,
    unread: String,
    /// It was told that messages were lost.
    is_told: bool,
    /// Its user, and what it was told about the other users.
    user: usize,
    present: BTreeMap<String, bool>,
}

/// The published messages, by position: the same for every client.
#[derive(Default)]
struct Truth {
    texts: BTreeMap<(usize, String, u64), String>,
}

impl Truth {
    /// A client received this message at this position.
    fn hear(&mut self, channel: usize, id: &str, text: &str) -> (String, u64) {
        let (epoch, offset) = id.split_once('-').unwrap();
        let at = (epoch.to_owned(), offset.parse().unwrap());
        let known =
            self.texts.entry((channel, at.0.clone(), at.1)).or_insert_with(|| text.to_owned());
        assert_eq!(known, text, "all hear the same at {id}");
        at
    }
}

fn read(member: &mut Member, stage: &mut Stage<Lines>, truth: &mut Truth, drops: Drops) {
    member.unread.push_str(&String::from_utf8_lossy(&stage.world().client_received(member.client)));
    let Some(end) = member.unread.rfind("\n\n") else { return };
    let rest = member.unread.split_off(end + 2);
    let whole = std::mem::replace(&mut member.unread, rest);
    for event in heard(&whole) {
        match event {
            Heard::At(id) => {
                // It does not know what happened before.
                member.present.clear();
                let (epoch, offset) = id.split_once('-').unwrap();
                let offset = offset.parse().unwrap();
                let next = (epoch.to_owned(), offset);
                if let Some(before) = &member.view.position
                    && before.0 == next.0
                {
                    // The position before the following messages: never after what this client has, unless it is told
                    // of a loss.
                    member.is_told |= before.1 < offset;
                }
                member.view.position = Some(next);
            }
            Heard::Lost => member.is_told = true,
            Heard::Message(Some(id), text) => {
                let at = truth.hear(member.channel, &id, &text);
                if let Some((epoch, offset)) = &member.view.position {
                    assert_eq!(epoch, &at.0, "an epoch does not change under a subscriber");
                    assert!(at.1 > *offset, "{id} behind {offset}: again, or out of order");
                    let may_skip = member.is_told || drops == Drops::Some;
                    assert!(at.1 == offset + 1 || may_skip, "{id} behind {offset}: a gap");
                }
                member.is_told = false;
                member.view.position = Some(at);
            }
            Heard::Member(is_there, user) => {
                let before = member.present.insert(user.clone(), is_there);
                assert!(
                    before != Some(is_there) || drops == Drops::Some,
                    "{user} twice: {is_there}"
                );
            }
            Heard::Message(None, text) => panic!("{text} without a position"),
            Heard::Other(text) => {
                assert!(text == "too slow" || text.starts_with("refused"), "{text}")
            }
        }
    }
}

/// The line by which a client subscribes from where it is.
fn subscribe(channel: usize, view: &View) -> String {
    let since = view.position.as_ref();
    let since = since.map_or(String::new(), |(epoch, offset)| format!(" {epoch}-{offset}"));
    format!("sub {}{since}\n", CHANNELS[channel])
}

/// A client sends something; perhaps others do so in the same turn.
fn say(stage: &mut Stage<Lines>, random: &mut Random, client: ClientId, lines: &str) {
    stage.world().client_send(client, lines.as_bytes());
    match random.below(5) {
        0 | 1 => stage.rest(),
        2 | 3 => {
            for _ in 0..random.below(6) {
                let schedulers = stage.schedulers();
                let scheduler = random.index(schedulers.len());
                schedulers[scheduler].turn(TurnWait::Forbidden).unwrap();
            }
        }
        _ => {}
    }
}

/// A client comes, perhaps with the position of one that has gone.
fn join(stage: &mut Stage<Lines>, random: &mut Random, channel: usize, view: View) -> Member {
    let (client, user) = (stage.connect(), random.index(USERS));
    let lines = format!("as u{user}\n{}", subscribe(channel, &view));
    say(stage, random, client, &lines);
    let (unread, present) = (String::new(), BTreeMap::new());
    Member { client, channel, view, unread, is_told: false, user, present }
}

fn rules(random: &mut Random) -> (ChannelPolicy, Drops) {
    let slow =
        [SlowPolicy::Disconnect, SlowPolicy::DropOldest, SlowPolicy::Latest][random.index(3)];
    let history = HistoryRules { count: 1 + random.below(30) as u32, bytes: 20_000, age_ms: 5_000 };
    let presence = [Presence::Off, Presence::On][random.index(2)];
    let behind = 2_000 + random.below(20_000);
    let rules = ChannelPolicy { slow, history, behind, presence, ..ChannelPolicy::default() };
    let drops = if slow == SlowPolicy::Disconnect { Drops::None } else { Drops::Some };
    (rules, drops)
}

fn run(seed: u64, faults: Faults) {
    let mut random = Random::new(seed);
    let schedulers = 1 + random.below(3) as u16;
    let (rules, drops) = rules(&mut random);
    let rulebook = Rulebook::new([(ChannelGlob::new("*"), rules)]);
    let mut stage =
        Stage::with_faults(usize::from(schedulers), seed, faults, services(schedulers, rulebook));
    let mut truth = Truth::default();
    let mut members: Vec<Member> = Vec::new();
    let mut left: Vec<(usize, View)> = Vec::new();
    let publishers: Vec<ClientId> = (0..3).map(|_| stage.connect()).collect();
    // With few of them a channel is left and joined again and again.
    let most = [2, 30][random.index(2)];
    let mut number = 0;
    for _ in 0..STEPS {
        match random.below(12) {
            0..=2 if members.len() < most => {
                let channel = random.index(3);
                members.push(join(&mut stage, &mut random, channel, View::default()));
            }
            3 if !left.is_empty() => {
                let (channel, view) = left.swap_remove(random.index(left.len()));
                members.push(join(&mut stage, &mut random, channel, view));
            }
            4 if !members.is_empty() => {
                let mut member = members.swap_remove(random.index(members.len()));
                read(&mut member, &mut stage, &mut truth, drops);
                if random.chance(500_000) {
                    stage.world().client_reset(member.client);
                } else {
                    stage.world().client_close(member.client);
                }
                left.push((member.channel, member.view));
            }
            5 if !members.is_empty() => {
                let stall = if random.chance(500_000) { Stall::Reading } else { Stall::Nothing };
                stage.world().client_stall(members[random.index(members.len())].client, stall);
            }
            6 if !members.is_empty() => {
                // It goes and comes back at once, perhaps more than once.
                let member = &members[random.index(members.len())];
                let name = CHANNELS[member.channel];
                for _ in 0..1 + random.index(3) {
                    say(&mut stage, &mut random, member.client, &format!("unsub {name}\n"));
                    let again = subscribe(member.channel, &member.view);
                    say(&mut stage, &mut random, member.client, &again);
                }
            }
            7 => stage.pass(Duration::from_millis(random.below(3_000))),
            _ => {
                let publisher = publishers[random.index(3)];
                let mut lines = String::new();
                for _ in 0..1 + random.below(20) {
                    number += 1;
                    let filler = "x".repeat(random.below(600) as usize);
                    lines.push_str(&format!(
                        "pub {} m{number}{filler}\n",
                        CHANNELS[random.index(3)]
                    ));
                }
                say(&mut stage, &mut random, publisher, &lines);
            }
        }
        for member in &mut members {
            read(member, &mut stage, &mut truth, drops);
        }
    }
    finish(&mut stage, members, &publishers, &mut truth, drops);
}

/// All read to the end, and leave; nothing is kept once the histories are too old.
fn finish(
    stage: &mut Stage<Lines>,
    mut members: Vec<Member>,
    publishers: &[ClientId],
    truth: &mut Truth,
    drops: Drops,
) {
    for member in &mut members {
        stage.world().client_stall(member.client, Stall::Nothing);
    }
    stage.pass(Duration::from_secs(1));
    for member in &mut members {
        read(member, stage, truth, drops);
    }
    // A member that is still connected has heard the last message of its channel.
    for member in &members {
        let stands = stage.world().client_state(member.client) == ClientState::Open;
        let last = truth.texts.keys().filter(|(channel, ..)| *channel == member.channel);
        let here = member.view.position.as_ref();
        let epoch = here.map(|(epoch, _)| epoch);
        let last = last.filter(|(_, of, _)| Some(of) == epoch).map(|(.., offset)| *offset).max();
        if stands && let (Some((_, offset)), Some(last)) = (here, last) {
            assert!(*offset >= last, "it stands, and has not heard {last} but {offset}");
        }
    }
    for member in members.iter().filter(|_| drops == Drops::None) {
        let open = |other: &Member| {
            other.channel == member.channel
                && stage.world().client_state(other.client) == ClientState::Open
        };
        if !open(member) {
            continue;
        }
        for (user, is_there) in &member.present {
            let is_known =
                members.iter().any(|other| format!("u{}", other.user) == *user && open(other));
            assert_eq!(*is_there, is_known, "{user}");
        }
    }
    for client in members.iter().map(|member| member.client).chain(publishers.iter().copied()) {
        stage.world().client_close(client);
    }
    stage.pass(Duration::from_secs(100));
    for scheduler in stage.schedulers() {
        let stats = scheduler.service().channels.stats();
        let kept = (stats.channels, stats.subscriptions, stats.history_bytes, stats.members_bytes);
        assert_eq!((kept, scheduler.processes()), ((0, 0, 0, 0), 0), "something is kept");
    }
}

fn programs() -> u64 {
    std::env::var("SIM_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(30)
}

#[test]
fn subscribers_get_every_message_once_and_in_order() {
    for seed in 0..programs() {
        let outcome = std::panic::catch_unwind(|| run(seed, Faults::none()));
        assert!(outcome.is_ok(), "seed {seed}");
    }
}

#[test]
fn also_in_a_network_with_faults() {
    for seed in 0..programs() {
        let faults = Faults::drawn(&mut Random::new(seed));
        let outcome = std::panic::catch_unwind(|| run(seed, faults));
        assert!(outcome.is_ok(), "seed {seed}");
    }
}
