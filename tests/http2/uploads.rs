//! Goal: bodies that come at once on one connection all become whole, and the server never holds more for them than
//! 1 MiB and one body. Method: a client with flow control of its own, uploads that stall; the server's own count.

use std::process::Command;

use crate::floods::{held, is_served};
use crate::server::{Server, errors_of, has, printed_by, run};
use crate::site::{plan, play, status, target};

/// The most that a connection may make the server hold beside the body whose turn it is.
const HELD_BYTES: u64 = 1024 * 1024;
const BODY_BYTES: usize = 1_000_000;

fn site(config: &str) -> Server {
    let routes = "[[route]]\npath = \"/length\"\nmodule = \"length\"\n[[route]]\npath = \"/slow\"\nmodule = \"slow\"\n";
    let plan = plan(&format!("{routes}{config}")).file("a.txt", "a\n");
    plan.directory
        .write("app/length.lua", "return function(request) return tostring(#request.body) end");
    plan.directory.write("app/slow.lua", "return function() sleep(0.02) return '' end");
    plan.directory.write("body.bin", vec![b'x'; BODY_BYTES]);
    plan.start()
}

#[test]
fn a_hundred_bodies_at_once_all_become_whole() {
    const TEST: &str = "a_hundred_bodies_at_once_all_become_whole";
    if !has("h2load", TEST) {
        return;
    }
    let server = site("");
    for (path, words) in [
        ("/length", ["-n100", "-m100"]),
        ("/length", ["-n100", "-m7"]),
        ("/slow", ["-n40", "-m20"]),
    ] {
        let mut h2load = Command::new("h2load");
        h2load.args(words).args(["-c1", "-t1", "-d"]).arg(server.directory().join("body.bin"));
        let output = run(h2load.arg(format!("http://{}{path}", server.address())));
        let count = &words[0][2..];
        let told = format!("{count} succeeded, 0 failed, 0 errored, 0 timeout");
        let printed = printed_by(&output);
        assert!(printed.contains(&told), "{path} {words:?}: {printed}{}", errors_of(&output));
        let most = HELD_BYTES + BODY_BYTES as u64;
        assert!(held(&server) <= most, "{path} {words:?}: {} bytes were held", held(&server));
    }
    server.reaches("/connections", 0);
    server.reaches("/network/buffered_bytes", 0);
    assert_eq!(server.printed_troubles(), "");
}

/// Begins so many bodies, of each of which so many bytes come.
fn begin(count: usize, bytes: usize) -> String {
    let fields = format!("content-length: {BODY_BYTES}");
    let piece = format!("data last | {{repeat {bytes} a}}");
    format!("repeat {count} request next open POST /length | {fields} & {piece}")
}

#[test]
fn bodies_that_stall_hold_no_more_and_end_by_their_deadlines() {
    let server = site("[limits]\nbody_idle = \"1s\"\n");
    let target = target(&server, "/a.txt");
    let mut attacker = target.client().unwrap();
    play(&mut attacker, &begin(100, 3_900));
    play(&mut attacker, "wait ping");
    is_served(&target);
    assert!(held(&server) <= HELD_BYTES, "{} bytes were held", held(&server));
    drop(attacker);
    server.reaches("/network/buffered_bytes", 0);
    // Those that may not send have time until they may.
    let mut client = target.client().unwrap();
    play(&mut client, &begin(4, 15_000));
    play(&mut client, &format!("repeat 4 {}", "ping 0 | 12345678"));
    for stream in [1, 3, 5, 7] {
        play(&mut client, &format!("wait answer {stream}"));
        assert_eq!(status(&client, stream), 408);
    }
    drop(client);
    server.reaches("/network/buffered_bytes", 0);
    assert_eq!(server.printed_troubles(), "");
}
