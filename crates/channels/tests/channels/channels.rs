//! The messages that subscribers get: on one scheduler and on several, with and without a history, slow or not.

use std::time::Duration;

use crate::stage::{Heard, heard, messages, stage};
use channels::{Access, ChannelGlob, ChannelPolicy, HistoryRules, Rulebook, SlowPolicy, limits};
use runtime::scheduler::TurnWait;
use world::{ClientId, Stage, Stall};

const KEPT: HistoryRules = HistoryRules { count: 100, bytes: 100_000, age_ms: 60_000 };

fn all(rules: ChannelPolicy) -> Rulebook {
    Rulebook::new([(ChannelGlob::new("*"), rules)])
}

fn kept() -> Rulebook {
    all(ChannelPolicy { history: KEPT, ..ChannelPolicy::default() })
}

/// The counts of each scheduler: channels, subscriptions, bytes of histories.
fn known(stage: &mut Stage<crate::stage::Lines>) -> Vec<(u64, u64, u64)> {
    let stats = stage.schedulers().iter_mut().map(|scheduler| scheduler.service().channels.stats());
    stats.map(|stats| (stats.channels, stats.subscriptions, stats.history_bytes)).collect()
}

#[test]
fn every_subscriber_gets_every_message_in_one_order_on_any_number_of_schedulers() {
    for schedulers in 1..=3 {
        let mut stage = stage(schedulers, Rulebook::default());
        let clients: Vec<_> = (0..12).map(|_| stage.connect()).collect();
        for client in &clients {
            stage.send(*client, b"sub news\nsub other\n");
            stage.received(*client);
        }
        // Two publishers at once: their order is the same for all.
        stage.world().client_send(clients[0], b"pub news a1\npub news a2\n");
        stage.world().client_send(clients[1], b"pub news b1\npub news b2\n");
        stage.send(clients[2], b"pub nobody lost\n");
        let first = messages(&stage.received(clients[0]));
        let mut sorted = first.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, ["a1", "a2", "b1", "b2"], "{schedulers} schedulers");
        for client in &clients[1..] {
            assert_eq!(messages(&stage.received(*client)), first);
        }
        for client in &clients {
            stage.send(*client, b"unsub news\n");
        }
        stage.send(clients[3], b"pub news late\n");
        assert_eq!(messages(&stage.received(clients[0])), Vec::<String>::new());
        for client in clients {
            stage.world().client_close(client);
        }
        stage.rest();
        assert_eq!(known(&mut stage), vec![(0, 0, 0); usize::from(schedulers)]);
    }
}

/// The first positions of channels differ by scheduler and name, so they are learned.
fn position(stage: &mut Stage<crate::stage::Lines>, name: &str) -> String {
    let client = stage.connect();
    stage.send(client, format!("sub {name}\n").as_bytes());
    let told = stage.received(client);
    stage.world().client_close(client);
    match heard(&told).as_slice() {
        [Heard::At(position)] => position.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_client_that_comes_back_gets_what_it_missed() {
    for schedulers in 1..=3 {
        let mut stage = stage(schedulers, kept());
        let publisher = stage.connect();
        stage.send(publisher, b"pub c one\npub c two\npub c three\n");
        let now = position(&mut stage, "c");
        let (epoch, last) = now.split_once('-').unwrap();
        assert_eq!(last, "3");
        let client = stage.connect();
        stage.send(client, format!("sub c {epoch}-1\n").as_bytes());
        let told = heard(&stage.received(client));
        let message = |offset: u64, text: &str| {
            Heard::Message(Some(format!("{epoch}-{offset}")), text.to_owned())
        };
        let from = Heard::At(format!("{epoch}-1"));
        assert_eq!(told, [from, message(2, "two"), message(3, "three")]);
        stage.send(publisher, b"pub c four\n");
        assert_eq!(heard(&stage.received(client)), [message(4, "four")], "{schedulers} schedulers");
    }
}

#[test]
fn a_client_whose_messages_are_gone_is_told_so() {
    let rules =
        ChannelPolicy { history: HistoryRules { count: 2, ..KEPT }, ..ChannelPolicy::default() };
    for schedulers in 1..=2 {
        let mut stage = stage(schedulers, all(rules.clone()));
        let publisher = stage.connect();
        stage.send(publisher, b"pub c 1\npub c 2\npub c 3\npub c 4\n");
        let now = position(&mut stage, "c");
        let (epoch, _) = now.split_once('-').unwrap();
        let mut subscribe = |since: &str| {
            let client = stage.connect();
            stage.send(client, format!("sub c {since}\n").as_bytes());
            heard(&stage.received(client))
        };
        let told = subscribe(&format!("{epoch}-1"));
        assert_eq!(told[..2], [Heard::At(format!("{epoch}-2")), Heard::Lost], "{told:?}");
        assert_eq!(told.len(), 4);
        assert_eq!(subscribe(&format!("{epoch}-2")).len(), 3);
        // Another epoch, and a position that was not reached yet.
        assert_eq!(subscribe("abc-1"), [Heard::At(now.clone()), Heard::Lost]);
        assert_eq!(subscribe(&format!("{epoch}-5")), [Heard::At(now.clone()), Heard::Lost]);
    }
}

#[test]
fn a_history_ends_with_its_age_and_its_channel_is_forgotten() {
    for schedulers in 1..=2 {
        let mut stage = stage(schedulers, kept());
        let client = stage.connect();
        stage.send(client, b"pub c text\npub d \n");
        let before: u64 = known(&mut stage).iter().map(|(channels, ..)| channels).sum();
        assert_eq!(before, 2);
        stage.pass(Duration::from_secs(125));
        assert_eq!(known(&mut stage), vec![(0, 0, 0); usize::from(schedulers)]);
    }
}

#[test]
fn a_pattern_gets_the_messages_of_all_channels_that_fit() {
    for schedulers in 1..=3 {
        let mut stage = stage(schedulers, Rulebook::default());
        let (one, other) = (stage.connect(), stage.connect());
        stage.send(one, b"psub news.*\n");
        stage.send(other, b"pub news.a hello\npub old.a no\n");
        let told = stage.received(one);
        assert_eq!(told, "*4\r\n$8\r\npmessage\r\n$6\r\nnews.*\r\n$6\r\nnews.a\r\n$5\r\nhello\r\n");
        stage.send(one, b"unsub news.*\n");
        stage.send(other, b"pub news.a again\n");
        assert_eq!(stage.received(one), "");
    }
}

#[test]
fn a_table_that_is_full_forgets_a_channel_without_subscribers() {
    let mut stage = stage(1, kept());
    let (publisher, subscriber) = (stage.connect(), stage.connect());
    stage.send(subscriber, b"sub c0\n");
    for hundred in 0..=limits::CHANNELS / 100 {
        let lines = (0..100).map(|number| format!("pub c{} x\n", hundred * 100 + number));
        stage.send(publisher, lines.collect::<String>().as_bytes());
    }
    assert_eq!(stage.received(publisher), "", "nothing is refused");
    let stats = stage.schedulers()[0].service().channels.stats();
    assert_eq!((stats.channels, stats.evicted), (limits::CHANNELS as u64, 100));
    stage.received(subscriber);
    stage.send(publisher, b"pub c0 still here\n");
    assert_eq!(messages(&stage.received(subscriber)), ["still here"]);
}

/// An answer to a poll without its epoch, which differs each time.
fn polled(text: &str) -> String {
    let text = text.trim_end();
    let rest = text.split_once('-').map_or("", |(_, rest)| rest);
    rest.to_owned()
}

#[test]
fn a_poll_waits_for_the_next_message_and_costs_nothing_meanwhile() {
    for schedulers in 1..=3 {
        let mut stage = stage(schedulers, kept());
        let (publisher, clients) = (stage.connect(), [(); 4].map(|()| stage.connect()));
        for client in clients {
            stage.send(client, b"poll c 20\n");
            assert_eq!(stage.received(client), "", "{schedulers} schedulers");
        }
        // A scheduler that kept running for a waiting poll would never stop, nor would the stage.
        stage.pass(Duration::from_secs(3));
        stage.send(publisher, b"pub c hello\n");
        let message = "{\"channel\":\"c\",\"offset\":1,\"data\":\"hello\"}";
        let expected = format!("1\",\"recovered\":true,\"messages\":[{message}]}}");
        for client in clients {
            assert_eq!(polled(&stage.received(client)), expected);
            // The history answers at once; after it a poll waits until its time is over.
            assert_eq!(polled(&stage.exchange(client, "poll c 20\n")), expected);
            let now = position(&mut stage, "c");
            assert_eq!(stage.exchange(client, &format!("poll c 2 {now}\n")), "");
        }
        stage.pass(Duration::from_secs(4));
        for client in clients {
            let over = "1\",\"recovered\":true,\"messages\":[]}";
            assert_eq!(polled(&stage.received(client)), over);
            let lost = stage.exchange(client, "poll c 20 abc-7\n");
            assert!(lost.contains("\"recovered\":false"), "{lost}");
            stage.send(client, b"poll d 20\n");
            stage.world().client_reset(client);
        }
        stage.pass(Duration::from_secs(125));
        assert_eq!(known(&mut stage), vec![(0, 0, 0); usize::from(schedulers)]);
    }
}

/// A channel with twenty messages of 60 KB.
fn with_long_history() -> Stage<crate::stage::Lines> {
    let history = HistoryRules { count: 100, bytes: 4 << 20, age_ms: 600_000 };
    let mut stage = stage(1, all(ChannelPolicy { history, ..ChannelPolicy::default() }));
    let publisher = stage.connect();
    for _ in 0..20 {
        stage.send(publisher, format!("pub long {}\n", "x".repeat(60_000)).as_bytes());
    }
    stage
}

#[test]
fn a_long_history_is_polled_in_parts() {
    let mut stage = with_long_history();
    let reader = stage.connect();
    let (mut since, mut offsets, mut answers) = (String::new(), Vec::new(), 0);
    while offsets.len() < 20 {
        let answer = stage.exchange(reader, &format!("poll long 20 {since}\n"));
        assert!(answer.len() < limits::POLL_ANSWER_SIZE + 200, "{} bytes", answer.len());
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["recovered"], true, "answer {answers}");
        let messages = answer["messages"].as_array().unwrap();
        assert!(!messages.is_empty(), "answer {answers}");
        offsets.extend(messages.iter().map(|message| message["offset"].as_u64().unwrap()));
        since = answer["since"].as_str().unwrap().to_owned();
        answers += 1;
    }
    assert_eq!(offsets, Vec::from_iter(1..=20));
    assert_eq!((answers, since), (5, position(&mut stage, "long")));
}

#[test]
fn many_polls_are_answered_in_several_turns_the_oldest_first() {
    let mut stage = with_long_history();
    let clients: Vec<_> = (0..100).map(|_| stage.connect()).collect();
    for client in &clients {
        stage.world().client_send(*client, b"poll long 20\n");
    }
    let mut left = clients.as_slice();
    while !left.is_empty() {
        assert!(stage.schedulers()[0].turn(TurnWait::Forbidden).unwrap(), "{} wait", left.len());
        let is_answered = |client: &ClientId| !stage.world().client_received(*client).is_empty();
        let answered: Vec<bool> = left.iter().map(is_answered).collect();
        let count = answered.iter().filter(|is_answered| **is_answered).count();
        // One answer is a little shorter than what a turn may write, so a second one begins.
        assert!(count <= 2, "{count} answers in one turn");
        assert!(
            answered.iter().take(count).all(|is_answered| *is_answered),
            "the oldest come first"
        );
        left = &left[count..];
    }
    assert_eq!(stage.schedulers()[0].service().channels.stats().subscriptions, 0);
}

#[test]
fn publish_without_right_is_refused() {
    let closed = ChannelPolicy {
        subscribe: Access::Closed,
        publish: Access::Closed,
        ..ChannelPolicy::default()
    };
    let small = ChannelPolicy { message_size: 3, ..ChannelPolicy::default() };
    let book =
        Rulebook::new([(ChannelGlob::new("closed"), closed), (ChannelGlob::new("*"), small)]);
    let mut stage = stage(2, book);
    let client = stage.connect();
    assert_eq!(
        stage.exchange(client, "sub closed\n"),
        "refused: the channel's rules do not allow it\n\n"
    );
    assert_eq!(
        stage.exchange(client, "pub closed a\n"),
        "refused: the channel's rules do not allow it\n\n"
    );
    let too_large = "refused: the message is larger than the channel's `message_size`\n\n";
    assert_eq!(stage.exchange(client, "pub a 1234\n"), too_large);
    assert_eq!(stage.exchange(client, "pub a 123\n"), "");
}

/// A client that does not read, and what it has received when it reads again.
fn stalled(slow: SlowPolicy, history: HistoryRules) -> (Vec<Heard>, bool, channels::ChannelStats) {
    let mut stage =
        stage(1, all(ChannelPolicy { slow, history, behind: 10_000, ..ChannelPolicy::default() }));
    let (reader, publisher) = (stage.connect(), stage.connect());
    stage.send(reader, b"sub c\n");
    stage.world().client_stall(reader, Stall::Reading);
    for number in 0..400 {
        stage.send(publisher, format!("pub c {number:05}{}\n", "x".repeat(1000)).as_bytes());
    }
    stage.world().client_stall(reader, Stall::Nothing);
    let mut text = stage.received(reader);
    stage.send(publisher, b"pub c end\n");
    text.push_str(&stage.received(reader));
    let is_closed = stage.is_closed(reader);
    (heard(&text), is_closed, stage.schedulers()[0].service().channels.stats())
}

/// The numbers of messages, without the text that makes them long.
fn numbers(heard: &[Heard]) -> Vec<String> {
    let texts = heard.iter().filter_map(|heard| match heard {
        Heard::Message(_, text) => Some(text.trim_end_matches('x').to_owned()),
        _ => None,
    });
    texts.collect()
}

#[test]
fn a_slow_subscriber_is_disconnected_when_more_than_its_bound_waits() {
    let (told, is_closed, stats) = stalled(SlowPolicy::Disconnect, KEPT);
    assert_eq!((told.last(), is_closed), (Some(&Heard::Other("too slow".to_owned())), true));
    assert_eq!((stats.disconnected_slow, stats.subscriptions), (1, 0));
    let got = numbers(&told);
    let dense = got.iter().enumerate().all(|(at, number)| number.parse() == Ok(at));
    assert!(dense && got.len() < 400, "{got:?}");
}

#[test]
fn a_slow_subscriber_loses_the_oldest_messages_and_they_are_counted() {
    let (told, is_closed, stats) =
        stalled(SlowPolicy::DropOldest, HistoryRules { count: 5, ..KEPT });
    let got = numbers(&told);
    assert!(!is_closed);
    assert_eq!(got[got.len() - 6..], ["00395", "00396", "00397", "00398", "00399", "end"]);
    assert!(got.is_sorted() && stats.dropped > 0);
    assert_eq!(stats.dropped + stats.delivered, 401);
    assert_eq!(got.len() as u64, stats.delivered);
}

#[test]
fn a_slow_subscriber_gets_the_latest_message_alone() {
    let (told, is_closed, stats) = stalled(SlowPolicy::Latest, KEPT);
    let got = numbers(&told);
    assert!(!is_closed);
    assert_eq!(got[got.len() - 2..], ["00399", "end"]);
    assert!(got.len() < 200 && got.is_sorted(), "{got:?}");
    assert_eq!((stats.dropped + stats.delivered, got.len() as u64), (401, stats.delivered));
}

#[test]
fn messages_of_one_turn_that_pass_the_bound_are_made_up_for_when_the_peer_takes_all() {
    // Two channels in one turn: what the first has queued makes the second too much, although nothing waits in the
    // socket.
    let rules = ChannelPolicy {
        slow: SlowPolicy::DropOldest,
        history: KEPT,
        behind: 1_500,
        ..ChannelPolicy::default()
    };
    let mut stage = stage(1, all(rules));
    let (reader, publisher) = (stage.connect(), stage.connect());
    stage.send(reader, b"sub c\nsub d\n");
    stage.received(reader);
    let long = "x".repeat(1000);
    stage.send(publisher, format!("pub c {long}\npub d {long}\n").as_bytes());
    stage.pass(Duration::from_millis(10));
    assert_eq!(messages(&stage.received(reader)).len(), 2);
    stage.send(publisher, b"pub d more\n");
    assert_eq!(messages(&stage.received(reader)), ["more"]);
}
