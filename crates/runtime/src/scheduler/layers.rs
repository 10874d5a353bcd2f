//! Processes with a transport: receiving through it, its handshake, its end, and the bytes that it owes the socket.
//!
//! Owns what is different for them. Never runs for a process without a transport.

use sys::pollset::{Pollset, Rest};

use super::executor::{Executor, Lives, ProcessOf};
use crate::account::{TimeAccount, change_to};
use crate::began::Began;
use crate::extras::Extra;
use crate::layer::{Layer, Opened};
use crate::limits::RECEIVES_PER_TURN;
use crate::process::{Flags, Mode};
use crate::service::{Beginning, CloseReason, Event, Next, Progress, Service};
use crate::slots::ProcessId;
use crate::trace;
use crate::transport::Violation;

impl<P: Pollset, S: Service> Executor<P, S> {
    /// Gives a new process the transport that the service chooses for it, if any.
    pub(super) fn choose_transport(
        &mut self,
        beginning: Beginning,
        process: &mut ProcessOf<P, S>,
    ) -> Lives {
        let Some(transport) = self.service.transport(beginning) else { return Ok(()) };
        let began = match beginning {
            Beginning::Accepted { .. } => Began::Peer,
            Beginning::Connecting { .. } => Began::Here,
        };
        process.extra = self.extras.insert(Extra::layered(Layer::new(transport, began)));
        if process.extra.is_none() {
            return Err(CloseReason::Failed);
        }
        self.stats.handshakes_under_way += 1;
        self.handshakes.note_begin(began);
        Ok(())
    }

    /// Counts what a process with a transport no longer holds when it ends.
    pub(super) fn forget_layer(&mut self, process: &ProcessOf<P, S>) {
        let Some(layer) = self.extras.layer(process.extra) else { return };
        let (held, began) = (layer.held_bytes(), layer.began());
        if layer.is_in_handshake() {
            self.end_handshake(began);
        }
        self.stats.count_buffered(held, 0);
    }

    fn end_handshake(&mut self, began: Began) {
        self.stats.handshakes_under_way -= 1;
        self.handshakes.note_end(began);
    }

    /// Whether a handshake has to wait for its time in this turn or the next.
    fn is_out_of_turn(&mut self, process: &ProcessOf<P, S>) -> bool {
        let layer = self.extras.layer(process.extra);
        layer.is_some_and(|layer| layer.is_in_handshake()) && !self.handshakes.may_run()
    }

    /// Receives for a process with a transport until its socket is empty, it wants no more, or it has used its share of
    /// the turn.
    #[cold]
    pub(super) fn receive_through_layer(
        &mut self,
        id: ProcessId,
        process: &mut ProcessOf<P, S>,
    ) -> Lives {
        for _ in 0..RECEIVES_PER_TURN {
            let inbox_is_next = process.inbox.is_some() && process.flags.has(Flags::QUEUED);
            if !process.flags.has(Flags::READABLE) || inbox_is_next {
                break;
            }
            if self.is_out_of_turn(process) {
                break;
            }
            match process.mode {
                Mode::Reading | Mode::Collecting | Mode::Discarding => {
                    if process.mode != Mode::Discarding && self.is_starving(id, process) {
                        break;
                    }
                    // The handlers may encode output meanwhile, so the decoded bytes are taken out.
                    let mut plain = self.lent.take_plain();
                    let lives = self.open_once(id, process, &mut plain);
                    self.lent.put_plain(plain);
                    lives?;
                }
                Mode::Connecting | Mode::Parked | Mode::Finishing | Mode::Lingering => break,
            }
        }
        self.settle_layer(id, process)?;
        self.after_run(id, process)
    }

    /// One receive through the transport.
    fn open_once(
        &mut self,
        id: ProcessId,
        process: &mut ProcessOf<P, S>,
        plain: &mut Vec<u8>,
    ) -> Lives {
        self.read_clock_for_run();
        let Some(layer) = self.extras.layer(process.extra) else { return Ok(()) };
        let Some(socket) = &process.socket else { return Ok(()) };
        let (before, began) = (layer.held_bytes(), layer.is_in_handshake());
        let begun = if began { self.pollset.tick_counter() } else { 0 };
        change_to(TimeAccount::Receive);
        let opened = layer.receive(&mut self.pollset, socket, plain, &mut self.lent);
        self.stats.count_buffered(before, layer.held_bytes());
        if began {
            self.handshakes.charge(self.pollset.tick_counter().saturating_sub(begun));
        }
        change_to(TimeAccount::Other);
        match opened {
            Opened::Bytes(rest) => {
                self.note_opened(id, process, plain.len(), rest);
                self.deliver(id, process, plain)
            }
            Opened::Agreed(rest) => {
                self.note_opened(id, process, plain.len(), rest);
                self.on_agreed(id, process, plain)
            }
            Opened::Nothing(rest) => {
                self.note_opened(id, process, 0, rest);
                Ok(())
            }
            Opened::Blocked => {
                process.flags.take(Flags::READABLE);
                Ok(())
            }
            Opened::End => self.on_layer_end(id, process),
            Opened::Refused(why) => self.on_refused(id, process, why),
            Opened::Failed(why) => self.on_broken(id, process, why),
        }
    }

    /// Counts a receive, and records whether the socket may have more.
    fn note_opened(
        &mut self,
        id: ProcessId,
        process: &mut ProcessOf<P, S>,
        bytes: usize,
        rest: Rest,
    ) {
        self.stats.receives += 1;
        self.note_received(id, bytes);
        self.spin.note_run(id.index());
        if process.flags.has(Flags::ENDED) {
            if bytes > 0 {
                process.flags.take(Flags::END_TOLD);
            }
        } else if rest == Rest::No {
            process.flags.take(Flags::READABLE);
        }
    }

    /// Gives decoded bytes to a process, keeps them, or discards them, as its mode says.
    fn deliver(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>, plain: &[u8]) -> Lives {
        match process.mode {
            Mode::Discarding => return self.discard(process, plain.len()),
            Mode::Collecting => {
                self.keep(id, process, plain, 0);
                return Self::check_inbox(process);
            }
            _ => {}
        }
        if process.inbox.is_some() {
            self.keep(id, process, plain, 0);
            return self.run_inbox(id, process);
        }
        let (service, mut context) = self.begin_run(id, process, 0);
        let Progress { consumed, next } = service.on_input(&mut process.state, plain, &mut context);
        (process.deadline, process.extra) = (context.deadline, context.extra);
        self.keep(id, process, plain, consumed);
        self.finish_run(id, process, next)
    }

    /// Keeps the unconsumed part of input, and counts it.
    fn keep(
        &mut self,
        id: ProcessId,
        process: &mut ProcessOf<P, S>,
        plain: &[u8],
        consumed: usize,
    ) {
        let before = process.inbox.as_ref().map_or(0, |inbox| inbox.capacity());
        process.keep(plain, consumed);
        let after = process.inbox.as_ref().map_or(0, |inbox| inbox.capacity());
        self.count_input(id, before, after);
    }

    /// The handshake is over: tells the process, which may become another kind. Its first input comes after that.
    fn on_agreed(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>, plain: &[u8]) -> Lives {
        self.stats.handshakes += 1;
        if let Some(began) = self.extras.layer(process.extra).map(|layer| layer.began()) {
            self.end_handshake(began);
        }
        if trace::is_noting() {
            let agreed = self.extras.layer(process.extra).and_then(|layer| layer.agreed());
            trace::agree(id, agreed.map(|agreed| &**agreed));
        }
        if process.mode == Mode::Discarding {
            return self.discard(process, plain.len());
        }
        self.keep(id, process, plain, 0);
        self.run(id, process, |service, state, context| service.on_agreed(state, context))?;
        if process.inbox.is_some() && process.mode == Mode::Reading {
            self.queue(id, process);
        }
        Ok(())
    }

    /// The handshake failed: the process is told why, and ends. A client that was told why in its turn may send more
    /// before it reads that, as it does in TLS 1.3 behind a certificate that is refused: closing would reset the
    /// connection, and lose the alert.
    pub(super) fn on_refused(
        &mut self,
        id: ProcessId,
        process: &mut ProcessOf<P, S>,
        why: Violation,
    ) -> Lives {
        self.stats.handshakes_failed += 1;
        let was_told = !self.lent.wire.is_empty();
        if process.mode.goes_on() {
            self.run(id, process, |service, state, context| {
                service.on_handshake_failed(state, why, context);
                context.output.clear();
                Next::Read
            })?;
        }
        let layer = self.extras.layer(process.extra);
        let reads = layer.is_some_and(|layer| layer.began() == Began::Peer && layer.owed() == 0);
        if !was_told || !reads {
            return Err(CloseReason::Failed);
        }
        self.forget_layer(process);
        self.extras.remove_layer(process.extra);
        self.begin_to_discard(id, process);
        Ok(())
    }

    /// The connection failed after the handshake: the process is told why, and ends.
    fn on_broken(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>, why: Violation) -> Lives {
        if process.mode.goes_on() {
            self.run(id, process, |service, state, context| {
                service.on_transport_failed(state, why, context);
                context.output.clear();
                Next::Read
            })?;
        }
        Err(CloseReason::Failed)
    }

    /// The peer announced its end.
    fn on_layer_end(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) -> Lives {
        match process.mode {
            Mode::Discarding => Err(CloseReason::Finished),
            // The end is seen again, after the input before it, when the process reads.
            Mode::Collecting => {
                process.mode = Mode::Parked;
                Ok(())
            }
            _ => {
                process.flags.take(Flags::READABLE);
                self.tell(id, process, Event::InputEnded)
            }
        }
    }

    /// Begins the handshake of a connection that this side began.
    pub(super) fn begin_handshake(
        &mut self,
        id: ProcessId,
        process: &mut ProcessOf<P, S>,
    ) -> Lives {
        let Some(layer) = self.extras.layer(process.extra) else { return Ok(()) };
        let Some(socket) = &process.socket else { return Ok(()) };
        match layer.begin(&mut self.pollset, socket, &mut self.lent) {
            Ok(()) => self.settle_layer(id, process),
            Err(why) => self.on_refused(id, process, why),
        }
    }

    /// Sends the end of the transport's stream. `false`: there is no transport.
    pub(super) fn says_end(&mut self, process: &ProcessOf<P, S>) -> bool {
        let Some(layer) = self.extras.layer(process.extra) else { return false };
        let Some(socket) = &process.socket else { return false };
        layer.say_end(&mut self.pollset, socket, &mut self.lent);
        true
    }

    /// Whether a transport holds bytes back because the socket is full. The process then waits as for its own output.
    pub(super) fn owes(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) -> Lives<bool> {
        let owed = self.extras.layer(process.extra).map_or(0, |layer| layer.owed());
        if owed == 0 {
            return Ok(false);
        }
        let outbox = process.outbox.get_or_insert_with(|| self.spare_outboxes.take());
        let before = outbox.counted_bytes();
        outbox.note_owed(owed);
        self.stats.count_buffered(before, outbox.counted_bytes());
        self.wait_for_room(id, process)?;
        Ok(true)
    }

    /// After a receive: a handshake may have bytes to send, and bytes that waited for its end may be sent now.
    fn settle_layer(&mut self, id: ProcessId, process: &mut ProcessOf<P, S>) -> Lives {
        if !self.owes(id, process)? && process.flags.has(Flags::WANTS_ROOM) {
            self.transmit_outbox(id, process)?;
        }
        Ok(())
    }
}
