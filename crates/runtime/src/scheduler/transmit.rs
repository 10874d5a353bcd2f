//! Sending what a run produced: at once where the peer takes it, through the process's outbox where it does not.
//!
//! Owns the way from the turn's output to the socket. On the plain path one send, no copy and no allocation.

use sys::pollset::{Interest, Pollset, Sent, Token};

use super::Scheduler;
use super::run::Drained;
use crate::limits::{OUTBOX_BYTES, QUEUED_BYTES_SENT_PER_RUN};
use crate::outbox::{Outbox, Transmitted};
use crate::process::{Flags, Mode};
use crate::service::{CloseReason, Event, Service};
use crate::slots::ProcessId;
use crate::uptake::Uptake;

/// Emptied outboxes kept for the next process that needs one.
///
/// Limit: more are freed.
const SPARE_OUTBOXES: usize = 4_096;

impl<P: Pollset, S: Service> Scheduler<P, S> {
    /// Sends the turn's output for a process, behind what it has queued.
    #[inline]
    pub(super) fn transmit(&mut self, id: ProcessId) {
        let Some(process) = self.table.lookup(id) else {
            self.output.clear();
            return;
        };
        if process.outbox.is_none()
            && let Some(bytes) = self.output.plain()
        {
            if bytes.is_empty() {
                self.on_sent(id, Drained::Nothing);
                return;
            }
            let follows = process.mode.follows();
            let sent = self.pollset.send_bytes(&process.socket, bytes, follows);
            self.stats.sends += 1;
            let count = match sent {
                Sent::All => {
                    self.stats.sent_bytes += bytes.len() as u64;
                    self.output.clear();
                    if P::LAYERED && self.owes(id) {
                        return;
                    }
                    self.sampler.lap(&mut self.stats.sampled.send_ticks);
                    self.on_sent(id, Drained::AtOnce);
                    return;
                }
                Sent::Part(count) => count,
                Sent::Cold | Sent::Failed(_) => {
                    self.output.clear();
                    self.close(id, CloseReason::Failed);
                    return;
                }
            };
            self.stats.sent_bytes += count as u64;
            if !self.has_room_for(self.output.queued_bytes() - count) {
                self.output.clear();
                self.cut_for_want_of_memory(id);
                return;
            }
            let Some(process) = self.table.lookup(id) else { return };
            let Some(bytes) = self.output.plain() else { return };
            let mut outbox = self.spare_outboxes.pop().unwrap_or_default();
            outbox.push_bytes(&bytes[count..]);
            self.output.clear();
            self.stats.count_buffered(0, outbox.queued_bytes());
            process.outbox = Some(outbox);
            self.wait_for_room(id);
            return;
        }
        let adds = !self.output.is_empty();
        let has_more = adds && process.outbox.is_some();
        self.queue_output(id);
        let Some(process) = self.table.lookup(id) else { return };
        // A peer without room: trying again before the pollset says otherwise would be a call in vain.
        if !process.flags.has(Flags::WANTS_ROOM) {
            self.transmit_outbox(id);
        }
        if has_more {
            self.check_outbox(id);
        }
        // Who adds nothing is not to blame: others may have received what fills the rest.
        let is_over = adds && !self.has_room_for(0);
        if is_over && self.table.lookup(id).is_some_and(|left| left.outbox.is_some()) {
            self.cut_for_want_of_memory(id);
        }
    }

    /// What a process put out would have to wait, and there is no memory for that: its peer sees that it is cut.
    fn cut_for_want_of_memory(&mut self, id: ProcessId) {
        if let Some(process) = self.table.lookup(id) {
            self.pollset.reset_on_close(&process.socket);
        }
        self.close(id, CloseReason::OutboxFull);
    }

    /// Holds an outbox to which more was added to its bound.
    fn check_outbox(&mut self, id: ProcessId) {
        let Some(process) = self.table.lookup(id) else { return };
        let queued = process.outbox.as_ref().map_or(0, |outbox| outbox.queued_bytes());
        if queued > OUTBOX_BYTES {
            self.close(id, CloseReason::OutboxFull);
        }
    }

    /// Moves the turn's output behind what the process has queued.
    fn queue_output(&mut self, id: ProcessId) {
        let Some(process) = self.table.lookup(id) else { return };
        if self.output.is_empty() {
            return;
        }
        let mut outbox = match process.outbox.take() {
            Some(outbox) => outbox,
            None => {
                let mut outbox = self.spare_outboxes.pop().unwrap_or_default();
                outbox.uptake = Uptake::since(self.clock.now().monotonic_ns, 0);
                outbox
            }
        };
        let before = outbox.queued_bytes();
        outbox.append(&mut self.output);
        self.stats.count_buffered(before, outbox.queued_bytes());
        process.outbox = Some(outbox);
    }

    /// Sends what a process has queued.
    pub(super) fn transmit_outbox(&mut self, id: ProcessId) {
        let Some(process) = self.table.lookup(id) else { return };
        let Some(outbox) = &mut process.outbox else { return };
        if process.flags.has(Flags::COLD) {
            return;
        }
        let before = outbox.counted_bytes();
        let waited = before > 0 || process.flags.has(Flags::WANTS_ROOM);
        outbox.count_posted();
        let follows = process.mode.follows();
        let most = self.sends_left.min(QUEUED_BYTES_SENT_PER_RUN);
        let mut sent = 0;
        let outcome =
            outbox.transmit(&mut self.pollset, &process.socket, (follows, most), &mut sent);
        if P::LAYERED {
            outbox.note_owed(self.pollset.owed(&process.socket));
        }
        self.sends_left -= sent;
        self.stats.sent_bytes += sent as u64;
        self.stats.sends += 1;
        let after = outbox.queued_bytes();
        self.stats.count_buffered(before, after);
        self.sampler.lap(&mut self.stats.sampled.send_ticks);
        match outcome {
            Transmitted::All => {
                if let Some(outbox) = process.outbox.take() {
                    self.release_outbox(outbox);
                }
                self.stop_waiting_for_room(id);
                // Only posted bytes were waiting; the process did not ask to be told when they have left.
                let output = if waited { Drained::AfterWaiting } else { Drained::Nothing };
                self.on_sent(id, output);
            }
            Transmitted::Blocked => self.wait_for_room(id),
            Transmitted::Budget => self.queue(id),
            Transmitted::Cold => {
                process.flags.set(Flags::COLD);
                self.stats.files_cold += 1;
                self.ask_for_file(id);
            }
            Transmitted::Failed(_) => self.close(id, CloseReason::Failed),
        }
    }

    /// A turn ends: sends all posted bytes, one write for each process.
    pub(super) fn send_posted(&mut self) {
        let mut posted = std::mem::take(&mut self.posted);
        for id in posted.drain(..) {
            self.send_posted_to(id);
        }
        self.posted = posted;
    }

    fn send_posted_to(&mut self, id: ProcessId) {
        let Some(process) = self.table.lookup(id) else { return };
        if !process.flags.take(Flags::POSTED) {
            return;
        }
        // Its own run took it along.
        let Some(outbox) = &mut process.outbox else { return };
        let counted = outbox.counted_bytes();
        if counted > 0 {
            // Its queue is already waiting for the peer, the next turn or a file.
            outbox.count_posted();
            let queued = outbox.queued_bytes();
            self.stats.count_buffered(counted, queued);
        } else {
            outbox.uptake = Uptake::since(self.clock.now().monotonic_ns, 0);
            self.transmit_outbox(id);
        }
        if !self.has_room_for(0) && self.table.lookup(id).is_some_and(|left| left.outbox.is_some())
        {
            self.cut_for_want_of_memory(id);
        }
    }

    /// Lets the service have a file read whose bytes are not in memory.
    fn ask_for_file(&mut self, id: ProcessId) {
        let Some(process) = self.table.lookup(id) else { return };
        let Some(outbox) = &process.outbox else { return };
        let Some(region) = outbox.cold_region().cloned() else { return };
        let Some((service, process, mut context)) = self.begin_run(id, 0) else { return };
        let is_asked_for = service.on_cold_file(&process.state, &region, &mut context);
        self.running = None;
        if !is_asked_for {
            self.close(id, CloseReason::Failed);
        }
    }

    fn wait_for_room(&mut self, id: ProcessId) {
        self.stats.sends_blocked += 1;
        let Some(process) = self.table.lookup(id) else { return };
        if process.flags.has(Flags::WANTS_ROOM) {
            return;
        }
        process.flags.set(Flags::WANTS_ROOM);
        if let Some(outbox) = &mut process.outbox {
            let outstanding = self.pollset.outstanding(&process.socket);
            outbox.uptake = Uptake::since(self.clock.now().monotonic_ns, outstanding);
        }
        if process.flags.has(Flags::ROOM_REPORTED) {
            self.arm(id);
            return;
        }
        let token = Token(id.to_bits());
        let watched = process.flags.has(Flags::WATCHED);
        process.flags.set(Flags::WATCHED);
        let registered = if watched { Ok(()) } else { self.pollset.watch(&process.socket, token) };
        let registered = registered
            .and_then(|()| self.pollset.set_interest(&process.socket, token, Interest::ReadWrite));
        if registered.is_err() {
            self.close(id, CloseReason::Failed);
            return;
        }
        self.arm(id);
    }

    fn stop_waiting_for_room(&mut self, id: ProcessId) {
        let Some(process) = self.table.lookup(id) else { return };
        if process.flags.take(Flags::WANTS_ROOM)
            && !process.flags.has(Flags::ROOM_REPORTED)
            && self
                .pollset
                .set_interest(&process.socket, Token(id.to_bits()), Interest::Read)
                .is_err()
        {
            self.close(id, CloseReason::Failed);
        }
    }

    /// The pollset reported room.
    pub(super) fn on_room(&mut self, id: ProcessId) {
        let Some(process) = self.table.lookup(id) else { return };
        if process.mode == Mode::Connecting {
            self.conclude_connect(id);
            return;
        }
        if process.outbox.is_none() {
            return;
        }
        self.transmit_outbox(id);
        // Whoever parked until now has been told, and may want the input it left.
        self.go_on_reading(id);
    }

    /// Whether a transport holds bytes back because the socket is full: the process waits for them as for output of its own.
    pub(super) fn owes(&mut self, id: ProcessId) -> bool {
        let Some(process) = self.table.lookup(id) else { return false };
        let owed = self.pollset.owed(&process.socket);
        if owed == 0 {
            return false;
        }
        let spare = || self.spare_outboxes.pop().unwrap_or_default();
        let outbox = process.outbox.get_or_insert_with(spare);
        let before = outbox.counted_bytes();
        outbox.note_owed(owed);
        self.stats.count_buffered(before, outbox.counted_bytes());
        self.wait_for_room(id);
        true
    }

    /// After a receive: a handshake may have bytes to send, and bytes that waited for its end may leave.
    pub(super) fn settle_layer(&mut self, id: ProcessId) {
        let Some(process) = self.table.lookup(id) else { return };
        if process.outbox.is_none() {
            self.owes(id);
        } else if process.flags.has(Flags::WANTS_ROOM) && self.pollset.owed(&process.socket) == 0 {
            self.transmit_outbox(id);
        }
    }

    /// Keeps an emptied outbox for the next.
    pub(super) fn release_outbox(&mut self, mut outbox: Box<Outbox>) {
        if self.spare_outboxes.len() < SPARE_OUTBOXES {
            outbox.clear();
            self.spare_outboxes.push(outbox);
        }
    }

    /// Tells a process something when it may matter to it at once.
    pub(super) fn tell_draining(&mut self, id: ProcessId) {
        let Some(process) = self.table.lookup(id) else { return };
        if !matches!(process.mode, Mode::Connecting | Mode::Reading | Mode::Parked) {
            // It ends already, and no sooner for being told so.
            return;
        }
        self.tell(id, Event::Draining);
        self.go_on_reading(id);
    }
}
