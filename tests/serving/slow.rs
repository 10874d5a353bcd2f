//! Goal: slow clients are served beside others and closed by their deadlines, never before. Method: a thousand of them,
//! dripping heads, dripping bodies and reading nothing, while a quick one is answered; then each kind alone against
//! short deadlines.
//!
//! How quick that one is, and how late a deadline fires, is no matter of tests: they share their cores with others.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::server::client::{Client, End, head, text};
use crate::server::patience::{pace, until};
use crate::server::{Plan, Server};
use conformance::RequestKind;

/// Slow clients of each kind.
const EACH: usize = 334;

/// Requests of the quick client.
const QUICK: usize = 1000;

/// Time between two drops of all clients.
const DRIP: Duration = Duration::from_millis(50);

/// Longer than the test takes on any machine: the slow clients last until its end.
const PATIENT: &str =
    "[limits]\nheader_deadline = \"1h\"\nbody_idle = \"1h\"\nsend_idle = \"1h\"\n";

/// A file that is larger than all socket buffers.
const LARGE: usize = 16 * 1024 * 1024;

fn begun(server: &Server, bytes: &str) -> Client {
    let mut client = server.client();
    client.send(bytes).unwrap();
    client
}

/// Sends a byte to each repeatedly, until told to stop.
fn drip(mut clients: Vec<Client>, stop: &AtomicBool) -> usize {
    let mut alive = clients.len();
    while !stop.load(Ordering::SeqCst) {
        // A client whose connection was closed is not written to again.
        clients.retain_mut(|client| client.stream.write_all(b"x").is_ok());
        alive = clients.len();
        pace(DRIP);
    }
    alive
}

/// Allows this test more open files than the usual 1,024.
fn allow_descriptors() {
    let process = format!("--pid={}", std::process::id());
    let mut command = std::process::Command::new("prlimit");
    let raised = command.args([&process, "--nofile=4096:"]).output();
    assert!(raised.is_ok_and(|output| output.status.success()), "prlimit of util-linux is needed");
}

#[test]
fn a_quick_client_is_answered_among_a_thousand_slow_ones() {
    allow_descriptors();
    let files = Plan::new().file("a.txt", "a\n").file("large.bin", vec![7; LARGE]);
    let server = files.config(PATIENT).start();
    let heads = (0..EACH).map(|_| begun(&server, "GET /a.txt HTTP/1.1\r\nHost: a\r\nX-Slow: "));
    let post = "POST /a.txt HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n";
    let bodies = (0..EACH).map(|_| begun(&server, post));
    let readers = (0..EACH).map(|_| begun(&server, &head("GET", "/large.bin", &[])));
    let (dripping, reading): (Vec<Client>, Vec<Client>) =
        (heads.chain(bodies).collect(), readers.collect());
    let all = (EACH * 3) as u64;
    until("all slow clients", || (server.count("/connections") == all).then_some(()));
    let stop = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&stop);
    let dripper = thread::spawn(move || drip(dripping, &seen));
    let mut client = server.client();
    for number in 0..QUICK {
        // Half of them over a new connection, like a new client.
        if number.is_multiple_of(2) {
            client = server.client();
        }
        let response = client.get("/a.txt").unwrap();
        assert_eq!((response.status, text(&response)), (200, "a\n"));
    }
    let connections = server.count("/connections");
    stop.store(true, Ordering::SeqCst);
    assert_eq!(dripper.join().unwrap(), EACH * 2);
    assert!(connections >= all, "{connections}");
    drop(reading);
}

/// A server with short deadlines.
fn impatient() -> Server {
    Plan::new()
        .config(
            "[limits]\nheader_deadline = \"500ms\"\nbody_idle = \"500ms\"\nbody_rate = \"1 KiB/s\"\n\
             send_idle = \"500ms\"\nsend_rate = \"64 KiB/s\"\nkeep_alive = \"500ms\"\n",
        )
        .file("a.txt", "a\n")
        .file("large.bin", vec![7; LARGE])
        .start()
}

/// No deadline may fire early.
const DEADLINE: Duration = Duration::from_millis(500);

#[test]
fn a_head_that_drips_is_given_up_in_total_time() {
    let server = impatient();
    let began = Instant::now();
    let mut client = begun(&server, "GET /a.txt HTTP/1.1\r\nX-Slow: ");
    let mut writer = client.stream.try_clone().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&stop);
    let dripper = thread::spawn(move || {
        while !seen.load(Ordering::SeqCst) && writer.write_all(b"x").is_ok() {
            pace(DRIP);
        }
    });
    let response = client.response(RequestKind::Other).unwrap();
    let took = began.elapsed();
    stop.store(true, Ordering::SeqCst);
    dripper.join().unwrap();
    assert_eq!(response.status, 408);
    assert!(response.lists("Connection", "close"));
    assert!(took >= DEADLINE, "{took:?}");
    until("it to be counted", || (server.count("/http/header_timeouts") == 1).then_some(()));
}

#[test]
fn a_silent_connection_is_closed_without_a_word() {
    let server = impatient();
    let began = Instant::now();
    let mut client = server.client();
    assert_eq!(client.rest().unwrap(), (Vec::new(), End::Closed));
    assert!(began.elapsed() >= DEADLINE, "{:?}", began.elapsed());
}

#[test]
fn a_connection_kept_alive_for_nothing_is_closed() {
    let server = impatient();
    let mut client = server.client();
    let began = Instant::now();
    assert_eq!(text(&client.get("/a.txt").unwrap()), "a\n");
    assert_eq!(client.rest().unwrap(), (Vec::new(), End::Closed));
    assert!(began.elapsed() >= DEADLINE, "{:?}", began.elapsed());
}

#[test]
fn a_body_that_stops_is_given_up() {
    let server = impatient();
    let post = "POST /a.txt HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nbegin";
    let began = Instant::now();
    let mut client = begun(&server, post);
    let response = client.response(RequestKind::Other).unwrap();
    assert_eq!(response.status, 408);
    assert!(began.elapsed() >= DEADLINE, "{:?}", began.elapsed());
    until("it to be counted", || (server.count("/http/body_timeouts") == 1).then_some(()));
}

#[test]
fn a_body_slower_than_the_floor_is_given_up() {
    let server = impatient();
    let post = "POST /a.txt HTTP/1.1\r\nHost: a\r\nContent-Length: 10000\r\n\r\n";
    let mut client = begun(&server, post);
    let mut writer = client.stream.try_clone().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&stop);
    // Never idle for long, but 20 bytes per second are less than 1,024.
    let dripper = thread::spawn(move || {
        while !seen.load(Ordering::SeqCst) && writer.write_all(b"x").is_ok() {
            pace(DRIP);
        }
    });
    let response = client.response(RequestKind::Other).unwrap();
    stop.store(true, Ordering::SeqCst);
    assert_eq!(response.status, 408);
    dripper.join().unwrap();
}

#[test]
fn a_reader_that_takes_nothing_is_reset() {
    let server = impatient();
    let began = Instant::now();
    let _client = begun(&server, &head("GET", "/large.bin", &[]));
    until("the reader to be given up", || (server.count("/closed/slow-reader") == 1).then_some(()));
    assert!(began.elapsed() >= DEADLINE, "{:?}", began.elapsed());
    assert_eq!(server.count("/connections"), 0);
}

#[test]
fn a_reader_below_the_floor_is_reset() {
    let server = impatient();
    let mut client = begun(&server, &head("GET", "/large.bin", &[]));
    // A few bytes at a time, far below 64 KiB per second; bytes in the buffers do not count.
    let mut taken = [0; 200];
    until("the reader to be given up", || {
        let _ended = std::io::Read::read(&mut client.stream, &mut taken);
        pace(DRIP);
        (server.count("/closed/slow-reader") == 1).then_some(())
    });
}

#[test]
fn a_slow_but_steady_reader_gets_everything() {
    let server = impatient();
    let mut client = begun(&server, &head("GET", "/large.bin", &[("Connection", "close")]));
    let mut received = 0;
    let mut buffer = vec![0; 256 * 1024];
    loop {
        match std::io::Read::read(&mut client.stream, &mut buffer).unwrap() {
            0 => break,
            count => received += count,
        }
        pace(Duration::from_millis(10));
    }
    assert!(received > LARGE, "{received}");
    assert_eq!(server.count("/closed/slow-reader"), 0);
}

/// Bytes of the answer of the page below, more than fit into socket buffers.
const PAGE: u64 = 32 * 1024 * 1024;

/// Clients that read nothing of it: together more than queues may hold.
const PAGE_READERS: u64 = 16;

#[test]
fn large_pages_for_readers_that_take_nothing_are_bounded_and_ended() {
    // All answers are created before the first connection is closed, also on a host that is busy with other things.
    let page = "<% receive(2) local part = ('x'):rep(1024 * 1024)\n\
                for number = 1, 32 do response:write(part) end -%>";
    let plan = Plan::new().argument("--schedulers=1").file("page.page.txt", page);
    let config = "[pages]\nmemory = \"1 GiB\"\n[limits]\nsend_idle = \"10s\"\n";
    let server = plan.config(config).file("a.txt", "a\n").start();
    let readers: Vec<Client> =
        (0..PAGE_READERS).map(|_| begun(&server, &head("GET", "/page", &[]))).collect();
    let ended = || {
        let closed = |reason: &str| server.count(&format!("/closed/{reason}"));
        (closed("outbox-full"), closed("slow-reader"))
    };
    until("all are given up", || {
        let (full, slow) = ended();
        (full + slow == PAGE_READERS).then_some(())
    });
    let (full, slow) = ended();
    assert!(full > 0 && slow > 0, "{full} had no room, {slow} took nothing");
    let most = server.count("/network/buffered_bytes_max");
    assert!(most <= 256 * 1024 * 1024 + PAGE, "{most} bytes were held");
    assert_eq!(server.count("/network/buffered_bytes"), 0);
    assert_eq!(text(&server.get("/a.txt")), "a\n");
    drop(readers);
}
