//! Goal: docs/pages.md is true. Method: its pages become a site, its commands are run against the built binary, and
//! what is printed and logged is compared with the document.

use std::process::Command;

use crate::server::document::{blocks, of_kind, try_commands};
use crate::server::patience::until;
use crate::server::{PROGRAM, Plan, Server, errors_of, has, printed_by, run};

const DOCUMENT: &str = include_str!("../../docs/pages.md");

/// The kinds that are tried here, and those that `documents.rs` tries.
const KINDS: [&str; 7] =
    ["html page ", "console", "text log", "json ", "toml", "sh not run: ", "lua"];

/// A site with a directory for uploads.
fn plan() -> Plan {
    let plan = Plan::new().config(
        "[pages]\nuploads = \"uploads\"\n[[limit]]\nname = \"guesses\"\nby = \"pages\"\n\
         requests = \"10/h\"\nburst = 2\n",
    );
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
        assert!(KINDS.iter().any(|kind| fence.starts_with(kind)), "```{fence}\n{text}");
    }
    assert!(of_kind(DOCUMENT, "html page ").len() > 10, "the document has lost its examples");
}

#[test]
fn the_examples_of_the_document_answer_as_shown() {
    if !has("curl", "the_examples_of_the_document_answer_as_shown") {
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

/// The names of the fields that an example reads: what follows this text in it.
fn names_after(text: &'static str, begin: &str) -> Vec<&'static str> {
    let is_end = |character: char| !character.is_alphanumeric() && character != '_';
    let names = text.split(begin).skip(1);
    names.map(|rest| rest.split(is_end).next().unwrap_or_default()).collect()
}

/// The values that clients send where an example expects something else, percent-encoded.
const UNEXPECTED: [&str; 12] = [
    "",
    "nan",
    "inf",
    "1e309",
    "-1",
    "0x1p-3",
    "%ff",
    "%00",
    "%0d%0aa:b",
    "%ed%a0%80",
    "../..%2f",
    "_",
];

#[test]
fn no_example_fails_whatever_a_client_sends() {
    let server = site();
    let long = "n".repeat(9_000);
    for (file, text) in of_kind(DOCUMENT, "html page ") {
        let reads = ["query", "form", "headers", "cookies", "body", "json"];
        if !reads.iter().any(|part| text.contains(&format!("request.{part}"))) {
            continue;
        }
        let path = file.split_once(".page.").map_or(file, |(name, _)| name);
        for value in UNEXPECTED.into_iter().chain([long.as_str()]) {
            let mut asked = vec![format!("GET /{path} HTTP/1.0\r\n\r\n")];
            for name in names_after(text, "request.query.") {
                let host = server.address();
                asked.push(format!("GET /{path}?{name}={value} HTTP/1.0\r\nHost: {host}\r\n\r\n"));
            }
            for name in names_after(text, "request.form.").into_iter().chain(["other"]) {
                let body = format!("{name}={value}");
                asked.push(format!(
                    "POST /{path} HTTP/1.0\r\nHost: {}\r\nContent-Length: {}\r\n\
                    Content-Type: application/x-www-form-urlencoded\r\n\r\n{body}",
                    server.address(),
                    body.len(),
                ));
            }
            for request in asked {
                let mut client = server.client();
                client.send(&request).unwrap();
                let (answer, _) = client.rest().unwrap();
                let status = String::from_utf8_lossy(&answer).split(' ').nth(1).map(str::to_owned);
                let shown = request.get(..200).unwrap_or(&request);
                assert!(
                    status.is_some_and(|status| status.as_str() < "500"),
                    "{shown}: {answer:?}"
                );
            }
        }
    }
}
