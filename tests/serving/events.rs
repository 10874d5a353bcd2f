//! Goal: what goes wrong in a running server is named, with the page and line or the channel, in `ctl events` and in
//! `GET /live`, and a server without trouble names nothing. Method: troubles that pages and clients cause, planted one
//! after the other.

use conformance::RequestKind;
use serde_json::Value;

use crate::server::channel::{connect, resp, say};
use crate::server::patience::until;
use crate::server::{Plan, Server, printed_by};

/// Kinds that other programs of the machine can cause.
const OF_THE_MACHINE: &[&str] = &["silent", "starved", "timers_late", "long_turn", "long_slice"];

fn events(server: &Server) -> Vec<Value> {
    let printed = printed_by(&server.ctl(&["events", "--json"]));
    printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The first event of a kind, once there is one.
fn event(server: &Server, kind: &str) -> Value {
    until(&format!("an event {kind}"), || {
        events(server).into_iter().find(|event| event["kind"] == kind)
    })
}

fn text(event: &Value) -> &str {
    event["text"].as_str().unwrap()
}

#[test]
fn a_page_that_works_long_is_named_with_its_line_and_what_ended_it() {
    let page =
        "<%\nlocal function work()\n  local n = 0\n  while true do n = n + 1 end\nend\nwork()\n%>";
    let plan = Plan::new().argument("--schedulers=1");
    let server = plan.file("busy.page.txt", page).file("a.txt", "a").start();
    assert_eq!(server.get("/busy").status, 503);
    let long = event(&server, "much_cpu");
    assert!(text(&long).starts_with("busy.page.txt:4"), "{long}");
    assert!(long["cause"].to_string().contains("busy.page.txt:6"), "{long}");
    assert_eq!((&long["level"], &long["scheduler"]), (&"warning".into(), &0.into()));
    let ended = event(&server, "page_ended");
    assert!(text(&ended).contains("busy.page.txt:4 was ended (cpu_budget)"), "{ended}");
    let log = server.printed_errors();
    assert!(log.contains("warn: event much_cpu: scheduler 0: busy.page.txt:4"), "{log}");
    // Those who look at the server get the same.
    let live: Value = serde_json::from_slice(&control(&server, "/live")).unwrap();
    let kinds: Vec<&Value> =
        live["events"].as_array().unwrap().iter().map(|it| &it["kind"]).collect();
    assert!(kinds.contains(&&"much_cpu".into()), "{kinds:?}");
    let numbers: Vec<u64> =
        events(&server).iter().map(|it| it["number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>(), "without gaps");
}

fn control(server: &Server, path: &str) -> Vec<u8> {
    let mut client = crate::server::client::Client::connect_unix(&server.plan.socket()).unwrap();
    client.request("GET", path, &[]).unwrap().body
}

#[test]
fn a_process_whose_mailbox_is_full_and_a_slow_consumer_are_named() {
    let page = "<%\nlocal to = spawn(function()\n  sleep(60)\nend)\nfor _ = 1, 1100 do send(to, 'm') end\n%>";
    let plan = Plan::new().file("fill.page.txt", page).argument("--listen-resp=127.0.0.1:0");
    let server = plan.start();
    assert_eq!(server.get("/fill").status, 200);
    let full = event(&server, "page_mailbox");
    assert!(text(&full).contains("fill.page.txt:3"), "{full}");
    let (mut publisher, mut slow) = (connect(resp(&server)), connect(resp(&server)));
    say(&mut slow, b"SUBSCRIBE prices\r\n", b":1\r\n");
    let large = "x".repeat(60_000);
    until("the subscriber to be cut", || {
        let told = say(&mut publisher, format!("PUBLISH prices {large}\r\n").as_bytes(), b"\r\n");
        (told == b":0\r\n").then_some(())
    });
    let named = event(&server, "slow_consumer");
    assert!(text(&named).contains("the last of prices"), "{named}");
}

#[test]
fn a_server_without_trouble_names_nothing() {
    let server = Plan::new().file("a.txt", "a").file("a.page.txt", "a").start();
    for path in ["/a.txt", "/a", "/none"] {
        server.get(path);
    }
    // Each look asks for mail, so that this many have passed.
    until("some looks", || (server.count("/mail/received") > 5).then_some(()));
    let found = events(&server);
    let is_of_machine = |event: &&Value| OF_THE_MACHINE.iter().any(|kind| event["kind"] == *kind);
    assert_eq!(found.iter().find(|event| !is_of_machine(event)), None);
    let wrong = control(&server, "/events?since=3");
    assert_eq!(String::from_utf8_lossy(&wrong), "the query is `after=NUMBER`");
}

#[test]
fn a_slow_request_is_logged_with_where_its_time_went_and_others_are_not() {
    let page = "<% sleep(0.1) %>ok";
    let config = "[log]\nslow_log = \"100ms\"\n";
    let server = Plan::new().config(config).file("wait.page.txt", page).start();
    assert_eq!(server.get("/wait?secret=1").status, 200);
    let log = until("the line", || {
        let log = server.printed_errors();
        log.contains("slow request").then_some(log)
    });
    let line = log.lines().find(|line| line.contains("slow request")).unwrap();
    for words in [": GET /wait 200, route ", "rest "] {
        assert!(line.contains(words), "no `{words}` in {line}");
    }
    let milliseconds = |part: &str| -> f64 {
        let (_, rest) = line.split_once(part).unwrap_or_else(|| panic!("no `{part}` in {line}"));
        rest.split(',').next().unwrap().trim().parse().unwrap()
    };
    assert!(milliseconds(", waiting for time (sleep) ") > milliseconds(", page "), "{line}");
    assert!(!line.contains("secret"), "{line}");
}

#[test]
fn a_slow_request_that_its_client_has_given_up_is_logged_too() {
    let config = "[log]\nslow_log = \"1ms\"\n";
    let server = Plan::new().config(config).file("wait.page.txt", "<% sleep(20) %>").start();
    let mut client = server.client();
    client.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    until("the page to wait", || {
        let live: Value =
            serde_json::from_slice(&control(&server, "/live?list=processes")).unwrap();
        live["list"]["rows"].as_array().is_some_and(|rows| !rows.is_empty()).then_some(())
    });
    drop(client);
    let log = until("the line", || {
        let log = server.printed_errors();
        log.contains("slow request").then_some(log)
    });
    let line = log.lines().find(|line| line.contains("slow request")).unwrap();
    for words in [": GET /wait 499, route ", ", waiting for time (sleep) "] {
        assert!(line.contains(words), "no `{words}` in {line}");
    }
}

#[test]
fn ctl_shows_and_ends_one_page_under_way() {
    let page = "<%\nlocal function waits()\n  sleep(20)\nend\nwaits()\n%>";
    let server = Plan::new().file("wait.page.txt", page).start();
    let mut client = server.client();
    client.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let id = until("the page to wait", || {
        let live: Value =
            serde_json::from_slice(&control(&server, "/live?list=processes")).unwrap();
        live["list"]["rows"][0]["id"].as_str().map(str::to_owned)
    });
    let info = printed_by(&server.ctl(&["info", &id]));
    assert!(info.contains("wait.page.txt:3") && info.contains("time (sleep)"), "{info}");
    let ended = printed_by(&server.ctl(&["kill", &id]));
    assert!(ended.starts_with(&format!("ended {id}\n")), "{ended}");
    assert_eq!(client.response(RequestKind::Other).unwrap().status, 503);
    server.reaches("/pages/stopped", 1);
    assert_eq!(server.count("/pages/kills/deadline"), 0);
    let gone = server.ctl(&["info", &id]);
    assert!(crate::server::errors_of(&gone).contains(&format!("there is no `{id}` (any more)")));
}
