//! The server's own messages on standard error: problems that no answer can report, and executed
//! orders.
//!
//! Owns the minimum level, one per process because there is one standard error. For rare messages,
//! and for the log of pages: the sender limits how often, so that it cannot flood the log.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::calendar::Timestamp;
use crate::outlet;

/// The severity of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// Something does not work.
    Error,
    /// Something works worse than it could.
    Warn,
    /// An order was carried out: a reload, a drain, a reopened log.
    Info,
    /// Signals, and what was found at start: for finding a fault in the server.
    Debug,
}

impl Level {
    /// The word for the level in log lines and in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }
}

impl Default for Level {
    /// The default minimum level.
    fn default() -> Self {
        Self::Info
    }
}

/// The minimum level. A thread may see a change slightly later than another.
static LEAST: AtomicU8 = AtomicU8::new(Level::Info as u8);

/// Sets the minimum level: lines below it are no longer written.
pub fn set_least(level: Level) {
    LEAST.store(level as u8, Ordering::Relaxed);
}

/// Whether lines of this level are written.
pub fn is_written(level: Level) -> bool {
    level as u8 <= LEAST.load(Ordering::Relaxed)
}

/// The form of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum LineForm {
    /// Level and text.
    Plain,
    /// Time, level and text.
    Timed,
    /// A JSON object with all three.
    Json,
}

/// The form of lines. A thread may see a change slightly later than another.
static FORM: AtomicU8 = AtomicU8::new(LineForm::Plain as u8);

/// Sets the form of lines.
pub fn set_form(form: LineForm) {
    FORM.store(form as u8, Ordering::Relaxed);
}

/// Writes one line, with its level. A line below the minimum level is not even formatted. Names of files and texts of
/// others in it cannot begin a line or control a terminal: their control characters are escaped.
pub fn write(level: Level, line: fmt::Arguments<'_>) {
    write_with(level, line, "");
}

/// Writes one line, and behind it lines as they are, such as a back-trace.
pub fn write_with(level: Level, line: fmt::Arguments<'_>, more: &str) {
    if !is_written(level) {
        return;
    }
    let level = level.as_str();
    let form = FORM.load(Ordering::Relaxed);
    outlet::write(if form == LineForm::Json as u8 {
        let mut message = String::new();
        escape(&mut message, &format!("{line}{more}"));
        format!("{{\"time\":\"{}\",\"level\":\"{level}\",\"message\":\"{message}\"}}\n", now())
    } else if form == LineForm::Timed as u8 {
        format!("velodrome: {} {level}: {}{more}\n", now(), one_line(line))
    } else {
        format!("velodrome: {level}: {}{more}\n", one_line(line))
    });
}

/// A text with its control characters as `\u{…}`.
fn one_line(text: fmt::Arguments<'_>) -> String {
    let text = text.to_string();
    if !text.contains(char::is_control) {
        return text;
    }
    let mut line = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter.is_control() {
            true => line.extend(letter.escape_unicode()),
            false => line.push(letter),
        }
    }
    line
}

fn now() -> Timestamp {
    let (seconds, nanoseconds) = sys::clock::realtime();
    Timestamp { unix_ms: seconds * 1000 + u64::from(nanoseconds / 1_000_000) }
}

/// Writes text as the inside of a JSON string (RFC 8259, 7).
fn escape(out: &mut String, text: &str) {
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            _ if letter.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(letter))),
            _ => out.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_others_stays_in_its_line() {
        let name = "a\nvelodrome: error: b\u{1b}[31m\u{e4}";
        assert_eq!(one_line(format_args!("{name}")), "a\\u{a}velodrome: error: b\\u{1b}[31m\u{e4}");
    }

    #[test]
    fn a_message_is_one_json_string_whatever_it_says() {
        let mut out = String::new();
        escape(&mut out, "a \"b\" \\ \n\u{1b}[31m\u{85} \u{e4}");
        assert_eq!(out, "a \\\"b\\\" \\\\ \\u000a\\u001b[31m\\u0085 \u{e4}");
    }
}
