//! Goal: stored answers are validated, used when they are stale, and forgotten, as docs/proxy.md says. Method: the
//! built binary, and servers played by threads, which tell what reached them.

use std::io::Write;
use std::sync::atomic::Ordering;

use crate::server::caches::{FRESH, ask, body, cached, clients, count, counting, field, validated};
use crate::server::other::other;
use crate::server::patience::until;
use crate::server::upstreams::{all_to, by_hand, exchange, get, next, read_to, rest};
use crate::server::{Plan, free_address};

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
                "HTTP/1.1 200 OK\r\nETag: \"e\"\r\nCache-Control: no-cache\r\nContent-Length: \
                 1\r\n\r\n{number}"
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
        let config = all_to(&[free_address()], &format!("cache = {{ {keys} }}"));
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
fn a_change_that_a_module_hands_on_makes_the_server_be_asked_again() {
    let (address, _heard) = other(|_, number, request| {
        let answer = if request.starts_with("GET ") {
            format!("HTTP/1.1 200 OK\r\n{FRESH}Content-Length: 1\r\n\r\n{number}")
        } else {
            "HTTP/1.1 201 Made\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n".to_owned()
        };
        answer.into_bytes()
    });
    let module = "return { { 'POST', '/a', function(request) return request:proxy('a') end },
        { 'POST', '/other', function(request) return request:proxy('a', { path = '/c' }) end } }";
    let gate = "[[route]]\nprefix = \"/\"\nmethods = [\"POST\"]\nmodule = \"gate\"\n";
    let config = format!("{gate}{}[pages]\napp = \"app\"\n", all_to(&[address], "cache = {}"));
    let plan = Plan::new().argument("--schedulers=1").config(&config);
    plan.directory.write("app/gate.lua", module);
    let server = plan.start();
    let hits = || ["/a", "/b", "/c", "/d"].map(|path| ask(&server, path, "").1.contains("; hit"));
    let post = |path: &str| {
        let answer =
            exchange(&server, &(get(path, "Content-Length: 1\r\n").replace("GET", "POST") + "x"));
        assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");
    };
    assert_eq!(hits(), [false; 4]);
    post("/a");
    assert_eq!(hits(), [false, false, true, true]);
    // The path that the module asks for has changed, too.
    post("/other");
    assert_eq!(hits(), [true, false, false, true]);
}

#[test]
fn a_change_is_known_to_all_schedulers() {
    let (address, _heard) = counting(FRESH);
    let server =
        Plan::new().argument("--schedulers=2").config(&all_to(&[address], "cache = {}")).start();
    // Both have an answer once many connections in a row have met one.
    let is_hit = || ask(&server, "/", "").1.contains("; hit");
    until("hits on both", || (0..20).all(|_| is_hit()).then_some(()));
    let last: usize = (0..20).map(|_| ask(&server, "/", "").0.parse().unwrap()).max().unwrap();
    exchange(&server, &get("/", "Content-Length: 0\r\n").replace("GET", "POST"));
    let is_new = || ask(&server, "/", "").0.parse::<usize>().unwrap() > last;
    until("new answers on both", || (0..20).all(|_| is_new()).then_some(()));
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
    assert_eq!(server.told("/cache")["stored"], 0);
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
