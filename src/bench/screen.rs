//! What is seen while a measurement runs: one line on a terminal, and nothing elsewhere.
//!
//! Owns that line: a bar, the rate of the last second, and how the 99th percentile went.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write};

use bench::client::Window;
use bench::run::Moment;

/// Columns of the progress bar.
const BAR: usize = 24;

/// Values of the sparkline.
const SPARKS: usize = 20;

/// Looks that the current rate is taken over: a second.
const LOOKS: usize = 10;

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A line that is drawn again and again.
pub(crate) struct Screen {
    is_terminal: bool,
    /// Answers by time of the run in nanoseconds, the last second of them.
    answered: VecDeque<(u64, u64)>,
    p99_ns: VecDeque<u64>,
    is_drawn: bool,
}

impl Screen {
    /// A screen on standard error, where that is a terminal.
    pub(crate) fn new() -> Screen {
        Screen {
            is_terminal: std::io::stderr().is_terminal(),
            answered: VecDeque::new(),
            p99_ns: VecDeque::new(),
            is_drawn: false,
        }
    }

    /// Shows how it goes.
    pub(crate) fn show(&mut self, moment: &Moment) {
        if !self.is_terminal {
            return;
        }
        if self.answered.back().is_some_and(|(_, last)| *last > moment.glance.answered) {
            // Counting began, or another run.
            self.answered.clear();
        }
        self.answered.push_back((moment.elapsed_ns, moment.glance.answered));
        self.p99_ns.push_back(moment.glance.p99_ns);
        if self.answered.len() > LOOKS + 1 {
            self.answered.pop_front();
        }
        if self.p99_ns.len() > SPARKS {
            self.p99_ns.pop_front();
        }
        let line = if moment.window == Window::NEVER { opening(moment) } else { self.line(moment) };
        // A line that cannot be drawn is missed by nobody.
        let _shown =
            write!(std::io::stderr(), "\r{line}\u{1b}[K").and_then(|()| std::io::stderr().flush());
        self.is_drawn = true;
    }

    /// Wipes the line: the report follows.
    pub(crate) fn close(&mut self) {
        if self.is_drawn {
            let _wiped = write!(std::io::stderr(), "\r\u{1b}[K");
        }
    }

    fn line(&self, moment: &Moment) -> String {
        let whole_ns = moment.window.end_ns - moment.window.start_ns;
        let share = moment.elapsed_ns as f64 / whole_ns.max(1) as f64;
        let filled = ((share * BAR as f64) as usize).min(BAR);
        let warms_up = moment.elapsed_ns < moment.window.begin_ns - moment.window.start_ns;
        let what = if warms_up { "warm-up" } else { "run" };
        let mut line = String::new();
        let _text = write!(line, "{what} {}/{} [", moment.run, moment.runs);
        line.extend((0..BAR).map(|column| if column < filled { '=' } else { ' ' }));
        let _text = write!(
            line,
            "] {:>9.0} req/s  {} open  {} failed  p99 {} {}",
            self.rate(),
            moment.glance.open,
            moment.glance.failed,
            time(moment.glance.p99_ns),
            self.sparkline()
        );
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

    fn sparkline(&self) -> String {
        let most = self.p99_ns.iter().copied().max().unwrap_or(0).max(1);
        let height = |value: &u64| (value * (BLOCKS.len() as u64 - 1) / most) as usize;
        self.p99_ns.iter().map(|value| BLOCKS[height(value)]).collect()
    }
}

/// While connections are opened that are to be held.
fn opening(moment: &Moment) -> String {
    let opened = moment.glance.opened;
    let per_second = opened as f64 * 1e9 / moment.elapsed_ns.max(1) as f64;
    format!("opening  {} open  {per_second:.0} connections/s", moment.glance.open)
}

fn time(nanoseconds: u64) -> String {
    match nanoseconds {
        0..1_000_000 => format!("{} us", nanoseconds / 1_000),
        1_000_000..1_000_000_000 => format!("{:.1} ms", nanoseconds as f64 / 1e6),
        _ => format!("{:.2} s", nanoseconds as f64 / 1e9),
    }
}
