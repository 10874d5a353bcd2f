//! The state of a world: connections, listeners, schedulers, the clock, and how events are executed.
//!
//! Owns the loop over the agenda ([`State::advance`]): every segment arrives through [`State::deliver`]. The servers'
//! operations are in `server_side`, `gate`, `remote` and `report`, the clients' in `client_side`, and a test's in
//! `observe`.

mod client_side;
mod gate;
mod observe;
mod remote;
mod report;
mod server_side;

use std::collections::{BTreeMap, VecDeque};

use sys::socket::Peer;

use super::agenda::{Agenda, Event, Key, Segment};
use super::connection::{ClientState, Connection, Way};
use super::faults::Faults;
use super::fingerprint::{Fingerprint, Happening};
use super::random::Random;
use crate::limits::{BUFFER, BUFFER_MINIMUM, DESCRIPTORS};
use gate::Gate;
use remote::Remote;

/// Monotonic time at the beginning of a world: not 0, because a machine has usually run for a while.
const START_MONOTONIC_NS: u64 = 1_000_000_000_000;

/// Wall-clock time at the beginning of a world: 2026-01-01 00:00 UTC.
const START_UNIX_NS: u64 = 1_767_225_600_000_000_000;

/// The world's state of one scheduler.
#[derive(Debug)]
struct Side {
    /// Watched connections that have changed since they were last reported.
    changed: VecDeque<u32>,
    descriptors: usize,
    descriptor_limit: usize,
    no_descriptor_until_ns: u64,
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
    now_ns: u64,
    random: Random,
    faults: Faults,
    fingerprint: Fingerprint,
    connections: Vec<Connection>,
    free: Vec<u32>,
    gates: Vec<Gate>,
    remotes: Vec<Remote>,
    sides: Vec<Side>,
    /// Connections whose file is not in memory, and until when.
    cold: BTreeMap<u32, u64>,
    agenda: Agenda,
    connects: u64,
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

    fn key(&self, index: u32) -> Key {
        Key { index, generation: self.connections[index as usize].generation() }
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

    /// A scheduler has a pollset in the world.
    pub(super) fn add_scheduler(&mut self, scheduler: usize) {
        self.side(scheduler);
    }

    /// The state of a scheduler, which is created if it is new.
    fn side(&mut self, scheduler: usize) -> &mut Side {
        if self.sides.len() <= scheduler {
            self.sides.resize_with(scheduler + 1, Side::default);
        }
        &mut self.sides[scheduler]
    }

    /// Adds a connection; returns its index.
    fn insert(&mut self, listener: u32, peer: Peer) -> u32 {
        let capacities = [self.capacity(), self.capacity()];
        if let Some(index) = self.free.pop() {
            self.connection(index).reuse(listener, peer, capacities);
            return index;
        }
        self.connections.push(Connection::new(listener, peer, capacities));
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
    fn free_if_over(&mut self, index: u32) {
        if self.connection(index).retire() {
            self.free.push(index);
        }
    }

    /// Records a change of a connection; the next wait reports it if it is watched.
    fn change(&mut self, index: u32) {
        if let Some(scheduler) = self.connection(index).change() {
            self.sides[usize::from(scheduler)].changed.push_back(index);
        }
    }

    /// Records a change if a send found no room and there is some now.
    fn change_if_room(&mut self, index: u32) {
        if self.connection(index).gains_room() {
            self.change(index);
        }
    }

    /// Counts a connect; returns its number, from 1.
    pub(super) fn count_connect(&mut self) -> u64 {
        self.connects += 1;
        self.connects
    }

    /// When something sent now arrives: not before what was sent earlier.
    fn arrival_ns(&mut self) -> u64 {
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
    fn span_ns(&mut self, maximum_ns: u64) -> u64 {
        1 + self.random.below(maximum_ns)
    }

    fn dispatch(&mut self, index: u32, way: Way, segment: Segment) {
        let mut at_ns = self.arrival_ns();
        let overtakes =
            matches!(segment, Segment::Reset) && self.random.chance(self.faults.reset_overtakes);
        let connection = &mut self.connections[index as usize];
        if !overtakes {
            at_ns = connection.in_order_ns(way, at_ns);
        }
        if let Segment::Bytes(bytes) = &segment {
            connection.depart(way, bytes);
        }
        let event = match way {
            Way::ToServer => Event::ToServer(segment),
            Way::ToClient => Event::ToClient(segment),
        };
        self.agenda.put(at_ns, self.key(index), event);
    }

    /// Sends bytes, in one segment or several.
    fn dispatch_bytes(&mut self, index: u32, way: Way, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let whole = bytes.len() == 1 || !self.random.chance(self.faults.split);
            let length = if whole { bytes.len() } else { 1 + self.random.index(bytes.len() - 1) };
            let (segment, rest) = bytes.split_at(length);
            self.dispatch(index, way, Segment::Bytes(segment.into()));
            bytes = rest;
        }
    }

    fn dispatch_end(&mut self, index: u32, way: Way) {
        self.dispatch(index, way, Segment::End);
    }

    fn dispatch_reset(&mut self, index: u32, way: Way) {
        self.dispatch(index, way, Segment::Reset);
    }

    fn deliver(&mut self, key: Key, event: Event) {
        let index = key.index;
        if self.key(index) != key {
            return;
        }
        match event {
            Event::ToServer(segment) => self.deliver_to_server(index, segment),
            Event::ToClient(segment) => self.deliver_to_client(index, segment),
            Event::Undefer => self.enqueue_deferred(index),
            Event::Reveal => {
                if self.connection(index).reveal() {
                    self.change(index);
                }
            }
            Event::Unchoke => {
                self.connection(index).end_choke();
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
                self.connection(index).end_to_server();
                self.change(index);
            }
            Segment::Reset => self.lose_server_end(index),
        }
    }

    fn deliver_bytes_to_server(&mut self, index: u32, bytes: &[u8]) {
        let connection = self.connection(index);
        connection.land(Way::ToServer, bytes);
        if connection.is_gone() {
            return;
        }
        if connection.is_closed() {
            // The socket is closed: RFC 9293 section 3.10.7.1 answers such bytes with a reset.
            if connection.has_client() {
                self.dispatch_reset(index, Way::ToClient);
            }
            return;
        }
        if self.random.chance(self.faults.cut_connection) {
            self.cut(index);
            return;
        }
        self.connection(index).deliver_to_server(bytes);
        self.enqueue_deferred(index);
        self.change(index);
    }

    fn deliver_to_client(&mut self, index: u32, segment: Segment) {
        let connection = self.connection(index);
        match segment {
            Segment::Bytes(bytes) => {
                connection.land(Way::ToClient, &bytes);
                if connection.is_released() {
                    if !connection.is_closed() {
                        self.dispatch_reset(index, Way::ToServer);
                    }
                } else if connection.deliver_to_client(&bytes) {
                    self.change_if_room(index);
                }
            }
            Segment::End => connection.end_to_client(),
            Segment::Reset => connection.lose_client_end(ClientState::Reset),
        }
    }

    /// A connection may be accepted once its first bytes arrive, or its deferral ends.
    fn enqueue_deferred(&mut self, index: u32) {
        if let Some(listener) = self.connection(index).end_deferral() {
            self.gates[listener as usize].enqueue_deferred(index);
        }
    }

    /// A fault: the network resets a connection at both ends.
    fn cut(&mut self, index: u32) {
        let generation = u64::from(self.key(index).generation);
        self.fingerprint.note(Happening::Cut, u64::from(index), generation);
        self.connection(index).lose_client_end(ClientState::Cut);
        self.lose_server_end(index);
    }

    /// Resets the server's end.
    fn lose_server_end(&mut self, index: u32) {
        if let Some(listener) = self.connection(index).lose_deferred() {
            self.gates[listener as usize].lose_deferred();
            self.free_if_over(index);
        } else if self.connection(index).lose_server_end() {
            self.change(index);
        }
    }

    /// Transmits bytes that were held back for more.
    fn uncork(&mut self, index: u32) {
        let held = self.connection(index).uncork();
        self.dispatch_bytes(index, Way::ToClient, &held);
    }
}
