//! Lines of a name and a number, which many files of the kernel have.

use std::collections::BTreeMap;

/// Parses lines of a name and a number.
pub(crate) fn named(text: &str) -> BTreeMap<String, u64> {
    let line = |line: &str| {
        let (name, number) = line.split_once(char::is_whitespace)?;
        Some((name.trim_end_matches(':').to_owned(), number.trim().parse().ok()?))
    };
    text.lines().filter_map(line).collect()
}
