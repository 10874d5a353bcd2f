//! Goal: what `velodrome ctl set` lists can be changed in a running server, on all schedulers at once and without a
//! reload; a wrong name or value is told with its mend; a reload puts everything back. Method: one setting of each
//! owner is changed, and what it decides is looked at right after.

use serde_json::Value;

use crate::server::channel::{connect, resp, say};
use crate::server::patience::until;
use crate::server::{Plan, Server, errors_of, printed_by};

/// Sets a value, and returns what `ctl` printed.
fn set(server: &Server, name: &str, value: &str) -> String {
    let output = server.ctl(&["set", name, value]);
    assert!(output.status.success(), "{output:?}");
    printed_by(&output)
}

/// The row of a setting.
fn row(server: &Server, name: &str) -> Value {
    let all = server.ctl_json(&["set"]);
    all.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap().clone()
}

/// The texts of events of settings.
fn told(server: &Server) -> Vec<String> {
    let printed = printed_by(&server.ctl(&["events", "--json"]));
    let all = printed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let own = all.filter(|event| event["kind"] == "setting");
    own.map(|event| event["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_list_has_all_that_may_change_with_value_default_bounds_and_meaning() {
    let config = "[limits]\nheader_deadline = \"3s\"\n[[channel]]\npattern = \
                  \"news.*\"\n[[limit]]\nname = \"logins\"\nrequests = \"5/m\"\n";
    let server = Plan::new().config(config).start();
    let all = server.ctl_json(&["set"]);
    let names: Vec<&str> =
        all.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    for name in [
        "maintenance",
        "limits.header_deadline",
        "limits.handshakes_per_address",
        "limits.connections",
        "limit.logins.requests",
        "log.level",
        "log.slow_log",
        "pages.cpu_budget",
        "files.cache_size",
        "trace.sample",
        "channel.news.*.rate",
    ] {
        assert!(names.contains(&name), "no {name} in {names:?}");
    }
    for row in all.as_array().unwrap() {
        let is_whole = ["value", "default", "takes", "text"]
            .iter()
            .all(|key| row[key].as_str().is_some_and(|text| !text.is_empty()));
        assert!(is_whole && row["value"] == row["default"], "{row}");
    }
    let deadline = row(&server, "limits.header_deadline");
    assert_eq!(
        (&deadline["value"], &deadline["takes"]),
        (&"\"3s\"".into(), &"duration above zero".into())
    );
    let table = printed_by(&server.ctl(&["set"]));
    assert_eq!(table.lines().count(), names.len() + 1, "a line for each\n{table}");
    let one = printed_by(&server.ctl(&["set", "limits.field_count"]));
    assert!(
        one.starts_with("limits.field_count: 100\ndefault: 100\ntakes: whole number, 1 to 100\n"),
        "{one}"
    );
}

#[test]
fn a_change_is_in_force_on_all_schedulers_when_it_is_confirmed() {
    let plan = Plan::new().argument("--schedulers=3").file("a.txt", "a");
    let server = plan.start();
    let long = [("X-Long", "x".repeat(2_000))];
    let long: Vec<(&str, &str)> = long.iter().map(|(name, value)| (*name, &**value)).collect();
    let statuses = |wanted: u16| {
        for _ in 0..20 {
            // Each connection may be another scheduler's.
            assert_eq!(server.client().request("GET", "/a.txt", &long).unwrap().status, wanted);
        }
    };
    statuses(200);
    assert_eq!(set(&server, "limits.field_size", "1 KiB"), "limits.field_size: \"1 KiB\"\n");
    statuses(431);
    assert_eq!(row(&server, "limits.field_size")["default"], "\"8 KiB\"");
    assert_eq!(set(&server, "limits.field_size", "default"), "limits.field_size: \"8 KiB\"\n");
    statuses(200);
    let events = told(&server);
    let expected = [
        "an operator has set limits.field_size to \"1 KiB\"",
        "an operator has set limits.field_size to \"8 KiB\"",
    ];
    assert_eq!(events, expected);
    let log = server.printed_errors();
    assert!(log.contains("info: event setting: an operator has set limits.field_size"), "{log}");
}

#[test]
fn every_owner_of_a_setting_hears_of_it() {
    let page = "<% while true do end %>";
    let config = "[limits]\nbody_size = \"1 MiB\"\n[[channel]]\npattern = \"news\"\n[log]\nslow_log = \
                  \"off\"\n";
    let plan = Plan::new()
        .config(config)
        .file("busy.page.txt", page)
        .file("wait.page.txt", "<% sleep(0.02) %>");
    let server = plan.argument("--listen-resp=127.0.0.1:0").start();
    // The routes.
    let post = || {
        server.request("POST", "/busy", &[("Content-Length", "2000"), ("Expect", "100-continue")])
    };
    set(&server, "limits.body_size", "1000");
    assert_eq!(post().status, 413);
    // The engine of pages.
    set(&server, "pages.cpu_budget", "7ms");
    assert_eq!(server.get("/busy").status, 503);
    let log = until("its end", || Some(server.printed_errors()).filter(|log| log.contains("7 ms")));
    assert!(!log.contains("slow request"), "{log}");
    // The log of slow requests, and the level of the log.
    set(&server, "log.slow_log", "10ms");
    server.get("/wait");
    until("its line", || server.printed_errors().contains("slow request").then_some(()));
    set(&server, "log.level", "error");
    set(&server, "limits.keep_alive", "forever");
    set(&server, "log.level", "info");
    let log = server.printed_errors();
    assert!(
        log.contains("set log.level to \"error\"") && log.contains("set log.level to \"info\""),
        "{log}"
    );
    assert!(!log.contains("limits.keep_alive"), "{log}");
    // Channels.
    let mut publisher = connect(resp(&server));
    say(&mut publisher, b"PUBLISH news 12345678\r\n", b":0\r\n");
    set(&server, "channel.news.message_size", "4 B");
    let refused = say(&mut publisher, b"PUBLISH news 12345678\r\n", b"\r\n");
    assert!(refused.starts_with(b"-"), "{}", String::from_utf8_lossy(&refused));
}

#[test]
fn a_client_that_reads_nothing_is_given_up_sooner() {
    let config = "[limits]\nsend_idle = \"10m\"\nsend_rate = 0\n";
    let server = Plan::new().config(config).file("large.bin", "x".repeat(64 << 20)).start();
    let mut client = server.client();
    client.send("GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    until("output to wait", || (server.count("/processes/http") == 1).then_some(()));
    set(&server, "limits.send_idle", "200ms");
    until("its end", || (server.count("/processes/http") == 0).then_some(()));
}

#[test]
fn fewer_connections_close_idle_ones_for_the_next_and_more_keep_them() {
    let server = Plan::new().argument("--schedulers=1").file("a.txt", "a").start();
    let open = |count: usize| {
        let one = |_| {
            let mut client = server.client();
            assert_eq!(client.get("/a.txt").unwrap().status, 200);
            client
        };
        (0..count).map(one).collect::<Vec<_>>()
    };
    // A report may be a moment old.
    let until_live = |count: u64| {
        until("that many connections", || (server.count("/processes/http") == count).then_some(()));
    };
    let first = open(6);
    until_live(6);
    set(&server, "limits.connections", "3");
    let second = open(1);
    until_live(3);
    set(&server, "limits.connections", "default");
    let third = open(6);
    until_live(9);
    drop((first, second, third));
}

#[test]
fn the_numbers_of_a_limit_are_in_force_at_once() {
    let config = "[[limit]]\nname = \"all\"\nrequests = \"1/h\"\nburst = 2\n[[limit]]\nname = \
                  \"slow\"\nopen = 1\npaths = [\"/slow\"]\n";
    let plan = Plan::new().config(config).file("a.txt", "a").argument("--schedulers=1");
    let server = plan.file("slow.page.txt", "x<% response:flush() sleep(60) %>").start();
    let passed = |count: usize| {
        (0..count).map(|_| server.get("/a.txt").status).filter(|status| *status == 200).count()
    };
    assert_eq!(passed(4), 2);
    set(&server, "limit.all.burst", "5");
    assert_eq!(passed(4), 3, "beside those that were used");
    // Requests that were used are given back at once. All of them may come in one turn, which has one time.
    set(&server, "limit.all.requests", "1000000/s");
    assert_eq!(passed(5), 5);
    let asked = || {
        let mut client = server.client();
        client.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        // Its answer has begun.
        assert!(client.receive().unwrap() > 0);
        client
    };
    let first = asked();
    assert_eq!(server.get("/slow").status, 429);
    set(&server, "limit.slow.open", "2");
    let second = asked();
    assert_eq!(server.get("/slow").status, 429);
    drop((first, second));
}

#[test]
fn slice_and_memory_of_pages_are_in_force_at_once() {
    let config = "[pages]\nmemory = \"8 MiB\"\n";
    let much = "<% local t = {}\nfor n = 1, 200 do t[n] = ('x'):rep(100000) .. n end %>";
    let plan = Plan::new().config(config).file("much.page.txt", much);
    let plan = plan.file("busy.page.txt", "<%\nwhile true do end %>");
    let server = plan.argument("--schedulers=1").start();
    assert_eq!(server.get("/much").status, 503);
    set(&server, "pages.memory", "64 MiB");
    assert_eq!(server.get("/much").status, 503, "one request has as much as before");
    set(&server, "pages.memory_per_request", "32 MiB");
    assert_eq!(server.get("/much").status, 200);
    set(&server, "pages.slice", "60ms");
    assert_eq!(server.get("/busy").status, 503);
    until("what says that it was not interrupted", || {
        let events = printed_by(&server.ctl(&["events", "--json"]));
        events.lines().any(|line| line.contains("\"long_slice\"")).then_some(())
    });
    // The memory that others hold stays theirs; a new request is told.
    set(&server, "pages.memory_per_request", "8 MiB");
    set(&server, "pages.memory", "8 MiB");
    assert_eq!(server.get("/much").status, 503);
}

#[test]
fn a_wrong_name_or_value_is_told_with_its_mend_and_changes_nothing() {
    let server = Plan::new().start();
    for (arguments, mend) in [
        (&["set", "header_deadline", "5s"][..], "did you mean `limits.header_deadline`?"),
        (&["set", "limits.header_deadlin"], "did you mean `limits.header_deadline`?"),
        (&["set", "limits.limit_keys", "5"], "there is no setting `limits.limit_keys`"),
        (&["set", "limits.connections", "0"], "`connections` must be from 1 to 100000000"),
        (&["set", "limits.field_count", "0"], "`field_count` must be from 1 to 100"),
        (&["set", "limits.header_deadline", "5"], "it takes: duration above zero"),
        (
            &["set", "limits.field_size", "17 KiB"],
            "`field_size` (17408 bytes) is more than `head_size` (16384 bytes)",
        ),
        (&["set", "maintenance", "maybe"], "`maintenance` is on or off, not `maybe`"),
    ] {
        let output = server.ctl(arguments);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(errors_of(&output).contains(mend), "{}", errors_of(&output));
    }
    let all = server.ctl_json(&["set"]);
    assert!(all.as_array().unwrap().iter().all(|row| row["value"] == row["default"]), "{all}");
    assert_eq!(told(&server), Vec::<String>::new());
}

#[test]
fn a_reload_puts_back_what_was_set_and_says_so() {
    let server = Plan::new().config("[limits]\nbody_idle = \"4s\"\n").start();
    set(&server, "limits.body_idle", "9s");
    set(&server, "log.level", "debug");
    server.directory().write("velodrome.toml", "[limits]\nbody_idle = \"5s\"\nfield_count = 0\n");
    assert!(!server.ctl(&["reload"]).status.success());
    assert_eq!(
        row(&server, "limits.body_idle")["value"],
        "\"9s\"",
        "a refused reload changes nothing"
    );
    server.directory().write("velodrome.toml", "[limits]\nbody_idle = \"5s\"\n");
    assert!(server.ctl(&["reload"]).status.success());
    let after = row(&server, "limits.body_idle");
    assert_eq!((&after["value"], &after["default"]), (&"\"5s\"".into(), &"\"5s\"".into()));
    let last = told(&server).pop().unwrap();
    assert_eq!(last, "the reload has put back what was set: limits.body_idle, log.level");
    assert_eq!(set(&server, "limits.body_idle", "6s"), "limits.body_idle: \"6s\"\n");
}
