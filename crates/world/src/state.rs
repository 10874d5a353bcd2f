//! The state of a world: connections, listeners, schedulers, the clock, and how events are executed.
//!
//! Owns the loop over the agenda ([`State::advance`]): every segment arrives through [`State::deliver`]. The servers'
//! operations are in `server_side`, `gate`, `remote` and `report`, the clients' in `client_side`.

use std::collections::{BTreeMap, VecDeque};
use std::io;

use sys::pollset::Interest;
use sys::socket::Peer;

use super::agenda::{Agenda, Event, Key, Segment};
use super::connection::{ClientState, Connection, Mark, Position};
use super::faults::Faults;
use super::fingerprint::{Fingerprint, Happening};
use super::listening::{Gate, Remote};
use super::pipe::End;
use super::random::Random;
use crate::limits::{BUFFER, BUFFER_MINIMUM, DESCRIPTORS};

/// Monotonic time at the beginning of a world: not 0, because a machine has usually run for a while.
const START_MONOTONIC_NS: u64 = 1_000_000_000_000;

/// Wall-clock time at the beginning of a world: 2026-01-01 00:00 UTC.
const START_UNIX_NS: u64 = 1_767_225_600_000_000_000;

/// The direction of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    ToServer,
    ToClient,
}

/// The world's state of one scheduler.
#[derive(Debug)]
pub(super) struct Side {
    /// Watched connections that have changed since they were last reported.
    pub(super) changed: VecDeque<u32>,
    pub(super) descriptors: usize,
    pub(super) descriptor_limit: usize,
    pub(super) no_descriptor_until_ns: u64,
}

impl Default for Side {
    fn default() -> Self {
        Self {
            changed: VecDeque::new(),
            descriptors: 0,
            descriptor_limit: DESCRIPTORS,
            no_descriptor_until_ns: 0,
        }
    }
}

/// A world.
#[derive(Debug)]
pub(super) struct State {
    pub(super) now_ns: u64,
    pub(super) random: Random,
    pub(super) faults: Faults,
    pub(super) fingerprint: Fingerprint,
    pub(super) connections: Vec<Connection>,
    free: Vec<u32>,
    pub(super) gates: Vec<Gate>,
    pub(super) remotes: Vec<Remote>,
    pub(super) sides: Vec<Side>,
    /// Connections whose file is not in memory, and until when.
    pub(super) cold: BTreeMap<u32, u64>,
    pub(super) agenda: Agenda,
    pub(super) connects: u64,
}

impl State {
    pub(super) fn new(seed: u64, faults: Faults) -> Self {
        Self {
            now_ns: START_MONOTONIC_NS,
            random: Random::new(seed),
            faults,
            fingerprint: Fingerprint::default(),
            connections: Vec::new(),
            free: Vec::new(),
            gates: Vec::new(),
            remotes: Vec::new(),
            sides: Vec::new(),
            cold: BTreeMap::new(),
            agenda: Agenda::default(),
            connects: 0,
        }
    }

    pub(super) fn unix_ns(&self) -> u64 {
        START_UNIX_NS + (self.now_ns - START_MONOTONIC_NS)
    }

    pub(super) fn connection(&mut self, index: u32) -> &mut Connection {
        &mut self.connections[index as usize]
    }

    pub(super) fn key(&self, index: u32) -> Key {
        Key { index, generation: self.connections[index as usize].generation }
    }

    /// Advances the time and executes the events that become due.
    pub(super) fn advance(&mut self, until_ns: u64) {
        while let Some(appointment) = self.agenda.take_due(until_ns) {
            self.now_ns = self.now_ns.max(appointment.at_ns);
            self.deliver(appointment.key, appointment.event);
        }
        self.now_ns = self.now_ns.max(until_ns);
    }

    /// Executes the events that are due now.
    pub(super) fn settle(&mut self) {
        self.advance(self.now_ns);
    }

    /// The state of a scheduler, which is created if it is new.
    pub(super) fn side(&mut self, scheduler: usize) -> &mut Side {
        if self.sides.len() <= scheduler {
            self.sides.resize_with(scheduler + 1, Side::default);
        }
        &mut self.sides[scheduler]
    }

    /// Adds a connection; returns its index.
    pub(super) fn insert(&mut self, listener: u32, peer: Peer) -> u32 {
        let capacities = [self.capacity(), self.capacity()];
        if let Some(index) = self.free.pop() {
            let generation = self.connection(index).generation;
            *self.connection(index) = Connection::new(generation, listener, peer, capacities);
            return index;
        }
        self.connections.push(Connection::new(0, listener, peer, capacities));
        u32::try_from(self.connections.len() - 1).expect("memory ends before the numbers do")
    }

    fn capacity(&mut self) -> u32 {
        if !self.random.chance(self.faults.small_buffer) {
            return BUFFER;
        }
        let more = self.random.below(u64::from(BUFFER - BUFFER_MINIMUM));
        BUFFER_MINIMUM + u32::try_from(more).expect("below a capacity")
    }

    /// Frees the index of a connection that both ends have closed.
    pub(super) fn free_if_over(&mut self, index: u32) {
        let connection = self.connection(index);
        if connection.place == Position::Closed && connection.take(Mark::RELEASED) {
            connection.generation += 1;
            connection.to_client.arrived.clear();
            connection.unsent.clear();
            self.free.push(index);
        }
    }

    /// Records a change of a connection; the next wait reports it if it is watched.
    pub(super) fn change(&mut self, index: u32) {
        let connection = &mut self.connections[index as usize];
        if connection.watch.is_some() && !connection.has(Mark::CHANGED) {
            connection.set(Mark::CHANGED);
            self.sides[usize::from(connection.scheduler)].changed.push_back(index);
        }
    }

    /// Records a change if a send found no room and there is some now.
    pub(super) fn change_if_room(&mut self, index: u32) {
        let connection = self.connection(index);
        if !connection.has_room() || !connection.take(Mark::WANTS_ROOM) {
            return;
        }
        // A scheduler that did not ask for room is not woken: the change would report unread bytes once more.
        if connection.watch.is_some_and(|watch| watch.interest == Interest::ReadWrite) {
            self.change(index);
        }
    }

    /// When something sent now arrives: not before what was sent earlier.
    pub(super) fn arrival_ns(&mut self) -> u64 {
        let mut way_ns = match self.faults.latency_ns_maximum {
            0 => 0,
            maximum => self.random.below(maximum + 1),
        };
        if self.random.chance(self.faults.delay) {
            way_ns += self.span_ns(self.faults.delay_ns_maximum);
        }
        self.now_ns + way_ns
    }

    /// A duration from 1 to its maximum.
    pub(super) fn span_ns(&mut self, maximum_ns: u64) -> u64 {
        1 + self.random.below(maximum_ns)
    }

    fn dispatch(&mut self, index: u32, way: Way, segment: Segment) {
        let mut at_ns = self.arrival_ns();
        let overtakes =
            matches!(segment, Segment::Reset) && self.random.chance(self.faults.reset_overtakes);
        let connection = &mut self.connections[index as usize];
        let pipe = match way {
            Way::ToServer => &mut connection.to_server,
            Way::ToClient => &mut connection.to_client,
        };
        if !overtakes {
            at_ns = at_ns.max(pipe.last_arrival_ns);
            pipe.last_arrival_ns = at_ns;
        }
        if let Segment::Bytes(bytes) = &segment {
            pipe.flying += u32::try_from(bytes.len()).expect("bounded by a capacity");
        }
        let event = match way {
            Way::ToServer => Event::ToServer(segment),
            Way::ToClient => Event::ToClient(segment),
        };
        self.agenda.put(at_ns, self.key(index), event);
    }

    /// Sends bytes, in one segment or several.
    pub(super) fn dispatch_bytes(&mut self, index: u32, way: Way, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let whole = bytes.len() == 1 || !self.random.chance(self.faults.split);
            let length = if whole { bytes.len() } else { 1 + self.random.index(bytes.len() - 1) };
            let (segment, rest) = bytes.split_at(length);
            self.dispatch(index, way, Segment::Bytes(segment.into()));
            bytes = rest;
        }
    }

    pub(super) fn dispatch_end(&mut self, index: u32, way: Way) {
        self.dispatch(index, way, Segment::End);
    }

    pub(super) fn dispatch_reset(&mut self, index: u32, way: Way) {
        self.dispatch(index, way, Segment::Reset);
    }

    fn deliver(&mut self, key: Key, event: Event) {
        let index = key.index;
        if self.connection(index).generation != key.generation {
            return;
        }
        match event {
            Event::ToServer(segment) => self.deliver_to_server(index, segment),
            Event::ToClient(segment) => self.deliver_to_client(index, segment),
            Event::Undefer => self.enqueue_deferred(index),
            Event::Reveal => {
                if self.connection(index).hides() {
                    self.connection(index).reveal();
                    self.change(index);
                }
            }
            Event::Unchoke => {
                self.connection(index).take(Mark::CHOKED);
                self.change_if_room(index);
            }
            Event::Uncork => self.uncork(index),
            Event::Establish(to) => self.establish(index, &to),
            Event::Refuse => self.refuse(index),
        }
    }

    fn deliver_to_server(&mut self, index: u32, segment: Segment) {
        match segment {
            Segment::Bytes(bytes) => self.deliver_bytes_to_server(index, &bytes),
            Segment::End => {
                self.enqueue_deferred(index);
                let connection = self.connection(index);
                connection.to_server.end = End::Arrived;
                connection.reveal();
                self.change(index);
            }
            Segment::Reset => self.lose_server_end(index),
        }
    }

    fn deliver_bytes_to_server(&mut self, index: u32, bytes: &[u8]) {
        let connection = self.connection(index);
        connection.to_server.flying -= u32::try_from(bytes.len()).expect("it was counted");
        if connection.has(Mark::GONE) {
            return;
        }
        if connection.place == Position::Closed {
            // The socket is closed: RFC 9293 section 3.10.7.1 answers such bytes with a reset.
            if matches!(connection.client, ClientState::Open | ClientState::EndedByServer) {
                self.dispatch_reset(index, Way::ToClient);
            }
            return;
        }
        if self.random.chance(self.faults.cut_connection) {
            self.cut(index);
            return;
        }
        let connection = self.connection(index);
        connection.to_server.arrived.append(bytes);
        connection.reveal();
        self.enqueue_deferred(index);
        self.change(index);
    }

    fn deliver_to_client(&mut self, index: u32, segment: Segment) {
        let length = if let Segment::Bytes(bytes) = &segment { bytes.len() } else { 0 };
        let length = u32::try_from(length).expect("bounded by a capacity");
        let connection = self.connection(index);
        connection.to_client.flying -= length;
        match segment {
            Segment::Bytes(_) if connection.has(Mark::RELEASED) => {
                if connection.place != Position::Closed {
                    self.dispatch_reset(index, Way::ToServer);
                }
            }
            Segment::Bytes(bytes) if connection.client == ClientState::Open => {
                connection.to_client.arrived.append(&bytes);
                if connection.has(Mark::STALLED) {
                    connection.unread += length;
                }
                self.change_if_room(index);
            }
            Segment::End if connection.client == ClientState::Open => {
                connection.client = ClientState::EndedByServer;
                connection.to_client.end = End::Arrived;
            }
            Segment::Reset
                if matches!(connection.client, ClientState::Open | ClientState::EndedByServer) =>
            {
                self.lose_client_end(index, ClientState::Reset);
            }
            // The client has closed.
            Segment::Bytes(_) | Segment::End | Segment::Reset => {}
        }
    }

    /// A connection may be accepted once its first bytes arrive, or its deferral ends.
    fn enqueue_deferred(&mut self, index: u32) {
        let connection = &mut self.connections[index as usize];
        if connection.place == Position::Deferred {
            connection.place = Position::Queued;
            let gate = &mut self.gates[connection.listener as usize];
            gate.deferred -= 1;
            gate.queue.push_back(index);
        }
    }

    /// A fault: the network resets a connection at both ends.
    pub(super) fn cut(&mut self, index: u32) {
        let generation = u64::from(self.connection(index).generation);
        self.fingerprint.note(Happening::Cut, u64::from(index), generation);
        if matches!(self.connection(index).client, ClientState::Open | ClientState::EndedByServer) {
            self.lose_client_end(index, ClientState::Cut);
        }
        self.lose_server_end(index);
    }

    fn lose_client_end(&mut self, index: u32, state: ClientState) {
        let connection = self.connection(index);
        connection.client = state;
        connection.unread = 0;
        connection.unsent.clear();
        connection.take(Mark::ENDING);
    }

    /// Resets the server's end. What arrived before can still be received, as in Linux.
    fn lose_server_end(&mut self, index: u32) {
        let connection = &mut self.connections[index as usize];
        match connection.place {
            Position::Closed => return,
            Position::Deferred => {
                connection.place = Position::Closed;
                self.gates[connection.listener as usize].deferred -= 1;
                self.free_if_over(index);
                return;
            }
            Position::Queued | Position::Accepted => {}
        }
        if connection.has(Mark::GONE) {
            return;
        }
        connection.set(Mark::GONE);
        connection.take(Mark::CHOKED);
        connection.error = Some(if connection.to_server.end == End::Arrived {
            io::ErrorKind::BrokenPipe
        } else {
            io::ErrorKind::ConnectionReset
        });
        connection.reveal();
        connection.corked.clear();
        self.change(index);
    }

    /// Transmits bytes that were held back for more.
    pub(super) fn uncork(&mut self, index: u32) {
        let connection = self.connection(index);
        let held = connection.corked.take(usize::MAX);
        self.dispatch_bytes(index, Way::ToClient, &held);
    }
}
