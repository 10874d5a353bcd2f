//! Goal: `[log] level` selects which of the server's own lines are written, from the start and after a reload. Method:
//! the built binary is made to log at every level, and its lines are counted.

use crate::server::client::{Client, head};
use crate::server::patience::until;
use crate::server::{Plan, Server, configuration};

/// From the most important one.
const LEVELS: [&str; 4] = ["error", "warn", "info", "debug"];

/// One connection, so that a second one must wait while the first is in use.
fn at_level(level: &str) -> String {
    format!(
        "schedulers = 1\n[limits]\nconnections = 1\n[pages]\ndeadline = \"1h\"\n[log]\nlevel = \"{level}\"\n"
    )
}

fn write_config(server: &Server, text: &str) {
    server.directory().write("velodrome.toml", configuration(text));
}

/// Two clients, of which one must wait: a reason to warn.
fn crowd(server: &Server) -> [Client; 2] {
    let clients = [server.client(), server.client()].map(|mut client| {
        client.send(head("GET", "/wait", &[])).unwrap();
        client
    });
    until("accepting to pause", || (server.count("/network/accept_pauses") > 0).then_some(()));
    clients
}

/// The levels of the lines, in the order of [`LEVELS`], each once.
fn levels_of(printed: &str) -> Vec<&'static str> {
    let is_there = |level: &&str| printed.contains(&format!("velodrome: {level}: "));
    LEVELS.into_iter().filter(is_there).collect()
}

#[test]
fn lines_below_the_level_are_not_written() {
    for (place, level) in LEVELS.into_iter().enumerate() {
        let plan = Plan::new().config(&at_level(level));
        let mut server = plan.file("wait.page.txt", "<% sleep(600) -%>").start();
        let clients = crowd(&server);
        write_config(&server, "unknown = 1\n");
        assert_eq!(server.ctl_json(&["reload"])["state"], "refused");
        write_config(&server, &at_level(level));
        assert_eq!(server.ctl_json(&["reload"])["state"], "in force");
        drop(clients);
        server.signal("TERM");
        assert!(server.wait().success());
        let printed = server.printed_errors();
        assert_eq!(levels_of(&printed), LEVELS[..=place], "{level}:\n{printed}");
        for line in printed.lines() {
            assert!(line.starts_with("velodrome: "), "{line}");
        }
    }
}

#[test]
fn a_reload_changes_the_level() {
    let server = Plan::new().config(&at_level("error")).start();
    let reload = |level: &str| {
        write_config(&server, &at_level(level));
        let before = server.told("/status")["last_reload"]["number"].as_u64().unwrap();
        server.signal("HUP");
        until("the reload", || {
            let number = server.told("/status")["last_reload"]["number"].as_u64();
            (number > Some(before)).then_some(())
        });
        server.printed_errors()
    };
    assert_eq!(reload("error"), "");
    let told = reload("info");
    assert_eq!(levels_of(&told), ["info"], "{told}");
    assert!(told.contains("configuration 3 is in force"), "{told}");
    let told = reload("error");
    assert_eq!(reload("error"), told, "nothing more is said");
}

/// A server that does not start prints the reason, whatever its log level is.
#[test]
fn why_it_does_not_start_is_told_at_every_level() {
    let config = "[log]\nlevel = \"error\"\naccess = \"missing/access.log\"\n";
    let output = Plan::new().config(config).fail();
    assert!(crate::server::errors_of(&output).contains("missing/access.log"), "{output:?}");
}
