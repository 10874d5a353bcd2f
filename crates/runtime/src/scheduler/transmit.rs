//! Sends the output of a run: at once if the socket accepts it, otherwise through the process's
//! outbox.
//!
//! Owns the path from the turn's output to the socket. On the plain path that is one send, without
//! copy or allocation.

use sys::pollset::{Interest, Pollset, Sent, Token};

use super::executor::{Executor, Lives, ProcessOf};
use super::run::Drained;
use crate::account::{TimeAccount, change_to, charged_to};
use crate::limits::{FAST_PEER_TICKS, FAST_PEERS, OUTBOX_BYTES, QUEUED_BYTES_SENT_PER_RUN};
use crate::outbox::{Plain, SpareOutboxes, Transmitted};
use crate::posted::PostNumber;
use crate::process::{Flags, Mode};
use crate::service::{CloseReason, Service};
use crate::slots::ProcessId;
use crate::uptake::Uptake;

impl<P: Pollset, S: Service> Executor<P, S> {
    /// Sends the output of the running process, after what it has queued.
    #[inline]
    pub(super) fn transmit(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) -> Lives {
        if process.lone_post.is_some() {
            self.queue_lone_post(process);
        }
        if process.outbox.is_none()
            && let Some(bytes) = self.output.plain()
        {
            if bytes.is_empty() {
                return self.on_sent(id, process, Drained::Nothing);
            }
            let reads_on = process.mode == Mode::Reading && !process.flags.has(Flags::READABLE);
            if reads_on && self.group.keep(id, &mut self.output) {
                return Ok(());
            }
        }
        self.transmit_now(id, process)
    }

    /// The same, for output that was held back for a group.
    #[inline]
    pub(super) fn transmit_now(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) -> Lives {
        let Some(socket) = &process.socket else { return self.pass_on(id, process) };
        if process.outbox.is_none()
            && let Some(bytes) = self.output.plain()
        {
            let follows = process.mode.follows();
            change_to(TimeAccount::Send);
            let sent = match self.extras.layer(process.extra) {
                None => self.pollset.send_bytes(socket, bytes, follows),
                Some(layer) => {
                    layer.send(&mut self.pollset, socket, bytes, follows, &mut self.lent)
                }
            };
            change_to(TimeAccount::Other);
            self.stats.sends += 1;
            return match sent {
                Sent::All => {
                    self.note_sent(id, bytes.len());
                    self.output.clear();
                    if process.extra.is_some() && self.owes(id, process)? {
                        return Ok(());
                    }
                    self.on_sent(id, process, Drained::AtOnce)
                }
                Sent::Part(count) => self.keep_rest(id, process, count),
                Sent::Cold | Sent::Failed(_) => {
                    self.output.clear();
                    self.on_refused_output(id, process)
                }
            };
        }
        let adds = !self.output.is_empty();
        let has_more = adds && process.outbox.is_some();
        self.queue_output(process);
        // The peer has no room: another try before the pollset reports room would be a wasted call.
        if !process.flags.has(Flags::WANTS_ROOM) {
            self.transmit_outbox(id, process)?;
        }
        let Some(outbox) = process.outbox.as_ref().filter(|_| adds) else { return Ok(()) };
        if has_more && outbox.queued_bytes() > OUTBOX_BYTES {
            return Err(CloseReason::OutboxFull);
        }
        // A process that adds nothing is not to blame: others may have received what fills the rest.
        self.check_memory(id, process)
    }

    /// The socket accepted this many bytes of the output: the rest is queued.
    fn keep_rest(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>, count: usize) -> Lives {
        self.note_sent(id, count);
        let rest = self.output.plain().and_then(|bytes| bytes.get(count..)).unwrap_or_default();
        if !self.has_room_for(rest.len(), rest.len()) {
            self.output.clear();
            return Err(self.cut_for_want_of_memory(process));
        }
        let mut outbox = self.spare_outboxes.take();
        outbox.push_bytes(rest);
        self.output.clear();
        self.stats.count_buffered(0, outbox.queued_bytes());
        process.outbox = Some(outbox);
        self.note_output(id, process);
        self.wait_for_room(id, process)
    }

    /// Ends a process whose output has grown and has to wait while there is no memory for it.
    pub(super) fn check_memory(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) -> Lives {
        let Some(outbox) = &process.outbox else { return Ok(()) };
        if !self.has_room_for(outbox.queued_bytes(), 0) {
            return Err(self.cut_for_want_of_memory(process));
        }
        self.note_output(id, process);
        Ok(())
    }

    /// The output of a process would have to wait, and there is no memory for it: the connection is cut, visibly for
    /// its peer.
    pub(super) fn cut_for_want_of_memory(&mut self, process: &ProcessOf<P, S>) -> CloseReason {
        self.reset_on_close(process);
        CloseReason::OutboxFull
    }

    /// Moves the output of the running process to its outbox, after what is queued there.
    pub(super) fn queue_output(&mut self, process: &mut ProcessOf<P, S>) {
        if self.output.is_empty() {
            return;
        }
        let outbox = process.outbox.get_or_insert_with(|| self.spare_outboxes.take());
        let before = outbox.queued_bytes();
        outbox.append(&mut self.output);
        self.stats.count_buffered(before, outbox.queued_bytes());
    }

    /// Sends what a process has queued.
    pub(super) fn transmit_outbox(
        &mut self,
        id: ProcessId,
        process: &mut ProcessOf<P, S>,
    ) -> Lives {
        let Some(socket) = &process.socket else { return self.pass_on(id, process) };
        let Some(outbox) = &mut process.outbox else { return Ok(()) };
        if process.flags.has(Flags::COLD) {
            return Ok(());
        }
        let before = outbox.counted_bytes();
        let waited = before > 0 || process.flags.has(Flags::WANTS_ROOM);
        outbox.count_posted();
        let follows = process.mode.follows();
        let most = self.sends_left.min(QUEUED_BYTES_SENT_PER_RUN);
        let mut sent = 0;
        let pollset = &mut self.pollset;
        change_to(TimeAccount::Send);
        let outcome = match self.extras.layer(process.extra) {
            None => outbox.transmit(&mut Plain { pollset, socket }, follows, most, &mut sent),
            Some(layer) => {
                let mut sink = layer.sink(pollset, socket, &mut self.lent);
                let outcome = outbox.transmit(&mut sink, follows, most, &mut sent);
                let outcome = sink.finish(outcome, follows);
                outbox.note_owed(layer.owed());
                outcome
            }
        };
        self.sends_left -= sent;
        self.note_sent(id, sent);
        self.stats.sends += 1;
        let after = outbox.queued_bytes();
        self.stats.count_buffered(before, after);
        change_to(TimeAccount::Other);
        if outcome != Transmitted::All {
            let begun = || Uptake::since(self.clock.now().monotonic_ns, sent as u64);
            outbox.uptake.get_or_insert_with(begun);
        }
        match outcome {
            Transmitted::All => {
                if let Some(outbox) = process.outbox.take() {
                    self.spare_outboxes.give_back(outbox);
                }
                self.stop_waiting_for_room(id, process)?;
                // Only posted bytes were waiting: the process did not ask to be told when they have been sent.
                let output = if waited { Drained::AfterWaiting } else { Drained::Nothing };
                self.on_sent(id, process, output)
            }
            Transmitted::Blocked => self.wait_for_room(id, process),
            Transmitted::Budget => {
                self.queue(id, process);
                Ok(())
            }
            Transmitted::Cold => {
                process.flags.set(Flags::COLD);
                self.stats.files_cold += 1;
                self.ask_for_file(id, process)
            }
            Transmitted::TakenBack => {
                self.reset_on_close(process);
                Err(CloseReason::SlowReader)
            }
            Transmitted::Failed(_) => self.on_refused_output(id, process),
        }
    }

    /// The posted string has to wait, or is sent together with something else.
    #[cold]
    fn queue_lone_post(&mut self, process: &mut ProcessOf<P, S>) {
        let Some(number) = process.lone_post.take() else { return };
        let outbox = process.outbox.get_or_insert_with(|| self.spare_outboxes.take());
        outbox.post(self.posted.string(number));
    }

    /// Sends the one string that was posted to a process with an empty queue.
    fn send_lone_post(
        &mut self,
        id: ProcessId,
        process: &mut ProcessOf<P, S>,
        number: PostNumber,
    ) -> Lives {
        process.lone_post = None;
        let Some(socket) = &process.socket else { return Ok(()) };
        let bytes = self.posted.string(number);
        let follows = process.mode.follows();
        let sent =
            charged_to(TimeAccount::Send, || self.pollset.send_bytes(socket, bytes, follows));
        self.stats.sends += 1;
        let count = match sent {
            Sent::All => bytes.len(),
            Sent::Part(count) => count,
            Sent::Cold | Sent::Failed(_) => return Err(CloseReason::Failed),
        };
        self.stats.sent_bytes += count as u64;
        if let Some(watch) = &mut self.watch {
            watch.of_mut(id).sent_bytes += count as u64;
        }
        self.sends_left -= count;
        if sent == Sent::All {
            return self.on_sent(id, process, Drained::Nothing);
        }
        let mut outbox = self.spare_outboxes.take();
        outbox.post_rest(bytes, count);
        self.stats.count_buffered(0, outbox.queued_bytes());
        process.outbox = Some(outbox);
        self.wait_for_room(id, process)?;
        self.check_memory(id, process)
    }

    /// At the end of the turn, sends what was posted to a process in one write.
    pub(super) fn send_posted(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) -> Lives {
        if !process.flags.take(Flags::POSTED) {
            return Ok(());
        }
        if let Some(number) = process.lone_post {
            let fits = self.posted.string(number).len() <= self.sends_left;
            if process.extra.is_none() && process.outbox.is_none() && fits {
                return self.send_lone_post(id, process, number);
            }
            self.queue_lone_post(process);
        }
        // Its own run has sent it.
        let Some(outbox) = &mut process.outbox else { return Ok(()) };
        let counted = outbox.counted_bytes();
        if counted > 0 && process.socket.is_some() {
            // Its queue is already waiting for the peer, the next turn or a file.
            outbox.count_posted();
            let queued = outbox.queued_bytes();
            self.stats.count_buffered(counted, queued);
        } else {
            self.transmit_outbox(id, process)?;
        }
        self.check_memory(id, process)
    }

    /// Asks the service to have a file read that is not in the page cache.
    pub(super) fn ask_for_file(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) -> Lives {
        let region = match (&process.socket, &process.outbox) {
            (Some(_), Some(outbox)) => outbox.cold_region().cloned(),
            (Some(_), None) => None,
            (None, _) => self
                .extras
                .carriage(process.extra)
                .and_then(|carriage| carriage.queue().cold_region().cloned()),
        };
        let Some(region) = region else { return Ok(()) };
        let (service, mut context) = self.begin_run(id, process, 0);
        let is_asked_for = service.on_cold_file(&process.state, &region, &mut context);
        self.running = None;
        if is_asked_for { Ok(()) } else { Err(CloseReason::Failed) }
    }

    pub(super) fn wait_for_room(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) -> Lives {
        self.stats.sends_blocked += 1;
        if process.flags.has(Flags::WANTS_ROOM) {
            return Ok(());
        }
        process.flags.set(Flags::WANTS_ROOM);
        let now = self.clock.now();
        process.last_run = now.tick();
        let Some(socket) = &process.socket else { return Ok(()) };
        if let Some(outbox) = &mut process.outbox {
            let outstanding = self.pollset.outstanding(socket);
            outbox.uptake = Some(Uptake::since(now.monotonic_ns, outstanding));
        }
        if process.flags.has(Flags::ROOM_REPORTED) {
            return Ok(());
        }
        if !process.flags.has(Flags::WATCHED) {
            self.watch_socket(id, process)?;
        }
        self.set_interest(id, process, Interest::ReadWrite)
    }

    /// A process has to wait for the first time.
    #[inline(never)]
    pub(super) fn watch_socket(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) -> Lives {
        let Some(socket) = &process.socket else { return Ok(()) };
        process.flags.set(Flags::WATCHED);
        let watched = self.pollset.watch(socket, Token(id.to_bits()));
        watched.map_err(|_| CloseReason::Failed)
    }

    fn set_interest(
        &mut self,
        id: ProcessId,
        process: &ProcessOf<P, S>,
        interest: Interest,
    ) -> Lives {
        let Some(socket) = &process.socket else { return Ok(()) };
        let registered = self.pollset.set_interest(socket, Token(id.to_bits()), interest);
        registered.map_err(|_| CloseReason::Failed)
    }

    fn stop_waiting_for_room(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) -> Lives {
        if !process.flags.take(Flags::WANTS_ROOM) || process.flags.has(Flags::ROOM_REPORTED) {
            return Ok(());
        }
        self.set_interest(id, process, Interest::Read)
    }

    /// The pollset reported room.
    pub(super) fn on_room(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) -> Lives {
        if process.mode == Mode::Connecting {
            return self.conclude_connect(id, process);
        }
        if process.outbox.is_none() {
            return Ok(());
        }
        self.note_speed(process);
        self.transmit_outbox(id, process)?;
        // A process that was parked until now has been told, and may want the input it left.
        self.go_on_reading(id, process)
    }

    /// A peer whose socket was full has made room. If it was quick, the kernel may hold more output for it.
    fn note_speed(&mut self, process: &mut ProcessOf<P, S>) {
        let waited = process.flags.has(Flags::WANTS_ROOM) && !process.flags.has(Flags::FAST);
        let soon = self.clock.now().tick() <= process.last_run.later(FAST_PEER_TICKS);
        if waited
            && soon
            && self.stats.fast_peers < FAST_PEERS
            && let Some(socket) = &process.socket
        {
            process.flags.set(Flags::FAST);
            self.stats.fast_peers += 1;
            self.pollset.note_fast_peer(socket);
        }
    }

    /// Frees the room that is kept for the next output and the next streams.
    pub(super) fn free_spare(&mut self) {
        self.spare_outboxes = SpareOutboxes::default();
        self.extras.free_spare();
    }
}
