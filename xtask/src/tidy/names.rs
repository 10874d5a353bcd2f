//! Rules about names and headers: no module that is a drawer, every file says what it owns, and a test is named by a
//! condition and its result.

use crate::tidy::Finding;
use crate::tidy::tree::Tree;

/// Names that say nothing about what is inside.
const FORBIDDEN: [&str; 5] = ["util", "utils", "common", "helpers", "misc"];

/// Characters of a line of comment at most: a reader has two files side by side.
const COMMENT_WIDTH: usize = 120;

/// First words of a test's name that leave open what is tested.
const VAGUE: [&str; 3] = ["what", "who", "nobody"];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in &tree.sources {
        if !source.lines.first().is_some_and(|line| line.starts_with("//!")) {
            findings.push(Finding::new(
                &source.path,
                1,
                "the file does not say what it owns",
                "open it with a `//!` line: what it owns and what it never does",
            ));
        }
        for (line, text) in source.lines.iter().enumerate() {
            if is_wide_comment(text) {
                findings.push(Finding::new(
                    &source.path,
                    line + 1,
                    format!("the comment is wider than {COMMENT_WIDTH} characters"),
                    "break the line",
                ));
            }
        }
        for (line, code) in source.numbered_code() {
            let module = code.trim().trim_start_matches("pub ").trim_start_matches("pub(crate) ");
            let name =
                module.strip_prefix("mod ").map(|rest| rest.trim_end_matches([';', ' ', '{']));
            if let Some(name) = name.filter(|name| FORBIDDEN.contains(name)) {
                findings.push(drawer(&source.path, line, name));
            }
            let function = code.trim().strip_prefix("fn ").filter(|_| source.in_test[line - 1]);
            let first = function.and_then(|name| name.split('_').next());
            if first.is_some_and(|first| VAGUE.contains(&first)) {
                findings.push(Finding::new(
                    &source.path,
                    line,
                    "the name of the test has no subject",
                    "name the condition and the result: `idle_connection_is_closed_without_response`",
                ));
            }
        }
    }
    for path in tree.paths.iter().filter(|path| path.ends_with(".rs")) {
        let part = |part: &str| FORBIDDEN.contains(&part.trim_end_matches(".rs"));
        if let Some(name) = path.split('/').find(|name| part(name)) {
            findings.push(drawer(path, 1, name));
        }
    }
    findings
}

/// A word that is too long by itself, such as an address, cannot be broken.
fn is_wide_comment(text: &str) -> bool {
    let comment = text.trim_start();
    let words = comment.split(' ').filter(|word| !word.is_empty()).count();
    comment.starts_with("//")
        && text.chars().count() > COMMENT_WIDTH
        && words > 2
        && !is_sample(comment)
}

/// Code and tables in a comment are as wide as what they show.
fn is_sample(comment: &str) -> bool {
    let text = comment.trim_start_matches(['/', '!']);
    text.contains("  ")
        || text.trim_start().starts_with(['{', '|'])
        || text.trim_end().ends_with(';')
}

fn drawer(path: &str, line: usize, name: &str) -> Finding {
    Finding::new(
        path,
        line,
        format!("`{name}` is a drawer: anything fits into it"),
        "name the module for the one idea it holds",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_header_is_found() {
        let tree = Tree::of(&[("src/a.rs", "use std::fs;\n"), ("src/b.rs", "//! Owns b.\n")]);
        let findings = check(&tree);
        assert_eq!(findings.len(), 1);
        assert_eq!((findings[0].file.as_str(), findings[0].line), ("src/a.rs", 1));
    }

    #[test]
    fn wide_comment_is_found_and_wide_sample_is_not() {
        let wide = "word ".repeat(30);
        let text = format!(
            "//! A.\n// {wide}\n//  table  {wide}\n// https://example.org/{}\n",
            "x".repeat(120)
        );
        let findings = check(&Tree::of(&[("src/a.rs", &text)]));
        assert_eq!(findings.iter().map(|finding| finding.line).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn vague_test_name_is_found() {
        let text = "//! A.\nfn what_is_no_test() {}\n#[cfg(test)]\nmod tests {\n    #[test]\n    \
                    fn who_waits_is_served() {}\n    #[test]\n    fn waiting_client_is_served() {}\n}\n";
        let findings = check(&Tree::of(&[("src/a.rs", text)]));
        assert_eq!(findings.iter().map(|finding| finding.line).collect::<Vec<_>>(), [6]);
    }

    #[test]
    fn drawers_are_found_by_file_folder_and_module() {
        let tree = Tree::of(&[
            ("src/util.rs", "//! A.\n"),
            ("tests/common/mod.rs", "//! B.\n"),
            ("src/c.rs", "//! C.\npub(crate) mod misc {\n}\n"),
            ("src/utility_bill.rs", "//! D.\nmod helpers_of_the_poor;\n"),
        ]);
        let places: Vec<_> =
            check(&tree).into_iter().map(|finding| (finding.file, finding.line)).collect();
        assert_eq!(
            places,
            [
                ("src/c.rs".to_owned(), 2),
                ("src/util.rs".to_owned(), 1),
                ("tests/common/mod.rs".to_owned(), 1)
            ]
        );
    }
}
