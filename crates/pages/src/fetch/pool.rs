//! Idle connections, to be reused.
//!
//! Owns which there are and how many are allowed. They close themselves after too long an idle
//! time; the pool never closes one.

use std::net::SocketAddr;

use ahash::HashMap;
use runtime::slots::ProcessId;

use crate::limits::{FETCH_IDLE, FETCH_IDLE_PER_HOST};

/// Idle connections, by address.
#[derive(Debug, Default)]
pub(super) struct Pool {
    by_address: HashMap<SocketAddr, Vec<ProcessId>>,
    count: usize,
}

/// Whether a connection is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    Yes,
    /// There are enough.
    No,
}

impl Pool {
    /// Keeps a connection if there is room.
    pub(super) fn put(&mut self, address: SocketAddr, connection: ProcessId) -> Kept {
        if self.count >= FETCH_IDLE {
            return Kept::No;
        }
        let idle = self.by_address.entry(address).or_default();
        if idle.len() >= FETCH_IDLE_PER_HOST {
            return Kept::No;
        }
        idle.push(connection);
        self.count += 1;
        Kept::Yes
    }

    /// The most recently used connection to an address, so that the others become idle for long enough to close.
    pub(super) fn take(&mut self, address: SocketAddr) -> Option<ProcessId> {
        let idle = self.by_address.get_mut(&address)?;
        let connection = idle.pop()?;
        self.count -= 1;
        if idle.is_empty() {
            self.by_address.remove(&address);
        }
        Some(connection)
    }

    /// A connection ends, whether it is in the pool or not.
    pub(super) fn remove(&mut self, address: SocketAddr, connection: ProcessId) {
        let Some(idle) = self.by_address.get_mut(&address) else { return };
        let before = idle.len();
        idle.retain(|known| *known != connection);
        self.count -= before - idle.len();
        if idle.is_empty() {
            self.by_address.remove(&address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(host: u8) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, host], 80))
    }

    fn connection(number: usize) -> ProcessId {
        ProcessId::from_bits(number as u64)
    }

    #[test]
    fn the_connection_used_last_is_used_next() {
        let mut pool = Pool::default();
        assert_eq!(pool.take(address(1)), None);
        for number in 1..=3 {
            assert_eq!(pool.put(address(1), connection(number)), Kept::Yes);
        }
        assert_eq!(pool.put(address(2), connection(4)), Kept::Yes);
        pool.remove(address(1), connection(3));
        pool.remove(address(1), connection(3));
        pool.remove(address(3), connection(1));
        assert_eq!(pool.take(address(1)), Some(connection(2)));
        assert_eq!(pool.take(address(1)), Some(connection(1)));
        assert_eq!(pool.take(address(1)), None);
        assert_eq!(pool.take(address(2)), Some(connection(4)));
        assert_eq!((pool.count, pool.by_address.len()), (0, 0));
    }

    #[test]
    fn no_more_are_kept_than_the_bounds_say() {
        let mut pool = Pool::default();
        let kept = |pool: &mut Pool, host, from: usize| {
            (from..from + 100)
                .filter(|n| pool.put(address(host), connection(*n)) == Kept::Yes)
                .count()
        };
        assert_eq!(kept(&mut pool, 1, 0), FETCH_IDLE_PER_HOST);
        let all: usize = (2..20).map(|host| kept(&mut pool, host, 100 * usize::from(host))).sum();
        assert_eq!(all + FETCH_IDLE_PER_HOST, FETCH_IDLE);
        assert!(pool.take(address(1)).is_some());
        assert_eq!(kept(&mut pool, 30, 5_000), 1);
    }
}
