//! Goal: channels of several servers with a real NATS between them. Method: the built servers with plain sockets;
//! skipped where `nats-server` is not installed. `cluster_failures` breaks something.

use std::net::TcpStream;

use serde_json::{Value, json};

use crate::server::Server;
use crate::server::channel::{API_KEY, SECRET, ask, connect, order, resp, say, token, websocket};
use crate::server::client::text;
use crate::server::nats::Nats;
use crate::server::patience::until;

const CONFIG: &str =
    "[[channel]]\npattern = \"chat.*\"\nhistory = 100\n[[channel]]\npattern = \"news.*\"\n";

/// An event stream of a channel, which is subscribed, after a position.
fn events_after(server: &Server, channel: &str, since: &str) -> TcpStream {
    let mut events = connect(server.address());
    let request = format!(
        "GET /channels/{channel}{since} HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n"
    );
    say(&mut events, request.as_bytes(), b"id: ");
    events
}

/// An event stream of a channel, which is subscribed.
pub(crate) fn events(server: &Server, channel: &str) -> TcpStream {
    events_after(server, channel, "")
}

/// The answer to a message that was published over HTTP.
pub(crate) fn publish(server: &Server, channel: &str, body: &str) -> (u16, Value) {
    publish_with(server, channel, body, &[])
}

fn publish_with(
    server: &Server,
    channel: &str,
    body: &str,
    fields: &[(&str, &str)],
) -> (u16, Value) {
    let answer = ask(server, "POST", &format!("/channels/{channel}"), fields, body.as_bytes());
    (answer.status, serde_json::from_slice(&answer.body).unwrap_or(Value::Null))
}

/// The answer to a long poll that does not wait.
pub(crate) fn poll(server: &Server, channel: &str, since: &str) -> Value {
    let answer = ask(server, "GET", &format!("/channels/{channel}?since={since}&wait=0"), &[], b"");
    serde_json::from_slice(&answer.body).unwrap()
}

/// The texts of an answer to a long poll.
pub(crate) fn texts(answer: &Value) -> Vec<String> {
    let messages = answer["messages"].as_array().unwrap().iter();
    messages.map(|one| one["data"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn message_of_one_node_reaches_clients_of_all_protocols_on_another() {
    let test = "message_of_one_node_reaches_clients_of_all_protocols_on_another";
    let Some(nats) = Nats::start(test) else { return };
    let (one, two) = (nats.node("one", CONFIG), nats.node("two", CONFIG));
    for channel in ["news.a", "chat.a"] {
        let mut stream = events(&two, channel);
        let mut socket = websocket(&two, &format!("/channels/{channel}"));
        let mut redis = connect(resp(&two));
        say(&mut redis, format!("SUBSCRIBE {channel}\r\n").as_bytes(), b":1\r\n");
        // A node's subscription in NATS is in force when a message of its own has come back or gone on.
        let (status, _) = publish(&two, channel, "first");
        assert_eq!(status, 200);
        say(&mut stream, b"", b"data: first\n\n");
        assert_eq!(publish(&one, channel, "by post").0, 200);
        say(&mut stream, b"", b"data: by post\n\n");
        say(&mut socket, b"", b"by post");
        say(&mut redis, b"", b"\r\nby post\r\n");
        say(&mut connect(resp(&one)), format!("PUBLISH {channel} redis\r\n").as_bytes(), b"\r\n");
        say(&mut stream, b"", b"data: redis\n\n");
    }
}

#[test]
fn redis_pattern_on_one_node_hears_channels_of_another() {
    let test = "redis_pattern_on_one_node_hears_channels_of_another";
    let Some(nats) = Nats::start(test) else { return };
    let (one, two) = (nats.node("one", CONFIG), nats.node("two", CONFIG));
    let mut redis = connect(resp(&two));
    say(&mut redis, b"PSUBSCRIBE *.a\r\n", b":1\r\n");
    // It is active on all nodes as soon as it is confirmed.
    for channel in ["news.a", "chat.a"] {
        assert_eq!(publish(&one, channel, channel).0, 200);
        say(&mut redis, b"", format!("\r\n{channel}\r\n$6\r\n{channel}\r\n").as_bytes());
    }
}

#[test]
fn all_nodes_have_one_order_and_one_history() {
    let test = "all_nodes_have_one_order_and_one_history";
    let Some(nats) = Nats::start(test) else { return };
    let nodes = ["one", "two", "three"].map(|name| nats.node(name, CONFIG));
    let mut streams = nodes.each_ref().map(|node| events(node, "chat.a"));
    std::thread::scope(|scope| {
        for (number, node) in nodes.iter().enumerate() {
            scope.spawn(move || {
                for message in 0..20 {
                    assert_eq!(publish(node, "chat.a", &format!("{number}-{message:02}")).0, 200);
                }
            });
        }
    });
    assert_eq!(publish(&nodes[0], "chat.a", "last").0, 200);
    let seen = streams.each_mut().map(|stream| say(stream, b"", b"data: last\n\n"));
    assert_eq!(seen[0], seen[1], "one order, and one position for each message");
    assert_eq!(seen[0], seen[2]);
    let histories = nodes.each_ref().map(|node| poll(node, "chat.a", "0-0"));
    assert_eq!(texts(&histories[0]).len(), 61);
    assert_eq!(histories[0]["messages"], histories[1]["messages"]);
    assert_eq!(histories[0]["messages"], histories[2]["messages"]);
    // A node that nobody has asked yet has it as well, and a client goes on there.
    let four = nats.node("four", CONFIG);
    let text = String::from_utf8(seen[0].clone()).unwrap();
    let ids: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("id: ")).collect();
    let position = ids[ids.len() - 4];
    let rest = poll(&four, "chat.a", position);
    assert_eq!((texts(&rest).len(), &rest["recovered"]), (3, &json!(true)), "{rest}");
    let mut stream = events_after(&four, "chat.a", &format!("?since={position}"));
    assert_eq!(publish(&nodes[1], "chat.a", "to four").0, 200);
    let seen = String::from_utf8(say(&mut stream, b"", b"data: to four\n\n")).unwrap();
    assert!(!seen.contains("event: lost"), "{seen}");
}

#[test]
fn message_with_a_key_is_published_once_by_two_nodes() {
    let test = "message_with_a_key_is_published_once_by_two_nodes";
    let Some(nats) = Nats::start(test) else { return };
    let (one, two) = (nats.node("one", CONFIG), nats.node("two", CONFIG));
    let key = [("Idempotency-Key", "once")];
    let (status, first) = publish_with(&one, "chat.a", "x", &key);
    let (again, second) = publish_with(&two, "chat.a", "x", &key);
    assert_eq!((status, again), (200, 200));
    assert_eq!(first["since"], second["since"]);
    assert_eq!(texts(&poll(&two, "chat.a", "0-0")), ["x"]);
}

/// Channels with users, and programs that may do all.
pub(crate) const WITH_USERS: &str = "[[channel]]\npattern = \"room.*\"\nhistory = 10\npresence = true\n\
     subscribe = \"token\"\n[channels]\ntoken_keys = \"token.keys\"\napi_keys = \"api.keys\"\n";

/// The files for that.
pub(crate) const KEYS: [(&str, &str); 2] = [("token.keys", SECRET), ("api.keys", API_KEY)];

fn with_users(nats: &Nats, name: &str) -> Server {
    nats.node_with(name, WITH_USERS, &KEYS)
}

/// A WebSocket of a user who is subscribed.
pub(crate) fn user(server: &Server, name: &str, channel: &str) -> TcpStream {
    let token = token(&format!("\"sub\":\"{name}\",\"subscribe\":[\"room.*\"]"), 600);
    let mut socket = websocket(server, &format!("/channels?token={token}"));
    let order = format!("{{\"subscribe\":\"{channel}\"}}");
    say(&mut socket, &crate::server::channel::frame(&order), b"\"subscribed\"");
    socket
}

pub(crate) fn members(server: &Server, channel: &str) -> Vec<String> {
    let answer = order(server, &json!({ "members": channel }));
    let users = answer["users"].as_array().unwrap().iter();
    users.map(|user| user["user"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn users_of_all_nodes_are_present_once_and_leave_with_their_node() {
    let test = "users_of_all_nodes_are_present_once_and_leave_with_their_node";
    let Some(nats) = Nats::start(test) else { return };
    let (one, two) = (with_users(&nats, "one"), with_users(&nats, "two"));
    let mut ann = user(&one, "ann", "room.a");
    let _bob = user(&two, "bob", "room.a");
    say(&mut ann, b"", b"\"joined\":\"bob\"");
    let _ann_too = user(&two, "ann", "room.a");
    for node in [&one, &two] {
        until("all members", || (members(node, "room.a") == ["ann", "bob"]).then_some(()));
    }
    // The other node ends without a word.
    two.signal("KILL");
    say(&mut ann, b"", b"\"left\":\"bob\"");
    assert_eq!(members(&one, "room.a"), ["ann"]);
}

#[test]
fn orders_for_users_and_questions_reach_all_nodes() {
    let test = "orders_for_users_and_questions_reach_all_nodes";
    let Some(nats) = Nats::start(test) else { return };
    let (one, two) = (with_users(&nats, "one"), with_users(&nats, "two"));
    until("the other node", || {
        let status = one.told("/status");
        (status["cluster"]["nodes"][0]["name"] == "two").then_some(())
    });
    let mut ann = user(&two, "ann", "room.a");
    let channels = order(&one, &json!({ "channels": "room.*" }));
    assert_eq!(channels["channels"]["room.a"], 1, "{channels}");
    assert_eq!(order(&one, &json!({ "disconnect": "ann" })), json!({}));
    // A close frame, then the end.
    say(&mut ann, b"", b"\x88");
    two.reaches("/channels/subscriptions", 0);
}

/// A module that tells every 50 ms which server runs it.
fn ticking(name: &str) -> String {
    format!(
        "return function() while true do channel.publish('news.tick', '{name}') sleep(0.05) end end"
    )
}

/// A page whose process has a name in the cluster until it is told to end, and what the page was told of it.
const NAMED: &str = "<% local page = self() spawn(function() local given, why = register('captain', 'cluster') \
                     send(page, given and 'captain' or why) if given then receive(600) end end) -%>\n\
                     <%= receive(25) or 'silence' %>";

#[test]
fn a_name_is_one_process_of_the_cluster_and_free_when_its_server_has_ended() {
    let test = "a_name_is_one_process_of_the_cluster_and_free_when_its_server_has_ended";
    let Some(nats) = Nats::start(test) else { return };
    let end = "<%= tostring(send('captain', 'end')) %>";
    let pages = [("site/named.page.txt", NAMED), ("site/end.page.txt", end)];
    let [mut one, two] = ["one", "two"].map(|name| nats.node_with(name, CONFIG, &pages));
    let asked = |server: &Server| text(&server.get("/named")).trim().to_owned();
    assert_eq!(asked(&one), "captain");
    for server in [&one, &two] {
        assert_eq!(asked(server), "another process has that name");
    }
    // Its process ends: the name is given back.
    assert_eq!(text(&one.get("/end")), "true");
    assert_eq!(text(&two.get("/end")), "nil", "it is a name of the other server");
    until("the other server to have the name", || (asked(&two) == "captain").then_some(()));
    assert_eq!(asked(&one), "another process has that name");
    assert_eq!(text(&two.get("/end")), "true");
    until("the first server to have it again", || (asked(&one) == "captain").then_some(()));
    // Without a farewell.
    one.signal("KILL");
    one.wait();
    until("the name to be free", || (asked(&two) == "captain").then_some(()));
}

#[test]
fn process_of_a_cluster_runs_on_one_node_and_goes_on_on_another() {
    let test = "process_of_a_cluster_runs_on_one_node_and_goes_on_on_another";
    let Some(nats) = Nats::start(test) else { return };
    let config = format!("{CONFIG}[[process]]\nmodule = \"tick\"\nwhere = \"cluster\"\n");
    let mut nodes = ["one", "two"]
        .map(|name| nats.node_with(name, &config, &[("app/tick.lua", &ticking(name))]));
    let watcher = nats.node("watcher", CONFIG);
    let mut stream = events(&watcher, "news.tick");
    let first = String::from_utf8(say(&mut stream, b"", b"data: ")).unwrap();
    let seen = String::from_utf8(say(&mut stream, b"", b"\n\n")).unwrap();
    let runs_on = |name: &str| (first.clone() + &seen).contains(&format!("data: {name}"));
    let (first, second) = if runs_on("one") { (0, 1) } else { (1, 0) };
    let names = ["one", "two"];
    nodes[first].signal("TERM");
    nodes[first].wait();
    // The messages of the first that were on their way come before.
    let last = say(&mut stream, b"", format!("data: {}\n\n", names[second]).as_bytes());
    let last = String::from_utf8(last).unwrap();
    let of_first = last.rfind(&format!("data: {}", names[first])).unwrap_or(0);
    assert!(of_first < last.find(&format!("data: {}", names[second])).unwrap(), "{last}");
    // And none of it after.
    let more = String::from_utf8(say(&mut stream, b"", b"\n\n")).unwrap();
    assert!(!more.contains(names[first]), "{more}");
}
