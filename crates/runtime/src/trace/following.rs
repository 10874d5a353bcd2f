//! The trace of one scheduler: what it follows, and the steps that were not sent yet.
//!
//! Owns its bounds: how many things begin to be followed per second, how many at a time, how many steps each has, and
//! how many wait. What is beyond them is counted.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::step::{
    ContentShown, LeftOut, RecordedStep, StepAction, Subject, TraceCommand, TracedKind,
};
use crate::limits::{
    TRACE_BATCH_MS, TRACE_BATCH_STEPS, TRACE_FOLLOWED, TRACE_STEPS_HELD, TRACE_STEPS_OF_ONE,
};
use crate::mailbox::Endpoint;
use crate::slots::ProcessId;

const SECOND_NS: u64 = 1_000_000_000;

/// Steps that are sent at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The number of the trace.
    pub number: u64,
    /// The receiver of the steps.
    pub to: Endpoint,
    /// The steps.
    pub steps: Vec<RecordedStep>,
    /// The steps and things left out since the last batch.
    pub left_out: LeftOut,
    /// Whether the trace has ended on this scheduler.
    pub is_last: bool,
}

impl Batch {
    /// The batch that says that a trace has begun.
    pub fn first(order: &TraceCommand) -> Self {
        let TraceCommand { number, to, .. } = *order;
        Self { number, to, steps: Vec::new(), left_out: LeftOut::default(), is_last: false }
    }
}

/// Something that is followed.
#[derive(Debug)]
struct Followed {
    number: u32,
    steps: u32,
}

/// The trace of one scheduler.
#[derive(Debug)]
pub(super) struct Following {
    order: TraceCommand,
    followed: BTreeMap<u64, Followed>,
    /// The number of the next thing.
    next: u32,
    /// The allowance for things that begin to be followed, in thousandths of a thing: a second's worth at most.
    credit: u64,
    credited_ns: u64,
    steps: Vec<RecordedStep>,
    left_out: LeftOut,
    sent_ns: u64,
    is_stopped: bool,
    /// The message that is on its way over this scheduler, if it was given room.
    message: Option<(Arc<str>, u64)>,
}

impl Following {
    pub(super) fn new(order: TraceCommand, now_ns: u64) -> Self {
        let credit = u64::from(order.per_second) * 1_000;
        Self {
            order,
            followed: BTreeMap::new(),
            next: 1,
            credit,
            credited_ns: now_ns,
            steps: Vec::new(),
            left_out: LeftOut::default(),
            sent_ns: now_ns,
            is_stopped: false,
            message: None,
        }
    }

    pub(super) fn stop(&mut self, number: u64) {
        self.is_stopped |= self.order.number == number;
    }

    pub(super) fn seeks(&self, kind: TracedKind) -> bool {
        self.order.kind == kind && !self.is_stopped
    }

    pub(super) fn is_about_paths(&self) -> bool {
        self.order.pattern.as_str().starts_with('/')
    }

    pub(super) fn is_about(&self, name: &[u8]) -> bool {
        self.order.pattern.matches(name)
    }

    pub(super) fn content(&self) -> ContentShown {
        self.order.content
    }

    /// Whether something is followed, or a message is on its way.
    pub(super) fn has_any(&self) -> bool {
        !self.followed.is_empty() || self.message.is_some()
    }

    pub(super) fn follows(&self, process: ProcessId) -> bool {
        self.followed.contains_key(&process.to_bits())
    }

    /// Follows a process from now on if the trace is about this name and there is room.
    pub(super) fn offer(&mut self, process: ProcessId, name: &[u8], now_ns: impl FnOnce() -> u64) {
        if !self.is_about(name) || self.follows(process) {
            return;
        }
        let now_ns = now_ns();
        if now_ns >= self.order.until_ns {
            return;
        }
        if self.followed.len() >= TRACE_FOLLOWED || !self.spend(now_ns) {
            self.left_out.subjects += 1;
            return;
        }
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        self.followed.insert(process.to_bits(), Followed { number, steps: 0 });
    }

    /// Takes the price of one thing from the credit, if it is there.
    fn spend(&mut self, now_ns: u64) -> bool {
        let per_second = u64::from(self.order.per_second);
        let passed_ns = now_ns.saturating_sub(self.credited_ns).min(SECOND_NS);
        let earned = passed_ns * per_second / (SECOND_NS / 1_000);
        if earned > 0 {
            self.credited_ns = now_ns;
            self.credit = (self.credit + earned).min(per_second * 1_000);
        }
        let has_enough = self.credit >= 1_000;
        if has_enough {
            self.credit -= 1_000;
        }
        has_enough
    }

    /// A process that is followed makes a step.
    pub(super) fn note_process(
        &mut self,
        process: ProcessId,
        what: StepAction,
        detail: String,
        now_ns: u64,
    ) {
        let bits = process.to_bits();
        let Some(followed) = self.followed.get_mut(&bits) else { return };
        followed.steps += 1;
        let (subject, steps) = (Subject::Followed(followed.number), followed.steps);
        if steps > TRACE_STEPS_OF_ONE {
            // A connection begins anew with its next request, as another thing.
            self.followed.remove(&bits);
            self.left_out.steps += 1;
            return;
        }
        self.note(RecordedStep { subject, at_ns: now_ns, process: Some(process), what, detail });
    }

    /// A message of a channel begins its way over this scheduler.
    pub(super) fn offer_message(
        &mut self,
        channel: &str,
        position: u64,
        now_ns: impl FnOnce() -> u64,
    ) {
        self.message = None;
        if !self.order.pattern.matches(channel.as_bytes()) {
            return;
        }
        let now_ns = now_ns();
        if now_ns >= self.order.until_ns {
            return;
        }
        if self.spend(now_ns) {
            self.message = Some((channel.into(), position));
        } else {
            self.left_out.subjects += 1;
        }
    }

    /// The message that was offered last makes a step.
    pub(super) fn note_message(&mut self, what: StepAction, detail: String, now_ns: u64) {
        if let Some((channel, position)) = self.message.clone() {
            let subject = Subject::Message(channel, position);
            self.note(RecordedStep { subject, at_ns: now_ns, process: None, what, detail });
        }
    }

    fn note(&mut self, step: RecordedStep) {
        if step.at_ns >= self.order.until_ns {
            return;
        }
        if self.steps.len() >= TRACE_STEPS_HELD {
            self.left_out.steps += 1;
        } else {
            self.steps.push(step);
        }
    }

    pub(super) fn end(&mut self, process: ProcessId) {
        if self.order.kind != TracedKind::Connection {
            self.forget(process);
        }
    }

    pub(super) fn forget(&mut self, process: ProcessId) {
        self.followed.remove(&process.to_bits());
    }

    fn is_over(&self, now_ns: u64) -> bool {
        self.is_stopped || now_ns >= self.order.until_ns
    }

    /// The steps that were noted, if there are enough of them, or they have waited long enough.
    pub(super) fn take(&mut self, now_ns: u64) -> Option<Batch> {
        let is_last = self.is_over(now_ns);
        let is_due = self.steps.len() >= TRACE_BATCH_STEPS
            || now_ns >= self.sent_ns.saturating_add(TRACE_BATCH_MS * 1_000_000);
        if !is_last && (self.steps.is_empty() || !is_due) {
            return None;
        }
        self.sent_ns = now_ns;
        let (steps, left_out) =
            (std::mem::take(&mut self.steps), std::mem::take(&mut self.left_out));
        let TraceCommand { number, to, .. } = self.order;
        Some(Batch { number, to, steps, left_out, is_last })
    }

    pub(super) fn lose(&mut self, batch: &Batch) {
        self.left_out.add(batch.left_out);
        self.left_out.steps += batch.steps.len() as u64;
    }

    pub(super) fn due_in_ms(&self, now_ns: u64) -> u64 {
        let ends_ns = self.order.until_ns.saturating_sub(now_ns);
        let due_ns = self.sent_ns.saturating_add(TRACE_BATCH_MS * 1_000_000).saturating_sub(now_ns);
        let next_ns = if self.steps.is_empty() { ends_ns } else { due_ns.min(ends_ns) };
        if self.is_stopped { 0 } else { next_ns.div_ceil(1_000_000) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pattern::TracePattern;
    use super::*;

    const WHAT: StepAction = StepAction::within("works");

    fn order(kind: TracedKind, per_second: u32) -> TraceCommand {
        TraceCommand {
            number: 1,
            to: Endpoint(0),
            kind,
            pattern: TracePattern::new("/a*"),
            per_second,
            until_ns: 10 * SECOND_NS,
            content: ContentShown::LeftOut,
        }
    }

    fn process(number: u64) -> ProcessId {
        ProcessId::from_bits(number)
    }

    #[test]
    fn no_more_things_begin_to_be_followed_than_its_rate_allows() {
        let mut following = Following::new(order(TracedKind::Url, 5), 0);
        // A second's worth at once, then as many as there are seconds.
        for number in 0..3_000 {
            let now_ns = number * SECOND_NS / 1_000;
            following.offer(process(number), b"/a", || now_ns);
            following.note_process(process(number), WHAT, String::new(), now_ns);
            following.end(process(number));
        }
        let batch = following.take(3 * SECOND_NS).expect("there are steps");
        let count = batch.steps.len() as u64;
        assert!((19..=20).contains(&count), "{count}");
        assert_eq!(batch.left_out, LeftOut { subjects: 3_000 - count, steps: 0 });
        assert!(!batch.is_last);
    }

    #[test]
    fn only_what_it_is_about_is_followed_and_only_until_its_end() {
        let mut following = Following::new(order(TracedKind::Url, 100), 0);
        following.offer(process(1), b"/b", || 1);
        following.offer(process(2), b"/a/x", || 1);
        for number in [1, 2] {
            following.note_process(process(number), WHAT, "one".into(), 5);
        }
        following.end(process(2));
        following.note_process(process(2), WHAT, "two".into(), 6);
        assert_eq!(following.take(6), None, "it is too soon");
        following.offer(process(3), b"/a", || 10 * SECOND_NS);
        assert!(!following.follows(process(3)));
        let batch = following.take(10 * SECOND_NS).expect("it has ended");
        assert!(batch.is_last && batch.left_out == LeftOut::default());
        let [step] = &batch.steps[..] else { panic!("{batch:?}") };
        assert_eq!((&step.subject, &*step.detail, step.at_ns), (&Subject::Followed(1), "one", 5));
    }

    #[test]
    fn one_thing_and_all_together_have_so_many_steps_and_the_rest_is_counted() {
        let mut following = Following::new(order(TracedKind::Connection, 1_000), 0);
        let mut noted = 0;
        for number in 0..1_000 {
            following.offer(process(number), b"/a", || 0);
            while following.follows(process(number)) {
                following.note_process(process(number), WHAT, String::new(), 0);
                noted += 1;
            }
        }
        let batch = following.take(0).expect("it is full");
        assert_eq!(batch.steps.len(), TRACE_STEPS_HELD);
        assert_eq!(batch.left_out.steps, noted - TRACE_STEPS_HELD as u64);
    }

    #[test]
    fn the_steps_of_a_message_have_its_name_and_pay_once() {
        let mut order = order(TracedKind::Channel, 1);
        order.pattern = TracePattern::new("news");
        let mut following = Following::new(order, 0);
        for (channel, position) in [("olds", 7), ("news", 7), ("news", 8)] {
            following.offer_message(channel, position, || 0);
            following.note_message(WHAT, String::new(), 0);
            following.note_message(WHAT, String::new(), 0);
        }
        following.stop(2);
        assert_eq!(following.take(0), None, "another trace was stopped");
        following.stop(1);
        let batch = following.take(0).expect("it was stopped");
        let name = Subject::Message("news".into(), 7);
        assert!(batch.steps.len() == 2 && batch.steps.iter().all(|step| step.subject == name));
        assert!(batch.is_last && batch.left_out.subjects == 1);
    }
}
