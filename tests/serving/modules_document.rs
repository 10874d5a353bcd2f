//! Goal: docs/modules.md is true. Method: its modules and pages become an application, its configuration is used, its
//! commands are run against the built binary, and their output is compared with the document.

use crate::server::document::{blocks, of_kind, try_commands};
use crate::server::{Plan, has};

const DOCUMENT: &str = include_str!("../../docs/modules.md");

#[test]
fn every_block_is_of_a_kind_that_is_tried() {
    for (fence, text) in blocks(DOCUMENT) {
        let kinds = ["lua module ", "html page ", "console", "toml"];
        assert!(kinds.iter().any(|kind| fence.starts_with(kind)), "```{fence}\n{text}");
    }
    assert!(of_kind(DOCUMENT, "lua module ").len() > 4, "the document has lost its examples");
}

#[test]
fn the_examples_of_the_document_answer_as_shown() {
    if !has("curl", "the_examples_of_the_document_answer_as_shown") {
        return;
    }
    let routes: Vec<_> = of_kind(DOCUMENT, "toml").into_iter().map(|(_, text)| text).collect();
    let mut plan = Plan::new().config(&(routes.join("\n") + "\n"));
    for (name, text) in of_kind(DOCUMENT, "lua module ") {
        plan.directory.write(&format!("app/{name}"), format!("{text}\n"));
    }
    for (name, text) in of_kind(DOCUMENT, "html page ") {
        plan = plan.file(name, format!("{text}\n"));
    }
    let server = plan.start();
    assert_eq!(server.printed_troubles(), "");
    try_commands(DOCUMENT, &server);
}
