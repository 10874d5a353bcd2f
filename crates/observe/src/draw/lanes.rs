//! Schedulers as lanes: where the time of each went.
//!
//! Owns the bar: a column for each part of the interval, by account. Time that was waited is at its end.

use live::ACCOUNTS;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::figures::{Figures, Lane};
use crate::number::{count, share, time_ns};
use crate::paint::{Colours, dim, fit, fit_right, title};

/// Columns of the number of a scheduler, of its turns, of events per turn, and of the longest turn.
const NUMBER: usize = 4;
const TURNS: usize = 8;
const EVENTS: usize = 8;
const LONGEST: usize = 10;

/// The smallest share of an account that the legend names, and the most lines of the legend.
const NAMED: f64 = 0.000_5;
pub(super) const LEGEND_LINES: usize = 2;

fn bar_columns(width: usize) -> usize {
    (width / 3).clamp(8, 64)
}

/// Places in [`ACCOUNTS`] in the order of a bar.
fn in_order() -> impl Iterator<Item = usize> {
    (1..ACCOUNTS.len()).chain([0])
}

/// The columns of each account, in the order of a bar: as many as its share, and as many as there are in all.
fn columns_of(lane: &Lane, columns: usize) -> Vec<(usize, usize)> {
    let mut end = 0.0;
    let mut filled = 0;
    let mut all = Vec::new();
    for place in in_order() {
        end += lane.shares.get(ACCOUNTS[place]).copied().unwrap_or(0.0) * columns as f64;
        let until = (end.round() as usize).min(columns);
        all.push((place, until.saturating_sub(filled)));
        filled = until.max(filled);
    }
    all
}

fn bar(lane: &Lane, columns: usize, colours: Colours) -> Vec<Span<'static>> {
    let parts = columns_of(lane, columns);
    let filled: usize = parts.iter().map(|(_, count)| count).sum();
    let mut spans: Vec<Span<'static>> = parts
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(place, count)| {
            let (letter, style) = colours.account(place);
            Span::styled(letter.to_string().repeat(count), style)
        })
        .collect();
    spans.push(Span::raw(" ".repeat(columns - filled)));
    spans
}

/// The headings.
pub(super) fn heading(width: usize) -> Line<'static> {
    let ran = width.saturating_sub(NUMBER + bar_columns(width) + TURNS + EVENTS + LONGEST);
    let text = format!(
        "{}{}{}{}{}",
        fit("schedulers", NUMBER + bar_columns(width)),
        fit_right("turns/s", TURNS),
        fit_right("ev/turn", EVENTS),
        fit_right("longest", LONGEST),
        fit(" what ran in it", ran),
    );
    crate::paint::line(text, title())
}

/// A scheduler.
pub(super) fn lane(lane: &Lane, width: usize, colours: Colours) -> Line<'static> {
    let columns = bar_columns(width);
    let mut spans = vec![Span::raw(format!("{:>3} ", lane.number))];
    if !lane.answers {
        let text = "does not answer: its turn does not end";
        spans.push(Span::styled(text, colours.bad()));
        return Line::from(spans);
    }
    spans.extend(bar(lane, columns, colours));
    let ran = width.saturating_sub(NUMBER + columns + TURNS + EVENTS + LONGEST + 1);
    let longest = time_ns(lane.longest_turn_us as f64 * 1e3);
    spans.push(Span::raw(format!(
        "{}{}{} {}",
        fit_right(&count(lane.turns_per_s.round()), TURNS),
        fit_right(&format!("{:.1}", lane.events_per_turn), EVENTS),
        fit_right(&longest, LONGEST),
        fit(&lane.longest_turn_ran, ran),
    )));
    Line::from(spans)
}

/// The same scheduler at the time that is compared with.
pub(super) fn earlier(then: &Lane, width: usize, colours: Colours) -> Line<'static> {
    let mut line = lane(then, width, colours);
    line.spans[0] = Span::raw("  ' ");
    line.patch_style(dim())
}

/// The meanings of the letters, with the shares of all schedulers: the largest first, as many as fit.
pub(super) fn legend(figures: &Figures, width: usize, colours: Colours) -> Vec<Line<'static>> {
    let mut shares: Vec<(usize, f64)> = in_order()
        .map(|place| (place, figures.share(ACCOUNTS[place])))
        .filter(|(_, share)| *share >= NAMED)
        .collect();
    shares.sort_by(|one, other| other.1.total_cmp(&one.1));
    let mut lines: Vec<Line<'static>> = vec![Line::default()];
    for (place, part) in shares {
        let (letter, style) = colours.account(place);
        let text = format!(" {} {}", ACCOUNTS[place], share(part));
        let used: usize = lines.last().map_or(0, Line::width);
        if used + 3 + text.len() > width {
            if lines.len() == LEGEND_LINES {
                break;
            }
            lines.push(Line::default());
        }
        let spans = [
            Span::raw("  "),
            Span::styled(letter.to_string(), style),
            Span::styled(text, Style::new()),
        ];
        if let Some(last) = lines.last_mut() {
            last.spans.extend(spans);
        }
    }
    lines.resize(LEGEND_LINES, Line::default());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane_of(shares: &[(&'static str, f64)]) -> Lane {
        Lane {
            number: 0,
            answers: true,
            shares: shares.iter().copied().collect(),
            turns_per_s: 10.0,
            events_per_turn: 1.0,
            longest_turn_us: 7,
            longest_turn_ran: String::new(),
        }
    }

    fn text_of(shares: &[(&'static str, f64)], columns: usize) -> String {
        let spans = bar(&lane_of(shares), columns, Colours::Off);
        spans.iter().map(|span| &*span.content).collect()
    }

    #[test]
    fn a_bar_has_all_columns_and_waits_at_its_end() {
        let shares = [("wait", 0.5), ("handler", 0.25), ("send", 0.25)];
        assert_eq!(text_of(&shares, 8), "hhss....");
        let thirds = [("wait", 1.0 / 3.0), ("page", 1.0 / 3.0), ("mail", 1.0 / 3.0)];
        assert_eq!(text_of(&thirds, 10), "PPPmmmm...");
        assert_eq!(text_of(&[], 4), "    ");
        // Rounding never makes it longer.
        assert_eq!(text_of(&[("wait", 0.7), ("page", 0.7)], 4), "PPP.");
    }
}
