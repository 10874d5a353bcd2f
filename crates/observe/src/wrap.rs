//! Lines that are longer than the screen is wide.
//!
//! Owns where they are broken. The rest of a line is indented like its text, below it.

use ratatui::text::{Line, Span};

use super::paint::width;

/// The part of the screen that an indent takes at most.
const INDENT_PART: usize = 2;

/// The lines that a line takes on a screen of so many columns.
pub(crate) fn wrapped(mut line: Line<'static>, columns: usize) -> Vec<Line<'static>> {
    if line.width() <= columns {
        return vec![line];
    }
    let Some(text) = line.spans.pop() else { return vec![line] };
    let blanks = text.content.len() - text.content.trim_start().len();
    let indent = (line.width() + blanks).min(columns / INDENT_PART);
    let style = line.style;
    let mut rest: &str = &text.content;
    let mut lines = Vec::new();
    loop {
        let room = columns.saturating_sub(line.width()).max(1);
        let (first, more) = broken(rest, room);
        line.spans.push(Span::styled(first.to_owned(), text.style));
        lines.push(line);
        if more.is_empty() {
            return lines;
        }
        rest = more;
        line = Line::from(Span::raw(" ".repeat(indent))).style(style);
    }
}

/// The part of a text for so many columns, at least a character, and the rest. It is broken at a space if there
/// is one behind the first word.
fn broken(text: &str, columns: usize) -> (&str, &str) {
    let (mut used, mut space) = (0, None);
    for (place, character) in text.char_indices() {
        if character == ' ' && !text[..place].trim_start().is_empty() {
            space = Some(place);
        }
        used += width(&text[place..place + character.len_utf8()]);
        if used > columns && place > 0 {
            let end = space.unwrap_or(place);
            return (&text[..end], text[end..].trim_start());
        }
    }
    (text, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(spans: Vec<Span<'static>>, columns: usize) -> Vec<String> {
        wrapped(Line::from(spans), columns).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn long_lines_are_broken_at_spaces_and_go_on_below_their_text() {
        let pair = |text: &'static str| vec![Span::raw("key "), Span::raw(text)];
        assert_eq!(texts(pair("does it"), 11), ["key does it"]);
        assert_eq!(texts(pair("does it all"), 11), ["key does it", "    all"]);
        assert_eq!(texts(pair("does it all now"), 12), ["key does it", "    all now"]);
        assert_eq!(texts(vec![Span::raw("  one two three")], 8), ["  one", "  two", "  three"]);
        assert_eq!(texts(vec![Span::raw("abcdefghij")], 4), ["abcd", "efgh", "ij"]);
        assert_eq!(texts(vec![Span::raw("\u{4e2d}\u{4e2d}\u{4e2d}")], 4).len(), 2);
        assert_eq!(texts(vec![Span::raw("ab")], 0), ["a", "b"]);
    }
}
