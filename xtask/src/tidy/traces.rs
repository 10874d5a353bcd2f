//! Rules about what must not be left in a file: paths of one machine, marks of a merge, leavings of
//! editors and of tools that write commits.

use crate::tidy::Finding;
use crate::tidy::source::is_word_character;
use crate::tidy::tree::Tree;

/// Absolute folders of one machine, in two pieces so that this file keeps its own rule.
const MACHINE_FOLDERS: [&str; 3] =
    [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/")];

/// Openings of lines that a merge leaves behind.
const MERGE_MARKS: [&str; 3] =
    [concat!("<<<<", "<<< "), concat!(">>>>", ">>> "), concat!("||||", "||| ")];

/// Words (compared in small letters) by which tools sign what they wrote.
const SIGNATURES: [&str; 3] = [
    concat!("co-author", "ed-by:"),
    concat!("generated ", "with ["),
    concat!("as an ai lang", "uage model"),
];

/// Endings of files that editors and patch programs leave behind.
const LEAVINGS: [&str; 7] = [".orig", ".rej", ".bak", ".swp", ".swo", "~", ".DS_Store"];

/// Folders of one developer's tools.
const TOOL_FOLDERS: [&str; 4] = [".idea", ".vscode", ".cursor", "__pycache__"];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for path in &tree.paths {
        let leaving = LEAVINGS.iter().any(|ending| path.ends_with(ending));
        let folder = path.split('/').any(|part| TOOL_FOLDERS.contains(&part));
        if leaving || folder {
            findings.push(Finding::new(
                path,
                1,
                "the file belongs to one developer's tools",
                "delete it, or ignore it in your own git configuration",
            ));
        }
    }
    for file in &tree.texts {
        for (number, line) in file.numbered_lines() {
            if let Some((reason, mend)) = trace(line) {
                findings.push(Finding::new(&file.path, number, reason, mend));
            }
        }
    }
    findings
}

fn trace(line: &str) -> Option<(String, &'static str)> {
    if let Some(folder) = MACHINE_FOLDERS.iter().find(|folder| has_absolute(line, folder)) {
        return Some((format!("{folder} exists on one machine only"), "use a path in the project"));
    }
    if MERGE_MARKS.iter().any(|mark| line.starts_with(mark)) {
        return Some(("a merge was left half done".to_owned(), "resolve it"));
    }
    let small = line.to_lowercase();
    if SIGNATURES.iter().any(|signature| small.contains(signature)) {
        return Some(("a tool signed its work here".to_owned(), "take the signature away"));
    }
    None
}

/// Whether `folder` stands in the line as the start of a path, not in the middle of one.
fn has_absolute(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before
            .is_some_and(|character| is_word_character(character) || "./-}>*~".contains(character))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        let folder = MACHINE_FOLDERS[0];
        assert_eq!(count("README.md", &format!("see {folder}main\n")), 1);
        assert_eq!(count("src/a.rs", &format!("//! A.\nopen(\"{folder}x\")\n")), 1);
        assert_eq!(count("README.md", &format!("https://example.org{folder}x\n")), 0);
    }

    #[test]
    fn merge_marks_signatures_and_leavings_are_found() {
        assert_eq!(count("a.md", &format!("{}HEAD\n", MERGE_MARKS[0])), 1);
        assert_eq!(count("a.md", &format!("{} x\n", SIGNATURES[0].to_uppercase())), 1);
        assert_eq!(count("src/a.rs.orig", ""), 1);
        assert_eq!(count(".vscode/settings.json", "{}"), 1);
        assert_eq!(count("src/a.rs", "//! A.\n"), 0);
    }
}
