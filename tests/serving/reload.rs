//! Goal: a reload takes effect, and loses no request and no connection; an invalid one changes nothing and is reported.
//! Method: clients that keep their connections while the configuration changes a hundred times.

use std::io::Read;
use std::net::SocketAddr;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::server::client::{Client, field, head, text};
use crate::server::patience::{pace, until};
use crate::server::{Plan, Server, configuration, errors_of, printed_by};
use serde_json::Value;

/// Clients that keep their connections, each a thread.
const CLIENTS: usize = 3;

/// So that they leave most of a processor to the server.
const BETWEEN_REQUESTS: Duration = Duration::from_millis(1);

/// Half of them by signal, half by the control socket.
const RELOADS: u64 = 100;

/// A configuration with a number in its answers.
fn numbered(number: u64) -> String {
    format!("[headers]\nX-Number = \"{number}\"\n")
}

/// Sends requests over one connection until told to stop; returns the answers or the error.
fn keep_asking(address: SocketAddr, stop: &AtomicBool, answers: &AtomicU64) -> Result<(), String> {
    let mut client = Client::connect(address).map_err(|error| error.to_string())?;
    let mut newest = 0;
    while !stop.load(Ordering::SeqCst) {
        let response = client.get("/a.txt").map_err(|error| error.to_string())?;
        let number: u64 = field(&response, "X-Number").parse().map_err(|_| "no number")?;
        if (response.status, text(&response)) != (200, "a\n") {
            return Err(format!("{} {}", response.status, text(&response)));
        }
        if response.lists("Connection", "close") {
            return Err("the connection is not kept".to_owned());
        }
        if number < newest {
            return Err(format!("configuration {number} after {newest}"));
        }
        newest = number;
        answers.fetch_add(1, Ordering::SeqCst);
        pace(BETWEEN_REQUESTS);
    }
    Ok(())
}

fn write_config(server: &Server, text: &str) {
    server.directory().write("velodrome.toml", configuration(text));
}

/// The last reload in `ctl status`.
fn last_reload(server: &Server) -> Value {
    server.told("/status")["last_reload"].take()
}

/// Reloads by signal and waits for the result.
fn reload_by_signal(server: &Server) -> Value {
    let before = last_reload(server)["number"].as_u64().unwrap();
    server.signal("HUP");
    until("the reload", || {
        let last = last_reload(server);
        (last["number"].as_u64() > Some(before)).then_some(last)
    })
}

#[test]
fn a_hundred_reloads_under_load_fail_no_request() {
    let mut server = Plan::new().config(&numbered(0)).file("a.txt", "a\n").start();
    let stop = Arc::new(AtomicBool::new(false));
    let answers = Arc::new(AtomicU64::new(0));
    let address = server.address();
    let client = |_| {
        let (stop, answers) = (Arc::clone(&stop), Arc::clone(&answers));
        thread::spawn(move || keep_asking(address, &stop, &answers))
    };
    let clients: Vec<_> = (0..CLIENTS).map(client).collect();
    for number in 1..=RELOADS {
        write_config(&server, &numbered(number));
        let before = answers.load(Ordering::SeqCst);
        let last =
            if number % 2 == 0 { server.ctl_json(&["reload"]) } else { reload_by_signal(&server) };
        assert_eq!((&last["state"], &last["number"]), (&"in force".into(), &number.into()));
        until("answers between two reloads", || {
            (answers.load(Ordering::SeqCst) > before + 20).then_some(())
        });
    }
    stop.store(true, Ordering::SeqCst);
    for client in clients {
        assert_eq!(client.join().unwrap(), Ok(()));
    }
    assert_eq!(field(&server.get("/a.txt"), "X-Number"), RELOADS.to_string());
    assert!(server.is_running());
    assert_eq!(server.printed_troubles(), "");
    assert_eq!(server.count("/closed/failed") + server.count("/turns/panics"), 0);
}

#[test]
fn a_reload_is_seen_on_a_connection_that_is_open() {
    let config = "[[route]]\npath = \"/a\"\nrespond = { body = \"old\" }\n";
    let server = Plan::new().config(config).file("b.txt", "file").start();
    let mut client = server.client();
    assert_eq!(text(&client.get("/a").unwrap()), "old");
    assert_eq!(client.get("/b").unwrap().status, 404);
    let config = "[limits]\ntarget_size = 20\n\
        [[route]]\npath = \"/a\"\nrespond = { body = \"new\" }\n\
        [[route]]\npath = \"/b\"\nrewrite = { to = \"/b.txt\" }\n";
    write_config(&server, config);
    let output = server.ctl(&["reload"]);
    assert!(output.status.success(), "{output:?}");
    assert!(printed_by(&output).contains("in force"), "{output:?}");
    // "In force" means that the schedulers have been sent it; they apply it at their next turn.
    until("the new answer", || (text(&client.get("/a").unwrap()) == "new").then_some(()));
    assert_eq!(text(&client.get("/b").unwrap()), "file");
    let long = format!("/{}", "x".repeat(30));
    assert_eq!(client.get(&long).unwrap().status, 414, "the new limit");
}

#[test]
fn a_bad_configuration_is_refused_and_named() {
    let mut server = Plan::new().config(&numbered(1)).file("a.txt", "a\n").start();
    let mut client = server.client();
    assert_eq!(field(&client.get("/a.txt").unwrap(), "X-Number"), "1");
    write_config(&server, "[headrs]\nX-Number = \"2\"\n");
    let output = server.ctl(&["reload"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let told = printed_by(&output) + &errors_of(&output);
    for words in ["refused", "velodrome.toml:2:", "headrs", "did you mean `headers`"] {
        assert!(told.contains(words), "no `{words}` in:\n{told}");
    }
    let last = last_reload(&server);
    assert_eq!(last["state"], "refused");
    assert!(last["problems"][0].as_str().unwrap().contains("headrs"), "{last}");
    let status = printed_by(&server.ctl(&["status"]));
    assert!(status.contains("refused") && status.contains("headrs"), "{status}");
    assert!(server.printed_errors().contains("headrs"), "{}", server.printed_errors());
    // The same by signal; and the corrected configuration is applied.
    assert_eq!(reload_by_signal(&server)["state"], "refused");
    assert_eq!(field(&client.get("/a.txt").unwrap(), "X-Number"), "1");
    write_config(&server, &numbered(3));
    assert_eq!(reload_by_signal(&server)["state"], "in force");
    until("the new configuration", || {
        (field(&client.get("/a.txt").unwrap(), "X-Number") == "3").then_some(())
    });
    assert!(server.is_running());
}

#[test]
fn reload_refuses_restart_only_settings_by_name() {
    let server = Plan::new().config(&numbered(1)).file("a.txt", "a\n").start();
    for (config, name) in [
        ("schedulers = 7\n", "schedulers"),
        ("pin = false\n", "pin"),
        ("descriptor_tables = \"shared\"\n", "descriptor_tables"),
        ("[log]\naccess = \"access.log\"\n", "log.access"),
        ("[log]\naccess = \"access.log\"\nformat = \"json\"\n", "log.format"),
        ("[admin]\nmetrics = \"127.0.0.1:1\"\n", "admin.metrics"),
        ("spin = \"7us\"\n", "spin"),
        ("busy_poll = \"7us\"\n", "busy_poll"),
        ("profile_ring = \"7s\"\n", "profile_ring"),
        ("reuseport_cpu = true\n", "reuseport_cpu"),
        ("[limits]\nlimit_keys = 2048\n", "limits.limit_keys"),
    ] {
        write_config(&server, &format!("{config}\n{}", numbered(2)));
        let output = server.ctl(&["reload"]);
        assert_eq!(output.status.code(), Some(1), "{name}: {output:?}");
        let told = printed_by(&output);
        assert!(told.contains(&format!("`{name}`")) && told.contains("restart"), "{told}");
        assert_eq!(field(&server.get("/a.txt"), "X-Number"), "1", "{name}");
    }
}

/// Socket options that were set when the listener was opened.
#[test]
fn how_a_listener_was_opened_is_not_changed_by_a_reload() {
    let listener = |rest: &str| format!("[[listener]]\naddress = \"127.0.0.1:0\"\n{rest}\n");
    let plan = Plan::new().config(&listener("")).file("a.txt", "a\n").listen_as_configured(1);
    let server = plan.start();
    for (rest, name) in
        [("backlog = 7", "listener.backlog"), ("defer_accept = \"7s\"", "listener.defer_accept")]
    {
        write_config(&server, &listener(rest));
        let told = printed_by(&server.ctl(&["reload"]));
        assert!(told.contains(&format!("`{name}`")) && told.contains("restart"), "{told}");
    }
    write_config(&server, &listener("proxy_protocol_from = [\"10.0.0.0/8\"]"));
    assert_eq!(server.ctl_json(&["reload"])["state"], "in force");
}

#[test]
fn a_reload_names_the_keys_of_pages_that_cannot_change_and_what_is_wrong_with_pages() {
    let server = Plan::new().file("a.page.txt", "a").start();
    write_config(&server, "[pages]\nnative = false\ntable_size = \"2 MiB\"\ndeadline = \"3s\"\n");
    let refused = server.ctl_json(&["reload"]);
    let named = |key| format!("`{key}` cannot change while the server runs; restart it");
    assert_eq!(refused["state"], "refused");
    let problems = [named("pages.native"), named("pages.table_size")];
    assert_eq!(refused["problems"], serde_json::json!(problems));
    write_config(&server, "[[route]]\npath = \"/b\"\nmodule = \"b\"\n");
    server.directory().write("app/main.lua", "return function() return 'main' end");
    let taken = server.ctl_json(&["reload"]);
    assert_eq!(taken["state"], "in force", "{taken}");
    let problem = &taken["page_problems"][0];
    assert_eq!(problem["problem"], "does not exist, but a route names it", "{taken}");
    assert!(problem["file"].as_str().unwrap().ends_with("/app/b.lua"), "{taken}");
    assert_eq!(problem["served"], "it is answered 500");
}

#[test]
fn a_root_that_is_gone_is_refused_and_the_old_one_kept() {
    let server = Plan::new().file("a.txt", "a\n").start();
    server.directory().write("velodrome.toml", "root = \"gone\"\n");
    let output = server.ctl(&["reload"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(printed_by(&output).contains("gone"), "{output:?}");
    assert_eq!(text(&server.get("/a.txt")), "a\n");
}

/// Files outside of the sandbox cannot be served without a restart; such a reload must not take effect in part.
#[test]
fn a_new_root_is_served_or_refused_but_never_half() {
    let server = Plan::new().file("a.txt", "old\n").start();
    server.directory().write("other/a.txt", "new\n");
    server.directory().write("velodrome.toml", "root = \"other\"\n");
    let answer = server.ctl_json(&["reload"]);
    if answer["state"] == "in force" {
        until("the new root", || (text(&server.get("/a.txt")) == "new\n").then_some(()));
    }
    for _ in 0..20 {
        let expected = if answer["state"] == "in force" { "new\n" } else { "old\n" };
        assert_eq!(text(&server.get("/a.txt")), expected, "{answer}");
    }
}

/// A common way to deploy sites: `current` is a link to a release, and the served directory is outside of all others
/// that the server was given.
#[test]
fn a_release_put_in_place_by_a_link_is_served() {
    let plan = Plan::new();
    plan.directory.write("releases/one/a.txt", "one\n");
    plan.directory.write("releases/two/a.txt", "two\n");
    plan.directory.write("etc/velodrome.toml", "");
    symlink("releases/one", plan.directory.join("current")).unwrap();
    let server = plan.serving("current", "etc/velodrome.toml").start();
    assert_eq!(text(&server.get("/a.txt")), "one\n");
    let next = server.directory().join("next");
    symlink("releases/two", &next).unwrap();
    std::fs::rename(next, server.directory().join("current")).unwrap();
    let answer = server.ctl_json(&["reload"]);
    assert_eq!(answer["state"], "in force", "{answer}");
    until("the second release", || (text(&server.get("/a.txt")) == "two\n").then_some(()));
}

#[test]
fn a_download_survives_reloads() {
    const SIZE: usize = 20_000_000;
    let server = Plan::new().config(&numbered(0)).file("large.bin", vec![7; SIZE]).start();
    let mut download = server.client();
    download.send(head("GET", "/large.bin", &[("Connection", "close")])).unwrap();
    let begun = download.receive().unwrap();
    assert_ne!(begun, 0);
    for number in 1..=5 {
        write_config(&server, &numbered(number));
        assert_eq!(server.ctl_json(&["reload"])["state"], "in force");
    }
    let mut rest = Vec::new();
    download.stream.read_to_end(&mut rest).unwrap();
    let received = begun + rest.len();
    assert!((SIZE..SIZE + 1000).contains(&received), "{received}");
}
