//! The limits of size and today's exceptions, which may shrink and never grow.
//!
//! Owns the form of the ratchet file. Never raises a number in it: that takes a hand and a reason.

use std::collections::BTreeMap;

use crate::tidy::Finding;
use crate::tidy::sizes::{Size, Subject};
use crate::tidy::tree::Tree;

/// Where the exceptions are written.
pub(crate) const PATH: &str = "xtask/tidy-ratchet.txt";

/// Lines of a file without its test modules; a longer one needs an exception.
const FILE_LINES_MAX: usize = 400;

/// Lines of a function from its name to its last bracket; a longer one needs an exception.
const FUNCTION_LINES_MAX: usize = 70;

/// Not even an exception lets a file grow beyond this.
const FILE_LINES_CEILING: usize = 800;

/// Not even an exception lets a function grow beyond this.
const FUNCTION_LINES_CEILING: usize = 150;

fn limit(subject: &Subject) -> (usize, usize) {
    match subject {
        Subject::File { .. } => (FILE_LINES_MAX, FILE_LINES_CEILING),
        Subject::Function { .. } => (FUNCTION_LINES_MAX, FUNCTION_LINES_CEILING),
    }
}

/// One exception: the line it stands in, and the length that is let through.
struct Exception {
    line: usize,
    lines: usize,
}

/// The text of the ratchet file; empty when there is none.
pub(crate) fn text_in(tree: &Tree) -> &str {
    tree.texts.iter().find(|file| file.path == PATH).map_or("", |file| file.text.as_str())
}

/// Holds the sizes against the limits and the exceptions.
pub(crate) fn check(tree: &Tree, sizes: &[Size]) -> Vec<Finding> {
    let (mut exceptions, mut findings) = read(text_in(tree));
    for size in sizes {
        let exception = exceptions.remove(&size.subject);
        findings.extend(judge(size, exception.as_ref()));
    }
    for (subject, exception) in exceptions {
        findings.push(Finding::new(
            PATH,
            exception.line,
            format!("{} is no longer there", write_subject(&subject)),
            "delete the line (`cargo xtask tidy --lower`)",
        ));
    }
    findings
}

fn judge(size: &Size, exception: Option<&Exception>) -> Option<Finding> {
    let (most, ceiling) = limit(&size.subject);
    let (path, what) = match &size.subject {
        Subject::File { path } => (path, "the file".to_owned()),
        Subject::Function { path, name } => (path, format!("function {name}")),
    };
    let lines = size.lines;
    let Some(exception) = exception else {
        let reason = format!("{what} has {lines} lines, more than {most}");
        return (lines > most)
            .then(|| Finding::new(path, size.line, reason, "give each idea its own place"));
    };
    let mend = "lower the number (`cargo xtask tidy --lower`)";
    if lines > exception.lines {
        let reason = format!("{what} grew from {} to {lines} lines", exception.lines);
        return Some(Finding::new(path, size.line, reason, "take out as much as you put in"));
    }
    if lines > ceiling {
        let reason = format!("{what} has {lines} lines, and no exception goes beyond {ceiling}");
        return Some(Finding::new(path, size.line, reason, "divide it"));
    }
    if lines <= most {
        let reason = format!("{what} of {path} keeps the limit now");
        return Some(Finding::new(
            PATH,
            exception.line,
            reason,
            "delete the line (`cargo xtask tidy --lower`)",
        ));
    }
    let reason = format!("{what} of {path} shrank from {} to {lines} lines", exception.lines);
    (lines < exception.lines).then(|| Finding::new(PATH, exception.line, reason, mend))
}

/// The ratchet's text with shrunk numbers written and needless lines gone. Raises and adds nothing.
pub(crate) fn lowered(text: &str, sizes: &[Size]) -> String {
    let mut output = String::new();
    for line in text.lines() {
        let Some((subject, allowed)) = read_line(line) else {
            output.push_str(line);
            output.push('\n');
            continue;
        };
        let now = sizes.iter().find(|size| size.subject == subject).map_or(0, |size| size.lines);
        if now > limit(&subject).0 {
            output.push_str(&format!("{} {}\n", write_subject(&subject), now.min(allowed)));
        }
    }
    output
}

fn read(text: &str) -> (BTreeMap<Subject, Exception>, Vec<Finding>) {
    let mut exceptions = BTreeMap::new();
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        match read_line(line) {
            Some((subject, lines)) => {
                exceptions.insert(subject, Exception { line: number, lines });
            }
            None if line.is_empty() || line.starts_with('#') => {}
            None => findings.push(Finding::new(
                PATH,
                number,
                "the line is no exception",
                "write `file PATH LINES` or `function PATH NAME LINES`",
            )),
        }
    }
    (exceptions, findings)
}

fn read_line(line: &str) -> Option<(Subject, usize)> {
    let parts: Vec<&str> = line.split_whitespace().collect();
    match parts[..] {
        ["file", path, lines] => {
            Some((Subject::File { path: path.to_owned() }, lines.parse().ok()?))
        }
        ["function", path, name, lines] => Some((
            Subject::Function { path: path.to_owned(), name: name.to_owned() },
            lines.parse().ok()?,
        )),
        _ => None,
    }
}

fn write_subject(subject: &Subject) -> String {
    match subject {
        Subject::File { path } => format!("file {path}"),
        Subject::Function { path, name } => format!("function {path} {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::sizes::measure;

    /// Findings for a file of that many lines under that ratchet.
    fn findings(lines: usize, ratchet: &str) -> Vec<String> {
        let text = "//! A.\n".repeat(lines);
        let tree = Tree::of(&[("src/a.rs", &text), (PATH, ratchet)]);
        check(&tree, &measure(&tree)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_limit_holds_and_an_exception_lifts_it_to_its_number_only() {
        assert!(findings(400, "").is_empty());
        assert!(findings(401, "")[0].starts_with("src/a.rs:1: the file has 401 lines"));
        assert!(findings(450, "file src/a.rs 450\n").is_empty());
        assert!(findings(451, "file src/a.rs 450\n")[0].contains("grew from 450 to 451"));
        assert!(findings(900, "file src/a.rs 900\n")[0].contains("beyond 800"));
    }

    #[test]
    fn a_shrunk_a_needless_a_dead_and_a_broken_exception_are_found() {
        assert!(findings(440, "\nfile src/a.rs 450\n")[0].starts_with(&format!("{PATH}:2: ")));
        assert!(findings(300, "file src/a.rs 450\n")[0].contains("keeps the limit now"));
        assert!(findings(300, "file src/gone.rs 450\n")[0].contains("no longer there"));
        assert!(findings(300, "src/a.rs: 450\n")[0].contains("no exception"));
    }

    #[test]
    fn long_functions_are_found() {
        let text = format!("//! A.\nfn long() {{\n{}}}\n", "    a();\n".repeat(69));
        let tree = Tree::of(&[("src/a.rs", &text)]);
        let found = check(&tree, &measure(&tree));
        assert_eq!(found.len(), 1);
        assert!(found[0].reason.contains("function long has 71 lines"));
    }

    #[test]
    fn lowering_never_raises_and_never_adds() {
        let text = "//! A.\n".repeat(430);
        let tree = Tree::of(&[("src/a.rs", &text), ("src/b.rs", &text)]);
        let sizes = measure(&tree);
        assert_eq!(lowered("# why\nfile src/a.rs 450\n", &sizes), "# why\nfile src/a.rs 430\n");
        assert_eq!(
            lowered("file src/a.rs 410\nfile src/c.rs 500\n", &sizes),
            "file src/a.rs 410\n"
        );
    }
}
