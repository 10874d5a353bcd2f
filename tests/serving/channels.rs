//! Goal: channels of the built server work with the clients people use. Method: curl, redis-cli, Node's WebSocket suite
//! and Autobahn's cases (the Python package kosoku), each reported as skipped if it is not installed; the rest with
//! plain sockets.

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use crate::server::autobahn::cases_pass;
use crate::server::channel::{UPGRADE, ask, connect, frame, post, resp, say, websocket};
use crate::server::client::{field, text};
use crate::server::patience::until;
use crate::server::{Ending, Plan, Server, has, printed_by, run};

const CONFIG: &str = "[[channel]]\npattern = \"chat.*\"\nhistory = 100\n[[channel]]\npattern = \
                      \"echo\"\n[[channel]]\npattern = \"news\"\npublish = \"none\"\n[channels]\norigins = \
                      [\"https://friend.example\"]\n";

fn site() -> Server {
    // The second address is that of Redis clients.
    Plan::new().config(CONFIG).argument("--listen-resp=127.0.0.1:0").start()
}

#[test]
fn a_message_to_an_encoded_path_has_its_body() {
    let server = site();
    let answer = ask(&server, "POST", "/%63hannels/chat.%61", &[], b"whole");
    assert_eq!(answer.status, 200, "{}", text(&answer));
    let answer = server.get("/channels/chat.a?since=0&wait=0");
    assert!(text(&answer).contains("\"data\":\"whole\""), "{}", text(&answer));
}

#[test]
fn message_published_by_one_protocol_reaches_all_protocols() {
    let server = site();
    let mut events = connect(server.address());
    let request = b"GET /channels/chat.a HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n";
    say(&mut events, request, b"\n\n");
    let mut plain = websocket(&server, "/channels/chat.a");
    let mut json = websocket(&server, "/channels");
    say(&mut json, &frame("{\"subscribe\":\"chat.a\"}"), b"\"subscribed\"");
    let mut redis = connect(resp(&server));
    say(&mut redis, b"SUBSCRIBE chat.a\r\n", b":1\r\n");
    let mut hear = |publish: &dyn Fn(), text: &str| {
        publish();
        let data = format!("\ndata: {text}\n\n");
        say(&mut events, b"", data.as_bytes());
        say(&mut plain, b"", text.as_bytes());
        say(&mut json, b"", format!("\"data\":\"{text}\"}}").as_bytes());
        say(&mut redis, b"", format!("\r\n{text}\r\n").as_bytes());
    };
    hear(
        &|| {
            assert_eq!(post(&server, "/channels/chat.a", b"by post"), 200);
        },
        "by post",
    );
    hear(
        &|| {
            let answer =
                say(&mut connect(resp(&server)), b"PUBLISH chat.a \"by redis\"\r\n", b"\r\n");
            assert_eq!(answer, b":4\r\n", "all four");
        },
        "by redis",
    );
    let publisher = websocket(&server, "/channels");
    hear(
        &|| {
            let order = frame("{\"publish\":\"chat.a\",\"data\":\"by socket\"}");
            (&publisher).write_all(&order).unwrap();
        },
        "by socket",
    );
    let polled = server.get("/channels/chat.a");
    let messages: serde_json::Value = serde_json::from_slice(&polled.body).unwrap();
    let texts: Vec<_> =
        messages["messages"].as_array().unwrap().iter().map(|one| one["data"].clone()).collect();
    assert_eq!(texts, ["by post", "by redis", "by socket"]);
    drop((events, plain, json, redis, publisher));
    server.reaches("/channels/subscriptions", 0);
    assert_eq!(server.count("/channels/published"), 3);
}

#[test]
fn requests_that_the_rules_refuse_are_told_why() {
    let server = site();
    let status = |method: &str, path: &str, fields: &[(&str, &str)], body: &[u8]| {
        let answer = ask(&server, method, path, fields, body);
        (answer.status, String::from_utf8_lossy(&answer.body).into_owned())
    };
    assert_eq!(status("POST", "/channels/news", &[], b"x").0, 403);
    let (code, text) = status("POST", "/channels/other", &[], b"x");
    assert_eq!((code, &*text), (404, "{\"error\":\"no [[channel]] has a pattern for this name\"}"));
    let json = [("Content-Type", "application/json")];
    assert_eq!(status("POST", "/channels/echo", &json, b"{").0, 400);
    assert_eq!(status("POST", "/channels/echo", &[], &vec![b'x'; 70_000]).0, 413);
    assert_eq!(status("POST", "/channels/echo", &[], &vec![b'x'; 65_536]).0, 200);
    assert_eq!(status("GET", "/channels/echo", &[], b"").0, 406);
    assert_eq!(status("DELETE", "/channels/echo", &[], b"").0, 405);
    assert_eq!(status("GET", "/channels", &[], b"").0, 426);
    let strange = [("Origin", "https://stranger.example")];
    assert_eq!(status("POST", "/channels/echo", &strange, b"x").0, 403);
    let friend = [("Origin", "https://friend.example")];
    let answer = ask(&server, "POST", "/channels/echo", &friend, b"x");
    assert_eq!(field(&answer, "access-control-allow-origin"), "https://friend.example");
    for (field, code) in
        [("Sec-WebSocket-Version: 13", 426), ("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", 400)]
    {
        let request = format!("GET /channels/echo HTTP/1.1\r\nHost: a\r\n{UPGRADE}\r\n")
            .replace(&format!("{field}\r\n"), "");
        let head = say(&mut connect(server.address()), request.as_bytes(), b"\r\n\r\n");
        let head = String::from_utf8_lossy(&head);
        assert!(head.starts_with(&format!("HTTP/1.1 {code} ")), "{head}");
        assert_eq!(head.contains("Sec-WebSocket-Version: 13\r\n"), code == 426);
    }
}

#[test]
fn a_long_poll_waits_as_long_as_it_says() {
    let server = site();
    assert_eq!(post(&server, "/channels/chat.w", b"m"), 200);
    let last = text(&server.get("/channels/chat.w?wait=0")).to_owned();
    let last: serde_json::Value = serde_json::from_str(&last).unwrap();
    let since = last["since"].as_str().unwrap();
    for (wait, expected) in [
        ("0", 200),
        ("0.05", 200),
        ("0.", 200),
        ("abc", 400),
        ("-1", 400),
        ("", 400),
        ("NaN", 400),
        ("inf", 400),
        ("1e0", 400),
        ("+1", 400),
        ("1.0.0", 400),
    ] {
        let path = format!("/channels/chat.w?since={since}&wait={wait}");
        assert_eq!(server.get(&path).status, expected, "{wait:?}");
    }
}

#[test]
fn an_event_stream_is_for_clients_that_accept_it() {
    let server = site();
    for (accept, is_stream) in [
        ("text/event-stream", true),
        ("application/json, text/event-stream", true),
        ("TEXT/EVENT-STREAM;q=0.1", true),
        ("text/event-stream;q=0", false),
        ("text/event-stream; q=0.000, */*", false),
        ("text/event-stream;q=0.5, application/json", false),
        ("*/*", false),
        ("text/*", false),
    ] {
        let mut client = connect(server.address());
        let request =
            format!("GET /channels/chat.a?wait=0 HTTP/1.1\r\nHost: a\r\nAccept: {accept}\r\n\r\n");
        let answer = say(&mut client, request.as_bytes(), b"\r\n\r\n");
        let head = String::from_utf8_lossy(&answer).into_owned();
        assert!(head.starts_with("HTTP/1.1 200"), "{accept}: {head}");
        assert_eq!(head.contains("text/event-stream"), is_stream, "{accept}: {head}");
    }
}

#[test]
fn a_server_that_stops_closes_sockets_and_streams_and_answers_polls() {
    // On one scheduler, so that each channel is counted once.
    let plan = Plan::new().config(CONFIG).argument("--listen-resp=127.0.0.1:0");
    let mut server = plan.argument("--schedulers=1").start();
    let mut socket = websocket(&server, "/channels/echo");
    let mut events = connect(server.address());
    let request = b"GET /channels/chat.a HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n";
    say(&mut events, request, b"\n\n");
    let mut redis = connect(resp(&server));
    say(&mut redis, b"SUBSCRIBE a\r\n", b":1\r\n");
    let mut poll = connect(server.address());
    poll.write_all(b"GET /channels/chat.b?wait=25 HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    // The channel of the stream and that of the poll, which waits now.
    server.reaches("/channels/subscriptions", 3);
    server.reaches("/channels/known", 4);
    server.signal("TERM");
    let told = say(&mut poll, b"", b"\"messages\":[]}");
    assert!(told.starts_with(b"HTTP/1.1 200 OK\r\n"));
    let mut rest = Vec::new();
    socket.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, [b"\x88\x12\x03\xe9", &b"the server stops"[..]].concat());
    for stream in [&mut events, &mut redis] {
        stream.read_to_end(&mut rest).unwrap();
    }
    drop((socket, events, redis));
    assert!(server.wait().success());
}

#[test]
fn a_reload_keeps_subscribers_and_changes_their_rules() {
    let server = site();
    let mut socket = websocket(&server, "/channels/echo");
    let closed = "root = \"site\"\n[[channel]]\npattern = \"echo\"\npublish = \"none\"\n";
    server.directory().write("velodrome.toml", closed);
    assert!(server.ctl(&["reload"]).status.success());
    assert_eq!(post(&server, "/channels/echo", b"x"), 403);
    // A client that publishes nevertheless is told why, and closed.
    let heard = say(&mut socket, &frame("x"), b"publishing is not allowed");
    assert_eq!(heard[..4], *b"\x88\x1b\x03\xf0");
}

#[test]
fn a_publisher_that_publishes_too_often_is_told() {
    let config = "[[channel]]\npattern = \"*\"\nrate = 1\n";
    let plan = Plan::new().config(config).argument("--listen-resp=127.0.0.1:0");
    let server = plan.argument("--schedulers=1").start();
    // Each would have to wait a second to be admitted.
    let mut answers = (0..20).map(|_| ask(&server, "POST", "/channels/a", &[], b"x"));
    let refused = answers.find(|answer| answer.status != 200).unwrap();
    assert_eq!((refused.status, field(&refused, "retry-after")), (429, "1"));
    let publish = "{\"publish\":\"a\",\"data\":1,\"id\":7}";
    let orders = frame(publish).repeat(20);
    say(&mut websocket(&server, "/channels"), &orders, b"\"error\":\"too many messages;");
    let mut redis = connect(resp(&server));
    say(&mut redis, &b"PUBLISH a x\r\n".repeat(20), b"-ERR too many messages");
    let closed = b"\x88\x13\x03\xf0too many messages";
    say(&mut websocket(&server, "/channels/a"), &frame("x").repeat(20), closed);
}

#[test]
fn a_page_publishes_where_clients_may_not() {
    let page = "<% channel.publish('news', 'as it is') channel.publish('news', { lap = 7 }) %><%= select(2, \
                channel.publish('a b', 1)) %>, <%= select(2, channel.publish('news', ('x'):rep(70000))) %>";
    let process = "<% spawn(function() channel.publish('news', 'by a process') end) %>";
    let server = Plan::new()
        .config(CONFIG)
        .argument("--schedulers=1")
        .file("tell.page.txt", page)
        .file("spawn.page.txt", process)
        .start();
    let mut socket = websocket(&server, "/channels/news");
    let told = server.get("/tell");
    let expected = "a channel's name has no spaces and no control characters, \
        the message has 70000 bytes, and its channel takes 65536";
    assert_eq!(String::from_utf8_lossy(&told.body).trim(), expected);
    let heard = say(&mut socket, b"", b"{\"lap\":7}");
    assert_eq!(heard, b"\x81\x08as it is\x81\x09{\"lap\":7}");
    assert_eq!(server.get("/spawn").status, 200);
    assert_eq!(say(&mut socket, b"", b"process"), b"\x81\x0cby a process");
}

#[test]
fn redis_cli_publishes_and_subscribes() {
    if !has("redis-cli", "redis_cli_publishes_and_subscribes") {
        return;
    }
    let server = site();
    let port = resp(&server).port().to_string();
    let cli = |words: &[&str]| {
        let output = run(Command::new("redis-cli").args(["-p", &port]).args(words));
        printed_by(&output).trim().to_owned()
    };
    let mut subscriber = Ending(
        Command::new("redis-cli")
            .args(["-p", &port, "psubscribe", "n*"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    until("the subscription", || (cli(&["pubsub", "numpat"]) == "1").then_some(()));
    assert_eq!(cli(&["publish", "news.a", "hello"]), "1");
    assert_eq!(cli(&["publish", "other", "hello"]), "0");
    let (mut heard, mut piece) = (Vec::new(), [0; 1024]);
    let output = subscriber.0.stdout.as_mut().unwrap();
    while !heard.ends_with(b"news.a\nhello\n") {
        let count = output.read(&mut piece).unwrap();
        assert!(count > 0, "{:?}", String::from_utf8_lossy(&heard));
        heard.extend_from_slice(&piece[..count]);
    }
    assert_eq!(cli(&["publish", "news", "x"]), "NOPERM the channel's rules do not allow it");
    assert!(cli(&["hget", "a", "b"]).starts_with("ERR unknown command 'hget'"));
    assert!(cli(&["get", "a"]).starts_with("ERR there is no store"));
}

#[test]
fn a_subscription_that_is_confirmed_gets_what_is_published_then() {
    // On two schedulers, so that names are owned by both.
    let plan = Plan::new().config(CONFIG).argument("--listen-resp=127.0.0.1:0");
    let server = plan.argument("--schedulers=2").start();
    let address = resp(&server);
    for number in 0..50 {
        let mut subscriber = connect(address);
        let order = format!("SUBSCRIBE a{number} b{number} a{number} c\r\nPING\r\n");
        let told =
            String::from_utf8_lossy(&say(&mut subscriber, order.as_bytes(), b"pong")).into_owned();
        let counts: Vec<&str> = told.lines().filter(|line| line.starts_with(':')).collect();
        assert_eq!(counts, [":1", ":2", ":2", ":3"], "{told}");
        for name in ["a", "b"] {
            let publish = format!("PUBLISH {name}{number} hello\r\n");
            assert_eq!(say(&mut connect(address), publish.as_bytes(), b"\r\n"), b":1\r\n");
            say(&mut subscriber, b"", b"\r\nhello\r\n");
        }
    }
}

#[test]
fn a_browser_that_speaks_http_to_redis_clients_port_is_cut() {
    let server = site();
    let mut stream = connect(resp(&server));
    stream.write_all(b"POST / HTTP/1.1\r\nHost: a\r\n\r\nPUBLISH chat.a evil\r\n").unwrap();
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    assert_eq!((rest, server.count("/channels/published")), (Vec::new(), 0));
}

#[test]
fn the_cases_of_the_autobahn_suite_pass() {
    let test = "the_cases_of_the_autobahn_suite_pass";
    if !has("kosoku", test) {
        return;
    }
    let server = site();
    let url = format!("ws://{}/channels/echo", server.address());
    // All except performance (9) and compression (12, 13).
    let words = ["-x", "9.*", "-x", "12.*", "-x", "13.*"];
    cases_pass(server.directory(), &url, &words, 247);
}
