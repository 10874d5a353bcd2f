//! Worlds of a cluster in which the servers of NATS are cut off from each other: links stay connected, and messages of
//! the other half do not arrive.
//!
//! Owns the property that this is noticed without a further message.

use world::Faults;

use crate::cluster_worlds::{CHANNELS, NODES, Play};
use crate::nats_stream::Stream;
use crate::seeds;
use crate::world::SECOND_NS;

/// A world in which nothing fails, except that one node's server of NATS is cut off for a while. Nobody publishes
/// afterwards, so that no later message shows what is missing.
fn world_of_two_halves(seed: u64) {
    let mut play = Play::new(seed);
    play.nodes.iter().for_each(|node| node.world.set_faults(Faults::none()));
    play.pass(SECOND_NS);
    for channel in CHANNELS {
        (0..4).for_each(|_| play.join(channel, None));
        (0..NODES).for_each(|node| play.publish(channel, node));
    }
    play.pass(2 * SECOND_NS);
    let before = play.published;
    play.nats.cut_off = Some(play.random.index(NODES));
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
    seeds::run("worlds_of_two_halves", 30, world_of_two_halves);
}
