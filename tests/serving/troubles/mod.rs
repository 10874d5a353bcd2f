//! Goal: an operator who looks with `velodrome top` is told of each trouble of a running server, with the page, route,
//! key, channel or server that it is about; and nobody is told of a trouble of a quiet server. Method: tables of
//! troubles, each with what causes it and what names it, planted one after the other in servers that only serve this.
//!
//! Nothing is said about how soon: tests share their cores with others.

mod cores;
mod disks;
mod network;
mod pages;
mod planted;
mod stopped;

use serde_json::Value;

use crate::server::patience::until;
use crate::server::{PROGRAM, Plan, Server, errors_of, run};
use planted::Planted;

/// A trouble.
struct Trouble {
    /// A name for it.
    name: &'static str,
    /// Causes it.
    plant: fn(&Server) -> Planted,
    /// The place that names it.
    named: Named,
}

/// The place that names a trouble; it contains the texts of the planted trouble.
enum Named {
    /// An event of this kind.
    Event(&'static str),
    /// A row of a list in which a column has at least so much.
    Row { list: &'static str, column: &'static str, least: f64 },
}

/// One interval of the server, with a list.
fn top(server: &Server, list: &str, sort: &str) -> Value {
    let mut command = std::process::Command::new(PROGRAM);
    command.args(["top", "--once", "--json", "--interval=100ms", "--list", list]);
    command.args(if sort.is_empty() { vec![] } else { vec!["--sort", sort] });
    let output = run(command.arg("--socket").arg(server.plan.socket()));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error}: {}", errors_of(&output));
    })
}

impl Named {
    /// The name of the trouble in one interval.
    fn find(&self, server: &Server, texts: &[String]) -> Option<Value> {
        let has_texts = |found: &Value| {
            let found = found.to_string();
            texts.iter().all(|text| found.contains(text))
        };
        match *self {
            Self::Event(kind) => {
                let shown = top(server, "store", "");
                let mut events = shown["events"].as_array().unwrap().iter();
                events.find(|event| event["kind"] == kind && has_texts(event)).cloned()
            }
            Self::Row { list, column, least } => {
                let shown = top(server, list, column);
                let mut rows = shown["list"]["rows"].as_array().unwrap().iter();
                let is_large = |row: &Value| {
                    row["values"][column].as_f64().is_some_and(|value| value >= least)
                };
                rows.find(|row| is_large(row) && has_texts(row)).cloned()
            }
        }
    }
}

/// Plants troubles one after the other, and looks until each is named.
fn are_named(server: &Server, troubles: &[Trouble]) {
    for Trouble { name, plant, named } in troubles {
        let planted = plant(server);
        until(&format!("what names this: {name}"), || named.find(server, &planted.texts));
    }
}

/// Kinds of events that other programs of the machine can cause.
const OF_THE_MACHINE: &[&str] = &[
    "silent",
    "starved",
    "timers_late",
    "long_turn",
    "long_slice",
    "slow_commit",
    "slow_checkpoint",
    "store_stuck",
];

#[test]
fn a_server_with_ordinary_load_names_none() {
    let config = "[[channel]]\npattern = \"news\"\npublish = \"open\"\n[store]\nsync = \
                  \"none\"\n[log]\naccess = \"access.log\"\n";
    let plan =
        Plan::new().config(config).file("a.txt", "a\n").file("p.page.txt", "<% sleep(0.001) %>p");
    let store = format!("--store={}", plan.directory.join("store").display());
    let server = plan.argument(&store).argument("--listen-resp=127.0.0.1:0").start();
    let _load = planted::ordinary_load(&server);
    let before = server.count("/mail/received");
    // Each look asks for mail, so that this many have passed.
    until("some looks", || (server.count("/mail/received") > before + 5).then_some(()));
    let shown = top(&server, "connections", "");
    let events = shown["events"].as_array().unwrap();
    let is_of_machine = |event: &&Value| OF_THE_MACHINE.iter().any(|kind| event["kind"] == *kind);
    assert_eq!(events.iter().find(|event| !is_of_machine(event)), None);
}
