//! One name, one meaning: no two public types of the workspace have the same name.
//!
//! Owns the list of exceptions. Types within a crate's private modules count too: a reader meets them by their name.

use std::collections::BTreeMap;

use crate::tidy::Finding;
use crate::tidy::tree::Tree;

/// Names that two types may have, and why.
const SHARED: [(&str, &str); 2] = [
    ("Waker", "the model compiles mailboxes with its own in place of the kernel's"),
    ("WakeSource", "the model compiles mailboxes with its own in place of the kernel's"),
];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut known: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
    let mut findings = Vec::new();
    let sources = tree.sources.iter().filter(|source| is_ours(&source.path));
    for source in sources {
        for (line, code) in source.numbered_code().filter(|(line, _)| !source.in_test[line - 1]) {
            let Some(name) = public_type(code) else { continue };
            if SHARED.iter().any(|(shared, _)| *shared == name) {
                continue;
            }
            let Some((path, first)) = known.get(name) else {
                known.insert(name, (&source.path, line));
                continue;
            };
            let reason = format!("`{name}` is the name of another public type ({path}:{first})");
            findings.push(Finding::new(&source.path, line, reason, "name it for what it is"));
        }
    }
    findings
}

/// Whether the public types of a file are met outside of it: targets of fuzzing are programs.
fn is_ours(path: &str) -> bool {
    path.contains("src/") && !path.starts_with("fuzz/")
}

/// The name of the type that a line of code declares as public.
fn public_type(code: &str) -> Option<&str> {
    let rest = code.trim_start().strip_prefix("pub ")?;
    let kinds = ["struct ", "enum ", "trait ", "type ", "union "];
    let rest = kinds.iter().find_map(|kind| rest.strip_prefix(kind))?;
    let end = rest.find(|sign: char| !sign.is_alphanumeric() && sign != '_').unwrap_or(rest.len());
    Some(&rest[..end]).filter(|name| name.starts_with(|first: char| first.is_ascii_uppercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_public_type_of_a_name_is_found() {
        let tree = Tree::of(&[
            ("crates/a/src/lib.rs", "//! A.\npub struct Kind(u8);\npub struct Waker;\n"),
            (
                "crates/b/src/lib.rs",
                "//! B.\npub enum Kind {\n}\npub struct Waker;\nstruct Other;\n",
            ),
            (
                "crates/b/src/c.rs",
                "//! C.\nstruct Other;\n#[cfg(test)]\nmod tests {\npub struct Kind;\n}\n",
            ),
        ]);
        let findings = check(&tree);
        assert_eq!(findings.len(), 1);
        assert_eq!((findings[0].file.as_str(), findings[0].line), ("crates/b/src/lib.rs", 2));
    }
}
