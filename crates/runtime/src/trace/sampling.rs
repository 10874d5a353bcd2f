//! Requests whose spans are told to a collector: a part of all of them, chosen by their numbers.
//!
//! Owns the steps of those that are under way, and what of them is finished and was not taken yet. What is beyond its
//! bounds is counted.

use std::collections::BTreeMap;

use super::step::{SpanEdge, StepAction};
use crate::limits::{SPAN_STEPS, SPANS_FINISHED, SPANS_UNDER_WAY};
use crate::slots::ProcessId;

/// A step of a request that is sampled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampledStep {
    /// When, on the monotonic clock.
    pub at_ns: u64,
    /// The action.
    pub what: StepAction,
    /// More about it.
    pub detail: String,
}

/// A request that is sampled, and has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sampled {
    /// Its trace.
    pub trace: u128,
    /// Its span.
    pub span: u64,
    /// The span of its sender; 0: there is none.
    pub parent: u64,
    /// Its steps, the first and the last among them.
    pub steps: Vec<SampledStep>,
}

/// The requests of one scheduler that are sampled.
#[derive(Debug, Default)]
pub(super) struct Sampling {
    under_way: BTreeMap<u64, Sampled>,
    finished: Vec<Sampled>,
    lost: u64,
}

impl Sampling {
    /// A request begins.
    pub(super) fn begin(&mut self, process: ProcessId, sampled: Sampled) {
        if self.under_way.len() >= SPANS_UNDER_WAY {
            self.lost += 1;
            return;
        }
        self.under_way.insert(process.to_bits(), sampled);
    }

    /// Whether a sampled request is under way.
    pub(super) fn has_any(&self) -> bool {
        !self.under_way.is_empty()
    }

    pub(super) fn has(&self, process: ProcessId) -> bool {
        self.under_way.contains_key(&process.to_bits())
    }

    /// A process makes a step, which is noted if its request is sampled.
    pub(super) fn note(&mut self, process: ProcessId, step: SampledStep) {
        if let Some(sampled) = self.under_way.get_mut(&process.to_bits())
            && (sampled.steps.len() < SPAN_STEPS || step.what.edge == SpanEdge::Last)
        {
            sampled.steps.push(step);
        }
    }

    /// The request of a process has ended, or its connection has.
    pub(super) fn end(&mut self, process: ProcessId) {
        let Some(sampled) = self.under_way.remove(&process.to_bits()) else { return };
        if self.finished.len() < SPANS_FINISHED {
            self.finished.push(sampled);
        } else {
            self.lost += 1;
        }
    }

    /// Takes those that have ended, and how many were lost.
    pub(super) fn take(&mut self) -> (Vec<Sampled>, u64) {
        (std::mem::take(&mut self.finished), std::mem::take(&mut self.lost))
    }

    /// Whether there is something to take.
    pub(super) fn has_finished(&self) -> bool {
        !self.finished.is_empty() || self.lost > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(what: StepAction) -> SampledStep {
        SampledStep { at_ns: 1, what, detail: String::new() }
    }

    #[test]
    fn steps_beyond_bound_are_counted_and_last_step_is_kept() {
        let mut sampling = Sampling::default();
        for number in 0..=SPANS_UNDER_WAY as u64 {
            let sampled = Sampled { trace: 1, span: number, parent: 0, steps: Vec::new() };
            sampling.begin(ProcessId::from_bits(number), sampled);
        }
        let first = ProcessId::from_bits(0);
        for _ in 0..2 * SPAN_STEPS {
            sampling.note(first, step(StepAction::within("works")));
        }
        sampling.note(first, step(StepAction::within("ends").last()));
        for number in 0..SPANS_UNDER_WAY as u64 {
            sampling.end(ProcessId::from_bits(number));
        }
        let (finished, lost) = sampling.take();
        assert_eq!(finished.len(), SPANS_FINISHED.min(SPANS_UNDER_WAY));
        assert_eq!(lost as usize, 1 + SPANS_UNDER_WAY.saturating_sub(SPANS_FINISHED));
        assert_eq!(finished[0].steps.len(), SPAN_STEPS + 1);
        assert!(!sampling.has_finished());
    }
}
