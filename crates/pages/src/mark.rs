//! Finds the column of a word in a line of a page, for Lua errors without a column.
//!
//! Owns the search. Never guesses: if a word occurs twice, there is no column.

/// The column of a word that occurs exactly once in a line, from 1; otherwise 0.
pub(super) fn column_of(source: &str, line: u32, word: &str) -> u32 {
    let line = usize::try_from(line).ok().and_then(|line| line.checked_sub(1));
    let Some(text) = line.and_then(|line| source.split('\n').nth(line)) else { return 0 };
    let mut places =
        text.match_indices(word).map(|(at, _)| at).filter(|at| is_whole(text, *at, word));
    match (places.next(), places.next()) {
        (Some(at), None) => {
            u32::try_from(text[..at].chars().count()).map_or(0, |before| before.saturating_add(1))
        }
        _ => 0,
    }
}

/// Whether the word is not part of a longer name.
fn is_whole(text: &str, at: usize, word: &str) -> bool {
    let is_name = |byte: Option<u8>| {
        byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80)
    };
    let goes_on = |one: Option<u8>, other: Option<u8>| is_name(one) && is_name(other);
    let before = text[..at].bytes().next_back();
    let after = text[at + word.len()..].bytes().next();
    !word.is_empty()
        && !goes_on(before, word.bytes().next())
        && !goes_on(word.bytes().next_back(), after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_stands_there_once_has_a_column() {
        let source = "<% a %>\n<p>ä<%= totl + total, x.totl_ %>\n<% b + + c %>";
        assert_eq!(column_of(source, 2, "totl"), 9);
        assert_eq!(column_of(source, 2, "total"), 16);
        assert_eq!(column_of(source, 2, "x"), 23);
        assert_eq!(column_of(source, 2, "%>"), 31);
        for (line, word) in [(3, "+"), (1, "totl"), (0, "a"), (4, "a"), (2, ""), (2, "tot")] {
            assert_eq!(column_of(source, line, word), 0, "{line} {word}");
        }
        assert_eq!(column_of("äb", 1, "b"), 0, "a part of a name");
    }
}
