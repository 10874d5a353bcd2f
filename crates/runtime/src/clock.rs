//! Time, read once per turn.
//!
//! Owns the turn's reading of the pollset's clock. Handlers take the time from here; nothing in a
//! turn asks the kernel again. Also owns the conversion of durations to the turn's unit.

use std::time::Duration;

use sys::pollset::Pollset;

use crate::limits::TICK_MS;
use crate::timer::Tick;

/// The time of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Monotonic nanoseconds.
    pub monotonic_ns: u64,
    /// Wall-clock seconds since 1970.
    pub unix_seconds: u64,
    /// Monotonic time at which the next wall-clock second begins.
    next_second_ns: u64,
    tick: Tick,
}

impl Now {
    /// The first tick that is at least this many milliseconds away.
    #[inline]
    pub fn tick_after_ms(self, milliseconds: u64) -> Tick {
        self.tick.later(milliseconds.div_ceil(TICK_MS) + 1)
    }

    /// The tick of this turn.
    #[inline]
    pub(crate) fn tick(self) -> Tick {
        self.tick
    }

    /// Wall-clock milliseconds since 1970. If the system clock is set, this follows within a second, as the seconds do.
    #[inline]
    pub fn unix_ms(self) -> u64 {
        let left_ms = self.next_second_ns.saturating_sub(self.monotonic_ns).div_ceil(1_000_000);
        (self.unix_seconds + 1) * 1000 - left_ms.min(1000)
    }

    /// Monotonic milliseconds.
    #[inline]
    pub fn monotonic_ms(self) -> u64 {
        self.monotonic_ns / 1_000_000
    }
}

/// Converts a duration to the unit of [`Now::monotonic_ns`]. A duration that does not fit becomes `u64::MAX` (never).
#[inline]
pub fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Converts a duration to the unit of deadlines. A duration that does not fit becomes the maximum (never).
pub fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The clock of one scheduler.
pub(crate) struct Clock {
    start_ns: u64,
    now: Now,
    /// When the second or the tick changes.
    changes_ns: u64,
}

impl Clock {
    pub(crate) fn new(pollset: &mut impl Pollset) -> Self {
        let start_ns = pollset.monotonic_ns();
        let tick = Tick::at_or_before_ns(0);
        let now = Now { monotonic_ns: start_ns, unix_seconds: 0, next_second_ns: 0, tick };
        let mut clock = Self { start_ns, now, changes_ns: 0 };
        clock.read(pollset);
        clock
    }

    /// Reads the clock. The wall clock is read once a second, so a change of the system clock shows within a second.
    #[inline]
    pub(crate) fn read(&mut self, pollset: &mut impl Pollset) {
        self.now.monotonic_ns = pollset.monotonic_ns();
        if self.now.monotonic_ns >= self.changes_ns {
            self.change(pollset);
        }
    }

    #[cold]
    fn change(&mut self, pollset: &mut impl Pollset) {
        let now = &mut self.now;
        if now.monotonic_ns >= now.next_second_ns {
            let unix_ns = pollset.unix_ns();
            now.unix_seconds = unix_ns / 1_000_000_000;
            now.next_second_ns = now.monotonic_ns + (1_000_000_000 - unix_ns % 1_000_000_000);
        }
        now.tick = Tick::at_or_before_ns(now.monotonic_ns - self.start_ns);
        let next_tick_ns = self.start_ns.saturating_add(now.tick.later(1).to_ns());
        self.changes_ns = now.next_second_ns.min(next_tick_ns);
    }

    #[inline]
    pub(crate) fn now(&self) -> Now {
        self.now
    }

    /// Monotonic time of a tick.
    pub(crate) fn ns_of(&self, tick: Tick) -> u64 {
        self.start_ns.saturating_add(tick.to_ns())
    }
}
