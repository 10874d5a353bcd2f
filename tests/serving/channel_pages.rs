//! Goal: pages and their processes can subscribe to channels as clients do, and release what they held. Method: the
//! built server with two schedulers.

use std::io::Write;

use crate::server::channel::{connect, frame, post, say, websocket};
use crate::server::{Plan, Server};

const CONFIG: &str = "[[channel]]\npattern = \"*\"\nhistory = 5\n";

/// Sends what it receives to its client, until that is `end`.
const HEAR: &str = "<% local messages = channel.subscribe(request.query.of) response:write('listens;') \
                    response:flush() for value, about in messages do response:write(json.encode(value), ' \
                    ', about.offset, ';') response:flush() if value == 'end' then break end end \
                    messages:close() response:write(select(2, messages:receive())) %>";

/// A process that answers each message on the channel that the message names.
const ECHO: &str = "<% spawn(function() for value in channel.subscribe('ask') do \
    if value == 'end' then return end channel.publish('told', { told = value }) end end) %>ok";

const WAIT: &str = "<% local messages = channel.subscribe('quiet') \
    local value, about = messages:receive(0.05) response:write(tostring(value), tostring(about)) %>";

const MANY: &str = "<% local _, wrong = channel.subscribe('a b') local last, why \
    for i = 1, 17 do last, why = channel.subscribe('c' .. i) end response:write(wrong, ';', why) %>";

fn site() -> Server {
    Plan::new()
        .config(CONFIG)
        .argument("--schedulers=2")
        .file("hear.page.txt", HEAR)
        .file("echo.page.txt", ECHO)
        .file("wait.page.txt", WAIT)
        .file("many.page.txt", MANY)
        .start()
}

#[test]
fn a_page_hears_what_is_published_from_then_on() {
    let server = site();
    for channel in ["a", "b", "c", "d"] {
        assert_eq!(post(&server, &format!("/channels/{channel}"), b"before"), 200);
        let mut page = connect(server.address());
        let request = format!("GET /hear?of={channel} HTTP/1.1\r\nHost: a\r\n\r\n");
        say(&mut page, request.as_bytes(), b"listens;");
        let mut socket = websocket(&server, "/channels");
        let order = format!("{{\"publish\":\"{channel}\",\"data\":{{\"n\":1}}}}");
        socket.write_all(&frame(&order)).unwrap();
        say(&mut page, b"", b"{\"n\":1} 2;");
        assert_eq!(post(&server, &format!("/channels/{channel}"), b"end"), 200);
        say(&mut page, b"", b"the subscription is closed");
    }
    server.reaches("/channels/subscriptions", 0);
}

#[test]
fn a_client_that_leaves_ends_the_subscription_of_its_page() {
    let server = site();
    let mut page = connect(server.address());
    say(&mut page, b"GET /hear?of=a HTTP/1.1\r\nHost: a\r\n\r\n", b"listens;");
    server.reaches("/channels/subscriptions", 1);
    drop(page);
    server.reaches("/channels/subscriptions", 0);
}

#[test]
fn a_process_listens_for_as_long_as_it_likes() {
    let server = site();
    let mut socket = websocket(&server, "/channels/told");
    assert_eq!(server.get("/echo").status, 200);
    server.reaches("/channels/subscriptions", 2);
    for number in 0..50 {
        assert_eq!(post(&server, "/channels/ask", number.to_string().as_bytes()), 200);
        say(&mut socket, b"", format!("{{\"told\":\"{number}\"}}").as_bytes());
    }
    assert_eq!(post(&server, "/channels/ask", b"end"), 200);
    server.reaches("/channels/subscriptions", 1);
}

#[test]
fn a_page_waits_for_its_time_and_is_told_its_bounds() {
    let server = site();
    let told = server.get("/wait");
    assert_eq!(String::from_utf8_lossy(&told.body).trim(), "nilnil");
    let told = server.get("/many");
    let text = String::from_utf8_lossy(&told.body).trim().to_owned();
    let expected = "a channel's name has no spaces and no control characters;a page has at most 16 \
                    subscriptions";
    assert_eq!(text, expected);
    server.reaches("/channels/subscriptions", 0);
}
