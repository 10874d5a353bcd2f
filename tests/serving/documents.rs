//! Goal: what README and the documents show is what happens. Method: every block with commands is run in a directory of
//! its own, against the built binary, and its output is compared; configurations are checked, Lua is compiled. A block
//! that is not run says why.
//!
//! The meaning of the word after the fence, and the words that may follow it:
//!
//! - `console`: `$ ` begins a command, the lines below are its output, in which `...` or `…` stands for any text.
//!   `similar`: numbers may differ, and JSON has the same shape. `labels`: the lines begin with these words, among
//!   others. `output differs: REASON`: the commands succeed. `not run: REASON`: they are not run. The reasons are
//!   listed here.
//! - `sh`: `not run: REASON` only. Whatever is run is a `console`.
//! - `toml`, `lua`, `html`, with the name of a file: it is there for the commands that follow. Without: it is checked
//!   by itself.
//! - `rust`: the whole of the example whose name follows.
//! - `json`, `text`, `http`, `ini`: no commands.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::server::document::blocks::{Block, blocks_of};
use crate::server::document::likeness::Likeness;
use crate::server::document::session::Session;
use crate::server::has;

/// Why commands are not run, or their output is not compared.
const REASONS: [&str; 8] = [
    "it builds the project",
    "it takes minutes",
    "it changes the host",
    "it needs root",
    "it holds 15,000 connections",
    "it depends on the host",
    "it names files of an installed server",
    "it needs NATS",
];

/// Documents of which blocks of these kinds have a test of their own, which is in this file.
const ELSEWHERE: [(&str, &[&str], &str); 3] = [
    ("docs/pages.md", &["html", "console", "text", "json"], "tests/serving/pages_document.rs"),
    ("docs/modules.md", &["lua", "html", "console", "toml"], "tests/serving/modules_document.rs"),
    ("docs/configuration.md", &["toml"], "crates/config/tests/config/document.rs"),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The documents with their names.
fn documents() -> Vec<(String, String)> {
    let in_docs = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> =
        in_docs.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    paths.extend(["README.md", "CONTRIBUTING.md"].map(|name| root().join(name)));
    paths.sort();
    let named = |path: PathBuf| {
        let name = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
        (name, fs::read_to_string(path).unwrap())
    };
    paths.into_iter().map(named).collect()
}

/// Whether another test takes blocks of this kind. That test exists, and reads this document.
fn is_elsewhere(block: &Block<'_>) -> bool {
    let its = ELSEWHERE
        .iter()
        .find(|(document, kinds, _)| block.document == *document && kinds.contains(&block.kind));
    let Some((document, _, test)) = its else { return false };
    let test = fs::read_to_string(root().join(test)).unwrap();
    assert!(test.contains(document), "{block}");
    true
}

/// The way a block is tried.
enum Deed<'b> {
    Run(Likeness),
    OnlyRun(&'b str),
    Leave(&'b str),
}

fn deed<'b>(block: &Block<'b>) -> Deed<'b> {
    let known = |reason: &str| {
        assert!(REASONS.contains(&reason), "{block}: the reason is not among those of this test")
    };
    if let Some(reason) = block.mark.strip_prefix("not run: ") {
        known(reason);
        return Deed::Leave(reason);
    }
    if let Some(reason) = block.mark.strip_prefix("output differs: ") {
        known(reason);
        return Deed::OnlyRun(reason);
    }
    match block.mark {
        "" => Deed::Run(Likeness::Exact),
        "similar" => Deed::Run(Likeness::Similar),
        "labels" => Deed::Run(Likeness::Labels),
        _ => panic!("{block}: unknown mark"),
    }
}

/// Tries a block; returns a reason if something of it is not tried.
fn try_block<'b>(session: &mut Session, block: &Block<'b>) -> Option<&'b str> {
    let has_file = !block.mark.is_empty() && !block.mark.contains(' ');
    match block.kind {
        "console" => match deed(block) {
            Deed::Run(likeness) => session.try_block(block, likeness),
            Deed::OnlyRun(reason) => {
                session.try_block(block, Likeness::None);
                return Some(reason);
            }
            Deed::Leave(reason) => return Some(reason),
        },
        "sh" => match deed(block) {
            Deed::Leave(reason) => return Some(reason),
            Deed::Run(_) | Deed::OnlyRun(_) => panic!("{block}: what is run is a `console`"),
        },
        "toml" if block.mark.starts_with("not run: ") => {
            let Deed::Leave(reason) = deed(block) else { panic!("{block}") };
            return Some(reason);
        }
        "toml" if has_file => {
            session.write(block.mark, block.text);
            match block.mark.rsplit_once('/') {
                Some((directory, _)) => session.check(block, &[directory]),
                None => session.check(block, &["site", "--config", block.mark]),
            }
        }
        "toml" => {
            session.write("alone/velodrome.toml", block.text);
            session.check(block, &["site", "--config", "alone/velodrome.toml"]);
        }
        "lua" | "html" if has_file => session.write(block.mark, block.text),
        "lua" => {
            // A piece of a module is no module yet.
            let rest = if block.text.contains("return") { "" } else { "return function() end\n" };
            session.write("compiled/app/main.lua", &format!("{}{rest}", block.text));
            session.write("compiled/public/velodrome.txt", "");
            session.check(block, &["compiled"]);
        }
        "html" if block.text.contains("<%") => {
            session.write("alone/pages/a.page.html", block.text);
            session.write("alone/app/secrets.lua", "return { tokens = '' }");
            session.write("alone/pages.toml", "root = \"pages\"\n[pages]\napp = \"app\"\n");
            session.check(block, &["alone/pages", "--config", "alone/pages.toml"]);
        }
        "html" => {}
        "rust" => {
            let example = fs::read_to_string(root().join(block.mark)).unwrap();
            assert!(example.ends_with(block.text), "{block}: it is not the end of that file");
        }
        "json" => assert!(serde_json::from_str::<serde_json::Value>(block.text).is_ok(), "{block}"),
        "text" | "http" | "ini" => {
            assert!(
                !block.text.lines().any(|line| line.starts_with("$ ")),
                "{block}: commands are in a `console`"
            );
        }
        _ => panic!("{block}: unknown kind"),
    }
    None
}

/// Tries all blocks of a document; returns how many, and the reasons of those that are not tried.
fn try_document(name: &str, text: &str) -> (usize, Vec<String>) {
    let blocks = blocks_of(name, text);
    let mut session = Session::new();
    let ours: Vec<_> = blocks.iter().filter(|block| !is_elsewhere(block)).collect();
    // A configuration may name a module that is shown below it.
    for block in ours.iter().filter(|block| block.kind == "lua" && block.mark.starts_with("app/")) {
        session.write(block.mark, block.text);
        session.write(&format!("alone/{}", block.mark), block.text);
    }
    let reasons = ours.iter().filter_map(|block| try_block(&mut session, block).map(str::to_owned));
    let reasons: Vec<String> = reasons.collect();
    (ours.len(), reasons)
}

#[test]
fn every_shown_command_prints_the_shown_output() {
    let test = "every_shown_command_prints_the_shown_output";
    if !has("curl", test) || !has("redis-cli", test) {
        return;
    }
    let documents = documents();
    let outcomes: Vec<(usize, Vec<String>)> = std::thread::scope(|scope| {
        let begun: Vec<_> =
            documents.iter().map(|(name, text)| scope.spawn(|| try_document(name, text))).collect();
        begun.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let blocks: usize = outcomes.iter().map(|(count, _)| count).sum();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for reason in outcomes.iter().flat_map(|(_, reasons)| reasons) {
        *counts.entry(reason).or_default() += 1;
    }
    println!(
        "{blocks} blocks of {} documents; not run or not compared: {counts:?}",
        documents.len()
    );
    assert!(blocks > 40, "the documents have lost their examples");
    assert!(counts.values().sum::<usize>() <= 35, "more and more is not run: {counts:?}");
}
