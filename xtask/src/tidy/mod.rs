//! `cargo xtask tidy`: the house rules as a test.
//!
//! Owns the list of rules and the form of a finding. Never changes a file, except the ratchet when
//! asked to lower it.

mod bounds;
mod code;
mod cycles;
mod documents;
mod graph;
mod links;
mod names;
mod ratchet;
mod sizes;
mod source;
mod std_types;
mod traces;
mod tree;
mod types;

use std::fmt;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::workspace;

use tree::Tree;

/// Something that breaks a rule: where, why it matters, and the mend.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    file: String,
    line: usize,
    reason: String,
    mend: String,
}

impl Finding {
    fn new(file: &str, line: usize, reason: impl Into<String>, mend: impl Into<String>) -> Finding {
        Finding { file: file.to_owned(), line, reason: reason.into(), mend: mend.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}; {}", self.file, self.line, self.reason, self.mend)
    }
}

/// Runs the verb.
pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    let mut arguments = Arguments::new(words);
    let lower = arguments.take_switch("--lower");
    arguments.finish()?;
    let tree = Tree::read()?;
    if lower {
        lower_ratchet(&tree)?;
    }
    let mut findings = rules(&tree);
    findings.extend(graph::check(&graph::read()?));
    findings.sort();
    for finding in &findings {
        println!("{finding}");
    }
    if findings.is_empty() {
        println!("tidy: {} files keep the rules", tree.paths.len());
        return Ok(());
    }
    Err(Failure::Work(format!("tidy: {} findings", findings.len())))
}

/// Every rule that needs nothing but the files.
fn rules(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(names::check(tree));
    findings.extend(types::check(tree));
    findings.extend(bounds::check(tree));
    findings.extend(code::check(tree));
    findings.extend(cycles::check(tree));
    findings.extend(std_types::check(tree));
    findings.extend(traces::check(tree));
    findings.extend(documents::check(tree));
    findings.extend(links::check(tree));
    findings.extend(ratchet::check(tree, &sizes::measure(tree)));
    findings
}

fn lower_ratchet(tree: &Tree) -> Result<(), Failure> {
    let before = ratchet::text_in(tree);
    let after = ratchet::lowered(before, &sizes::measure(tree));
    if after != before {
        std::fs::write(workspace::root().join(ratchet::PATH), after)?;
        println!("tidy: lowered {}; run tidy again", ratchet::PATH);
    }
    Ok(())
}
