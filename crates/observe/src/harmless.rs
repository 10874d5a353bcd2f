//! Text that strangers chose (paths, names of peers and channels), made harmless for a terminal.
//!
//! Owns which characters are not shown as they are: those that control a terminal, and those that change the order or
//! hide the presence of others. Each is shown as its number instead. Ids stay as they are, because they are sent back.

use std::fmt::Write;

use live::{CellValue, Info, LiveTable, ServerSnapshot};

use crate::limits::TEXT_CHARACTERS;

/// Whether a terminal shows a character as itself, and nothing else happens.
pub(crate) fn is_harmless(character: char) -> bool {
    !matches!(character,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        // They hide, join or begin lines.
        | '\u{ad}' | '\u{34f}' | '\u{180e}' | '\u{200b}'..='\u{200d}' | '\u{2028}' | '\u{2029}'
        | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
        // They change the direction of text (Unicode Standard Annex 9).
        | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}')
}

/// The text with harmful characters as `\u{…}`, and no longer than is shown.
pub(crate) fn harmless(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for (count, character) in text.chars().enumerate() {
        if count == TEXT_CHARACTERS {
            shown.push('…');
            break;
        }
        if is_harmless(character) {
            shown.push(character);
        } else {
            let _infallible = write!(shown, "{}", character.escape_unicode());
        }
    }
    shown
}

/// Lines of text with harmful characters as `\u{…}`.
pub fn harmless_lines(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match is_harmless(character) || character == '\n' {
            true => shown.push(character),
            false => shown.extend(character.escape_unicode()),
        }
    }
    shown
}

/// JSON with harmful characters as escapes, which mean the same. Outside of strings JSON has none.
pub fn harmless_json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for character in json.chars() {
        if is_harmless(character) || character == '\n' {
            shown.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            let _infallible = write!(shown, "\\u{unit:04x}");
        }
    }
    shown
}

fn clean(text: &mut String) {
    let is_short = text.len() <= TEXT_CHARACTERS;
    if !is_short || !text.chars().all(is_harmless) {
        *text = harmless(text);
    }
}

/// Cleans everything that a screen shows of a snapshot.
pub(crate) fn clean_snapshot(snapshot: &mut ServerSnapshot) {
    clean(&mut snapshot.server.version);
    clean(&mut snapshot.server.phase);
    snapshot.server.listeners.iter_mut().for_each(clean);
    for scheduler in &mut snapshot.schedulers {
        clean(&mut scheduler.longest_turn_ran);
        // The names of kinds are shown, those of numbers are not.
        let processes = std::mem::take(&mut scheduler.processes);
        scheduler.processes =
            processes.into_iter().map(|(kind, count)| (harmless(&kind), count)).collect();
    }
    for latency in &mut snapshot.latencies {
        clean(&mut latency.of);
        clean(&mut latency.name);
    }
    for event in &mut snapshot.events {
        clean(&mut event.kind);
        clean(&mut event.level);
        clean(&mut event.text);
        event.cause.iter_mut().for_each(clean);
    }
    clean_table(&mut snapshot.list);
}

fn clean_table(table: &mut LiveTable) {
    clean(&mut table.name);
    table.columns.iter_mut().for_each(|column| clean(&mut column.title));
    for value in table.rows.iter_mut().flat_map(|row| row.values.values_mut()) {
        if let CellValue::Text(text) = value {
            clean(text);
        }
    }
}

/// Cleans everything that a screen shows of one thing.
pub(crate) fn clean_info(info: &mut Info) {
    clean(&mut info.kind);
    for (name, value) in &mut info.facts {
        clean(name);
        clean(value);
    }
    for (title, lines) in &mut info.texts {
        clean(title);
        lines.iter_mut().for_each(clean);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_as_numbers() {
        assert_eq!(harmless("/grüße/日本"), "/grüße/日本");
        assert_eq!(harmless("\u{1b}[2Jx\r\n"), r"\u{1b}[2Jx\u{d}\u{a}");
        assert_eq!(harmless("a\u{9b}31m"), r"a\u{9b}31m");
        assert_eq!(harmless("gpj\u{202e}exe"), r"gpj\u{202e}exe");
        assert_eq!(harmless("\u{2066}\u{200b}"), r"\u{2066}\u{200b}");
        assert_eq!(harmless_lines("a\tb\n\u{9b}c\n"), "a\\u{9}b\n\\u{9b}c\n");
        let long = harmless(&"a".repeat(TEXT_CHARACTERS + 10));
        assert_eq!(long.chars().count(), TEXT_CHARACTERS + 1);
        assert!(long.ends_with('…'));
    }

    #[test]
    fn harmless_json_means_the_same() {
        let value = serde_json::json!({ "name": "a\u{9b}b\u{202e}c\u{e0041}\n" });
        let json = harmless_json(&value.to_string());
        assert!(json.chars().all(is_harmless), "{json}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&json).expect("it is JSON"), value);
    }
}
