//! The samples of each thread over time.
//!
//! Owns the rows that a page shows of it. `firefox` writes the same for its viewer.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::fold::{Frame, Mode};
use crate::limits::TIMELINE_ROWS;
use crate::processes::name_of;
use crate::sampling::TakenSamples;
use crate::symbols::SymbolNames;

/// Samples with their times.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// The stacks of all samples, each from the outermost frame on.
    pub(crate) stacks: Vec<Vec<Frame>>,
    /// Threads, the busiest first.
    pub(crate) threads: Vec<ThreadLine>,
}

/// The samples of one thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct ThreadLine {
    pub(crate) process: u32,
    pub(crate) thread: u32,
    pub(crate) name: String,
    /// In the order of time.
    pub(crate) samples: Vec<TimedSample>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TimedSample {
    pub(crate) time_ns: u64,
    /// The place of its stack in the list.
    pub(crate) stack: usize,
}

/// Slices of time in a row.
const SLICES: usize = 200;
/// Height of a row.
const HEIGHT: f64 = 20.0;

impl Timeline {
    /// The timeline of samples.
    pub fn of(taken: &TakenSamples, names: &SymbolNames) -> Self {
        let mut threads: BTreeMap<(u32, u32), Vec<TimedSample>> = BTreeMap::new();
        let mut stacks = Vec::new();
        for (stack, seen) in &taken.stacks {
            let samples = threads.entry((stack.process, stack.thread)).or_default();
            let number = stacks.len();
            let sample = |time_ns: &u64| TimedSample { time_ns: *time_ns, stack: number };
            samples.extend(seen.times_ns.iter().map(sample));
            stacks.push(names.frames(stack));
        }
        let line = |((process, thread), mut samples): ((u32, u32), Vec<TimedSample>)| {
            samples.sort_unstable();
            ThreadLine { process, thread, name: name_of(thread), samples }
        };
        let mut threads: Vec<ThreadLine> = threads.into_iter().map(line).collect();
        threads.sort_by_key(|line| std::cmp::Reverse(line.samples.len()));
        Self { stacks, threads }
    }

    /// The times of the first and the last sample.
    pub(crate) fn span_ns(&self) -> Option<(u64, u64)> {
        let all =
            || self.threads.iter().flat_map(|line| &line.samples).map(|sample| sample.time_ns);
        Some((all().min()?, all().max()?))
    }

    /// Its rows in a page: for each thread how much of each slice of time it was sampled. Nothing without samples.
    pub(crate) fn rows(&self, escaped: impl Fn(&str) -> String) -> String {
        let Some((begin_ns, end_ns)) = self.span_ns() else { return String::new() };
        let span_ns = (end_ns - begin_ns).max(1);
        let shown = self.threads.iter().take(TIMELINE_ROWS);
        let slices: Vec<_> =
            shown.map(|line| (line, self.slices(line, begin_ns, span_ns))).collect();
        let most = slices.iter().flat_map(|(_, slices)| slices).map(|slice| slice.all).max();
        let most = f64::from(most.unwrap_or(1).max(1));
        let total: usize = self.threads.iter().map(|line| line.samples.len()).sum();
        let count = self.threads.len();
        let more = count.saturating_sub(TIMELINE_ROWS);
        let more =
            if more > 0 { format!(", the busiest {TIMELINE_ROWS} of them") } else { String::new() };
        let seconds = span_ns as f64 / 1e9;
        let name = if count == 1 { "thread" } else { "threads" };
        let mut text = format!(
            "<details open><summary>{count} {name} over {seconds:.1} s{more}; height is how busy each was</summary>\n"
        );
        for (line, slices) in slices {
            let percent = line.samples.len() as f64 * 100.0 / total as f64;
            let _endless = writeln!(
                text,
                "<div class=t><span>{} ({})</span><svg viewBox=\"0 0 {SLICES} {HEIGHT}\" \
                 preserveAspectRatio=none><path class=k d=\"{}\"/><path class=u d=\"{}\"/></svg><b>{percent:.1} %</b></div>",
                escaped(&line.name),
                line.thread,
                bars(&slices, most, |slice| slice.all),
                bars(&slices, most, |slice| slice.user),
            );
        }
        text + "</details>\n"
    }

    fn slices(&self, line: &ThreadLine, begin_ns: u64, span_ns: u64) -> Vec<Slice> {
        let mut slices = vec![Slice::default(); SLICES];
        for sample in &line.samples {
            let part = (sample.time_ns - begin_ns) as f64 / span_ns as f64;
            let slice = &mut slices[((part * SLICES as f64) as usize).min(SLICES - 1)];
            slice.all += 1;
            let last = self.stacks.get(sample.stack).and_then(|stack| stack.last());
            slice.user += u32::from(last.is_some_and(|frame| frame.mode == Mode::User));
        }
        slices
    }
}

/// The samples of a slice of time: all, and those in the program.
#[derive(Clone, Copy, Debug, Default)]
struct Slice {
    all: u32,
    user: u32,
}

/// Bars as one shape.
fn bars(slices: &[Slice], most: f64, count: impl Fn(&Slice) -> u32) -> String {
    let bar = |(at, slice): (usize, &Slice)| {
        let height = f64::from(count(slice)) / most * HEIGHT;
        (height > 0.0).then(|| format!("M{at} {HEIGHT}v-{height:.1}h1v{height:.1}z"))
    };
    slices.iter().enumerate().filter_map(bar).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Two threads: one is busy in the kernel at the begin, the other in the program all the time.
    pub(crate) fn two_threads() -> Timeline {
        let frame = |name: &str, mode| Frame { name: name.to_owned(), mode, is_inlined: false };
        let stacks = vec![
            vec![frame("main", Mode::User), frame("send", Mode::Kernel)],
            vec![frame("main", Mode::User)],
        ];
        let line = |thread, name: &str, stack, times: &[u64]| ThreadLine {
            process: 7,
            thread,
            name: name.to_owned(),
            samples: times.iter().map(|time_ns| TimedSample { time_ns: *time_ns, stack }).collect(),
        };
        let threads = vec![
            line(9, "work<er>", 1, &[1_000_000_000, 2_000_000_000, 3_000_000_000]),
            line(8, "main", 0, &[1_000_000_000]),
        ];
        Timeline { stacks, threads }
    }

    #[test]
    fn each_thread_is_a_row_with_its_busy_slices() {
        let rows = two_threads().rows(|text| text.replace('<', "&lt;"));
        let lines: Vec<&str> = rows.lines().collect();
        assert!(lines[0].contains("2 threads over 2.0 s;"), "{rows}");
        assert!(lines[1].contains("work&lt;er> (9)") && lines[1].ends_with("75.0 %</b></div>"));
        assert_eq!(lines[1].matches("M0 20v-20.0").count(), 2, "the program alone: {rows}");
        assert!(lines[1].contains("M100 20") && lines[1].contains("M199 20"), "{rows}");
        assert!(lines[2].contains("class=u d=\"\"") && lines[2].contains("M0 20"), "{rows}");
        assert_eq!(Timeline::default().rows(str::to_owned), "");
    }
}
