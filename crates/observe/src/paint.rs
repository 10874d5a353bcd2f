//! Styles, and texts of a given width.
//!
//! Owns the colours: those of accounts have their own background with black letters, so that they look the same on
//! light and dark terminals; without colours the letters alone tell accounts apart.

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

/// Whether colours are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colours {
    /// They are.
    On,
    /// They are not: `NO_COLOR` (no-color.org), or what is written is no terminal.
    Off,
}

/// The letter and the colour (of 256) of each account, in the order of [`live::ACCOUNTS`].
const ACCOUNTS: [(char, u8); live::ACCOUNTS.len()] = [
    ('.', 0),
    ('p', 109),
    ('a', 179),
    ('c', 173),
    ('r', 74),
    ('e', 116),
    ('h', 113),
    ('P', 150),
    ('g', 175),
    ('S', 140),
    ('b', 215),
    ('s', 80),
    ('t', 187),
    ('m', 146),
    ('o', 250),
];

/// Black that no theme changes.
const BLACK: Color = Color::Indexed(16);

impl Colours {
    fn with(self, style: Style, colour: Color) -> Style {
        match self {
            Self::On => style.fg(colour),
            Self::Off => style,
        }
    }

    /// The letter and style of an account, by its place in [`live::ACCOUNTS`].
    pub(crate) fn account(self, place: usize) -> (char, Style) {
        let (letter, colour) = ACCOUNTS[place];
        let style = match self {
            // Waiting is no use of time.
            Self::On if place > 0 => Style::new().fg(BLACK).bg(Color::Indexed(colour)),
            _ => Style::new(),
        };
        (letter, style)
    }

    pub(crate) fn bad(self) -> Style {
        self.with(Style::new().add_modifier(Modifier::BOLD), Color::Red)
    }

    pub(crate) fn warning(self) -> Style {
        self.with(Style::new().add_modifier(Modifier::BOLD), Color::Indexed(172))
    }
}

pub(crate) fn title() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

pub(crate) fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

pub(crate) fn selected() -> Style {
    Style::new().add_modifier(Modifier::REVERSED)
}

/// Columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { Span::raw(text).width() }
}

/// A text in exactly so many columns, from the left: cut with `…`, or filled with spaces.
pub(crate) fn fit(text: &str, columns: usize) -> String {
    let mut used = width(text);
    if used <= columns {
        return format!("{text}{}", " ".repeat(columns - used));
    }
    let mut cut = String::new();
    used = 0;
    for character in text.chars() {
        let more = width(character.encode_utf8(&mut [0; 4]));
        if used + more + 1 > columns {
            break;
        }
        cut.push(character);
        used += more;
    }
    if used < columns {
        cut.push('…');
        used += 1;
    }
    format!("{cut}{}", " ".repeat(columns - used))
}

/// A name in exactly so many columns: the end of a long path says more than its begin.
pub(crate) fn fit_name(name: &str, columns: usize) -> String {
    if width(name) <= columns || !name.starts_with('/') {
        return fit(name, columns);
    }
    let mut rest = name;
    while width(rest) + 1 > columns {
        let mut characters = rest.chars();
        if characters.next().is_none() {
            return fit(name, columns);
        }
        rest = characters.as_str();
    }
    fit(&format!("…{rest}"), columns)
}

/// A number in exactly so many columns, from the right.
pub(crate) fn fit_right(text: &str, columns: usize) -> String {
    let used = width(text);
    if used > columns {
        fit(text, columns)
    } else {
        format!("{}{text}", " ".repeat(columns - used))
    }
}

pub(crate) fn line(text: impl Into<String>, style: Style) -> Line<'static> {
    Line::from(Span::styled(text.into(), style))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_exactly_the_width() {
        assert_eq!(fit("abc", 5), "abc  ");
        assert_eq!(fit("abcdef", 4), "abc…");
        assert_eq!(fit("日本語", 5), "日本…");
        assert_eq!(fit("日本語", 4), "日… ");
        assert_eq!((fit("abc", 1), fit("abc", 0)), ("…".to_owned(), String::new()));
        assert_eq!(fit_right("12", 4), "  12");
        assert_eq!(fit_name("/var/www/a.page.html", 12), "…a.page.html");
        assert_eq!(fit_name("192.0.2.1:4000", 6), "192.0…");
        for columns in 0..12 {
            assert_eq!(width(&fit_name("/a日b/本c", columns)), columns);
            assert_eq!(width(&fit("a日b本c", columns)), columns);
        }
    }

    #[test]
    fn letters_of_accounts_differ() {
        let mut letters = ACCOUNTS.map(|(letter, _)| letter).to_vec();
        letters.sort_unstable();
        letters.dedup();
        assert_eq!(letters.len(), ACCOUNTS.len());
    }
}
