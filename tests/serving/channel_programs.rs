//! Goal: a program with a key publishes in batches, lists who is present, and disconnects users; subscribers see who
//! joins and leaves. Method: the built server with two schedulers, so that requests also need the other one.

use std::io::Read;
use std::net::TcpStream;

use crate::server::channel::{
    API_KEY, SECRET, ask, connect, frame, order, post, resp, say, token, websocket,
};
use crate::server::{Plan, Server};
use serde_json::json;

const CONFIG: &str = "[[channel]]\npattern = \"room.*\"\nhistory = 100\npresence = \
                      true\n[[channel]]\npattern = \"plain\"\n[channels]\ntoken_keys = \"tokens\"\napi_keys \
                      = \"keys\"\n";

fn site() -> Server {
    let plan = Plan::new().config(CONFIG).argument("--listen-resp=127.0.0.1:0");
    plan.directory.write("tokens", SECRET);
    plan.directory.write("keys", API_KEY);
    plan.argument("--schedulers=2").start()
}

/// A socket of a user that has subscribed to a channel and received this.
fn user(server: &Server, name: &str, channel: &str, heard: &str) -> TcpStream {
    let mut socket = websocket(server, "/channels");
    let claims = format!("\"sub\":\"{name}\",\"info\":{{\"of\":\"{name}\"}}");
    let order = format!("{{\"token\":\"{}\"}}", token(&claims, 3600));
    say(&mut socket, &frame(&order), b"\"authorized\"");
    say(&mut socket, &frame(&format!("{{\"subscribe\":\"{channel}\"}}")), heard.as_bytes());
    socket
}

#[test]
fn subscribers_see_who_comes_and_leaves() {
    let server = site();
    for channel in ["room.a", "room.b", "room.c", "room.d"] {
        let joined = "\"joined\":\"ann\",\"info\":{\"of\":\"ann\"}}";
        let mut ann = user(&server, "ann", channel, joined);
        let mut events = connect(server.address());
        let request = format!(
            "GET /channels/{channel} HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n"
        );
        say(&mut events, request.as_bytes(), b"\n\n");
        let bob = user(&server, "bob", channel, "\"joined\":\"bob\"");
        say(&mut ann, b"", b"\"joined\":\"bob\",\"info\":{\"of\":\"bob\"}}");
        let joined = b"event: joined\ndata: {\"user\":\"bob\",\"info\":{\"of\":\"bob\"}}\n\n";
        say(&mut events, b"", joined);
        // A second connection is not another user.
        let again = user(&server, "bob", channel, "\"subscribed\"");
        let found = order(&server, &json!({ "members": channel }));
        assert_eq!((&found["total"], &found["subscribers"]), (&json!(2), &json!(4)), "{found}");
        let asked = frame(&json!({ "members": channel, "id": 7 }).to_string());
        let told = say(&mut ann, &asked, b"\"id\":7}");
        let told = String::from_utf8_lossy(&told).into_owned();
        let users = "\"users\":[{\"user\":\"ann\",\"info\":{\"of\":\"ann\"}},{\"user\":\"bob\",\"info\":{\"of\":\"bob\"}}]";
        assert!(told.contains(users) && !told.contains("joined"), "{told}");
        drop(bob);
        server.reaches("/channels/subscriptions", 3);
        drop(again);
        let told = say(&mut ann, b"", b"\"left\":\"bob\"}");
        assert_eq!(told.windows(6).filter(|part| part == b"\"left\"").count(), 1);
        say(&mut events, b"", b"event: left\ndata: {\"user\":\"bob\"}\n\n");
        drop((ann, events));
        server.reaches("/channels/subscriptions", 0);
        assert_eq!(order(&server, &json!({ "members": channel }))["total"], 0);
    }
}

#[test]
fn a_program_publishes_in_batches_and_reads_what_there_was() {
    let server = site();
    let mut socket = user(&server, "ann", "room.a", "\"joined\":\"ann\"");
    let names = ["room.a", "room.b", "room.c", "room.d", "plain"];
    let answers = order(&server, &json!({ "broadcast": names, "data": { "n": 1 } }));
    let receivers: Vec<_> =
        answers.as_array().unwrap().iter().map(|one| &one["receivers"]).collect();
    assert_eq!(receivers, [1, 0, 0, 0, 0]);
    say(&mut socket, b"", b"\"data\":{\"n\":1}}");
    let answers = order(
        &server,
        &json!([
            { "publish": "room.a", "data": "two" },
            { "publish": "room.b", "data": "two", "key": "once" },
            { "publish": "room.b", "data": "two", "key": "once" },
            { "publish": "a b", "data": 1 },
            { "publish": "room.a" },
            { "history": "room.b" },
            { "history": "plain" },
            { "channels": "*" },
            { "other": 1 },
            { "publish": "room.a", "members": "room.a" },
        ]),
    );
    assert_eq!(answers[1], answers[2], "the same message");
    let wrong: Vec<_> = [3, 4, 6, 8, 9].iter().map(|at| answers[at]["error"].is_string()).collect();
    assert_eq!(wrong, [true; 5], "{answers}");
    let history = answers[5]["messages"].as_array().unwrap();
    let texts: Vec<_> = history.iter().map(|one| one["data"].clone()).collect();
    assert_eq!(texts, [json!({ "n": 1 }), json!("two")]);
    assert_eq!(answers[7]["channels"], json!({ "room.a": 1 }));
    let answer = order(&server, &json!({ "publish": "plain", "data": 1 }));
    assert_eq!(answer, json!({ "since": "0-0", "receivers": 0 }));
    assert_eq!(order(&server, &json!([])), json!([]));
    // A thousand orders, in any number of turns.
    let many: Vec<_> =
        (0..1000).map(|_| json!({ "publish": "room.a", "data": "x".repeat(800) })).collect();
    let answers = order(&server, &json!(many));
    assert!(answers.as_array().unwrap().iter().all(|one| one["receivers"] == 1));
    let heard =
        say(&mut socket, &frame("{\"publish\":\"room.a\",\"data\":\"end\"}"), b"\"data\":\"end\"}");
    assert_eq!(heard.windows(10).filter(|part| part == b"\"data\":\"xx").count(), 1000);
}

#[test]
fn orders_are_for_programs_and_within_their_bounds() {
    let server = site();
    let status = |key: &str, body: &[u8]| {
        let key = format!("Bearer {key}");
        ask(&server, "POST", "/channels", &[("Authorization", &*key)], body).status
    };
    assert_eq!(status("wrong", b"{}"), 401);
    assert_eq!(status(&token("\"sub\":\"ann\"", 60), b"{\"channels\":\"*\"}"), 401);
    assert_eq!(ask(&server, "POST", "/channels", &[], b"{}").status, 401);
    for (body, code) in [
        (&b"{"[..], 400),
        (b"", 400),
        (b"[1", 400),
        (b"{}", 200),
        (b"[1]", 200),
        (&[b"[", &b"{},".repeat(1000)[..], b"{}]"].concat(), 400),
        (&vec![b' '; 1024 * 1024 + 1], 413),
    ] {
        assert_eq!(status(API_KEY, body), code);
    }
    // The key of a message, by POST.
    let publish = |key: &str| {
        let fields = [("Idempotency-Key", key)];
        let answer = ask(&server, "POST", "/channels/room.x", &fields, b"once");
        (answer.status, answer.body)
    };
    assert_eq!(publish("1"), publish("1"));
    assert_ne!(publish("1"), publish("2"));
    assert_eq!(publish(&"x".repeat(129)).0, 400);
}

#[test]
fn a_program_sends_a_user_away() {
    let server = site();
    let mut ann = user(&server, "ann", "room.a", "\"joined\":\"ann\"");
    let mut other = user(&server, "ann", "room.b", "\"joined\":\"ann\"");
    let mut bob = user(&server, "bob", "room.a", "\"joined\":\"bob\"");
    let short = token("\"sub\":\"ann\"", 60);
    let mut plain = websocket(&server, &format!("/channels/room.a?token={short}"));
    let mut redis = connect(resp(&server));
    say(&mut redis, format!("AUTH {short}\r\nSUBSCRIBE room.a\r\n").as_bytes(), b":1\r\n");
    assert_eq!(order(&server, &json!({ "unsubscribe": "ann", "channel": "room.a" })), json!({}));
    let told = b"{\"unsubscribed\":\"room.a\",\"reason\":\"unsubscribed by the server\"}";
    say(&mut ann, b"", told);
    say(&mut plain, b"", b"\x0f\xa3unsubscribed by the server");
    let mut rest = Vec::new();
    redis.read_to_end(&mut rest).unwrap();
    say(&mut bob, b"", b"\"left\":\"ann\"}");
    // The user may reconnect while the token is valid.
    say(&mut ann, &frame("{\"subscribe\":\"room.a\"}"), b"\"subscribed\"");
    assert_eq!(order(&server, &json!({ "disconnect": "ann" })), json!({}));
    say(&mut ann, b"", b"\x0f\xa3disconnected by the server");
    say(&mut other, b"", b"\x0f\xa3disconnected by the server");
    say(&mut bob, &frame("{\"publish\":\"room.a\",\"data\":\"alone\"}"), b"\"alone\"}");
    drop((ann, other, plain, redis));
    server.reaches("/channels/subscriptions", 1);
}

#[test]
fn disconnected_user_receives_no_later_message() {
    // The user very likely has a stream on each scheduler.
    let server = site();
    let token = token("\"sub\":\"ann\"", 3600);
    let request = format!(
        "GET /channels/room.a?token={token} HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n"
    );
    for _ in 0..100 {
        let mut streams: Vec<TcpStream> = (0..4).map(|_| connect(server.address())).collect();
        for stream in &mut streams {
            say(stream, request.as_bytes(), b"\n\n");
        }
        assert_eq!(order(&server, &json!({ "disconnect": "ann" })), json!({}));
        assert_eq!(post(&server, "/channels/room.a", b"secret"), 200);
        for mut stream in streams {
            let mut rest = String::new();
            stream.read_to_string(&mut rest).unwrap();
            assert!(!rest.contains("secret"), "{rest}");
        }
    }
}
