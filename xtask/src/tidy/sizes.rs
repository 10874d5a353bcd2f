//! How long files and functions are.
//!
//! Owns the measuring. Never knows what is too long: that is the ratchet.

use crate::tidy::source::{Source, closing_line, words};
use crate::tidy::tree::Tree;

/// A file or a function.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Subject {
    File { path: String },
    Function { path: String, name: String },
}

/// A subject, the line it starts at, and its length.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) subject: Subject,
    pub(crate) line: usize,
    pub(crate) lines: usize,
}

/// All files and functions of the tree. Functions of one name in a file count as their longest.
pub(crate) fn measure(tree: &Tree) -> Vec<Size> {
    let mut sizes: Vec<Size> = Vec::new();
    for source in &tree.sources {
        let path = source.path.clone();
        sizes.push(Size { subject: Subject::File { path }, line: 1, lines: source.line_count() });
        for function in functions(source) {
            match sizes.iter_mut().find(|size| size.subject == function.subject) {
                Some(known) if known.lines < function.lines => *known = function,
                Some(_) => {}
                None => sizes.push(function),
            }
        }
    }
    sizes
}

fn functions(source: &Source) -> Vec<Size> {
    let mut found = Vec::new();
    let of_functions = source.code.iter().enumerate().filter(|(_, code)| code.contains("fn"));
    for (index, code) in of_functions {
        for (column, word) in words(code) {
            if word != "fn" {
                continue;
            }
            // A function pointer type has no name after `fn`.
            let Some((name_at, name)) = words(&code[column + 2..]).next() else { continue };
            if !code[column + 2..column + 2 + name_at].trim().is_empty() {
                continue;
            }
            if let Some(last) = body_end(&source.code, index, column) {
                found.push(Size {
                    subject: Subject::Function { path: source.path.clone(), name: name.to_owned() },
                    line: index + 1,
                    lines: last - index + 1,
                });
            }
        }
    }
    found
}

/// The last line of the body of the function that starts there; none when it has no body.
fn body_end(code: &[String], line: usize, column: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (index, text) in code.iter().enumerate().skip(line) {
        let skip = if index == line { column } else { 0 };
        for (at, character) in text.get(skip..)?.char_indices() {
            match character {
                '(' | '[' => depth += 1,
                ')' | ']' => depth = depth.checked_sub(1)?,
                ';' if depth == 0 => return None,
                '{' if depth == 0 => return closing_line(code, index, skip + at),
                _ => {}
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_measured_from_their_first_line_to_their_last() {
        let text = "//! A.\nfn one() {}\nfn many(\n    a: [u8; 4],\n) -> fn(u8) -> u8 {\n    let b = \
                    \"}\";\n    c\n}\ntrait T { fn none(&self); }\nimpl U {\n    fn one() {\n    }\n}\n";
        let sizes = measure(&Tree::of(&[("src/a.rs", text)]));
        let lengths: Vec<(String, usize, usize)> = sizes
            .into_iter()
            .map(|size| {
                let name = match size.subject {
                    Subject::File { path } => path,
                    Subject::Function { name, .. } => name,
                };
                (name, size.line, size.lines)
            })
            .collect();
        assert_eq!(
            lengths,
            [("src/a.rs".to_owned(), 1, 13), ("one".to_owned(), 11, 2), ("many".to_owned(), 3, 6)]
        );
    }
}
