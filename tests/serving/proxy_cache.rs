//! Goal: answers of an upstream are stored and used again as docs/proxy.md says, and never for a client that they are
//! not for. Method: the built binary, and servers played by threads, which tell what reached them.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::server::other::{Heard, other};
use crate::server::patience::until;
use crate::server::upstreams::{
    all_to, by_hand, connect, exchange, get, next, nobody, read_to, rest, start,
};
use crate::server::{Plan, Server};

/// A server whose every answer has these lines, and as its body the number of the answer.
fn counting(lines: &'static str) -> (SocketAddr, Heard) {
    let count = Arc::new(AtomicUsize::new(0));
    other(move |_, _, _| {
        let body = count.fetch_add(1, Ordering::Relaxed).to_string();
        let length = body.len();
        format!("HTTP/1.1 200 OK\r\n{lines}Content-Length: {length}\r\n\r\n{body}").into_bytes()
    })
}

/// A server with one upstream and a cache with these keys.
fn cached(address: SocketAddr, keys: &str) -> Server {
    start(&all_to(&[address], &format!("cache = {{ {keys} }}")))
}

fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").map_or(answer, |(_, body)| body)
}

/// The body and what the cache has done.
fn ask(server: &Server, path: &str, fields: &str) -> (String, String) {
    seen(&exchange(server, &get(path, fields)))
}

fn seen(answer: &str) -> (String, String) {
    (body(answer).to_owned(), field(answer, "Cache-Status"))
}

fn field(answer: &str, name: &str) -> String {
    let name = format!("{name}: ");
    let line = answer.lines().find_map(|line| line.strip_prefix(&*name));
    line.unwrap_or("none").to_owned()
}

fn pair(body: &str, status: &str) -> (String, String) {
    (body.to_owned(), format!("velodrome; {status}"))
}

/// The number of requests that have reached a server.
fn count(heard: &Heard) -> usize {
    heard.try_iter().filter(|(_, request)| request != "end").count()
}

const FRESH: &str = "Cache-Control: max-age=1000\r\n";

#[test]
fn an_answer_is_stored_and_used_again() {
    let (address, heard) = counting(FRESH);
    let server = cached(address, "report = \"full\"");
    let (first, status) = ask(&server, "/a?x", "");
    assert_eq!(first, "0");
    assert!(status.starts_with("velodrome; fwd=uri-miss; stored; ttl=1000"), "{status}");
    let again = exchange(&server, &get("/a?x", ""));
    assert!(again.starts_with("HTTP/1.1 200 OK\r\n"), "{again}");
    assert_eq!(body(&again), "0");
    let status = field(&again, "Cache-Status");
    assert!(status.starts_with("velodrome; hit; ttl="), "{status}");
    assert!(status.ends_with("; key=\"http://site.test/a?x\""), "{status}");
    assert!(field(&again, "Age").parse::<u64>().unwrap() < 100, "{again}");
    assert_eq!(again.matches("Date: ").count(), 1, "{again}");
    assert_eq!(again.matches("Content-Length: ").count(), 1, "{again}");
    assert_eq!(count(&heard), 1);
    let numbers = server.ctl_json(&["cache"]);
    let number = |name: &str| numbers[name].as_u64().unwrap();
    assert_eq!((number("hits"), number("misses"), number("stored")), (1, 1, 1));
    assert_eq!(number("objects"), 1);
    assert!(number("bytes") > 500, "{numbers}");
    let metrics = server.ctl_json(&["stats"]);
    assert_eq!(metrics["schedulers"][0]["cache"]["hits"], 1, "{metrics}");
}

#[test]
fn without_a_cache_or_with_cache_false_each_request_reaches_the_server() {
    let (address, heard) = counting(FRESH);
    let server = start(&all_to(&[address], ""));
    for number in ["0", "1"] {
        assert_eq!(ask(&server, "/", ""), (number.to_owned(), "none".to_owned()));
    }
    let server = start(
        &all_to(&[address], "cache = {}")
            .replace("proxy = \"a\"", "proxy = { upstream = \"a\", cache = false }"),
    );
    for number in ["2", "3"] {
        assert_eq!(ask(&server, "/", ""), (number.to_owned(), "none".to_owned()));
    }
    assert_eq!(count(&heard), 4);
}

#[test]
fn answers_in_chunks_and_long_ones_are_stored_whole() {
    let long = "x".repeat(200_000);
    let sent = format!(
        "HTTP/1.1 200 OK\r\n{FRESH}Transfer-Encoding: chunked\r\n\r\n186a0\r\n{}\r\n186a0\r\n{}\r\n0\r\nT: x\r\n\r\n",
        &long[..100_000],
        &long[100_000..]
    );
    let (address, heard) = other(move |_, _, _| sent.clone().into_bytes());
    let server = cached(address, "");
    let first = exchange(&server, &get("/", ""));
    assert_eq!(
        first.matches('x').count(),
        200_000 + first.split("\r\n\r\n").next().unwrap().matches('x').count()
    );
    let again = exchange(&server, &get("/", ""));
    assert_eq!(field(&again, "Content-Length"), "200000");
    assert!(body(&again) == long, "another body");
    let head = exchange(&server, &get("/", "").replace("GET", "HEAD"));
    assert_eq!((field(&head, "Content-Length"), body(&head)), ("200000".to_owned(), ""));
    let part = exchange(&server, &get("/", "Range: bytes=10-50009\r\n"));
    assert!(part.starts_with("HTTP/1.1 206 "), "{part:.200}");
    assert_eq!(field(&part, "Content-Range"), "bytes 10-50009/200000");
    assert_eq!(body(&part).len(), 50_000);
    let beyond = exchange(&server, &get("/", "Range: bytes=200000-\r\n"));
    assert!(beyond.starts_with("HTTP/1.1 416 "), "{beyond:.200}");
    assert_eq!(field(&beyond, "Content-Range"), "bytes */200000");
    assert_eq!(count(&heard), 1);
}

#[test]
fn an_answer_that_is_too_long_is_passed_on_and_not_stored() {
    for framing in ["Content-Length", "Transfer-Encoding"] {
        let long = "x".repeat(1_000_000);
        let text = match framing {
            "Content-Length" => format!("Content-Length: 1000000\r\n\r\n{long}"),
            _ => format!("Transfer-Encoding: chunked\r\n\r\nf4240\r\n{long}\r\n0\r\n\r\n"),
        };
        let sent = format!("HTTP/1.1 200 OK\r\n{FRESH}{text}");
        let (address, heard) = other(move |_, _, _| sent.clone().into_bytes());
        let server = cached(address, "object = \"100 KiB\"");
        for _ in 0..2 {
            let answer = exchange(&server, &get("/", ""));
            let bytes = body(&answer).bytes().filter(|byte| *byte == b'x').count();
            assert_eq!(bytes, 1_000_000, "{framing}");
        }
        assert_eq!(count(&heard), 2, "{framing}");
        assert_eq!(server.ctl_json(&["cache"])["objects"], 0, "{framing}");
    }
}

#[test]
fn what_must_not_be_stored_is_not() {
    for (lines, request) in [
        ("", ""),
        ("Cache-Control: max-age=1000, private\r\n", ""),
        ("Cache-Control: max-age=1000, no-store\r\n", ""),
        ("Cache-Control: max-age=1000\r\nSet-Cookie: a=b\r\n", ""),
        ("Cache-Control: max-age=1000\r\nVary: *\r\n", ""),
        (FRESH, "Authorization: Basic YTpi\r\n"),
        // Programs take these for another request.
        (FRESH, "X-HTTP-Method-Override: DELETE\r\n"),
        (FRESH, "X_Original-URL: /admin\r\n"),
    ] {
        let (address, heard) = counting(lines);
        let server = cached(address, "");
        for number in ["0", "1"] {
            assert_eq!(ask(&server, "/", request).0, number, "{lines}{request}");
        }
        assert_eq!(count(&heard), 2, "{lines}{request}");
        assert_eq!(server.ctl_json(&["cache"])["objects"], 0, "{lines}{request}");
    }
}

#[test]
fn a_request_with_a_body_neither_gets_nor_leaves_a_stored_answer() {
    let (address, heard) = counting(FRESH);
    let server = cached(address, "");
    let fat =
        "GET / HTTP/1.1\r\nHost: site.test\r\nContent-Length: 4\r\nConnection: close\r\n\r\nevil";
    assert_eq!(seen(&exchange(&server, fat)), pair("0", "fwd=bypass"));
    assert_eq!(ask(&server, "/", "").0, "1");
    assert_eq!(seen(&exchange(&server, fat)).0, "2");
    assert_eq!(ask(&server, "/", "").0, "1");
    assert_eq!(count(&heard), 3);
}

#[test]
fn what_a_client_says_of_itself_does_not_reach_others() {
    // It repeats everything that it gets.
    let (address, heard) = other(|_, _, request| {
        let length = request.len();
        format!("HTTP/1.1 200 OK\r\n{FRESH}Content-Length: {length}\r\n\r\n{request}").into_bytes()
    });
    let server = cached(address, "");
    let forged = "X-Forwarded-Host: evil.test\r\nX-Forwarded-Proto: gopher\r\nForwarded: host=evil.test\r\n\
                  X-Real-IP: 6.6.6.6\r\nIf-None-Match: \"evil\"\r\nIf-Modified-Since: Thu, 01 Jan 2026 00:00:00 GMT\r\n";
    exchange(&server, &get("/", forged));
    let answer = exchange(&server, &get("/", ""));
    assert!(field(&answer, "Cache-Status").contains("hit"), "{answer}");
    for word in ["evil", "gopher", "6.6.6.6", "If-None-Match", "If-Modified-Since"] {
        assert!(!answer.contains(word), "{word}: {answer}");
    }
    // Each spelling that the server may read differently is another key; those of the host are not.
    for (number, path) in
        ["/?a=1&b=2", "/?b=2&a=1", "/%3Fa=1&b=2", "/a", "/A", "/%61"].iter().enumerate()
    {
        let missed = ask(&server, path, "").1;
        assert!(missed.contains("fwd=uri-miss"), "{path}: {missed}");
        assert_eq!(count(&heard), if number == 0 { 2 } else { 1 }, "{path}");
    }
    for host in ["SITE.test", "site.test:80"] {
        let text = get("/", "").replace("site.test", host);
        let status = field(&exchange(&server, &text), "Cache-Status");
        assert!(status.contains("hit"), "{host}: {status}");
    }
    for host in ["site.test:8080", "other.test", "site.test."] {
        let text = get("/", "").replace("site.test", host);
        let status = field(&exchange(&server, &text), "Cache-Status");
        assert!(status.contains("fwd=uri-miss"), "{host}: {status}");
    }
}

#[test]
fn a_part_or_a_head_does_not_become_the_answer_to_all() {
    let (address, heard) = other(|_, _, request| {
        if request.contains("Range: ") {
            return format!(
                "HTTP/1.1 206 P\r\n{FRESH}Content-Range: bytes 0-1/5\r\nContent-Length: 2\r\n\r\nwh"
            )
            .into_bytes();
        }
        let body = if request.starts_with("HEAD") { "" } else { "whole" };
        format!("HTTP/1.1 200 OK\r\n{FRESH}Content-Length: 5\r\n\r\n{body}").into_bytes()
    });
    let server = cached(address, "");
    assert!(exchange(&server, &get("/", "Range: bytes=0-1\r\n")).starts_with("HTTP/1.1 206 "));
    let head = exchange(&server, &get("/", "").replace("GET", "HEAD"));
    assert!(head.starts_with("HTTP/1.1 200 ") && body(&head).is_empty(), "{head}");
    assert_eq!(ask(&server, "/", "").0, "whole");
    assert_eq!(ask(&server, "/", "Range: bytes=0-1\r\n").0, "wh");
    assert_eq!(count(&heard), 3);
}

#[test]
fn clients_get_the_variant_that_is_for_them() {
    let (address, heard) = other(|_, _, request| {
        let language = request.lines().find_map(|line| line.strip_prefix("Accept-Language: "));
        let body = language.unwrap_or("none");
        let length = body.len();
        format!("HTTP/1.1 200 OK\r\n{FRESH}Vary: Accept-Language\r\nContent-Length: {length}\r\n\r\n{body}").into_bytes()
    });
    let server = cached(address, "");
    for _ in 0..2 {
        for (fields, expected) in
            [("Accept-Language: de\r\n", "de"), ("", "none"), ("Accept-Language: fr\r\n", "fr")]
        {
            assert_eq!(ask(&server, "/", fields).0, expected);
        }
    }
    assert_eq!(count(&heard), 3);
}

#[test]
fn cookies_matter_where_freshness_is_only_assumed() {
    let (address, heard) = counting("");
    let server = cached(address, "default_ttl = \"1h\"");
    assert_eq!(ask(&server, "/", "Cookie: a=b\r\n").0, "0");
    assert_eq!(ask(&server, "/", "").0, "1");
    assert_eq!(ask(&server, "/", "Cookie: a=b\r\n").0, "2");
    assert_eq!(ask(&server, "/", "").0, "1");
    assert_eq!(count(&heard), 3);
    let (address, _heard) = counting("Cache-Control: max-age=9\r\nSet-Cookie: a=b\r\n");
    let server = cached(address, "remove_set_cookie = true");
    for _ in 0..2 {
        let answer = exchange(&server, &get("/", ""));
        assert_eq!((body(&answer), field(&answer, "Set-Cookie")), ("0", "none".to_owned()));
    }
}

/// A server with an answer that has always to be validated.
fn validated(lines: &'static str) -> (SocketAddr, Heard, Arc<AtomicBool>) {
    let fails = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&fails);
    let (address, heard) = other(move |_, _, request| {
        let answer = match request {
            _ if told.load(Ordering::Relaxed) => {
                "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy".to_owned()
            }
            known if known.contains("If-None-Match: \"e\"\r\n") => {
                format!("HTTP/1.1 304 Same\r\nETag: \"e\"\r\nX-New: 1\r\n{lines}\r\n")
            }
            _ => format!("HTTP/1.1 200 OK\r\nETag: \"e\"\r\n{lines}Content-Length: 2\r\n\r\nok"),
        };
        answer.into_bytes()
    });
    (address, heard, fails)
}

#[test]
fn a_stale_answer_is_validated_and_its_fields_renewed() {
    let (address, heard, _) = validated("Cache-Control: no-cache\r\n");
    let server = cached(address, "");
    assert_eq!(ask(&server, "/", "").0, "ok");
    let again = exchange(&server, &get("/", "If-None-Match: \"mine\"\r\n"));
    assert!(again.starts_with("HTTP/1.1 200 ") && body(&again) == "ok", "{again}");
    assert!(
        field(&again, "Cache-Status").starts_with("velodrome; fwd=stale; fwd-status=304; stored"),
        "{again}"
    );
    assert_eq!(field(&again, "X-New"), "1");
    let same = exchange(&server, &get("/", "If-None-Match: \"e\"\r\n"));
    assert!(same.starts_with("HTTP/1.1 304 ") && body(&same).is_empty(), "{same}");
    let requests: Vec<(usize, String)> = heard.try_iter().collect();
    assert_eq!(requests.len(), 3);
    assert!(requests.iter().all(|(connection, _)| *connection == 0), "{requests:?}");
    assert!(!requests[1].1.contains("mine"), "{}", requests[1].1);
}

#[test]
fn a_304_about_another_answer_makes_the_server_be_asked_again() {
    let (address, heard) = other(|_, number, request| {
        let answer = if request.contains("If-None-Match") {
            "HTTP/1.1 304 Same\r\nETag: \"other\"\r\n\r\n".to_owned()
        } else {
            format!(
                "HTTP/1.1 200 OK\r\nETag: \"e\"\r\nCache-Control: no-cache\r\nContent-Length: 1\r\n\r\n{number}"
            )
        };
        answer.into_bytes()
    });
    let server = cached(address, "");
    assert_eq!(ask(&server, "/", "").0, "0");
    let second = exchange(&server, &get("/", ""));
    assert!(second.starts_with("HTTP/1.1 200 ") && body(&second).len() == 1, "{second}");
    assert_eq!(count(&heard), 3);
}

#[test]
fn a_stale_answer_is_used_if_the_servers_fail_and_it_says_so() {
    let (address, heard, fails) = validated("Cache-Control: max-age=0, stale-if-error=1000\r\n");
    let server = cached(address, "");
    assert_eq!(ask(&server, "/", "").0, "ok");
    fails.store(true, Ordering::Relaxed);
    let (text, status) = ask(&server, "/", "");
    assert_eq!(text, "ok");
    assert!(status.starts_with("velodrome; fwd=stale; fwd-status=503; ttl="), "{status}");
    assert!(ask(&server, "/", "").0 == "ok" && count(&heard) >= 2);
    let other = exchange(&server, &get("/other", ""));
    assert!(other.starts_with("HTTP/1.1 503 ") && body(&other) == "busy", "{other}");
}

#[test]
fn a_stale_answer_is_used_if_the_server_is_dead() {
    for (keys, status) in [("stale_if_error = \"1h\"", "200"), ("", "502")] {
        let (address, _heard) =
            counting("Cache-Control: max-age=0\r\nETag: \"e\"\r\nConnection: close\r\n");
        let server = cached(address, keys);
        assert_eq!(ask(&server, "/", "").0, "0");
        let config = all_to(&[nobody()], &format!("cache = {{ {keys} }}"));
        server.directory().write("velodrome.toml", crate::server::configuration(&config));
        let reloaded = server.ctl(&["reload"]);
        assert!(reloaded.status.success(), "{reloaded:?}");
        let answer = exchange(&server, &get("/", ""));
        assert_eq!(answer.split(' ').nth(1), Some(status), "{answer}");
        assert!(status != "200" || body(&answer) == "0", "{answer}");
    }
}

#[test]
fn a_stale_answer_is_used_while_it_is_validated_behind() {
    let (address, heard) = counting("Cache-Control: max-age=0, stale-while-revalidate=1000\r\n");
    let server = cached(address, "");
    assert_eq!(ask(&server, "/", "").0, "0");
    let (text, status) = ask(&server, "/", "");
    assert_eq!(text, "0");
    assert!(status.starts_with("velodrome; hit; ttl="), "{status}");
    // The new answer is there once it was received.
    until("the new answer", || (ask(&server, "/", "").0 != "0").then_some(()));
    assert!(count(&heard) >= 2);
}

/// Requests that are sent one after the other, each on a connection of its own.
fn clients(server: &Server, count: usize, text: &str) -> Vec<std::net::TcpStream> {
    let mut clients: Vec<_> = (0..count).map(|_| connect(server)).collect();
    for client in &mut clients {
        client.write_all(text.as_bytes()).unwrap();
    }
    clients
}

/// Waits until a counter of the cache has this value.
fn counted(server: &Server, name: &str, value: u64) {
    until(name, || (server.ctl_json(&["cache"])[name] == value).then_some(()));
}

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
    let (address, connections) = by_hand();
    let server = cached(address, "");
    let mut waiting = clients(&server, 1, &get("/", ""));
    let mut first = next(&connections);
    read_to(&mut first, "\r\n\r\n");
    waiting.extend(clients(&server, 4, &get("/", "")));
    counted(&server, "misses", 5);
    first.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\n0").unwrap();
    // None of these is answered before all have come.
    let mut others: Vec<_> = (0..4).map(|_| next(&connections)).collect();
    for other in &mut others {
        read_to(other, "\r\n\r\n");
        other
            .write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\n1")
            .unwrap();
    }
    let mut bodies: Vec<String> =
        waiting.iter_mut().map(|client| body(&rest(client)).to_owned()).collect();
    bodies.sort();
    assert_eq!(bodies, ["0", "1", "1", "1", "1"]);
    // The next two do not wait for each other either.
    let mut two = clients(&server, 2, &get("/", ""));
    let mut both: Vec<_> = (0..2).map(|_| next(&connections)).collect();
    for other in &mut both {
        read_to(other, "\r\n\r\n");
        other
            .write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\n2")
            .unwrap();
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
    let server = cached(address, "");
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

#[test]
fn an_answer_that_is_cut_is_never_stored() {
    for (head, part) in [
        ("Content-Length: 10", "abc"),
        ("Transfer-Encoding: chunked", "3\r\nabc\r\n"),
        // Its end would be the close of the connection.
        ("X: y", "abc"),
    ] {
        let (address, connections) = by_hand();
        let server = cached(address, "stale_if_error = \"1h\"");
        let mut clients = clients(&server, 1, &get("/", ""));
        let mut backend = next(&connections);
        read_to(&mut backend, "\r\n\r\n");
        backend
            .write_all(format!("HTTP/1.1 200 OK\r\n{FRESH}{head}\r\n\r\n{part}").as_bytes())
            .unwrap();
        read_to(&mut clients[0], "abc");
        drop(backend);
        let end = rest(&mut clients[0]);
        assert!(head.starts_with('X') || !end.contains("0\r\n\r\n"), "{head}: {end}");
        let numbers = server.ctl_json(&["cache"]);
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
fn a_change_of_a_resource_makes_the_server_be_asked_again() {
    let (address, heard) = other(|_, number, request| {
        let answer = match request.split(' ').next().unwrap() {
            "GET" => format!("HTTP/1.1 200 OK\r\n{FRESH}Content-Length: 1\r\n\r\n{number}"),
            "DELETE" => "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n".to_owned(),
            _ => "HTTP/1.1 201 Made\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n".to_owned(),
        };
        answer.into_bytes()
    });
    let server = cached(address, "");
    let change = |method: &str| {
        let text = get("/a", "Content-Length: 1\r\n").replace("GET", method) + "x";
        exchange(&server, &text);
    };
    let hits = || {
        let of = |path| ask(&server, path, "").1.contains("; hit");
        (of("/a"), of("/b"), of("/c"))
    };
    assert_eq!(hits(), (false, false, false));
    assert_eq!(hits(), (true, true, true));
    change("DELETE");
    assert_eq!(hits(), (true, true, true));
    change("POST");
    assert_eq!(hits(), (false, false, true));
    change("PUT");
    assert_eq!(hits(), (false, false, true));
    drop(heard);
}

#[test]
fn a_change_while_an_answer_arrives_keeps_it_from_being_stored() {
    let (address, connections) = by_hand();
    let server = cached(address, "");
    let mut reader = clients(&server, 1, &get("/", ""));
    let mut backend = next(&connections);
    read_to(&mut backend, "\r\n\r\n");
    backend
        .write_all(format!("HTTP/1.1 200 OK\r\n{FRESH}Content-Length: 3\r\n\r\no").as_bytes())
        .unwrap();
    read_to(&mut reader[0], "\r\n\r\no");
    let mut writer = clients(&server, 1, &get("/", "Content-Length: 0\r\n").replace("GET", "POST"));
    let mut other = next(&connections);
    read_to(&mut other, "\r\n\r\n");
    other.write_all(b"HTTP/1.1 204 Done\r\n\r\n").unwrap();
    assert!(rest(&mut writer[0]).starts_with("HTTP/1.1 204 "));
    backend.write_all(b"ld").unwrap();
    assert_eq!(rest(&mut reader[0]), "ld");
    assert_eq!(server.ctl_json(&["cache"])["stored"], 0);
}

#[test]
fn an_operator_purges_paths_and_prefixes_on_all_schedulers() {
    let (address, _heard) = counting(FRESH);
    let server =
        Plan::new().argument("--schedulers=2").config(&all_to(&[address], "cache = {}")).start();
    let paths = ["/a", "/a?x", "/a/b", "/c"];
    // Each scheduler has an answer of its own, or not.
    let fill = || {
        for path in paths {
            until("a hit", || ask(&server, path, "").1.contains("; hit").then_some(()));
        }
    };
    let hits = || paths.map(|path| ask(&server, path, "").1.contains("; hit"));
    fill();
    assert!(server.ctl(&["cache", "purge", "/a"]).status.success());
    assert!(!hits()[0]);
    fill();
    assert!(server.ctl(&["cache", "purge", "site.test/*"]).status.success());
    let after = hits();
    assert!(!after[0] && !after[3], "{after:?}");
    let wrong = server.ctl(&["cache", "purge", "a*b"]);
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("is no pattern"), "{wrong:?}");
}

#[test]
fn directives_of_requests_count_only_where_they_are_to() {
    let (address, heard) = counting(FRESH);
    let server = cached(address, "");
    for _ in 0..3 {
        assert_eq!(ask(&server, "/", "Cache-Control: no-cache\r\nPragma: no-cache\r\n").0, "0");
    }
    assert_eq!(count(&heard), 1);
    let server = cached(address, "obey_requests = true");
    let none = exchange(&server, &get("/", "Cache-Control: only-if-cached\r\n"));
    assert!(none.starts_with("HTTP/1.1 504 "), "{none}");
    assert_eq!(ask(&server, "/", "").0, "1");
    assert_eq!(ask(&server, "/", "Cache-Control: only-if-cached\r\n").0, "1");
    assert_eq!(ask(&server, "/", "Cache-Control: no-cache\r\n").0, "2");
}

#[test]
fn memory_is_bounded() {
    let body = "x".repeat(4000);
    let sent = format!("HTTP/1.1 200 OK\r\n{FRESH}Content-Length: 4000\r\n\r\n{body}");
    let (address, _heard) = other(move |_, _, _| sent.clone().into_bytes());
    let server = cached(address, "memory = \"64 KiB\"");
    let mut client = server.client();
    for number in 0..100 {
        assert_eq!(client.get(&format!("/{number}")).unwrap().status, 200);
    }
    let numbers = server.ctl_json(&["cache"]);
    let number = |name: &str| numbers[name].as_u64().unwrap();
    assert_eq!(number("stored"), 100);
    assert_eq!(number("evictions") + number("objects"), 100);
    assert!((32 << 10..=64 << 10).contains(&number("bytes")), "{numbers}");
}
