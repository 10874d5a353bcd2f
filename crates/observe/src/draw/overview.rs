//! The first screen: schedulers, times of requests, memory, processes, events.
//!
//! Owns what of it is left out if there is little room.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::lanes;
use crate::figures::{Figures, ShownTimes};
use crate::number::{bytes, change, count, time_ns};
use crate::paint::{Colours, dim, fit, fit_name, fit_right, line, title};
use crate::texts::{event_line, event_style};

/// Columns of a percentile.
const FIGURE: usize = 9;

/// The room for a screen.
#[derive(Clone, Copy)]
pub(crate) struct Room {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) colours: Colours,
}

/// Lines that are there however little room there is: three headings, the legend, memory and processes.
const FIXED: usize = 3 + lanes::LEGEND_LINES + 2;

/// Lines for schedulers, for times and for events: a third each, and what one does not need goes to the others.
fn shared(height: usize, wanted: [usize; 3]) -> [usize; 3] {
    let mut left = height.saturating_sub(FIXED);
    let mut given = wanted.map(|wanted| wanted.min(left / 3));
    left -= given.iter().sum::<usize>();
    for (given, wanted) in given.iter_mut().zip(wanted) {
        let more = (wanted - *given).min(left);
        *given += more;
        left -= more;
    }
    given
}

/// The screen. Of the schedulers the first `skipped` are not shown.
pub(crate) fn lines(
    now: &Figures,
    then: Option<&Figures>,
    skipped: usize,
    room: Room,
) -> Vec<Line<'static>> {
    let each = if then.is_some() { 2 } else { 1 };
    let idle = |one: &&ShownTimes| one.quantiles.count == 0;
    let times: Vec<&ShownTimes> = now.latencies.iter().filter(|one| !idle(one)).collect();
    let wanted = [now.schedulers.len() * each, times.len() * each, now.events.len()];
    let [for_lanes, for_times, for_events] = shared(room.height, wanted);
    let mut lines = vec![lanes::heading(room.width)];
    let first = skipped.min(now.schedulers.len().saturating_sub(for_lanes / each));
    for lane in now.schedulers.iter().skip(first).take(for_lanes / each) {
        lines.push(lanes::lane(lane, room.width, room.colours));
        if let Some(then) = then {
            let same = then.schedulers.iter().find(|one| one.number == lane.number);
            lines.extend(same.map(|same| lanes::earlier(same, room.width, room.colours)));
        }
    }
    lines.extend(lanes::legend(now, room.width, room.colours));
    lines.push(times_heading(room.width));
    for one in times.into_iter().take(for_times / each) {
        lines.push(times_line((&kind_of(one), &one.name), one, room.width, Style::new()));
        if let Some(then) = then {
            let same = then.latencies.iter().find(|was| was.of == one.of && was.name == one.name);
            lines.extend(same.map(|was| times_line(("  '", ""), was, room.width, dim())));
        }
    }
    lines.push(memory(now, then, room.width));
    lines.push(processes(now, then, room.width));
    lines.push(line("last events", title()));
    let newest = now.events.len().saturating_sub(for_events.max(1));
    if now.events.is_empty() {
        lines.push(line("  none", dim()));
    }
    for event in now.events.iter().skip(newest).rev() {
        let text = fit(&format!("  {}", event_line(event, now.at_ms)), room.width);
        lines.push(line(text, event_style(event, room.colours)));
    }
    lines.truncate(room.height);
    lines
}

/// The kind of thing timed, with the space around it.
fn kind_of(times: &ShownTimes) -> String {
    match &*times.of {
        "class" => "  ".to_owned(),
        of => format!("  {of} "),
    }
}

fn times_heading(width: usize) -> Line<'static> {
    let figures = ["per s", "p50", "p99", "p99.9", "p99.99", "max"];
    let name = fit("times", width.saturating_sub(figures.len() * FIGURE));
    let figures = figures.map(|figure| fit_right(figure, FIGURE));
    line(format!("{name}{}", figures.concat()), title())
}

fn times_line(
    (of, name): (&str, &str),
    times: &ShownTimes,
    width: usize,
    style: Style,
) -> Line<'static> {
    let quantiles = &times.quantiles;
    let figures = [
        quantiles.p50_ns,
        quantiles.p99_ns,
        quantiles.p999_ns,
        quantiles.p9999_ns,
        quantiles.max_ns,
    ];
    let figures = figures.map(|time| fit_right(&time_ns(time as f64), FIGURE));
    let room = width.saturating_sub((figures.len() + 1) * FIGURE);
    let name = fit_name(name, room.saturating_sub(of.len()));
    let name = fit(&format!("{of}{name}"), room);
    let per_s = fit_right(&count(times.per_s), FIGURE);
    line(format!("{name}{per_s}{}", figures.concat()), style)
}

/// A line of names and figures, the largest first, those that are 0 left out.
fn row(heading: &str, figures: Vec<(String, u64, String)>, width: usize) -> Line<'static> {
    let mut figures = figures;
    figures.retain(|(_, size, _)| *size > 0);
    figures.sort_by_key(|(_, size, _)| u64::MAX - size);
    let texts: Vec<String> =
        figures.iter().map(|(name, _, shown)| format!("{name} {shown}")).collect();
    let text = if texts.is_empty() { "none".to_owned() } else { texts.join("  ") };
    let heading = format!("{heading}  ");
    let rest = fit(&text, width.saturating_sub(heading.len()));
    Line::from(vec![Span::styled(heading, title()), Span::raw(rest)])
}

/// A figure, with its change if there is one.
pub(crate) fn with_change(
    now: f64,
    then: Option<f64>,
    unit: &str,
    shown: impl Fn(f64) -> String,
) -> String {
    let changed = then.map(|then| change(now - then, &shown)).filter(|change| change != "=");
    let changed = changed.map(|change| format!(" ({change})")).unwrap_or_default();
    format!("{}{unit}{changed}", shown(now))
}

fn memory(now: &Figures, then: Option<&Figures>, width: usize) -> Line<'static> {
    let of = |owner: &&'static str, size: &u64| {
        let then = then.and_then(|then| then.memory.get(owner)).map(|size| *size as f64);
        (owner.replace('_', " "), *size, with_change(*size as f64, then, "", bytes))
    };
    row("memory", now.memory.iter().map(|(owner, size)| of(owner, size)).collect(), width)
}

fn processes(now: &Figures, then: Option<&Figures>, width: usize) -> Line<'static> {
    let of = |kind: &String, size: &u64| {
        let then = then.map(|then| then.processes.get(kind).map_or(0.0, |size| *size as f64));
        (kind.replace('_', " "), *size, with_change(*size as f64, then, "", count))
    };
    row("processes", now.processes.iter().map(|(kind, size)| of(kind, size)).collect(), width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_room_is_shared() {
        assert_eq!(shared(20, [2, 3, 1]), [2, 3, 1]);
        assert_eq!(shared(20, [64, 50, 30]), [5, 4, 4]);
        assert_eq!(shared(20, [64, 1, 1]), [11, 1, 1]);
        assert_eq!(shared(20, [1, 50, 50]), [1, 8, 4]);
        assert_eq!(shared(3, [1, 1, 1]), [0, 0, 0]);
    }
}
