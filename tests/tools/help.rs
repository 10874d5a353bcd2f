//! Goal: help texts and documents name verbs and flags that exist. Method: the help of every verb is read; each
//! `velodrome ...` in it, in the documents and in the examples is compared with the help of the verb that it calls.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::server::{PROGRAM, errors_of, printed_by, run};

/// The help of each verb, by its words: `bench http`.
fn all_help() -> BTreeMap<String, String> {
    let mut known = BTreeMap::new();
    let mut wanted = vec![String::new()];
    while let Some(verb) = wanted.pop() {
        let output = run(Command::new(PROGRAM).args(verb.split_whitespace()).arg("--help"));
        assert!(output.status.success(), "{verb}: {}", errors_of(&output));
        let help = printed_by(&output);
        let list = help.split_once("\nCommands:\n").map(|(_, rest)| rest);
        let list = list.and_then(|rest| rest.split("\n\n").next()).unwrap_or_default();
        for line in list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   ")) {
            let name = line.split_whitespace().next().unwrap();
            if name != "help" {
                wanted.push(format!("{verb} {name}").trim().to_owned());
            }
        }
        known.insert(verb, help);
    }
    known
}

/// The calls in a text: what follows `velodrome` as far as it belongs to the command.
fn calls(text: &str) -> Vec<String> {
    let mut calls = Vec::new();
    for (at, name) in text.match_indices("velodrome ") {
        let is_word =
            text[..at].chars().next_back().is_none_or(|before| " `$/'\"(\n|".contains(before));
        let rest = &text[at + name.len()..];
        let rest = rest.replace("\\\n", " ");
        let end = rest.find(['`', '\n', '|', '>', '&', '#', ';', '(']).unwrap_or(rest.len());
        if is_word {
            // Behind two spaces, help texts explain the command.
            calls.push(rest[..end].split("  ").next().unwrap().to_owned());
        }
    }
    calls
}

/// The faults of a call: an unknown flag of a known verb.
fn strangers(call: &str, known: &BTreeMap<String, String>) -> Vec<String> {
    // A quoted word is a command of its own, or a value.
    let unquoted: Vec<&str> = call.split(['\'', '"']).step_by(2).collect();
    let unquoted = unquoted.join(" _ ");
    let mut verb = String::new();
    let mut words = unquoted.split_whitespace().peekable();
    while let Some(word) = words.peek() {
        let longer = format!("{verb} {word}").trim().to_owned();
        if !known.contains_key(&longer) {
            break;
        }
        verb = longer;
        words.next();
    }
    if verb.is_empty() {
        return Vec::new();
    }
    let help = &known[&verb];
    let has = |flag: &str| {
        help.split(|character: char| !character.is_ascii_alphanumeric() && character != '-')
            .any(|word| word == flag)
    };
    let flags = words
        .take_while(|word| *word != "--")
        .filter(|word| word.starts_with('-') && word.len() > 1);
    let flags =
        flags.map(|flag| flag.split('=').next().unwrap().trim_end_matches([',', '.', ')', ':']));
    flags
        .filter(|flag| !has(flag))
        .map(|flag| format!("`velodrome {verb}` has no {flag}"))
        .collect()
}

#[test]
fn every_flag_that_is_named_exists() {
    let known = all_help();
    assert!(known.len() > 25, "{:?}", known.keys());
    let mut texts: Vec<(String, String)> = known
        .iter()
        .map(|(verb, help)| (format!("velodrome {verb} --help"), help.clone()))
        .collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = ["docs", "docs/decisions"].map(|folder| fs::read_dir(root.join(folder)).unwrap());
    let docs = docs.into_iter().flatten().map(|entry| entry.unwrap().path());
    let markdown = docs.filter(|path| path.extension().is_some_and(|end| end == "md"));
    let others = [
        "README.md",
        "CONTRIBUTING.md",
        "ARCHITECTURE.md",
        "examples/site/index.html",
        "examples/site/velodrome.toml",
    ];
    for path in markdown.chain(others.map(|name| root.join(name))) {
        texts.push((path.display().to_string(), fs::read_to_string(path).unwrap()));
    }
    let mut wrong = Vec::new();
    let mut count = 0;
    for (place, text) in &texts {
        for call in calls(text) {
            count += 1;
            wrong.extend(
                strangers(&call, &known).into_iter().map(|what| format!("{place}: {what}")),
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 150, "only {count} calls were found");
}

#[test]
fn a_flag_that_does_not_exist_is_found() {
    let known = all_help();
    let wrong: Vec<String> = calls(
        "`velodrome serve site --listne 1`, `velodrome bench http URL -c 1 -y \
                                    --json`; velodrome tune ladder --server 'x --y' --step 'z'",
    )
    .iter()
    .flat_map(|call| strangers(call, &known))
    .collect();
    assert_eq!(wrong, ["`velodrome serve` has no --listne", "`velodrome bench http` has no -y"]);
}
