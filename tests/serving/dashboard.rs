//! Goal: somebody who opens the dashboard sees what the server does and can end what runs, and nobody else can. Method:
//! the page in Chromium with clicks and typing, and raw requests; without Chromium the tests of the page are skipped
//! and say so.

use std::io::{Read, Write};
use std::net::SocketAddr;

use conformance::RequestKind;
use serde_json::Value;

use crate::server::browser::Browser;
use crate::server::channel::websocket;
use crate::server::client::{Client, field, head, text};
use crate::server::patience::until;
use crate::server::{Plan, Server, free_address, has};

const KEY: &str = "a key of those who may look at it";

/// A server whose dashboard is at an address.
fn with_dashboard() -> (Server, SocketAddr) {
    let address = free_address();
    let config = format!(
        "[admin]\nlisten = \"{address}\"\nkeys = \"admin.keys\"\n[[channel]]\npattern = \"chat\"\n"
    );
    let plan = Plan::new().config(&config).file("a.txt", "a\n").argument("--schedulers=2");
    plan.directory.write("admin.keys", format!("{KEY}\n"));
    (plan.start(), address)
}

/// The dashboard in a browser that has shown the key.
fn open(server: &Server, address: SocketAddr) -> Browser {
    let mut browser = Browser::open(server.directory(), &format!("http://{address}/_velodrome/"));
    browser.click("#key");
    browser.write("a key that was made up by a stranger");
    browser.click("#entrance button");
    let refused =
        "document.getElementById('refused').textContent.includes('does not know this key')";
    browser.until("that the key is refused", refused);
    browser.click("#key");
    browser.write(KEY);
    browser.click("#entrance button");
    // Drawn, not only received: the browser decides when.
    browser.until("the first drawing", "document.getElementById('facts').textContent !== ''");
    browser
}

/// The picture that a chart shows.
const CHART: &str = "document.getElementById('requests').toDataURL()";

/// The kinds of the connections in the list, in the order of its rows.
fn kinds(browser: &mut Browser) -> Vec<String> {
    let script =
        "[...document.querySelectorAll('tbody td:nth-child(2)')].map((cell) => cell.textContent)";
    let texts = browser.value(script);
    texts.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_page_moves_sorts_and_ends_a_connection() {
    if !has("chromium", "the_page_moves_sorts_and_ends_a_connection") {
        return;
    }
    let (server, address) = with_dashboard();
    let mut browser = open(&server, address);
    let before = browser.value(CHART);
    until("requests in the tile and another chart", || {
        assert_eq!(server.get("/a.txt").status, 200);
        let told = browser.value("document.querySelector('#tiles strong').textContent");
        let has_some =
            told.as_str().unwrap().starts_with(|first: char| first.is_ascii_digit()) && told != "0";
        (has_some && browser.value(CHART) != before).then_some(())
    });
    let mut client = server.client();
    assert_eq!(client.get("/a.txt").unwrap().status, 200);
    let mut victim = websocket(&server, "/channels/chat");
    until("both in the list", || {
        let shown = kinds(&mut browser);
        ["http", "websocket"].iter().all(|kind| shown.iter().any(|it| it == kind)).then_some(())
    });
    for direction in ["ascending", "descending"] {
        browser.click("th[data-key=kind] button");
        let state = "document.querySelector('th[data-key=kind]').getAttribute('aria-sort')";
        assert_eq!(browser.value(state), direction);
        let shown = kinds(&mut browser);
        let is_in_order = |one: &String, next: &String| {
            if direction == "ascending" { one <= next } else { one >= next }
        };
        assert!(shown.len() >= 2 && shown.is_sorted_by(is_in_order), "{direction}: {shown:?}");
    }
    browser.click("#filter");
    browser.write("websocket");
    browser.until("one row", "document.querySelectorAll('tbody tr').length === 1");
    browser.click("tbody button.name");
    browser.until("its details", "document.querySelector('#details[open] dl')?.textContent");
    browser.click("#details button.close");
    browser.click("tbody button.end");
    browser.click("#end-it");
    let mut rest = Vec::new();
    // It is closed or reset: either way it has ended.
    let _how = victim.read_to_end(&mut rest);
    browser.until("that its row is gone", "document.querySelectorAll('tbody tr').length === 0");
    assert_eq!(client.get("/a.txt").unwrap().status, 200, "the other one is still there");
    let own = format!("http://{address}/");
    for url in browser.requested() {
        assert!(url.starts_with(&own) || url.starts_with("data:image/svg"), "{url}");
        assert!(!url.contains("key"), "{url}");
    }
    assert!(browser.troubles().is_empty(), "{:?}", browser.troubles());
}

#[test]
fn the_page_draws_a_trace() {
    if !has("chromium", "the_page_draws_a_trace") {
        return;
    }
    let (server, address) = with_dashboard();
    let mut browser = open(&server, address);
    browser.click("#trace-open");
    browser.value("document.getElementById('trace-pattern').value = '/a.txt'; true");
    browser.click("#trace-go");
    until("a sequence diagram", || {
        assert_eq!(server.get("/a.txt").status, 200);
        let actors = "[...document.querySelectorAll('#trace-diagram .actor')].map((actor) => \
                      actor.textContent).join()";
        browser.value(actors).as_str()?.contains("client,scheduler").then_some(())
    });
    browser.click("#trace-go");
    browser.until("its end", "document.getElementById('trace-go').textContent === 'Trace'");
    assert!(browser.troubles().is_empty(), "{:?}", browser.troubles());
}

#[test]
fn the_page_draws_a_profile() {
    if !has("chromium", "the_page_draws_a_profile") {
        return;
    }
    let address = free_address();
    let config =
        format!("profile_ring = \"1m\"\n[admin]\nlisten = \"{address}\"\nkeys = \"admin.keys\"\n");
    let page = "<%\nwhile true do end\n%>";
    let plan = Plan::new().config(&config).file("work.page.txt", page);
    plan.directory.write("admin.keys", format!("{KEY}\n"));
    let server = plan.start();
    if server.printed_errors().contains("no continuous profile") {
        println!("SKIPPED the_page_draws_a_profile: the kernel lets nobody sample");
        return;
    }
    let mut browser = open(&server, address);
    let drawn = "document.getElementById('flames').getAttribute('aria-label') ?? ''";
    assert_eq!(server.get("/work").status, 503, "its time is over");
    // The samples of the page are read within a second.
    browser.until("the button of an event", "document.querySelector('#event-list .profile')");
    browser.click("#event-list .profile");
    browser.until(
        "its title",
        "document.getElementById('profile-note').textContent.includes('the minute around event')",
    );
    until("the line of the page", || {
        browser.click("#profile-form button[type=submit]");
        let done = "document.getElementById('profile-note').textContent.includes('samples')";
        browser.until("a profile", done);
        browser.value(drawn).as_str()?.contains("page work.page.txt:2").then_some(())
    });
    assert!(browser.value(drawn).as_str().unwrap().starts_with("flame graph of "));
    browser.click("#profile-close");
    assert!(browser.troubles().is_empty(), "{:?}", browser.troubles());
}

#[test]
fn the_page_comes_back_when_the_server_was_started_again() {
    if !has("chromium", "the_page_comes_back_when_the_server_was_started_again") {
        return;
    }
    let (server, address) = with_dashboard();
    let mut browser = open(&server, address);
    let process =
        |browser: &mut Browser| browser.value("document.getElementById('facts').textContent");
    let first = process(&mut browser);
    assert!(first.as_str().unwrap().contains(&format!("process {}", server.id())), "{first}");
    let server = server.kill_and_restart();
    let script =
        format!("document.getElementById('facts').textContent.includes('process {}')", server.id());
    browser.until("the new process", &script);
    browser.until(
        "the event",
        "document.getElementById('event-list').textContent.includes('started again')",
    );
    browser.until("that it is live", "document.getElementById('connection').className === 'live'");
    assert!(browser.troubles().is_empty(), "{:?}", browser.troubles());
}

/// An answer to one request to the dashboard's address.
fn ask(
    address: SocketAddr,
    method: &str,
    path: &str,
    fields: &[(&str, &str)],
) -> conformance::ParsedResponse {
    let mut client = Client::connect(address).unwrap();
    client.send(head(method, path, &[fields, &[("Content-Length", "0")]].concat())).unwrap();
    client.response(RequestKind::of_method(Some(method))).unwrap()
}

#[test]
fn the_page_is_for_everybody_and_what_it_shows_for_those_with_a_key() {
    let (mut server, address) = with_dashboard();
    let page = ask(address, "GET", "/_velodrome/", &[]);
    assert_eq!((page.status, field(&page, "Cache-Control")), (200, "no-store"));
    assert_eq!(field(&page, "X-Frame-Options"), "DENY");
    let policy = field(&page, "Content-Security-Policy");
    for part in
        ["default-src 'none'; script-src 'sha256-", "connect-src 'self'", "frame-ancestors 'none'"]
    {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    assert!(!text(&page).contains(KEY) && !text(&page).contains(env!("CARGO_PKG_VERSION")));
    let led = ask(address, "GET", "/_velodrome", &[]);
    assert_eq!((led.status, field(&led, "Location")), (308, "/_velodrome/"));
    let site = server.get("/_velodrome/");
    assert_eq!(site.status, 404, "it is not part of the site");
    let bearer = format!("Bearer {KEY}");
    let known = ("Authorization", &*bearer);
    for (method, path) in [
        ("GET", "/_velodrome/events"),
        ("GET", "/live"),
        ("GET", "/info?id=c-0-0"),
        ("POST", "/kill"),
        ("POST", "/drain"),
        ("POST", "/profile?seconds=1"),
    ] {
        for fields in
            [&[][..], &[("Authorization", "Bearer none")], &[("Cookie", &*format!("key={KEY}"))]]
        {
            assert_eq!(
                ask(address, method, path, fields).status,
                401,
                "{method} {path} {fields:?}"
            );
        }
        let with_query = format!("{path}{}key={KEY}", if path.contains('?') { '&' } else { '?' })
            .replace(' ', "+");
        assert_eq!(ask(address, method, &with_query, &[]).status, 401, "{with_query}");
    }
    // A page of another site that knows the key, or whose browser does, can neither act nor read.
    for strange in [
        ("Origin", "https://elsewhere.example"),
        ("Sec-Fetch-Site", "cross-site"),
        ("Origin", "null"),
    ] {
        for path in ["/kill", "/drain", "/profile?seconds=1"] {
            assert_eq!(
                ask(address, "POST", path, &[known, strange]).status,
                403,
                "{path} {strange:?}"
            );
        }
        let read = ask(address, "GET", "/live", &[known, strange]);
        assert!(
            read.fields
                .iter()
                .all(|(name, _)| !name.to_ascii_lowercase().starts_with("access-control"))
        );
    }
    let preflight = [
        ("Origin", "https://elsewhere.example"),
        ("Access-Control-Request-Headers", "authorization"),
    ];
    let answer = ask(address, "OPTIONS", "/kill", &preflight);
    assert_eq!(answer.status, 401);
    assert!(server.is_running());
}

#[test]
fn a_name_that_others_have_led_to_this_machine_is_refused() {
    let (address, metrics) = (free_address(), free_address());
    let config = format!(
        "[admin]\nlisten = \"{address}\"\nkeys = \"admin.keys\"\nmetrics = \"{metrics}\"\n"
    );
    let plan = Plan::new().config(&config).file("a.txt", "a\n");
    plan.directory.write("admin.keys", format!("{KEY}\n"));
    let mut server = plan.start();
    let bearer = format!("Bearer {KEY}");
    let status = |to: Option<SocketAddr>, method: &str, path: &str, host: &str| {
        // For its browser the page of the other site is of the same origin.
        let origin = format!("http://{host}");
        let mut fields = vec![("Host", host), ("Content-Length", "0"), ("Authorization", &*bearer)];
        fields.push(("Sec-Fetch-Site", "same-origin"));
        if method == "POST" {
            fields.push(("Origin", &*origin));
        }
        let answer = match to {
            None => {
                Client::connect_unix(&server.plan.socket()).unwrap().request(method, path, &fields)
            }
            Some(to) => Client::connect(to).unwrap().request(method, path, &fields),
        };
        answer.unwrap().status
    };
    let foreign =
        ["evil.example", "evil.example:9443", "localhost.evil.example", "127.0.0.1.evil.example"];
    let own = ["127.0.0.1:9443", "[::1]", "localhost:9443", "LOCALHOST", "control"];
    for to in [None, Some(address)] {
        for (method, path) in
            [("POST", "/kill"), ("POST", "/drain"), ("GET", "/live"), ("GET", "/_velodrome/")]
        {
            for host in foreign {
                assert_eq!(status(to, method, path, host), 421, "{method} {path} {host}");
            }
        }
        for host in own {
            assert_eq!(status(to, "GET", "/live", host), 200, "{host}");
            assert_eq!(status(to, "POST", "/kill", host), 404, "{host}");
        }
    }
    assert_eq!(status(Some(metrics), "GET", "/metrics", "evil.example:9090"), 421);
    assert_eq!(status(Some(metrics), "GET", "/metrics", "127.0.0.1:9090"), 200);
    assert!(server.is_running());
}

/// The snapshots of an event stream, one after the other.
struct Snapshots<S>(Client<S>, String);

impl<S: Read + Write> Snapshots<S> {
    fn next(&mut self) -> Value {
        loop {
            if let Some((event, rest)) = self.1.split_once("\n\n") {
                let data =
                    event.lines().find_map(|line| line.strip_prefix("data: ")).map(str::to_owned);
                self.1 = rest.to_owned();
                match data {
                    Some(data) => return serde_json::from_str(&data).unwrap(),
                    None => continue,
                }
            }
            let mut piece = [0; 65536];
            let count = self.0.stream.read(&mut piece).unwrap();
            assert!(count > 0, "the stream ended behind {:?}", self.1);
            // HTTP/1.0: the body has no chunks.
            self.1 += str::from_utf8(&piece[..count]).unwrap();
        }
    }
}

#[test]
fn a_stream_has_one_snapshot_after_the_other_also_over_the_socket() {
    let (server, _) = with_dashboard();
    let mut client = Client::connect_unix(&server.plan.socket()).unwrap();
    client.send("GET /_velodrome/events?list=connections&sort=idle_ms HTTP/1.0\r\n\r\n").unwrap();
    let mut snapshots = Snapshots(client, String::new());
    let first = snapshots.next();
    assert_eq!(
        (&first["server"]["process"], &first["list"]["name"]),
        (&server.id().into(), &"connections".into())
    );
    let mut before = first;
    for _ in 0..3 {
        let next = snapshots.next();
        assert!(next["at_ms"].as_u64() > before["at_ms"].as_u64(), "{next}");
        before = next;
    }
    let mut client = Client::connect_unix(&server.plan.socket()).unwrap();
    let strange =
        "GET /_velodrome/events HTTP/1.1\r\nHost: a\r\nSec-Fetch-Site: cross-site\r\n\r\n";
    client.send(strange).unwrap();
    assert_eq!(client.response(RequestKind::of_method(Some("GET"))).unwrap().status, 403);
    let wrong = client.get("/_velodrome/events?list=dogs").unwrap();
    assert_eq!(wrong.status, 400);
    assert!(text(&wrong).contains("dogs"), "{}", text(&wrong));
}

#[test]
fn there_is_an_end_to_the_number_of_streams_and_one_that_ends_makes_room() {
    let (server, address) = with_dashboard();
    let request = format!(
        "GET /_velodrome/events HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {KEY}\r\n\r\n"
    );
    let open = || {
        let mut client = Client::connect(address).unwrap();
        client.send(&request).unwrap();
        let mut start = [0; 12];
        client.stream.read_exact(&mut start).unwrap();
        (client, String::from_utf8_lossy(&start).into_owned())
    };
    let mut streams: Vec<_> = (0..server::limits::DASHBOARD_STREAMS).map(|_| open()).collect();
    assert!(streams.iter().all(|(_, start)| start == "HTTP/1.1 200"), "{:?}", streams[0].1);
    assert_eq!(open().1, "HTTP/1.1 503");
    streams.pop();
    until("room for another", || (open().1 == "HTTP/1.1 200").then_some(()));
    assert_eq!(server.told("/status")["schedulers_answering"], 2);
}
