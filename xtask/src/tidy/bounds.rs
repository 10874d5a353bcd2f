//! Rule about limits: every constant in a `limits.rs` says in words what happens at the bound.

use crate::tidy::Finding;
use crate::tidy::source::{Source, words};
use crate::tidy::tree::Tree;

/// A documentation with fewer words than this cannot hold number, unit and consequence.
const DOCUMENTATION_WORDS_MIN: usize = 5;

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.sources
        .iter()
        .filter(|source| source.path.ends_with("/limits.rs"))
        .flat_map(undocumented)
        .collect()
}

fn undocumented(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, code) in source.numbered_code() {
        let Some(name) = constant_name(code).filter(|_| !source.in_test[number - 1]) else {
            continue;
        };
        if !is_sentence(&documentation_above(source, number - 1)) {
            findings.push(Finding::new(
                &source.path,
                number,
                format!("limit {name} does not say what happens when it is reached"),
                "document it with a sentence: number, unit, consequence",
            ));
        }
    }
    findings
}

/// The name a line declares as a constant for others; a private one is a unit, not a limit.
fn constant_name(code: &str) -> Option<&str> {
    if !code.trim_start().starts_with("pub") {
        return None;
    }
    let mut found = words(code).map(|(_, word)| word).skip_while(|word| *word != "const");
    found.next()?;
    found.next().filter(|name| *name != "fn" && *name != "_" && code.contains(':'))
}

fn documentation_above(source: &Source, line: usize) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for above in source.lines[..line].iter().rev() {
        let above = above.trim();
        if let Some(text) = above.strip_prefix("///") {
            // The target of a link is no sentence.
            parts.extend(Some(text.trim()).filter(|text| !text.contains("]: ")));
        } else if !above.starts_with("#[") {
            break;
        }
    }
    parts.reverse();
    parts.join(" ")
}

fn is_sentence(text: &str) -> bool {
    let ends = text.trim_end().ends_with(['.', '!', '`', ')']);
    ends && text.split_whitespace().count() >= DOCUMENTATION_WORDS_MIN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_without_a_sentence_is_found() {
        let text = "//! Limits.\n\
            /// Bytes of a [head]; a longer one is answered with 431.\n\
            ///\n\
            /// [head]: crate::head\n\
            #[doc(alias = \"head\")]\n\
            pub const GOOD: usize = 1;\n\
            /// Bytes.\n\
            pub const SHORT: usize = 2;\n\
            pub const BARE: usize = 3;\n\
            pub const fn computed(a: usize) -> usize { a }\n\
            const _: () = assert!(GOOD < 2);\n\
            const KIB: usize = 1024;\n\
            #[cfg(test)]\nmod tests {\n    const SAMPLE: usize = 1;\n}\n";
        let lines = |path: &str| -> Vec<usize> {
            check(&Tree::of(&[(path, text)])).iter().map(|finding| finding.line).collect()
        };
        assert_eq!(lines("crates/a/src/limits.rs"), [8, 9]);
        assert!(lines("crates/a/src/other.rs").is_empty());
    }
}
