//! Steps as lines of text.
//!
//! Owns the columns: when, of which thing, how long after its last step, between whom, what.

use std::collections::BTreeMap;

use live::{TraceBegun, TraceEnded, TraceLine, TraceStep};

/// The times of the last steps of things.
#[derive(Debug, Default)]
pub(super) struct Listing {
    last_ns: BTreeMap<String, u64>,
}

impl Listing {
    /// One line as text.
    pub(super) fn line(&mut self, line: &TraceLine) -> String {
        match line {
            TraceLine::Begun(begun) => heading(begun),
            TraceLine::Step(step) => self.step(step),
            TraceLine::Ended(ended) => summary(self.last_ns.len(), ended),
        }
    }

    fn step(&mut self, step: &TraceStep) -> String {
        let before = self.last_ns.insert(step.of.clone(), step.at_ns);
        let since = before.map_or_else(
            || "         ".to_owned(),
            |before| format!("{:>+9.3}", milliseconds(step.at_ns.saturating_sub(before))),
        );
        let who = if step.from == step.to {
            step.from.clone()
        } else {
            format!("{} -> {}", step.from, step.to)
        };
        let at = milliseconds(step.at_ns);
        let line = format!(
            "{at:>11.3} {since} ms  {:<8} {who:<26} {:<18} {}",
            step.of, step.what, step.detail
        );
        line.trim_end().to_owned()
    }
}

fn milliseconds(ns: u64) -> f64 {
    // A trace lasts minutes, which a float has to the nanosecond.
    ns as f64 / 1e6
}

/// The things that are traced.
pub(super) fn heading(begun: &TraceBegun) -> String {
    let TraceBegun { what, pattern, most_per_second, seconds, schedulers, .. } = begun;
    format!(
        "{what} {pattern}: at most {most_per_second} per second on {schedulers} schedulers, for {seconds} s"
    )
}

/// The number of steps and things, and of those left out.
pub(super) fn summary(things: usize, ended: &TraceEnded) -> String {
    let TraceEnded { steps, left_out, steps_left_out, silent } = ended;
    let mut text = format!(
        "{steps} steps of {things}; left out: {left_out} that came too fast, {steps_left_out} steps"
    );
    if !silent.is_empty() {
        let silent: Vec<String> = silent.iter().map(ToString::to_string).collect();
        text.push_str(&format!("; nothing is known of schedulers {}", silent.join(", ")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::tests::step;
    use super::*;

    #[test]
    fn a_line_says_when_who_and_what() {
        let mut listing = Listing::default();
        let mut line =
            |at_ns, who, what| listing.line(&TraceLine::Step(step("0-1", at_ns, who, what)));
        let first = line(1_500_000, ("client", "scheduler 0"), "request");
        assert_eq!(
            first,
            "      1.500           ms  0-1      client -> scheduler 0      request            <detail> & \
             \"more\""
        );
        let second = line(3_504_000, ("scheduler 0", "scheduler 0"), "route");
        assert!(second.starts_with("      3.504    +2.004 ms  0-1      scheduler 0  "), "{second}");
    }

    #[test]
    fn omitted_trace_steps_are_reported() {
        let ended = TraceEnded { steps: 5, left_out: 7, steps_left_out: 2, silent: vec![1, 3] };
        assert_eq!(
            summary(2, &ended),
            "5 steps of 2; left out: 7 that came too fast, 2 steps; nothing is known of schedulers 1, 3"
        );
    }
}
