//! Goal: whatever pages do, other requests and the control socket are answered, and the server ends when it is told to.
//! Method: the built binary on one scheduler, random programs run by pages, beside requests for a page, a file and keys
//! of the store.

use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use crate::server::channel::{connect, resp, say};
use crate::server::client::{Client, head, read, text};
use crate::server::forms::{TYPE, part, until_swept, uploads};
use crate::server::{Plan, Server};

/// The number of programs, unless the environment sets another.
const PROGRAMS: u64 = 120;

/// Clients that send programs concurrently.
const CLIENTS: u64 = 6;

/// How long a client reads an answer that has no end.
const TAKEN_MAX: Duration = Duration::from_secs(4);

/// Runs the program that it is sent, as the body or in a form with files; the program may request this page.
const RUN: &str = "<% local form = request.form
local f = load(form and form.program or request.body, '=random')
if f then f(request, response, 'http://' .. (request.headers['x-self'] or '') .. '/run') end -%>done";

fn plan() -> Plan {
    // Small limits are reached soon.
    let config = "drain_deadline = \"2s\"\n[pages]\ncpu_budget = \"60ms\"\ndeadline = \"2s\"\nmemory = \"16 \
                  MiB\"\nprocess_memory = \"8 MiB\"\nuploads = \"up\"\n[limits]\nconnections = \
                  400\n[store]\nsize = \"8 MiB\"\nsync = \"none\"\n";
    let plan = Plan::new();
    let store = format!("--store={}", plan.directory.join("store").display());
    let plan = plan.argument(&store).argument("--listen-resp=127.0.0.1:0");
    std::fs::create_dir(plan.directory.join("up")).unwrap();
    plan.argument("--schedulers=1")
        .config(config)
        .file("run.page.txt", RUN)
        .file("hello.page.txt", "hello <%= 1 + 1 -%>")
        .file("file.txt", "file")
}

/// Sends programs until all have run. A program may fail in any way, but its request must end.
fn run_programs(server: &Server, next: &AtomicU64, end: u64) {
    loop {
        let seed = next.fetch_add(1, Relaxed);
        if seed >= end {
            return;
        }
        let program = crate::hostile::program(seed);
        let (media_type, body) = if seed.is_multiple_of(2) {
            ("text/plain", program.clone())
        } else {
            (TYPE, form_with(&program))
        };
        let length = body.len().to_string();
        let mut client = server.client();
        let own = server.address().to_string();
        let fields = [
            ("Content-Length", length.as_str()),
            ("Content-Type", media_type),
            ("X-Self", &own),
            ("Connection", "close"),
        ];
        let asked = head("POST", "/run", &fields) + &body;
        let answered = client.send(asked).and_then(|()| take_answer(&mut client));
        if let Err(error) = answered {
            // A stream may be cut, and a connection reset for lack of room, but it never stays without an end.
            let is_late = matches!(
                error.kind(),
                std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
            );
            assert!(!is_late, "nothing became of the program of seed {seed}:\n{program}");
        }
    }
}

/// Reads a program's answer. A streamed answer may continue as long as its client reads: this client closes after a
/// while.
fn take_answer(client: &mut Client) -> std::io::Result<()> {
    let (begun, mut buffer) = (Instant::now(), vec![0; 1 << 16]);
    while begun.elapsed() < TAKEN_MAX && read(&mut client.stream, &mut buffer)? > 0 {}
    Ok(())
}

/// The program with a small and a large file.
fn form_with(program: &str) -> String {
    let (small, large) = ("data", "0123456789".repeat(20_000));
    part("name=program", program)
        + &part("name=small; filename=small", small)
        + &part("name=large; filename=large", &large)
        + "--B--"
}

/// A Redis client sends harmless commands; the store may be full.
fn ask_store(client: &mut TcpStream, server: &Server) {
    let commands = b"GET other\r\nINCR count\r\nECHO end\r\n";
    if client.write_all(commands).is_err() {
        *client = connect(resp(server));
        client.write_all(commands).unwrap();
    }
    let heard = say(client, b"", b"end\r\n");
    assert!(heard.starts_with(b"$-1\r\n"), "{}", String::from_utf8_lossy(&heard));
}

/// Sends a harmless request.
fn ask(client: &mut Client, server: &Server) {
    for (path, expected) in [("/hello", "hello 2"), ("/file.txt", "file")] {
        // A connection may be closed between two requests to make room for others.
        let answer = client.get(path).or_else(|_| {
            *client = server.client();
            client.get(path)
        });
        let answer = answer.unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!((answer.status, text(&answer)), (200, expected), "{path}");
    }
}

#[test]
fn whatever_pages_do_others_are_answered() {
    let count = std::env::var("VELODROME_PROGRAMS").map_or(PROGRAMS, |text| text.parse().unwrap());
    let first = std::env::var("VELODROME_SEED").map_or_else(
        |_| std::process::id().into(),
        |text| text.parse().expect("VELODROME_SEED is a number"),
    );
    let seeds = format!("to run these again: VELODROME_SEED={first} VELODROME_PROGRAMS={count}");
    println!("{seeds}");
    let mut server = plan().start();
    let next = AtomicU64::new(first);
    let asked = thread::scope(|scope| {
        let runners: Vec<_> = (0..CLIENTS)
            .map(|_| scope.spawn(|| run_programs(&server, &next, first + count)))
            .collect();
        let (mut client, mut redis) = (server.client(), connect(resp(&server)));
        let mut asked = 0;
        while !runners.iter().all(thread::ScopedJoinHandle::is_finished) {
            ask(&mut client, &server);
            ask_store(&mut redis, &server);
            asked += 1;
            if asked % 50 == 0 {
                assert_eq!(server.told("/stats")["schedulers"][0]["answering"], true, "{seeds}");
            }
        }
        asked
    });
    assert!(asked > 0, "nobody asked beside them");
    let told = server.printed_errors();
    assert!(!told.contains("panic"), "{told}");
    until_swept(&uploads(&server));
    server.signal("TERM");
    let status = server.wait();
    let troubles = server.printed_errors();
    let last: Vec<&str> = troubles.lines().rev().take(5).collect();
    assert!(status.success(), "{status}, {last:#?}; {seeds}");
}
