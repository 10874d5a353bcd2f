//! The connections of each origin: how many there are, which are idle or shared, and which exchanges wait for one.
//!
//! Owns these counts and their limits. Idle connections close themselves after too long a time; the pool never closes
//! one.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::rc::Rc;

use ahash::HashMap;
use runtime::slots::ProcessId;

use crate::id::ExchangeId;
use crate::limits::{CONNECTIONS_PER_ORIGIN, IDLE, IDLE_PER_ORIGIN, STREAMS};
use crate::origin::Destination;
use crate::version::{Sharing, Versions};

/// The connections of a scheduler.
#[derive(Debug)]
pub(crate) struct Pool {
    lanes: HashMap<Rc<Destination>, Lane>,
    /// Idle ones, those that might be shared included.
    idle: usize,
    per_origin: usize,
}

/// The connections to one origin.
#[derive(Debug)]
struct Lane {
    /// Connections, from the request to begin one until its end.
    open: usize,
    idle: Vec<Idle>,
    /// Connections that serve many exchanges at once, and take more.
    shared: Vec<Shared>,
    /// Connections that are being made and that may become shared ones.
    promised: usize,
    /// Streams that the server allowed on a connection last.
    most: usize,
    /// As the last handshake said.
    versions: Versions,
    waiting: VecDeque<ExchangeId>,
}

/// An idle connection and the address it leads to. The name of an origin may lead elsewhere by the next request.
#[derive(Clone, Copy, Debug)]
struct Idle {
    address: IpAddr,
    connection: ProcessId,
}

/// A connection that serves many exchanges at once.
#[derive(Clone, Copy, Debug)]
struct Shared {
    address: IpAddr,
    connection: ProcessId,
    exchanges: usize,
    most: usize,
}

/// A connection for an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Usable {
    /// One that was idle.
    Idle(ProcessId),
    /// One that serves others, too. The exchange is counted.
    Shared(ProcessId),
}

/// Whether an idle connection is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    Yes,
    /// There are enough.
    No,
}

/// Whether a connection may be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// It may, and is counted.
    Taken(Promise),
    /// The exchange waits in line. If there is an idle connection to another address, it should be closed.
    InLine(Option<ProcessId>),
}

/// Whether exchanges wait for a connection that is being made, because they may share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Promise {
    None,
    Shared,
}

impl Default for Pool {
    fn default() -> Self {
        Self { lanes: HashMap::default(), idle: 0, per_origin: CONNECTIONS_PER_ORIGIN }
    }
}

impl Lane {
    fn new(versions: Versions) -> Self {
        Self {
            open: 0,
            idle: Vec::new(),
            shared: Vec::new(),
            promised: 0,
            most: STREAMS,
            versions,
            waiting: VecDeque::new(),
        }
    }

    fn shared(&mut self, connection: ProcessId) -> Option<&mut Shared> {
        self.shared.iter_mut().find(|shared| shared.connection == connection)
    }

    /// How many connections are idle.
    fn idle(&self) -> usize {
        self.idle.len() + self.shared.iter().filter(|shared| shared.exchanges == 0).count()
    }

    /// Forgets an idle connection, which another one may replace.
    fn pop_idle(&mut self) -> Option<ProcessId> {
        if let Some(idle) = self.idle.pop() {
            return Some(idle.connection);
        }
        let place = self.shared.iter().rposition(|shared| shared.exchanges == 0)?;
        Some(self.shared.remove(place).connection)
    }
}

impl Pool {
    /// Sets the number of connections to one origin. More that are open stay.
    pub(crate) fn set_per_origin(&mut self, most: usize) {
        self.per_origin = most.max(1);
    }

    /// How many connections are idle.
    pub(crate) fn idle(&self) -> usize {
        self.idle
    }

    /// Keeps an idle connection if there is room.
    pub(crate) fn put(
        &mut self,
        to: &Rc<Destination>,
        address: IpAddr,
        connection: ProcessId,
    ) -> Kept {
        let Some(lane) = self.lanes.get_mut(to) else { return Kept::No };
        if self.idle >= IDLE || lane.idle() >= IDLE_PER_ORIGIN {
            return Kept::No;
        }
        lane.idle.push(Idle { address, connection });
        self.idle += 1;
        Kept::Yes
    }

    /// A connection to the first of these addresses that has one: a shared one with room, or the idle one that was used
    /// last, so that the others become idle for long enough to close. Idle ones speak HTTP/1.1: where exchanges share
    /// connections, those are of exchanges that may not, such as WebSockets that the server refused.
    pub(crate) fn take(
        &mut self,
        to: &Destination,
        mut addresses: impl Iterator<Item = IpAddr>,
        sharing: Sharing,
    ) -> Option<Usable> {
        let lane = self.lanes.get_mut(to)?;
        let takes_idle = sharing == Sharing::Alone || lane.versions == Versions::Http1;
        let shared = if sharing == Sharing::Shared { &mut *lane.shared } else { &mut [] };
        addresses.find_map(|address| {
            let has_room = |it: &&mut Shared| it.address == address && it.exchanges < it.most;
            if let Some(shared) = shared.iter_mut().find(has_room) {
                self.idle -= usize::from(shared.exchanges == 0);
                shared.exchanges += 1;
                return Some(Usable::Shared(shared.connection));
            }
            let fits = |idle: &Idle| takes_idle && idle.address == address;
            let place = lane.idle.iter().rposition(fits)?;
            self.idle -= 1;
            Some(Usable::Idle(lane.idle.remove(place).connection))
        })
    }

    /// A connection is not to be used again, whether it is idle or not.
    pub(crate) fn forget(&mut self, to: &Destination, connection: ProcessId) {
        let Some(lane) = self.lanes.get_mut(to) else { return };
        let before = lane.idle();
        lane.idle.retain(|idle| idle.connection != connection);
        lane.shared.retain(|shared| shared.connection != connection);
        self.idle -= before - lane.idle();
    }

    /// Counts one more connection to an origin, or puts the exchange in line: for a place, or for a connection that is
    /// being made and that it may share.
    pub(crate) fn open(
        &mut self,
        to: &Rc<Destination>,
        exchange: ExchangeId,
        sharing: Sharing,
    ) -> Place {
        let lane = self.lanes.entry(Rc::clone(to)).or_insert_with(|| Lane::new(to.versions));
        let may_share = sharing == Sharing::Shared && lane.versions != Versions::Http1;
        if may_share && lane.promised > 0 {
            lane.waiting.push_back(exchange);
            return Place::InLine(None);
        }
        if lane.open < self.per_origin {
            lane.open += 1;
            // The offer does not depend on what was agreed before.
            let is_promised = sharing == Sharing::Shared && to.versions != Versions::Http1;
            lane.promised += usize::from(is_promised);
            return Place::Taken(if is_promised { Promise::Shared } else { Promise::None });
        }
        lane.waiting.push_back(exchange);
        let elsewhere = lane.pop_idle();
        self.idle -= usize::from(elsewhere.is_some());
        Place::InLine(elsewhere)
    }

    /// A connection has ended, or was not begun.
    pub(crate) fn close(&mut self, to: &Destination, promise: Promise) {
        let Some(lane) = self.lanes.get_mut(to) else { return };
        lane.open -= 1;
        lane.promised -= usize::from(promise == Promise::Shared);
        if lane.open == 0 && lane.waiting.is_empty() {
            self.lanes.remove(to);
        }
    }

    /// A connection that might have become a shared one serves one exchange after the other.
    pub(crate) fn disappoint(&mut self, to: &Destination) {
        if let Some(lane) = self.lanes.get_mut(to) {
            lane.promised -= 1;
            lane.versions = Versions::Http1;
        }
    }

    /// A connection that others wait for fails.
    pub(crate) fn break_promise(&mut self, to: &Destination) {
        if let Some(lane) = self.lanes.get_mut(to) {
            lane.promised -= 1;
        }
    }

    /// A server allows so many streams on a connection: those that begin now begin no more before it says so.
    pub(crate) fn allow(&mut self, to: &Destination, most: usize) {
        if let Some(lane) = self.lanes.get_mut(to) {
            lane.most = most.clamp(1, STREAMS);
        }
    }

    /// A connection has become a shared one, which serves an exchange.
    pub(crate) fn share(&mut self, to: &Destination, address: IpAddr, connection: ProcessId) {
        if let Some(lane) = self.lanes.get_mut(to) {
            lane.promised -= 1;
            lane.versions = to.versions;
            lane.shared.push(Shared { address, connection, exchanges: 1, most: lane.most });
        }
    }

    /// A shared connection serves at most so many exchanges at once.
    pub(crate) fn limit(&mut self, to: &Destination, connection: ProcessId, most: usize) {
        if let Some(shared) = self.lanes.get_mut(to).and_then(|lane| lane.shared(connection)) {
            shared.most = most;
        }
    }

    /// A shared connection serves an exchange less.
    pub(crate) fn leave(&mut self, to: &Destination, connection: ProcessId) {
        if let Some(shared) = self.lanes.get_mut(to).and_then(|lane| lane.shared(connection)) {
            shared.exchanges -= 1;
            self.idle += usize::from(shared.exchanges == 0);
        }
    }

    /// Whether a shared connection is kept, if it is idle.
    pub(crate) fn keep_shared(&mut self, to: &Destination, connection: ProcessId) -> Kept {
        let Some(lane) = self.lanes.get_mut(to) else { return Kept::Yes };
        let is_idle = lane.shared(connection).is_some_and(|shared| shared.exchanges == 0);
        let are_enough = is_idle && (self.idle > IDLE || lane.idle() > IDLE_PER_ORIGIN);
        if are_enough { Kept::No } else { Kept::Yes }
    }

    /// How many exchanges wait.
    pub(crate) fn waiting(&self, to: &Destination) -> usize {
        self.lanes.get(to).map_or(0, |lane| lane.waiting.len())
    }

    /// The exchange that has waited longest, if there is a connection or a place that it might use.
    pub(crate) fn next_in_line(&mut self, to: &Destination) -> Option<ExchangeId> {
        let lane = self.lanes.get_mut(to)?;
        let is_waited_for = lane.promised > 0 && lane.versions != Versions::Http1;
        let has_place = lane.open < self.per_origin && !is_waited_for;
        let has_room = || lane.shared.iter().any(|shared| shared.exchanges < shared.most);
        if has_place || !lane.idle.is_empty() || has_room() {
            lane.waiting.pop_front()
        } else {
            None
        }
    }

    /// An exchange does not wait any longer, if it did.
    pub(crate) fn leave_line(&mut self, to: &Destination, exchange: ExchangeId) {
        if let Some(lane) = self.lanes.get_mut(to) {
            lane.waiting.retain(|waiting| *waiting != exchange);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::origin::{OriginHost, OriginTransport, ServerOrigin};

    fn origin(number: u8) -> Rc<Destination> {
        let host = OriginHost::Address(address(number));
        let origin = ServerOrigin { transport: OriginTransport::Plain, host, port: 80 };
        Rc::new(Destination::checked(origin, None, None).unwrap())
    }

    fn address(number: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, number])
    }

    fn connection(number: usize) -> ProcessId {
        ProcessId::from_bits(number as u64)
    }

    fn take(pool: &mut Pool, origin: &Destination, addresses: &[IpAddr]) -> Option<Usable> {
        pool.take(origin, addresses.iter().copied(), Sharing::Shared)
    }

    fn open(pool: &mut Pool, origin: &Rc<Destination>) {
        assert_eq!(pool.open(origin, ExchangeId(0), Sharing::Shared), Place::Taken(Promise::None));
    }

    #[test]
    fn the_connection_used_last_is_used_next() {
        let mut pool = Pool::default();
        let (one, two) = (origin(1), origin(2));
        assert_eq!(take(&mut pool, &one, &[address(1)]), None);
        for number in 1..=3 {
            open(&mut pool, &one);
            assert_eq!(pool.put(&one, address(1), connection(number)), Kept::Yes);
        }
        open(&mut pool, &two);
        // The same address, but another origin: its certificates would be others.
        assert_eq!(pool.put(&two, address(1), connection(4)), Kept::Yes);
        pool.forget(&one, connection(3));
        pool.forget(&one, connection(3));
        pool.forget(&two, connection(1));
        assert_eq!(
            take(&mut pool, &one, &[address(9), address(1)]),
            Some(Usable::Idle(connection(2)))
        );
        assert_eq!(take(&mut pool, &one, &[address(1)]), Some(Usable::Idle(connection(1))));
        assert_eq!(take(&mut pool, &one, &[address(1)]), None);
        assert_eq!(take(&mut pool, &two, &[address(2)]), None);
        assert_eq!(take(&mut pool, &two, &[address(1)]), Some(Usable::Idle(connection(4))));
        (0..3).for_each(|_| pool.close(&one, Promise::None));
        pool.close(&two, Promise::None);
        assert_eq!((pool.idle, pool.lanes.len()), (0, 0));
    }

    #[test]
    fn no_more_are_kept_than_the_bounds_say() {
        let mut pool = Pool::default();
        let kept = |pool: &mut Pool, number: u8| {
            let origin = origin(number);
            let connections = usize::from(number) * 1000..usize::from(number) * 1000 + 1000;
            let put = |n| {
                open(pool, &origin);
                pool.put(&origin, address(number), connection(n)) == Kept::Yes
            };
            connections.map(put).filter(|kept| *kept).count()
        };
        assert_eq!(kept(&mut pool, 1), IDLE_PER_ORIGIN);
        let all: usize = (2..20).map(|number| kept(&mut pool, number)).sum();
        assert_eq!(all + IDLE_PER_ORIGIN, IDLE);
        assert!(take(&mut pool, &origin(1), &[address(1)]).is_some());
        assert_eq!(kept(&mut pool, 30), 1);
    }

    #[test]
    fn idle_connections_that_might_be_shared_count_as_well() {
        let (mut pool, to) = (Pool::default(), shared_origin());
        let share = |pool: &mut Pool, number| {
            let place = pool.open(&to, ExchangeId(0), Sharing::Shared);
            assert_eq!(place, Place::Taken(Promise::Shared));
            pool.share(&to, address(1), connection(number));
            pool.limit(&to, connection(number), 1);
        };
        for number in 0..=IDLE_PER_ORIGIN {
            share(&mut pool, number);
        }
        for number in 0..IDLE_PER_ORIGIN {
            pool.leave(&to, connection(number));
            assert_eq!(pool.keep_shared(&to, connection(number)), Kept::Yes);
        }
        let last = connection(IDLE_PER_ORIGIN);
        assert_eq!(pool.keep_shared(&to, last), Kept::Yes, "it is in use");
        pool.leave(&to, last);
        assert_eq!(pool.keep_shared(&to, last), Kept::No);
        pool.forget(&to, last);
        assert_eq!(take(&mut pool, &to, &[address(1)]), Some(Usable::Shared(connection(0))));
        assert_eq!(pool.idle, IDLE_PER_ORIGIN - 1);
        // Connections of HTTP/1.1 have the same bounds.
        let one = origin(2);
        let kept = |number| {
            open(&mut pool, &one);
            pool.put(&one, address(2), connection(10_000 + number)) == Kept::Yes
        };
        assert_eq!((0..IDLE_PER_ORIGIN).map(kept).filter(|kept| *kept).count(), IDLE_PER_ORIGIN);
        assert_eq!(pool.idle, 2 * IDLE_PER_ORIGIN - 1);
        pool.set_per_origin(IDLE_PER_ORIGIN + 1);
        assert_eq!(
            pool.open(&to, ExchangeId(1), Sharing::Alone),
            Place::InLine(Some(connection(IDLE_PER_ORIGIN - 1))),
            "an exchange that shares nothing may have its place"
        );
        (0..IDLE_PER_ORIGIN).for_each(|number| pool.forget(&to, connection(number)));
        assert_eq!(pool.idle, IDLE_PER_ORIGIN, "one is in use, and its end is no idle one less");
    }

    #[test]
    fn an_exchange_without_a_free_connection_waits_in_line() {
        let mut pool = Pool::default();
        pool.set_per_origin(2);
        let one = origin(1);
        open(&mut pool, &one);
        open(&mut pool, &one);
        assert_eq!(pool.put(&one, address(9), connection(7)), Kept::Yes);
        assert_eq!(
            pool.open(&one, ExchangeId(1), Sharing::Shared),
            Place::InLine(Some(connection(7)))
        );
        for number in 2..5 {
            assert_eq!(pool.open(&one, ExchangeId(number), Sharing::Shared), Place::InLine(None));
        }
        pool.leave_line(&one, ExchangeId(2));
        assert_eq!(pool.next_in_line(&one), None, "there is no place");
        pool.close(&one, Promise::None);
        assert_eq!(pool.next_in_line(&one), Some(ExchangeId(1)));
        assert_eq!(pool.next_in_line(&one), Some(ExchangeId(3)));
        open(&mut pool, &origin(2));
        open(&mut pool, &one);
        assert_eq!(pool.open(&one, ExchangeId(5), Sharing::Shared), Place::InLine(None));
    }

    /// An origin whose connections are shared.
    fn shared_origin() -> Rc<Destination> {
        Rc::new(Rc::unwrap_or_clone(origin(1)).with_prior_knowledge())
    }

    #[test]
    fn a_connection_that_was_not_shared_is_for_no_exchange_that_may_share() {
        let (mut pool, to) = (Pool::default(), shared_origin());
        let place = pool.open(&to, ExchangeId(1), Sharing::Alone);
        assert_eq!(place, Place::Taken(Promise::None));
        assert_eq!(pool.put(&to, address(1), connection(1)), Kept::Yes);
        assert_eq!(take(&mut pool, &to, &[address(1)]), None);
        let alone = pool.take(&to, [address(1)].into_iter(), Sharing::Alone);
        assert_eq!(alone, Some(Usable::Idle(connection(1))));
    }

    #[test]
    fn those_who_wait_for_a_connection_that_failed_wait_for_the_next_one() {
        let (mut pool, to) = (Pool::default(), shared_origin());
        let open = |pool: &mut Pool, number| pool.open(&to, ExchangeId(number), Sharing::Shared);
        assert_eq!(open(&mut pool, 1), Place::Taken(Promise::Shared));
        assert_eq!(open(&mut pool, 2), Place::InLine(None));
        // Its address is dead: the first exchange tries another one, and is not put behind the others.
        pool.break_promise(&to);
        assert_eq!(open(&mut pool, 1), Place::Taken(Promise::Shared));
        pool.close(&to, Promise::None);
        assert_eq!(pool.next_in_line(&to), None, "it waits for the second connection");
        pool.share(&to, address(1), connection(1));
        assert_eq!(pool.next_in_line(&to), Some(ExchangeId(2)));
    }

    #[test]
    fn a_connection_begins_with_the_streams_that_the_server_allowed_last() {
        let (mut pool, to) = (Pool::default(), shared_origin());
        for number in 1..=2 {
            let place = pool.open(&to, ExchangeId(number), Sharing::Shared);
            assert_eq!(place, Place::Taken(Promise::Shared));
            pool.share(&to, address(1), connection(number as usize));
            pool.allow(&to, 2);
            pool.limit(&to, connection(number as usize), 2);
            let taken = Some(Usable::Shared(connection(number as usize)));
            assert_eq!(take(&mut pool, &to, &[address(1)]), taken);
            assert_eq!(take(&mut pool, &to, &[address(1)]), None, "it has two");
        }
        let place = pool.open(&to, ExchangeId(3), Sharing::Shared);
        assert_eq!(place, Place::Taken(Promise::Shared));
        pool.share(&to, address(1), connection(3));
        assert!(take(&mut pool, &to, &[address(1)]).is_some());
        assert_eq!(take(&mut pool, &to, &[address(1)]), None, "before its settings have come");
    }
}
