//! Goal: bodies that come at once on one connection all become whole, and the server never holds more for them than
//! 1 MiB and one body. Method: a client with flow control of its own, uploads that stall; the server's own count.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::floods::{held, is_served};
use crate::server::patience::until;
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

/// Bytes of a body that is passed on.
const PASSED_BYTES: usize = 16_000_000;

/// Bytes that the server holds of bodies when the room of a connection for them is full, or nearly.
const FULL_BYTES: u64 = 256 * 1024;

/// A server behind the proxy that takes no byte of a body before the gate is open.
fn gated_reader(gate: &Arc<AtomicBool>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let gate = Arc::clone(gate);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let gate = Arc::clone(&gate);
            thread::spawn(move || while take_body(&stream, &gate).is_some() {});
        }
    });
    address
}

/// Takes a request with a body, and answers it; `None` at the end of the connection.
fn take_body(mut stream: &TcpStream, gate: &AtomicBool) -> Option<()> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    until("the gate is open", || gate.load(Ordering::Acquire).then_some(()));
    let mut piece = [0; 4_000];
    for _ in 0..PASSED_BYTES / piece.len() {
        stream.read_exact(&mut piece).ok()?;
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").ok()
}

#[test]
fn long_bodies_that_are_passed_on_do_not_wait_for_each_other_for_ever() {
    const TEST: &str = "long_bodies_that_are_passed_on_do_not_wait_for_each_other_for_ever";
    if !has("h2load", TEST) {
        return;
    }
    let gate = Arc::new(AtomicBool::new(false));
    let upstream =
        format!("[[upstream]]\nname = \"gated\"\nservers = [\"{}\"]\n", gated_reader(&gate));
    let route = "[[route]]\nprefix = \"/passed\"\nproxy = \"gated\"\n";
    let limit = "[limits]\nbody_size = \"32 MiB\"\n";
    let server = site(&format!("{route}{upstream}{limit}"));
    let body = server.directory().join("body.bin");
    std::fs::write(&body, vec![b'x'; PASSED_BYTES]).unwrap();
    for count in [2, 5] {
        let mut h2load = Command::new("h2load");
        h2load.args([format!("-n{count}"), format!("-m{count}")]);
        // A freeze would otherwise never end.
        h2load.args(["-c1", "-t1", "-N", "30s", "-d"]).arg(&body);
        h2load.arg(format!("http://{}/passed", server.address()));
        let output = thread::scope(|scope| {
            let load = scope.spawn(|| run(&mut h2load));
            until("a full room", || {
                let held = server.count("/network/buffered_bytes");
                (held >= FULL_BYTES).then_some(())
            });
            gate.store(true, Ordering::Release);
            load.join().unwrap()
        });
        gate.store(false, Ordering::Release);
        let told = format!("{count} succeeded, 0 failed, 0 errored, 0 timeout");
        let printed = printed_by(&output);
        assert!(printed.contains(&told), "{count}: {printed}{}", errors_of(&output));
    }
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
