//! Rules about documents: the change log is open for the next release, and nothing names a verb of
//! these tools that does not exist.

use crate::tidy::Finding;
use crate::tidy::source::is_word_character;
use crate::tidy::tree::Tree;
use crate::verbs::VERBS;

/// How the tools are called in text.
const CALL: &str = "cargo xtask ";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = change_log(tree);
    for file in &tree.texts {
        for (number, line) in file.numbered_lines() {
            for (at, _) in line.match_indices(CALL) {
                if let Some(stranger) = stranger(&line[at + CALL.len()..]) {
                    findings.push(Finding::new(
                        &file.path,
                        number,
                        format!("`{CALL}{stranger}` does not exist"),
                        "name a verb of `cargo xtask help`, or add the verb to xtask/src/verbs.rs",
                    ));
                }
            }
        }
    }
    findings
}

fn change_log(tree: &Tree) -> Vec<Finding> {
    let Some(file) = tree.texts.iter().find(|file| file.path == "CHANGELOG.md") else {
        return vec![Finding::new(
            "CHANGELOG.md",
            1,
            "there is no change log",
            "add one with a section `## Unreleased`",
        )];
    };
    let opened = |line: &str| matches!(line.trim_end(), "## Unreleased" | "## [Unreleased]");
    if file.text.lines().any(opened) {
        return Vec::new();
    }
    vec![Finding::new(
        &file.path,
        1,
        "there is no place for the next change",
        "add a section `## Unreleased` at the top",
    )]
}

/// The words after the call when they name no verb, or no sub-verb of a verb that has some.
fn stranger(rest: &str) -> Option<String> {
    let name = leading_word(rest);
    // `cargo xtask VERB` and `cargo xtask [..]` speak of verbs in general.
    if !name.starts_with(|character: char| character.is_ascii_lowercase()) || name == "help" {
        return None;
    }
    let Some(verb) = VERBS.iter().find(|verb| verb.name == name) else {
        return Some(name.to_owned());
    };
    let sub_verb = rest[name.len()..].strip_prefix(' ').map_or("", leading_word);
    let named = sub_verb.starts_with(|character: char| character.is_ascii_lowercase());
    if !verb.sub_verbs.is_empty() && named && !verb.sub_verbs.contains(&sub_verb) {
        return Some(format!("{name} {sub_verb}"));
    }
    None
}

fn leading_word(text: &str) -> &str {
    let end = text.find(|character| !is_word_character(character)).unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: (&str, &str) = ("CHANGELOG.md", "# Changes\n\n## Unreleased\n");

    #[test]
    fn a_change_log_without_its_section_is_found() {
        assert_eq!(check(&Tree::of(&[])).len(), 1);
        assert_eq!(check(&Tree::of(&[("CHANGELOG.md", "# Changes\n\n## 0.1.0\n")])).len(), 1);
        assert!(check(&Tree::of(&[LOG])).is_empty());
    }

    #[test]
    fn a_verb_that_does_not_exist_is_found() {
        let text = format!(
            "run `{CALL}test`, `{CALL}bench floor` or {CALL}VERB\n{CALL}dance\n{CALL}bench moon\n"
        );
        let findings = check(&Tree::of(&[LOG, ("README.md", &text)]));
        let reasons: Vec<_> =
            findings.iter().map(|finding| (finding.line, finding.reason.as_str())).collect();
        assert_eq!(
            reasons,
            [
                (2, concat!("`cargo ", "xtask dance` does not exist")),
                (3, concat!("`cargo ", "xtask bench moon` does not exist"))
            ]
        );
    }
}
