//! Streams: processes without a socket. Their beginning, their input and output, and their carriers, which are told
//! when they have something.
//!
//! Owns the steps between a stream and its carrier within a turn. Never runs for a scheduler without streams.

use sys::pollset::Pollset;

use super::Scheduler;
use super::executor::{Executor, Lives, ProcessOf};
use super::run::Drained;
use crate::carriage::{Handed, InputStage};
use crate::limits::{OUTBOX_BYTES, RECEIVES_PER_TURN, STREAM_ROUNDS};
use crate::process::{Flags, Mode, Process};
use crate::service::{CloseReason, Event, Service};
use crate::slots::ProcessId;
use crate::stream::{Ending, StreamId};
use crate::uptake::Uptake;

impl<P: Pollset, S: Service> Scheduler<P, S> {
    /// Runs streams that have input or whose output was taken, begins others, and tells their carriers. Returns whether
    /// there was anything to do. What those steps cause in turn is done too, within a bound.
    pub(super) fn carry(&mut self) -> bool {
        let mut any = false;
        for _ in 0..STREAM_ROUNDS {
            if self.executor.extras.is_quiet() {
                break;
            }
            any = true;
            // Those that run come first: beginnings must not use up the share that they need.
            self.run_streams();
            self.begin_streams();
            // The input that came with those that have begun.
            self.run_streams();
            self.tell_carriers();
            self.executor.count_handed();
        }
        any
    }

    /// Begins the processes of the streams that were opened before now, those of each carrier within its share.
    fn begin_streams(&mut self) {
        for _ in 0..self.executor.extras.opened_count() {
            let Some(stream) = self.executor.extras.next_opened() else { return };
            if self.executor.extras.must_stream_wait(stream) {
                self.executor.extras.begin_later(stream);
                continue;
            }
            self.guarded(|scheduler| scheduler.begin_stream(stream));
            // The service did not want it, or its handler panicked.
            if self.executor.extras.is_opened(stream) {
                self.executor.stats.streams_refused += 1;
                self.executor.output.clear();
                self.executor.extras.refuse(stream, Ending::Refused);
            }
        }
    }

    fn begin_stream(&mut self, stream: StreamId) {
        self.executor.read_clock_for_run();
        let now = self.executor.clock.now();
        let is_over = self.executor.drain.is_some_and(|drain| drain.is_over(now.monotonic_ns));
        if is_over || !self.has_made_room() {
            return;
        }
        // To make room, its carrier may have been closed.
        let Some(opening) = self.executor.extras.take_opening(stream) else { return };
        let id = self.table.next_id();
        let (service, mut context) = self.executor.newcomer(id);
        let Some(state) = service.on_carry(opening, &mut context) else { return };
        let deadline = context.deadline;
        let Some(extra) = self.executor.extras.begin(stream, id) else { return };
        let mut process = Process::new(None, state);
        process.extra = Some(extra);
        process.deadline = deadline;
        process.last_run = now.tick();
        // There is nothing to watch.
        process.flags.set(Flags::WATCHED.and(Flags::ROOM_REPORTED));
        if !self.insert(id, process) {
            return;
        }
        self.executor.stats.streams += 1;
        self.visit(id, |executor, id, process| {
            if !executor.output.is_empty() {
                executor.transmit(id, process)?;
            }
            if executor.is_short_of_memory() {
                return executor.turn_away(id, process);
            }
            executor.tell(id, process, Event::Connected)?;
            executor.after_run(id, process)
        });
    }

    /// Visits the streams that were woken before now.
    fn run_streams(&mut self) {
        for _ in 0..self.executor.extras.awake_count() {
            let Some(stream) = self.executor.extras.next_awake() else { return };
            if self.executor.extras.must_stream_wait(stream) {
                self.executor.extras.visit_later(stream);
                continue;
            }
            let Some(id) = self.executor.extras.calm_stream(stream) else { continue };
            self.guarded(|scheduler| scheduler.visit(id, Executor::run_stream));
        }
    }

    /// Tells the carriers whose streams have something.
    fn tell_carriers(&mut self) {
        for _ in 0..self.executor.extras.stirred_count() {
            let Some(id) = self.executor.extras.next_stirred() else { return };
            self.guarded(|scheduler| scheduler.visit(id, Executor::tell_carrier));
        }
    }
}

/// A stream.
impl<P: Pollset, S: Service> Executor<P, S> {
    /// A stream was woken: it has input, it was reset, or its carrier has taken output or needs a file.
    fn run_stream(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) -> Lives {
        let Some(carriage) = self.extras.carriage(process.extra) else { return Ok(()) };
        let (stage, has_input) = (carriage.input_stage(), carriage.take_input_news());
        let is_cold = carriage.is_cold();
        match stage {
            InputStage::Reset => return Err(CloseReason::Failed),
            InputStage::Ended if has_input => {
                process.flags.set(Flags::READABLE.and(Flags::ENDED));
            }
            InputStage::Open if has_input => process.flags.set(Flags::READABLE),
            InputStage::Ended | InputStage::Open => {}
        }
        if is_cold && !process.flags.has(Flags::COLD) {
            process.flags.set(Flags::COLD);
            self.stats.files_cold += 1;
            self.ask_for_file(id, process)?;
        }
        self.transmit_outbox(id, process)?;
        self.receive(id, process)
    }

    /// Gives a stream the input that was handed to it, as far as it wants any.
    pub(super) fn receive_handed(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) -> Lives {
        for _ in 0..RECEIVES_PER_TURN {
            let inbox_is_next = process.inbox.is_some() && process.flags.has(Flags::QUEUED);
            if !process.flags.has(Flags::READABLE) || inbox_is_next {
                break;
            }
            let wants_input = matches!(process.mode, Mode::Reading | Mode::Collecting);
            if !wants_input || self.is_starving(id, process) {
                break;
            }
            let handed = self.extras.carriage(process.extra).map(|carriage| carriage.take_input());
            match handed.unwrap_or(Handed::Nothing) {
                Handed::Bytes(input) => {
                    self.extras.count_handed(input.capacity(), 0);
                    self.count_handed();
                    let before = process.inbox.as_ref().map_or(0, |inbox| inbox.capacity());
                    match &mut process.inbox {
                        Some(inbox) => inbox.add(input.waiting()),
                        None => process.inbox = Some(input),
                    }
                    let after = process.inbox.as_ref().map_or(0, |inbox| inbox.capacity());
                    self.count_input(id, before, after);
                    process.flags.take(Flags::END_TOLD);
                    match process.mode {
                        Mode::Reading => self.run_inbox(id, process)?,
                        _ => Self::check_inbox(process)?,
                    }
                }
                Handed::Nothing => {
                    process.flags.take(Flags::READABLE);
                }
                // The end is seen again, after the input before it, when the process reads.
                Handed::End if process.mode == Mode::Collecting => process.mode = Mode::Parked,
                Handed::End => {
                    process.flags.take(Flags::READABLE);
                    self.tell(id, process, Event::InputEnded)?;
                }
            }
        }
        self.after_run(id, process)
    }

    /// Moves the output of a stream to where its carrier takes it, and records how much has not been taken.
    pub(super) fn pass_on(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) -> Lives {
        let adds = !self.output.is_empty();
        let has_more = adds && process.outbox.is_some();
        self.queue_output(process);
        if !process.mode.goes_on() {
            self.extras.finish_output(process.extra);
        }
        let waited = process.flags.has(Flags::WANTS_ROOM);
        let Some(outbox) = &mut process.outbox else { return Ok(()) };
        let before = outbox.counted_bytes();
        outbox.count_posted();
        if !process.flags.has(Flags::COLD) {
            self.extras.end_cold(process.extra);
        }
        self.extras.add_output(process.extra, outbox);
        let Some(carriage) = self.extras.carriage(process.extra) else { return Ok(()) };
        outbox.note_untaken(carriage.queue());
        let (untaken, queued) = (carriage.queue().untaken(), outbox.queued_bytes());
        self.stats.count_buffered(before, queued);
        if queued == 0 {
            if let Some(outbox) = process.outbox.take() {
                self.spare_outboxes.give_back(outbox);
            }
            process.flags.take(Flags::WANTS_ROOM);
            let output = if waited { Drained::AfterWaiting } else { Drained::Nothing };
            return self.on_sent(id, process, output);
        }
        if !waited {
            process.flags.set(Flags::WANTS_ROOM);
            outbox.uptake = Some(Uptake::since(self.clock.now().monotonic_ns, untaken));
        }
        if has_more && queued > OUTBOX_BYTES {
            return Err(CloseReason::OutboxFull);
        }
        if adds { self.check_memory(id, process) } else { Ok(()) }
    }

    /// Bytes of a stream's output that its carrier has not taken.
    pub(super) fn untaken(&mut self, process: &ProcessOf<P, S>) -> u64 {
        self.extras.carriage(process.extra).map_or(0, |carriage| carriage.queue().untaken())
    }

    /// Counts the input that waits for streams.
    pub(super) fn count_handed(&mut self) {
        let (before, after) = self.extras.recount_handed();
        self.stats.count_buffered(before, after);
    }
}

/// A carrier.
impl<P: Pollset, S: Service> Executor<P, S> {
    /// Tells a carrier that some of its streams have something. One that is about to end has no use for it.
    fn tell_carrier(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) -> Lives {
        self.extras.calm(process.extra);
        if !process.mode.goes_on() {
            return Ok(());
        }
        let waits = matches!(process.mode, Mode::Parked | Mode::Collecting);
        self.run(id, process, |service, state, context| service.on_streams_ready(state, context))?;
        if waits { self.go_on_reading(id, process) } else { self.after_run(id, process) }
    }
}
