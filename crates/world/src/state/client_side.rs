//! The clients of a world.
//!
//! Owns the clients' ends of connections. The test plays the client: a client reads what arrives at once unless
//! it is stalled, and keeps what it could not send while the server does not read.

use sys::socket::{ListenAddress, Peer};

use super::State;
use crate::agenda::{Event, Key};
use crate::connection::{Stall, Way};
use crate::fingerprint::Happening;

impl State {
    pub(crate) fn connect(&mut self, address: &ListenAddress, peer: Peer) -> Option<Key> {
        self.settle();
        let members = self.gates.iter().filter(|gate| gate.listens_at(address)).count();
        let chosen = self.random.index(members);
        let mut group =
            self.gates.iter_mut().enumerate().filter(|(_, gate)| gate.listens_at(address));
        let (listener, gate) = group.nth(chosen)?;
        let defer_ns = gate.begin_deferral()?;
        let index = self.insert(u32::try_from(listener).expect("a few listeners"), peer);
        let key = self.key(index);
        if defer_ns > 0 {
            self.agenda.put(self.now_ns.saturating_add(defer_ns), key, Event::Undefer);
        } else {
            self.enqueue_deferred(index);
        }
        self.fingerprint.note(Happening::Connected, index.into(), listener as u64);
        Some(key)
    }

    /// The index of a connection that its client has not closed.
    pub(crate) fn find(&mut self, key: Key) -> Option<u32> {
        self.settle();
        let connection = self.connections.get(key.index as usize)?;
        let here = connection.generation() == key.generation && !connection.is_released();
        here.then_some(key.index)
    }

    /// Sends what the client has, as far as there is room.
    pub(crate) fn pump(&mut self, index: u32) {
        let bytes = self.connection(index).take_sendable();
        self.dispatch_bytes(index, Way::ToServer, &bytes);
        if self.connection(index).take_client_end() {
            self.dispatch_end(index, Way::ToServer);
        }
    }

    pub(crate) fn client_send(&mut self, index: u32, bytes: &[u8]) {
        self.fingerprint.note(Happening::ClientSent, index.into(), 0);
        self.fingerprint.note_bytes(bytes);
        if self.connection(index).offer(bytes) {
            self.pump(index);
        }
    }

    pub(crate) fn client_end_output(&mut self, index: u32) {
        self.fingerprint.note(Happening::ClientEnded, index.into(), 0);
        if self.connection(index).end_client_output() {
            self.pump(index);
        }
    }

    pub(crate) fn client_close(&mut self, index: u32) {
        if self.connection(index).has_unread() {
            // As in any kernel, a close with unread bytes is a reset.
            self.client_reset(index);
            return;
        }
        self.client_end_output(index);
        self.release(index, Happening::ClientClosed);
    }

    pub(crate) fn client_reset(&mut self, index: u32) {
        self.connection(index).drop_unsent();
        if self.connection(index).has_client() {
            self.dispatch_reset(index, Way::ToServer);
        }
        self.release(index, Happening::ClientReset);
    }

    fn release(&mut self, index: u32, happening: Happening) {
        self.fingerprint.note(happening, index.into(), 0);
        self.connection(index).release();
        self.free_if_over(index);
    }

    pub(crate) fn client_stall(&mut self, index: u32, stall: Stall) {
        let stalls = stall == Stall::Reading;
        self.fingerprint.note(Happening::ClientStalled, index.into(), stalls.into());
        self.connection(index).stall(stall);
        if !stalls {
            self.change_if_room(index);
        }
    }

    /// Takes at most this many bytes, first those that the client has read, then unread ones.
    pub(crate) fn client_read(&mut self, index: u32, most: usize) -> Vec<u8> {
        let taken = self.connection(index).take_arrived(most);
        self.change_if_room(index);
        self.fingerprint.note(Happening::ClientTook, index.into(), taken.len() as u64);
        self.fingerprint.note_bytes(&taken);
        taken
    }

    /// Takes what the client has read.
    pub(crate) fn client_received(&mut self, index: u32) -> Vec<u8> {
        let read = self.connection(index).read_bytes();
        self.client_read(index, read)
    }
}
