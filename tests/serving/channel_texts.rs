//! Goal: whatever comes in by any way is refused with a reason, or leaves as valid text on every way out, and the next
//! message arrives.
//!
//! Method: one channel with a subscriber of every kind. Every body is published by every way in, and after each a
//! message that all of them must get; what they got before it is checked for its form.

mod ear;

use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use wire::websocket::{Extension, MessageKind, MessageLimits, MessageReader, PeerRole, ReadStep};

use self::ear::{Ear, Form, parsed};
use crate::server::channel::{API_KEY, UPGRADE, ask, connect, frame, resp, say, websocket};
use crate::server::client::{read, text};
use crate::server::patience::until;
use crate::server::{Plan, Server};

const CONFIG: &str = "[channels]\ncompress = true\napi_keys = \"programs.keys\"\n\
    [[channel]]\npattern = \"*\"\nhistory = 5\n";

/// Says what it hears, one line for each message.
const HEAR: &str = "<% local messages = channel.subscribe('t') response:write('listens\\n') response:flush() \
    for value in messages do local is_text, text = pcall(json.encode, value) \
    response:write(is_text and text or 'bytes', '\\n') response:flush() end %>";

/// The same in a process, which says it on another channel.
const RELAY: &str = "<% spawn(function() for value in channel.subscribe('t') do local is_text, text = \
                     pcall(json.encode, value) channel.publish('relayed', is_text and text or 'bytes') end \
                     end) %>ok";

/// Publishes its body as it is, or in a table.
const SAY: &str = "<% local body, done, why = request.body \
    if request.query.as == 'table' then done, why = pcall(channel.publish, 't', { value = body }) \
    elseif request.query.as == 'process' then local page = self() \
    spawn(function() channel.publish('t', body) send(page, 'done') end) done = receive() == 'done' \
    else done, why = pcall(channel.publish, 't', body) end \
    response:write(done and 'published' or 'refused: ' .. tostring(why)) %>";

/// Sends back what it gets.
const SOCKET: &str = "return function() return websocket { message = function(socket, message) \
    local done, why = pcall(socket.send, socket, message) \
    if not done then socket:send('refused: ' .. why) end end } end";

/// A way in.
#[derive(Clone, Copy, Debug)]
enum Way {
    Text,
    Json,
    Bytes,
    Order,
    OrderOfText,
    PlainText,
    PlainBinary,
    Object,
    Resp,
    Page,
    PageTable,
    Process,
}

const WAYS: [Way; 12] = [
    Way::Text,
    Way::Json,
    Way::Bytes,
    Way::Order,
    Way::OrderOfText,
    Way::PlainText,
    Way::PlainBinary,
    Way::Object,
    Way::Resp,
    Way::Page,
    Way::PageTable,
    Way::Process,
];

/// The fate of a message.
#[derive(Debug, PartialEq, Eq)]
enum Fate {
    Published,
    Refused(String),
}

/// Bodies that are easily delivered wrong.
fn bodies() -> Vec<(&'static str, Vec<u8>)> {
    let levels = [b"[".repeat(101), b"]".repeat(101)].concat();
    let digits = [&b"{\"n\":"[..], &b"7".repeat(1_001), b"}"].concat();
    vec![
        ("text", "hello, w\u{f6}rld".into()),
        ("a line end", b"one\ntwo\r\nthree".to_vec()),
        ("an object", b"{\"a\":[1,null,\"x\"]}".to_vec()),
        ("not UTF-8", b"\xff\xfe\x80".to_vec()),
        ("JSON that is not UTF-8", b"{\"a\":\"\xff\"}".to_vec()),
        ("a key that is not UTF-8", b"{\"\xff\":1}".to_vec()),
        ("an encoded surrogate", b"{\"a\":\"\xed\xa0\x80\"}".to_vec()),
        ("an escaped surrogate", b"{\"a\":\"\\ud800\"}".to_vec()),
        ("1e999", b"{\"n\":1e999}".to_vec()),
        ("101 levels", levels),
        ("1,001 digits", digits),
        ("NUL", b"a\0b".to_vec()),
        ("an escaped NUL", b"{\"a\":\"\\u0000\"}".to_vec()),
        ("nothing", Vec::new()),
        ("null", b"null".to_vec()),
    ]
}

/// A masked frame; the mask is zero.
fn masked(opcode: u8, bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).unwrap();
    let length = match u8::try_from(length) {
        Ok(short @ 0..126) => vec![0x80 | short],
        _ => [&[0x80 | 126][..], &length.to_be_bytes()].concat(),
    };
    [&[0x80 | opcode][..], &length, &[0; 4], bytes].concat()
}

/// Whether the pong has come. Messages may follow it, because the socket is a subscriber, too.
fn is_through(heard: &[u8]) -> bool {
    heard.windows(6).any(|frame| frame == b"\x8a\x04done")
}

/// Sends frames to a new socket and then a ping; returns what came before the pong or the end.
fn through_socket(server: &Server, path: &str, frames: &[u8]) -> Vec<u8> {
    let mut stream = websocket(server, path);
    stream.write_all(&[frames, &masked(9, b"done")].concat()).unwrap();
    let (mut heard, mut piece) = (Vec::new(), [0; 4096]);
    while !is_through(&heard) {
        match read(&mut stream, &mut piece) {
            Ok(0) | Err(_) => break,
            Ok(count) => heard.extend_from_slice(&piece[..count]),
        }
    }
    heard
}

impl Way {
    fn publish(self, server: &Server, body: &[u8]) -> Fate {
        let by_http = |path: &str, kind: &str, body: &[u8]| {
            let key = format!("Bearer {API_KEY}");
            let fields = [("Content-Type", kind), ("Authorization", &key)];
            let answer = ask(server, "POST", path, &fields, body);
            match answer.status {
                200 => Ok(text(&answer).to_owned()),
                400 => Err(Fate::Refused(text(&answer).to_owned())),
                other => panic!("{other} for {self:?}"),
            }
        };
        let said = |result: Result<String, Fate>, refused: &str| match result {
            Ok(told) if told.contains(refused) => Fate::Refused(told),
            Ok(_) => Fate::Published,
            Err(fate) => fate,
        };
        let in_json = |before: &str| [before.as_bytes(), body, b"}"].concat();
        match self {
            Self::Text => said(by_http("/channels/t", "text/plain", body), "error"),
            Self::Json => said(by_http("/channels/t", "application/json", body), "error"),
            Self::Bytes => said(by_http("/channels/t", "application/octet-stream", body), "error"),
            Self::Order => {
                let order = in_json("{\"publish\":\"t\",\"data\":");
                said(by_http("/channels", "application/json", &order), "error")
            }
            Self::OrderOfText => {
                let data = String::from_utf8_lossy(body);
                let order = json!([{ "broadcast": ["t"], "data": data }]).to_string();
                said(by_http("/channels", "application/json", order.as_bytes()), "error")
            }
            Self::PlainText => match through_socket(server, "/channels/t", &masked(1, body)) {
                heard if is_through(&heard) => Fate::Published,
                heard if heard.windows(2).any(|code| code == 1007_u16.to_be_bytes()) => {
                    Fate::Refused("1007".to_owned())
                }
                heard => panic!("{}", heard.escape_ascii()),
            },
            Self::PlainBinary => {
                let heard = through_socket(server, "/channels/t", &masked(2, body));
                assert!(is_through(&heard), "{}", heard.escape_ascii());
                Fate::Published
            }
            Self::Object => {
                let order = in_json("{\"id\":1,\"publish\":\"t\",\"data\":");
                let heard = through_socket(server, "/channels", &masked(1, &order));
                let heard = String::from_utf8_lossy(&heard).into_owned();
                if heard.contains("\"published\"") { Fate::Published } else { Fate::Refused(heard) }
            }
            Self::Resp => {
                let mut client = connect(resp(server));
                let head = format!("*3\r\n$7\r\nPUBLISH\r\n$1\r\nt\r\n${}\r\n", body.len());
                let command = [head.as_bytes(), body, b"\r\n"].concat();
                let told = say(&mut client, &command, b"\r\n");
                assert!(told.starts_with(b":"), "{}", told.escape_ascii());
                Fate::Published
            }
            Self::Page => said(by_http("/say", "application/octet-stream", body), "refused"),
            Self::PageTable => {
                said(by_http("/say?as=table", "application/octet-stream", body), "refused")
            }
            Self::Process => {
                said(by_http("/say?as=process", "application/octet-stream", body), "refused")
            }
        }
    }
}

/// The content of the history, as a program is told.
fn history(server: &Server) -> Value {
    let key = format!("Bearer {API_KEY}");
    let answer =
        ask(server, "POST", "/channels", &[("Authorization", &key)], b"{\"history\":\"t\"}");
    assert_eq!(answer.status, 200);
    parsed(&answer.body)
}

fn site() -> Server {
    let plan = Plan::new().config(CONFIG).argument("--listen-resp=127.0.0.1:0");
    plan.directory.write("programs.keys", API_KEY);
    let keys = plan.directory.join("programs.keys");
    std::fs::set_permissions(keys, Permissions::from_mode(0o600)).unwrap();
    plan.argument("--schedulers=1")
        .file("hear.page.txt", HEAR)
        .file("relay.page.txt", RELAY)
        .file("say.page.txt", SAY)
        .start()
}

fn subscribe(server: &Server) -> Vec<Ear> {
    let none = Extension::None;
    let plain = websocket(server, "/channels/t");
    let mut objects = websocket(server, "/channels");
    say(&mut objects, &frame("{\"subscribe\":\"t\"}"), b"\"subscribed\"");
    let mut deflated = connect(server.address());
    let offer = "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover\r\n";
    let request = format!("GET /channels/t HTTP/1.1\r\nHost: a\r\n{UPGRADE}{offer}\r\n");
    let head = say(&mut deflated, request.as_bytes(), b"\r\n\r\n");
    assert!(String::from_utf8_lossy(&head).contains("permessage-deflate"));
    let mut events = connect(server.address());
    let request = "GET /channels/t HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n";
    say(&mut events, request.as_bytes(), b"id: ");
    let mut page = connect(server.address());
    say(&mut page, b"GET /hear HTTP/1.1\r\nHost: a\r\n\r\n", b"listens\n");
    let mut redis = connect(resp(server));
    say(&mut redis, b"SUBSCRIBE t\r\n", b":1\r\n");
    let mut wild = connect(resp(server));
    say(&mut wild, b"HELLO 3\r\nPSUBSCRIBE t*\r\n", b"psubscribe\r\n$2\r\nt*\r\n:1\r\n");
    let mut relayed = connect(resp(server));
    say(&mut relayed, b"SUBSCRIBE relayed\r\n", b":1\r\n");
    assert_eq!(server.get("/relay").status, 200);
    server.reaches("/channels/subscriptions", 9);
    vec![
        Ear::new("a plain socket", Form::Frames, none, plain),
        Ear::new("a socket with objects", Form::Objects, none, objects),
        Ear::new("a compressing socket", Form::Frames, Extension::Deflate, deflated),
        Ear::new("an event stream", Form::Lines, none, events),
        Ear::new("a page", Form::Lines, none, page),
        Ear::new("a Redis client", Form::Resp, none, redis),
        Ear::new("a Redis client with a pattern", Form::Resp, none, wild),
        Ear::new("a process", Form::Resp, none, relayed),
    ]
}

#[test]
fn every_way_in_times_every_way_out_is_valid_or_refused() {
    let server = site();
    let mut ears = subscribe(&server);
    let mut round = 0;
    for (what, body) in bodies() {
        for way in WAYS {
            round += 1;
            let fate = way.publish(&server, &body);
            if let Fate::Refused(why) = &fate {
                assert!(why.len() > 3, "{what} by {way:?} has a reason");
            }
            let mark = format!("mark-{round}.");
            let marked = ask(&server, "POST", "/channels/t", &[], mark.as_bytes());
            assert_eq!(marked.status, 200);
            let expected = usize::from(fate == Fate::Published);
            for ear in &mut ears {
                if let Some(messages) = ear.before(&mark) {
                    assert_eq!(messages, expected, "{what} by {way:?} for {}: {fate:?}", ear.name);
                }
            }
            // The same from the history, by a long poll and by an order.
            let polled = server.get("/channels/t?wait=0");
            let polled = parsed(&polled.body);
            assert_eq!(polled["messages"].as_array().unwrap().last().unwrap()["data"], *mark);
            let told = history(&server)["messages"].take();
            assert_eq!(told, polled["messages"], "{what} by {way:?}");
        }
    }
    assert_eq!(server.printed_troubles(), "", "no page and no process has failed");
}

#[test]
fn a_text_that_is_no_json_is_refused_where_json_is_expected() {
    let server = site();
    for (what, body) in bodies() {
        let is_json =
            matches!(what, "an object" | "an escaped surrogate" | "an escaped NUL" | "null");
        for way in [Way::Json, Way::Order, Way::Object] {
            let fate = way.publish(&server, &body);
            assert_eq!(fate == Fate::Published, is_json, "{what} by {way:?}: {fate:?}");
        }
        for way in [Way::Text, Way::Bytes, Way::PlainBinary, Way::Resp, Way::Page, Way::OrderOfText]
        {
            assert_eq!(way.publish(&server, &body), Fate::Published, "{what} by {way:?}");
        }
        let is_text = str::from_utf8(&body).is_ok();
        for way in [Way::PlainText, Way::PageTable] {
            let fate = way.publish(&server, &body);
            assert_eq!(fate == Fate::Published, is_text, "{what} by {way:?}: {fate:?}");
        }
    }
}

#[test]
fn a_module_sends_texts_that_are_valid_or_gets_an_error() {
    let plan = Plan::new().config("[[route]]\npath = \"/\"\nmodule = \"back\"\n");
    plan.directory.write("app/back.lua", SOCKET);
    let server = plan.start();
    for (what, body) in bodies() {
        let heard = through_socket(&server, "/", &masked(2, &body));
        let mut reader = MessageReader::new(Extension::None);
        let mut scratch = Vec::new();
        let step = reader.next(PeerRole::Client, &MessageLimits::default(), &heard, &mut scratch);
        let Ok((_, ReadStep::Message(MessageKind::Text, told))) = step else {
            panic!("{what}: {step:?}")
        };
        let is_refused = told.starts_with(b"refused: ");
        assert_eq!(is_refused, str::from_utf8(&body).is_err(), "{what}: {}", told.escape_ascii());
    }
}

/// A process and a module put what they got into tables of their own.
#[test]
fn a_message_of_a_client_can_be_passed_on_within_other_tables() {
    let config = format!(
        "{CONFIG}[store]\npath = \"store\"\n[[process]]\nmodule = \"relay\"\n[[route]]\npath = \
         \"/kept\"\nmodule = \"kept\"\n"
    );
    let plan = Plan::new().config(&config).argument("--schedulers=1");
    plan.directory.write("programs.keys", API_KEY);
    let keys = plan.directory.join("programs.keys");
    std::fs::set_permissions(keys, Permissions::from_mode(0o600)).unwrap();
    plan.directory.write(
        "app/relay.lua",
        "return function() for message in channel.subscribe('in') do store.put('kept', { message = message \
         }) channel.publish('out', { message = message }) end end",
    );
    plan.directory
        .write("app/kept.lua", "return function() return { { (store.get('kept')) } } end");
    let server = plan.start();
    let fields = [("Content-Type", "application/json")];
    let publish = |body: &[u8]| ask(&server, "POST", "/channels/in", &fields, body).status;
    let last = || {
        let messages = parsed(&server.get("/channels/out?wait=0").body)["messages"].take();
        messages.as_array().and_then(|messages| messages.last().map(|last| last["data"].clone()))
    };
    until("the process to listen", || {
        assert_eq!(publish(b"1"), 200);
        last()
    });
    let deep = [&b"[".repeat(100), &b"1"[..], &b"]".repeat(100)].concat();
    let deep_value = parsed(&deep);
    assert_eq!(publish(&deep), 200);
    until("the deep message", || (last()? == json!({ "message": deep_value })).then_some(()));
    let kept = parsed(&server.get("/kept").body);
    assert_eq!(kept, json!([[{ "message": deep_value }]]));
    assert_eq!(publish(b"2"), 200);
    until("the next message", || (last()? == json!({ "message": 2 })).then_some(()));
    assert_eq!(server.printed_troubles(), "", "the process goes on");
}
