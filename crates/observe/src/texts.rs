//! Screens that are lines of text: one thing as a whole, events with their causes, help.
//!
//! Owns their text. Never knows how much of it is seen.

use live::{Info, OperatorEvent};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::harmless::harmless;
use crate::number::age;
use crate::paint::{Colours, fit, line, title, width};

/// The effects of the keys.
const HELP: &[(&str, &str)] = &[
    ("1 to 9, 0, -", "a screen; also Tab and Shift-Tab"),
    ("e", "the last events, with their causes"),
    ("arrows, PgUp, Home, End", "move in a list or a text"),
    ("Enter", "all about the selected thing; Esc goes back"),
    ("< and >, or s", "the column to sort by; the server chooses rows by it"),
    ("r", "the other direction, among the rows that are shown"),
    ("/", "a filter: only rows that contain a text; empty for all"),
    ("space", "pause: the screen stays as it is; again to go on"),
    ("f", "freeze: show what changes from now on; again to end it"),
    ("m", "show what has changed in a minute; again to end it"),
    ("k", "end a connection, page or process (asks first)"),
    ("P", "profile 5 s: hottest frames, all in an HTML file here"),
    ("?", "this help"),
    ("Ctrl-Z", "to the shell; `fg` comes back"),
    ("q or Ctrl-C", "quit"),
];

const ABOUT: &[&str] = &[
    "Columns that count are per second of the last interval, CPU a share of one core.",
    "A bar is the interval of a scheduler: a letter for each account, `.` is waiting.",
    "In a comparison lists show changes, and lines that begin with ' are of then.",
];

pub(crate) fn help() -> Vec<Line<'static>> {
    let columns = HELP.iter().map(|(key, _)| width(key)).max().unwrap_or(0) + 2;
    let keys = HELP.iter().map(|(key, does)| {
        Line::from(vec![Span::styled(fit(key, columns), title()), Span::raw(*does)])
    });
    keys.chain([Line::default()]).chain(ABOUT.iter().map(|text| Line::from(*text))).collect()
}

/// All about one thing.
pub(crate) fn info(info: &Info) -> Vec<Line<'static>> {
    let columns = info.facts.iter().map(|(name, _)| width(name)).max().unwrap_or(0) + 2;
    let mut lines = vec![line(format!("{} {}", info.kind, harmless(&info.id)), title())];
    lines.extend(info.facts.iter().map(|(name, value)| {
        Line::from(vec![Span::raw(fit(name, columns)), Span::raw(value.clone())])
    }));
    for (name, text) in &info.texts {
        lines.push(Line::default());
        lines.push(line(name.clone(), title()));
        lines.extend(text.iter().map(|text| Line::from(format!("  {text}"))));
    }
    lines
}

/// Events with their causes, the newest first.
pub(crate) fn events(
    events: &[OperatorEvent],
    now_ms: u64,
    colours: Colours,
) -> Vec<Line<'static>> {
    if events.is_empty() {
        return vec![Line::from("Nothing has happened that an operator should know.")];
    }
    let mut lines = Vec::new();
    for event in events.iter().rev() {
        lines.push(line(event_line(event, now_ms), event_style(event, colours)));
        lines.extend(event.cause.iter().map(|cause| Line::from(format!("      {cause}"))));
        if event.profiled {
            let way = format!("      velodrome ctl profile --event {}", event.number);
            lines.push(Line::from(way + ": the minute around it"));
        }
    }
    lines
}

/// An event in one line: how long ago, where, what.
pub(crate) fn event_line(event: &OperatorEvent, now_ms: u64) -> String {
    let ago = age(now_ms.saturating_sub(event.at_ms) / 1_000);
    let place = event.scheduler.map(|number| format!(" scheduler {number}")).unwrap_or_default();
    let kind = event.kind.replace('_', " ");
    format!("{ago} ago{place} {kind}: {}", event.text)
}

pub(crate) fn event_style(event: &OperatorEvent, colours: Colours) -> Style {
    match &*event.level {
        "error" => colours.bad(),
        "warning" => colours.warning(),
        _ => Style::new(),
    }
}
