//! Streams that become WebSockets (RFC 8441), one property at a time, in a quiet world.
//!
//! Owns the scenes: how one opens and is refused, how it ends from either side, and what becomes of a client that does
//! not read, does not answer or is told that the server stops.

use std::collections::BTreeMap;

use runtime::service::CloseReason;
use server::conn::Connections;
use server::message::ToScheduler;
use sys::connect::RemoteAddress;
use world::ClientId;

use crate::mux_client::{FIRST_SOCKET, MuxClient};
use crate::mux_socket::{Act, BINARY, Fate, MuxSocket, Pongs, Reading, TEXT};
use crate::whole_site;
use crate::world::{SECOND_NS, Setting, Stage};

/// A server, and one connection whose streams become WebSockets.
struct Scene {
    stage: Stage<Connections>,
    _store: tempfile::TempDir,
    client: MuxClient,
}

impl Scene {
    fn new(sockets: impl IntoIterator<Item = MuxSocket>) -> Self {
        let (stage, store) = whole_site::stage(&Setting::quiet(1));
        let client = MuxClient::new(Vec::new(), None, 1).with_sockets(sockets);
        Self { stage, _store: store, client }
    }

    fn socket(&mut self, number: u16) -> &mut MuxSocket {
        self.client.sockets.get_mut(&(FIRST_SOCKET + number)).unwrap()
    }

    /// Runs until this holds of the client.
    fn until(&mut self, what: &str, holds: impl Fn(&MuxClient) -> bool) {
        let client = &mut self.client;
        let came = self.stage.run_until(&mut [], |stage, _| {
            client.step(&stage.world);
            holds(client)
        });
        assert!(came, "never: {what}{}", client.waiting());
    }

    fn until_all_stand(&mut self) {
        self.until("all stand", |client| client.sockets.values().all(MuxSocket::is_idle));
    }

    /// Runs until the client has seen the end of all its streams, and the server of all processes.
    fn until_over(&mut self) {
        self.until("all is over", MuxClient::is_over);
        self.stage.run_until(&mut [], |stage, _| stage.processes() == 0);
        self.stage.assert_nothing_is_left();
    }

    fn pass(&mut self, seconds: u64) {
        let until_ns = self.stage.now_ns() + seconds * SECOND_NS;
        let client = &mut self.client;
        // Something is always due: the deadlines of the sockets.
        self.stage.run_until(&mut [], |stage, _| {
            client.step(&stage.world);
            stage.now_ns() >= until_ns
        });
    }
}

fn say(text: &str) -> Act {
    Act::Say(TEXT, text.as_bytes().to_vec(), 1)
}

/// A listener of a channel, which leaves once it has heard anything.
fn listener(channel: &str) -> MuxSocket {
    MuxSocket::new(&format!("/channels/{channel}"), [Act::Await(1), Act::Close(1000)])
}

fn is_closed(client: &MuxClient, number: u16) -> bool {
    client.sockets[&(FIRST_SOCKET + number)].is_over()
}

/// RFC 8441 section 5.
#[test]
fn a_stream_becomes_a_websocket_with_200_and_no_key() {
    let fields = [
        ("sec-websocket-version", "13"),
        ("sec-websocket-protocol", "velodrome.json"),
        ("sec-websocket-extensions", "permessage-deflate"),
    ];
    let plain = MuxSocket::new("/channels/news", [Act::Close(1000)]);
    let objects = MuxSocket::asking("websocket", "/channels/news", &fields, [Act::Close(1000)]);
    let talk = MuxSocket::new("/talk", [Act::Await(1), Act::Close(1000)]);
    let mut scene = Scene::new([plain, talk]);
    scene.until_over();
    for number in 0..2 {
        let (status, fields) = scene.socket(number).head.clone().unwrap();
        let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!((status, &names[..]), (200, &["date"][..]), "no length, no token");
    }
    // Its frames are compressed from the close on, which this client does not read.
    let mut scene = Scene::new([objects]);
    scene.until("the head", |client| client.sockets[&FIRST_SOCKET].head.is_some());
    let socket = scene.socket(0);
    assert_eq!(socket.status(), Some(200));
    assert_eq!(socket.field("sec-websocket-protocol"), Some("velodrome.json"));
    assert!(socket.field("sec-websocket-extensions").is_some());
}

#[test]
fn plain_request_to_socket_route_is_refused() {
    let version = [("sec-websocket-version", "13")];
    let strange = [("sec-websocket-version", "13"), ("origin", "https://b.example")];
    let cases = [
        ("foo", "/channels/news", &version[..], 501),
        ("websocket", "/channels/news", &[], 426),
        ("websocket", "/channels/news", &strange, 403),
        ("websocket", "/channels/bad%20name", &version, 400),
        ("foo", "/talk", &version, 501),
        ("websocket", "/sum", &version, 501),
        ("websocket", "/parts", &version, 501),
        ("websocket", "/api/riders/7", &version, 501),
        ("websocket", "/sum.page.txt", &version, 404),
        ("websocket", "/unknown", &version, 404),
    ];
    for (protocol, path, fields, expected) in cases {
        let mut scene = Scene::new([MuxSocket::asking(protocol, path, fields, [])]);
        scene.until_over();
        let socket = scene.socket(0);
        assert_eq!(socket.status(), Some(expected), "{protocol} {path}");
        assert_eq!(socket.fate, Fate::Ended, "{protocol} {path}");
        let length: usize = socket.field("content-length").unwrap().parse().unwrap();
        assert_eq!(socket.body.len(), length, "{protocol} {path}");
    }
}

#[test]
fn messages_go_both_ways_in_any_pieces() {
    let large: Vec<u8> = (0..9_000).map(|number| b"abcdefghij"[number % 10]).collect();
    let acts = [
        Act::Say(TEXT, large.clone(), 5),
        Act::Say(BINARY, vec![0xff; 700], 3),
        Act::Say(TEXT, Vec::new(), 1),
        Act::Await(4),
        Act::Close(1000),
    ];
    let mut scene = Scene::new([MuxSocket::new("/talk", acts)]);
    scene.until_over();
    let socket = scene.socket(0);
    let expected = [(TEXT, b"open".to_vec()), (TEXT, large), (BINARY, vec![0xff; 700])];
    assert_eq!(socket.heard[..3], expected);
    assert_eq!(socket.heard[3], (TEXT, Vec::new()));
    assert_eq!(socket.closed, Some((1000, String::new())));
}

/// RFC 8441 section 5: the end of the stream is the end of the TCP connection of RFC 6455, a reset of it is a reset.
#[test]
fn an_end_of_either_side_is_told_to_the_other() {
    for (act, code, fate, closed) in [
        (Act::Close(1001), "1001", Fate::Ended, Some(1001)),
        (Act::End, "1006", Fate::Ended, None),
        (Act::Reset, "1006", Fate::LetGo, None),
        (say("close"), "3001", Fate::Ended, Some(3001)),
        (Act::Say(7, Vec::new(), 1), "1002", Fate::Ended, Some(1002)),
    ] {
        let mut scene = Scene::new([listener("ends"), MuxSocket::new("/talk", [Act::Await(1)])]);
        scene.until("both stand", |client| {
            client.sockets[&FIRST_SOCKET].head.is_some()
                && client.sockets[&(FIRST_SOCKET + 1)].is_idle()
        });
        scene.socket(1).act(act.clone());
        scene.until_over();
        assert_eq!(scene.socket(0).texts(), [code], "{act:?}: what the module was told");
        let socket = scene.socket(1);
        assert_eq!(socket.fate, fate, "{act:?}");
        assert_eq!(socket.closed.as_ref().map(|(code, _)| *code), closed, "{act:?}");
    }
}

/// While a module is busy, its client may end the stream or reset it.
#[test]
fn an_end_is_told_while_a_module_is_busy() {
    for (act, fate) in [(Act::End, Fate::Ended), (Act::Reset, Fate::LetGo)] {
        let talk = MuxSocket::new("/talk", [Act::Await(1), say("think"), say("more"), act]);
        let mut scene = Scene::new([listener("ends"), talk]);
        scene.until("it is over", |client| is_closed(client, 1));
        assert_eq!(scene.socket(1).heard.len(), 1, "the answer is not waited for");
        scene.until_over();
        assert_eq!(
            (scene.socket(1).fate, scene.socket(0).texts()),
            (fate, vec!["1006".to_owned()])
        );
    }
}

/// A module that waits takes no messages, so its client gets no room for more.
#[test]
fn a_busy_module_holds_back_its_client() {
    let mut acts = vec![Act::Await(1), say("think")];
    acts.extend((0..40).map(|_| Act::Say(TEXT, vec![b'x'; 16_000], 1)));
    acts.extend([Act::Await(42), Act::Close(1000)]);
    let mut scene = Scene::new([MuxSocket::new("/talk", acts)]);
    scene.until("no room", |client| client.sockets[&FIRST_SOCKET].window == 0);
    let held = scene.stage.sum(|scheduler| scheduler.stats().buffered_bytes);
    assert!(held < 2 * 256 * 1024, "{held} bytes are held");
    scene.until_over();
    assert_eq!(scene.socket(0).heard.len(), 42);
}

/// A client that gives no room holds back the module that sends to it.
#[test]
fn a_client_that_does_not_read_holds_back_a_module() {
    let mut scene = Scene::new([MuxSocket::new("/talk", [Act::Await(1), say("flood")])]);
    scene.until("it stands", |client| client.sockets[&FIRST_SOCKET].heard.len() == 1);
    scene.socket(0).reading = Reading::Nothing;
    scene.pass(5);
    let held = scene.stage.sum(|scheduler| scheduler.stats().buffered_bytes);
    assert!((200_000..700_000).contains(&held), "{held} of 3 MB are held");
    let socket = scene.socket(0);
    assert!(socket.heard.len() < 4, "its window is closed");
    socket.reading = Reading::Fast;
    socket.act(Act::Await(3002));
    socket.act(Act::Close(1000));
    scene.until_over();
    assert_eq!(scene.socket(0).heard.len(), 3002, "none is lost");
}

/// A subscriber whose client gives no room is too slow for its channel: it learns that when it reads.
#[test]
fn a_subscriber_that_gives_no_room_is_closed_as_too_slow() {
    let mut slow = MuxSocket::new("/channels/narrow", []);
    slow.reading = Reading::Nothing;
    let speaker = MuxSocket::new("/channels/narrow", []);
    let mut scene = Scene::new([slow, speaker]);
    scene.until_all_stand();
    for _ in 0..20 {
        scene.socket(1).act(Act::Say(TEXT, vec![b'x'; 1_000], 1));
    }
    scene.until("all is said", |client| client.sockets[&(FIRST_SOCKET + 1)].heard.len() == 20);
    assert_eq!(scene.socket(0).closed, None);
    scene.socket(0).reading = Reading::Fast;
    scene.until("it is told", |client| is_closed(client, 0));
    let socket = scene.socket(0);
    assert_eq!(socket.closed.as_ref().map(|(code, _)| *code), Some(4008));
    assert!((1..10).contains(&socket.heard.len()), "{} came before", socket.heard.len());
    scene.socket(1).act(Act::Close(1000));
    scene.until_over();
}

/// A client that never gives room again loses its stream, and no other.
#[test]
fn a_client_that_never_reads_loses_that_stream_alone() {
    let mut scene = Scene::new([
        MuxSocket::new("/talk", [Act::Await(1), say("flood")]),
        MuxSocket::new("/talk", [Act::Await(1)]),
    ]);
    scene.until_all_stand();
    scene.socket(0).reading = Reading::Nothing;
    scene.until("it is cut", |client| is_closed(client, 0));
    assert_eq!(scene.socket(0).fate, Fate::Reset);
    assert_eq!(scene.stage.closed(CloseReason::SlowReader), 1);
    scene.socket(1).act(say("still here"));
    scene.socket(1).act(Act::Await(2));
    scene.socket(1).act(Act::Close(1000));
    scene.until_over();
    assert_eq!(scene.socket(1).texts(), ["open", "still here"]);
}

#[test]
fn a_silent_client_is_pinged_and_closed_if_it_does_not_answer() {
    let mut silent = MuxSocket::new("/channels/news", []);
    silent.pongs = Pongs::Withheld;
    let mut scene = Scene::new([silent, MuxSocket::new("/channels/news", [])]);
    scene.until("the silent one is closed", |client| is_closed(client, 0));
    let socket = scene.socket(0);
    assert_eq!((socket.pings, socket.fate), (1, Fate::Ended));
    assert_eq!(socket.closed, Some((1001, "no answer to a ping".to_owned())));
    scene.pass(120);
    let socket = scene.socket(1);
    assert!(socket.pings > 3 && socket.closed.is_none(), "{} pings", socket.pings);
    socket.act(Act::Close(1000));
    scene.until_over();
}

#[test]
fn a_server_that_stops_says_so_on_each_stream() {
    let talk = MuxSocket::new("/talk", [Act::Await(1)]);
    let mut scene = Scene::new([MuxSocket::new("/channels/news", []), talk, listener("ends")]);
    scene.until("all stand", |client| {
        client.sockets.values().all(|socket| socket.head.is_some())
            && client.sockets[&(FIRST_SOCKET + 1)].is_idle()
    });
    scene.stage.tell_all(|| ToScheduler::Drain { deadline_ms: 60_000, idle_grace_ms: 0 }.into());
    scene.until("all are told", |client| (0..3).all(|number| is_closed(client, number)));
    for number in 0..3 {
        let socket = scene.socket(number);
        let told = Some((1001, "the server stops".to_owned()));
        assert_eq!((socket.fate, &socket.closed), (Fate::Ended, &told), "{number}");
    }
    scene.stage.run_until(&mut [], |stage, _| stage.schedulers[0].is_finished());
    assert_eq!(scene.stage.closed(CloseReason::Stopped), 0, "nothing waits for the deadline");
    scene.stage.assert_nothing_is_left();
}

/// The other end of a connection to a server of an upstream, and what has come there until an empty line.
fn head_at_server(scene: &mut Scene, at: &RemoteAddress) -> (ClientId, String) {
    let (mut server, mut head) = (None, Vec::new());
    let client = &mut scene.client;
    let came = scene.stage.run_until(&mut [], |stage, _| {
        client.step(&stage.world);
        server = server.or_else(|| stage.world.accept_remote(at).map(|(server, _)| server));
        head.extend(server.map(|server| stage.world.client_received(server)).unwrap_or_default());
        head.ends_with(b"\r\n\r\n")
    });
    assert!(came, "no request at the server: {server:?} {}", head.escape_ascii());
    (server.unwrap(), String::from_utf8(head).unwrap())
}

/// A server of an upstream is asked over HTTP/1.1, with a key that the client has not sent.
#[test]
fn a_websocket_on_a_stream_reaches_a_server_behind_this_one() {
    let at = RemoteAddress::Tcp(([10, 0, 0, 9], 80).into());
    for is_right in [true, false] {
        let acts = [say("hello"), Act::Await(1), Act::End];
        // A key of the client says nothing on a stream.
        let fields = [("sec-websocket-version", "13"), ("sec-websocket-key", "AAAA")];
        let socket = MuxSocket::asking("websocket", "/behind/chat", &fields, acts);
        let mut scene = Scene::new([socket]);
        scene.stage.world.listen_remote(&at);
        let (server, head) = head_at_server(&mut scene, &at);
        let fields: BTreeMap<String, &str> = head
            .lines()
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value))
            .collect();
        let field = |name: &str| fields.get(name).copied();
        assert!(head.starts_with("GET /behind/chat HTTP/1.1\r\n"), "{head}");
        assert_eq!((field("connection"), field("upgrade")), (Some("Upgrade"), Some("websocket")));
        assert_eq!(field("sec-websocket-version"), Some("13"), "{head}");
        let key = field("sec-websocket-key").unwrap();
        assert!(!head.contains("AAAA"), "{head}");
        let token = wire::websocket::accept_token(if is_right { key.as_bytes() } else { b"other" });
        let token = std::str::from_utf8(&token).unwrap();
        let mut answer = format!(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Accept: {token}\r\nX-Kind: far\r\n\r\n"
        )
        .into_bytes();
        answer.extend(b"\x81\x02hi");
        scene.stage.world.client_send(server, &answer);
        if !is_right {
            scene.until_over();
            assert_eq!(scene.socket(0).status(), Some(502), "it has not understood the key");
            continue;
        }
        scene.until("its message", |client| client.sockets[&FIRST_SOCKET].heard.len() == 1);
        assert_eq!(
            (scene.socket(0).status(), scene.socket(0).field("x-kind")),
            (Some(200), Some("far"))
        );
        scene.until("the end", |client| client.sockets[&FIRST_SOCKET].is_idle());
        scene.pass(1);
        let sent = scene.stage.world.client_received(server);
        assert!(sent.ends_with(b"hello"), "{sent:?}");
        scene.stage.world.client_close(server);
        scene.until_over();
        assert_eq!(
            (scene.socket(0).fate, scene.socket(0).texts()),
            (Fate::Ended, vec!["hi".to_owned()])
        );
    }
}

/// A request that is under way when the server stops is not made a WebSocket.
#[test]
fn no_websocket_begins_while_the_server_stops() {
    // The other stream keeps the connection: a client that does not read cannot be told.
    let mut slow = MuxSocket::new("/talk", [Act::Await(1), say("flood")]);
    slow.reading = Reading::Fast;
    let mut scene = Scene::new([slow]);
    scene.until_all_stand();
    scene.socket(0).reading = Reading::Nothing;
    scene.pass(1);
    // Between the two GOAWAY frames requests may be on their way.
    scene.client.side.pings = Pongs::Withheld;
    scene.stage.tell_all(|| ToScheduler::Drain { deadline_ms: 60_000, idle_grace_ms: 0 }.into());
    scene.until("it is announced", |client| client.side.goaways == 1);
    let late = MuxSocket::new("/channels/news", []);
    scene.client.sockets.insert(FIRST_SOCKET + 1, late);
    scene.until("the late one is answered", |client| is_closed(client, 1));
    assert_eq!(scene.socket(1).status(), Some(503));
}
