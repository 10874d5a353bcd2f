//! Goal: what a server has made for one client reaches no other one through the cache. Method: the built binary,
//! servers whose answers differ by client, and clients that ask one after the other or at the same time.

use std::io::Write;

use crate::server::caches::{FRESH, ask, body, cached, clients, count, counted, counting, field};
use crate::server::other::other;
use crate::server::upstreams::{all_to, by_hand, exchange, get, next, read_to, rest};

#[test]
fn the_fields_of_a_304_to_one_client_do_not_reach_others() {
    for (control, personal, mine) in [
        ("max-age=0", "Set-Cookie: user=bob", ""),
        ("max-age=0, public", "X-User: bob", "Authorization: Basic Ym9iOg==\r\n"),
    ] {
        let (address, _heard) = other(move |_, number, request| {
            let (is_known, is_second) = (request.contains("If-None-Match"), number == 1);
            let personal = if is_second { format!("{personal}\r\n") } else { String::new() };
            let answer = if is_known {
                format!("HTTP/1.1 304 Same\r\nETag: \"e\"\r\n{FRESH}{personal}\r\n")
            } else {
                format!(
                    "HTTP/1.1 200 OK\r\nETag: \"e\"\r\nCache-Control: {control}\r\nContent-Length: \
                     2\r\n\r\nok"
                )
            };
            answer.into_bytes()
        });
        let server = cached(address, "");
        assert_eq!(ask(&server, "/", "").0, "ok");
        let second = exchange(&server, &get("/", mine));
        assert!(second.starts_with("HTTP/1.1 200 ") && body(&second) == "ok", "{second}");
        assert!(second.contains(personal), "{second}");
        let status = field(&second, "Cache-Status");
        assert!(status.contains("fwd-status=304") && !status.contains("stored"), "{status}");
        for _ in 0..2 {
            let third = exchange(&server, &get("/", ""));
            assert!(body(&third) == "ok" && !third.contains("bob"), "{third}");
        }
    }
}

#[test]
fn a_route_that_replaces_an_error_does_so_with_a_stored_one() {
    let (address, _heard) = other(|_, _, _| {
        format!("HTTP/1.1 404 No\r\n{FRESH}Content-Length: 4\r\n\r\nbare").into_bytes()
    });
    let server = cached(address, "");
    assert_eq!(ask(&server, "/", "").0, "bare");
    let config = all_to(&[address], "cache = {}")
        .replace("proxy = \"a\"", "proxy = { upstream = \"a\", intercept_errors = [404] }");
    server.directory().write("velodrome.toml", crate::server::configuration(&config));
    assert!(server.ctl(&["reload"]).status.success());
    for _ in 0..2 {
        let answer = exchange(&server, &get("/", ""));
        assert!(answer.starts_with("HTTP/1.1 404 ") && !answer.contains("bare"), "{answer}");
    }
}

#[test]
fn a_route_that_replaces_an_error_does_so_with_one_that_another_client_receives() {
    let (address, connections) = by_hand();
    let server = cached(address, "");
    let mut reader = clients(&server, 1, &get("/", ""));
    let mut backend = next(&connections);
    read_to(&mut backend, "\r\n\r\n");
    let head = format!("HTTP/1.1 404 No\r\n{FRESH}Content-Length: 4\r\n\r\n");
    backend.write_all(format!("{head}ba").as_bytes()).unwrap();
    read_to(&mut reader[0], "\r\n\r\nba");
    let config = all_to(&[address], "cache = {}")
        .replace("proxy = \"a\"", "proxy = { upstream = \"a\", intercept_errors = [404] }");
    server.directory().write("velodrome.toml", crate::server::configuration(&config));
    assert!(server.ctl(&["reload"]).status.success());
    let mut second = clients(&server, 1, &get("/", ""));
    let mut other = next(&connections);
    read_to(&mut other, "\r\n\r\n");
    other.write_all(format!("{head}bare").as_bytes()).unwrap();
    let answer = rest(&mut second[0]);
    assert!(answer.starts_with("HTTP/1.1 404 ") && !answer.contains("bare"), "{answer}");
    backend.write_all(b"re").unwrap();
    assert_eq!(rest(&mut reader[0]), "re");
}

#[test]
fn no_cache_answer_is_not_shared() {
    for control in ["no-cache", "max-age=1000, no-cache", "max-age=0, must-revalidate"] {
        let (address, connections) = by_hand();
        let server = cached(address, "wait = \"1h\"");
        let head = format!(
            "HTTP/1.1 200 OK\r\nETag: \"e\"\r\nCache-Control: {control}\r\nContent-Length: 4\r\n\r\n"
        );
        let mut first = clients(&server, 1, &get("/", "Cookie: user=first\r\n"));
        let mut backend = next(&connections);
        read_to(&mut backend, "\r\n\r\n");
        let mut waiting = clients(&server, 2, &get("/", "Cookie: user=other\r\n"));
        counted(&server, "misses", 3);
        backend.write_all(format!("{head}mi").as_bytes()).unwrap();
        read_to(&mut first[0], "\r\n\r\nmi");
        // Those that have waited go by themselves, and so does one that comes while the body arrives.
        waiting.extend(clients(&server, 1, &get("/", "Cookie: user=other\r\n")));
        let mut others: Vec<_> = (0..3).map(|_| next(&connections)).collect();
        for other in &mut others {
            read_to(other, "\r\n\r\n");
            other.write_all(format!("{head}your").as_bytes()).unwrap();
        }
        for client in &mut waiting {
            assert_eq!(body(&rest(client)), "your", "{control}");
        }
        backend.write_all(b"ne").unwrap();
        assert_eq!(rest(&mut first[0]), "ne", "{control}");
    }
}

#[test]
fn variants_are_those_of_what_the_server_got() {
    for (name, first, second) in [
        // `Connection` keeps the field from the server.
        (
            "Accept-Encoding",
            "Accept-Encoding: evil\r\nConnection: Accept-Encoding\r\n",
            "Accept-Encoding: evil\r\n",
        ),
        // Programs that get fields as variables take one spelling for the other.
        ("X-Lang", "X_Lang: evil\r\n", ""),
        ("X-Lang", "X_Lang: evil\r\n", "X-Lang: evil\r\n"),
    ] {
        let (address, _heard) = other(move |_, _, request| {
            let body: String = request.lines().filter(|line| line.ends_with("evil")).collect();
            let length = body.len();
            format!(
                "HTTP/1.1 200 OK\r\n{FRESH}Vary: {name}\r\nContent-Length: {length}\r\n\r\n{body}"
            )
            .into_bytes()
        });
        let server = cached(address, "");
        ask(&server, "/", first);
        assert_eq!(ask(&server, "/", second).0, second.trim_end(), "{first}");
    }
    // Facts that the server is told of the client cannot be compared with what a client says of itself.
    for name in ["X-Forwarded-For", "Forwarded", "X-Request-Id"] {
        let vary: &'static str = format!("{FRESH}Vary: {name}\r\n").leak();
        let (address, heard) = counting(vary);
        let server = cached(address, "");
        assert_eq!((ask(&server, "/", "").0, ask(&server, "/", "").0), ("0".into(), "1".into()));
        assert_eq!(count(&heard), 2, "{name}");
    }
}

#[test]
fn how_a_client_spells_the_host_reaches_no_server_that_others_hear() {
    let (address, _heard) = other(|_, _, request| {
        let told: Vec<&str> = request
            .lines()
            .filter(|line| line.to_ascii_lowercase().contains("site.test"))
            .collect();
        let body = told.join("|");
        let length = body.len();
        format!("HTTP/1.1 200 OK\r\n{FRESH}Content-Length: {length}\r\n\r\n{body}").into_bytes()
    });
    let server = cached(address, "");
    let spelt = get("/", "").replace("site.test", "SITE.Test:80");
    let first = exchange(&server, &spelt);
    assert_eq!(
        body(&first),
        "Host: site.test|X-Forwarded-Host: site.test|\
         Forwarded: for=127.0.0.1;host=\"site.test\";proto=http"
    );
    assert_eq!(ask(&server, "/", "").0, body(&first));
    // Nobody else gets this one, so the server hears what the client has said.
    let post =
        spelt.replace("GET ", "POST ").replace("Connection", "Content-Length: 0\r\nConnection");
    assert!(body(&exchange(&server, &post)).starts_with("Host: SITE.Test:80|"));
}
