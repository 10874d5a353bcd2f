//! Goal: a server that is told to stop loses no request. Method: realistic clients, with kept connections, large
//! downloads and slow readers, and a server that drains in the meantime.

use std::io::{self, Read};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::server::client::{Client, End, head, text};
use crate::server::patience::{PATIENCE, until};
use crate::server::{Plan, Server};
use conformance::RequestKind;

/// Clients that keep their connections, each a thread.
const CLIENTS: usize = 8;

/// The counts of the clients of a load.
#[derive(Default)]
struct Met {
    answers: AtomicU64,
    /// Connections that the server announced to close, and closed.
    goodbyes: AtomicU64,
    stop: AtomicBool,
}

/// A client that keeps its connection and obeys `Connection: close`. It ends when a connection is refused, which is
/// what a drained server does; every other failure is an error.
fn keep_asking(address: SocketAddr, met: &Met) -> Result<(), String> {
    while !met.stop.load(Ordering::SeqCst) {
        let mut client = match Client::connect(address) {
            Ok(client) => client,
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return Ok(()),
            Err(error) => return Err(format!("connecting: {error}")),
        };
        for number in 1.. {
            let response = client
                .get("/a.txt")
                .map_err(|error| format!("request {number} of its connection: {error}"))?;
            if (response.status, text(&response)) != (200, "a\n") {
                return Err(format!("{} {}", response.status, text(&response)));
            }
            met.answers.fetch_add(1, Ordering::SeqCst);
            if response.lists("Connection", "close") {
                met.goodbyes.fetch_add(1, Ordering::SeqCst);
                let end = client.rest().map_err(|error| error.to_string())?;
                if end != (Vec::new(), End::Closed) {
                    return Err(format!("after Connection: close came {end:?}"));
                }
                break;
            }
        }
    }
    Ok(())
}

fn load(address: SocketAddr, met: &Arc<Met>) -> Vec<JoinHandle<Result<(), String>>> {
    let client = |_| {
        let met = Arc::clone(met);
        thread::spawn(move || keep_asking(address, &met))
    };
    (0..CLIENTS).map(client).collect()
}

fn site() -> Plan {
    Plan::new().file("a.txt", "a\n").file("large.bin", vec![7; 20_000_000])
}

#[test]
fn a_drain_under_load_fails_no_request() {
    let mut server = site().start();
    let met = Arc::new(Met::default());
    let clients = load(server.address(), &met);
    until("some load", || (met.answers.load(Ordering::SeqCst) > 2000).then_some(()));
    server.signal("TERM");
    assert!(server.wait().success(), "{}", server.printed_errors());
    for client in clients {
        assert_eq!(client.join().unwrap(), Ok(()));
    }
    assert!(met.goodbyes.load(Ordering::SeqCst) > 0, "nobody was told");
    assert_eq!(server.printed_troubles(), "");
}

/// A client that opens a connection for each request, until one is refused.
fn keep_coming(address: SocketAddr, met: &Met) -> Result<(), String> {
    loop {
        let mut client = match Client::connect(address) {
            Ok(client) => client,
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return Ok(()),
            Err(error) => return Err(format!("connecting: {error}")),
        };
        let response = client
            .request("GET", "/a.txt", &[("Connection", "close")])
            .map_err(|error| format!("a connection that was not refused: {error}"))?;
        if (response.status, text(&response)) != (200, "a\n") {
            return Err(format!("{} {}", response.status, text(&response)));
        }
        met.answers.fetch_add(1, Ordering::SeqCst);
    }
}

/// An established connection gets an answer: closing a listener resets those in its queue, so the queue must be empty.
#[test]
fn a_drain_under_short_connections_fails_no_request() {
    for round in 0..3 {
        let mut server = site().argument("--schedulers=2").start();
        let address = server.address();
        let met = Arc::new(Met::default());
        let client = |_| {
            let met = Arc::clone(&met);
            thread::spawn(move || keep_coming(address, &met))
        };
        let clients: Vec<_> = (0..2 * CLIENTS).map(client).collect();
        until("some load", || (met.answers.load(Ordering::SeqCst) > 1000).then_some(()));
        server.signal("TERM");
        assert!(server.wait().success(), "{}", server.printed_errors());
        for client in clients {
            assert_eq!(client.join().unwrap(), Ok(()), "round {round}");
        }
    }
}

#[test]
fn a_drain_asked_for_by_ctl_is_the_same() {
    let mut server = site().start();
    let met = Arc::new(Met::default());
    let clients = load(server.address(), &met);
    until("some load", || (met.answers.load(Ordering::SeqCst) > 500).then_some(()));
    let output = server.ctl(&["drain"]);
    assert!(output.status.success(), "{output:?}");
    assert!(server.wait().success(), "{}", server.printed_errors());
    for client in clients {
        assert_eq!(client.join().unwrap(), Ok(()));
    }
}

/// Sends the head of a request for the large file and reads the first bytes of the answer.
fn begin_download(server: &Server) -> (Client, usize) {
    let mut client = server.client();
    client.send(head("GET", "/large.bin", &[])).unwrap();
    let count = client.receive().unwrap();
    assert_ne!(count, 0);
    (client, count)
}

fn refused(address: SocketAddr) -> bool {
    matches!(TcpStream::connect_timeout(&address, PATIENCE),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused)
}

#[test]
fn drain_finishes_running_requests_and_refuses_new_ones() {
    let mut server = site().start();
    let address = server.address();
    let (mut download, begun) = begin_download(&server);
    // A request that has begun: its head is not complete yet.
    let mut begun_request = server.client();
    begun_request.send("GET /a.txt HTTP/1.1\r\nHost: a\r\n").unwrap();
    // A body that is still being sent.
    let mut body = server.client();
    body.send("POST /a.txt HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n01234").unwrap();
    let mut idle = server.client();
    assert_eq!(idle.get("/a.txt").unwrap().status, 200);
    until("all four connections", || (server.told("/status")["connections"] == 4).then_some(()));
    server.signal("TERM");
    until("new connections to be refused", || refused(address).then_some(()));
    until("the drain to be told", || (server.told("/status")["state"] == "draining").then_some(()));
    begun_request.send("\r\n").unwrap();
    let response = begun_request.response(RequestKind::Other).unwrap();
    assert_eq!((response.status, text(&response)), (200, "a\n"));
    assert_eq!(begun_request.rest().unwrap(), (Vec::new(), End::Closed));
    body.send("56789").unwrap();
    let response = body.response(RequestKind::Other).unwrap();
    assert_eq!(response.status, 405);
    assert_eq!(body.rest().unwrap(), (Vec::new(), End::Closed));
    assert_eq!(idle.rest().unwrap(), (Vec::new(), End::Closed), "idle connections are closed");
    assert!(server.is_running(), "the download is not finished");
    let mut whole = vec![0; 20_000_000 - begun];
    // This includes the head, so the rest is longer.
    download.stream.read_exact(&mut whole).unwrap();
    assert!(whole.iter().all(|byte| *byte == 7));
    let (_, end) = download.rest().unwrap();
    assert_eq!(end, End::Closed);
    assert!(server.wait().success());
}

#[test]
fn the_deadline_holds_against_a_reader_that_takes_nothing() {
    const DEADLINE: Duration = Duration::from_secs(1);
    let mut server = site().config("drain_deadline = \"1s\"\n").start();
    let (stalled, _) = begin_download(&server);
    let began = Instant::now();
    server.signal("TERM");
    assert!(server.wait().success(), "{}", server.printed_errors());
    let took = began.elapsed();
    assert!(took >= DEADLINE / 2, "it did not wait: {took:?}");
    drop(stalled);
}

#[test]
fn without_connections_a_drain_takes_no_time() {
    // Longer than the test waits for its end.
    let mut server = site().config("drain_deadline = \"1h\"\n").start();
    assert_eq!(text(&server.get("/a.txt")), "a\n");
    server.signal("TERM");
    assert!(server.wait().success());
}

/// Requests in the queue of the listener when the drain begins are answered too.
#[test]
fn connections_that_wait_to_be_accepted_are_not_reset() {
    let mut server = site().argument("--schedulers=1").start();
    let mut waiting: Vec<Client> = (0..200).map(|_| server.client()).collect();
    for client in &mut waiting {
        client.send(head("GET", "/a.txt", &[])).unwrap();
    }
    server.signal("TERM");
    for (number, mut client) in waiting.into_iter().enumerate() {
        let response = client.response(RequestKind::Other);
        let response = response.unwrap_or_else(|error| panic!("connection {number}: {error}"));
        assert_eq!((response.status, text(&response)), (200, "a\n"), "connection {number}");
    }
    assert!(server.wait().success());
}

#[test]
fn a_second_signal_does_no_harm() {
    let mut server = site().config("drain_deadline = \"2s\"\n").start();
    let (stalled, _) = begin_download(&server);
    server.signal("TERM");
    until("new connections to be refused", || refused(server.address()).then_some(()));
    server.signal("TERM");
    server.signal("HUP");
    assert!(server.wait().success(), "{}", server.printed_errors());
    drop(stalled);
}

/// One byte of a head, sent before or during the drain, does not delay the drain for as long as a head may take.
#[test]
fn a_head_that_has_begun_gets_two_seconds_of_a_drain() {
    let config =
        "drain_deadline = \"10m\"\n[limits]\nheader_deadline = \"10m\"\nkeep_alive = \"10m\"\n";
    let mut server = Plan::new().config(config).file("a.txt", "a\n").start();
    let mut begun = server.client();
    begun.send("G").unwrap();
    let mut rest = server.client();
    rest.send("GET /a.txt HTTP/1.1\r\nHost: a").unwrap();
    until("both to be accepted", || (server.count("/connections") >= 2).then_some(()));
    server.signal("TERM");
    rest.send("\r\n\r\n").unwrap();
    assert_eq!(text(&rest.response(conformance::RequestKind::Other).unwrap()), "a\n");
    assert!(server.wait().success());
}
