//! Whether a program printed what a document shows.
//!
//! Owns the placeholders: `...` or `…` stands for any text, as a line of its own for any lines.

use serde_json::Value;

/// How exactly output has to equal the shown text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Likeness {
    /// The same text.
    Exact,
    /// The same text with other numbers, identities and widths of columns; the same shape if it is JSON.
    Similar,
    /// Lines that begin with the same words, among others.
    Labels,
    /// Anything: the program only has to succeed.
    None,
}

/// Whether this was printed.
pub(crate) fn is_like(likeness: Likeness, shown: &str, printed: &str) -> bool {
    let [shown, printed] = [shown, printed]
        .map(|text| text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>());
    if likeness == Likeness::Labels {
        let labels: Vec<&str> = printed.iter().filter_map(|line| label(line)).collect();
        return shown.iter().filter_map(|line| label(line)).all(|label| labels.contains(&label));
    }
    are_like(likeness, trimmed(&shown), trimmed(&printed))
}

/// Without the empty lines at the end: what a document shows cannot end without a line end.
fn trimmed(lines: &[String]) -> &[String] {
    let used = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |at| at + 1);
    &lines[..used]
}

/// The first word of a line if it is one.
fn label(line: &str) -> Option<&str> {
    let word = line.split_whitespace().next()?.trim_end_matches([':', ',']);
    (word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'))
        .then_some(word)
}

fn are_like(likeness: Likeness, shown: &[String], printed: &[String]) -> bool {
    match (shown, printed) {
        ([], []) => true,
        ([first, rest @ ..], _) if is_placeholder(first.trim()) => {
            (0..=printed.len()).any(|skipped| are_like(likeness, rest, &printed[skipped..]))
        }
        ([one, shown @ ..], [other, printed @ ..]) => {
            is_line_like(likeness, one, other) && are_like(likeness, shown, printed)
        }
        _ => false,
    }
}

fn is_placeholder(text: &str) -> bool {
    matches!(text, "..." | "…")
}

fn is_line_like(likeness: Likeness, shown: &str, printed: &str) -> bool {
    if likeness == Likeness::Exact {
        return contains_in_order(shown, printed);
    }
    let read =
        |text: &str| serde_json::from_str::<Value>(text).ok().filter(|value| !value.is_number());
    if let (Some(shown), Some(printed)) = (read(shown), read(printed)) {
        return has_shape(&shown, &printed);
    }
    contains_in_order(&blurred(shown), &blurred(printed))
}

/// Whether the pieces between placeholders are in the text, in order and from end to end.
fn contains_in_order(shown: &str, printed: &str) -> bool {
    let shown = shown.replace("...", "…");
    let mut pieces = shown.split('…');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = printed.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else { return rest.is_empty() };
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

/// With a sign in the place of each number and each identity, and one space between words.
fn blurred(line: &str) -> String {
    let words = line.split_whitespace().map(|word| {
        let mut pieces = String::new();
        for piece in word.split_inclusive(|character: char| {
            !character.is_ascii_alphanumeric() && !".,".contains(character)
        }) {
            let end = piece.trim_end_matches(|character: char| !character.is_ascii_alphanumeric());
            let is_number = end.contains(|character: char| character.is_ascii_digit());
            let is_identity = end.len() >= 8 && end.bytes().all(|byte| byte.is_ascii_hexdigit());
            let letters: String = end
                .chars()
                .filter(|character| !character.is_ascii_digit() && !".,".contains(*character))
                .collect();
            match (is_number, is_identity) {
                (_, true) => pieces.push('#'),
                (true, _) => pieces += &format!("#{}", without_unit(&letters)),
                _ => pieces += end,
            }
            pieces += &piece[end.len()..];
        }
        pieces
    });
    let words: Vec<String> = words.filter(|word| !without_unit(word).is_empty()).collect();
    words.join(" ")
}

/// Nothing if it is a unit: the same number is told in another one when it is larger.
fn without_unit(word: &str) -> &str {
    if matches!(word, "ns" | "us" | "ms" | "s" | "B" | "KiB" | "MiB" | "GiB") { "" } else { word }
}

fn has_shape(shown: &Value, printed: &Value) -> bool {
    match (shown, printed) {
        (Value::Object(shown), Value::Object(printed)) => {
            shown.len() == printed.len()
                && shown
                    .iter()
                    .all(|(key, one)| printed.get(key).is_some_and(|other| has_shape(one, other)))
        }
        (Value::Array(shown), Value::Array(printed)) => match (&shown[..], &printed[..]) {
            ([one, ..], [other, ..]) => has_shape(one, other),
            (shown, printed) => shown.is_empty() == printed.is_empty(),
        },
        (one, other) => std::mem::discriminant(one) == std::mem::discriminant(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Likeness::{Exact, Labels, Similar};

    #[test]
    fn placeholders_and_numbers_are_what_may_differ() {
        for (likeness, shown, printed, expected) in [
            (Exact, "a 1\n", "a 1", true),
            (Exact, "a 1\n", "a 2\n", false),
            (Exact, "a\n...\nz\n", "a\nb\nc\nz\n", true),
            (Exact, "a\n…\nz\n", "a\nb\nc\n", false),
            (Exact, "a … z", "a b c z", true),
            (Exact, "a ... z", "a b c", false),
            (Exact, "", "a", false),
            (Similar, "p50 15.9 us  failed 0", "p50    2.16 ms failed 12", true),
            (Similar, "p50 15.9 us", "p90 15.9 us", true),
            (Similar, "answered 15", "refused 15", false),
            (Similar, "id: 93f0c5d0a7a3d1e2-1", "id: 8a9f00ddaa-17", true),
            (Similar, "{\"a\":1,\"b\":[\"x\"]}", "{\"b\":[\"y\",\"z\"],\"a\":2}", true),
            (Similar, "{\"a\":1}", "{\"a\":\"1\"}", false),
            (Similar, "{\"a\":1}", "{\"a\":1,\"b\":2}", false),
            (Labels, "requests 7\nVALID: yes", "noise\nrequests 8 of 9\nINVALID", true),
            (Labels, "requests 7\nserver 3", "requests 8\n", false),
        ] {
            assert_eq!(
                is_like(likeness, shown, printed),
                expected,
                "{likeness:?} {shown} {printed}"
            );
        }
    }
}
