//! When certificates are ordered: properties of the schedule and the ledger over simulated months.

use acme::ledger::{Failed, OrderLedger};
use acme::limits::{
    DUPLICATES, DUPLICATES_S, FAILED, FAILED_S, FAILURES_PER_ISSUER, ORDERS_BURST, ORDERS_BURST_S,
    RETRY_FIRST_S, RETRY_LAST_S,
};
use acme::schedule::{
    CertificateFacts, Life, OrderReason, RenewalPlan, RenewalWindow, issuer_in_turn, plan,
    retry_delay_s,
};
use acme::{CertificateNames, Fraction, Name, UtcSecond};
use proptest::prelude::*;

const HOUR: i64 = 3_600;
const DAY: i64 = 24 * HOUR;
const START: UtcSecond = UtcSecond::from_unix(1_790_000_000);

fn names(index: usize) -> CertificateNames {
    CertificateNames::new([Name::parse(&format!("host{index}.example.org")).unwrap()]).unwrap()
}

fn life(days: i64) -> Life {
    Life { not_before: START, not_after: START.plus(days * DAY) }
}

fn facts(life: Option<Life>) -> CertificateFacts {
    CertificateFacts {
        life,
        window: None,
        spread: Fraction::NONE,
        retry_at: None,
        allowed_at: START,
    }
}

fn failed(
    error: &str,
    names: &[String],
    jitter: Fraction,
    ledger: &mut OrderLedger,
    of: &CertificateNames,
    now: UtcSecond,
) {
    ledger.on_failed(of, Failed { names, error: error.to_owned(), jitter }, now);
}

#[test]
fn a_missing_certificate_is_ordered_at_once() {
    assert_eq!(plan(&facts(None)), RenewalPlan { at: START, reason: OrderReason::Missing });
}

#[test]
fn a_certificate_is_renewed_when_a_third_of_its_life_is_left() {
    for days in [6, 45, 64, 90] {
        let at = plan(&facts(Some(life(days))));
        assert_eq!(
            at,
            RenewalPlan { at: START.plus(days * DAY * 2 / 3), reason: OrderReason::Renewal }
        );
    }
}

#[test]
fn a_window_decides_but_never_beyond_a_sixth_of_the_life() {
    let window =
        |start, end| Some(RenewalWindow { start: START.plus(start), end: START.plus(end) });
    let with = |window, spread| plan(&CertificateFacts { window, spread, ..facts(Some(life(90))) });
    let half = Fraction::from_bits(1 << 31);
    assert_eq!(
        with(window(10 * DAY, 20 * DAY), half),
        RenewalPlan { at: START.plus(15 * DAY), reason: OrderReason::Authority }
    );
    // One in the past is due, as RFC 9773 section 4.2 says: the clock decides when it is reached.
    assert_eq!(with(window(-2 * DAY, -DAY), half).at, START);
    // One after the end of the certificate is no reason to let it end.
    assert_eq!(
        with(window(100 * DAY, 120 * DAY), half),
        RenewalPlan { at: START.plus(75 * DAY), reason: OrderReason::Renewal }
    );
    // One that ends before it begins is none.
    assert_eq!(with(window(20 * DAY, 10 * DAY), half).at, START.plus(60 * DAY));
}

#[test]
fn a_clock_that_is_set_forward_makes_an_order_due_once_a_third_of_the_life_or_the_window_is_reached()
 {
    let mut ledger = OrderLedger::default();
    ledger.on_order(START);
    ledger.on_finalize(&names(0), START);
    ledger.on_issued(&names(0), "https://ca.example/");
    ledger.on_success(&names(0));
    let window = RenewalWindow { start: START.plus(20 * DAY), end: START.plus(22 * DAY) };
    for (window, due) in [(None, 60 * DAY), (Some(window), 21 * DAY)] {
        for seconds in (0..90 * DAY).step_by(HOUR as usize).chain([due - 1, due, due + 1]) {
            let now = START.plus(seconds);
            let mut ledger = ledger.clone();
            ledger.on_time(now);
            let allowed_at = ledger.allowed_at(&names(0), now);
            let (life, spread) = (Some(life(90)), Fraction::from_bits(1 << 31));
            let plan = plan(&CertificateFacts { life, window, spread, retry_at: None, allowed_at });
            assert_eq!(plan.at <= now, seconds >= due, "{window:?}, {seconds} s");
        }
    }
}

#[test]
fn waits_after_failures_double_from_a_minute_to_six_hours() {
    let waits: Vec<_> = (1..12).map(|failures| retry_delay_s(failures, Fraction::NONE)).collect();
    assert_eq!(waits, [60, 120, 240, 480, 960, 1_920, 3_840, 7_680, 15_360, 17_280, 17_280]);
    for failures in [1, 2, 9, 10, 1_000, u32::MAX] {
        for jitter in [Fraction::NONE, Fraction::from_bits(1 << 30), Fraction::ALL] {
            assert!((RETRY_FIRST_S..=RETRY_LAST_S).contains(&retry_delay_s(failures, jitter)));
        }
    }
    assert!(retry_delay_s(10, Fraction::ALL) > 21_000);
}

#[test]
fn issuers_take_turns_and_those_that_ask_to_be_left_alone_are_passed_over() {
    let turn = |failures, held: &[Option<UtcSecond>]| issuer_in_turn(failures, held, START);
    let turns: Vec<_> = (0..6).map(|failures| turn(failures, &[None, None]).issuer).collect();
    assert_eq!(turns, [0, 0, 1, 1, 0, 0]);
    assert_eq!(FAILURES_PER_ISSUER, 2);
    let later = Some(START.plus(HOUR));
    assert_eq!(turn(0, &[later, None]).issuer, 1);
    assert_eq!(turn(0, &[later, None]).at, START);
    assert_eq!(turn(2, &[Some(START.plus(60)), later]).issuer, 0);
    assert_eq!(turn(2, &[Some(START.plus(60)), later]).at, START.plus(60));
    // A pause that was asked for in the past is over.
    assert_eq!(turn(0, &[Some(START.plus(-60)), None]).at, START);
}

#[test]
fn an_order_beyond_the_burst_waits_whatever_its_names_are() {
    let mut ledger = OrderLedger::default();
    for _ in 0..ORDERS_BURST {
        assert_eq!(ledger.allowed_at(&names(0), START), START);
        ledger.on_order(START);
    }
    assert_eq!(ledger.allowed_at(&names(1), START), START.plus(ORDERS_BURST_S));
    let later = START.plus(ORDERS_BURST_S);
    ledger.on_time(later);
    assert_eq!(ledger.allowed_at(&names(1), later), later);
}

#[test]
fn the_ledger_counts_failed_names_for_an_hour_and_certificates_for_a_week() {
    let mut ledger = OrderLedger::default();
    let name = ["host0.example.org".to_owned()];
    for minute in 0..5 {
        failed("no", &name, Fraction::NONE, &mut ledger, &names(0), START.plus(minute * 60));
    }
    let both = CertificateNames::new(names(0).iter().chain(names(1).iter()).cloned()).unwrap();
    assert_eq!(ledger.allowed_at(&both, START.plus(300)), START.plus(FAILED_S));
    assert_eq!(ledger.allowed_at(&names(1), START.plus(300)), START.plus(300));
    for day in 0..5 {
        ledger.on_finalize(&names(1), START.plus(day * DAY));
    }
    assert_eq!(ledger.allowed_at(&names(1), START.plus(5 * DAY)), START.plus(DUPLICATES_S));
    assert_eq!((FAILED, DUPLICATES), (5, 5));
}

#[test]
fn a_ledger_is_the_same_after_it_was_written_and_read() {
    let mut ledger = OrderLedger::default();
    ledger.on_order(START);
    ledger.on_finalize(&names(0), START);
    ledger.on_hold("https://ca.example/", 60, START);
    failed("no", &["host1.example.org".to_owned()], Fraction::ALL, &mut ledger, &names(1), START);
    let read: OrderLedger = serde_json::from_slice(&ledger.bytes()).unwrap();
    assert_eq!(read, ledger);
    assert_eq!(read.record(&names(1)).unwrap().failures, 1);
    // A file of an older version lacks fields.
    assert_eq!(serde_json::from_str::<OrderLedger>("{}").unwrap(), OrderLedger::default());
}

#[test]
fn a_clock_that_was_ahead_holds_nothing_up_for_longer_than_a_limit() {
    let ahead = START.plus(1_000 * DAY);
    let mut ledger = OrderLedger::default();
    let name = ["host0.example.org".to_owned()];
    for _ in 0..5 {
        failed("no", &name, Fraction::ALL, &mut ledger, &names(0), ahead);
        ledger.on_finalize(&names(0), ahead);
    }
    ledger.on_hold("https://ca.example/", 1_000 * DAY, ahead);
    ledger.on_time(START);
    assert_eq!(ledger.allowed_at(&names(0), START), START.plus(DUPLICATES_S));
    assert!(ledger.record(&names(0)).unwrap().retry_at.unwrap() <= START.plus(DAY));
    assert!(ledger.held_until("https://ca.example/").unwrap() <= START.plus(DAY));
    // A clock that is set forward frees what the time would have freed.
    ledger.on_time(ahead);
    assert_eq!(ledger.allowed_at(&names(0), ahead), ahead);
}

/// The fate of one order.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Issued,
    Refused,
    NotValidated,
}

/// A server over some months: what is simulated is the loop of the control thread, which asks the plan and obeys.
#[derive(Debug)]
struct World {
    now: UtcSecond,
    ledger: OrderLedger,
    lives: Vec<Option<Life>>,
    days: i64,
    orders: Vec<UtcSecond>,
    failures: Vec<(usize, UtcSecond)>,
    issued: Vec<(usize, UtcSecond)>,
}

impl World {
    fn new(count: usize, days: i64) -> Self {
        let (ledger, lives) = (OrderLedger::default(), vec![None; count]);
        let (orders, failures, issued) = (Vec::new(), Vec::new(), Vec::new());
        Self { now: START, ledger, lives, days, orders, failures, issued }
    }

    fn plan(&self, index: usize) -> RenewalPlan {
        let names = names(index);
        plan(&CertificateFacts {
            life: self.lives[index],
            window: None,
            spread: Fraction::NONE,
            retry_at: self.ledger.record(&names).and_then(|record| record.retry_at),
            allowed_at: self.ledger.allowed_at(&names, self.now),
        })
    }

    /// One look at all certificates; when the next one is due.
    fn look(&mut self, jitter: Fraction, mut fate: impl FnMut() -> Fate) -> UtcSecond {
        self.ledger.on_time(self.now);
        for index in 0..self.lives.len() {
            if self.plan(index).at <= self.now {
                self.order(index, jitter, fate());
            }
        }
        (0..self.lives.len()).map(|index| self.plan(index).at).min().unwrap()
    }

    fn order(&mut self, index: usize, jitter: Fraction, fate: Fate) {
        let names = names(index);
        self.ledger.on_order(self.now);
        self.orders.push(self.now);
        match fate {
            Fate::Issued => {
                self.ledger.on_finalize(&names, self.now);
                self.issued.push((index, self.now));
                self.lives[index] =
                    Some(Life { not_before: self.now, not_after: self.now.plus(self.days * DAY) });
                self.ledger.on_issued(&names, "https://ca.example/");
                self.ledger.on_success(&names);
            }
            Fate::Refused => failed("refused", &[], jitter, &mut self.ledger, &names, self.now),
            Fate::NotValidated => {
                let name = names.to_string();
                failed("not validated", &[name], jitter, &mut self.ledger, &names, self.now);
                self.failures.push((index, self.now));
            }
        }
    }

    /// No limit is exceeded in any span of its length.
    fn assert_within_limits(&self) {
        let crowded = |moments: &[UtcSecond], count: usize, span: i64| {
            moments.windows(count + 1).any(|some| some[count].since(some[0]) < span)
        };
        assert!(!crowded(&self.orders, ORDERS_BURST, ORDERS_BURST_S), "{:?}", self.orders);
        for index in 0..self.lives.len() {
            let of = |all: &[(usize, UtcSecond)]| -> Vec<UtcSecond> {
                all.iter().filter(|(one, _)| *one == index).map(|(_, at)| *at).collect()
            };
            assert!(!crowded(&of(&self.failures), FAILED, FAILED_S), "{:?}", self.failures);
            assert!(!crowded(&of(&self.issued), DUPLICATES, DUPLICATES_S), "{:?}", self.issued);
        }
    }
}

#[test]
fn a_healthy_authority_is_asked_once_for_each_life() {
    for days in [6, 45, 64, 90] {
        let mut world = World::new(3, days);
        let end = START.plus(360 * DAY);
        while world.now < end {
            world.now = world.look(Fraction::NONE, || Fate::Issued).max(world.now.plus(1));
            let alive = |life: &Option<Life>| life.is_some_and(|life| life.not_after > world.now);
            assert!(world.lives.iter().all(alive));
        }
        let expected = usize::try_from(360 * 3 / (days * 2) + 1).unwrap() * 3;
        assert!(
            world.orders.len().abs_diff(expected) <= 3,
            "{days}: {} {expected}",
            world.orders.len()
        );
    }
}

#[test]
fn restarts_with_a_valid_certificate_order_nothing() {
    let mut world = World::new(1, 6);
    world.look(Fraction::NONE, || Fate::Issued);
    for _ in 0..100 {
        world.ledger = serde_json::from_slice(&world.ledger.bytes()).unwrap();
        world.now = world.now.plus(60);
        world.look(Fraction::NONE, || Fate::Issued);
    }
    assert_eq!(world.orders.len(), 1);
}

#[test]
fn restarts_without_success_wait_as_long_as_a_server_that_runs() {
    let mut world = World::new(1, 90);
    for _ in 0..1_000 {
        world.ledger = serde_json::from_slice(&world.ledger.bytes()).unwrap();
        world.look(Fraction::NONE, || Fate::NotValidated);
        world.now = world.now.plus(10);
    }
    // 10,000 s are time for the waits of 1 to 64 minutes, and a part of the next.
    assert_eq!(world.orders.len(), 8);
    world.assert_within_limits();
}

proptest! {
    #[test]
    fn a_certificate_is_renewed_before_it_ends_whatever_its_authority_says(
        hours in 6 * 24_i64..=90 * 24, start in any::<i32>(), length in any::<i32>(), bits in any::<u32>(),
    ) {
        let life = Life { not_before: START, not_after: START.plus(hours * HOUR) };
        let window = RenewalWindow { start: START.plus(start.into()), end: START.plus(i64::from(start) + i64::from(length)) };
        let planned = plan(&CertificateFacts { window: Some(window), spread: Fraction::from_bits(bits), ..facts(Some(life)) });
        prop_assert!(planned.at <= life.not_after.plus(-hours * HOUR / 6));
        // There is time for ten attempts before the end.
        let waits: i64 = (1..10).map(|failures| retry_delay_s(failures, Fraction::ALL)).sum();
        prop_assert!(planned.at.plus(waits) < life.not_after || hours < 10 * 24);
    }

    #[test]
    fn no_limit_is_exceeded_by_anything_that_happens(
        count in 1..25_usize,
        days in prop_oneof![Just(6_i64), Just(45), Just(90)],
        steps in proptest::collection::vec((0..3_u8, any::<u32>(), 0..3_u8), 1..60),
    ) {
        let mut world = World::new(count, days);
        for (kind, bits, after) in steps {
            let fate = [Fate::Issued, Fate::Refused, Fate::NotValidated][usize::from(kind)];
            let next = world.look(Fraction::from_bits(bits), || fate);
            // A look when something is due, a second later, or one that was woken some time after.
            world.now = match after {
                0 => next.max(world.now.plus(1)),
                1 => world.now.plus(1),
                _ => world.now.plus(i64::from(bits % 100_000)),
            };
        }
        world.assert_within_limits();
    }

    #[test]
    fn clocks_that_jump_lead_to_few_orders(jumps in proptest::collection::vec(-400 * DAY..400 * DAY, 1..40)) {
        // Certificates of a right clock, seen by a wrong one: the authority issues from START on.
        let mut world = World::new(1, 90);
        let right = Life { not_before: START, not_after: START.plus(90 * DAY) };
        for jump in &jumps {
            world.now = START.plus(*jump);
            for _ in 0..20 {
                world.look(Fraction::NONE, || Fate::Issued);
                world.lives[0] = Some(right);
                // The step of `control` for a certificate that is due as soon as it is issued.
                if world.plan(0).at <= world.now {
                    failed("clock", &[], Fraction::NONE, &mut world.ledger, &names(0), world.now);
                }
                world.now = world.now.plus(1);
            }
        }
        // Each jump can make one order: forward because the certificate seems to end.
        prop_assert!(world.orders.len() <= jumps.len() + 1, "{} orders in {} \
            jumps", world.orders.len(), jumps.len());
    }
}
