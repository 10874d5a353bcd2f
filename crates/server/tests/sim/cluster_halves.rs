//! Worlds of a cluster in which the servers of NATS are cut off from each other: links stay connected, and messages of
//! the other half do not arrive.
//!
//! Owns the property that this is noticed without a further message.

use world::Faults;

use crate::cluster_worlds::{CHANNELS, NODES, Play};
use crate::nats::CutOff;
use crate::nats_stream::Stream;
use crate::seeds;
use crate::subscriber::Way;
use crate::world::SECOND_NS;

/// A world without other faults, in which clients are subscribed to all channels.
fn begun(seed: u64) -> Play {
    let mut play = Play::new(seed);
    play.nodes.iter().for_each(|node| node.world.set_faults(Faults::none()));
    play.pass(SECOND_NS);
    for channel in CHANNELS {
        (0..4).for_each(|_| play.join(channel, None));
        (0..NODES).for_each(|node| play.publish(channel, node));
    }
    play
}

/// A world in which nothing fails, except that a server of NATS is cut off for a while. Nobody publishes afterwards, so
/// that no later message shows what is missing.
fn world_of_two_halves(seed: u64, cut_off: impl Fn(usize) -> CutOff) {
    let mut play = begun(seed);
    play.pass(2 * SECOND_NS);
    let before = play.published;
    play.nats.cut_off = cut_off(play.random.index(NODES));
    for _ in 0..2 + play.random.index(20) {
        let channel = CHANNELS[play.random.index(CHANNELS.len())];
        let node = play.random.index(NODES);
        play.publish(channel, node);
        let nanoseconds = play.random.below(SECOND_NS);
        play.pass(nanoseconds);
    }
    // A sign of life comes every 2 s.
    play.pass(3 * SECOND_NS);
    play.nats.end_faults();
    play.pass(20 * SECOND_NS);
    for member in &play.members {
        let channel = &member.subscriber.channel;
        let kept = play.nats.streams.values().flat_map(Stream::ever);
        let of_channel = kept.filter(|(_, name, _)| name == channel);
        let Some((_, _, last)) = of_channel.last().filter(|last| number_of(last.2) > before) else {
            continue;
        };
        let heard = member.heard.last().map(|(_, text)| text.as_bytes());
        assert_eq!(heard, Some(last), "the last one of its channel is missing: {member:?}");
    }
}

/// The number in a text that was published.
fn number_of(text: &[u8]) -> u64 {
    let text = str::from_utf8(text).unwrap();
    text.strip_prefix('m').and_then(|text| text.split_once('.')).unwrap().0.parse().unwrap()
}

#[test]
fn worlds_of_two_halves() {
    seeds::run("worlds_of_two_halves", 30, |seed| world_of_two_halves(seed, CutOff::Node));
}

#[test]
fn worlds_whose_first_links_are_cut_off() {
    seeds::run("worlds_whose_first_links_are_cut_off", 30, |seed| {
        world_of_two_halves(seed, |_| CutOff::FirstLinks);
    });
}

/// A world in which the streams drop what they got while a node's server of NATS was cut off. Streams are asked for
/// often between the end of the cut and the new connection, which shows nothing of what had come before.
fn world_of_a_long_cut(seed: u64) {
    let mut play = begun(seed);
    play.pass(15 * SECOND_NS);
    let (members, node) = (play.members.len(), play.random.index(NODES));
    play.nats.cut_off = CutOff::Node(node);
    CHANNELS.iter().for_each(|channel| play.publish(channel, 1 - node));
    let last = play.published;
    // A message is kept for 60 s.
    play.pass(70 * SECOND_NS);
    play.nats.end_faults();
    for number in 0..20 {
        play.join(&format!("new-{number}"), None);
        play.pass(SECOND_NS / 4);
    }
    play.pass(20 * SECOND_NS);
    for member in &play.members[..members] {
        let has_word = !matches!(member.subscriber.way, Way::Socket | Way::Redis);
        if member.node == node && has_word && member.ended.is_none() {
            let heard = member.heard.last().map(|(_, text)| number_of(text.as_bytes()));
            let heard_last = heard.is_some_and(|number| number + CHANNELS.len() as u64 > last);
            assert!(member.is_told || heard_last, "a gap, and no word of it: {member:?}");
        }
    }
}

#[test]
fn messages_that_leave_their_stream_during_a_cut_are_told_as_lost() {
    seeds::run(
        "messages_that_leave_their_stream_during_a_cut_are_told_as_lost",
        20,
        world_of_a_long_cut,
    );
}
