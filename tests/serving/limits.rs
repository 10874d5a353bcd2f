//! Goal: each client gets what its limits say, whatever others do: 429 with the fields of the draft, delays, open
//! requests, bytes, keys of every kind; over schedulers within the stated error; and forged addresses cost no memory
//! and no honest client its limit. Method: the built binary, raw clients, and a proxy's fields for addresses.

use std::fmt::Write as _;
use std::io::Write;
use std::time::{Duration, Instant};

use conformance::{ParsedResponse, RequestKind};

use crate::server::client::{Client, field, head, text};
use crate::server::patience::until;
use crate::server::upstreams::{self, OK, all_to, by_hand, connect, next, read_to};
use crate::server::{Plan, Server, configuration};

const TRUSTED: &str = "trusted_proxies = [\"127.0.0.1\"]\n";

fn start(limits: &str, schedulers: usize) -> Server {
    let plan = Plan::new();
    plan.directory.write("run/api.txt", "0123456789abcdef0123456789abcdef\n");
    plan.config(&format!("{TRUSTED}{limits}"))
        .argument(&format!("--schedulers={schedulers}"))
        .file("a.txt", "four")
        .file("b.txt", vec![b'b'; 100_000])
        .file("slow.page.txt", "<% sleep(30) %>")
        .file("take.page.txt", TAKE)
        .start()
}

const TAKE: &str = "<% local fine, wait = limit.take('pages', request.query.key) %>\
    <%= fine and 'yes' or 'no' %> <%= wait > 0 %>";

fn from(client: &mut Client, path: &str, address: &str) -> ParsedResponse {
    client.request("GET", path, &[("X-Forwarded-For", address)]).unwrap()
}

fn statuses(server: &Server, path: &str, fields: &[(&str, &str)], count: usize) -> Vec<u16> {
    let mut client = server.client();
    (0..count).map(|_| client.request("GET", path, fields).unwrap().status).collect()
}

#[test]
fn request_over_limit_is_refused_with_ratelimit_fields() {
    let server = start("[[limit]]\nname = \"few\"\nrequests = \"10/h\"\nburst = 3\n", 1);
    let mut client = server.client();
    for _ in 0..3 {
        let response = client.get("/a.txt").unwrap();
        assert_eq!((response.status, response.field("ratelimit")), (200, None));
    }
    for _ in 0..4 {
        // A refused one is not counted, so the wait does not grow.
        let refused = client.get("/a.txt").unwrap();
        assert_eq!(refused.status, 429);
        let wait: u64 = field(&refused, "Retry-After").parse().unwrap();
        assert!((350..=360).contains(&wait), "{wait}");
        assert_eq!(field(&refused, "RateLimit-Policy"), "\"few\";q=3;w=1080");
        assert_eq!(field(&refused, "RateLimit"), format!("\"few\";r=0;t={wait}"));
    }
    let status = server.told("/status");
    assert_eq!(
        status["limits"],
        serde_json::json!([{ "name": "few", "refused": 4, "delayed": 0, "forgotten": 0 }])
    );
    server.reaches("/limit_refusals/few", 4);
}

#[test]
fn clients_are_told_apart_by_what_the_limit_says() {
    let one = |by: &str| format!("[[limit]]\nname = \"one\"\nby = \"{by}\"\nrequests = \"1/d\"\n");
    let server = start(&one("address"), 1);
    let mut client = server.client();
    for (address, status) in [
        ("192.0.2.1", 200),
        ("192.0.2.1", 429),
        ("192.0.2.2", 200),
        ("2001:db8:0:1::1", 200),
        ("2001:db8:0:1:ffff::2", 429),
        ("2001:db8:0:2::1", 200),
        ("::ffff:192.0.2.1", 429),
        // Addresses that a stranger writes before its own change nothing.
        ("9.9.9.9, 192.0.2.2", 429),
    ] {
        assert_eq!(from(&mut client, "/a.txt", address).status, status, "{address}");
    }
    let server = start(&one("field:X-API-Key"), 1);
    let key = |value| statuses(&server, "/a.txt", &[("x-api-key", value)], 2);
    assert_eq!([key("a"), key("b"), key("a")], [[200, 429], [200, 429], [429, 429]]);
    assert_eq!(statuses(&server, "/a.txt", &[], 2), [200, 429]);
    let server = start(&one("cookie:s"), 1);
    let cookie = |value| statuses(&server, "/a.txt", &[("Cookie", value)], 2);
    assert_eq!(
        [cookie("t=1; s=a"), cookie("ss=2; s=b"), cookie("s=a")],
        [[200, 429], [200, 429], [429, 429]]
    );
    let server = start(&one("path"), 1);
    assert_eq!(statuses(&server, "/a.txt", &[], 2), [200, 429]);
    assert_eq!(statuses(&server, "/b.txt", &[], 2), [200, 429]);
    assert_eq!(statuses(&server, "/%61.txt", &[], 1), [429], "the same path");
}

#[test]
fn users_have_limits_of_their_own_and_addresses_protect_passwords() {
    let access = "access = [{ token = \"any\" }]\n[channels]\napi_keys = \"run/api.txt\"\n";
    let limits = "[[limit]]\nname = \"user\"\nby = \"user\"\nrequests = \"1/d\"\n\
        [[limit]]\nname = \"address\"\nrequests = \"1/d\"\nburst = 5\n";
    let server = start(&format!("{access}{limits}"), 1);
    assert_eq!(statuses(&server, "/a.txt", &[], 2), [401, 401], "no user yet");
    let key = [("Authorization", "Bearer 0123456789abcdef0123456789abcdef")];
    assert_eq!(statuses(&server, "/a.txt", &key, 2), [200, 429]);
    // A key has no user: it counts for its address, and one client does not use up that of all others.
    let elsewhere = [key[0], ("X-Forwarded-For", "192.0.2.1")];
    assert_eq!(statuses(&server, "/a.txt", &elsewhere, 2), [200, 429]);
    assert_eq!(statuses(&server, "/a.txt", &[], 2), [401, 429], "five of the address are used");
}

#[test]
fn only_paths_and_methods_of_a_limit_count() {
    let limit = "[[limit]]\nname = \"some\"\nrequests = \"1/d\"\npaths = [\"/x/**\", \"/a.txt\"]\nmethods = \
                 [\"GET\", \"POST\"]\n";
    let server = start(limit, 1);
    assert_eq!(statuses(&server, "/b.txt", &[], 3), [200; 3]);
    assert_eq!(server.request("OPTIONS", "/a.txt", &[]).status, 204);
    // GET includes HEAD, as in routes.
    assert_eq!(server.request("HEAD", "/a.txt", &[]).status, 200);
    assert_eq!(statuses(&server, "/a.txt", &[], 2), [429, 429]);
    assert_eq!(statuses(&server, "/x/y", &[], 1), [429]);
    assert_eq!(server.request("OPTIONS", "/a.txt", &[]).status, 204);
}

#[test]
fn a_request_that_one_limit_refuses_is_counted_by_none() {
    let limits = "[[limit]]\nname = \"all\"\nrequests = \"1/d\"\nburst = 5\n\
        [[limit]]\nname = \"b\"\nrequests = \"1/d\"\npaths = [\"/b.txt\"]\n";
    let server = start(limits, 1);
    assert_eq!(statuses(&server, "/b.txt", &[], 4), [200, 429, 429, 429]);
    assert_eq!(statuses(&server, "/a.txt", &[], 5), [200, 200, 200, 200, 429]);
}

#[test]
fn a_body_of_a_refused_request_is_not_asked_for() {
    let server = start("[[limit]]\nname = \"one\"\nrequests = \"1/d\"\n", 1);
    assert_eq!(server.get("/a.txt").status, 200);
    let mut client = server.client();
    let fields = [("Content-Length", "10"), ("Expect", "100-continue")];
    client.send(head("POST", "/take", &fields)).unwrap();
    let (answer, _) = client.rest().unwrap();
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.starts_with("HTTP/1.1 429 "), "{answer}");
}

#[test]
fn dropped_requests_have_ended() {
    let config =
        "[[limit]]\nname = \"open\"\nopen = 2\n[[route]]\nprefix = \"/scan\"\ndrop = true\n";
    let server = start(config, 1);
    for _ in 0..5 {
        let mut client = server.client();
        client.send(head("GET", "/scan/x", &[])).unwrap();
        assert_eq!(client.rest().unwrap().0, b"");
    }
    assert_eq!(statuses(&server, "/a.txt", &[], 3), [200; 3]);
}

#[test]
fn a_limit_that_a_reload_adds_limits_every_client() {
    let server = start("", 1);
    assert_eq!(server.get("/a.txt").status, 200);
    let limit = "[[limit]]\nname = \"all\"\nrequests = \"1/d\"\n";
    server.directory().write("velodrome.toml", configuration(&format!("{TRUSTED}{limit}")));
    assert!(server.ctl(&["reload"]).status.success());
    let mut client = server.client();
    for expected in [200, 429] {
        for number in 1..=12 {
            let response = from(&mut client, "/a.txt", &format!("192.0.2.{number}"));
            assert_eq!(response.status, expected, "{number}");
        }
    }
}

#[test]
fn a_delay_makes_requests_wait_and_is_bounded() {
    let limit = "[[limit]]\nname = \"slow\"\nrequests = \"5/s\"\nburst = 1\ndelay = \"250ms\"\n";
    let server = start(limit, 1);
    let (mut client, mut other) = (server.client(), server.client());
    let begun = Instant::now();
    assert_eq!(client.get("/a.txt").unwrap().status, 200);
    client.send(head("GET", "/a.txt", &[])).unwrap();
    server.reaches("/limit_delays/slow", 1);
    assert_eq!(other.get("/a.txt").unwrap().status, 429, "it would have to wait too long");
    let delayed = client.response(RequestKind::of_method(Some("GET"))).unwrap();
    assert_eq!((delayed.status, text(&delayed)), (200, "four"));
    // The time of a turn is read at its begin, a moment before a request is looked at.
    assert!(begun.elapsed() >= Duration::from_millis(190), "{:?}", begun.elapsed());
    // One that waits and goes away leaves nothing behind.
    until("a delay", || {
        let mut gone = server.client();
        gone.send(head("GET", "/a.txt", &[])).unwrap();
        (server.count("/limit_delays/slow") > 1).then_some(())
    });
    until("an answer", || (server.get("/a.txt").status == 200).then_some(()));
}

#[test]
fn open_requests_are_counted_until_they_end() {
    let server =
        start("[[limit]]\nname = \"open\"\nopen = 2\npaths = [\"/slow\", \"/a.txt\"]\n", 1);
    let mut slow: Vec<_> = (0..2).map(|_| server.client()).collect();
    for client in &mut slow {
        client.send(head("GET", "/slow", &[])).unwrap();
    }
    until("both to wait", || (server.get("/a.txt").status == 429).then_some(()));
    let refused = server.get("/slow");
    assert_eq!(field(&refused, "RateLimit-Policy"), "\"open\";q=2;qu=\"concurrent-requests\"");
    assert_eq!(field(&refused, "Retry-After"), "1");
    drop(slow.pop());
    until("one to end", || (server.get("/a.txt").status == 200).then_some(()));
    // Each answered one ends.
    assert_eq!(statuses(&server, "/a.txt", &[], 20), [200; 20]);
}

#[test]
fn an_open_request_ends_with_its_client_or_its_refusal_while_the_body_arrives() {
    let server =
        start("[[limit]]\nname = \"open\"\nopen = 1\npaths = [\"/slow\", \"/a.txt\"]\n", 1);
    let mut client = server.client();
    client.send("POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nsome").unwrap();
    until("it to be open", || (server.get("/a.txt").status == 429).then_some(()));
    drop(client);
    until("it to end", || (server.get("/a.txt").status == 200).then_some(()));
}

#[test]
fn bytes_that_were_used_are_owed() {
    let limit = "[[limit]]\nname = \"bytes\"\nbytes = \"1 KiB/s\"\nburst = \"50 KiB\"\n";
    let server = start(limit, 1);
    // The size is known afterwards, so one may use more than the burst.
    assert_eq!(statuses(&server, "/a.txt", &[], 5), [200; 5]);
    assert_eq!(statuses(&server, "/b.txt", &[], 2), [200, 429]);
    let refused = server.get("/a.txt");
    let wait: u64 = field(&refused, "Retry-After").parse().unwrap();
    assert!((40..=49).contains(&wait), "{wait}");
    assert!(field(&refused, "RateLimit-Policy").contains("qu=\"content-bytes\""));
}

#[test]
fn a_body_is_counted_whatever_becomes_of_its_request() {
    let limit = "[[limit]]\nname = \"bytes\"\nbytes = \"1 KiB/h\"\nburst = \"50 KiB\"\n";
    let (backend, connections) = by_hand();
    let own = "[[route]]\npath = \"/own\"\njson = 1\n";
    let config = format!("{limit}{own}{}", all_to(&[backend], ""));
    let body = "x".repeat(60_000);
    let post = "POST / HTTP/1.1\r\nHost: a\r\n";
    let cases = [
        // Whole, half of it announced, and in chunks. Then the client leaves, or goes on with what is no chunk.
        (format!("{post}Content-Length: 60000\r\n\r\n{body}"), ""),
        (format!("{post}Content-Length: 120000\r\n\r\n{body}"), ""),
        (format!("{post}Transfer-Encoding: chunked\r\n\r\nEA60\r\n{body}\r\n"), ""),
        (format!("{post}Transfer-Encoding: chunked\r\n\r\nEA60\r\n{body}\r\n"), "ZZ\r\n"),
        // The whole request is answered.
        (format!("{post}Transfer-Encoding: chunked\r\n\r\nEA60\r\n{body}\r\n"), "0\r\n\r\n"),
    ];
    for (text, then) in cases {
        let server = upstreams::start(&config);
        let mut client = connect(&server);
        client.write_all(text.as_bytes()).unwrap();
        let mut passed_on = next(&connections);
        read_to(&mut passed_on, &body);
        if then.is_empty() {
            drop(client);
        } else {
            client.write_all(then.as_bytes()).unwrap();
            if then.starts_with('0') {
                passed_on.write_all(OK.as_bytes()).unwrap();
            }
            read_to(&mut client, "\r\n\r\n");
        }
        until("it to be counted", || (server.get("/own").status == 429).then_some(()));
    }
}

#[test]
fn pages_take_limits_by_keys_of_their_own() {
    let limit = "[[limit]]\nname = \"pages\"\nby = \"pages\"\nrequests = \"1/d\"\nburst = 2\n";
    let server = start(limit, 1);
    let take = |key: &str| text(&server.get(&format!("/take?key={key}"))).to_owned();
    assert_eq!([take("a"), take("a"), take("a")], ["yes false", "yes false", "no true"]);
    assert_eq!(take("b"), "yes false");
    let server = start("", 1);
    assert_eq!(server.get("/take?key=a").status, 500, "there is no such limit");
}

#[test]
fn schedulers_share_limits_and_a_reload_keeps_what_was_used() {
    let limit = "[[limit]]\nname = \"all\"\nrequests = \"1/d\"\nburst = 20\n";
    let server = start(limit, 4);
    let mut allowed = 0;
    for _ in 0..60 {
        // Each on a connection of its own, so on any scheduler; one after the other, so in turns of its own.
        let status = server.get("/a.txt").status;
        allowed += usize::from(status == 200);
    }
    // At most a few uses are on their way between schedulers when the next request comes.
    assert!((20..=23).contains(&allowed), "{allowed}");
    assert!(server.ctl(&["reload"]).status.success());
    let statuses: Vec<u16> = (0..12).map(|_| server.get("/a.txt").status).collect();
    assert_eq!(statuses, [429; 12]);
}

/// A stranger that claims a million addresses (here through a proxy that believes it).
#[test]
fn many_forged_addresses_take_no_memory_and_no_honest_client_its_limit() {
    // Six times as many as there are keys.
    const FORGED: u32 = 100_000;
    const BATCH: u32 = 500;
    let limit =
        "[[limit]]\nname = \"each\"\nrequests = \"1/d\"\nburst = 3\n[limits]\nlimit_keys = 16384\n";
    let server = start(limit, 1);
    let mut client = server.client();
    let mut honest = server.client();
    for expected in [200, 200] {
        assert_eq!(from(&mut honest, "/a.txt", "192.0.2.1").status, expected);
    }
    for _ in 0..3 {
        assert_eq!(from(&mut honest, "/a.txt", "192.0.2.2").status, 200);
    }
    let resident = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    let before = resident();
    for batch in 0..FORGED / BATCH {
        crowd(&mut client, batch * BATCH..(batch + 1) * BATCH);
    }
    // A table of 256 KiB, the file cache and the counters: nothing that grows with addresses.
    let grown_kib = resident().saturating_sub(before);
    assert!(grown_kib < 16 * 1024, "{grown_kib} KiB");
    assert_eq!(from(&mut honest, "/a.txt", "192.0.2.2").status, 429, "its uses are still known");
    assert_eq!(from(&mut honest, "/a.txt", "192.0.2.1").status, 200, "one is left of three");
    let forgotten = server.count("/limit_forgotten/each");
    assert!((80_000..100_000).contains(&forgotten), "the operator sees it: {forgotten}");
}

/// One use of the first limit is given back later than all of the second.
#[test]
fn a_crowd_that_one_limit_knows_hides_no_client_from_another() {
    let login = "[[limit]]\nname = \"login\"\nrequests = \"1/d\"\npaths = [\"/a.txt\"]\n";
    let all = "[[limit]]\nname = \"everything\"\nrequests = \"1/h\"\nburst = 20\n";
    let server = start(&format!("{login}{all}[limits]\nlimit_keys = 1024\n"), 1);
    let (mut client, mut attacker) = (server.client(), server.client());
    let mut statuses = Vec::new();
    for batch in 0..20 {
        for _ in 0..2 {
            statuses.push(from(&mut attacker, "/b.txt", "192.0.2.1").status);
        }
        crowd(&mut client, batch * 500..(batch + 1) * 500);
    }
    let passed = statuses.iter().filter(|status| **status == 200).count();
    // In the beginning it has used as little as the crowd.
    assert!((20..=24).contains(&passed), "{statuses:?}");
    assert_eq!(statuses.last(), Some(&429));
}

/// Each of these addresses makes one request for `/a.txt`, which its limit allows.
fn crowd(client: &mut Client, addresses: std::ops::Range<u32>) {
    let mut requests = String::new();
    for number in addresses.clone() {
        let [a, b, c, d] = (0x0B00_0000 + number).to_be_bytes();
        write!(
            requests,
            "HEAD /a.txt HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: {a}.{b}.{c}.{d}\r\n\r\n"
        )
        .unwrap();
    }
    client.send(requests).unwrap();
    for _ in addresses {
        let response = client.response(RequestKind::of_method(Some("HEAD"))).unwrap();
        assert_eq!(response.status, 200, "each has its own limit");
    }
}
