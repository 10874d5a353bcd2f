//! Goal: what a cluster promises when a network falls into halves: one node no longer reaches NATS, and with it no
//! other node, while the rest goes on. Method: the built servers, and a real NATS in a network namespace of its own,
//! whose cables are cut; skipped where no namespace can be made.

use serde_json::json;

use crate::server::Server;
use crate::server::channel::{frame, order, say};
use crate::server::island::Island;
use crate::server::patience::until;

use super::cluster::{KEYS, WITH_USERS, events, members, poll, publish, texts, user};
use super::cluster_failures::until_cluster;

const CHANNELS: &str =
    "[[channel]]\npattern = \"chat.*\"\nhistory = 100\n[[channel]]\npattern = \"news.*\"\n";

fn until_members(server: &Server, wanted: &[&str]) {
    until(&format!("{wanted:?}"), || (members(server, "room.a") == wanted).then_some(()));
}

#[test]
fn users_of_a_node_that_is_cut_off_leave_and_come_back_once() {
    let test = "users_of_a_node_that_is_cut_off_leave_and_come_back_once";
    let Some(island) = Island::start(test, 2) else { return };
    let (one, two) = (island.node(0, WITH_USERS, &KEYS), island.node(1, WITH_USERS, &KEYS));
    let mut bob = user(&two, "bob", "room.a");
    let mut ann = user(&one, "ann", "room.a");
    let _both = (user(&one, "eve", "room.a"), user(&two, "eve", "room.a"));
    for node in [&one, &two] {
        until_members(node, &["ann", "bob", "eve"]);
    }
    // Messages that were told before are of no interest.
    let mark = |server: &Server, text: &str| {
        let answer = order(server, &json!({ "publish": "room.a", "data": text }));
        assert!(answer.get("error").is_none(), "{answer}");
    };
    mark(&one, "before");
    for socket in [&mut ann, &mut bob] {
        say(socket, b"", b"before");
    }
    island.cut(0);
    let mut told = say(&mut bob, b"", b"\"left\":\"ann\"");
    until_members(&two, &["bob", "eve"]);
    until_cluster(&one, "away");
    // The node that is cut off cannot know who has left: the silence of all others says nothing of each.
    assert_eq!(members(&one, "room.a"), ["ann", "bob", "eve"]);
    island.mend(0);
    until_cluster(&one, "connected");
    for node in [&one, &two] {
        until_members(node, &["ann", "bob", "eve"]);
    }
    mark(&two, "after");
    told.extend(say(&mut bob, b"", b"after"));
    let told = String::from_utf8_lossy(&told).into_owned();
    let count = |what: &str| told.matches(what).count();
    assert_eq!((count("\"left\":\"ann\""), count("\"joined\":\"ann\"")), (1, 1), "{told}");
    assert_eq!(
        (count("\"eve\""), count("\"bob\"")),
        (0, 0),
        "they were there all the time: {told}"
    );
    let seen = String::from_utf8_lossy(&say(&mut ann, b"", b"after")).into_owned();
    assert!(!seen.contains("\"left\"") && !seen.contains("\"joined\""), "{seen}");
    // It is still subscribed, and heard.
    say(&mut ann, &frame("{\"unsubscribe\":\"room.a\"}"), b"unsubscribed");
    say(&mut bob, b"", b"\"left\":\"ann\"");
}

#[test]
fn the_rest_goes_on_and_the_node_that_was_cut_off_reads_what_it_missed() {
    let test = "the_rest_goes_on_and_the_node_that_was_cut_off_reads_what_it_missed";
    let Some(island) = Island::start(test, 3) else { return };
    let [one, two, three] = [0, 1, 2].map(|cable| island.node(cable, CHANNELS, &[]));
    let (mut cut_off, mut other) = (events(&one, "chat.a"), events(&three, "chat.a"));
    let mut news = events(&one, "news.a");
    let (_, before) = publish(&two, "chat.a", "before");
    say(&mut cut_off, b"", b"data: before\n\n");
    island.cut(0);
    // The rest does not even notice.
    for number in 0..50 {
        assert_eq!(publish(&two, "chat.a", &format!("m{number}")).0, 200);
    }
    say(&mut other, b"", b"data: m49\n\n");
    until_cluster(&one, "away");
    assert_eq!(publish(&one, "chat.a", "refused").0, 503, "it says that it cannot know");
    assert_eq!(publish(&one, "news.a", "local").0, 200);
    say(&mut news, b"", b"data: local\n\n");
    island.mend(0);
    let seen = String::from_utf8(say(&mut cut_off, b"", b"data: m49\n\n")).unwrap();
    let lines: Vec<&str> = seen.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    let wanted: Vec<String> = (0..50).map(|number| format!("m{number}")).collect();
    assert!(!seen.contains("event: lost"), "{seen}");
    assert_eq!(lines, wanted, "each once, and in order");
    until_cluster(&one, "connected");
    let rest = poll(&one, "chat.a", before["since"].as_str().unwrap());
    assert_eq!((texts(&rest).len(), &rest["recovered"]), (50, &json!(true)), "{rest}");
}
