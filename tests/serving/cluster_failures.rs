//! Goal: what a cluster promises when something breaks. Method: the built servers and a real NATS, which is paused,
//! ended, or started with nothing; skipped where `nats-server` is not installed.

use serde_json::Value;

use crate::server::channel::say;
use crate::server::nats::Nats;
use crate::server::patience::until;
use crate::server::{Server, configuration};

use super::cluster::{events, poll, publish, texts};

const CONFIG: &str =
    "[[channel]]\npattern = \"chat.*\"\nhistory = 100\n[[channel]]\npattern = \"news.*\"\n";

/// Waits until `ctl status` says this of the cluster.
pub(crate) fn until_cluster(server: &Server, state: &str) {
    until(state, || (server.told("/status")["cluster"]["state"] == state).then_some(()));
}

#[test]
fn node_that_is_killed_takes_nothing_with_it() {
    let test = "node_that_is_killed_takes_nothing_with_it";
    let Some(nats) = Nats::start(test) else { return };
    let (one, two) = (nats.node("one", CONFIG), nats.node("two", CONFIG));
    let (_, first) = publish(&two, "chat.a", "first");
    let mut stream = events(&one, "chat.a");
    assert_eq!(publish(&two, "chat.a", "second").0, 200);
    say(&mut stream, b"", b"data: second\n\n");
    two.signal("KILL");
    assert_eq!(publish(&one, "chat.a", "third").0, 200);
    say(&mut stream, b"", b"data: third\n\n");
    // A client of that node goes on here.
    let rest = poll(&one, "chat.a", first["since"].as_str().unwrap());
    assert_eq!(texts(&rest), ["second", "third"]);
    assert_eq!(rest["recovered"], true, "{rest}");
}

#[test]
fn nodes_without_nats_serve_on_and_catch_up() {
    let test = "nodes_without_nats_serve_on_and_catch_up";
    let Some(nats) = Nats::start(test) else { return };
    let (one, two) = (nats.node("one", CONFIG), nats.node("two", CONFIG));
    let (mut news, mut chat) = (events(&one, "news.a"), events(&one, "chat.a"));
    assert_eq!(publish(&two, "chat.a", "before").0, 200);
    say(&mut chat, b"", b"data: before\n\n");
    nats.signal("STOP");
    until_cluster(&one, "away");
    let status = one.told("/status");
    assert!(status["cluster"]["problem"].as_str().unwrap().contains("silent"), "{status}");
    // Channels without a history go on within the node.
    assert_eq!(publish(&one, "news.a", "local").0, 200);
    say(&mut news, b"", b"data: local\n\n");
    // Those with one wait, and say so.
    let (refused, why) = publish(&one, "chat.a", "not confirmed");
    assert_eq!(refused, 503, "{why}");
    nats.signal("CONT");
    until_cluster(&one, "connected");
    until_cluster(&two, "connected");
    assert_eq!(publish(&two, "chat.a", "after").0, 200);
    let seen = String::from_utf8(say(&mut chat, b"", b"data: after\n\n")).unwrap();
    assert!(!seen.contains("event: lost"), "{seen}");
    assert!(one.count("/cluster/connections") > 2);
}

#[test]
fn message_that_waits_for_nats_is_published_when_it_is_back() {
    let test = "message_that_waits_for_nats_is_published_when_it_is_back";
    let Some(nats) = Nats::start(test) else { return };
    let section = format!("{}publish_wait = \"60s\"\n", nats.section("one"));
    let one = nats.node_of(&format!("{CONFIG}\n{section}"));
    assert_eq!(publish(&one, "chat.a", "before").0, 200);
    nats.signal("STOP");
    until_cluster(&one, "away");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| publish(&one, "chat.a", "waits"));
        until("a commit that waits", || (one.count("/cluster/committing") == 1).then_some(()));
        nats.signal("CONT");
        assert_eq!(waiting.join().unwrap().0, 200);
    });
    assert_eq!(texts(&poll(&one, "chat.a", "0-0")), ["before", "waits"]);
}

#[test]
fn history_that_grows_does_not_hide_what_it_had_dropped() {
    let test = "history_that_grows_does_not_hide_what_it_had_dropped";
    let Some(nats) = Nats::start(test) else { return };
    let node = |name: &str, history: u32| {
        let rules = format!("[[channel]]\npattern = \"chat.*\"\nhistory = {history}\n");
        nats.node_of(&format!("{rules}{}streams = 1\n", nats.section(name)))
    };
    let one = node("one", 3);
    // Its stream begins with this message for as long as there is one.
    assert_eq!(publish(&one, "chat.old", "first of all").0, 200);
    let (_, first) = publish(&one, "chat.a", "0");
    for number in 1..9 {
        assert_eq!(publish(&one, "chat.a", &number.to_string()).0, 200);
    }
    let two = node("two", 20);
    let rest = poll(&two, "chat.a", first["since"].as_str().unwrap());
    assert_eq!((texts(&rest).len(), &rest["recovered"]), (3, &Value::Bool(false)), "{rest}");
}

#[test]
fn history_that_a_reload_lengthens_is_kept_from_then_on() {
    let test = "history_that_a_reload_lengthens_is_kept_from_then_on";
    let Some(nats) = Nats::start(test) else { return };
    let rules = |history: u32| format!("[[channel]]\npattern = \"chat.*\"\nhistory = {history}\n");
    let one = nats.node("one", &rules(3));
    // Its stream is there.
    assert_eq!(publish(&one, "chat.a", "before").0, 200);
    let longer = format!("{}\n{}", rules(20), nats.section("one"));
    one.directory().write("velodrome.toml", configuration(&longer));
    assert!(one.ctl(&["reload"]).status.success());
    // Each time in a channel of its own, because the stream grows at a moment of NATS.
    let mut channels = (0..).map(|number| format!("chat.{number}"));
    until("nine messages to be kept", || {
        let channel = channels.next()?;
        for number in 0..9 {
            assert_eq!(publish(&one, &channel, &number.to_string()).0, 200);
        }
        (texts(&poll(&one, &channel, "0-0")).len() == 9).then_some(())
    });
}

#[test]
fn streams_that_are_lost_begin_anew_and_clients_are_told() {
    let test = "streams_that_are_lost_begin_anew_and_clients_are_told";
    let Some(mut nats) = Nats::start(test) else { return };
    let (one, two) = (nats.node("one", CONFIG), nats.node("two", CONFIG));
    let mut stream = events(&one, "chat.a");
    let (_, before) = publish(&two, "chat.a", "before");
    say(&mut stream, b"", b"data: before\n\n");
    nats.restart();
    // Whoever has heard of the loss gets every message behind it.
    say(&mut stream, b"", b"event: lost\n");
    until_cluster(&two, "connected");
    let (status, after) = publish(&two, "chat.a", "after");
    assert_eq!(status, 200);
    say(&mut stream, b"", b"data: after\n\n");
    let (before, after) = (before["since"].as_str().unwrap(), after["since"].as_str().unwrap());
    let epoch = |position: &str| position.split('-').next().unwrap().to_owned();
    assert_ne!(epoch(before), epoch(after));
    let rest = poll(&two, "chat.a", before);
    assert_eq!(rest["recovered"], false, "{rest}");
}
