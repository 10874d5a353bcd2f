//! Goal: channels of several servers with a real NATS between them. Method: the built servers with plain sockets;
//! skipped where `nats-server` is not installed. `cluster_failures` breaks something.

use std::net::TcpStream;

use serde_json::Value;

use crate::server::Server;
use crate::server::channel::{ask, connect, resp, say, websocket};
use crate::server::nats::Nats;

const CONFIG: &str =
    "[[channel]]\npattern = \"chat.*\"\nhistory = 100\n[[channel]]\npattern = \"news.*\"\n";

/// An event stream of a channel, which is subscribed.
pub(crate) fn events(server: &Server, channel: &str) -> TcpStream {
    let mut events = connect(server.address());
    let request =
        format!("GET /channels/{channel} HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n");
    say(&mut events, request.as_bytes(), b"id: ");
    events
}

/// The answer to a message that was published over HTTP.
pub(crate) fn publish(server: &Server, channel: &str, body: &str) -> (u16, Value) {
    let answer = ask(server, "POST", &format!("/channels/{channel}"), &[], body.as_bytes());
    (answer.status, serde_json::from_slice(&answer.body).unwrap_or(Value::Null))
}

/// The texts and the last position of a history.
pub(crate) fn history(server: &Server, channel: &str, since: &str) -> (Vec<String>, Value) {
    let answer = ask(server, "GET", &format!("/channels/{channel}?since={since}&wait=0"), &[], b"");
    let answer: Value = serde_json::from_slice(&answer.body).unwrap();
    let messages = answer["messages"].as_array().unwrap().iter();
    (messages.map(|one| one["data"].as_str().unwrap().to_owned()).collect(), answer)
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
        // What a node subscribes to in NATS is in force when a message of its own has come back or gone on.
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
