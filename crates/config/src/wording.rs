//! The wording of messages: quoted user text, lists of words, the word that was probably meant.
//!
//! Owns how a word is quoted, shortened and guessed. Never knows keys or values.

/// A text of the file for a message: on one line and not too long.
pub(super) fn shown(text: &str) -> String {
    const CHARACTERS_MAX: usize = 80;
    let mut out = String::new();
    for character in text.chars().take(CHARACTERS_MAX) {
        if character.is_control() {
            out.extend(character.escape_debug());
        } else {
            out.push(character);
        }
    }
    if text.chars().nth(CHARACTERS_MAX).is_some() {
        out.push('…');
    }
    out
}

/// The known word that `word` was probably meant to be, if one is similar enough.
pub(super) fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    // A longer word is no misspelling of ours, and the comparison costs the product of both lengths.
    const WORD_SIZE_MAX: usize = 64;
    // Words that begin alike but lack an ending, such as `lisen` for `listener`.
    const SIMILARITY_MIN: f64 = 0.9;
    if word.len() > WORD_SIZE_MAX {
        return None;
    }
    let plain = |word: &str| word.to_ascii_lowercase().replace('-', "_");
    let word = plain(word);
    known
        .iter()
        .map(|candidate| (plain(candidate), *candidate))
        .filter(|(spelled, _)| {
            strsim::osa_distance(&word, spelled) <= (spelled.len() / 3).clamp(1, 3)
                || strsim::jaro_winkler(&word, spelled) >= SIMILARITY_MIN
        })
        .min_by_key(|(spelled, _)| strsim::osa_distance(&word, spelled))
        .map(|(_, candidate)| candidate)
}

/// The words as `a`, `b` and `c`, each between two `mark`s.
pub(super) fn enumerate(words: &[&str], mark: char) -> String {
    let mut out = String::new();
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            out.push_str(if index + 1 == words.len() { " and " } else { ", " });
        }
        out.push(mark);
        out.push_str(word);
        out.push(mark);
    }
    out
}
