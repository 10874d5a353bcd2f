//! Goal: docs/pages.md is true. Method: its pages become a site, its commands are run against the built binary, and
//! what is printed and logged is compared with the document.

use std::process::Command;

use crate::server::document::{blocks, of_kind, try_commands};
use crate::server::patience::until;
use crate::server::{PROGRAM, Plan, Server, errors_of, has, printed_by, run};

const DOCUMENT: &str = include_str!("../../docs/pages.md");

/// A site with a directory for uploads.
fn plan() -> Plan {
    let plan = Plan::new().config("[pages]\nuploads = \"uploads\"\n");
    std::fs::create_dir(plan.directory.join("uploads")).unwrap();
    let store = format!("--store={}", plan.directory.join("store").display());
    plan.argument(&store)
}

fn site() -> Server {
    let pages = of_kind(DOCUMENT, "html page ");
    pages.iter().fold(plan(), |plan, (name, text)| plan.file(name, format!("{text}\n"))).start()
}

#[test]
fn every_block_is_of_a_kind_that_is_tried() {
    for (fence, text) in blocks(DOCUMENT) {
        let kinds = ["html page ", "console", "text log", "json "];
        assert!(kinds.iter().any(|kind| fence.starts_with(kind)), "```{fence}\n{text}");
    }
    assert!(of_kind(DOCUMENT, "html page ").len() > 10, "the document has lost its examples");
}

#[test]
fn what_the_document_shows_is_what_happens() {
    if !has("curl", "what_the_document_shows_is_what_happens") {
        return;
    }
    let server = site();
    try_commands(DOCUMENT, &server);
    for line in of_kind(DOCUMENT, "text log").iter().flat_map(|(_, block)| block.lines()) {
        until(line, || server.printed_errors().contains(line).then_some(()));
    }
}

#[test]
fn the_settings_of_an_editor_name_the_definitions() {
    let blocks = of_kind(DOCUMENT, "json ");
    let [(name, settings)] = blocks[..] else { panic!("one block of settings") };
    let settings: serde_json::Value = serde_json::from_str(settings).unwrap();
    let file = settings["workspace.library"][0].as_str().unwrap();
    assert_eq!(name, ".luarc.json");
    assert!(DOCUMENT.contains(&format!("`velodrome check --definitions > {file}`")), "{file}");
    let printed = run(Command::new(PROGRAM).args(["check", "--definitions"]));
    assert!(printed.status.success(), "{}", errors_of(&printed));
    assert_eq!(printed_by(&printed), include_str!("../../docs/velodrome.d.lua"));
}
