//! When the servers of an upstream are asked whether they are well.
//!
//! Owns the times. Never asks.

use proxy::ServerIndex;

/// When each server of an upstream is asked next.
#[derive(Debug)]
pub(in crate::site) struct Schedule(Vec<u64>);

impl Schedule {
    /// Every server is asked at once, and then each at its own times.
    pub(in crate::site) fn new(servers: usize) -> Self {
        Self(vec![0; servers])
    }

    /// When the first one is to be asked.
    pub(in crate::site) fn next_ns(&self) -> Option<u64> {
        self.0.iter().min().copied()
    }

    /// A server that is to be asked now, and is planned for its next time.
    pub(in crate::site) fn take_due(
        &mut self,
        interval_ns: u64,
        now_ns: u64,
    ) -> Option<ServerIndex> {
        let place = self.0.iter().position(|due_ns| *due_ns <= now_ns)?;
        // Spread by up to a tenth in both directions, differently at each time and for each server.
        let spread = proxy::hash(&(now_ns ^ place as u64).to_le_bytes()) % 1024;
        let tenth_ns = interval_ns / 10;
        let later_ns = tenth_ns.saturating_mul(spread) / 512;
        let due = self.0.get_mut(place)?;
        *due = now_ns.saturating_add(interval_ns - tenth_ns).saturating_add(later_ns);
        u8::try_from(place).ok().map(ServerIndex)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_server_is_asked_at_once_and_then_at_its_own_times() {
        const INTERVAL: u64 = 1_000_000;
        let mut schedule = Schedule::new(2);
        let mut due = || schedule.take_due(INTERVAL, 7);
        assert_eq!([due(), due(), due()], [Some(ServerIndex(0)), Some(ServerIndex(1)), None]);
        for _ in 0..100 {
            let now_ns = schedule.next_ns().unwrap_or_default();
            assert_eq!(schedule.take_due(INTERVAL, now_ns - 1), None);
            assert!(schedule.take_due(INTERVAL, now_ns).is_some());
            let Schedule(times) = &schedule;
            let latest = now_ns + INTERVAL + INTERVAL / 10;
            assert!(times.iter().all(|time| (now_ns..=latest).contains(time)), "{times:?}");
        }
    }
}
