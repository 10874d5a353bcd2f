//! Streams, as the process that carries them sees them.
//!
//! Owns the carrier's side: opening, handing input, taking output, resetting. A stream's own process sees nothing of
//! this: it has input, output, deadlines and events like a process with a socket. Never frames bytes: the carrier does.

use std::any::Any;

use crate::carriage::Carriage;
use crate::close_reason::CloseReason;
use crate::extras::{Carrier, ExtraIndex, Extras};
use crate::limits::{STREAM_INPUT_BYTES, STREAMS_PER_PROCESS};
use crate::output::Output;
use crate::slots::ProcessId;

pub use crate::held_back::InputHold;
pub use crate::stream::{Ending, NotHanded, NotOpened, OutputEnd, StreamId, StreamOffer};

/// The streams of the process that runs. See [`Service::on_carry`](crate::service::Service::on_carry).
pub struct Streams<'a> {
    carrier: ProcessId,
    extra: &'a mut Option<ExtraIndex>,
    extras: &'a mut Extras,
    output: &'a mut Output,
}

impl<'a> Streams<'a> {
    /// Those of this process, whose extra and output these are.
    pub(crate) fn of(
        carrier: ProcessId,
        extra: &'a mut Option<ExtraIndex>,
        extras: &'a mut Extras,
        output: &'a mut Output,
    ) -> Self {
        Self { carrier, extra, extras, output }
    }

    /// Opens a stream. [`Service::on_carry`](crate::service::Service::on_carry) makes its process of this opening later
    /// in this turn; input may be handed to it at once. If the stream ends before, the opening is dropped. The tag is
    /// the caller's own: [`StreamId::tag`] returns it.
    ///
    /// # Errors
    /// If there is no room for another one, or this process cannot carry any.
    pub fn open(&mut self, opening: Box<dyn Any>, tag: u32) -> Result<StreamId, NotOpened> {
        let index = match *self.extra {
            Some(index) => index,
            None => self.extras.claim(self.carrier).ok_or(NotOpened::TooMany)?,
        };
        *self.extra = Some(index);
        let extra = self.extras.at(index).ok_or(NotOpened::TooEarly)?;
        if extra.is_stream() {
            return Err(NotOpened::IsStream);
        }
        if extra.carries() >= STREAMS_PER_PROCESS {
            return Err(NotOpened::TooMany);
        }
        let carrier = Carrier { process: self.carrier, extra: index };
        self.extras.open_stream(carrier, opening, tag).ok_or(NotOpened::TooMany)
    }

    /// The number of streams that this process carries.
    pub fn count(&self) -> usize {
        self.extras.carries(*self.extra)
    }

    /// Hands input to a stream. It is copied once, and waits while the stream's process does not read.
    ///
    /// # Errors
    /// If the stream takes no more input, or not so much; then none was handed.
    pub fn hand(&mut self, stream: StreamId, bytes: &[u8]) -> Result<(), NotHanded> {
        let carriage = self.carriage(stream).filter(|carriage| carriage.takes_input());
        let carriage = carriage.ok_or(NotHanded::Gone)?;
        if carriage.input_bytes() + bytes.len() > STREAM_INPUT_BYTES {
            return Err(NotHanded::Full);
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let before = carriage.input_capacity();
        carriage.hand(bytes);
        let after = carriage.input_capacity();
        self.extras.count_handed(before, after);
        self.extras.wake(stream);
        Ok(())
    }

    /// Says that the input of a stream is complete.
    pub fn end_input(&mut self, stream: StreamId) {
        self.end(stream, None);
    }

    /// The same, with something for its process, which takes it after the end:
    /// [`Context::take_with_end`](crate::service::Context::take_with_end).
    pub fn end_input_with(&mut self, stream: StreamId, with: Box<dyn Any>) {
        self.end(stream, Some(with));
    }

    fn end(&mut self, stream: StreamId, with: Option<Box<dyn Any>>) {
        if let Some(carriage) = self.carriage(stream).filter(|carriage| carriage.takes_input()) {
            carriage.end_input(with);
            self.extras.wake(stream);
        }
    }

    /// Lets go of a stream. Its process is closed with reason
    /// [`CloseReason::Failed`], like one whose peer resets the connection; output
    /// that was not taken is lost.
    pub fn reset(&mut self, stream: StreamId) {
        if self.carriage(stream).is_some() {
            self.extras.let_go(stream);
        }
    }

    /// How many bytes of the input of a stream its process has consumed since the last call: a window may be opened by
    /// so many.
    pub fn take_consumed(&mut self, stream: StreamId) -> usize {
        self.carriage(stream).map_or(0, Carriage::take_consumed)
    }

    /// Bytes of memory that the process of a stream keeps in its state, as
    /// [`Service::held_bytes`](crate::service::Service::held_bytes) says.
    pub fn kept(&mut self, stream: StreamId) -> usize {
        self.carriage(stream).map_or(0, |carriage| carriage.kept())
    }

    /// From now on the peer may send input for a stream, or may not: its process learns for how long
    /// ([`Context::held_back_ns`](crate::service::Context::held_back_ns)).
    pub fn hold_input(&mut self, stream: StreamId, hold: InputHold, now_ns: u64) {
        if let Some(carriage) = self.carriage(stream) {
            carriage.held_back().set(hold, now_ns);
        }
    }

    /// The next stream that has something: output, consumed input, or its end. Each is named once until it has
    /// something new, or more is left after a [`take`](Self::take): so all get their turn.
    pub fn next_ready(&mut self) -> Option<StreamId> {
        self.extras.next_ready((*self.extra)?)
    }

    /// Puts a stream behind the others that have something, if it has. For a stream that
    /// [`next_ready`](Self::next_ready) named when its carrier could not take its output.
    pub fn put_back(&mut self, stream: StreamId) {
        if self.carriage(stream).is_some_and(|carriage| carriage.has_news()) {
            self.extras.put_back(stream);
        }
    }

    /// The next unit of a stream: a head, or at most so many bytes of a body.
    pub fn waiting(&mut self, stream: StreamId, most: usize) -> StreamOffer {
        let Some(carriage) = self.carriage(stream) else {
            return StreamOffer::Ended(Ending::Aborted(CloseReason::Failed));
        };
        let waiting = carriage.waiting(most);
        match waiting {
            StreamOffer::Ended(_) => self.extras.let_go(stream),
            StreamOffer::Nothing if carriage.is_cold() => self.extras.wake(stream),
            _ => {}
        }
        waiting
    }

    /// Reads the head that [`waiting`](Self::waiting) has just said, and drops it. The output of this process is lent
    /// for what becomes of it. `None`: there is no head.
    pub fn with_head<T>(
        &mut self,
        stream: StreamId,
        read: impl FnOnce(&[u8], &mut Output) -> T,
    ) -> Option<T> {
        let carriage = self.extras.carriage_for((*self.extra)?, stream)?;
        let head = carriage.take_head()?;
        let result = read(&head, self.output);
        self.after_taking(stream);
        Some(result)
    }

    /// Moves so many bytes of a body from a stream to the output of this process, long ones without copying. At most
    /// what [`waiting`](Self::waiting) has just said.
    pub fn take(&mut self, stream: StreamId, bytes: usize) {
        let Some(own) = *self.extra else { return };
        let Some(carriage) = self.extras.carriage_for(own, stream) else { return };
        carriage.take(bytes, self.output);
        self.after_taking(stream);
    }

    /// Lets go of a stream whose output has ended; another goes on.
    fn after_taking(&mut self, stream: StreamId) {
        let Some(carriage) = self.carriage(stream) else { return };
        if carriage.is_over() {
            self.extras.let_go(stream);
            return;
        }
        let has_more = carriage.has_news();
        self.extras.wake(stream);
        if has_more {
            self.extras.put_back(stream);
        }
    }

    /// The output of a stream waits for that of others, not for its client: the time since it was taken last does not
    /// count against the client.
    pub fn excuse(&mut self, stream: StreamId) {
        if let Some(carriage) = self.carriage(stream) {
            carriage.excuse();
        }
    }

    /// Whether other processes want something of this turn, too: then a carrier does no more than its share, and leaves
    /// the rest to the next turn ([`Next::Again`](crate::service::Next::Again)).
    pub fn have_rivals(&self) -> bool {
        self.extras.has_others(self.carrier)
    }

    /// Lends the memory of its lists to other processes, if this one carries no stream now.
    pub fn lend_lists(&mut self) {
        if let Some(index) = *self.extra {
            self.extras.take_empty_list(index);
        }
    }

    /// The carriage of a stream that this process carries.
    fn carriage(&mut self, stream: StreamId) -> Option<&mut Carriage> {
        self.extras.carriage_for((*self.extra)?, stream)
    }
}
