//! A carriage: what lies between a process without a socket (a stream) and the process that carries it.
//!
//! Owns the input that was handed to a stream and not yet read, the output that its carrier has not taken, and how
//! either ended. Never runs a process and never frames bytes.

use std::any::Any;

use crate::close_reason::CloseReason;
use crate::held_back::HeldBack;
use crate::inbox::Inbox;
use crate::outbox::{Outbox, Unit};
use crate::output::Output;
use crate::slots::ProcessId;
use crate::stream::{Ending, OutputEnd, StreamOffer};

/// How far a stream has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Its process has not begun yet.
    Opened,
    /// Its process lives.
    Lives(ProcessId),
    /// Its process has ended, or there never was one.
    Ended(Ending),
}

/// The state of a stream's input, as the carrier has told it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InputStage {
    /// More may come.
    Open,
    /// It is complete.
    Ended,
    /// The stream was reset: its process ends.
    Reset,
}

/// Input for the process of a stream.
#[derive(Debug)]
pub(crate) enum Handed {
    /// Bytes.
    Bytes(Box<Inbox>),
    /// Nothing now.
    Nothing,
    /// The end.
    End,
}

/// One stream, between its process and its carrier.
pub(crate) struct Carriage {
    stage: Stage,
    /// Of this its process is made; `None` once it was.
    opening: Option<Box<dyn Any>>,
    input: Option<Box<Inbox>>,
    input_stage: InputStage,
    /// Anything that came with the end of the input.
    with_end: Option<Box<dyn Any>>,
    /// Something was said about the input since its process was visited.
    has_input_news: bool,
    /// Bytes that its process has consumed and its carrier has not asked for yet.
    consumed: usize,
    /// Bytes of memory that its process keeps in its state.
    kept: usize,
    held_back: HeldBack,
    /// Output that its carrier has not taken.
    queue: Outbox,
    /// Its process adds no more output.
    is_finished: bool,
    /// The next piece of its output is a file region that is not in memory.
    is_cold: bool,
    /// Its output waits for that of other streams.
    is_excused: bool,
}

impl Carriage {
    /// A stream that its carrier has just opened.
    pub(crate) fn new(opening: Box<dyn Any>) -> Self {
        Self {
            stage: Stage::Opened,
            opening: Some(opening),
            input: None,
            input_stage: InputStage::Open,
            with_end: None,
            has_input_news: false,
            consumed: 0,
            kept: 0,
            held_back: HeldBack::default(),
            queue: Outbox::default(),
            is_finished: false,
            is_cold: false,
            is_excused: false,
        }
    }

    /// The stream is over: lets go of everything but its room.
    pub(crate) fn clear(&mut self) {
        (self.opening, self.input, self.with_end) = (None, None, None);
        self.drop_output();
    }

    /// Another stream, in the room of one that is over.
    pub(crate) fn renew(&mut self, opening: Box<dyn Any>) {
        let queue = std::mem::take(&mut self.queue);
        *self = Self { queue, ..Self::new(opening) };
    }

    /// How far it has come.
    pub(crate) fn stage(&self) -> Stage {
        self.stage
    }

    /// Takes that of which its process is made.
    pub(crate) fn take_opening(&mut self) -> Option<Box<dyn Any>> {
        self.opening.take()
    }

    /// It got its process.
    pub(crate) fn begin(&mut self, process: ProcessId) {
        self.stage = Stage::Lives(process);
    }

    /// Whether its process may still read input.
    pub(crate) fn takes_input(&self) -> bool {
        let is_open = self.input_stage == InputStage::Open && !self.is_finished;
        is_open && !matches!(self.stage, Stage::Ended(_))
    }

    /// The state of its input, as the carrier has told it.
    pub(crate) fn input_stage(&self) -> InputStage {
        self.input_stage
    }

    /// Whether bytes or the end came since the last call. An end is told once.
    pub(crate) fn take_input_news(&mut self) -> bool {
        std::mem::take(&mut self.has_input_news)
    }

    /// Whether its carrier has told something of which its process does not know yet.
    pub(crate) fn is_told(&self) -> bool {
        self.has_input_news || self.input_stage == InputStage::Reset
    }

    /// Says that the input is complete, with this.
    pub(crate) fn end_input(&mut self, with: Option<Box<dyn Any>>) {
        self.has_input_news = true;
        self.input_stage = InputStage::Ended;
        self.with_end = with;
    }

    /// Takes what came with the end of the input.
    pub(crate) fn take_with_end(&mut self) -> Option<Box<dyn Any>> {
        self.with_end.take()
    }

    /// Says that the stream was reset: nothing of it is of use any more.
    pub(crate) fn reset(&mut self) {
        self.input_stage = InputStage::Reset;
        (self.input, self.with_end) = (None, None);
        self.drop_output();
    }

    /// Bytes of memory of the input that waits.
    pub(crate) fn input_capacity(&self) -> usize {
        self.input.as_ref().map_or(0, |input| input.capacity())
    }

    /// Bytes of input that wait.
    pub(crate) fn input_bytes(&self) -> usize {
        self.input.as_ref().map_or(0, |input| input.waiting().len())
    }

    /// Adds input.
    pub(crate) fn hand(&mut self, bytes: &[u8]) {
        self.has_input_news = true;
        match &mut self.input {
            Some(input) => input.add(bytes),
            None => self.input = Some(Box::new(Inbox::of(bytes))),
        }
    }

    /// Takes the input for the process.
    pub(crate) fn take_input(&mut self) -> Handed {
        match (self.input.take(), self.input_stage) {
            (Some(input), _) => Handed::Bytes(input),
            (None, InputStage::Open) => Handed::Nothing,
            (None, InputStage::Ended | InputStage::Reset) => Handed::End,
        }
    }

    /// The process consumed so many bytes.
    pub(crate) fn note_consumed(&mut self, count: usize) {
        self.consumed += count;
    }

    /// Takes the count of consumed bytes.
    pub(crate) fn take_consumed(&mut self) -> usize {
        std::mem::take(&mut self.consumed)
    }

    /// The process keeps so many bytes of memory in its state.
    pub(crate) fn note_kept(&mut self, bytes: usize) {
        self.kept = bytes;
    }

    /// Bytes of memory that the process keeps in its state.
    pub(crate) fn kept(&self) -> usize {
        self.kept
    }

    /// How long its input was held back.
    pub(crate) fn held_back(&mut self) -> &mut HeldBack {
        &mut self.held_back
    }

    /// Moves queued output of the process here, without copying. Returns whether there was any.
    pub(crate) fn add_output(&mut self, outbox: &mut Outbox) -> bool {
        outbox.hand_over(&mut self.queue)
    }

    /// The file region at the front may have been read into memory. Returns whether the carrier waits for that.
    pub(crate) fn end_cold(&mut self) -> bool {
        std::mem::take(&mut self.is_cold)
    }

    /// Its output waits for that of other streams.
    pub(crate) fn excuse(&mut self) {
        self.is_excused = true;
    }

    /// Whether it was excused since the last call.
    pub(crate) fn take_excuse(&mut self) -> bool {
        std::mem::take(&mut self.is_excused)
    }

    /// The process adds no more output. Returns whether that is news for the carrier.
    pub(crate) fn finish(&mut self) -> bool {
        !std::mem::replace(&mut self.is_finished, true)
    }

    /// The queue, for accounts.
    pub(crate) fn queue(&self) -> &Outbox {
        &self.queue
    }

    /// Whether the next piece is a file region that is not in memory.
    pub(crate) fn is_cold(&self) -> bool {
        self.is_cold
    }

    /// Whether its carrier has something to take or to learn.
    pub(crate) fn has_news(&self) -> bool {
        let has_output = self.queue.queued_bytes() > 0 && !self.is_cold;
        has_output || matches!(self.stage, Stage::Ended(_)) || self.consumed > 0
    }

    /// The next unit for the carrier, at most so many bytes of a body.
    pub(crate) fn waiting(&mut self, most: usize) -> StreamOffer {
        if self.is_cold {
            return StreamOffer::Nothing;
        }
        let unit = self.queue.next_unit(most);
        let then =
            |all: bool| if all && self.is_finished { OutputEnd::Ends } else { OutputEnd::GoesOn };
        match unit {
            Unit::Head { is_all } => StreamOffer::Head { then: then(is_all) },
            Unit::Body { bytes, is_all } => StreamOffer::Body { bytes, then: then(is_all) },
            Unit::Cold => {
                self.is_cold = true;
                StreamOffer::Nothing
            }
            Unit::TakenBack => StreamOffer::Ended(Ending::Aborted(CloseReason::SlowReader)),
            Unit::Nothing => match self.stage {
                Stage::Ended(ending) => StreamOffer::Ended(ending),
                _ if self.is_finished => StreamOffer::Ended(Ending::Finished),
                _ => StreamOffer::Nothing,
            },
        }
    }

    /// Takes the head at the front, if there is one.
    pub(crate) fn take_head(&mut self) -> Option<Vec<u8>> {
        self.queue.take_head()
    }

    /// Moves so many bytes to the output of the carrier.
    pub(crate) fn take(&mut self, count: usize, output: &mut Output) {
        self.queue.take(count, output);
    }

    /// Its process has ended. Output that was not taken is dropped unless the process had finished.
    pub(crate) fn end(&mut self, ending: Ending) {
        self.stage = Stage::Ended(ending);
        (self.input, self.opening, self.with_end) = (None, None, None);
        if ending != Ending::Finished {
            self.is_finished = false;
            self.drop_output();
        }
    }

    /// Whether its process has finished and all its output has been taken.
    pub(crate) fn is_over(&self) -> bool {
        self.is_finished && self.queue.queued_bytes() == 0
    }

    /// Drops the output that was not taken.
    fn drop_output(&mut self) {
        self.queue.clear();
        self.is_cold = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A carrier that could not look at a stream puts it back, also if nothing but a window has come of it.
    #[test]
    fn consumed_input_is_news_until_it_is_taken() {
        let mut carriage = Carriage::new(Box::new(()));
        assert!(!carriage.has_news());
        carriage.note_consumed(3);
        assert!(carriage.has_news());
        assert_eq!((carriage.take_consumed(), carriage.has_news()), (3, false));
    }

    #[test]
    fn output_of_a_stream_that_did_not_finish_is_lost() {
        for (ending, left) in [(Ending::Aborted(CloseReason::Aborted), 0), (Ending::Finished, 4)] {
            let (mut carriage, mut outbox) = (Carriage::new(Box::new(())), Outbox::default());
            outbox.push_bytes(b"rest");
            assert!(carriage.add_output(&mut outbox));
            carriage.end(ending);
            assert_eq!(carriage.queue().untaken(), left, "{ending:?}");
        }
    }
}
