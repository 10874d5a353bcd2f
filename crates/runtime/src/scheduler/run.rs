//! Runs a process: gives it its input, sends its output, does what it requested.
//!
//! Owns the order of those steps, each of which works on one process.

use sys::pollset::{Pollset, Received, Rest};

use super::executor::{Executor, Lives, ProcessOf, Running};
use crate::account::{TimeAccount, change_to};
use crate::limits::{GROUP_RUN_TICKS, RECEIVES_PER_TURN, STREAM_INPUT_BYTES};
use crate::process::{Flags, Mode};
use crate::service::{CloseReason, Context, Event, Next, Progress, Service};
use crate::slots::ProcessId;

/// The fate of the output of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drained {
    /// There was none.
    Nothing,
    /// It was sent at once.
    AtOnce,
    /// It had to wait: for the peer, the next turn or a file.
    AfterWaiting,
}

impl<P: Pollset, S: Service> Executor<P, S> {
    /// The peer has ended its output or the connection. A parked process receives nothing, so it would never notice. A
    /// process that reads has been told; and if the connection is over in both directions, nothing more can happen to
    /// it.
    #[cold]
    fn look_after_end(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) -> Lives {
        let is_over = process.flags.has(Flags::OVER);
        match process.mode {
            Mode::Parked | Mode::Collecting if is_over => Err(CloseReason::Failed),
            Mode::Parked if !process.flags.has(Flags::END_TOLD) => {
                process.flags.set(Flags::END_TOLD);
                self.tell(id, process, Event::PeerFinished)
            }
            Mode::Reading if is_over && !process.flags.has(Flags::READABLE.and(Flags::QUEUED)) => {
                Err(CloseReason::Failed)
            }
            _ => Ok(()),
        }
    }

    /// Receives for a process until its socket is empty, it wants no more, or it has used its share of the turn.
    pub(super) fn receive(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) -> Lives {
        if process.extra.is_some() {
            if process.socket.is_none() {
                return self.receive_handed(id, process);
            }
            if self.extras.layer(process.extra).is_some() {
                return self.receive_through_layer(id, process);
            }
        }
        for _ in 0..RECEIVES_PER_TURN {
            // The rest of its inbox comes first, in particular before an end of the input.
            let inbox_is_next = process.inbox.is_some() && process.flags.has(Flags::QUEUED);
            if !process.flags.has(Flags::READABLE) || inbox_is_next {
                break;
            }
            match process.mode {
                Mode::Reading => {
                    if self.is_starving(id, process) {
                        break;
                    }
                    self.receive_once(id, process)?;
                }
                Mode::Collecting => {
                    if self.is_starving(id, process) {
                        break;
                    }
                    self.collect_once(id, process)?;
                }
                Mode::Discarding => self.discard_once(process)?,
                Mode::Connecting | Mode::Parked | Mode::Finishing | Mode::Lingering => break,
            }
        }
        self.after_run(id, process)
    }

    /// One receive, handed to the process.
    #[inline]
    fn receive_once(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) -> Lives {
        // Read before the bytes are received: they arrived no later than this.
        self.read_clock_for_run();
        let Some(socket) = &process.socket else { return Ok(()) };
        change_to(TimeAccount::Receive);
        let received = self.pollset.receive(socket);
        change_to(TimeAccount::Handler);
        let (bytes, rest) = match received {
            Received::Bytes(bytes, rest) => (bytes, rest),
            Received::Blocked => {
                process.flags.take(Flags::READABLE);
                return Ok(());
            }
            Received::End => return self.on_input_end(id, process),
            Received::Failed(_) => return Err(CloseReason::Failed),
        };
        self.stats.receives += 1;
        self.spin.note_run(id.index());
        self.stats.received_bytes += bytes.len() as u64;
        if let Some(watch) = &mut self.watch {
            watch.of_mut(id).received_bytes += bytes.len() as u64;
        }
        // A short receive emptied the socket. Only an announced end is still to be seen.
        if process.flags.has(Flags::ENDED) {
            process.flags.take(Flags::END_TOLD);
        } else if rest == Rest::No {
            process.flags.take(Flags::READABLE);
        }
        let before = process.inbox.as_ref().map_or(0, |inbox| inbox.capacity());
        self.running = Self::running(id, process, before);
        let mut context = Self::context(
            id,
            process,
            &self.clock,
            &mut self.output,
            &mut self.mailbox,
            &mut self.extras,
            &self.drain,
        );
        let progress = if let Some(mut inbox) = process.inbox.take() {
            inbox.add(bytes);
            let progress = self.service.on_input(&mut process.state, inbox.waiting(), &mut context);
            process.inbox = Some(inbox);
            (process.deadline, process.extra) = (context.deadline, context.extra);
            process.consume(progress.consumed);
            progress
        } else {
            let progress = self.service.on_input(&mut process.state, bytes, &mut context);
            (process.deadline, process.extra) = (context.deadline, context.extra);
            process.keep(bytes, progress.consumed);
            progress
        };
        let after = process.inbox.as_ref().map_or(0, |inbox| inbox.capacity());
        self.count_input(id, before, after);
        self.finish_run(id, process, progress.next)
    }

    /// Closes a process that leaves more unread than it may. A stream may leave all that its carrier has accepted for
    /// it: its peer kept to the window that it was granted.
    pub(super) fn check_inbox(process: &ProcessOf<P, S>) -> Lives {
        let unread = process.inbox.as_ref().map_or(0, |inbox| inbox.waiting().len());
        let most = S::inbox_bytes(&process.state);
        let most = if process.socket.is_none() { most.max(STREAM_INPUT_BYTES) } else { most };
        if unread > most { Err(CloseReason::InboxFull) } else { Ok(()) }
    }

    /// Gives a process the rest of its inbox.
    pub(super) fn run_inbox(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) -> Lives {
        let Some(inbox) = process.inbox.take() else { return Ok(()) };
        self.read_clock_for_run();
        let before = inbox.capacity();
        let (service, mut context) = self.begin_run(id, process, before);
        let Progress { consumed, next } =
            service.on_input(&mut process.state, inbox.waiting(), &mut context);
        (process.deadline, process.extra) = (context.deadline, context.extra);
        if process.socket.is_none() {
            self.extras.note_consumed(process.extra, consumed);
        }
        process.inbox = Some(inbox);
        // A process that takes nothing is not told of the end again: it would be told for ever.
        let _was_told = consumed > 0 && process.flags.take(Flags::END_TOLD);
        process.consume(consumed);
        let after = process.inbox.as_ref().map_or(0, |inbox| inbox.capacity());
        self.count_input(id, before, after);
        self.finish_run(id, process, next)
    }

    /// Tells a process an event that is not input.
    pub(super) fn tell(
        &mut self,
        id: ProcessId,
        process: &mut ProcessOf<P, S>,
        event: Event,
    ) -> Lives {
        self.run(id, process, |service, state, context| service.on_event(state, event, context))
    }

    /// Calls the service for a process, without input.
    #[inline]
    pub(super) fn run(
        &mut self,
        id: ProcessId,
        process: &mut ProcessOf<P, S>,
        call: impl FnOnce(&mut S, &mut S::Process, &mut Context<'_, S::Message>) -> Next,
    ) -> Lives {
        self.read_clock_for_run();
        let (service, mut context) = self.begin_run(id, process, 0);
        let next = call(service, &mut process.state, &mut context);
        (process.deadline, process.extra) = (context.deadline, context.extra);
        self.finish_run(id, process, next)
    }

    /// Sends the output of the run and enters the requested mode.
    pub(super) fn finish_run(
        &mut self,
        id: ProcessId,
        process: &mut ProcessOf<P, S>,
        next: Next,
    ) -> Lives {
        let Some(Running { kind, held_bytes, .. }) = self.running.take() else { return Ok(()) };
        let held_after = S::held_bytes(&process.state);
        self.count_input(id, held_bytes, held_after);
        let is_stream = process.socket.is_none();
        if held_after != held_bytes
            && is_stream
            && let Some(carriage) = self.extras.carriage(process.extra)
        {
            carriage.note_kept(held_after);
        }
        change_to(TimeAccount::Other);
        let tick = self.pollset.tick_counter();
        let took = self.sampler.end_run(kind, tick);
        if took > GROUP_RUN_TICKS {
            self.group.hurry();
        }
        if is_stream {
            self.extras.charge(process.extra, took);
        }
        if let Some(watch) = &mut self.watch {
            watch.of_mut(id).ticks += took;
        }
        if next == Next::Abort {
            self.output.clear();
            self.reset_on_close(process);
            return Err(CloseReason::Aborted);
        }
        debug_assert!(
            next == Next::Changed || S::kind(&process.state) == kind,
            "a process says that it changed"
        );
        if process.mode == Mode::Connecting {
            self.stats.change_kind(kind, S::kind(&process.state));
            return self.finish_connecting_run(next);
        }
        process.mode = match next {
            Next::Read => Mode::Reading,
            Next::Changed => {
                self.stats.change_kind(kind, S::kind(&process.state));
                if process.inbox.is_some() {
                    self.queue(id, process);
                }
                Mode::Reading
            }
            Next::Again => {
                process.flags.set(Flags::DRAINED);
                self.queue(id, process);
                Mode::Reading
            }
            Next::Park => Mode::Parked,
            Next::Collect => Mode::Collecting,
            Next::Finish => Mode::Finishing,
            Next::Linger | Next::Abort => Mode::Lingering,
        };
        if let Err(full) = Self::check_inbox(process) {
            self.output.clear();
            return Err(full);
        }
        self.transmit(id, process)
    }

    /// The service wants a process to run.
    pub(super) fn run_now(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) -> Lives {
        match process.mode {
            Mode::Connecting | Mode::Reading => {
                self.tell(id, process, Event::Resumed)?;
                self.after_run(id, process)
            }
            Mode::Parked | Mode::Collecting => {
                self.tell(id, process, Event::Resumed)?;
                self.go_on_reading(id, process)
            }
            // It is already ending, and would not end sooner if it were told.
            Mode::Finishing | Mode::Lingering | Mode::Discarding => Ok(()),
        }
    }

    /// A queued process runs: it was resumed, or used up its share of the last turn.
    pub(super) fn run_again(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) -> Lives {
        let is_queued = process.flags.take(Flags::QUEUED);
        if process.flags.has(Flags::RESUMED) {
            process.flags.take(Flags::COLD);
        } else if !is_queued {
            // It was in both queues, and has run.
            return Ok(());
        }
        // Tried even if no room was reported, because no report follows when a turn's share was used up or a file has
        // been read.
        self.transmit_outbox(id, process)?;
        self.tell_drained(id, process)?;
        let waits = matches!(process.mode, Mode::Parked | Mode::Collecting);
        if process.flags.take(Flags::RESUMED) && waits {
            self.tell(id, process, Event::Resumed)?;
        }
        self.go_on_reading(id, process)
    }

    /// Tells a process that the scheduler drains, if it may need to know.
    pub(super) fn tell_draining(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) -> Lives {
        if process.mode != Mode::Connecting && !process.mode.goes_on() {
            // It is already ending, and would not end sooner if it were told.
            return Ok(());
        }
        self.tell(id, process, Event::Draining)?;
        self.go_on_reading(id, process)
    }

    /// First the rest of the inbox, then what waits in the socket.
    pub(super) fn go_on_reading(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) -> Lives {
        if process.mode == Mode::Reading {
            self.run_inbox(id, process)?;
        }
        self.receive(id, process)
    }

    /// The end of every run: the socket is watched, and a process that used up its share of the turn is queued.
    #[inline]
    pub(super) fn after_run(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) -> Lives {
        if process.flags.has(Flags::ENDED.and(Flags::OVER)) {
            self.look_after_end(id, process)?;
        }
        if !process.flags.has(Flags::WATCHED) {
            self.watch_socket(id, process)?;
        }
        let is_readable = process.flags.has(Flags::READABLE) && !process.flags.has(Flags::STARVED);
        if process.mode.receives() && is_readable {
            self.queue(id, process);
        }
        process.last_run = self.clock.now().tick();
        Ok(())
    }

    /// All output was sent: closes the process, begins to discard, or queues a process that has to be told. That is a
    /// run of its own: one that writes more each time would otherwise never return, as long as its peer reads.
    #[inline]
    pub(super) fn on_sent(
        &mut self,
        id: ProcessId,
        process: &mut ProcessOf<P, S>,
        output: Drained,
    ) -> Lives {
        if process.mode == Mode::Reading && output != Drained::AfterWaiting {
            return Ok(());
        }
        self.end_or_tell(id, process, output)
    }

    #[inline(never)]
    fn end_or_tell(
        &mut self,
        id: ProcessId,
        process: &mut ProcessOf<P, S>,
        output: Drained,
    ) -> Lives {
        let ends = matches!(process.mode, Mode::Finishing | Mode::Lingering);
        let is_layered = ends && process.extra.is_some() && self.says_end(process);
        if is_layered && self.owes(id, process)? {
            return Ok(());
        }
        match process.mode {
            Mode::Finishing => {
                if let Some(socket) = &process.socket
                    && (is_layered || output != Drained::Nothing)
                {
                    // Sends what the kernel held back, together with the end of the stream. Closing alone would reset
                    // the connection and lose the answer, if input arrives meanwhile that is never read.
                    self.pollset.end_output(socket);
                }
                Err(CloseReason::Finished)
            }
            // Bytes that are still handed to a stream cannot harm its last output.
            Mode::Lingering if process.socket.is_none() => Err(CloseReason::Finished),
            Mode::Lingering => {
                self.begin_to_discard(id, process);
                Ok(())
            }
            Mode::Reading | Mode::Parked | Mode::Collecting => {
                if output != Drained::Nothing {
                    process.flags.set(Flags::DRAINED);
                    self.queue(id, process);
                }
                Ok(())
            }
            Mode::Connecting | Mode::Discarding => Ok(()),
        }
    }

    /// Tells a process that all its output has been sent, if it was queued for this and it is still true.
    pub(super) fn tell_drained(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) -> Lives {
        let is_drained = process.flags.take(Flags::DRAINED) && process.outbox.is_none();
        if is_drained && process.mode.goes_on() {
            self.tell(id, process, Event::OutputDrained)?;
        }
        Ok(())
    }
}
