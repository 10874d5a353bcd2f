//! The clients of a world.
//!
//! Owns the clients' ends of connections. The test plays the client: a client reads what arrives at once unless
//! it is stalled, and keeps what it could not send while the server does not read.

use sys::socket::{ListenAddress, Peer};

use super::agenda::{Event, Key};
use super::connection::{ClientState, Mark, Position};
use super::fingerprint::Happening;
use super::listening::Gate;
use super::pipe::End;
use super::state::{State, Way};
use super::world::Stall;

impl State {
    pub(super) fn connect(&mut self, address: &ListenAddress, peer: Peer) -> Option<Key> {
        self.settle();
        let group = |gate: &Gate| gate.open && gate.address == *address;
        let members = self.gates.iter().filter(|gate| group(gate)).count();
        let chosen = self.random.index(members);
        let (listener, gate) =
            self.gates.iter_mut().enumerate().filter(|(_, gate)| group(gate)).nth(chosen)?;
        let full = gate.queue.len() >= gate.backlog || gate.deferred >= gate.backlog;
        if full || gate.refuses_new {
            return None;
        }
        let defer_ns = gate.defer_ns;
        let index = self.insert(u32::try_from(listener).expect("a few listeners"), peer);
        let key = self.key(index);
        let gate = &mut self.gates[listener];
        if defer_ns > 0 {
            gate.deferred += 1;
            self.agenda.put(self.now_ns.saturating_add(defer_ns), key, Event::Undefer);
        } else {
            gate.queue.push_back(index);
            self.connection(index).place = Position::Queued;
        }
        self.fingerprint.note(Happening::Connected, index.into(), listener as u64);
        Some(key)
    }

    /// The index of a connection that its client has not closed.
    pub(super) fn find(&mut self, key: Key) -> Option<u32> {
        self.settle();
        let connection = self.connections.get(key.index as usize)?;
        let here = connection.generation == key.generation && !connection.has(Mark::RELEASED);
        here.then_some(key.index)
    }

    /// Sends what the client has, as far as there is room.
    pub(super) fn pump(&mut self, index: u32) {
        let connection = self.connection(index);
        let room = connection.room_to_server();
        let bytes = connection.unsent.take(room);
        self.dispatch_bytes(index, Way::ToServer, &bytes);
        let connection = self.connection(index);
        if connection.has(Mark::ENDING)
            && connection.unsent.is_empty()
            && connection.to_server.end == End::Open
        {
            connection.to_server.end = End::Sent;
            self.dispatch_end(index, Way::ToServer);
        }
    }

    pub(super) fn client_send(&mut self, index: u32, bytes: &[u8]) {
        self.fingerprint.note(Happening::ClientSent, index.into(), 0);
        self.fingerprint.note_bytes(bytes);
        let connection = self.connection(index);
        let stands = matches!(connection.client, ClientState::Open | ClientState::EndedByServer);
        if stands && !connection.has(Mark::ENDING) {
            connection.unsent.append(bytes);
            self.pump(index);
        }
    }

    pub(super) fn client_end_output(&mut self, index: u32) {
        self.fingerprint.note(Happening::ClientEnded, index.into(), 0);
        if matches!(self.connection(index).client, ClientState::Open | ClientState::EndedByServer) {
            self.connection(index).set(Mark::ENDING);
            self.pump(index);
        }
    }

    pub(super) fn client_close(&mut self, index: u32) {
        if self.connection(index).unread > 0 {
            // As in any kernel, a close with unread bytes is a reset.
            self.client_reset(index);
            return;
        }
        self.client_end_output(index);
        self.release(index, Happening::ClientClosed);
    }

    pub(super) fn client_reset(&mut self, index: u32) {
        self.connection(index).unsent.clear();
        if matches!(self.connection(index).client, ClientState::Open | ClientState::EndedByServer) {
            self.dispatch_reset(index, Way::ToServer);
        }
        self.release(index, Happening::ClientReset);
    }

    fn release(&mut self, index: u32, happening: Happening) {
        self.fingerprint.note(happening, index.into(), 0);
        let connection = self.connection(index);
        connection.client = ClientState::Closed;
        connection.unread = 0;
        connection.to_client.arrived.clear();
        connection.set(Mark::RELEASED);
        self.free_if_over(index);
    }

    pub(super) fn client_stall(&mut self, index: u32, stall: Stall) {
        let stalls = stall == Stall::Reading;
        self.fingerprint.note(Happening::ClientStalled, index.into(), stalls.into());
        let connection = self.connection(index);
        if stalls {
            connection.set(Mark::STALLED);
        } else {
            connection.take(Mark::STALLED);
            connection.unread = 0;
            self.change_if_room(index);
        }
    }

    /// Takes at most this many bytes, first those that the client has read, then unread ones.
    pub(super) fn client_read(&mut self, index: u32, most: usize) -> Vec<u8> {
        let connection = self.connection(index);
        let taken = connection.to_client.arrived.take(most);
        let left = u32::try_from(connection.to_client.arrived.len()).unwrap_or(u32::MAX);
        connection.unread = connection.unread.min(left);
        self.change_if_room(index);
        self.fingerprint.note(Happening::ClientTook, index.into(), taken.len() as u64);
        self.fingerprint.note_bytes(&taken);
        taken
    }

    /// Takes what the client has read.
    pub(super) fn client_received(&mut self, index: u32) -> Vec<u8> {
        let connection = self.connection(index);
        let read = connection.to_client.arrived.len() - connection.unread as usize;
        self.client_read(index, read)
    }
}
