//! Goal: docs/pages.md is true. Method: its pages are put into a site, its commands are run against the built binary, and
//! what it says is printed and logged is compared with what is.
#![expect(clippy::disallowed_types, reason = "a test holds sockets and files of its own")]
#![expect(clippy::disallowed_methods, reason = "a test's patience is measured by its own clock")]
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

mod server;

use std::process::Command;

use server::patience::until;
use server::{PROGRAM, Plan, Server, errors_of, has, printed_by, run};

const DOCUMENT: &str = include_str!("../docs/pages.md");

/// Where the document says that the server listens.
const ADDRESS: &str = "127.0.0.1:8080";

/// A fenced block: what stands behind its fence, and its text.
type Block = (&'static str, &'static str);

fn blocks() -> Vec<Block> {
    let fences: Vec<_> = DOCUMENT.split("\n```").collect();
    // Outside, inside, outside, ..: every second piece stands between fences.
    assert!(fences.len() % 2 == 1, "a fence of docs/pages.md is not closed");
    let inside = fences.iter().skip(1).step_by(2);
    inside.map(|block| block.split_once('\n').unwrap()).collect()
}

fn of_kind(kind: &str) -> Vec<Block> {
    let named = |(fence, text)| Some((str::strip_prefix(fence, kind)?.trim(), text));
    blocks().into_iter().filter_map(named).collect()
}

/// A site with a directory for uploads.
fn plan() -> Plan {
    let plan = Plan::new().config("[pages]\nuploads = \"uploads\"\n");
    std::fs::create_dir(plan.directory.join("uploads")).unwrap();
    plan
}

fn site() -> Server {
    let pages = of_kind("html page ");
    pages.iter().fold(plan(), |plan, (name, text)| plan.file(name, format!("{text}\n"))).start()
}

/// The commands of a console block, each with what it prints.
fn commands(block: &str) -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    for line in block.lines() {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push((command.to_owned(), String::new())),
            (None, Some((_, printed))) => *printed += &format!("{line}\n"),
            (None, None) => panic!("{line}: there is no command before it"),
        }
    }
    commands
}

#[test]
fn every_block_is_of_a_kind_that_is_tried() {
    for (fence, text) in blocks() {
        let kinds = ["html page ", "console", "text log", "json "];
        assert!(kinds.iter().any(|kind| fence.starts_with(kind)), "```{fence}\n{text}");
    }
    assert!(of_kind("html page ").len() > 10, "the document has lost its examples");
}

#[test]
fn what_the_document_shows_is_what_happens() {
    if !has("curl", "what_the_document_shows_is_what_happens") {
        return;
    }
    let server = site();
    for (command, printed) in of_kind("console").iter().flat_map(|(_, block)| commands(block)) {
        let command = command.replace(ADDRESS, &server.address().to_string());
        let shell = command.replacen("curl ", "curl --silent --show-error --max-time 20 ", 1);
        let output = run(Command::new("sh").args(["-c", &shell]));
        assert_eq!(printed_by(&output), printed, "{command}: {}", errors_of(&output));
    }
    for line in of_kind("text log").iter().flat_map(|(_, block)| block.lines()) {
        until(line, || server.printed_errors().contains(line).then_some(()));
    }
}

#[test]
fn the_settings_of_an_editor_name_the_definitions() {
    let blocks = of_kind("json ");
    let [(name, settings)] = blocks[..] else { panic!("one block of settings") };
    let settings: serde_json::Value = serde_json::from_str(settings).unwrap();
    let file = settings["workspace.library"][0].as_str().unwrap();
    assert_eq!(name, ".luarc.json");
    assert!(DOCUMENT.contains(&format!("`velodrome check --definitions > {file}`")), "{file}");
    let printed = run(Command::new(PROGRAM).args(["check", "--definitions"]));
    assert!(printed.status.success(), "{}", errors_of(&printed));
    assert_eq!(printed_by(&printed), include_str!("../docs/velodrome.d.lua"));
}
