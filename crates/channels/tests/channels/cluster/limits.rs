//! Publishers, pages and a reload in a cluster: keys, answers that do not come, losses, other rules.

use std::sync::Arc;

use channels::{
    ChannelGlob, ChannelPolicy, ChannelRefusal, ClusterNews, ClusterOrder, HistoryRules, Offer,
    Payload, Position, PublishReceipt, Publisher, Receipt, Rulebook, SlowPolicy, limits,
};
use runtime::slots::ProcessId;
use world::Stall;

use super::Nodes;
use super::bus::BusFaults;
use crate::stage::{Heard, heard, messages};

const KEPT: HistoryRules = HistoryRules { count: 100, bytes: 100_000, age_ms: 60_000 };
const NONE: HistoryRules = HistoryRules { count: 0, bytes: 0, age_ms: 0 };

fn rules(history: HistoryRules) -> Rulebook {
    Rulebook::new([(ChannelGlob::new("*"), ChannelPolicy { history, ..ChannelPolicy::default() })])
}

fn nodes(schedulers: &[u16]) -> Nodes {
    Nodes::new(schedulers, &rules(KEPT), 1, BusFaults::default())
}

/// Publishes on the first scheduler of a node, and returns what is known at once.
fn publish(
    nodes: &mut Nodes,
    node: usize,
    offer: Offer,
) -> Result<Option<channels::Published>, ChannelRefusal> {
    let process = ProcessId::from_bits(7);
    let publisher = Publisher { process, told: PublishReceipt::ByReceipt(1) };
    let service = nodes.stages[node].schedulers()[0].service();
    let right = service.channels.server_right("c");
    service.channels.publish(&right.to_publish(), offer, Some(publisher), 0)
}

fn receipts(nodes: &mut Nodes, node: usize) -> Vec<Receipt> {
    nodes.settle();
    std::mem::take(&mut nodes.stages[node].schedulers()[0].service().receipts)
}

/// The scheduler runs, although nothing has come for it.
fn turn(nodes: &mut Nodes, node: usize) {
    nodes.bring(node, 0, Vec::new());
}

#[test]
fn a_message_with_a_key_is_published_once_whichever_node_gets_it() {
    let mut nodes = nodes(&[1, 1]);
    let reader = nodes.connect(1);
    nodes.send(1, reader, "sub c\n");
    let offer = || Offer { body: Payload::of_text("once"), key: Some("k".into()) };
    for node in [0, 1] {
        assert_eq!(publish(&mut nodes, node, offer()), Ok(None));
        turn(&mut nodes, node);
    }
    let (here, there) = (receipts(&mut nodes, 0), receipts(&mut nodes, 1));
    let position = |receipts: &[Receipt]| receipts[0].result.unwrap().position;
    assert_eq!(position(&here), position(&there));
    assert_eq!((here[0].result.unwrap().receivers, there[0].result.unwrap().receivers), (0, 1));
    assert_eq!(messages(&nodes.received(1, reader)), ["once"]);
    let known = publish(&mut nodes, 1, offer()).unwrap();
    assert_eq!(known, there[0].result.ok(), "the first answer is repeated");
}

#[test]
fn a_publisher_is_told_that_its_message_was_not_confirmed() {
    let mut nodes = nodes(&[1, 1]);
    nodes.bus.cut_off(0);
    assert_eq!(publish(&mut nodes, 0, Payload::of_text("a").into()), Ok(None));
    let service = nodes.stages[0].schedulers()[0].service();
    let orders = service.channels.take_cluster_orders();
    let [ClusterOrder::Commit { commit, .. }] = &orders[..] else { panic!("{orders:?}") };
    let result = Err(ChannelRefusal::Unconfirmed);
    for _ in 0..2 {
        nodes.bring(0, 0, vec![ClusterNews::CommitResult { commit: *commit, result }]);
    }
    let told: Vec<_> = receipts(&mut nodes, 0).into_iter().map(|receipt| receipt.result).collect();
    assert_eq!(told, [Err(ChannelRefusal::Unconfirmed)], "once");
}

#[test]
fn too_many_messages_without_an_answer_are_refused() {
    let mut nodes = nodes(&[1, 1]);
    nodes.bus.cut_off(0);
    let mut refused = 0;
    for _ in 0..limits::COMMITS + 5 {
        match publish(&mut nodes, 0, Payload::of_text("a").into()) {
            Ok(None) => {}
            Err(ChannelRefusal::Busy) => refused += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(refused, 5);
    turn(&mut nodes, 0);
    assert_eq!(receipts(&mut nodes, 0), []);
    nodes.bus.connect(0);
    assert_eq!(receipts(&mut nodes, 0).len(), limits::COMMITS);
    assert_eq!(publish(&mut nodes, 0, Payload::of_text("a").into()), Ok(None));
}

#[test]
fn a_page_hears_the_messages_of_all_nodes_and_of_a_loss() {
    let mut nodes = nodes(&[2, 1]);
    let publisher = nodes.connect(1);
    for at in 0..2 {
        let channels = &mut nodes.stages[0].schedulers()[at].service().channels;
        let right = channels.server_right("c");
        channels.listen(&right.to_subscribe(), at as u64).unwrap();
    }
    nodes.settle();
    nodes.send(1, publisher, "pub c 1\n");
    assert_eq!(hear(&mut nodes), [("1".into(), 0), ("1".into(), 0)]);
    nodes.send(1, publisher, "pub c 2\n");
    assert_eq!(hear(&mut nodes), [("2".into(), 0), ("2".into(), 0)]);
    nodes.bus.cut_off(0);
    nodes.send(1, publisher, "pub c 3\npub c 4\n");
    nodes.bus.streams[1].evict(3);
    nodes.bus.connect(0);
    nodes.settle();
    assert_eq!(hear(&mut nodes), [("4".into(), 1), ("4".into(), 1)]);
}

/// The next message that the listener of each scheduler hears, and how much it lost.
fn hear(nodes: &mut Nodes) -> [(String, u64); 2] {
    nodes.settle();
    [0, 1].map(|at| {
        let channels = &mut nodes.stages[0].schedulers()[at].service().channels;
        channels.hear(at as u64).map_or((String::new(), 0), |heard| {
            (String::from_utf8_lossy(heard.body.bytes()).into_owned(), heard.lost)
        })
    })
}

#[test]
fn other_rules_begin_another_epoch_and_subscribers_stay() {
    let mut nodes = nodes(&[2, 2]);
    let (reader, publisher) = (nodes.connect(0), nodes.connect(1));
    nodes.send(0, reader, "sub c\n");
    nodes.send(1, publisher, "pub c 1\n");
    assert_eq!(messages(&nodes.received(0, reader)), ["1"]);
    for (history, text) in [(NONE, "2"), (KEPT, "3")] {
        for stage in &mut nodes.stages {
            for scheduler in stage.schedulers() {
                scheduler.service().channels.set_rulebook(Arc::new(rules(history)));
            }
        }
        for node in [0, 1] {
            for at in 0..2 {
                nodes.bring(node, at, Vec::new());
            }
        }
        let told = heard(&nodes.received(0, reader));
        assert!(matches!(&told[..], [Heard::At(_), Heard::Lost]), "{told:?}");
        nodes.send(1, publisher, &format!("pub c {text}\n"));
        assert_eq!(messages(&nodes.received(0, reader)), [text]);
    }
}

#[test]
fn a_position_that_was_never_given_out_is_answered_after_some_tries() {
    let mut nodes = nodes(&[1, 2]);
    let (client, publisher) = (nodes.connect(1), nodes.connect(0));
    nodes.send(1, client, "sub c\n");
    nodes.send(0, publisher, "pub c 1\n");
    let told = heard(&nodes.received(1, client));
    let Some(Heard::Message(Some(id), _)) = told.last() else { panic!("{told:?}") };
    let position: Position = id.parse().unwrap();
    for node in [0, 1] {
        let client = nodes.connect(node);
        let forged = Position { offset: u64::MAX, ..position };
        nodes.send(node, client, &format!("sub c {forged}\n"));
        nodes.pass(std::time::Duration::from_secs(4));
        assert_eq!(heard(&nodes.received(node, client)), [Heard::At(id.clone()), Heard::Lost]);
        nodes.send(0, publisher, "pub d x\n");
        nodes.send(node, client, "unsub c\n");
    }
}

fn dropping(behind: u64) -> Nodes {
    let slow = SlowPolicy::DropOldest;
    let policy = ChannelPolicy { history: KEPT, slow, behind, ..ChannelPolicy::default() };
    let rules = Rulebook::new([(ChannelGlob::new("*"), policy)]);
    Nodes::new(&[1, 1], &rules, 1, BusFaults::default())
}

#[test]
fn a_slow_subscriber_is_told_that_it_misses_messages_because_numbers_do_not_show_it() {
    let mut nodes = dropping(10_000);
    let (reader, publisher) = (nodes.connect(0), nodes.connect(1));
    nodes.send(0, reader, "sub c\n");
    nodes.stages[0].world().client_stall(reader, Stall::Reading);
    for number in 0..400 {
        nodes.send(1, publisher, &format!("pub c {number}{}\n", "x".repeat(1_000)));
    }
    nodes.stages[0].world().client_stall(reader, Stall::Nothing);
    let told = heard(&nodes.received(0, reader));
    let lost = told.iter().position(|told| *told == Heard::Lost).expect("a loss");
    let number = |told: Option<&Heard>| match told {
        Some(Heard::Message(_, text)) => text.trim_end_matches('x').parse::<u32>().unwrap(),
        other => panic!("{other:?}"),
    };
    let (before, after) = (number(told.get(lost - 2)), number(told.get(lost + 1)));
    assert!(before + 1 < after, "{before} {after}");
    assert_eq!(number(told.last()), 399);
}

#[test]
fn a_subscriber_that_is_behind_is_told_of_another_epoch_when_it_catches_up() {
    let mut nodes = dropping(10_000);
    let (reader, publisher) = (nodes.connect(0), nodes.connect(1));
    nodes.send(0, reader, "sub c\n");
    nodes.stages[0].world().client_stall(reader, Stall::Reading);
    let long = "x".repeat(1_000);
    for _ in 0..400 {
        nodes.send(1, publisher, &format!("pub c {long}\n"));
    }
    nodes.bus.streams[1].lose();
    nodes.send(1, publisher, "pub c first\n");
    nodes.send(1, publisher, "pub c second\n");
    nodes.stages[0].world().client_stall(reader, Stall::Nothing);
    let told = heard(&nodes.received(0, reader));
    nodes.send(1, publisher, "pub c third\n");
    let [.., Heard::At(_), Heard::Lost, Heard::Message(_, first), Heard::Message(_, second)] =
        &told[..]
    else {
        panic!("{:?}", &told[told.len() - 4..]);
    };
    assert_eq!((&**first, &**second), ("first", "second"));
    assert_eq!(messages(&nodes.received(0, reader)), ["third"]);
}

#[test]
fn a_subscriber_that_falls_behind_with_a_loss_is_told_of_it_later() {
    // The events of one channel make those of the other too much.
    let mut nodes = dropping(100);
    let (reader, publisher) = (nodes.connect(0), nodes.connect(1));
    nodes.send(0, reader, "sub c\nsub e\n");
    nodes.received(0, reader);
    nodes.bus.streams[1].lose();
    nodes.stages[1].world().client_send(publisher, b"pub c a\npub e a\n");
    for _ in 0..10 {
        nodes.rest(1);
        nodes.rest(0);
        while nodes.arrive(0, 0, 100) > 0 {}
        nodes.arrive(1, 0, 100);
    }
    nodes.pass(std::time::Duration::from_millis(20));
    let told = heard(&nodes.received(0, reader));
    assert_eq!(told.iter().filter(|told| **told == Heard::Lost).count(), 2, "{told:?}");
    nodes.send(1, publisher, "pub e b\n");
    assert_eq!(messages(&nodes.received(0, reader)), ["b"]);
}

#[test]
fn a_message_that_comes_while_the_history_is_read_is_known_without_another_one() {
    // The first arrival is drawn.
    for seed in 0..8 {
        let mut nodes = Nodes::new(&[1, 1], &rules(KEPT), seed, BusFaults::default());
        let (reader, publisher) = (nodes.connect(0), nodes.connect(1));
        nodes.stages[0].world().client_send(reader, b"sub c\n");
        nodes.rest(0);
        nodes.stages[1].world().client_send(publisher, b"pub c 1\n");
        nodes.rest(1);
        let told = heard(&nodes.received(0, reader));
        let (Some(Heard::At(id)) | Some(Heard::Message(Some(id), _))) = told.last() else {
            panic!("{told:?}");
        };
        assert!(id.ends_with("-1"), "seed {seed}: {told:?}");
    }
}

#[test]
fn a_turn_goes_through_a_part_of_the_channels_when_the_cluster_goes_away() {
    const EACH: usize = limits::SUBSCRIPTIONS_PER_CONNECTION;
    let mut nodes = Nodes::new(&[1, 1], &rules(NONE), 1, BusFaults::default());
    let clients: Vec<_> = (0..3).map(|_| nodes.connect(0)).collect();
    for (number, client) in clients.iter().enumerate() {
        let lines: String = (0..EACH).map(|at| format!("sub c.{number}.{at}\n")).collect();
        nodes.stages[0].world().client_send(*client, lines.as_bytes());
    }
    nodes.rest(0);
    let answers = |nodes: &mut Nodes| {
        let world = nodes.stages[0].world();
        let texts = clients.iter().map(|client| world.client_received(*client));
        texts.map(|text| String::from_utf8(text).unwrap().matches("\n\n").count()).sum::<usize>()
    };
    assert_eq!(answers(&mut nodes), 0, "each waits until its channel is followed");
    nodes.bring(0, 0, vec![ClusterNews::Away]);
    let mut told = 0;
    for turns in 1..=clients.len() {
        told += answers(&mut nodes);
        let most = turns * limits::CHANNELS_PER_TURN;
        assert!(told > 0 && told <= most, "{told} of at most {most} after {turns} turns");
        turn(&mut nodes, 0);
    }
    nodes.rest(0);
    assert_eq!(told + answers(&mut nodes), clients.len() * EACH, "nobody is forgotten");
}

#[test]
fn channel_followed_when_the_cluster_is_back_waits_for_it_although_a_round_is_under_way() {
    let mut nodes = Nodes::new(&[1, 1], &rules(NONE), 1, BusFaults::default());
    for number in 0..2 {
        let client = nodes.connect(0);
        let count = limits::SUBSCRIPTIONS_PER_CONNECTION;
        let lines: String = (0..count).map(|at| format!("sub c.{number}.{at}\n")).collect();
        nodes.stages[0].world().client_send(client, lines.as_bytes());
    }
    let late = nodes.connect(0);
    nodes.rest(0);
    nodes.bring(0, 0, vec![ClusterNews::Away, ClusterNews::Back]);
    // Its channel is in the last part of the round.
    nodes.stages[0].world().client_send(late, b"sub d\n");
    nodes.rest(0);
    assert_eq!(nodes.stages[0].received(late), "");
    nodes.settle();
    assert_ne!(nodes.stages[0].received(late), "");
}
