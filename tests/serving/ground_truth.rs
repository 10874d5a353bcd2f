//! Goal: what a server says it did is what was done. Method: `velodrome bench` sends a known number of requests and
//! counts what it sent, read and measured itself; the counters of the server, its histograms, its time accounts and the
//! CPU time that the kernel has counted are compared with that.
//!
//! No time is compared with a clock of the test: one time is at most another that contains it, on every machine.

use std::process::Command;

use serde_json::Value;

use crate::server::channel::{connect, resp, say};
use crate::server::client::Client;
use crate::server::patience::until;
use crate::server::{PROGRAM, Plan, Server, errors_of, run};

/// Requests of a run.
const REQUESTS: u64 = 2_000;

/// A bucket of the server's histograms is at most 1/32 wider than its times; those of the generator are not wider.
const PRECISION: f64 = 33.0 / 32.0 * 33.0 / 32.0;

/// The report of `velodrome bench http` on this many requests for a path.
fn bench(server: &Server, path: &str, requests: u64) -> Value {
    let url = format!("http://{}{path}", server.address());
    let count = format!("-n={requests}");
    let words = ["-c=8", "-t=1", "-d=60s", "--warmup=0s", "--expect-status=200,404", "--json"];
    let output = run(Command::new(PROGRAM).args(["bench", "http", &url, &count]).args(words));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error}: {}", errors_of(&output));
    });
    let run = report["runs"][0].clone();
    let told = &run["requests"];
    assert_eq!((&told["answered"], &told["failed"]), (&requests.into(), &0.into()), "{run}");
    assert_eq!((&told["in_flight_start"], &told["in_flight_end"]), (&0.into(), &0.into()), "{run}");
    run
}

fn live(server: &Server) -> Value {
    let mut client = Client::connect_unix(&server.plan.socket()).unwrap();
    serde_json::from_slice(&client.get("/live?list=routes").unwrap().body).unwrap()
}

/// A histogram of the server: the longest time of each bucket, and the number of times in it.
fn histogram(shown: &Value, of: &str, name: &str) -> Vec<(u64, u64)> {
    let mut all = shown["latencies"].as_array().unwrap().iter();
    let found = all.find(|it| it["of"] == of && it["name"].as_str().unwrap().ends_with(name));
    let buckets =
        found.unwrap_or_else(|| panic!("no times of {of} {name}"))["times"]["buckets"].clone();
    serde_json::from_value(buckets).unwrap()
}

fn count(histogram: &[(u64, u64)]) -> u64 {
    histogram.iter().map(|(_, count)| count).sum()
}

/// The time that this share of all took at most.
fn quantile_ns(histogram: &[(u64, u64)], share: f64) -> f64 {
    let rank = (count(histogram) as f64 * share).ceil() as u64;
    let mut seen = 0;
    let bucket = histogram.iter().find(|(_, count)| {
        seen += count;
        seen >= rank
    });
    bucket.unwrap().0 as f64
}

/// Files, a route, and a page.
fn site() -> Server {
    let config = "[[route]]\nprefix = \"/api/\"\nrespond = { body = \"api\" }\n";
    let plan = Plan::new().config(config).file("sleeps.page.txt", "<% sleep(0.005) %>");
    plan.file("a.txt", "a\n").argument("--schedulers=2").start()
}

#[test]
fn requests_and_bytes_are_those_that_the_generator_has_counted() {
    let server = site();
    let runs = [("/a.txt", 1_500), ("/api/x", 1_000), ("/none", 500)];
    let told = runs.map(|(path, requests)| bench(&server, path, requests));
    until("the connections to be closed", || (server.count("/connections") == 0).then_some(()));
    for (pointer, here) in [
        ("/bytes/out", "/network/received_bytes"),
        ("/bytes/in", "/network/sent_bytes"),
        ("/connections/opened", "/network/accepts"),
        ("/requests/sent", "/http/requests"),
    ] {
        let sent: u64 =
            told.iter().map(|run| run.pointer(pointer).unwrap().as_u64().unwrap()).sum();
        assert_eq!(server.count(here), sent, "{here}: {told:?}");
    }
    let shown = live(&server);
    let counts = |of: &str, name: &str| count(&histogram(&shown, of, name));
    assert_eq!((counts("class", "2xx"), counts("class", "4xx")), (2_500, 500));
    assert_eq!((counts("route", "/api/"), counts("route", "(files)")), (1_000, 2_000));
}

#[test]
fn times_are_those_that_the_generator_has_measured_without_the_way() {
    let server = site();
    let told = bench(&server, "/sleeps", REQUESTS);
    let shown = live(&server);
    for (of, name) in [("class", "2xx"), ("route", "(files)"), ("page", "sleeps.page.txt")] {
        let times = histogram(&shown, of, name);
        assert_eq!(count(&times), REQUESTS);
        for (share, key) in [(0.5, "p50_ns"), (0.99, "p99_ns"), (1.0, "max_ns")] {
            let (here, there) =
                (quantile_ns(&times, share), told["service"][key].as_f64().unwrap());
            assert!(here <= there * PRECISION, "{of} {key}: {here} of {there}");
            assert!(here >= 5_000_000.0, "{of} {key}: {here} is less than the page sleeps");
        }
    }
}

/// Nanoseconds of CPU that the kernel has counted for the thread of the scheduler.
fn kernel_ns(server: &Server) -> f64 {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", server.id())).unwrap();
    let mut tasks = tasks.map(|task| task.unwrap().path());
    let is_scheduler = |task: &std::path::PathBuf| {
        std::fs::read_to_string(task.join("comm")).unwrap().trim() == "velodrome-0"
    };
    let task = tasks.find(is_scheduler).unwrap();
    // Nanoseconds on a core, nanoseconds ready without one, and slices.
    let told = std::fs::read_to_string(task.join("schedstat")).unwrap();
    told.split(' ').next().unwrap().parse().unwrap()
}

/// The accounts of the scheduler: all of them, and without waiting, and what they should add up to.
fn accounts_ns(server: &Server) -> (f64, f64, f64) {
    let scheduler = live(server)["schedulers"][0].clone();
    let accounts = scheduler["accounts_us"].as_object().unwrap();
    let sum: f64 = accounts.values().map(|us| us.as_f64().unwrap()).sum();
    let wait = accounts["wait"].as_f64().unwrap();
    (sum * 1e3, (sum - wait) * 1e3, scheduler["wall_us"].as_f64().unwrap() * 1e3)
}

#[test]
fn accounts_add_up_and_have_all_the_cpu_time_that_the_kernel_has_counted() {
    let work = "<% for n = 1, 20000 do local x = n % 7 end %>";
    let plan = Plan::new().file("a.txt", "a\n").file("work.page.txt", work);
    let server = plan.argument("--schedulers=1").start();
    let (_, worked_before, _) = accounts_ns(&server);
    let before = kernel_ns(&server);
    bench(&server, "/a.txt", REQUESTS);
    bench(&server, "/work", REQUESTS);
    let used = kernel_ns(&server) - before;
    let (sum, worked, wall) = accounts_ns(&server);
    assert!((sum - wall).abs() <= wall / 100.0, "{sum} of {wall} ns");
    let worked = worked - worked_before;
    // A scheduler that lost its core has worked for longer than it had it. What the kernel needs to let it sleep and to
    // wake it is not in its accounts, but in the kernel's.
    assert!(worked >= used * 0.7, "{worked} ns by its accounts, {used} ns by the kernel");
    assert!(worked <= wall, "{worked} of {wall} ns");
}

#[test]
fn kills_and_drops_are_counted_to_the_last_one() {
    let config =
        "[pages]\ncpu_budget = \"20ms\"\n[[channel]]\npattern = \"prices\"\npublish = \"open\"\n";
    let plan = Plan::new().config(config).file("endless.page.txt", "<% while true do end %>");
    let server = plan.argument("--schedulers=1").argument("--listen-resp=127.0.0.1:0").start();
    (0..7).for_each(|_| assert_eq!(server.get("/endless").status, 503));
    let shown = live_list(&server, "pages");
    let row = &shown["list"]["rows"][0]["values"];
    assert_eq!((&row["kills"], &row["requests"]), (&7.into(), &7.into()), "{row}");
    let (mut publisher, mut slow) = (connect(resp(&server)), connect(resp(&server)));
    say(&mut slow, b"SUBSCRIBE prices\r\n", b":1\r\n");
    let order = format!("PUBLISH prices {}\r\n", "x".repeat(60_000));
    let mut delivered = 0;
    let mut published = 0;
    until("the subscriber to be cut", || {
        published += 1;
        let told = say(&mut publisher, order.as_bytes(), b"\r\n");
        delivered += u64::from(told == b":1\r\n");
        (told == b":0\r\n").then_some(())
    });
    server.reaches("/channels/published", published);
    assert_eq!(server.count("/channels/disconnected_slow"), 1);
    let (handed, dropped) =
        (server.count("/channels/delivered"), server.count("/channels/dropped"));
    assert_eq!(handed + dropped, delivered, "{handed} were queued, {dropped} left out");
}

fn live_list(server: &Server, list: &str) -> Value {
    let mut client = Client::connect_unix(&server.plan.socket()).unwrap();
    serde_json::from_slice(&client.get(&format!("/live?list={list}")).unwrap().body).unwrap()
}
