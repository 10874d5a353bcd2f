//! Running a process: give it what came, send what it produced, do what it asked.
//!
//! Owns the order of those steps. Each function here works on one process; a process that ended on the way is
//! simply not found by the next step.

use sys::pollset::{Pollset, Received, Rest};

use super::{Running, Scheduler};
use crate::limits::{INBOX_BYTES, RECEIVES_PER_TURN};
use crate::process::{Flags, Mode, Process};
use crate::service::{CloseReason, Event, Next, Progress, Service};
use crate::slots::ProcessId;

/// What became of a process's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drained {
    /// There was none.
    Nothing,
    /// It left at once.
    AtOnce,
    /// It had to wait for the peer, the turn or a file.
    AfterWaiting,
}

/// What one receive came to.
enum RunStep {
    /// Bytes were given to the process; more may wait.
    More,
    /// The socket was emptied, or the process wants no input.
    Done,
    /// The peer ended its output.
    Ended,
    /// The connection is gone.
    Gone,
}

impl<P: Pollset, S: Service> Scheduler<P, S> {
    /// The pollset reported bytes or an end.
    #[inline]
    pub(super) fn on_readable(&mut self, id: ProcessId, ended: Flags) {
        let Some(process) = self.table.lookup(id) else { return };
        process.flags.set(Flags::READABLE);
        process.flags.set(ended);
        self.receive(id);
    }

    /// A parked process whose peer has ended something. It receives nothing, and would not see that, however early it was.
    #[cold]
    fn look_after_parked(&mut self, id: ProcessId) {
        let Some(process) = self.table.lookup(id) else { return };
        if process.flags.has(Flags::OVER) {
            self.close(id, CloseReason::Failed);
        } else if !process.flags.has(Flags::END_TOLD) {
            process.flags.set(Flags::END_TOLD);
            self.tell(id, Event::PeerFinished);
        }
    }

    /// Receives for a process until its socket is empty, it wants no more, or it had its share of the turn.
    pub(super) fn receive(&mut self, id: ProcessId) {
        for _ in 0..RECEIVES_PER_TURN {
            let Some(process) = self.table.lookup(id) else { return };
            if !process.flags.has(Flags::READABLE) {
                break;
            }
            if process.inbox.is_some() && process.flags.has(Flags::QUEUED) {
                // What is left in its inbox comes first, above all before an end of the input.
                break;
            }
            let step = match process.mode {
                Mode::Reading => self.receive_once(id),
                Mode::Discarding => self.discard_once(id),
                Mode::Connecting | Mode::Parked | Mode::Finishing | Mode::Lingering => break,
            };
            match step {
                RunStep::More => {}
                RunStep::Done => break,
                RunStep::Ended => {
                    self.on_input_ended(id);
                    break;
                }
                RunStep::Gone => {
                    self.close(id, CloseReason::Failed);
                    return;
                }
            }
        }
        if P::LAYERED {
            self.settle_layer(id);
        }
        self.after_run(id);
    }

    /// One receive, given to the process.
    #[inline]
    fn receive_once(&mut self, id: ProcessId) -> RunStep {
        if self.is_starving(id) {
            return RunStep::Done;
        }
        // Before the bytes are lent: they came no later than that.
        self.read_clock_for_run();
        let Some(process) = self.table.lookup(id) else { return RunStep::Done };
        let received = self.pollset.receive(&process.socket);
        self.sampler.lap(&mut self.stats.sampled.receive_ticks);
        let (bytes, rest) = match received {
            Received::Bytes(bytes, rest) => (bytes, rest),
            Received::Blocked => {
                process.flags.take(Flags::READABLE);
                return RunStep::Done;
            }
            Received::End => return RunStep::Ended,
            Received::Failed(_) => return RunStep::Gone,
        };
        if P::LAYERED && bytes.is_empty() {
            return RunStep::More;
        }
        self.stats.receives += 1;
        self.spin.note_run(id.index());
        self.stats.received_bytes += bytes.len() as u64;
        // A short receive emptied the socket; only an end that was announced is still to be seen.
        if process.flags.has(Flags::ENDED) {
            process.flags.take(Flags::END_TOLD);
        } else if rest == Rest::No {
            process.flags.take(Flags::READABLE);
        }
        let kind = S::kind(&process.state);
        let before = process.inbox.as_ref().map_or(0, |inbox| inbox.capacity());
        self.running = Some(Running { id, kind, lent_bytes: before });
        let mut context = Self::context(
            id,
            process,
            &self.clock,
            &mut self.output,
            &mut self.mailbox,
            &self.drain,
        );
        let progress = if let Some(mut inbox) = process.inbox.take() {
            inbox.extend_from_slice(bytes);
            let progress = self.service.on_input(&mut process.state, &inbox, &mut context);
            process.inbox = Some(inbox);
            process.deadline = context.deadline;
            process.consume(progress.consumed);
            progress
        } else {
            let progress = self.service.on_input(&mut process.state, bytes, &mut context);
            process.deadline = context.deadline;
            process.keep(bytes, progress.consumed);
            progress
        };
        let after = process.inbox.as_ref().map_or(0, |inbox| inbox.capacity());
        if before != after {
            self.stats.count_buffered(before, after);
        }
        self.finish_run(id, progress.next);
        RunStep::More
    }

    /// Gives a process what is left in its inbox.
    fn run_inbox(&mut self, id: ProcessId) {
        self.read_clock_for_run();
        let Some(process) = self.table.lookup(id) else { return };
        let Some(inbox) = process.inbox.take() else { return };
        process.flags.take(Flags::END_TOLD);
        let before = inbox.capacity();
        let Some((service, process, mut context)) = self.begin_run(id, before) else { return };
        let Progress { consumed, next } =
            service.on_input(&mut process.state, &inbox, &mut context);
        process.deadline = context.deadline;
        process.inbox = Some(inbox);
        process.consume(consumed);
        let after = process.inbox.as_ref().map_or(0, |inbox| inbox.capacity());
        self.stats.count_buffered(before, after);
        self.finish_run(id, next);
    }

    /// Tells a process of something that is not input.
    pub(super) fn tell(&mut self, id: ProcessId, event: Event) {
        self.read_clock_for_run();
        let Some((service, process, mut context)) = self.begin_run(id, 0) else { return };
        let next = service.on_event(&mut process.state, event, &mut context);
        process.deadline = context.deadline;
        self.finish_run(id, next);
    }

    fn on_input_ended(&mut self, id: ProcessId) {
        let Some(process) = self.table.lookup(id) else { return };
        process.flags.take(Flags::READABLE);
        if process.mode == Mode::Discarding {
            self.close(id, CloseReason::Finished);
            return;
        }
        self.tell(id, Event::InputEnded);
    }

    /// Sends what the run produced and enters the mode it asked for.
    fn finish_run(&mut self, id: ProcessId, next: Next) {
        let Some(Running { kind, .. }) = self.running.take() else { return };
        self.sampler.lap(&mut self.stats.sampled.handler_ticks[kind]);
        self.sampler.end_run(kind);
        if next == Next::Abort {
            self.output.clear();
            if let Some(process) = self.table.lookup(id) {
                self.pollset.reset_on_close(&process.socket);
            }
            self.close(id, CloseReason::Aborted);
            return;
        }
        let Some(process) = self.table.lookup(id) else { return };
        debug_assert!(
            next == Next::Changed || S::kind(&process.state) == kind,
            "a process says that it changed"
        );
        if process.mode == Mode::Connecting {
            self.stats.change_kind(kind, S::kind(&process.state));
            self.finish_connecting_run(id, next);
            return;
        }
        process.mode = match next {
            Next::Read => Mode::Reading,
            Next::Changed => {
                self.stats.change_kind(kind, S::kind(&process.state));
                if process.inbox.is_some() && !process.flags.has(Flags::QUEUED) {
                    process.flags.set(Flags::QUEUED);
                    self.run_queue.push_back(id);
                }
                Mode::Reading
            }
            Next::Park => Mode::Parked,
            Next::Finish => Mode::Finishing,
            Next::Linger | Next::Abort => Mode::Lingering,
        };
        if process.inbox.as_ref().is_some_and(|inbox| inbox.len() > INBOX_BYTES) {
            self.output.clear();
            self.close(id, CloseReason::InboxFull);
            return;
        }
        self.transmit(id);
    }

    /// The service has a process run.
    pub(super) fn run_now(&mut self, id: ProcessId) {
        let Some(process) = self.table.lookup(id) else { return };
        match process.mode {
            Mode::Connecting | Mode::Reading => {
                self.tell(id, Event::Resumed);
                self.after_run(id);
            }
            Mode::Parked => {
                self.tell(id, Event::Resumed);
                self.go_on_reading(id);
            }
            // It ends already, and no sooner for being told so.
            Mode::Finishing | Mode::Lingering | Mode::Discarding => {}
        }
    }

    /// A process was queued: it was resumed, or did not get through in its last turn.
    pub(super) fn run_again(&mut self, id: ProcessId) {
        let Some(process) = self.table.lookup(id) else { return };
        process.flags.take(Flags::QUEUED);
        if process.flags.has(Flags::RESUMED) {
            process.flags.take(Flags::COLD);
        }
        if process.outbox.is_some() {
            // Tried whether room was reported or not: a turn's share that was used up, and a file that was read
            // meanwhile, are not followed by a report.
            self.transmit_outbox(id);
        }
        let Some(process) = self.table.lookup(id) else { return };
        let resumed = process.flags.take(Flags::RESUMED);
        if resumed && process.mode == Mode::Parked {
            self.tell(id, Event::Resumed);
        }
        self.go_on_reading(id);
    }

    /// What is left of the input first, then what waits in the socket.
    pub(super) fn go_on_reading(&mut self, id: ProcessId) {
        let reading = |process: &mut Process<_, _>| process.mode == Mode::Reading;
        if self.table.lookup(id).is_some_and(|process| reading(process) && process.inbox.is_some())
        {
            self.run_inbox(id);
        }
        self.receive(id);
    }

    /// What every run of a live process ends with: it is watched, its deadline armed, and if it was not
    /// finished in its share of the turn it is queued.
    #[inline]
    pub(super) fn after_run(&mut self, id: ProcessId) {
        let Some(mut process) = self.table.lookup(id) else { return };
        if process.mode == Mode::Parked && process.flags.has(Flags::ENDED.and(Flags::OVER)) {
            self.look_after_parked(id);
            let Some(left) = self.table.lookup(id) else { return };
            process = left;
        }
        if !process.flags.has(Flags::WATCHED) {
            process.flags.set(Flags::WATCHED);
            if self.pollset.watch(&process.socket, sys::pollset::Token(id.to_bits())).is_err() {
                self.close(id, CloseReason::Failed);
                return;
            }
        }
        let wants_input = matches!(process.mode, Mode::Reading | Mode::Discarding);
        if wants_input && process.flags.has(Flags::READABLE) && !self.is_waiting_for_memory(id) {
            self.queue(id);
        }
        self.arm(id);
    }

    /// All output was sent: closes, begins to discard, or tells a process that waited for it.
    pub(super) fn on_sent(&mut self, id: ProcessId, output: Drained) {
        let Some(process) = self.table.lookup(id) else { return };
        if P::LAYERED
            && matches!(process.mode, Mode::Finishing | Mode::Lingering)
            && self.pollset.take_leave(&process.socket)
            && self.owes(id)
        {
            return;
        }
        let Some(process) = self.table.lookup(id) else { return };
        match process.mode {
            Mode::Finishing => {
                if P::LAYERED || output != Drained::Nothing {
                    // What was held back for the end goes with it now. The close alone would reset the connection,
                    // and lose the answer, if input came meanwhile that nobody reads.
                    self.pollset.end_output(&process.socket);
                }
                self.close(id, CloseReason::Finished);
            }
            Mode::Lingering => self.begin_to_discard(id),
            Mode::Connecting | Mode::Discarding => {}
            Mode::Reading if output == Drained::AfterWaiting => self.tell_drained(id),
            Mode::Parked if output != Drained::Nothing => self.tell_drained(id),
            Mode::Reading | Mode::Parked => {}
        }
    }

    /// The process may want the input that it left.
    fn tell_drained(&mut self, id: ProcessId) {
        self.tell(id, Event::OutputDrained);
        let reads = |process: &mut Process<_, _>| {
            process.mode == Mode::Reading
                && (process.inbox.is_some() || process.flags.has(Flags::READABLE))
        };
        if self.table.lookup(id).is_some_and(reads) {
            self.queue(id);
        }
    }

    fn begin_to_discard(&mut self, id: ProcessId) {
        let Some(process) = self.table.lookup(id) else { return };
        process.mode = Mode::Discarding;
        process.linger_left = self.settings.linger_bytes;
        process.flags.set(Flags::READABLE);
        process.deadline = self.clock.now().tick_after_ms(self.settings.linger_ms);
        let before = process.inbox.take().map_or(0, |inbox| inbox.capacity());
        self.stats.count_buffered(before, 0);
        self.pollset.end_output(&process.socket);
        self.queue(id);
    }

    /// One receive whose bytes nobody wants.
    fn discard_once(&mut self, id: ProcessId) -> RunStep {
        let Some(process) = self.table.lookup(id) else { return RunStep::Done };
        match self.pollset.receive(&process.socket) {
            Received::Bytes(bytes, _) => {
                let count = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
                if process.linger_left < count {
                    return RunStep::Gone;
                }
                process.linger_left -= count;
                RunStep::More
            }
            Received::Blocked => {
                process.flags.take(Flags::READABLE);
                RunStep::Done
            }
            Received::End => RunStep::Ended,
            Received::Failed(_) => RunStep::Gone,
        }
    }
}
