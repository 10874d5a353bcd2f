//! Autobahn's cases for WebSockets, as the Python package kosoku asks them.
//!
//! Owns their run. The tool waits for a second by its own clock, whoever uses the cores meanwhile: cases that fail are
//! asked once more. Never decides which cases are right.

use std::process::{Command, Output};

use super::directory::Directory;
use super::{errors_of, printed_by, run};

/// So many cases, chosen by these words, pass at a URL.
pub(crate) fn cases_pass(directory: &Directory, url: &str, words: &[&str], count: usize) {
    let reports = directory.join("reports").display().to_string();
    let ask = |words: &[&str]| run(Command::new("kosoku").args(words).args(["-o", &reports, url]));
    let assert_passed = |output: &Output, count: usize| {
        let (printed, errors) = (printed_by(output), errors_of(output));
        let expected = format!("{count} cases passed");
        assert!(output.status.success() && printed.contains(&expected), "{printed}{errors}");
    };
    let output = ask(words);
    let errors = errors_of(&output);
    let mut lines = errors.lines();
    if !lines.next().is_some_and(|line| line.ends_with(&format!(" of {count} cases failed:"))) {
        return assert_passed(&output, count);
    }
    let failed: Vec<&str> =
        lines.filter_map(|line| line.strip_prefix("  ")?.split_once(": ")).map(|it| it.0).collect();
    let again: Vec<&str> = failed.iter().flat_map(|case| ["-i", case]).collect();
    assert!(!again.is_empty(), "{errors}");
    assert_passed(&ask(&again), failed.len());
}
