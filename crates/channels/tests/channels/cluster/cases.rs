//! One case each: what subscribers on several nodes get and are told.

use std::time::Duration;

use super::Nodes;
use super::bus::BusFaults;
use crate::stage::{Heard, heard, messages};
use channels::{ChannelGlob, ChannelPolicy, HistoryRules, Presence, Rulebook, SubscriberQuery};

const KEPT: HistoryRules = HistoryRules { count: 100, bytes: 100_000, age_ms: 60_000 };

fn rules(history: HistoryRules) -> Rulebook {
    let of =
        |history| ChannelPolicy { history, presence: Presence::On, ..ChannelPolicy::default() };
    let nothing = HistoryRules { count: 0, bytes: 0, age_ms: 0 };
    Rulebook::new([
        (ChannelGlob::new("plain.*"), of(nothing)),
        (ChannelGlob::new("*"), of(history)),
    ])
}

fn nodes(schedulers: &[u16]) -> Nodes {
    Nodes::new(schedulers, &rules(KEPT), 1, BusFaults::default())
}

/// The position and texts of messages.
fn numbered(text: &str) -> Vec<(String, String)> {
    let all = heard(text).into_iter();
    all.filter_map(|heard| match heard {
        Heard::Message(Some(id), text) => Some((id, text)),
        _ => None,
    })
    .collect()
}

#[test]
fn subscribers_on_all_nodes_see_one_order_with_the_same_positions() {
    for schedulers in [&[1, 1][..], &[2, 1], &[2, 2, 1]] {
        let mut nodes = nodes(schedulers);
        let clients: Vec<_> = (0..6)
            .map(|number| (number % schedulers.len(), nodes.connect(number % schedulers.len())))
            .collect();
        for (node, client) in &clients {
            nodes.send(*node, *client, "sub news\nsub other\n");
            nodes.received(*node, *client);
        }
        for (node, client) in &clients {
            nodes.stages[*node]
                .world()
                .client_send(*client, b"pub news a\npub other x\npub news b\n");
        }
        nodes.settle();
        let first = numbered(&nodes.received(0, clients[0].1));
        let of = |all: &[(String, String)], texts: &[&str]| {
            all.iter()
                .filter(|(_, text)| texts.contains(&text.as_str()))
                .cloned()
                .collect::<Vec<_>>()
        };
        assert_eq!(of(&first, &["a", "b"]).len(), 12, "{schedulers:?}: {first:?}");
        for (node, client) in &clients[1..] {
            let other = numbered(&nodes.received(*node, *client));
            assert_eq!(of(&other, &["a", "b"]), of(&first, &["a", "b"]), "{schedulers:?}");
            assert_eq!(of(&other, &["x"]), of(&first, &["x"]), "{schedulers:?}");
        }
        for node in 0..schedulers.len() {
            let receipts: usize = nodes.stages[node]
                .schedulers()
                .iter_mut()
                .map(|of| of.service().receipts.len())
                .sum();
            assert!(receipts > 0, "publishers of streams get a receipt");
        }
    }
}

#[test]
fn a_client_that_comes_back_to_another_node_gets_what_it_missed() {
    let mut nodes = nodes(&[1, 2]);
    let (here, publisher) = (nodes.connect(0), nodes.connect(1));
    nodes.send(0, here, "sub c\n");
    nodes.send(1, publisher, "pub c one\npub d between\npub c two\npub c three\n");
    let got = numbered(&nodes.received(0, here));
    assert_eq!(got.len(), 3);
    let (position, _) = &got[0];
    let there = nodes.connect(1);
    nodes.send(1, there, &format!("sub c {position}\n"));
    let told = heard(&nodes.received(1, there));
    let message = |(id, text): &(String, String)| Heard::Message(Some(id.clone()), text.clone());
    assert_eq!(told, [Heard::At(position.clone()), message(&got[1]), message(&got[2])]);
}

#[test]
fn a_position_before_the_first_message_is_good_on_every_node() {
    let mut nodes = nodes(&[1, 1]);
    let (here, publisher) = (nodes.connect(0), nodes.connect(1));
    nodes.send(1, publisher, "pub d one\npub f two\n");
    nodes.send(0, here, "sub b\n");
    let told = heard(&nodes.received(0, here));
    let [Heard::At(position)] = &told[..] else { panic!("{told:?}") };
    // The stream drops messages of other channels.
    nodes.bus.streams[0].evict(2);
    nodes.send(1, publisher, "pub b first\n");
    let there = nodes.connect(1);
    nodes.send(1, there, &format!("sub b {position}\n"));
    let told = heard(&nodes.received(1, there));
    assert_eq!(told.len(), 2, "not lost: {told:?}");
    assert_eq!(told[0], Heard::At(position.clone()));
}

#[test]
fn a_client_ahead_of_its_new_node_gets_no_message_twice() {
    let mut nodes = nodes(&[1, 1]);
    let (here, there, publisher) = (nodes.connect(0), nodes.connect(1), nodes.connect(0));
    nodes.send(0, here, "sub c\n");
    nodes.send(1, there, "sub c\n");
    nodes.received(0, here);
    // The message is on its way to the second node while its reader at the first goes there.
    nodes.stages[0].world().client_send(publisher, b"pub c one\n");
    nodes.rest(0);
    while nodes.arrive(0, 0, 1) > 0 {}
    nodes.rest(0);
    let text = nodes.stages[0].received(here);
    let [(position, _)] = &numbered(&text)[..] else { panic!("{text}") };
    let back = nodes.connect(1);
    nodes.stages[1].world().client_send(back, format!("sub c {position}\n").as_bytes());
    nodes.rest(1);
    assert_eq!(nodes.stages[1].received(back), "", "it waits");
    assert_eq!(heard(&nodes.received(1, back)), [Heard::At(position.clone())]);
    nodes.send(0, publisher, "pub c two\n");
    assert_eq!(messages(&nodes.received(1, back)), ["two"]);
    assert_eq!(messages(&nodes.received(1, there)), ["one", "two"]);
}

#[test]
fn a_node_without_a_connection_catches_up_and_subscribers_are_told_what_is_lost() {
    for evicted in [0, 100] {
        let mut nodes = nodes(&[2, 1]);
        let (reader, publisher) = (nodes.connect(0), nodes.connect(1));
        nodes.send(0, reader, "sub c\n");
        nodes.send(1, publisher, "pub c 1\n");
        nodes.received(0, reader);
        nodes.bus.cut_off(0);
        nodes.send(1, publisher, "pub c 2\npub c 3\n");
        assert_eq!(nodes.received(0, reader), "");
        let own = nodes.connect(0);
        nodes.send(0, own, "pub c 4\n");
        nodes.bus.streams[1].evict(evicted);
        nodes.bus.connect(0);
        nodes.send(1, publisher, "pub c 5\n");
        let told = nodes.received(0, reader);
        if evicted == 0 {
            assert_eq!(messages(&told), ["2", "3", "4", "5"]);
            assert!(!heard(&told).contains(&Heard::Lost));
        } else {
            assert!(heard(&told).contains(&Heard::Lost), "{told}");
            assert_eq!(messages(&told), ["4", "5"]);
        }
    }
}

#[test]
fn a_stream_that_is_lost_is_another_epoch() {
    for is_rolled_back in [false, true] {
        let mut nodes = nodes(&[2, 1]);
        let (reader, publisher) = (nodes.connect(0), nodes.connect(1));
        nodes.send(0, reader, "sub c\n");
        nodes.send(1, publisher, "pub c 1\npub c 2\n");
        let position = numbered(&nodes.received(0, reader))[1].0.clone();
        if is_rolled_back {
            nodes.bus.streams[1].roll_back(1);
        } else {
            nodes.bus.streams[1].lose();
        }
        nodes.send(1, publisher, "pub c 3\n");
        let received = nodes.received(0, reader);
        let told = heard(&received);
        assert!(matches!(&told[..2], [Heard::At(_), Heard::Lost]), "{told:?}");
        assert_eq!(messages(&received), ["3"], "it came after the loss");
        nodes.send(1, publisher, "pub c 4\n");
        assert_eq!(messages(&nodes.received(0, reader)), ["4"]);
        let late = nodes.connect(1);
        nodes.send(1, late, &format!("sub c {position}\n"));
        assert_eq!(heard(&nodes.received(1, late))[1], Heard::Lost);
    }
}

#[test]
fn a_subscriber_of_a_node_without_a_connection_is_let_in_and_told_later() {
    let mut nodes = nodes(&[1, 1]);
    let publisher = nodes.connect(1);
    nodes.send(1, publisher, "pub c 1\n");
    nodes.bus.cut_off(0);
    let reader = nodes.connect(0);
    nodes.send(0, reader, "sub c\n");
    assert_eq!(nodes.received(0, reader), "");
    nodes.pass(Duration::from_secs(4));
    assert!(matches!(heard(&nodes.received(0, reader))[..], [Heard::At(_)]));
    nodes.bus.connect(0);
    assert!(matches!(heard(&nodes.received(0, reader))[..], [Heard::At(_), Heard::Lost]));
    nodes.send(1, publisher, "pub c 2\n");
    assert_eq!(messages(&nodes.received(0, reader)), ["2"]);
}

#[test]
fn a_message_without_history_reaches_every_node_once() {
    let mut nodes = nodes(&[2, 1, 1]);
    let clients: Vec<_> = (0..3).map(|node| nodes.connect(node)).collect();
    for (node, client) in clients.iter().enumerate() {
        nodes.send(node, *client, "sub plain.a\npsub plain.*\n");
        nodes.received(node, *client);
    }
    nodes.send(0, clients[0], "pub plain.a hello\n");
    for (node, client) in clients.iter().enumerate() {
        let got = nodes.received(node, *client);
        assert_eq!(got.matches("data: hello").count(), 1, "{got}");
        assert_eq!(got.matches("pmessage").count(), 1, "{got}");
    }
    nodes.bus.cut_off(0);
    nodes.send(0, clients[0], "pub plain.a alone\n");
    assert!(nodes.received(0, clients[0]).contains("alone"));
    assert_eq!(nodes.received(1, clients[1]), "");
}

#[test]
fn a_subscription_without_history_is_active_when_the_cluster_has_taken_it() {
    for (schedulers, line) in [
        (1, "sub plain.a\n"),
        (2, "sub plain.a\n"),
        (1, "confirm plain.*\n"),
        (2, "confirm plain.*\n"),
    ] {
        let mut nodes = nodes(&[schedulers, 1]);
        let (client, publisher) = (nodes.connect(0), nodes.connect(1));
        nodes.stages[0].world().client_send(client, line.as_bytes());
        // Schedulers talk to each other, and the cluster says nothing yet.
        for _ in 0..5 {
            nodes.rest(0);
        }
        assert_eq!(nodes.stages[0].received(client), "", "{schedulers} {line}");
        nodes.settle();
        assert_ne!(nodes.received(0, client), "", "{schedulers} {line}");
        nodes.send(1, publisher, "pub plain.a hello\n");
        assert!(nodes.received(0, client).contains("hello"), "{schedulers} {line}");
    }
}

#[test]
fn a_subscription_without_history_does_not_wait_for_a_cluster_that_is_away() {
    for line in ["sub plain.a\n", "confirm plain.*\n"] {
        let mut nodes = nodes(&[2, 1]);
        // It goes away while one waits, and another one comes then.
        let (first, second) = (nodes.connect(0), nodes.connect(0));
        nodes.stages[0].world().client_send(first, line.as_bytes());
        nodes.rest(0);
        assert_eq!(nodes.stages[0].received(first), "");
        nodes.bus.cut_off(0);
        assert_ne!(nodes.received(0, first), "");
        nodes.send(0, second, &line.replace("plain", "plain.b"));
        assert_ne!(nodes.received(0, second), "");
        nodes.bus.connect(0);
        nodes.settle();
        let publisher = nodes.connect(1);
        nodes.send(1, publisher, "pub plain.a hello\n");
        assert!(nodes.received(0, first).contains("hello"));
    }
}

#[test]
fn patterns_get_the_messages_of_streams_once() {
    let mut nodes = nodes(&[2, 2]);
    let (wild, publisher, reader) = (nodes.connect(0), nodes.connect(1), nodes.connect(0));
    nodes.send(0, wild, "psub c*\n");
    nodes.send(1, publisher, "pub c1 a\n");
    nodes.send(0, reader, "sub c1\n");
    nodes.send(1, publisher, "pub c1 b\npub c2 c\n");
    let got = nodes.received(0, wild);
    assert_eq!(got.matches("pmessage").count(), 3, "{got}");
    assert_eq!(messages(&nodes.received(0, reader)), ["b"]);
}

#[test]
fn a_poll_waits_on_any_node_and_returns_with_its_position() {
    let mut nodes = nodes(&[1, 2]);
    let (client, publisher) = (nodes.connect(1), nodes.connect(0));
    nodes.send(1, client, "poll c 20\n");
    assert_eq!(nodes.received(1, client), "", "nothing is there");
    nodes.send(0, publisher, "pub d x\npub c one\n");
    let told = nodes.received(1, client);
    assert!(told.contains("\"data\":\"one\"") && told.contains("\"recovered\":true"), "{told}");
    let since = told.split('"').nth(3).unwrap().to_owned();
    let other = nodes.connect(0);
    nodes.send(0, other, &format!("poll c 20 {since}\n"));
    assert_eq!(nodes.received(0, other), "");
    nodes.send(0, publisher, "pub c two\n");
    let told = nodes.received(0, other);
    assert!(told.contains("two") && !told.contains("one"), "{told}");
    assert!(told.contains("\"recovered\":true"), "{told}");
}

fn members_of(nodes: &mut Nodes, name: &str) -> SubscriberQuery {
    let channels = &nodes.stages[0].schedulers()[0].service().channels;
    channels.server_right(name).to_subscribe().members(100)
}

/// The users of a channel, as a node knows them.
fn users(nodes: &mut Nodes, node: usize, name: &str) -> Vec<String> {
    let question = members_of(nodes, name);
    let found = nodes.survey(node, &question);
    found.members.some.iter().map(|member| member.user.to_string()).collect()
}

#[test]
fn a_question_is_answered_by_all_nodes() {
    let mut nodes = nodes(&[2, 1, 2]);
    for node in 0..3 {
        let client = nodes.connect(node);
        nodes.send(node, client, "as ann\nsub c\nsub plain.d\npsub x*\n");
    }
    let counts = |nodes: &mut Nodes, question| {
        let mut counts = nodes.survey(1, &question).counts;
        counts.sort();
        counts.into_iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>()
    };
    let names = vec!["c".into(), "plain.d".into(), "none".into()];
    let told = counts(&mut nodes, SubscriberQuery::Subscribers(names));
    assert_eq!(told, ["c 3", "none 0", "plain.d 3"]);
    let told = counts(&mut nodes, SubscriberQuery::Channels(ChannelGlob::new("*")));
    assert_eq!(told, ["c 3", "plain.d 3"]);
    assert_eq!(counts(&mut nodes, SubscriberQuery::Patterns), ["x* 3"]);
    let question = members_of(&mut nodes, "c");
    let told = counts(&mut nodes, question);
    assert_eq!(told, ["c 3"]);
    assert_eq!(users(&mut nodes, 0, "c"), ["ann"]);
    // A node without a connection answers alone.
    nodes.bus.cut_off(1);
    let told = counts(&mut nodes, SubscriberQuery::Channels(ChannelGlob::new("*")));
    assert_eq!(told, ["c 1", "plain.d 1"]);
}

#[test]
fn members_are_told_across_nodes_and_leave_with_their_node() {
    for (name, schedulers) in [("c", [1, 1]), ("c", [2, 2]), ("plain.c", [2, 1])] {
        let mut nodes = nodes(&schedulers);
        let (ann, bob) = (nodes.connect(0), nodes.connect(1));
        nodes.send(0, ann, &format!("as ann\nsub {name}\n"));
        nodes.send(1, bob, &format!("as bob\nsub {name}\n"));
        let joined = |user: &str| Heard::Member(true, user.to_owned());
        let left = |user: &str| Heard::Member(false, user.to_owned());
        let told = |nodes: &mut Nodes, node, client| -> Vec<Heard> {
            let told = heard(&nodes.received(node, client));
            told.into_iter().filter(|heard| matches!(heard, Heard::Member(..))).collect()
        };
        assert!(told(&mut nodes, 0, ann).contains(&joined("bob")), "{name} {schedulers:?}");
        for node in [0, 1] {
            assert_eq!(users(&mut nodes, node, name), ["ann", "bob"], "{name} {schedulers:?}");
        }
        // The second subscription of a user is no news, on any node.
        let again = nodes.connect(0);
        nodes.send(0, again, &format!("as bob\nsub {name}\n"));
        assert_eq!(told(&mut nodes, 0, ann), []);
        nodes.stages[1].world().client_close(bob);
        nodes.settle();
        assert_eq!(told(&mut nodes, 0, ann), []);
        nodes.stages[0].world().client_close(again);
        nodes.settle();
        assert_eq!(told(&mut nodes, 0, ann), [left("bob")]);
        let eve = nodes.connect(1);
        nodes.send(1, eve, &format!("as eve\nsub {name}\n"));
        assert_eq!(told(&mut nodes, 0, ann), [joined("eve")]);
        nodes.bus.cut_off(1);
        nodes.pass(Duration::from_secs(8));
        assert_eq!(told(&mut nodes, 0, ann), [left("eve")]);
        // Meanwhile others came there.
        let kim = nodes.connect(1);
        nodes.send(1, kim, &format!("as kim\nsub {name}\n"));
        nodes.bus.connect(1);
        let mut came = told(&mut nodes, 0, ann);
        came.sort_by_key(|heard| format!("{heard:?}"));
        assert_eq!(came, [joined("eve"), joined("kim")]);
        assert_eq!(users(&mut nodes, 1, name), ["ann", "eve", "kim"]);
    }
}
