//! Goal: a key gets what its limit says, whatever other keys do, in memory that never grows; and several schedulers
//! exceed it by no more than is stated. Method: random uses against a simple model, and a million keys.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test is to be seen")]

mod crowds;

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use quota::{KeyTable, Meter, QuotaDecision, QuotaPace};

const SECOND_NS: u64 = 1_000_000_000;

fn pace(units: u64, burst: u64) -> QuotaPace {
    QuotaPace { units, window: Duration::from_secs(1), burst }
}

/// A bucket that is full at first: units are taken from it, and it is refilled exactly, in units times nanoseconds.
#[derive(Clone)]
struct Bucket {
    level: u128,
    at_ns: u64,
}

impl Bucket {
    fn take(&mut self, pace: &QuotaPace, units: u64, now_ns: u64) -> bool {
        let window = pace.window.as_nanos();
        let full = u128::from(pace.burst) * window;
        self.level =
            full.min(self.level + u128::from(now_ns - self.at_ns) * u128::from(pace.units));
        self.at_ns = now_ns;
        let wanted = u128::from(units) * window;
        let is_allowed = self.level >= wanted;
        if is_allowed {
            self.level -= wanted;
        }
        is_allowed
    }
}

proptest! {
    /// The times divide without a rest, so both count exactly.
    #[test]
    fn a_key_gets_what_a_bucket_gives(
        units in prop::sample::select(vec![1_u64, 2, 5, 10, 100, 1000]),
        burst in 1_u64..20,
        uses in prop::collection::vec((0_u64..3, 1_u64..4, 0_u64..2_000_000_000), 1..200),
    ) {
        let pace = pace(units, burst);
        let mut meter = Meter::new(64, 1);
        let mut buckets: BTreeMap<u64, Bucket> = BTreeMap::new();
        let mut now_ns = SECOND_NS;
        for (key, wanted, later_ns) in uses {
            now_ns += later_ns;
            let full = u128::from(burst) * pace.window.as_nanos();
            let bucket = buckets.entry(key).or_insert(Bucket { level: full, at_ns: now_ns });
            let expected = bucket.take(&pace, wanted, now_ns);
            let outcome = meter.take(key + 1, (&pace, wanted), now_ns, Duration::ZERO);
            prop_assert_eq!(outcome == QuotaDecision::Allowed, expected, "{:?} at {}", outcome, now_ns);
            if let QuotaDecision::Refused(wait) = outcome {
                // That is when it would be allowed, and not a nanosecond earlier.
                let wait_ns = u64::try_from(wait.as_nanos()).unwrap();
                if wanted <= burst {
                    let mut early = bucket.clone();
                    prop_assert!(!early.take(&pace, wanted, now_ns + wait_ns - 1));
                    prop_assert!(bucket.clone().take(&pace, wanted, now_ns + wait_ns));
                }
            }
        }
    }

    /// However uses are spread over schedulers, all together get at most the rate and a burst for each scheduler.
    #[test]
    fn schedulers_together_exceed_a_limit_by_their_bursts_at_most(
        schedulers in 1_usize..5,
        burst in 1_u64..10,
        turns in prop::collection::vec(
            (0..SECOND_NS, prop::collection::vec((0_usize..5, 0_u64..100_000), 0..20)),
            1..40,
        ),
    ) {
        let pace = pace(10, burst);
        let mut meters: Vec<Meter> = (0..schedulers).map(|_| Meter::new(64, schedulers)).collect();
        let (begun_ns, mut now_ns, mut allowed) = (SECOND_NS, SECOND_NS, 0_u64);
        for (pause_ns, turn) in turns {
            now_ns += pause_ns;
            for (scheduler, later_ns) in turn {
                now_ns += later_ns;
                let meter = &mut meters[scheduler % schedulers];
                allowed += u64::from(meter.take(7, (&pace, 1), now_ns, Duration::ZERO) == QuotaDecision::Allowed);
            }
            let news: Vec<_> = meters.iter_mut().map(Meter::take_news).collect();
            for (from, news) in news.iter().enumerate() {
                for (to, meter) in meters.iter_mut().enumerate() {
                    if from != to {
                        meter.learn(news, now_ns);
                    }
                }
            }
            // A turn of two milliseconds gives back less than one.
            let most = (now_ns - begun_ns) * 10 / SECOND_NS + burst * schedulers as u64 + 1;
            prop_assert!(allowed <= most, "{} of {}", allowed, most);
        }
    }

    /// As many as were opened are closed again; never more are open than allowed.
    #[test]
    fn open_ones_are_counted(most in 1_u64..5, uses in prop::collection::vec((0_u64..3, any::<bool>()), 1..200)) {
        let mut meter = Meter::new(64, 1);
        let mut model = [0_u64; 3];
        for (key, opens) in uses {
            let count = &mut model[key as usize];
            if opens {
                let is_open = meter.open(key + 1, most);
                prop_assert_eq!(is_open, *count < most);
                *count += u64::from(is_open);
            } else if *count > 0 {
                meter.close(key + 1);
                *count -= 1;
            }
        }
    }
}

#[test]
fn a_delay_is_counted_and_a_refusal_is_not() {
    let (pace, mut meter, now_ns) = (pace(10, 2), Meter::new(64, 1), SECOND_NS);
    let patience = Duration::from_millis(150);
    let mut take = |now_ns| meter.take(7, (&pace, 1), now_ns, patience);
    assert_eq!([take(now_ns), take(now_ns)], [QuotaDecision::Allowed; 2]);
    assert_eq!(take(now_ns), QuotaDecision::After(Duration::from_millis(100)));
    for _ in 0..3 {
        assert_eq!(take(now_ns), QuotaDecision::Refused(Duration::from_millis(200)));
    }
    assert_eq!(take(now_ns + SECOND_NS / 5), QuotaDecision::Allowed);
}

#[test]
fn uses_that_another_scheduler_learns_late_are_owed() {
    let (pace, mut meter, now_ns) = (pace(1000, 1000), Meter::new(64, 1), SECOND_NS);
    assert_eq!(meter.is_within(7, &pace, now_ns), QuotaDecision::Allowed);
    meter.spend(7, (&pace, 5000), now_ns);
    assert_eq!(meter.is_within(7, &pace, now_ns), QuotaDecision::Refused(Duration::from_secs(4)));
    assert_eq!(meter.is_within(7, &pace, now_ns + 4 * SECOND_NS), QuotaDecision::Allowed);
    assert_eq!(meter.is_within(8, &pace, now_ns), QuotaDecision::Allowed);
}

/// A stranger with a million addresses: the table stays as it is, and clients near their limit are not forgotten.
#[test]
fn a_million_new_keys_take_no_memory_and_forget_nobody_who_is_near_a_limit() {
    let (pace, mut meter) = (pace(10, 10), Meter::new(1 << 16, 1));
    let bytes = meter.bytes();
    assert_eq!(bytes, (1 << 16) * quota::limits::KEY_BYTES);
    let spread = |number: u64| number.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29) | 1;
    let known: Vec<u64> = (0..100).map(|number| spread(1_000_000_000 + number)).collect();
    let mut now_ns = SECOND_NS;
    for key in &known {
        for _ in 0..10 {
            assert_eq!(
                meter.take(*key, (&pace, 1), now_ns, Duration::ZERO),
                QuotaDecision::Allowed
            );
        }
    }
    for number in 0..1_000_000 {
        let outcome = meter.take(spread(number), (&pace, 1), now_ns, Duration::ZERO);
        assert_eq!(outcome, QuotaDecision::Allowed, "nobody pays for others");
    }
    for key in &known {
        let outcome = meter.take(*key, (&pace, 1), now_ns, Duration::ZERO);
        assert!(matches!(outcome, QuotaDecision::Refused(_)), "it is still known");
    }
    now_ns += SECOND_NS;
    for key in &known {
        assert_eq!(meter.take(*key, (&pace, 10), now_ns, Duration::ZERO), QuotaDecision::Allowed);
    }
    assert_eq!(meter.bytes(), bytes);
}

#[test]
fn sizes_are_bounded() {
    assert_eq!(KeyTable::new(0).bytes(), 64);
    assert_eq!(KeyTable::new(5).bytes(), 128);
    assert_eq!(KeyTable::new(usize::MAX).bytes(), 16 << 20);
    let most = QuotaPace { units: 1, window: Duration::MAX, burst: u64::MAX };
    let mut until_ns = u64::MAX;
    assert_eq!(
        most.take(&mut until_ns, u64::MAX, u64::MAX, Duration::ZERO),
        QuotaDecision::Allowed
    );
}
