//! A quoted word of a configuration of nginx or Caddy.
//!
//! Owns where it ends. Which escapes mean another character is the caller's.

/// A text up to its quote, and what follows; `None` if the quote does not end. `escapes` are the characters behind a
/// backslash that mean another one; before any other the backslash stays. Without escapes a backslash is a character
/// like any other.
pub(crate) fn quoted<'t>(
    text: &'t str,
    quote: char,
    escapes: &[(char, char)],
    line: &mut usize,
) -> Option<(String, &'t str)> {
    let mut word = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        if character == quote {
            return Some((word, text.get(at + character.len_utf8()..)?));
        }
        let mut last = character;
        if character == '\\' && !escapes.is_empty() {
            last = characters.next()?.1;
            match escapes.iter().find(|(escaped, _)| *escaped == last) {
                Some((_, meant)) => word.push(*meant),
                None => word.extend([character, last]),
            }
        } else {
            word.push(character);
        }
        *line += usize::from(last == '\n');
    }
    None
}
