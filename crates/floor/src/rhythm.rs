//! When the floor serves: always, at every tick, or all but a tenth of every second.
//!
//! Owns its waiting. Never touches a connection.

use rustix::io::Errno;
use rustix::thread::{ClockId, clock_nanosleep_absolute};
use rustix::time::{Timespec, clock_gettime};

const SECOND_NS: u64 = 1_000_000_000;

/// From one tick to the next.
pub(crate) const TICK_NS: u64 = 1_000_000;

/// How long it serves before it stalls, and how long it stalls.
const WORK_NS: u64 = 900_000_000;
const STALL_NS: u64 = 100_000_000;

/// The rhythm of serving.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rhythm {
    /// Every request is answered at once.
    Always,
    /// Requests that have arrived by a tick are answered at it. With the same number of connections the rate is the
    /// same for every client that is not the bottleneck itself.
    Ticking { next_ns: u64 },
    /// For a tenth of every second nothing is answered.
    Stalling { next_ns: u64 },
}

impl Rhythm {
    /// Waits until the next turn may begin; returns how long that turn may wait for events, if not for ever.
    pub(crate) fn wait(&mut self) -> Result<Option<Timespec>, Errno> {
        match self {
            Rhythm::Always => Ok(None),
            Rhythm::Ticking { next_ns } => {
                *next_ns = next_tick(*next_ns, now_ns());
                sleep_until(*next_ns)?;
                Ok(Some(timespec(0)))
            }
            Rhythm::Stalling { next_ns } => {
                let mut now = now_ns();
                if *next_ns == 0 {
                    *next_ns = now + WORK_NS;
                }
                if now >= *next_ns {
                    sleep_until(now + STALL_NS)?;
                    now = now_ns();
                    *next_ns = now + WORK_NS;
                }
                Ok(Some(timespec(*next_ns - now)))
            }
        }
    }
}

/// The first tick after the last one that is in the future. Missed ticks are not made up for: no client could
/// have sent a request in between.
fn next_tick(last_ns: u64, now_ns: u64) -> u64 {
    last_ns.max(now_ns - now_ns % TICK_NS) + TICK_NS
}

fn now_ns() -> u64 {
    let now = clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * SECOND_NS + now.tv_nsec.cast_unsigned()
}

fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / SECOND_NS).cast_signed(), tv_nsec: (ns % SECOND_NS).cast_signed() }
}

fn sleep_until(ns: u64) -> Result<(), Errno> {
    loop {
        match clock_nanosleep_absolute(ClockId::Monotonic, &timespec(ns)) {
            Err(Errno::INTR) => {}
            outcome => return outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_follow_each_other_and_missed_ones_are_left_out() {
        let tick = |number: u64| number * TICK_NS;
        assert_eq!(next_tick(0, tick(7) + 1), tick(8));
        assert_eq!(next_tick(tick(8), tick(8) + 300), tick(9));
        // The clock may stand where the sleep ended, or the turn took several ticks.
        assert_eq!(next_tick(tick(8), tick(8)), tick(9));
        assert_eq!(next_tick(tick(8), tick(11) + 1), tick(12));
    }

    #[test]
    fn a_tick_is_over_when_its_turn_begins() {
        let mut rhythm = Rhythm::Ticking { next_ns: 0 };
        for _ in 0..3 {
            assert_eq!(rhythm.wait(), Ok(Some(timespec(0))));
            let Rhythm::Ticking { next_ns } = rhythm else { panic!("{rhythm:?}") };
            assert!(next_ns.is_multiple_of(TICK_NS) && now_ns() >= next_ns);
        }
    }

    #[test]
    fn it_stands_still_when_its_work_is_over_and_not_before() {
        let mut rhythm = Rhythm::Stalling { next_ns: 0 };
        let first = rhythm.wait().expect("no error").expect("a limit");
        assert_eq!(first, timespec(WORK_NS));
        let begun = now_ns();
        rhythm = Rhythm::Stalling { next_ns: begun };
        rhythm.wait().expect("no error");
        assert!(now_ns() - begun >= STALL_NS);
        let Rhythm::Stalling { next_ns } = rhythm else { panic!("{rhythm:?}") };
        assert!(next_ns >= begun + STALL_NS + WORK_NS);
    }
}
