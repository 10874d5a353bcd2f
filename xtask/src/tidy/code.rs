//! Rules about single tokens of code: unsafe in its crate, no ignored and no sleeping tests, nothing
//! left to be done later.

use crate::tidy::Finding;
use crate::tidy::source::{Source, has_word};
use crate::tidy::tree::Tree;

/// The only folders whose code may be unsafe: the kernel's face, LuaJIT's, and LMDB's.
const UNSAFE_FOLDERS: [&str; 3] =
    ["crates/sys/", "crates/script/src/engine/ffi/", "crates/store/src/ffi/"];

/// Words that mark unfinished work, in two pieces so that this file keeps its own rule.
const UNFINISHED: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];

/// The line before a sleep that is no wait: a client that is slow on purpose.
const PACED: &str = "// Paced:";

/// Files besides Rust in which unfinished work is looked for.
const UNFINISHED_ENDINGS: [&str; 7] = [".toml", ".sh", ".lua", ".js", ".css", ".html", ".ci/run"];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = tree.sources.iter().flat_map(check_source).collect();
    for file in &tree.texts {
        let looked_at = file.path.ends_with(".rs")
            || UNFINISHED_ENDINGS.iter().any(|ending| file.path.ends_with(ending));
        if !looked_at {
            continue;
        }
        for (number, line) in file.numbered_lines() {
            if let Some(word) = UNFINISHED.iter().find(|word| has_word(line, word)) {
                findings.push(Finding::new(
                    &file.path,
                    number,
                    format!("`{word}` is work without an owner"),
                    "do it now, or open an issue and take the mark away",
                ));
            }
        }
    }
    findings
}

fn check_source(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_safe = !UNSAFE_FOLDERS.iter().any(|folder| source.path.starts_with(folder));
    for (number, code) in source.numbered_code() {
        let mut report = |reason: &str, mend: &str| {
            findings.push(Finding::new(&source.path, number, reason, mend));
        };
        if is_safe && has_word(code, "unsafe") {
            report("unsafe outside the folders for it", "give crates/sys a safe face for it");
        }
        if is_safe && lifts_unsafe_lint(code) {
            report(
                "the unsafe_code lint is lifted outside the folders for it",
                "take the attribute away",
            );
        }
        if code.contains("#[ignore") {
            report(
                "an ignored test tests nothing",
                "run it, delete it, or print `SKIPPED <test>: <reason>` where it cannot run",
            );
        }
        let is_paced = number >= 2 && source.lines[number - 2].contains(PACED);
        if source.in_test[number - 1] && code.contains("thread::sleep") && !is_paced {
            report(
                "a test that sleeps is slow or wrong",
                "wait for the event itself, with a deadline",
            );
        }
    }
    findings
}

fn lifts_unsafe_lint(code: &str) -> bool {
    has_word(code, "unsafe_code") && (has_word(code, "allow") || has_word(code, "expect"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reasons(path: &str, text: &str) -> Vec<(usize, String)> {
        let found = check(&Tree::of(&[(path, text)]));
        found.into_iter().map(|finding| (finding.line, finding.reason)).collect()
    }

    #[test]
    fn unsafe_is_found_outside_its_folders_only() {
        let text =
            "//! A.\n// unsafe in words\nfn a() { unsafe { b() } }\n#[expect(unsafe_code)]\n";
        let found = reasons("crates/runtime/src/a.rs", text);
        assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [3, 4]);
        assert!(reasons("crates/sys/src/a.rs", text).is_empty());
        assert!(reasons("crates/script/src/engine/ffi/a.rs", text).is_empty());
        assert_eq!(reasons("crates/script/src/engine/a.rs", text).len(), 2);
    }

    #[test]
    fn ignored_and_sleeping_tests_are_found() {
        let text =
            "//! A.\n#[test]\n#[ignore = \"slow\"]\nfn a() { std::thread::sleep(second); }\n";
        let found = reasons("tests/a.rs", text);
        assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [3, 4]);
        assert_eq!(reasons("src/a.rs", text).len(), 1, "sleeping is banned in tests only");
    }

    #[test]
    fn unfinished_work_is_found_in_comments_too() {
        let text = format!("//! A.\n// {}: later\n", UNFINISHED[0]);
        assert_eq!(reasons("src/a.rs", &text).len(), 1);
        assert_eq!(reasons("xtask/a.toml", &text).len(), 1);
        assert!(reasons("NOTES.md", &text).is_empty());
    }
}
