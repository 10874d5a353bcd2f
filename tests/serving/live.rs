//! Goal: an operator sees what every scheduler, connection, page and channel is doing, and may end one of them. Method:
//! `GET /live`, `GET /info` and `POST /kill` on the control socket, next to clients whose deeds are known.

use std::os::unix::fs::PermissionsExt;

use conformance::RequestKind;
use serde_json::Value;

use crate::server::channel::{self, websocket};
use crate::server::client::{Client, End, text};
use crate::server::patience::until;
use crate::server::{Plan, Server, errors_of, printed_by};

fn ask(server: &Server, method: &str, path: &str, body: &str) -> (u16, String) {
    let mut client = Client::connect_unix(&server.plan.socket()).unwrap();
    let length = body.len();
    client
        .send(format!(
            "{method} {path} HTTP/1.1\r\nHost: control\r\nContent-Length: {length}\r\n\r\n{body}"
        ))
        .unwrap();
    let answer = client.response(RequestKind::of_method(Some("GET"))).unwrap();
    (answer.status, text(&answer).to_owned())
}

fn live(server: &Server, query: &str) -> Value {
    let (status, body) = ask(server, "GET", &format!("/live?{query}"), "");
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(&body).unwrap()
}

fn rows(server: &Server, query: &str) -> Vec<Value> {
    live(server, query)["list"]["rows"].as_array().unwrap().clone()
}

/// The row with this value in a column, once there is one.
fn row(server: &Server, query: &str, key: &str, value: &str) -> Value {
    until("the row", || rows(server, query).into_iter().find(|row| row["values"][key] == value))
}

#[test]
fn requests_are_counted_and_timed_by_route_page_and_class() {
    let config = "[[route]]\nprefix = \"/api/\"\nrespond = { body = \"api\" }\n";
    let server = Plan::new()
        .config(config)
        .file("a.txt", "a\n")
        .file("p.page.txt", "<%= 1 + 1 %>")
        .argument("--schedulers=2")
        .start();
    let mut clients = [server.client(), server.client(), server.client()];
    for number in 0..60 {
        let client = &mut clients[number % 3];
        let path = ["/a.txt", "/api/x", "/p.txt", "/none"][number % 4];
        client.get(path).unwrap();
    }
    let shown = live(&server, "list=routes");
    let counts = |of: &str| -> Vec<(String, u64)> {
        let all = shown["latencies"].as_array().unwrap().iter().filter(|it| it["of"] == of);
        all.map(|it| {
            let buckets = it["times"]["buckets"].as_array().unwrap();
            let count = buckets.iter().map(|bucket| bucket[1].as_u64().unwrap()).sum();
            (it["name"].as_str().unwrap().to_owned(), count)
        })
        .collect()
    };
    let told = |name: &str, count| (name.to_owned(), count);
    assert_eq!(counts("class"), [told("2xx", 45), told("4xx", 15)]);
    assert_eq!(counts("route"), [told("(files)", 45), told("/api/", 15)]);
    let pages = counts("page");
    assert!(
        pages.len() == 1 && pages[0].0.ends_with("/p.page.txt") && pages[0].1 == 15,
        "{pages:?}"
    );
    let rows = shown["list"]["rows"].as_array().unwrap();
    assert_eq!(
        (&rows[0]["values"]["requests"], &rows[0]["values"]["4xx"]),
        (&45.into(), &15.into())
    );
    let longest = rows[0]["values"]["max_us"].as_u64().unwrap();
    assert!((1..60_000_000).contains(&longest), "{longest} us");
}

#[test]
fn the_accounts_of_a_scheduler_add_up_to_the_time_that_passed() {
    let server = Plan::new()
        .file("a.txt", "a\n")
        .file("p.page.txt", "<% local x; for i = 1, 200000 do x = i % 7 end %>")
        .argument("--schedulers=1")
        .start();
    let shown = until("pages to have run", || {
        server.get("/p.txt");
        server.get("/a.txt");
        let shown = live(&server, "");
        let scheduler = shown["schedulers"][0].clone();
        (scheduler["accounts_us"]["page"].as_u64()? > 2_000).then_some(scheduler)
    });
    let accounts = shown["accounts_us"].as_object().unwrap();
    let sum: u64 = accounts.values().map(|us| us.as_u64().unwrap()).sum();
    let wall = shown["wall_us"].as_u64().unwrap();
    assert!(sum.abs_diff(wall) * 100 <= wall, "{sum} of {wall} us: {accounts:?}");
    assert!(accounts["wait"].as_u64().unwrap() > 0, "{accounts:?}");
}

#[test]
fn a_connection_is_listed_looked_at_and_ended() {
    let server = Plan::new().file("a.txt", "some text\n").argument("--schedulers=2").start();
    let mut client = server.client();
    client.get("/a.txt").unwrap();
    // The use of each connection is counted from the first question on.
    let seen = row(&server, "list=connections", "kind", "http");
    client.get("/a.txt").unwrap();
    let id = seen["id"].as_str().unwrap();
    let used = until("its use to be counted", || {
        let row = rows(&server, "list=connections").into_iter().find(|row| row["id"] == id)?;
        (row["values"]["sent_bytes"].as_u64()? > 0).then_some(row)
    });
    assert_eq!(
        (&used["values"]["requests"], &used["values"]["encrypted"]),
        (&2.into(), &"no".into())
    );
    assert!(used["values"]["received_bytes"].as_u64().unwrap() > 10, "{used}");
    let (status, info) = ask(&server, "GET", &format!("/info?id={id}"), "");
    assert!(
        status == 200 && info.contains("\"connection\"") && info.contains("127.0.0.1"),
        "{info}"
    );
    assert_eq!(ask(&server, "POST", "/kill", id).0, 200);
    let (_, end) = client.rest().unwrap();
    assert!(matches!(end, End::Closed | End::Reset), "{end:?}");
    until("it to be gone", || (ask(&server, "POST", "/kill", id).0 == 404).then_some(()));
    for wrong in ["", "c-0-99999999", "c-9-1", "x-0-1", "p-0-r1"] {
        assert_eq!(ask(&server, "POST", "/kill", wrong).0, 404, "{wrong}");
    }
    assert_eq!(server.get("/a.txt").status, 200);
}

#[test]
fn a_page_that_waits_is_listed_with_its_line_and_ended() {
    let page =
        "<% for number = 1, 3e7 do end\nlocal function rest()\n  sleep(600)\nend\nrest()\n%>";
    let server = Plan::new().file("w.page.txt", page).argument("--schedulers=1").start();
    let mut client = server.client();
    client.send("GET /w.txt HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let waits = row(&server, "list=processes", "waits_for", "time (sleep)");
    assert_eq!(waits["values"]["page"], "w.page.txt");
    assert!(waits["values"]["cpu_us"].as_u64().unwrap() > 0, "{waits}");
    let id = waits["id"].as_str().unwrap();
    let (_, info) = ask(&server, "GET", &format!("/info?id={id}"), "");
    assert!(info.contains("w.page.txt:3") && info.contains("w.page.txt:5"), "{info}");
    assert_eq!(ask(&server, "POST", "/kill", id).0, 200);
    let answer = client.response(RequestKind::of_method(Some("GET"))).unwrap();
    assert_eq!(answer.status, 503);
    until("it to be gone", || rows(&server, "list=processes").is_empty().then_some(()));
}

#[test]
fn commands_of_redis_clients_are_timed() {
    let plan = Plan::new().argument("--listen-resp=127.0.0.1:0").argument("--schedulers=1");
    let store = plan.directory.join("store").display().to_string();
    let server = plan.argument(&format!("--store={store}")).start();
    let mut client = channel::connect(channel::resp(&server));
    for _ in 0..3 {
        channel::say(&mut client, b"SET a 1\r\n", b"+OK\r\n");
        channel::say(&mut client, b"GET a\r\nGET b\r\n", b"$-1\r\n");
        channel::say(&mut client, b"PING\r\n", b"+PONG\r\n");
    }
    let shown = live(&server, "");
    let told = shown["latencies"].as_array().unwrap().iter().filter(|it| it["of"] == "command");
    let count = |it: &Value| -> u64 {
        let buckets = it["times"]["buckets"].as_array().unwrap();
        buckets.iter().map(|bucket| bucket[1].as_u64().unwrap()).sum()
    };
    let counts: Vec<_> = told.map(|it| (it["name"].as_str().unwrap(), count(it))).collect();
    // Uses of keys are counted from the first question on.
    assert!(rows(&server, "list=keys").is_empty());
    for key in ["a", "a", "b", "a"] {
        channel::say(&mut client, format!("STRLEN {key}\r\n").as_bytes(), b"\r\n");
    }
    assert_eq!(row(&server, "list=keys", "key", "a")["values"]["uses"], 3);
    assert_eq!(counts, [("get", 6), ("ping", 3), ("set", 3)]);
}

#[test]
fn every_use_of_a_key_is_counted_whoever_uses_it() {
    let page = "<% store.put('p', 1) store.get('p') store.transaction(function(t) t:put('q', 1) t:put('p', 2) end) \
        store.database('cards'):add('n', 1) %>";
    let plan = Plan::new()
        .file("page.page.txt", page)
        .config("[store]\npath = \"../store\"\ndatabases = [\"cards\"]\n");
    let server = plan.argument("--listen-resp=127.0.0.1:0").argument("--schedulers=1").start();
    assert!(rows(&server, "list=keys").is_empty());
    assert_eq!(server.get("/page").status, 200);
    let mut client = channel::connect(channel::resp(&server));
    channel::say(&mut client, b"MGET x y\r\n", b"$-1\r\n");
    channel::say(&mut client, b"MSET x 1 y 2\r\nDEL a y\r\n", b"+OK\r\n:1\r\n");
    let keys = until("all keys", || {
        let keys = rows(&server, "list=keys");
        (keys.len() == 6).then_some(keys)
    });
    let told = |row: &Value| {
        let value = |key: &str| row["values"][key].clone();
        (value("key"), value("database"), value("uses"))
    };
    let mut told: Vec<_> = keys.iter().map(told).map(|it| format!("{it:?}")).collect();
    told.sort();
    let expected = [
        ("a", "0", 1),
        ("n", "cards", 1),
        ("p", "0", 3),
        ("q", "0", 1),
        ("x", "0", 2),
        ("y", "0", 3),
    ];
    let expected = expected.map(|(key, database, uses)| {
        format!("{:?}", (Value::from(key), Value::from(database), Value::from(uses)))
    });
    assert_eq!(told, expected);
}

#[test]
fn channels_are_listed_with_their_subscribers_and_messages() {
    let config = "[[channel]]\npattern = \"news\"\npublish = \"open\"\nhistory = 10\n";
    let server = Plan::new().config(config).argument("--schedulers=2").start();
    let _subscribers = [websocket(&server, "/channels/news"), websocket(&server, "/channels/news")];
    for number in 0..3 {
        assert_eq!(channel::post(&server, "/channels/news", format!("{number}").as_bytes()), 200);
    }
    let news = until("both to be counted", || {
        let row = rows(&server, "list=channels").into_iter().find(|row| row["id"] == "n-news")?;
        (row["values"]["subscribers"] == 2).then_some(row)
    });
    assert_eq!((&news["values"]["published"], &news["values"]["kept"]), (&3.into(), &3.into()));
}

#[test]
fn a_channel_is_found_by_its_whole_name_among_those_that_contain_it() {
    let plan = Plan::new().argument("--schedulers=1").argument("--listen-resp=127.0.0.1:0");
    let server = plan.config("[[channel]]\npattern = \"*\"\n").start();
    let mut subscriber = channel::connect(channel::resp(&server));
    let others = (0..server::limits::LIVE_ROWS_MAX).map(|number| format!("a{number}news "));
    let others = format!("SUBSCRIBE {}\r\n", others.collect::<String>().trim_end());
    channel::say(&mut subscriber, others.as_bytes(), b":1000\r\n");
    let mut another = channel::connect(channel::resp(&server));
    channel::say(&mut another, b"SUBSCRIBE news\r\n", b":1\r\n");
    let (status, info) = ask(&server, "GET", "/info?id=n-news", "");
    assert!(status == 200 && info.contains("\"n-news\""), "{status} {info}");
}

#[test]
fn names_of_others_do_not_control_the_terminal_of_ctl() {
    let plan = Plan::new().argument("--schedulers=1").argument("--listen-resp=127.0.0.1:0");
    let server = plan.config("[[channel]]\npattern = \"*\"\n").start();
    let mut subscriber = channel::connect(channel::resp(&server));
    channel::say(&mut subscriber, "SUBSCRIBE a\u{202e}b\r\n".as_bytes(), b":1\r\n");
    let info = printed_by(&server.ctl(&["info", "n-a\u{202e}b"]));
    assert!(info.contains(r"a\u{202e}b") && !info.contains('\u{202e}'), "{info}");
    let dump = printed_by(&server.ctl(&["dump"]));
    assert!(dump.contains(r"a\u202eb") && !dump.contains('\u{202e}'), "{dump}");
    let told = errors_of(&server.ctl(&["kill", "n-a\u{202e}b"]));
    assert!(told.contains("a channel cannot be ended"), "{told}");
}

#[test]
fn a_dump_has_every_part_and_quit_leaves_one() {
    let mut server = Plan::new().file("a.txt", "a\n").argument("--schedulers=1").start();
    server.get("/a.txt");
    let printed = printed_by(&server.ctl(&["dump"]));
    let complete = |text: &str, reason: &str| {
        let told: Value = serde_json::from_str(text).unwrap();
        assert_eq!(told["reason"], reason);
        assert_eq!(told["status"]["state"], "serving");
        assert!(told["memory"]["by_owner_bytes"].is_object(), "{}", told["memory"]);
        assert!(told["lists"]["connections"]["rows"].is_array(), "{}", told["lists"]);
        assert!(told["live"]["schedulers"][0]["answers"] == true, "{}", told["live"]);
    };
    complete(&printed, "ctl dump");
    let kept = server.directory().join("dump.json");
    assert!(server.ctl(&["dump", "-o", kept.to_str().unwrap()]).status.success());
    complete(&std::fs::read_to_string(&kept).unwrap(), "ctl dump");
    assert_eq!(std::fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o600);
    let printed = printed_by(&server.ctl(&["memory"]));
    assert!(printed.contains("without_owner_bytes"), "{printed}");
    let file = server.plan.socket().with_extension("dump.json");
    server.signal("QUIT");
    assert!(server.wait().success());
    complete(&std::fs::read_to_string(file).unwrap(), "QUIT");
    // Nobody has anything to say then.
    let dump = server.ctl(&["dump"]);
    assert_eq!((dump.status.success(), dump.stdout.len()), (false, 0), "{dump:?}");
}
