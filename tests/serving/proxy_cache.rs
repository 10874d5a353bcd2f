//! Goal: answers of an upstream are stored and used again as docs/proxy.md says, and never for a client that they are
//! not for. Method: the built binary, and servers played by threads, which tell what reached them.

use std::io::Write;

use crate::server::caches::{
    FRESH, ask, body, cached, clients, count, counted, counting, field, pair, seen,
};
use crate::server::other::other;
use crate::server::upstreams::{all_to, by_hand, exchange, get, next, read_to, rest, start};

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
    let numbers = server.told("/cache");
    let number = |name: &str| numbers[name].as_u64().unwrap();
    assert_eq!((number("hits"), number("misses"), number("stored")), (1, 1, 1));
    assert_eq!(number("objects"), 1);
    assert!(number("bytes") > 500, "{numbers}");
    let metrics = server.told("/stats");
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
        "HTTP/1.1 200 OK\r\n{FRESH}Transfer-Encoding: chunked\r\n\r\n186a0\r\n{}\r\n186a0\r\n{}\r\n0\r\nT: \
         x\r\n\r\n",
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
        assert_eq!(server.told("/cache")["objects"], 0, "{framing}");
    }
}

#[test]
fn uncacheable_answer_is_not_stored() {
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
        assert_eq!(server.told("/cache")["objects"], 0, "{lines}{request}");
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
fn stored_answer_does_not_depend_on_unkeyed_fields() {
    // It repeats everything that it gets.
    let (address, heard) = other(|_, _, request| {
        let length = request.len();
        format!("HTTP/1.1 200 OK\r\n{FRESH}Content-Length: {length}\r\n\r\n{request}").into_bytes()
    });
    let server = cached(address, "");
    let forged = "X-Forwarded-Host: evil.test\r\nX-Forwarded-Proto: gopher\r\nForwarded: \
                  host=evil.test\r\nX-Real-IP: 6.6.6.6\r\nIf-None-Match: \"evil\"\r\nIf-Modified-Since: \
                  Thu, 01 Jan 2026 00:00:00 GMT\r\n";
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
        format!(
            "HTTP/1.1 200 OK\r\n{FRESH}Vary: Accept-Language\r\nContent-Length: \
                 {length}\r\n\r\n{body}"
        )
        .into_bytes()
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
    let numbers = server.told("/cache");
    let number = |name: &str| numbers[name].as_u64().unwrap();
    assert_eq!(number("stored"), 100);
    assert_eq!(number("evictions") + number("objects"), 100);
    assert!((32 << 10..=64 << 10).contains(&number("bytes")), "{numbers}");
}

#[test]
fn an_answer_that_has_no_room_while_others_arrive_is_passed_on() {
    let (address, connections) = by_hand();
    // Half of the memory is for answers that arrive, and each of them has an eighth.
    let server = cached(address, "memory = \"64 KiB\"");
    let head = format!("HTTP/1.1 200 OK\r\n{FRESH}Content-Length: 8000\r\n\r\n");
    let begin = |number: usize| {
        let mut client = clients(&server, 1, &get(&format!("/{number}"), "")).remove(0);
        let mut backend = next(&connections);
        read_to(&mut backend, "\r\n\r\n");
        backend.write_all(format!("{head}b").as_bytes()).unwrap();
        let begun = read_to(&mut client, "\r\n\r\nb");
        (client, backend, field(&begun, "Cache-Status").contains("; stored"))
    };
    let arriving: Vec<_> = (0..5).map(begin).collect();
    let told: Vec<bool> = arriving.iter().map(|(_, _, is_stored)| *is_stored).collect();
    assert_eq!(told, [true, true, true, true, false]);
    for (mut client, mut backend, _) in arriving {
        backend.write_all("b".repeat(7999).as_bytes()).unwrap();
        assert_eq!(rest(&mut client).len(), 7999);
    }
    counted(&server, "stored", 4);
}
