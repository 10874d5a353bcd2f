//! Goal: many requests for the same thing become one, whose answer is stored whole or not at all. Method: the built
//! binary, and servers that send exactly what a test says, when it says so.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::thread;

use crate::server::Server;
use crate::server::caches::{FRESH, ask, body, cached, clients, counted};
use crate::server::upstreams::{all_to, by_hand, connect, get, next, read_to, rest, start};

#[test]
fn one_fetch_is_for_all_that_wait() {
    let (address, connections) = by_hand();
    let server = cached(address, "");
    let mut waiting = clients(&server, 1, &get("/", ""));
    let mut backend = next(&connections);
    read_to(&mut backend, "\r\n\r\n");
    waiting.extend(clients(&server, 9, &get("/", "")));
    counted(&server, "misses", 10);
    backend
        .write_all(format!("HTTP/1.1 200 OK\r\n{FRESH}Content-Length: 4\r\n\r\nha").as_bytes())
        .unwrap();
    // All read along.
    for client in &mut waiting {
        read_to(client, "\r\n\r\nha");
    }
    backend.write_all(b"lf").unwrap();
    for client in &mut waiting {
        assert_eq!(rest(client), "lf");
    }
    assert!(connections.try_recv().is_err(), "a second fetch");
    counted(&server, "collapsed", 9);
}

#[test]
fn those_that_wait_for_what_is_not_shared_go_all_at_once() {
    // The answer is for nobody else: because of what it says, or because of who has asked.
    go_all_at_once("");
    go_all_at_once("Authorization: a\r\n");
}

fn go_all_at_once(fields: &str) {
    let (address, connections) = by_hand();
    let server = cached(address, "wait = \"1h\"");
    let fresh = if fields.is_empty() { "" } else { FRESH };
    let close = format!("HTTP/1.1 200 OK\r\n{fresh}Connection: close\r\nContent-Length: 1\r\n\r\n");
    let answer = |number: u8| format!("{close}{number}").into_bytes();
    let mut waiting = clients(&server, 1, &get("/", fields));
    let mut first = next(&connections);
    read_to(&mut first, "\r\n\r\n");
    waiting.extend(clients(&server, 4, &get("/", fields)));
    counted(&server, "misses", 5);
    first.write_all(&answer(0)).unwrap();
    // None of these is answered before all have come.
    let mut others: Vec<_> = (0..4).map(|_| next(&connections)).collect();
    for other in &mut others {
        read_to(other, "\r\n\r\n");
        other.write_all(&answer(1)).unwrap();
    }
    let mut bodies: Vec<String> =
        waiting.iter_mut().map(|client| body(&rest(client)).to_owned()).collect();
    bodies.sort();
    assert_eq!(bodies, ["0", "1", "1", "1", "1"]);
    if !fields.is_empty() {
        return;
    }
    // The next two do not wait for each other either.
    let mut two = clients(&server, 2, &get("/", ""));
    let mut both: Vec<_> = (0..2).map(|_| next(&connections)).collect();
    for other in &mut both {
        read_to(other, "\r\n\r\n");
        other.write_all(&answer(2)).unwrap();
    }
    assert!(two.iter_mut().all(|client| rest(client).ends_with('2')));
}

#[test]
fn a_request_waits_for_another_one_only_so_long() {
    let (address, connections) = by_hand();
    let server = cached(address, "wait = \"50ms\"");
    let mut first = clients(&server, 1, &get("/", ""));
    let mut silent = next(&connections);
    read_to(&mut silent, "\r\n\r\n");
    let mut second = clients(&server, 1, &get("/", ""));
    let mut backend = next(&connections);
    read_to(&mut backend, "\r\n\r\n");
    backend.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n2").unwrap();
    assert!(rest(&mut second[0]).ends_with("\r\n\r\n2"));
    silent.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1").unwrap();
    assert!(rest(&mut first[0]).ends_with("\r\n\r\n1"));
}

#[test]
fn a_client_that_closes_before_the_head_hands_the_fetch_to_one_that_waits() {
    let (address, connections) = by_hand();
    let server = cached(address, "wait = \"1h\"");
    let first = clients(&server, 1, &get("/", ""));
    let mut backend = next(&connections);
    read_to(&mut backend, "\r\n\r\n");
    let mut second = clients(&server, 1, &get("/", ""));
    counted(&server, "misses", 2);
    drop(first);
    let mut again = next(&connections);
    read_to(&mut again, "\r\n\r\n");
    again
        .write_all(format!("HTTP/1.1 200 OK\r\n{FRESH}Content-Length: 2\r\n\r\nok").as_bytes())
        .unwrap();
    assert!(rest(&mut second[0]).ends_with("\r\n\r\nok"));
    assert_eq!(rest(&mut backend), "");
}

#[test]
fn a_client_that_closes_within_the_body_does_not_end_the_fetch() {
    let (address, connections) = by_hand();
    let server = cached(address, "");
    let mut first = clients(&server, 1, &get("/", ""));
    let mut backend = next(&connections);
    read_to(&mut backend, "\r\n\r\n");
    backend
        .write_all(format!("HTTP/1.1 200 OK\r\n{FRESH}Content-Length: 4\r\n\r\nha").as_bytes())
        .unwrap();
    read_to(&mut first[0], "\r\n\r\nha");
    drop(first);
    backend.write_all(b"lf").unwrap();
    counted(&server, "stored", 1);
    assert_eq!(ask(&server, "/", "").0, "half");
    assert!(connections.try_recv().is_err(), "a second fetch");
}

/// A server in the middle of an answer, whose client has left, and the site's upstream connection that it comes by.
fn left_alone() -> (Server, TcpStream) {
    let (address, connections) = by_hand();
    // Neither its pauses nor a drain that takes long are reasons to give it up.
    let upstream = all_to(&[address], "cache = {}\nidle_timeout = \"1h\"");
    let server = start(&format!("drain_deadline = \"1h\"\n{upstream}"));
    let mut reader = clients(&server, 1, &get("/", ""));
    let mut backend = next(&connections);
    read_to(&mut backend, "\r\n\r\n");
    backend
        .write_all(format!("HTTP/1.1 200 OK\r\n{FRESH}Content-Length: 4\r\n\r\nha").as_bytes())
        .unwrap();
    read_to(&mut reader[0], "\r\n\r\nha");
    drop(reader);
    // A client that has only ended its side would still read. This one answers the next byte with a reset.
    backend.write_all(b"l").unwrap();
    (server, backend)
}

#[test]
fn fill_without_reader_that_cannot_be_stored_is_dropped() {
    let (server, mut backend) = left_alone();
    assert!(server.ctl(&["cache", "purge", "/"]).status.success());
    match backend.read(&mut [0]) {
        Ok(read) => assert_eq!(read, 0),
        // A connection that was only silent would be an error of another kind.
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
    }
}

#[test]
fn a_drain_waits_for_no_answer_that_nobody_reads() {
    let (mut server, backend) = left_alone();
    assert!(server.ctl(&["drain"]).status.success());
    assert!(server.wait().success(), "{}", server.printed_errors());
    drop(backend);
}

#[test]
fn an_answer_that_is_cut_is_never_stored() {
    for (head, part) in [
        ("Content-Length: 10", "xyz"),
        ("Transfer-Encoding: chunked", "3\r\nxyz\r\n"),
        // Its end would be the close of the connection.
        ("X: y", "xyz"),
    ] {
        let (address, connections) = by_hand();
        let server = cached(address, "stale_if_error = \"1h\"");
        let mut clients = clients(&server, 1, &get("/", ""));
        let mut backend = next(&connections);
        read_to(&mut backend, "\r\n\r\n");
        backend
            .write_all(format!("HTTP/1.1 200 OK\r\n{FRESH}{head}\r\n\r\n{part}").as_bytes())
            .unwrap();
        read_to(&mut clients[0], "xyz");
        drop(backend);
        let end = rest(&mut clients[0]);
        assert!(head.starts_with('X') || !end.contains("0\r\n\r\n"), "{head}: {end}");
        let numbers = server.told("/cache");
        assert_eq!((&numbers["objects"], &numbers["stored"]), (&0.into(), &0.into()), "{head}");
        let mut again = connect(&server);
        again.write_all(get("/", "").as_bytes()).unwrap();
        let mut backend = next(&connections);
        read_to(&mut backend, "\r\n\r\n");
        backend.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nnew").unwrap();
        assert!(rest(&mut again).ends_with("\r\n\r\nnew"), "{head}");
    }
}

#[test]
fn reader_of_an_answer_that_was_cut_before_it_had_any_gets_an_error_page() {
    let (address, connections) = by_hand();
    let server = cached(address, "");
    let mut waiting = clients(&server, 1, &get("/", ""));
    let mut backend = next(&connections);
    read_to(&mut backend, "\r\n\r\n");
    waiting.extend(clients(&server, 3, &get("/", "")));
    counted(&server, "misses", 4);
    // The head, a part and the end are heard at once.
    let head = format!("HTTP/1.1 200 OK\r\n{FRESH}Transfer-Encoding: chunked\r\n\r\n");
    let part = format!("{head}3\r\nxyz\r\n");
    backend.write_all(part.as_bytes()).unwrap();
    drop(backend);
    thread::spawn(move || {
        for mut backend in connections {
            read_to(&mut backend, "\r\n\r\n");
            backend.write_all(part.as_bytes()).unwrap();
        }
    });
    for client in &mut waiting {
        let answer = rest(client);
        let is_cut = answer.starts_with("HTTP/1.1 200 ") && !answer.ends_with("0\r\n\r\n");
        let is_told = answer.starts_with("HTTP/1.1 502 ") && body(&answer).contains("not answer");
        assert!(is_cut || is_told, "{answer}");
    }
}

/// Gives all paths to a fixed answer.
fn take_the_route_away(server: &Server) {
    let config = "[[route]]\nprefix = \"/\"\nrespond = { status = 410, body = \"gone\" }\n";
    server.directory().write("velodrome.toml", config);
    assert!(server.ctl(&["reload"]).status.success());
}

#[test]
fn validated_answer_is_sent_whole_after_a_reload_without_its_route() {
    let (address, connections) = by_hand();
    let server = cached(address, "");
    let mut first = clients(&server, 1, &get("/", ""));
    let mut backend = next(&connections);
    read_to(&mut backend, "\r\n\r\n");
    let stored = "Cache-Control: no-cache\r\nETag: \"e\"\r\nConnection: close\r\n";
    let answer = format!("HTTP/1.1 200 OK\r\n{stored}Content-Length: 2\r\n\r\nok");
    backend.write_all(answer.as_bytes()).unwrap();
    assert!(rest(&mut first[0]).ends_with("\r\n\r\nok"));
    let mut second = clients(&server, 1, &get("/", ""));
    let mut backend = next(&connections);
    let asked = read_to(&mut backend, "\r\n\r\n");
    assert!(asked.contains("If-None-Match: \"e\"\r\n"), "{asked}");
    take_the_route_away(&server);
    backend.write_all(b"HTTP/1.1 304 Not Modified\r\nETag: \"e\"\r\n\r\n").unwrap();
    // Its client has not asked about "e".
    let answer = rest(&mut second[0]);
    assert!(
        answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nok"),
        "{answer}"
    );
}

#[test]
fn requests_that_wait_for_another_one_get_the_new_route_after_a_reload() {
    let (address, connections) = by_hand();
    let server = cached(address, "wait = \"1h\"");
    let mut waiting = clients(&server, 1, &get("/", ""));
    let mut backend = next(&connections);
    read_to(&mut backend, "\r\n\r\n");
    waiting.extend(clients(&server, 2, &get("/", "")));
    counted(&server, "misses", 3);
    take_the_route_away(&server);
    backend
        .write_all(format!("HTTP/1.1 200 OK\r\n{FRESH}Content-Length: 2\r\n\r\nok").as_bytes())
        .unwrap();
    let answers: Vec<String> = waiting.iter_mut().map(rest).collect();
    let bodies: Vec<&str> = answers.iter().map(|answer| body(answer)).collect();
    assert_eq!(bodies, ["ok", "gone", "gone"], "{answers:?}");
    assert!(connections.try_recv().is_err(), "a second fetch");
}
