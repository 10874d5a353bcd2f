//! Draws what is seen into a buffer of any size.
//!
//! Owns the head, the tabs and the foot of a screen, and where its body is.

pub(crate) mod lanes;
pub(crate) mod overview;
pub(crate) mod table;

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::figures::Figures;
use crate::number::{age, bytes, count, share};
use crate::paint::{Colours, dim, fit, line, selected, title, width};
use crate::view::{Input, NUMBERS, Screen, View};
use live::List;
use overview::{Room, with_change};
use table::Mark;

/// Lines above and below the body: two of the head, the tabs, the foot.
const AROUND: u16 = 4;

/// Draws the screen at a time since the program started.
pub fn draw(view: &mut View, at: Duration, buffer: &mut Buffer) {
    let area = buffer.area;
    let columns = usize::from(area.width);
    let height = usize::from(area.height.saturating_sub(AROUND));
    (view.height, view.columns) = (height, columns);
    let mut lines = head(view.watch.now(), view.watch.then(), &view.watch.state(), columns);
    lines.push(match view.watch.trouble(at) {
        Some(trouble) => {
            let trouble = crate::harmless::harmless(&trouble);
            line(fit(&trouble, columns), view.colours.bad())
        }
        None => tabs(view, columns),
    });
    let mut body = body(view, Room { width: columns, height, colours: view.colours });
    body.resize(height, Line::default());
    lines.extend(body);
    lines.push(foot(view, columns));
    for (line, y) in lines.iter().zip(area.top()..area.bottom()) {
        buffer.set_line(area.left(), y, line, area.width);
    }
}

/// The server, and its main figures.
fn head(
    now: Option<&Figures>,
    then: Option<&Figures>,
    state: &str,
    columns: usize,
) -> Vec<Line<'static>> {
    let Some(now) = now else {
        return vec![
            line(fit("velodrome top: waiting for the first answer", columns), title()),
            Line::default(),
        ];
    };
    let server = &now.server;
    let up = age((now.at_ms / 1_000).saturating_sub(server.started));
    let text = format!(
        "velodrome {}  process {}  {}  up {up}  {}",
        server.version,
        server.process,
        server.phase,
        server.listeners.join(" ")
    );
    let left = columns.saturating_sub(if state.is_empty() { 0 } else { width(state) + 2 });
    let mut first = vec![Span::styled(fit(&text, left), title())];
    if !state.is_empty() {
        first.push(Span::raw("  "));
        first.push(Span::styled(fit(state, columns.saturating_sub(left + 2)), selected()));
    }
    vec![Line::from(first), Line::from(fit(&main_figures(now, then), columns))]
}

fn main_figures(now: &Figures, then: Option<&Figures>) -> String {
    let figure = |of: &dyn Fn(&Figures) -> f64, unit, shown: fn(f64) -> String| {
        with_change(of(now), then.map(of), unit, shown)
    };
    let figures = [
        figure(&|at| at.connections as f64, " open", count),
        figure(&|at| at.rate("requests").round(), " requests/s", count),
        format!("in {}", figure(&|at| at.rate("received_bytes"), "/s", bytes)),
        format!("out {}", figure(&|at| at.rate("sent_bytes"), "/s", bytes)),
        format!("memory {}", figure(&|at| at.server.resident_bytes as f64, "", bytes)),
        format!("busy {}", figure(&|at| 1.0 - at.share("wait"), "", share)),
    ];
    figures.join("  ")
}

/// The screens with numbers: as many as fit, the current one among them.
fn tabs(view: &View, columns: usize) -> Line<'static> {
    let names = ["overview"].into_iter().chain(List::ALL.map(List::name));
    let tabs: Vec<String> =
        NUMBERS.iter().zip(names).map(|(number, name)| format!(" {number} {name} ")).collect();
    let current = view.place();
    let end: usize = tabs.iter().take(current + 1).map(|tab| tab.len()).sum();
    let mut skipped = 0;
    let mut left_out = 0;
    // `‹` and `›` say that there are more.
    while end - left_out + 2 > columns && skipped < current {
        left_out += tabs[skipped].len();
        skipped += 1;
    }
    let mut line = Line::default();
    if skipped > 0 {
        line.spans.push(Span::styled("‹", dim()));
    }
    for (place, tab) in tabs.iter().enumerate().skip(skipped) {
        if line.width() + tab.len() + 1 > columns {
            line.spans.push(Span::styled("›", dim()));
            break;
        }
        let style = if place == current { selected() } else { Style::new() };
        line.spans.push(Span::styled(tab.clone(), style));
    }
    line
}

fn body(view: &View, room: Room) -> Vec<Line<'static>> {
    if let Some(text) = view.text() {
        return text.into_iter().skip(view.scroll).take(room.height).collect();
    }
    let Some(now) = view.watch.now() else { return Vec::new() };
    let then = view.watch.then();
    match view.screen {
        Screen::List(_) => match view.table() {
            Some(table) => {
                let then = then.map(|then| &then.list);
                table::lines(table, then, &view.choice(), Mark::Selected, room)
            }
            None => vec![line("asked ...", dim())],
        },
        _ => overview::lines(now, then, view.scroll, room),
    }
}

fn foot(view: &View, columns: usize) -> Line<'static> {
    let text = match (&view.input, &view.notice) {
        (Input::Filter(text), _) => {
            return line(fit(&format!("rows that contain: {text}_"), columns), title());
        }
        (Input::Confirm(_, name), _) => {
            let question = format!("end {name}? y for yes, any other key for no");
            return line(fit(&question, columns), view.colours.warning());
        }
        (Input::Keys, Some(notice)) => {
            return line(fit(notice, columns), title());
        }
        (Input::Keys, None) => match (view.screen, &view.detail) {
            (_, Some(_)) => "Esc back  k end  up/down scroll  q quit".to_owned(),
            (Screen::List(_), None) => {
                let choice = view.choice();
                let filter = match &*choice.filter {
                    "" => String::new(),
                    text => format!("contain `{text}`  "),
                };
                format!(
                    "{filter}? help  Enter details  / filter  <> sort  r reverse  k end  f freeze  q quit"
                )
            }
            (Screen::Overview, None) => {
                "? help  1-9 0 - screens  e events  f freeze  m minute ago  P profile  q quit"
                    .to_owned()
            }
            (_, None) => "Esc back  up/down scroll  q quit".to_owned(),
        },
    };
    line(fit(&text, columns), dim())
}

/// The figures as text, as wide as this, and as high as needed.
pub fn plain(figures: &Figures, columns: usize) -> String {
    let room = Room { width: columns, height: usize::from(u16::MAX), colours: Colours::Off };
    let mut lines = head(Some(figures), None, "", columns);
    lines.push(Line::from(format!("in {} ms:", figures.interval_ms)));
    lines.extend(overview::lines(figures, None, 0, room));
    if !figures.list.columns.is_empty() {
        lines.push(Line::default());
        lines.push(line(figures.list.name.clone(), title()));
        let choice = crate::choice::Choice::default();
        lines.extend(table::lines(&figures.list, None, &choice, Mark::None, room));
    }
    let text = |line: &Line<'_>| {
        let text: String = line.spans.iter().map(|span| &*span.content).collect();
        format!("{}\n", text.trim_end())
    };
    lines.iter().map(text).collect()
}
