//! Goal: no flood of frames takes memory, or time from others. Method: ten attacks of the last years with frames by
//! hand; the server's own numbers say what it held, and another client is served all the time.

use conformance::h2::{FrameClient, FrameTarget};

use crate::server::Server;
use crate::site::{plan, play, status, target};

/// The most that one connection may make the server hold, whatever it sends.
const HELD_BYTES: u64 = 1024 * 1024;

const ECHO: &str = "return function(request) return request.body end";

const CONFIG: &str = "[[route]]\npath = \"/echo\"\nmodule = \"echo\"\n";

pub(crate) fn attacked(config: &str) -> Server {
    let plan = plan(&format!("{CONFIG}{config}"))
        .file("a.txt", "a\n")
        .file("large.bin", vec![b'x'; 2 * 1024 * 1024]);
    plan.directory.write("app/echo.lua", ECHO);
    plan.start()
}

/// The most that the server held at one time for clients.
pub(crate) fn held(server: &Server) -> u64 {
    server.count("/network/buffered_bytes_max")
}

/// A client of its own, which is served.
pub(crate) fn is_served(target: &FrameTarget) {
    let mut other = target.client().unwrap();
    play(&mut other, "request 1 GET /a.txt\nwait end 1");
    assert_eq!(status(&other, 1), 200);
}

/// Plays the attack on a connection of its own, which must end with this code; others are served before, meanwhile
/// and behind it.
fn ends_with(code: &str, lines: &str) {
    let server = attacked("");
    let target = target(&server, "/a.txt");
    let mut other = target.client().unwrap();
    play(&mut other, "request 1 GET /a.txt\nwait end 1");
    let mut attacker = target.client().unwrap();
    attacker.play(lines).unwrap();
    play(&mut other, "request 3 GET /a.txt\nwait end 3");
    assert!(ends(&mut attacker), "{lines}: {}", attacker.frames());
    // The client may lose GOAWAY if it still sends when the server has closed.
    if let Some(said) = attacker.farewell() {
        assert_eq!(said, code, "{lines}: {}", attacker.frames());
    }
    play(&mut other, "request 5 GET /a.txt\nwait end 5");
    is_served(&target);
    assert!(held(&server) <= HELD_BYTES, "{lines}: {} bytes were held", held(&server));
    let calmed = u64::from(code == "ENHANCE_YOUR_CALM");
    assert_eq!(server.count("/http/http2_broken"), 1, "{lines}");
    assert_eq!(server.count("/http/http2_calmed"), calmed, "{lines}");
    drop((other, attacker));
    server.reaches("/connections", 0);
    server.reaches("/network/buffered_bytes", 0);
    assert_eq!(server.printed_troubles(), "");
}

fn ends(client: &mut FrameClient<'_>) -> bool {
    client.ends_within(crate::server::patience::PATIENCE)
}

#[test]
fn rapid_reset_ends_the_connection() {
    // CVE-2023-44487.
    ends_with("ENHANCE_YOUR_CALM", "repeat 3000 request next GET /a.txt & reset last CANCEL");
    ends_with("ENHANCE_YOUR_CALM", "repeat 3000 request next GET /echo & reset last CANCEL");
}

#[test]
fn resets_that_a_client_provokes_count_as_its_own() {
    // CVE-2025-8671: an update of 0, an overflow, a short PRIORITY, DATA behind the end, a malformed request.
    for provoked in [
        "request next open POST /echo & window last 0",
        "request next open POST /echo & window last 0x7fffffff",
        "request next open POST /echo & frame last PRIORITY | hex 00",
        "request next POST /echo & data last | more",
        "request next open POST /echo | content-length: 1 & data last end | more",
        "headers next end | connection: close",
    ] {
        ends_with("ENHANCE_YOUR_CALM", &format!("repeat 1000 {provoked}"));
    }
}

#[test]
fn a_block_of_fields_without_end_ends_the_connection() {
    // CVE-2024-27316 and its kind.
    for part in ["continuation 1 part", "continuation 1 part | x: {repeat 900 a}"] {
        let lines = format!("headers 1 end part | @ GET /a.txt\nrepeat 5000 {part}");
        ends_with("ENHANCE_YOUR_CALM", &lines);
    }
}

#[test]
fn frames_that_do_nothing_are_counted() {
    // CVE-2019-9512, 9515, 9513, 9518, and updates of one byte.
    for frame in [
        "ping 0 | 12345678",
        "ping 0 ack | 12345678",
        "settings",
        "settings INITIAL_WINDOW_SIZE=1000",
        "priority 1 3/15",
        "priority-update 0 1 | u=1",
        "window 0 1",
        "frame 0 0xfa",
        "frame 0 0xfa | anything",
    ] {
        ends_with("ENHANCE_YOUR_CALM", &format!("repeat 30000 {frame}"));
    }
    for frame in ["data 1", "data 1 padded=0", "data 1 padded=20", "window 1 1"] {
        let lines = format!("request 1 open POST /echo\nrepeat 30000 {frame}");
        ends_with("ENHANCE_YOUR_CALM", &lines);
    }
}

#[test]
fn frames_on_closed_streams_are_counted() {
    let closed = "request 1 GET /a.txt\nwait end 1\n";
    for frame in ["window 1 1", "reset 1 CANCEL", "priority 1 0/1"] {
        ends_with("ENHANCE_YOUR_CALM", &format!("{closed}repeat 30000 {frame}"));
    }
}

#[test]
fn a_number_of_a_stream_is_used_once() {
    let closed = "request 3 GET /a.txt\nwait end 3\n";
    ends_with("STREAM_CLOSED", &format!("{closed}request 3 GET /a.txt"));
    ends_with("PROTOCOL_ERROR", &format!("{closed}request 2 GET /a.txt"));
}

#[test]
fn streams_that_depend_on_each_other_are_no_loop() {
    let server = attacked("");
    let target = target(&server, "/a.txt");
    let mut client = target.client().unwrap();
    play(
        &mut client,
        "priority 1 3/15\npriority 3 5/15\npriority 5 1/15\nheaders 1 end priority=!3/1 | @ GET /a.txt",
    );
    play(
        &mut client,
        "request 3 GET /a.txt\nrequest 5 GET /a.txt\nwait end 1\nwait end 3\nwait end 5",
    );
    assert_eq!([1, 3, 5].map(|stream| status(&client, stream)), [200; 3]);
}
