//! One order for all: what a client publishes to several channels arrives in the order in which it was published.

use crate::stage::{Lines, stage};
use channels::Rulebook;
use runtime::scheduler::TurnWait;
use world::{ClientId, Stage};

/// A client of each scheduler.
fn client_of(stage: &mut Stage<Lines>, scheduler: usize) -> ClientId {
    for _ in 0..100 {
        let before = stage.schedulers()[scheduler].processes();
        let client = stage.connect();
        if stage.schedulers()[scheduler].processes() > before {
            return client;
        }
        stage.world().client_close(client);
        stage.rest();
    }
    panic!("no client came to scheduler {scheduler}");
}

/// A channel whose home is this scheduler.
fn channel_of(stage: &mut Stage<Lines>, scheduler: usize) -> String {
    let client = stage.connect();
    let published = |stage: &mut Stage<Lines>| {
        stage.schedulers()[scheduler].service().channels.stats().published
    };
    let name = (0..100).map(|number| format!("c{number}")).find(|name| {
        let before = published(stage);
        stage.send(client, format!("pub {name} probe\n").as_bytes());
        published(stage) > before
    });
    stage.world().client_close(client);
    stage.rest();
    name.expect("a channel of each scheduler")
}

/// The numbers of the messages `m1`, `m2` ... in a text, in its order.
fn numbers(text: &str) -> Vec<u32> {
    let messages = text.split(['\n', '\r', ' ']).filter_map(|word| word.strip_prefix('m'));
    messages.filter_map(|number| number.parse().ok()).collect()
}

#[test]
fn a_subscriber_of_several_channels_sees_the_order_of_a_pipeline() {
    for schedulers in 1..=3 {
        let mut stage = stage(schedulers, Rulebook::default());
        let (both, one, wild) = (stage.connect(), stage.connect(), stage.connect());
        stage.send(both, b"sub x\nsub y\npsub z*\n");
        stage.send(one, b"sub x\n");
        stage.send(wild, b"psub *\n");
        for client in [both, one, wild] {
            stage.received(client);
        }
        // All in one turn.
        let publisher = stage.connect();
        if schedulers == 1 {
            stage.send(publisher, b"pub x m1\npub y m2\npub x m3\npub z m4\npub y m5\npub x m6\n");
        } else {
            // With several homes a publisher waits for each answer.
            for line in ["x m1", "y m2", "x m3", "z m4", "y m5", "x m6"] {
                stage.send(publisher, format!("pub {line}\n").as_bytes());
            }
        }
        assert_eq!(numbers(&stage.received(both)), [1, 2, 3, 4, 5, 6], "{schedulers} schedulers");
        assert_eq!(numbers(&stage.received(one)), [1, 3, 6]);
        assert_eq!(numbers(&stage.received(wild)), [1, 2, 3, 4, 5, 6]);
    }
}

#[test]
fn a_client_of_a_channel_and_a_pattern_gets_both_for_each_message() {
    let mut stage = stage(1, Rulebook::default());
    let client = stage.connect();
    stage.send(client, b"psub x*\nsub x\n");
    stage.received(client);
    let publisher = stage.connect();
    stage.send(publisher, b"pub x m1\npub x m2\n");
    assert_eq!(numbers(&stage.received(client)), [1, 1, 2, 2]);
}

/// A publisher that has been answered publishes to a channel of another home. The subscriber's scheduler takes both
/// messages in one turn, from two senders.
#[test]
fn a_message_never_overtakes_one_that_was_answered_before_it() {
    let turn = |stage: &mut Stage<Lines>, scheduler: usize| {
        stage.schedulers()[scheduler].turn(TurnWait::Forbidden).expect("the world does not fail");
    };
    for (publishes, other_home, subscribes) in [(0, 2, 1), (2, 0, 1), (0, 1, 2), (1, 2, 0)] {
        let mut stage = stage(3, Rulebook::default());
        let (far, near) = (channel_of(&mut stage, other_home), channel_of(&mut stage, publishes));
        let publisher = client_of(&mut stage, publishes);
        let subscriber = client_of(&mut stage, subscribes);
        stage.send(subscriber, format!("sub {far}\nsub {near}\n").as_bytes());
        stage.received(subscriber);
        stage.world().client_send(publisher, format!("pub {far} m1\n").as_bytes());
        turn(&mut stage, publishes);
        turn(&mut stage, other_home);
        turn(&mut stage, publishes);
        stage.world().client_send(publisher, format!("pub {near} m2\n").as_bytes());
        turn(&mut stage, publishes);
        assert_eq!(numbers(&stage.received(subscriber)), [1, 2], "{publishes} {other_home}");
    }
}

/// A subscriber that joins in the turn in which messages of its other channel wait.
#[test]
fn one_that_joins_in_the_middle_of_a_turn_sees_the_order_from_there_on() {
    let mut stage = stage(1, Rulebook::default());
    let client = stage.connect();
    stage.send(client, b"sub x\n");
    stage.received(client);
    stage.send(client, b"pub x m1\npub y m2\nsub y\npub y m3\npub x m4\npub y m5\n");
    assert_eq!(numbers(&stage.received(client)), [1, 3, 4, 5]);
}
