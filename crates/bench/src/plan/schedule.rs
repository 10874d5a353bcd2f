//! When each request of one thread is due.
//!
//! Owns the arithmetic of rates: a request is due when the integral of the rate reaches its number. A due time is
//! computed from that number, never from the one before, so it does not drift. Never reads a clock.

use super::pace::{Arrivals, Rate};
use super::random::{Purpose, stream};
use super::share::Share;

/// The due times of one thread's requests, in nanoseconds from the start (of the warm-up, where there is one):
/// endless, and never descending.
///
/// All threads together keep the rate. With constant arrivals the requests of all threads are at equal distances, and
/// each thread has every n-th; with Poisson arrivals each thread's are independent of the others', as they have to be
/// for all together to be a Poisson process again.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Requests per second.
    from: f64,
    to: f64,
    /// Seconds at `from` before the ramp, and seconds of the ramp.
    lead_s: f64,
    ramp_s: f64,
    threads: f64,
    arrivals: Progress,
}

#[derive(Clone, Debug)]
enum Progress {
    /// The number of the next request among all threads'.
    Constant { next: u64, step: u64 },
    /// How many requests were expected of this thread when the latest was due.
    Poisson { reached: f64, random: fastrand::Rng },
}

const NS_PER_S: f64 = 1e9;

/// For how long a schedule keeps to its first rate and then changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phases {
    /// Warm-up, at the first rate.
    pub warmup: std::time::Duration,
    /// From the first rate to the last one, which then stays.
    pub ramp: std::time::Duration,
}

impl Schedule {
    /// The due times of the thread that has `share`.
    pub fn new(rate: &Rate, phases: Phases, share: &Share, seed: u64) -> Self {
        let arrivals = match rate.arrivals {
            Arrivals::Constant => {
                Progress::Constant { next: share.thread.into(), step: share.threads.into() }
            }
            Arrivals::Poisson => Progress::Poisson {
                reached: 0.0,
                random: stream(seed, share.thread, Purpose::Arrivals),
            },
        };
        Self {
            from: rate.from,
            to: rate.to,
            lead_s: phases.warmup.as_secs_f64(),
            ramp_s: phases.ramp.as_secs_f64(),
            threads: share.threads.into(),
            arrivals,
        }
    }

    /// When the next request is due.
    #[inline]
    pub fn next_due_ns(&mut self) -> u64 {
        let number = match &mut self.arrivals {
            Progress::Constant { next, step } => {
                let number = *next;
                *next = next.wrapping_add(*step);
                number as f64
            }
            Progress::Poisson { reached, random } => {
                // The distance of events that come once in a unit on average. `1 - u` is never 0.
                *reached -= (1.0 - random.f64()).ln();
                *reached * self.threads
            }
        };
        (self.due_s(number) * NS_PER_S + 0.5) as u64
    }

    /// When so many requests of all threads were due.
    fn due_s(&self, number: f64) -> f64 {
        let lead = self.from * self.lead_s;
        if self.from == self.to || number <= lead {
            return number / self.from;
        }
        let number = number - lead;
        let ramp = f64::midpoint(self.from, self.to) * self.ramp_s;
        if number > ramp {
            return self.lead_s + self.ramp_s + (number - ramp) / self.to;
        }
        // The root of from t + (to - from) t^2 / (2 ramp) = number, in the form that subtracts nothing from its like.
        // Rounding may lead below zero where a ramp ends near it.
        let square = self.from * self.from + 2.0 * (self.to - self.from) * number / self.ramp_s;
        self.lead_s + 2.0 * number / (self.from + square.max(0.0).sqrt())
    }
}

impl Iterator for Schedule {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        Some(self.next_due_ns())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    const NO_RAMP: Phases = Phases { warmup: Duration::ZERO, ramp: Duration::ZERO };

    fn share(thread: u32, threads: u32) -> Share {
        Share::of_rate(thread, threads)
    }

    /// Due times of all threads below a time, ascending.
    fn due_below(rate: Rate, phases: Phases, threads: u32, end_ns: u64) -> Vec<u64> {
        let mut all: Vec<u64> = (0..threads)
            .flat_map(|thread| {
                Schedule::new(&rate, phases, &share(thread, threads), 5)
                    .take_while(move |due| *due < end_ns)
            })
            .collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn constant_arrivals_are_at_equal_distances() {
        let rate = Rate::steady(1000.0, Arrivals::Constant);
        let due = due_below(rate, NO_RAMP, 3, 2_000_000_000);
        let expected: Vec<u64> = (0..2000).map(|number| number * 1_000_000).collect();
        assert_eq!(due, expected);
    }

    #[test]
    fn the_rate_is_exact_after_days() {
        // A third of a nanosecond is no whole number: whoever adds distances drifts.
        let rate = Rate::steady(30_000.0, Arrivals::Constant);
        let mut schedule = Schedule::new(&rate, NO_RAMP, &share(0, 1), 5);
        let Progress::Constant { next, .. } = &mut schedule.arrivals else { unreachable!() };
        *next = 30_000 * 86_400 * 7;
        assert_eq!(schedule.next_due_ns(), 86_400 * 7 * 1_000_000_000);
        let after = schedule.next_due_ns() - 86_400 * 7 * 1_000_000_000;
        assert!((33_332..=33_334).contains(&after), "{after}");
    }

    #[test]
    fn poisson_arrivals_have_the_rate_and_the_distances() {
        let rate = Rate::steady(10_000.0, Arrivals::Poisson);
        let due = due_below(rate, NO_RAMP, 4, 100_000_000_000);
        // Five standard deviations of a million.
        assert!(due.len().abs_diff(1_000_000) < 5000, "{}", due.len());
        let distances: Vec<f64> =
            due.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e5).collect();
        // Exponential with mean 1: chi-square over 20 cells of equal probability.
        let mut cells = [0_u32; 20];
        for distance in &distances {
            cells[((1.0 - (-distance).exp()) * 20.0) as usize] += 1;
        }
        let expected = distances.len() as f64 / 20.0;
        let sum: f64 =
            cells.iter().map(|seen| (f64::from(*seen) - expected).powi(2) / expected).sum();
        // 19 degrees of freedom: 49 is passed once in 5,000.
        assert!(sum < 49.0, "{sum}: {cells:?}");
    }

    #[test]
    fn poisson_threads_do_not_repeat_each_other() {
        let rate = Rate::steady(1000.0, Arrivals::Poisson);
        let mut due = due_below(rate, NO_RAMP, 4, 1_000_000_000);
        let count = due.len();
        due.dedup();
        assert_eq!(due.len(), count);
    }

    #[test]
    fn a_ramp_follows_its_line_and_stays_at_its_end() {
        let rate = Rate { from: 1000.0, to: 3000.0, arrivals: Arrivals::Constant };
        let phases = Phases { warmup: Duration::from_secs(2), ramp: Duration::from_secs(10) };
        let due = due_below(rate, phases, 2, 14_000_000_000);
        let in_second = |second: u64| {
            let of = |due: &&u64| (second..second + 1).contains(&(**due / 1_000_000_000));
            due.iter().filter(of).count()
        };
        let counts: Vec<usize> = (0..14).map(in_second).collect();
        let line = (0..10).map(|second| 1100 + 200 * second);
        let expected: Vec<usize> =
            [1000, 1000].into_iter().chain(line).chain([3000, 3000]).collect();
        for (count, expected) in counts.iter().zip(&expected) {
            assert!(count.abs_diff(*expected) <= 1, "{counts:?}");
        }
    }

    proptest! {
        #[test]
        fn due_times_never_descend_and_keep_the_integral(
            from in 1.0_f64..100_000.0,
            to in 1.0_f64..100_000.0,
            warmup_ms in 0_u64..3000,
            ramp_ms in 1_u64..5000,
            threads in 1_u32..5,
            poisson: bool,
        ) {
            let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Constant };
            let rate = Rate { from, to, arrivals };
            let phases = Phases {
                warmup: Duration::from_millis(warmup_ms),
                ramp: Duration::from_millis(ramp_ms),
            };
            for thread in 0..threads {
                let due: Vec<u64> =
                    Schedule::new(&rate, phases, &share(thread, threads), 5).take(2000).collect();
                prop_assert!(due.is_sorted());
            }
            let end_ms = warmup_ms + ramp_ms;
            let expected = (from * warmup_ms as f64 + (from + to) / 2.0 * ramp_ms as f64) / 1000.0;
            prop_assume!(expected < 300_000.0);
            let count = due_below(rate, phases, threads, end_ms * 1_000_000).len() as f64;
            let slack = if poisson { 6.0 * expected.sqrt() + 5.0 } else { 1.5 };
            prop_assert!((count - expected).abs() <= slack, "{count} of {expected}");
        }
    }
}
