//! Goal: what a cache stores on a disk is the same answer afterwards: in a range, for its variant, after a validation,
//! after a restart. Method: the built binary, killed without warning, and servers that count what reaches them.

use std::io::Write;
use std::net::SocketAddr;

use crate::server::Plan;
use crate::server::Server;
use crate::server::caches::{FRESH, ask, body, cached, clients, count, counted, field};
use crate::server::other::{Heard, other};
use crate::server::patience::until;
use crate::server::upstreams::{all_to, by_hand, connect, exchange, get, next, read_to, rest};

/// A configuration of a disk next to the one of the server.
pub(crate) const DISK: &str = "directory = \"cache\"";

/// A number of the disk.
pub(crate) fn disk(server: &Server, name: &str) -> u64 {
    server.told("/cache")["disk"][name].as_u64().unwrap()
}

/// Waits until a number of the disk has this value.
pub(crate) fn reaches(server: &Server, name: &str, value: u64) {
    until(name, || (disk(server, name) == value).then_some(()));
}

/// A body without two parts that are the same.
pub(crate) fn long_body(length: usize) -> String {
    let lines = (0..).flat_map(|number: u32| format!("{number:07}\n").into_bytes());
    String::from_utf8(lines.take(length).collect()).unwrap()
}

/// A server whose answers have these lines, and a long body for each path that begins with `/long`.
pub(crate) fn with_long(lines: &'static str, length: usize) -> (SocketAddr, Heard) {
    let long = long_body(length);
    other(move |_, _, request| {
        let path = request.split(' ').nth(1).unwrap();
        let body = if path.starts_with("/long") { &*long } else { path };
        let length = body.len();
        format!("HTTP/1.1 200 OK\r\n{lines}Content-Length: {length}\r\n\r\n{body}").into_bytes()
    })
}

const LONG: usize = 3_000_000;

#[test]
fn a_server_that_was_killed_finds_everything_again() {
    let (address, heard) = with_long("Cache-Control: max-age=1000\r\nETag: \"e\"\r\n", LONG);
    let server = cached(address, DISK);
    let long = long_body(LONG);
    assert_eq!(ask(&server, "/a", "").0, "/a");
    assert!(ask(&server, "/long", "").0 == long);
    reaches(&server, "stored", 2);
    assert_eq!((disk(&server, "files"), disk(&server, "hits")), (2, 0));
    let again = ask(&server, "/long", "");
    assert!(again.0 == long && again.1.starts_with("velodrome; hit"), "{}", again.1);
    let server = server.kill_and_restart();
    for path in ["/a", "/long"] {
        let answer = exchange(&server, &get(path, ""));
        let expected = if path == "/a" { "/a" } else { &long };
        assert!(body(&answer) == expected, "{path}");
        assert!(field(&answer, "Cache-Status").starts_with("velodrome; hit; ttl="), "{path}");
        assert_eq!(field(&answer, "Content-Length"), expected.len().to_string());
        let head = exchange(&server, &get(path, "").replace("GET", "HEAD"));
        assert_eq!(field(&head, "Content-Length"), expected.len().to_string());
        assert_eq!(body(&head), "");
        let known = exchange(&server, &get(path, "If-None-Match: \"e\"\r\n"));
        assert!(known.starts_with("HTTP/1.1 304 ") && body(&known).is_empty(), "{known:.200}");
        let length = expected.len();
        for (from, to) in [(0, 0), (1, length - 1), (length / 2, length / 2), (length - 1, length)]
        {
            let part = exchange(&server, &get(path, &format!("Range: bytes={from}-{to}\r\n")));
            let to = to.min(length - 1);
            assert_eq!(field(&part, "Content-Range"), format!("bytes {from}-{to}/{length}"));
            assert!(body(&part) == &expected[from..=to], "{path} {from}-{to}");
        }
        let beyond = exchange(&server, &get(path, &format!("Range: bytes={length}-\r\n")));
        assert!(beyond.starts_with("HTTP/1.1 416 "), "{beyond:.200}");
    }
    assert_eq!(count(&heard), 2);
    // Each request counts once, however often it looked.
    counted(&server, "hits", 2 * 8);
    assert_eq!((disk(&server, "hits"), &server.told("/cache")["misses"]), (2, &0.into()));
}

#[test]
fn the_disk_has_what_has_left_the_memory() {
    let (address, heard) = with_long(FRESH, 0);
    let server = cached(address, &format!("memory = \"64 KiB\", {DISK}"));
    let paths: Vec<String> = (0..200).map(|number| format!("/{number}")).collect();
    for path in &paths {
        assert_eq!(ask(&server, path, "").0, *path);
    }
    reaches(&server, "stored", 200);
    assert!(server.told("/cache")["evictions"].as_u64().unwrap() > 50);
    for path in &paths {
        let (body, status) = ask(&server, path, "");
        assert_eq!(body, *path);
        assert!(status.starts_with("velodrome; hit"), "{path}: {status}");
    }
    assert_eq!(count(&heard), 200);
}

#[test]
fn each_client_gets_its_variant_from_the_disk() {
    let (address, heard) = other(|_, _, request| {
        let language = request.lines().find_map(|line| line.strip_prefix("Accept-Language: "));
        let body = language.unwrap_or("none");
        let length = body.len();
        format!(
            "HTTP/1.1 200 OK\r\n{FRESH}Vary: Accept-Language\r\nContent-Length: \
                 {length}\r\n\r\n{body}"
        )
        .into_bytes()
    });
    let server = cached(address, DISK);
    let languages =
        [("Accept-Language: de\r\n", "de"), ("", "none"), ("Accept-Language: fr\r\n", "fr")];
    for (fields, expected) in languages {
        assert_eq!(ask(&server, "/", fields).0, expected);
    }
    reaches(&server, "stored", 3);
    let server = server.kill_and_restart();
    let (other, status) = ask(&server, "/", "Accept-Language: it\r\n");
    assert_eq!(other, "it");
    assert!(status.starts_with("velodrome; fwd="), "{status}");
    for (fields, expected) in languages {
        let (body, status) = ask(&server, "/", fields);
        assert_eq!(body, expected);
        assert!(status.starts_with("velodrome; hit"), "{expected}: {status}");
    }
    assert_eq!(count(&heard), 4);
}

#[test]
fn validated_entry_is_fresh_after_restart() {
    for length in [10, LONG] {
        let long = long_body(length);
        let expected = long.clone();
        let (address, heard) = other(move |_, _, request| {
            let lines = "ETag: \"e\"\r\nCache-Control: max-age=1000\r\n";
            if request.contains("If-None-Match: \"e\"\r\n") {
                return format!("HTTP/1.1 304 Same\r\nX-New: 1\r\n{lines}\r\n").into_bytes();
            }
            let length = long.len();
            format!("HTTP/1.1 200 OK\r\nAge: 1000\r\n{lines}Content-Length: {length}\r\n\r\n{long}")
                .into_bytes()
        });
        let server = cached(address, DISK);
        assert!(ask(&server, "/", "").0 == expected);
        reaches(&server, "stored", 1);
        let server = server.kill_and_restart();
        let answer = exchange(&server, &get("/", ""));
        let status = field(&answer, "Cache-Status");
        assert!(status.starts_with("velodrome; fwd=stale; fwd-status=304; stored"), "{status}");
        assert!(body(&answer) == expected, "{length}");
        assert_eq!(field(&answer, "X-New"), "1");
        assert_eq!(count(&heard), 2);
        if length < LONG {
            reaches(&server, "stored", 1);
        } else {
            // In the order of its orders: when something younger is stored, the record is written.
            assert!(ask(&server, "/?younger", "").0 == expected);
            reaches(&server, "stored", 1);
            assert_eq!(count(&heard), 1);
        }
        let server = server.kill_and_restart();
        let answer = exchange(&server, &get("/", ""));
        assert!(field(&answer, "Cache-Status").starts_with("velodrome; hit"), "{answer:.300}");
        assert_eq!(field(&answer, "X-New"), "1");
        assert!(body(&answer) == expected, "{length}");
        assert_eq!(count(&heard), 0);
    }
}

#[test]
fn one_fetch_is_for_all_that_wait_and_for_the_disk() {
    let (address, connections) = by_hand();
    let server = cached(address, DISK);
    let (mut waiting, long) = (clients(&server, 1, &get("/", "")), long_body(LONG));
    let mut backend = next(&connections);
    read_to(&mut backend, "\r\n\r\n");
    waiting.extend(clients(&server, 9, &get("/", "")));
    counted(&server, "misses", 10);
    let head = format!("HTTP/1.1 200 OK\r\n{FRESH}Content-Length: {LONG}\r\n\r\n");
    backend.write_all(format!("{head}{}", &long[..100]).as_bytes()).unwrap();
    for client in &mut waiting {
        read_to(client, "\r\n\r\n");
    }
    counted(&server, "collapsed", 9);
    // The slowest reader closes in the middle, and no other one notices.
    drop(waiting.pop());
    let (rest_of_it, whole) = (long[100..].to_owned(), long.clone());
    let sending = std::thread::spawn(move || {
        backend.write_all(rest_of_it.as_bytes()).unwrap();
        backend
    });
    let reading: Vec<_> = waiting
        .into_iter()
        .map(|mut client| std::thread::spawn(move || rest(&mut client)))
        .collect();
    for reader in reading {
        assert!(reader.join().unwrap() == whole);
    }
    let _open = sending.join().unwrap();
    reaches(&server, "stored", 1);
    let (again, status) = ask(&server, "/", "");
    assert!(again == long && status.starts_with("velodrome; hit"), "{status}");
    assert!(connections.try_recv().is_err(), "a second fetch");
}

#[test]
fn a_client_that_closes_leaves_the_rest_to_the_disk() {
    let (address, connections) = by_hand();
    let server = cached(address, DISK);
    let long = long_body(LONG);
    let mut client = connect(&server);
    client.write_all(get("/", "").as_bytes()).unwrap();
    let mut backend = next(&connections);
    read_to(&mut backend, "\r\n\r\n");
    let head = format!("HTTP/1.1 200 OK\r\n{FRESH}Transfer-Encoding: chunked\r\n\r\n");
    let (begun, end) = long.split_at(2_000_000);
    backend.write_all(format!("{head}{:x}\r\n{begun}\r\n", begun.len()).as_bytes()).unwrap();
    read_to(&mut client, "0012345\n");
    drop(client);
    let end = format!("{:x}\r\n{end}\r\n0\r\n\r\n", end.len());
    backend.write_all(end.as_bytes()).unwrap();
    reaches(&server, "stored", 1);
    let (again, status) = ask(&server, "/", "");
    assert!(again == long && status.starts_with("velodrome; hit"), "{status}");
}

#[test]
fn an_answer_that_is_cut_or_too_long_leaves_no_file() {
    let (address, connections) = by_hand();
    let server = cached(address, &format!("{DISK}, disk_object = \"2 MiB\""));
    for (chunk, end) in [(2_500_000, "\r\n0\r\n\r\n"), (1_500_000, "\r\n")] {
        let mut client = connect(&server);
        client.write_all(get("/", "").as_bytes()).unwrap();
        let mut backend = next(&connections);
        let reading = std::thread::spawn(move || rest(&mut client));
        read_to(&mut backend, "\r\n\r\n");
        let head = format!("HTTP/1.1 200 OK\r\n{FRESH}Transfer-Encoding: chunked\r\n\r\n");
        let body = long_body(chunk);
        backend.write_all(format!("{head}{chunk:x}\r\n{body}{end}").as_bytes()).unwrap();
        drop(backend);
        // A client is told of the cut by a reset, which may take away what it has not read.
        let got = reading.join().unwrap();
        assert!(end == "\r\n" || got.contains(&body[chunk - 1000..]), "{chunk}");
    }
    until("no parts", || {
        let left = std::fs::read_dir(server.directory().join("cache")).unwrap().count();
        (left == 1).then_some(())
    });
    assert_eq!((disk(&server, "stored"), disk(&server, "files")), (0, 0));
}

#[test]
fn a_scheduler_finds_what_another_one_has_stored() {
    let (address, heard) = with_long(FRESH, LONG);
    let config = all_to(&[address], &format!("cache = {{ {DISK} }}"));
    let server = Plan::new().argument("--schedulers=2").config(&config).start();
    for path in ["/a", "/long"] {
        ask(&server, path, "");
    }
    reaches(&server, "stored", 2);
    for _ in 0..20 {
        for path in ["/a", "/long"] {
            let (body, status) = ask(&server, path, "");
            assert!(status.starts_with("velodrome; hit"), "{path}: {status}");
            assert_eq!(body.len(), if path == "/a" { 2 } else { LONG });
        }
    }
    assert_eq!(count(&heard), 2);
}

#[test]
fn a_purge_reaches_the_disk() {
    let (address, heard) = with_long(FRESH, LONG);
    let server = cached(address, DISK);
    for path in ["/a", "/a?b", "/b", "/long/1", "/long/2"] {
        ask(&server, path, "");
    }
    reaches(&server, "stored", 5);
    assert!(server.ctl(&["cache", "purge", "/a"]).status.success());
    reaches(&server, "files", 3);
    assert!(server.ctl(&["cache", "purge", "site.test/long/*"]).status.success());
    reaches(&server, "files", 1);
    assert_eq!(count(&heard), 5);
    let server = server.kill_and_restart();
    for (path, found) in [("/b", "hit"), ("/a", "fwd=uri-miss"), ("/long/1", "fwd=uri-miss")] {
        let status = ask(&server, path, "").1;
        assert!(status.starts_with(&format!("velodrome; {found}")), "{path}: {status}");
    }
    reaches(&server, "files", 3);
    // A change is in force on the disk too.
    let post = get("/b", "Content-Length: 0\r\n").replace("GET", "POST");
    exchange(&server, &post);
    reaches(&server, "files", 2);
    let server = server.kill_and_restart();
    let status = ask(&server, "/b", "").1;
    assert!(status.starts_with("velodrome; fwd=uri-miss"), "{status}");
    reaches(&server, "stored", 1);
    assert!(server.ctl(&["cache", "purge", "*"]).status.success());
    reaches(&server, "files", 0);
    let left: Vec<_> = std::fs::read_dir(server.directory().join("cache")).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}
