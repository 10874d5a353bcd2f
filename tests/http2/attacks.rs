//! Goal: what a client makes the server hold is bounded by bytes and by time. Method: compression bombs, windows that
//! stay closed, fields and bodies of many streams at once; the server's own numbers say what it held.

use crate::floods::{attacked, held, is_served};
use crate::server::Server;
use crate::server::patience::until;
use crate::site::{answer, play, status, target};

/// The most that one connection may make the server hold, whatever it sends.
const HELD_BYTES: u64 = 1024 * 1024;

/// Nothing is left of a connection that was dropped.
fn is_over(server: &Server) {
    server.reaches("/connections", 0);
    server.reaches("/network/buffered_bytes", 0);
    assert_eq!(server.printed_troubles(), "");
}

#[test]
fn fields_of_one_byte_are_counted_as_what_they_stand_for() {
    // The HPACK bomb: an entry of 3,000 bytes, a thousand times. And the HTTP/2 bomb of June 2026 (CVE-2026-49975):
    // fields that cost one byte each, also as crumbs of a cookie.
    let server = attacked("");
    let target = target(&server, "/a.txt");
    for (kept, bomb) in [
        ("x-a: {repeat 3000 a}", "{repeat 1000 \\xbe}"),
        ("cookie: a", "{repeat 12000 \\xbe}"),
        ("x-a:", "{repeat 12000 \\xbe}"),
        ("x-a: b", "{repeat 12000 \\x90}"),
    ] {
        let mut client = target.client().unwrap();
        play(&mut client, &format!("headers 1 end | @ GET /a.txt | add {kept}\nwait end 1"));
        for _ in 0..20 {
            play(
                &mut client,
                &format!("headers next end | @ GET /a.txt | raw {bomb}\nwait end last"),
            );
            let last = client.last_stream();
            assert_eq!(status(&client, last), 431, "{kept}");
        }
        // The table is in step: what was kept can still be used.
        play(&mut client, "headers next end | @ GET /a.txt | hex be\nwait end last");
        assert_eq!(status(&client, client.last_stream()), 200, "{kept}");
        is_served(&target);
    }
    assert!(held(&server) <= HELD_BYTES, "{} bytes were held", held(&server));
    is_over(&server);
}

#[test]
fn one_hundred_fields_are_accepted_and_one_more_is_not() {
    let server = attacked("");
    let target = target(&server, "/a.txt");
    let mut client = target.client().unwrap();
    // With host, which :authority becomes, these are the limit of `field_count`; a crumb counts as a field.
    for (count, expected) in [(98, 200), (120, 431)] {
        let crumbs = " | cookie: a=b".repeat(count / 2);
        let fields = " | x-a: b".repeat(count - count / 2);
        play(&mut client, &format!("request next GET /a.txt{crumbs}{fields}\nwait end last"));
        assert_eq!(status(&client, client.last_stream()), expected, "{count} fields");
    }
}

#[test]
fn windows_that_stay_closed_hold_little_and_not_for_long() {
    let server = attacked("[limits]\nsend_idle = \"1s\"\n");
    let target = target(&server, "/a.txt");
    let mut attacker = target.client().unwrap();
    play(&mut attacker, "settings INITIAL_WINDOW_SIZE=0\nwait settings-ack");
    play(&mut attacker, "repeat 100 request next GET /large.bin\nwait answer 199\nwait answer 1");
    is_served(&target);
    // A stream whose window stays closed is a slow reader.
    play(&mut attacker, "wait end 1\nwait end 199");
    for stream in [1, 99, 199] {
        let code = answer(&attacker, stream).reset_code();
        assert!(matches!(code, Some(8 | 11)), "stream {stream}: {code:?}, {}", attacker.frames());
    }
    assert!(held(&server) <= HELD_BYTES, "{} bytes were held", held(&server));
    drop(attacker);
    is_over(&server);
}

#[test]
fn a_connection_whose_window_stays_closed_holds_little_and_not_for_long() {
    let server = attacked("[limits]\nsend_idle = \"1s\"\n");
    let target = target(&server, "/a.txt");
    let mut attacker = target.client().unwrap();
    // The window of the connection is 65,535 bytes: it is used up, and never opened.
    play(&mut attacker, "settings INITIAL_WINDOW_SIZE=0x7fffffff\nwait settings-ack");
    play(&mut attacker, "repeat 100 request next GET /large.bin\nwait answer 199");
    is_served(&target);
    until("the end of the streams", || {
        attacker.play("wait quiet").unwrap();
        let ended = |stream| attacker.answer(stream).is_some_and(|it| it.reset_code().is_some());
        (!attacker.is_open() || (ended(1) && ended(199))).then_some(())
    });
    assert!(held(&server) <= HELD_BYTES, "{} bytes were held", held(&server));
    drop(attacker);
    is_over(&server);
}

#[test]
fn a_window_of_one_byte_at_a_time_is_a_slow_reader() {
    // Data dribble (CVE-2019-9511): each update costs the server a frame of its own.
    let server = attacked("[limits]\nsend_idle = \"2s\"\n");
    let target = target(&server, "/a.txt");
    let mut attacker = target.client().unwrap();
    play(
        &mut attacker,
        "settings INITIAL_WINDOW_SIZE=0\nwait settings-ack\nrepeat 10 request next GET /large.bin",
    );
    play(&mut attacker, "wait answer 19");
    until("the end of the dribble", || {
        let lines: Vec<String> =
            (0..10).map(|index| format!("window {} 1", 2 * index + 1)).collect();
        attacker.play(&lines.join("\n")).unwrap();
        attacker.play("wait quiet").unwrap();
        let is_over = |stream| attacker.answer(stream).is_some_and(|it| it.reset_code().is_some());
        (!attacker.is_open() || is_over(19)).then_some(())
    });
    is_served(&target);
    assert!(held(&server) <= HELD_BYTES, "{} bytes were held", held(&server));
    drop(attacker);
    is_over(&server);
}

#[test]
fn heads_of_many_streams_hold_a_bounded_memory() {
    let server = attacked("");
    let target = target(&server, "/a.txt");
    let mut attacker = target.client().unwrap();
    // 100 requests of 14 KiB each, whose bodies never come.
    let fields = " | x-a: {repeat 7000 a} | x-b: {repeat 7000 b}";
    play(&mut attacker, &format!("repeat 100 request next open POST /echo{fields}\nwait ping"));
    is_served(&target);
    assert!(held(&server) <= HELD_BYTES, "{} bytes were held", held(&server));
    drop(attacker);
    is_over(&server);
}

#[test]
fn bodies_of_many_streams_hold_a_bounded_memory() {
    let server = attacked("");
    let target = target(&server, "/a.txt");
    let mut attacker = target.client().unwrap();
    // As much as the window of the connection allows at once, to requests that collect it and never end.
    play(&mut attacker, "repeat 100 request next open POST /echo\nwait ping");
    let streams = (1..48).step_by(2);
    let lines: Vec<String> =
        streams.map(|stream| format!("data {stream} | {{repeat 16000 a}}")).collect();
    play(&mut attacker, &lines.join("\n"));
    play(&mut attacker, "wait ping");
    is_served(&target);
    assert!(held(&server) <= HELD_BYTES, "{} bytes were held", held(&server));
    drop(attacker);
    is_over(&server);
}

#[test]
fn content_beyond_the_windows_is_an_error_of_flow_control() {
    let server = attacked("");
    let target = target(&server, "/a.txt");
    let mut attacker = target.client().unwrap();
    // A module that is not asked yet reads nothing: its request is announced as too long at its end only.
    attacker.play("repeat 4 request next open POST /echo").unwrap();
    attacker.play("repeat 900 data 1 | {repeat 16384 a}\nwait end 1").unwrap();
    // If the stream has its answer by then, the reset comes a moment later.
    until("the end of the stream or the connection", || {
        let _ended = attacker.play("wait ping");
        (!attacker.is_open() || answer(&attacker, 1).reset_code().is_some()).then_some(())
    });
    is_served(&target);
    assert!(held(&server) <= 2 * HELD_BYTES, "{} bytes were held", held(&server));
}

#[test]
fn answers_that_nobody_reads_are_bounded() {
    // The client sends PING and requests, and reads nothing at all.
    let server = attacked("");
    let target = target(&server, "/a.txt");
    let mut attacker = target.client().unwrap();
    play(
        &mut attacker,
        "settings INITIAL_WINDOW_SIZE=0x7fffffff\nwindow 0 0x7fff0000\nwait settings-ack",
    );
    attacker.play("repeat 100 request next GET /large.bin").unwrap();
    attacker.play("repeat 2000 ping 0 | 12345678 & settings").unwrap();
    is_served(&target);
    assert!(held(&server) <= 2 * HELD_BYTES, "{} bytes were held", held(&server));
    drop(attacker);
    is_over(&server);
}
