//! Goal: an operator sees how long messages of channels take, how long servers of upstreams and servers that pages
//! fetch from take, who is at the other end of a connection and since when, which channels lose messages, and when the
//! store last wrote. Method: `GET /live`, `/metrics` and `ctl info`, next to clients and servers whose deeds are known.

use serde_json::Value;

use crate::server::channel::{connect, post, resp, say, websocket};
use crate::server::client::{Client, text};
use crate::server::other::other;
use crate::server::patience::until;
use crate::server::{Plan, Server, printed_by};

fn control(server: &Server, path: &str) -> String {
    let mut client = Client::connect_unix(&server.plan.socket()).unwrap();
    text(&client.request("GET", path, &[]).unwrap()).to_owned()
}

fn live(server: &Server, query: &str) -> Value {
    serde_json::from_str(&control(server, &format!("/live?{query}"))).unwrap()
}

/// The row of this id, once it is as wanted.
fn row(server: &Server, list: &str, id: &str, is_it: impl Fn(&Value) -> bool) -> Value {
    until(&format!("the row {id}"), || {
        let rows = live(server, &format!("list={list}"))["list"]["rows"].take();
        let found = rows.as_array()?.iter().find(|row| row["id"] == id)?["values"].clone();
        is_it(&found).then_some(found)
    })
}

/// How many times were counted of one thing.
fn counted(server: &Server, of: &str, name: &str) -> u64 {
    let shown = live(server, "");
    let mut all = shown["latencies"].as_array().unwrap().iter();
    let found = all.find(|it| it["of"] == of && it["name"] == name);
    let buckets = |it: &Value| it["times"]["buckets"].as_array().cloned().unwrap_or_default();
    let all = found.map(buckets).unwrap_or_default();
    all.iter().map(|bucket| bucket[1].as_u64().unwrap()).sum()
}

#[test]
fn messages_are_timed_by_the_pattern_of_their_channel_on_each_scheduler_that_delivers() {
    let config = "[[channel]]\npattern = \"news.*\"\npublish = \"open\"\nhistory = 10\n\
        [[channel]]\npattern = \"*\"\npublish = \"open\"\n";
    let server = Plan::new().config(config).argument("--schedulers=2").start();
    // Messages without subscribers here are not delivered, and not timed.
    assert_eq!(post(&server, "/channels/quiet", b"1"), 200);
    let _subscribers = websocket(&server, "/channels/news.a");
    for number in 0..40 {
        assert_eq!(post(&server, "/channels/news.a", format!("{number}").as_bytes()), 200);
    }
    // One of 16 is, by each scheduler that publishes, from its first on.
    until("the times", || (counted(&server, "channel", "news.*") >= 1).then_some(()));
    assert!(counted(&server, "channel", "news.*") < 10);
    assert_eq!(counted(&server, "channel", "*"), 0);
    let metrics = control(&server, "/metrics");
    let line = metrics.lines().find(|line| {
        line.starts_with("velodrome_channel_duration_seconds_bucket{")
            && line.contains("channel=\"news.*\",le=\"10\"")
    });
    assert!(line.is_some(), "{metrics}");
    let has_times = |row: &Value| row["p99_us"].is_u64() && row["pattern"] == "news.*";
    row(&server, "channels", "n-news.a", has_times);
    let info = printed_by(&server.ctl(&["info", "n-news.a"]));
    assert!(info.contains("p99_us") && info.contains("news.*"), "{info}");
    let gone = server.ctl(&["info", "n-none"]);
    assert!(crate::server::errors_of(&gone).contains("there is no `n-none`"));
}

#[test]
fn servers_of_upstreams_and_of_fetches_are_timed_until_they_answer_or_fail() {
    let (address, _heard) = other(|_, _, request| {
        if request.contains("/cut") {
            return Vec::new();
        }
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec()
    });
    let config = format!(
        "[[upstream]]\nname = \"api\"\nservers = [\"{address}\"]\n\
         [[route]]\nprefix = \"/api/\"\nproxy = \"api\"\n"
    );
    let page = "<% local a = fetch('http://' .. request.query.at .. '/') %><%= a and a.status %>";
    let server = Plan::new().config(&config).file("f.page.txt", page).start();
    for _ in 0..3 {
        assert_eq!(server.get("/api/a").status, 200);
    }
    assert_eq!(server.get("/api/cut").status, 502);
    for _ in 0..2 {
        assert_eq!(text(&server.get(&format!("/f?at={address}"))), "200");
    }
    assert_eq!(counted(&server, "upstream", "api"), 4);
    let origin = format!("http://{address}");
    assert_eq!(counted(&server, "fetch", &origin), 2);
    let metrics = control(&server, "/metrics");
    for (name, label) in [("upstream", "api"), ("fetch", &origin)] {
        let series = format!("velodrome_{name}_duration_seconds_count{{");
        let mut lines = metrics.lines().filter(|line| line.starts_with(&series));
        assert!(lines.any(|line| line.contains(&format!("{name}=\"{label}\""))), "{metrics}");
    }
    row(&server, "upstreams", &format!("u-api-{address}"), |row| row["p99_us"].is_u64());
    let fetched = row(&server, "upstreams", &format!("f-{origin}"), |row| row["p99_us"].is_u64());
    assert_eq!((&fetched["upstream"], &fetched["requests"]), (&"(fetch)".into(), &2.into()));
    let info = printed_by(&server.ctl(&["info", &format!("f-{origin}")]));
    assert!(info.contains("p50_us"), "{info}");
}

#[test]
fn a_connection_is_listed_with_its_port_and_age() {
    let server = Plan::new().file("a.txt", "a").argument("--listen-resp=127.0.0.1:0").start();
    let mut http = server.client();
    http.get("/a.txt").unwrap();
    let mut redis = connect(resp(&server));
    say(&mut redis, b"PING\r\n", b"+PONG\r\n");
    let peers = [http.stream.local_addr().unwrap(), redis.local_addr().unwrap()];
    for peer in peers {
        until(&format!("{peer} with an age"), || {
            let rows = live(&server, "list=connections")["list"]["rows"].take();
            let found =
                rows.as_array()?.iter().find(|row| row["values"]["peer"] == peer.to_string())?;
            let age_ms = found["values"]["age_ms"].as_u64()?;
            assert!(age_ms < 600_000, "{found}");
            (age_ms > 100).then_some(())
        });
    }
}

#[test]
fn a_websocket_keeps_the_port_and_age_of_its_connection() {
    let config = "[[channel]]\npattern = \"*\"\n";
    let server = Plan::new().config(config).start();
    let socket = websocket(&server, "/channels/a");
    let peer = socket.local_addr().unwrap().to_string();
    until("its row", || {
        let rows = live(&server, "list=connections")["list"]["rows"].take();
        let found = rows.as_array()?.iter().find(|row| row["values"]["peer"] == peer)?.clone();
        (found["values"]["kind"] == "websocket" && found["values"]["age_ms"].is_u64()).then_some(())
    });
}

#[test]
fn a_channel_shows_the_messages_that_slow_subscribers_did_not_get() {
    let config = "[[channel]]\npattern = \"prices\"\nhistory = 2\n";
    let plan = Plan::new().config(config).argument("--listen-resp=127.0.0.1:0");
    let server = plan.start();
    let (mut publisher, mut slow) = (connect(resp(&server)), connect(resp(&server)));
    say(&mut slow, b"SUBSCRIBE prices\r\n", b":1\r\n");
    let large = "x".repeat(60_000);
    until("the subscriber to be cut", || {
        let told = say(&mut publisher, format!("PUBLISH prices {large}\r\n").as_bytes(), b"\r\n");
        (told == b":0\r\n").then_some(())
    });
    // The scheduler of the subscriber forgets the channel; its home is told.
    let lost = server.count("/channels/dropped");
    assert!(lost > 0);
    row(&server, "channels", "n-prices", |row| row["dropped"] == lost);
}

#[test]
fn the_store_shows_its_last_commit_and_checkpoint() {
    let config = "[store]\npath = \"data\"\nsync = \"log\"\nsync_interval = \"20ms\"\n";
    let server = Plan::new().config(config).argument("--listen-resp=127.0.0.1:0").start();
    let mut client = connect(resp(&server));
    say(&mut client, b"SET a 1\r\n", b"+OK\r\n");
    say(&mut client, b"SET b 1\r\n", b"+OK\r\n");
    let is_whole = |row: &Value| {
        row["commits"] == 2
            && row["checkpoints"].as_u64() >= Some(1)
            && row["last_commit_ago_ms"].is_u64()
            && row["last_checkpoint_ago_ms"].is_u64()
    };
    let writer = row(&server, "store", "s-writer", is_whole);
    let number = |key: &str| writer[key].as_u64().unwrap();
    assert!(number("last_commit_us") <= number("longest_commit_us"), "{writer}");
    assert!(number("last_checkpoint_us") <= number("longest_checkpoint_us"), "{writer}");
    assert!(control(&server, "/metrics").contains("velodrome_store_checkpoints_total "));
}
