//! Goal: slow clients cost almost nothing and are closed in time. Method: a thousand of them, dripping heads, dripping
//! bodies and reading nothing, while a probe measures; then each kind alone against short deadlines.
//!
//! Here time is the requirement, so time is measured.

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

/// Requests of the probe.
const PROBES: usize = 1000;

/// Limit of the probe's 99th percentile, if a server without slow clients meets it.
const BOUND: Duration = Duration::from_millis(100);

/// Time between two drops of all clients.
const DRIP: Duration = Duration::from_millis(50);

/// On a machine that is too busy for the limit: how much longer it may take than without slow clients.
const BUSY_FACTOR: u32 = 2;

/// Longer than the probe takes on any machine: the slow clients last until its end.
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
fn a_thousand_slow_clients_do_not_slow_a_probe() {
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
    let quiet = Plan::new().file("a.txt", "a\n").start();
    let (mut probe, mut idle_probe) = (Probe::new(&server), Probe::new(&quiet));
    for number in 0..PROBES {
        probe.ask(number);
        idle_probe.ask(number);
    }
    let connections = server.count("/connections");
    stop.store(true, Ordering::SeqCst);
    assert_eq!(dripper.join().unwrap(), EACH * 2);
    assert!(connections >= all, "{connections}");
    drop(reading);
    let ((median, high), (_, idle_high)) = (probe.median_and_high(), idle_probe.median_and_high());
    println!(
        "probe among {all} slow clients: median {median:?}, p99 {high:?}; without {idle_high:?}"
    );
    let bound = BOUND.max(idle_high * BUSY_FACTOR);
    assert!(
        high < bound,
        "p99 {high:?}, median {median:?}; without slow clients p99 {idle_high:?}"
    );
}

/// Sends requests to a server repeatedly, and measures their time.
struct Probe<'s> {
    server: &'s Server,
    client: Client,
    took: Vec<Duration>,
}

impl<'s> Probe<'s> {
    fn new(server: &'s Server) -> Self {
        Self { server, client: server.client(), took: Vec::with_capacity(PROBES) }
    }

    fn ask(&mut self, number: usize) {
        // Half of them over a new connection, like a new client.
        if number.is_multiple_of(2) {
            self.client = self.server.client();
        }
        let began = Instant::now();
        let response = self.client.get("/a.txt").unwrap();
        self.took.push(began.elapsed());
        assert_eq!((response.status, text(&response)), (200, "a\n"));
    }

    fn median_and_high(&mut self) -> (Duration, Duration) {
        self.took.sort_unstable();
        (self.took[PROBES / 2], self.took[PROBES * 99 / 100])
    }
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

/// Twice the deadline, a tick of the server's clock, and some time for a busy machine.
const SOON: Duration = Duration::from_millis(2500);

/// No deadline may fire early.
const DEADLINE: Duration = Duration::from_millis(500);

#[test]
fn a_head_that_drips_is_given_up_in_total_time() {
    let server = impatient();
    let mut client = begun(&server, "GET /a.txt HTTP/1.1\r\nX-Slow: ");
    let mut writer = client.stream.try_clone().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&stop);
    let began = Instant::now();
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
    assert!((DEADLINE..SOON).contains(&took), "{took:?}");
    until("it to be counted", || (server.count("/http/header_timeouts") == 1).then_some(()));
}

#[test]
fn a_silent_connection_is_closed_without_a_word() {
    let server = impatient();
    let began = Instant::now();
    let mut client = server.client();
    assert_eq!(client.rest().unwrap(), (Vec::new(), End::Closed));
    // The kernel holds a connection without bytes back for a second (`defer_accept`).
    assert!(began.elapsed() < SOON + Duration::from_secs(3), "{:?}", began.elapsed());
}

#[test]
fn a_connection_kept_alive_for_nothing_is_closed() {
    let server = impatient();
    let mut client = server.client();
    assert_eq!(text(&client.get("/a.txt").unwrap()), "a\n");
    let began = Instant::now();
    assert_eq!(client.rest().unwrap(), (Vec::new(), End::Closed));
    assert!((DEADLINE / 2..SOON).contains(&began.elapsed()), "{:?}", began.elapsed());
}

#[test]
fn a_body_that_stops_is_given_up() {
    let server = impatient();
    let post = "POST /a.txt HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nbegin";
    let mut client = begun(&server, post);
    let began = Instant::now();
    let response = client.response(RequestKind::Other).unwrap();
    assert_eq!(response.status, 408);
    assert!((DEADLINE / 2..SOON).contains(&began.elapsed()), "{:?}", began.elapsed());
    until("it to be counted", || (server.count("/http/body_timeouts") == 1).then_some(()));
}

#[test]
fn a_body_slower_than_the_floor_is_given_up() {
    let server = impatient();
    let post = "POST /a.txt HTTP/1.1\r\nHost: a\r\nContent-Length: 10000\r\n\r\n";
    let mut client = begun(&server, post);
    let mut writer = client.stream.try_clone().unwrap();
    let began = Instant::now();
    // Never idle for long, but 20 bytes per second are less than 1,024.
    let dripper = thread::spawn(move || {
        while began.elapsed() < SOON * 2 && writer.write_all(b"x").is_ok() {
            pace(DRIP);
        }
    });
    let response = client.response(RequestKind::Other).unwrap();
    let took = began.elapsed();
    assert_eq!(response.status, 408);
    assert!(took < SOON, "{took:?}");
    drop(client);
    dripper.join().unwrap();
}

#[test]
fn a_reader_that_takes_nothing_is_reset() {
    let server = impatient();
    let _client = begun(&server, &head("GET", "/large.bin", &[]));
    let began = Instant::now();
    until("the reader to be given up", || (server.count("/closed/slow-reader") == 1).then_some(()));
    assert!((DEADLINE..SOON).contains(&began.elapsed()), "{:?}", began.elapsed());
    assert_eq!(server.count("/connections"), 0);
}

#[test]
fn a_reader_below_the_floor_is_reset() {
    let server = impatient();
    let mut client = begun(&server, &head("GET", "/large.bin", &[]));
    let began = Instant::now();
    // A few bytes at a time, far below 64 KiB per second; bytes in the buffers do not count.
    let mut taken = [0; 200];
    until("the reader to be given up", || {
        let _ended = std::io::Read::read(&mut client.stream, &mut taken);
        pace(DRIP);
        (server.count("/closed/slow-reader") == 1).then_some(())
    });
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
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
    // All answers are created at the same moment, when no connection has been closed yet.
    let page = "<% receive(2) local part = ('x'):rep(1024 * 1024)\n\
                for number = 1, 32 do response:write(part) end -%>";
    let plan = Plan::new().argument("--schedulers=1").file("page.page.txt", page);
    let config = "[pages]\nmemory = \"1 GiB\"\n[limits]\nsend_idle = \"2s\"\n";
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
