//! The connections of each origin: how many there are, which are idle, and which exchanges wait for one.
//!
//! Owns these counts and their limits. Idle connections close themselves after too long a time; the pool never closes
//! one.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::rc::Rc;

use ahash::HashMap;
use runtime::slots::ProcessId;

use crate::id::ExchangeId;
use crate::limits::{CONNECTIONS_PER_ORIGIN, IDLE, IDLE_PER_ORIGIN};
use crate::origin::Destination;

/// The connections of a scheduler.
#[derive(Debug)]
pub(crate) struct Pool {
    lanes: HashMap<Rc<Destination>, Lane>,
    idle: usize,
    per_origin: usize,
}

/// The connections to one origin.
#[derive(Debug, Default)]
struct Lane {
    /// Connections, from the request to begin one until its end.
    open: usize,
    idle: Vec<Idle>,
    waiting: VecDeque<ExchangeId>,
}

/// An idle connection and the address it leads to. The name of an origin may lead elsewhere by the next request.
#[derive(Clone, Copy, Debug)]
struct Idle {
    address: IpAddr,
    connection: ProcessId,
}

/// Whether a connection is kept.
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
    Taken,
    /// The exchange waits in line. If there is an idle connection to another address, it should be closed.
    InLine(Option<ProcessId>),
}

impl Default for Pool {
    fn default() -> Self {
        Self { lanes: HashMap::default(), idle: 0, per_origin: CONNECTIONS_PER_ORIGIN }
    }
}

impl Pool {
    /// Sets the number of connections to one origin. More that are open stay.
    pub(crate) fn set_per_origin(&mut self, most: usize) {
        self.per_origin = most.max(1);
    }

    /// Keeps an idle connection if there is room.
    pub(crate) fn put(
        &mut self,
        to: &Rc<Destination>,
        address: IpAddr,
        connection: ProcessId,
    ) -> Kept {
        let Some(lane) = self.lanes.get_mut(to) else { return Kept::No };
        if self.idle >= IDLE || lane.idle.len() >= IDLE_PER_ORIGIN {
            return Kept::No;
        }
        lane.idle.push(Idle { address, connection });
        self.idle += 1;
        Kept::Yes
    }

    /// The idle connection that was used last to the first of these addresses that has one, so that the others become
    /// idle for long enough to close.
    pub(crate) fn take(
        &mut self,
        to: &Destination,
        mut addresses: impl Iterator<Item = IpAddr>,
    ) -> Option<ProcessId> {
        let lane = self.lanes.get_mut(to)?;
        let place = addresses
            .find_map(|address| lane.idle.iter().rposition(|idle| idle.address == address))?;
        self.idle -= 1;
        Some(lane.idle.remove(place).connection)
    }

    /// A connection is not to be used again, whether it is idle or not.
    pub(crate) fn forget(&mut self, to: &Destination, connection: ProcessId) {
        let Some(lane) = self.lanes.get_mut(to) else { return };
        let before = lane.idle.len();
        lane.idle.retain(|idle| idle.connection != connection);
        self.idle -= before - lane.idle.len();
    }

    /// Counts one more connection to an origin, or puts the exchange in line.
    pub(crate) fn open(&mut self, to: &Rc<Destination>, exchange: ExchangeId) -> Place {
        let lane = self.lanes.entry(Rc::clone(to)).or_default();
        if lane.open < self.per_origin {
            lane.open += 1;
            return Place::Taken;
        }
        lane.waiting.push_back(exchange);
        let elsewhere = lane.idle.pop().map(|idle| idle.connection);
        self.idle -= usize::from(elsewhere.is_some());
        Place::InLine(elsewhere)
    }

    /// A connection has ended, or was not begun.
    pub(crate) fn close(&mut self, to: &Destination) {
        let Some(lane) = self.lanes.get_mut(to) else { return };
        lane.open -= 1;
        if lane.open == 0 && lane.waiting.is_empty() {
            self.lanes.remove(to);
        }
    }

    /// The exchange that has waited longest.
    pub(crate) fn next_in_line(&mut self, to: &Destination) -> Option<ExchangeId> {
        self.lanes.get_mut(to)?.waiting.pop_front()
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

    fn open(pool: &mut Pool, origin: &Rc<Destination>) {
        assert_eq!(pool.open(origin, ExchangeId(0)), Place::Taken);
    }

    #[test]
    fn the_connection_used_last_is_used_next() {
        let mut pool = Pool::default();
        let (one, two) = (origin(1), origin(2));
        assert_eq!(pool.take(&one, [address(1)].into_iter()), None);
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
        assert_eq!(pool.take(&one, [address(9), address(1)].into_iter()), Some(connection(2)));
        assert_eq!(pool.take(&one, [address(1)].into_iter()), Some(connection(1)));
        assert_eq!(pool.take(&one, [address(1)].into_iter()), None);
        assert_eq!(pool.take(&two, [address(2)].into_iter()), None);
        assert_eq!(pool.take(&two, [address(1)].into_iter()), Some(connection(4)));
        (0..3).for_each(|_| pool.close(&one));
        pool.close(&two);
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
        assert!(pool.take(&origin(1), [address(1)].into_iter()).is_some());
        assert_eq!(kept(&mut pool, 30), 1);
    }

    #[test]
    fn an_exchange_without_a_free_connection_waits_in_line() {
        let mut pool = Pool::default();
        pool.set_per_origin(2);
        let one = origin(1);
        open(&mut pool, &one);
        open(&mut pool, &one);
        assert_eq!(pool.put(&one, address(9), connection(7)), Kept::Yes);
        assert_eq!(pool.open(&one, ExchangeId(1)), Place::InLine(Some(connection(7))));
        for number in 2..5 {
            assert_eq!(pool.open(&one, ExchangeId(number)), Place::InLine(None));
        }
        pool.leave_line(&one, ExchangeId(2));
        assert_eq!(pool.next_in_line(&one), Some(ExchangeId(1)));
        assert_eq!(pool.next_in_line(&one), Some(ExchangeId(3)));
        open(&mut pool, &origin(2));
        pool.close(&one);
        open(&mut pool, &one);
        assert_eq!(pool.open(&one, ExchangeId(5)), Place::InLine(None));
    }
}
