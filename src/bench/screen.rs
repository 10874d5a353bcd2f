//! The progress line of a measurement on a terminal; nothing elsewhere.
//!
//! Owns that line: a bar, the rate of the last second, and a plot of the p99. It is never longer than
//! the terminal is wide, and has no colour.

use std::collections::VecDeque;
use std::io::{IsTerminal, Write};

use bench::client::MeasuredWindow;
use bench::host::terminal_columns;
use bench::run::RunProgress;

/// Columns of the progress bar, and its columns on a narrow terminal.
const BAR: usize = 24;
const BAR_NARROW: usize = 10;

/// Columns from which the bar has its full length.
const WIDE: usize = 100;

/// Columns of a terminal whose width is unknown.
const USUAL: usize = 80;

/// Columns that are left free: a terminal shows `^C` after the line.
const MARGIN: usize = 3;

/// Most values of the sparkline, one per second, and the fewest that are drawn.
const SPARKS: usize = 30;
const SPARKS_FEWEST: usize = 5;

/// Updates over which the current rate is computed: one second.
const LOOKS: usize = 10;

/// Nanoseconds per second.
const SECOND_NS: u64 = 1_000_000_000;

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A line that is redrawn.
pub(crate) struct Screen {
    /// The name of the measurement.
    name: String,
    is_terminal: bool,
    /// Answers by time of the run in nanoseconds, for the last second.
    answered: VecDeque<(u64, u64)>,
    /// The latest value of each second.
    p99_ns: VecDeque<(u64, u64)>,
    is_drawn: bool,
}

impl Screen {
    /// A progress line on standard error, if that is a terminal that can clear a line.
    pub(crate) fn new(name: impl Into<String>) -> Screen {
        let is_dumb = std::env::var_os("TERM").is_some_and(|name| name == "dumb");
        Screen {
            name: name.into(),
            is_terminal: std::io::stderr().is_terminal() && !is_dumb,
            answered: VecDeque::new(),
            p99_ns: VecDeque::new(),
            is_drawn: false,
        }
    }

    /// Draws the progress.
    pub(crate) fn show(&mut self, moment: &RunProgress) {
        if !self.is_terminal {
            return;
        }
        self.note(moment);
        let columns = terminal_columns(std::io::stderr()).map_or(USUAL, usize::from);
        let line = self.line(moment, columns);
        // A progress line that cannot be drawn is not an error.
        let _shown =
            write!(std::io::stderr(), "\r{line}\u{1b}[K").and_then(|()| std::io::stderr().flush());
        self.is_drawn = true;
    }

    /// Clears the line: the report follows.
    pub(crate) fn close(self) {
        if self.is_drawn {
            let _wiped = write!(std::io::stderr(), "\r\u{1b}[K");
        }
    }

    fn note(&mut self, moment: &RunProgress) {
        if self.answered.back().is_some_and(|(_, last)| *last > moment.glance.answered) {
            // The measured part began, or another run.
            self.answered.clear();
        }
        self.answered.push_back((moment.elapsed_ns, moment.glance.answered));
        if self.answered.len() > LOOKS + 1 {
            self.answered.pop_front();
        }
        let second = moment.elapsed_ns / SECOND_NS;
        match self.p99_ns.back_mut() {
            Some((last, p99_ns)) if *last == second => *p99_ns = moment.glance.p99_ns,
            _ => self.p99_ns.push_back((second, moment.glance.p99_ns)),
        }
        if self.p99_ns.len() > SPARKS {
            self.p99_ns.pop_front();
        }
    }

    /// As much as there are columns for, the most important first.
    fn line(&self, moment: &RunProgress, columns: usize) -> String {
        let most = columns.saturating_sub(MARGIN);
        let glance = &moment.glance;
        let mut line = self.head(moment, columns);
        let figures = [
            format!("  p99 {}", time(glance.p99_ns)),
            format!("  {} failed", glance.failed),
            format!("  {} open", glance.open),
        ];
        for figure in figures {
            if length(&line) + length(&figure) > most {
                break;
            }
            line.push_str(&figure);
        }
        let left = most.saturating_sub(length(&line) + 2);
        if left >= SPARKS_FEWEST.min(self.p99_ns.len()) {
            line.push_str("  ");
            line.push_str(&self.sparkline(left));
        }
        line.chars().take(most).collect()
    }

    /// The name, the progress and the rate.
    fn head(&self, moment: &RunProgress, columns: usize) -> String {
        let glance = &moment.glance;
        if moment.window == MeasuredWindow::NEVER {
            // `bench hold` is opening its connections.
            let per_second = glance.opened as f64 * 1e9 / moment.elapsed_ns.max(1) as f64;
            return format!("{}, opening: {per_second:.0} connections/s", self.name);
        }
        let whole_ns = moment.window.end_ns - moment.window.start_ns;
        let share = moment.elapsed_ns as f64 / whole_ns.max(1) as f64;
        let bar = if columns < WIDE { BAR_NARROW } else { BAR };
        let filled = ((share * bar as f64) as usize).min(bar);
        let mut line = self.name.clone();
        if moment.runs > 1 {
            line.push_str(&format!(" {}/{}", moment.run, moment.runs));
        }
        if moment.elapsed_ns < moment.window.begin_ns - moment.window.start_ns {
            line.push_str(", warm-up");
        }
        let (done, rest) = ("=".repeat(filled), " ".repeat(bar - filled));
        line.push_str(&format!(" [{done}{rest}] {:.0} req/s", self.rate()));
        line
    }

    fn rate(&self) -> f64 {
        match (self.answered.front(), self.answered.back()) {
            (Some((from_ns, first)), Some((to_ns, last))) if to_ns > from_ns => {
                (last - first) as f64 * 1e9 / (to_ns - from_ns) as f64
            }
            _ => 0.0,
        }
    }

    /// The latest values that fit, and the highest of them.
    fn sparkline(&self, columns: usize) -> String {
        let values = || self.p99_ns.iter().rev().take(columns).rev().map(|(_, value)| *value);
        let most = values().max().unwrap_or(0).max(1);
        let height = |value: u64| (value * (BLOCKS.len() as u64 - 1) / most) as usize;
        values().map(|value| BLOCKS[height(value)]).collect()
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

fn time(nanoseconds: u64) -> String {
    match nanoseconds {
        0 => "-".to_owned(),
        1..1_000_000 => format!("{} us", nanoseconds / 1_000),
        1_000_000..1_000_000_000 => format!("{:.1} ms", nanoseconds as f64 / 1e6),
        _ => format!("{:.2} s", nanoseconds as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bench::client::Glance;

    use super::*;

    /// An update in the third of ten seconds; the first two are the warm-up.
    fn moment(second: u64, p99_ns: u64) -> RunProgress {
        RunProgress {
            run: 1,
            runs: 3,
            elapsed_ns: second * SECOND_NS,
            window: MeasuredWindow::new(0, Duration::from_secs(2), Duration::from_secs(8)),
            glance: Glance {
                answered: 50_000 * second,
                failed: 12,
                open: 256,
                p99_ns,
                opened: 256,
                tried: 256,
            },
        }
    }

    fn screen() -> Screen {
        let mut screen = Screen::new("run");
        for second in 0..5 {
            screen.note(&moment(second, 1_000_000 * (second + 1)));
        }
        screen
    }

    #[test]
    fn a_wide_terminal_shows_everything() {
        let line = screen().line(&moment(5, 7_500_000), 120);
        let expected = "run 1/3 [============            ] 50000 req/s  p99 7.5 ms  12 failed  256 open  \
                        ▂▃▅▆█";
        assert_eq!(line, expected);
        let line = screen().line(&moment(1, 0), 120);
        assert!(line.starts_with("run 1/3, warm-up [==  ") && line.contains("p99 -"), "{line}");
    }

    #[test]
    fn a_narrow_terminal_shows_what_is_worth_most() {
        let line = screen().line(&moment(5, 7_500_000), 60);
        assert_eq!(line, "run 1/3 [=====     ] 50000 req/s  p99 7.5 ms  12 failed");
        for columns in 0..150 {
            let length = length(&screen().line(&moment(5, 7_500_000), columns));
            assert!(length + MARGIN <= columns.max(MARGIN), "{length} of {columns}");
        }
    }
}
