//! When each request of one thread is due.
//!
//! Owns the arithmetic of rates: a request is due when the integral of the rate reaches its number. A due time is
//! computed from that number, never from the previous one, so it does not drift. Never reads a clock.

use std::time::Duration;

use super::pace::{Arrivals, Ramp, RateStage, RequestRate};
use super::random::{Purpose, stream};
use super::share::ThreadShare;

/// The due times of one thread's requests, in nanoseconds from the start (of the warm-up, where there is one):
/// endless, and never descending.
///
/// All threads together keep the rate. With constant arrivals the requests of all threads are equally spaced, and
/// each thread has every n-th; with Poisson arrivals each thread's are independent of the others', which makes
/// all together a Poisson process again.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// In order: the warm-up, the stages, and the time after them.
    pieces: Vec<Piece>,
    /// The piece in which the latest request was due.
    at: usize,
    threads: f64,
    arrivals: Progress,
}

/// A period in which the rate changes linearly.
#[derive(Clone, Copy, Debug)]
struct Piece {
    ramp: Ramp,
    /// Its begin, and its length: infinite for the last one.
    begin_s: f64,
    length_s: f64,
    /// Requests of all threads that are due before it, and until its end.
    before: f64,
    until: f64,
}

#[derive(Clone, Debug)]
enum Progress {
    /// The number of the next request among all threads'.
    Constant { next: u64, step: u64 },
    /// How many requests of this thread were expected when the latest was due.
    Poisson { reached: f64, random: fastrand::Rng },
}

const NS_PER_S: f64 = 1e9;

impl Schedule {
    /// The due times of the thread with `share`.
    pub fn new(rate: &RequestRate, warmup: Duration, share: &ThreadShare, seed: u64) -> Self {
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
            pieces: pieces(&rate.stages, warmup),
            at: 0,
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
                // The distance of events that come once per unit on average. `1 - u` is never 0.
                *reached -= (1.0 - random.f64()).ln();
                *reached * self.threads
            }
        };
        while number >= self.pieces[self.at].until && self.at + 1 < self.pieces.len() {
            self.at += 1;
        }
        // A request that the rate never reaches is due at infinity; the cast makes that the last nanosecond of `u64`.
        (self.pieces[self.at].due_s(number) * NS_PER_S + 0.5) as u64
    }
}

/// The warm-up at the first rate, the stages, and the last rate forever.
fn pieces(stages: &[RateStage], warmup: Duration) -> Vec<Piece> {
    let level = |rate| Ramp { from: rate, to: rate };
    let first = stages.first().map(|stage| (level(stage.ramp.from), warmup.as_secs_f64()));
    let last = stages.last().map(|stage| (level(stage.ramp.to), f64::INFINITY));
    let stages = stages.iter().map(|stage| (stage.ramp, stage.lasts.as_secs_f64()));
    let (mut begin_s, mut before) = (0.0, 0.0);
    let piece = |(ramp, length_s): (Ramp, f64)| {
        let mean = f64::midpoint(ramp.from, ramp.to);
        // A rate of zero forever gives zero, where the arithmetic would give NaN.
        let until = if mean == 0.0 { before } else { before + mean * length_s };
        let piece = Piece { ramp, begin_s, length_s, before, until };
        (begin_s, before) = (begin_s + length_s, until);
        piece
    };
    first.into_iter().chain(stages).chain(last).map(piece).collect()
}

impl Piece {
    /// When this many requests of all threads were due, the last one in this piece.
    fn due_s(&self, number: f64) -> f64 {
        let Ramp { from, to } = self.ramp;
        let number = number - self.before;
        if from == to {
            return if from == 0.0 { f64::INFINITY } else { self.begin_s + number / from };
        }
        if number <= 0.0 {
            return self.begin_s;
        }
        // The root of from t + (to - from) t^2 / (2 length) = number, in a form without cancellation.
        // Rounding may give a value below zero if a ramp ends near it.
        let square = from * from + 2.0 * (to - from) * number / self.length_s;
        self.begin_s + 2.0 * number / (from + square.max(0.0).sqrt())
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

    const LONG: Duration = Duration::from_secs(1_000_000);

    fn stage(from: f64, to: f64, lasts_ms: u64) -> RateStage {
        RateStage { ramp: Ramp { from, to }, lasts: Duration::from_millis(lasts_ms) }
    }

    fn constant(stages: Vec<RateStage>) -> RequestRate {
        RequestRate { stages, arrivals: Arrivals::Constant }
    }

    fn share(thread: u32, threads: u32) -> ThreadShare {
        ThreadShare::of_rate(thread, threads)
    }

    /// Due times of all threads before a time, ascending.
    fn due_below(rate: &RequestRate, warmup: Duration, threads: u32, end_ns: u64) -> Vec<u64> {
        let mut all: Vec<u64> = (0..threads)
            .flat_map(|thread| {
                Schedule::new(rate, warmup, &share(thread, threads), 5)
                    .take_while(move |due| *due < end_ns)
            })
            .collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn constant_arrivals_are_at_equal_distances() {
        let rate = RequestRate::steady(1000.0, LONG, Arrivals::Constant);
        let due = due_below(&rate, Duration::ZERO, 3, 2_000_000_000);
        let expected: Vec<u64> = (0..2000).map(|number| number * 1_000_000).collect();
        assert_eq!(due, expected);
    }

    #[test]
    fn the_rate_is_exact_after_days() {
        // A third of a nanosecond is not an integer: adding distances would drift.
        let rate = RequestRate::steady(30_000.0, LONG, Arrivals::Constant);
        let mut schedule = Schedule::new(&rate, Duration::ZERO, &share(0, 1), 5);
        let Progress::Constant { next, .. } = &mut schedule.arrivals else { unreachable!() };
        *next = 30_000 * 86_400 * 7;
        assert_eq!(schedule.next_due_ns(), 86_400 * 7 * 1_000_000_000);
        let after = schedule.next_due_ns() - 86_400 * 7 * 1_000_000_000;
        assert!((33_332..=33_334).contains(&after), "{after}");
    }

    #[test]
    fn poisson_arrivals_have_the_rate_and_the_distances() {
        let rate = RequestRate::steady(10_000.0, LONG, Arrivals::Poisson);
        let due = due_below(&rate, Duration::ZERO, 4, 100_000_000_000);
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
        let rate = RequestRate::steady(1000.0, LONG, Arrivals::Poisson);
        let mut due = due_below(&rate, Duration::ZERO, 4, 1_000_000_000);
        let count = due.len();
        due.dedup();
        assert_eq!(due.len(), count);
    }

    /// How many requests are due in each second.
    fn by_second(rate: &RequestRate, warmup_s: u64, threads: u32, seconds: u64) -> Vec<usize> {
        let due = due_below(rate, Duration::from_secs(warmup_s), threads, seconds * 1_000_000_000);
        let in_second = |second| due.iter().filter(|due| **due / 1_000_000_000 == second).count();
        (0..seconds).map(in_second).collect()
    }

    #[track_caller]
    fn assert_near(counts: &[usize], expected: &[usize]) {
        assert_eq!(counts.len(), expected.len());
        for (count, expected) in counts.iter().zip(expected) {
            assert!(count.abs_diff(*expected) <= 1, "{counts:?}");
        }
    }

    #[test]
    fn a_ramp_follows_its_line_and_stays_at_its_end() {
        let counts = by_second(&constant(vec![stage(1000.0, 3000.0, 10_000)]), 2, 2, 14);
        let line = (0..10).map(|second| 1100 + 200 * second);
        let expected: Vec<usize> =
            [1000, 1000].into_iter().chain(line).chain([3000, 3000]).collect();
        assert_near(&counts, &expected);
    }

    #[test]
    fn stages_follow_each_other_with_a_pause_and_an_end() {
        let stages = vec![
            stage(0.0, 400.0, 2000),
            stage(500.0, 500.0, 1000),
            stage(0.0, 0.0, 2000),
            stage(300.0, 0.0, 3000),
        ];
        let counts = by_second(&constant(stages), 1, 3, 11);
        assert_near(&counts, &[0, 100, 300, 500, 0, 0, 250, 150, 50, 0, 0]);
    }

    #[test]
    fn after_a_stage_that_ends_at_nothing_nothing_is_due() {
        let rate = constant(vec![stage(10.0, 0.0, 1000)]);
        let due: Vec<u64> = Schedule::new(&rate, Duration::ZERO, &share(0, 1), 5).take(8).collect();
        assert!(due[..5].iter().all(|due| *due < 1_000_000_000), "{due:?}");
        assert_eq!(due[5..], [u64::MAX; 3]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn due_times_never_descend_and_keep_the_integral(
            stages in prop::collection::vec((0.0_f64..20_000.0, 0.0_f64..20_000.0, 1_u64..4000), 1..5),
            warmup_ms in 0_u64..3000,
            threads in 1_u32..5,
            poisson: bool,
        ) {
            let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Constant };
            let stages: Vec<RateStage> =
                stages.into_iter().map(|(from, to, lasts)| stage(from, to, lasts)).collect();
            let requests = |stage: &RateStage| {
                f64::midpoint(stage.ramp.from, stage.ramp.to) * stage.lasts.as_secs_f64()
            };
            let expected = stages[0].ramp.from * warmup_ms as f64 / 1000.0
                + stages.iter().map(requests).sum::<f64>();
            let end_ms = warmup_ms + stages.iter().map(|stage| stage.lasts.as_millis() as u64).sum::<u64>();
            let (rate, warmup) = (RequestRate { stages, arrivals }, Duration::from_millis(warmup_ms));
            for thread in 0..threads {
                let due: Vec<u64> =
                    Schedule::new(&rate, warmup, &share(thread, threads), 5).take(500).collect();
                prop_assert!(due.is_sorted());
            }
            prop_assume!(expected < 60_000.0);
            let count = due_below(&rate, warmup, threads, end_ms * 1_000_000).len() as f64;
            let slack = if poisson { 6.0 * expected.sqrt() + 5.0 } else { 1.5 };
            prop_assert!((count - expected).abs() <= slack, "{count} of {expected}");
        }
    }
}
