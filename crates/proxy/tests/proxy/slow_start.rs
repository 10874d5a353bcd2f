//! A server that is well again gets its share of the requests little by little, however servers are chosen.

use proptest::prelude::*;
use proxy::{
    Balance, Checks, HealthCheck, Readiness, RequestOutcome, ServerIndex, ServerPreference,
    Upstream,
};

use super::{SECOND, choose, rules, visit};

const SPAN: u64 = 30 * SECOND;

/// Servers of which the first one is new at the time 0.
fn warming(balance: Balance, weights: &[u16], seed: u64) -> Upstream<u32> {
    let mut slow = rules(balance, weights);
    slow.slow_start_ns = SPAN;
    let mut upstream = Upstream::new(slow, seed, 0);
    upstream.warm_up(ServerIndex(0), 0);
    upstream
}

/// How many of so many requests, each over at once, the first server gets.
fn to_first(upstream: &mut Upstream<u32>, requests: u32, now_ns: u64) -> u32 {
    (0..requests).filter(|_| visit(upstream, now_ns) == 0).count() as u32
}

#[test]
fn the_share_grows_from_a_tenth_to_all_of_it_in_this_time() {
    for (now_ns, percent) in [
        (0, 10),
        (SPAN / 3, 40),
        (SPAN / 2, 55),
        (2 * SPAN / 3, 70),
        (SPAN - 1, 99),
        (SPAN, 100),
        (u64::MAX, 100),
    ] {
        let mut two = warming(Balance::RoundRobin, &[1, 1], 7);
        // As many as the weights are hundredths, so each server gets exactly its weight.
        assert_eq!(to_first(&mut two, 100 + percent, now_ns), percent, "{now_ns}");
    }
}

#[test]
fn without_the_rule_a_server_has_its_share_at_once() {
    let mut slow = rules(Balance::RoundRobin, &[1, 1]);
    slow.slow_start_ns = 0;
    let mut two = Upstream::<u32>::new(slow, 7, 0);
    two.warm_up(ServerIndex(0), 5);
    assert_eq!(to_first(&mut two, 100, 5), 50);
}

#[test]
fn only_a_server_that_was_not_well_is_warmed_up() {
    let fresh = || {
        let mut slow = rules(Balance::RoundRobin, &[1, 1]);
        slow.slow_start_ns = SPAN;
        Upstream::<u32>::new(slow, 7, 0)
    };
    let first = ServerIndex(0);
    // At the start all are equal, so nobody has to wait for anybody.
    assert_eq!(to_first(&mut fresh(), 100, 0), 50);

    let mut failed = fresh();
    let wish = ServerPreference { sticky: Some(first), ..ServerPreference::default() };
    for _ in 0..3 {
        choose(&mut failed, &wish, 0);
        failed.judge(first, RequestOutcome::Failed, 0);
        failed.release(first);
    }
    let later_ns = 10 * SECOND;
    choose(&mut failed, &wish, later_ns);
    failed.judge(first, RequestOutcome::Answered { first_byte_ns: 1 }, later_ns);
    failed.release(first);
    assert_eq!(to_first(&mut failed, 110, later_ns), 10);
    // Another answer does not begin it anew.
    failed.judge(first, RequestOutcome::Answered { first_byte_ns: 1 }, later_ns + SPAN / 2);
    assert_eq!(to_first(&mut failed, 155, later_ns + SPAN / 2), 55);

    let mut unchecked = fresh();
    for check in
        [HealthCheck::Failed, HealthCheck::Failed, HealthCheck::Failed, HealthCheck::Passed]
    {
        unchecked.on_check(first, check, SECOND);
    }
    assert_eq!(to_first(&mut unchecked, 110, SECOND), 10);

    let mut drained = fresh();
    drained.set_readiness(first, Readiness::Drained, 0);
    drained.set_readiness(first, Readiness::Ready, SECOND);
    assert_eq!(to_first(&mut drained, 110, SECOND), 10);
    drained.set_readiness(first, Readiness::Ready, SECOND + SPAN / 2);
    assert_eq!(to_first(&mut drained, 155, SECOND + SPAN / 2), 55, "it was ready already");
}

/// A reload changes the rules of an upstream.
#[test]
fn share_goes_on_growing_under_other_rules() {
    let old = warming(Balance::RoundRobin, &[1, 1], 7);
    let mut new = warming(Balance::RoundRobin, &[1, 1, 1], 7);
    new.inherit(&old, Checks::None);
    let first = to_first(&mut new, 210, 0);
    assert_eq!(first, 10);
}

#[test]
fn keys_come_to_a_server_that_is_warmed_up_and_no_other_key_moves() {
    let key = |number: u32| ServerPreference {
        key: Some(proxy::hash(&number.to_le_bytes())),
        ..ServerPreference::default()
    };
    let mut three = warming(Balance::Hash, &[1, 1, 1], 7);
    let mut before = vec![u8::MAX; 3000];
    for (now_ns, percent) in [(0, 10), (SPAN / 3, 40), (SPAN, 100)] {
        for (number, server) in (0..).zip(&mut before) {
            let chosen = choose(&mut three, &key(number), now_ns);
            three.release(ServerIndex(chosen));
            assert!(chosen == 0 || chosen == *server || *server == u8::MAX, "{number}");
            *server = chosen;
        }
        let first = before.iter().filter(|server| **server == 0).count() as f64 / 3000.0;
        let share = f64::from(percent) / f64::from(200 + percent);
        assert!((first - share).abs() < 0.03, "{percent}: {first}, {share}");
    }
}

proptest! {
    /// When nobody is busy, requests go by weight at each time.
    #[test]
    fn the_share_is_that_of_the_weight_at_the_time(
        balance in prop_oneof![Just(Balance::TwoChoices), Just(Balance::RoundRobin), Just(Balance::Least)],
        seed in any::<u64>(),
        weights in proptest::collection::vec(1..5_u16, 2..5),
        now_ns in 0..2 * SPAN,
    ) {
        let mut some = warming(balance, &weights, seed);
        let got = f64::from(to_first(&mut some, 3000, now_ns)) / 3000.0;
        let warmth = (0.1 + 0.9 * now_ns as f64 / SPAN as f64).min(1.0);
        let own = f64::from(weights[0]) * warmth;
        let share = own / (own + f64::from(weights[1..].iter().sum::<u16>()));
        prop_assert!((got - share).abs() < 0.06, "{} instead of {}", got, share);
    }

    /// When all are busy, the open requests of the server are at most its part of those of the others.
    #[test]
    fn open_requests_are_spread_by_the_weight_at_the_time(
        seed in any::<u64>(),
        open in 1..400_u32,
        now_ns in 0..=SPAN,
    ) {
        let mut two = warming(Balance::Least, &[1, 1], seed);
        let first = (0..open).filter(|_| choose(&mut two, &ServerPreference::default(), now_ns) == 0).count();
        let others = open as usize - first;
        let percent = 10 + 90 * now_ns / SPAN;
        // One more than its share, because it gets the next one when it has less.
        prop_assert!(first as u64 <= others as u64 * percent / 100 + 1, "{} beside {}", first, others);
    }

    /// With few requests at a time a server that has less to do does not get more than its weight.
    #[test]
    fn a_server_that_has_less_to_do_is_not_preferred_beyond_its_weight(
        balance in prop_oneof![Just(Balance::TwoChoices), Just(Balance::Least)],
        seed in any::<u64>(),
        at_a_time in 1..10_usize,
        now_ns in 0..=SPAN,
    ) {
        let mut two = warming(balance, &[1, 1], seed);
        let (mut open, mut first) = (std::collections::VecDeque::new(), 0);
        for _ in 0..3000 {
            if open.len() == at_a_time {
                two.release(ServerIndex(open.pop_front().unwrap()));
            }
            let chosen = choose(&mut two, &ServerPreference::default(), now_ns);
            open.push_back(chosen);
            first += usize::from(chosen == 0);
        }
        let (got, warmth) = (first as f64 / 3000.0, 0.1 + 0.9 * now_ns as f64 / SPAN as f64);
        prop_assert!(got < warmth.min(0.5) + 0.05, "{} at {}", got, warmth);
        prop_assert!(got > warmth / 4.0, "{} at {}", got, warmth);
    }
}
