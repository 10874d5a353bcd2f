//! Accepting: from a listener's queue to the first answer, without the pollset if the request has
//! already arrived.
//!
//! Owns the gates (listeners with their pauses). Never waits: if descriptors or slots run out, it
//! closes the oldest unfinished request or the longest idle connection; if there is none, the gate
//! pauses until a connection ends.

use sys::pollset::{AcceptError, Pollset};
use sys::socket::Peer;

use super::Scheduler;
use crate::account::{TimeAccount, charged_to};
use crate::diagnostic::{self, Level};
use crate::limits::{
    ACCEPT_PAUSE_NS, ACCEPT_TICKS_PER_TURN, ACCEPTS_PER_TURN, COMPLAINT_INTERVAL_NS,
};
use crate::process::{Flags, Process};
use crate::service::{Beginning, CloseReason, ListenerIndex, Service};
use crate::slots::ProcessId;
use crate::trace;

/// A listener and whether it is paused.
pub(super) struct Gate<L> {
    listener: Option<L>,
    paused_until_ns: Option<u64>,
    complained_ns: Option<u64>,
    /// Its last connection began with a handshake.
    is_layered: bool,
}

impl<L> Gate<L> {
    pub(super) fn open(listener: L) -> Self {
        Self {
            listener: Some(listener),
            paused_until_ns: None,
            complained_ns: None,
            is_layered: false,
        }
    }

    pub(super) fn listener(&self) -> Option<&L> {
        self.listener.as_ref()
    }

    /// Keeps new connections out of the listener's queue. If the pollset cannot do this, they are accepted until the
    /// listener closes.
    pub(super) fn refuse_new(&mut self, pollset: &mut impl Pollset<Listener = L>) {
        if let Some(listener) = &mut self.listener {
            let _until_it_is_closed = pollset.refuse_new(listener);
        }
    }

    /// Closes the listener.
    pub(super) fn shut(&mut self) {
        self.listener = None;
        self.paused_until_ns = None;
    }

    /// A connection has ended, so there is room for another.
    pub(super) fn note_room(&mut self) {
        if self.paused_until_ns.is_some() {
            self.paused_until_ns = Some(0);
        }
    }

    /// When a paused listener is tried again.
    pub(super) fn reopens_ns(&self) -> Option<u64> {
        self.paused_until_ns
    }
}

impl<P: Pollset, S: Service> Scheduler<P, S> {
    /// Accepts the waiting connections of one listener, as many as one turn may.
    pub(super) fn accept_waiting(&mut self, index: ListenerIndex) {
        // Once some were accepted there may be none left, so no connection is closed to make room before the next
        // event.
        let (mut took_some, mut made_room) = (false, false);
        let begun = self.executor.pollset.tick_counter();
        for _ in 0..ACCEPTS_PER_TURN {
            // The first one is accepted without another look at the counter.
            if took_some
                && self.executor.pollset.tick_counter().saturating_sub(begun)
                    > ACCEPT_TICKS_PER_TURN
            {
                return;
            }
            if self.table.is_full() {
                if took_some {
                    return;
                }
                if !self.has_made_room() {
                    self.pause_gate(
                        index,
                        Some(
                            "the connection limit is reached and none is idle; raise `connections` in \
                             [limits] or the limit of descriptors (ulimit -n, LimitNOFILE=), whichever is \
                             lower",
                        ),
                    );
                    return;
                }
            }
            let Some(gate) = self.gates.get(usize::from(index.0)) else { return };
            if gate.is_layered && self.executor.handshakes.is_full() {
                self.pause_gate(index, None);
                return;
            }
            let Some(listener) = &gate.listener else { return };
            let accepted =
                charged_to(TimeAccount::Accept, || self.executor.pollset.accept(listener));
            match accepted {
                Ok((socket, peer)) => {
                    took_some = true;
                    self.open_process(index, socket, peer);
                }
                Err(AcceptError::Blocked) => return,
                Err(AcceptError::Aborted) => self.executor.stats.accepts_aborted += 1,
                Err(AcceptError::NoDescriptor) if took_some => return,
                // Closing one connection makes room for one, unless the whole machine is short of descriptors: then
                // closing more would not help.
                Err(AcceptError::NoDescriptor) if !made_room && self.make_room() => {
                    made_room = true;
                }
                Err(AcceptError::NoDescriptor) => {
                    self.pause_gate(
                        index,
                        Some(
                            "no descriptor or kernel memory is left; raise the limit of descriptors (ulimit \
                             -n, LimitNOFILE=) or fs.file-max",
                        ),
                    );
                    return;
                }
                Err(AcceptError::Listener(kind)) => {
                    self.pause_gate(index, Some(&format!("the listener fails: {kind}")));
                    return;
                }
            }
        }
    }

    fn open_process(&mut self, index: ListenerIndex, socket: P::Socket, peer: Peer) {
        self.executor.stats.accepts += 1;
        self.executor.spin.note_accept();
        let Some(id) = self.insert_process(index, socket, peer) else {
            self.executor.stats.accepts_refused += 1;
            return;
        };
        let is_layered = self.table.lookup(id).is_some_and(|process| process.extra.is_some());
        if let Some(gate) = self.gates.get_mut(usize::from(index.0)) {
            gate.is_layered = is_layered;
        }
        self.visit(id, |executor, id, process| {
            if !executor.output.is_empty() {
                // The server speaks first on this connection. Output left in the buffer would go to the next process
                // that runs.
                executor.transmit(id, process)?;
            }
            if executor.is_short_of_memory() {
                // Nothing can be said before a handshake, which would take more memory.
                if process.extra.is_some() {
                    executor.stats.accepts_overloaded += 1;
                    return Err(CloseReason::Aborted);
                }
                executor.turn_away(id, process)?;
            }
            executor.receive(id, process)
        });
    }

    fn insert_process(
        &mut self,
        index: ListenerIndex,
        socket: P::Socket,
        peer: Peer,
    ) -> Option<ProcessId> {
        let id = self.table.next_id();
        self.executor.read_clock_for_run();
        let (service, mut context) = self.executor.newcomer(id);
        let Some(state) = service.on_accept(index, peer, &mut context) else {
            self.executor.output.clear();
            return None;
        };
        let deadline = context.deadline;
        let mut process = Process::new(Some(socket), state);
        process.deadline = deadline;
        process.flags.set(Flags::READABLE);
        let beginning = Beginning::Accepted { listener: index, peer };
        let chosen = self.executor.choose_transport(beginning, &mut process);
        if chosen.is_err() || !self.insert(id, process) {
            self.executor.output.clear();
            return None;
        }
        if trace::is_on() {
            trace::accept(id, peer);
        }
        Some(id)
    }

    /// Pauses a listener. Without a reason, nothing is wrong: its connections wait for handshakes.
    fn pause_gate(&mut self, index: ListenerIndex, why: Option<&str>) {
        let now_ns = self.executor.clock.now().monotonic_ns;
        let gate = &mut self.gates[usize::from(index.0)];
        let Some(listener) = gate.listener.as_ref().filter(|_| gate.paused_until_ns.is_none())
        else {
            return;
        };
        self.executor.stats.accept_pauses += 1;
        // If a listener cannot even be paused, it would be reported again at once. Closing it is the only way not
        // to spin; and if the kernel has no memory for the removal, nothing else works either.
        if let Err(error) = self.executor.pollset.pause(listener, index.token()) {
            gate.shut();
            diagnostic::write(
                Level::Error,
                format_args!("a listener is closed until the next start: it cannot pause: {error}"),
            );
            return;
        }
        gate.paused_until_ns = Some(now_ns + ACCEPT_PAUSE_NS);
        self.has_paused = true;
        let Some(why) = why else { return };
        if gate.complained_ns.is_none_or(|last| now_ns - last >= COMPLAINT_INTERVAL_NS) {
            gate.complained_ns = Some(now_ns);
            diagnostic::write(
                Level::Warn,
                format_args!("accepting pauses for {} ms: {why}", ACCEPT_PAUSE_NS / 1_000_000),
            );
        }
    }

    /// Tries the paused listeners whose time has come.
    pub(super) fn reopen_gates(&mut self) {
        let now_ns = self.executor.clock.now().monotonic_ns;
        for (number, gate) in self.gates.iter_mut().enumerate() {
            let due = gate.paused_until_ns.is_some_and(|until| until <= now_ns);
            let Some(listener) = gate.listener.as_ref().filter(|_| due) else { continue };
            let index = ListenerIndex(u16::try_from(number).expect("a few listeners"));
            gate.paused_until_ns = match self.executor.pollset.resume(listener, index.token()) {
                Ok(()) => None,
                Err(_) => Some(now_ns + ACCEPT_PAUSE_NS),
            };
        }
        self.has_paused = self.gates.iter().any(|gate| gate.reopens_ns().is_some());
    }
}
