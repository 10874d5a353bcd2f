//! Goal: a client that is at its limit stays known, however many strangers come, whatever limits they use, and over
//! reloads. Method: one attacker that tries again and again between thousands of new addresses, in a small table.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use quota::{KeyTable, Limit, Limiter, QuotaDecision, QuotaPace, Rule, Untold};

use crate::SECOND_NS;

const ATTACKER: u64 = u64::MAX;
const DAY_S: u64 = 24 * 60 * 60;

/// So many uses in so many seconds, and so many at once.
fn limit(name: &str, (units, seconds): (u64, u64), burst: u64) -> Limit {
    let pace = QuotaPace { units, window: Duration::from_secs(seconds), burst };
    Limit { name: Arc::from(name), rule: Rule::Uses(pace), patience: Duration::ZERO }
}

fn open(name: &str, most: u64) -> Limit {
    Limit { name: Arc::from(name), rule: Rule::Open(most), patience: Duration::ZERO }
}

fn limiter(keys: usize, limits: Vec<Limit>) -> Limiter {
    let mut limiter = Limiter::new(keys, 1, 7);
    limiter.set_limits(Arc::from(limits), 0);
    limiter
}

/// Whether an address may use a limit once more.
fn passes(limiter: &mut Limiter, limit: usize, address: u64, now_ns: u64) -> bool {
    let key = limiter.key(limit, address);
    limiter.take(limit, key, now_ns) == QuotaDecision::Allowed
}

/// How often the attacker passes a limit, of one try after each twenty strangers, of whom 10,000 come in a second. Each
/// uses all of these limits once. First come as many that the table is full.
fn passed(
    limiter: &mut Limiter,
    attacked: usize,
    (strangers, limits): (std::ops::Range<u64>, &[usize]),
    now_ns: &mut u64,
) -> usize {
    let mut passed = 0;
    for stranger in strangers {
        *now_ns += SECOND_NS / 10_000;
        if stranger >= 4096 && stranger % 20 == 0 {
            passed += usize::from(passes(limiter, attacked, ATTACKER, *now_ns));
        }
        for limit in limits {
            assert!(passes(limiter, *limit, stranger, *now_ns), "nobody pays for others");
        }
    }
    passed
}

#[test]
fn strangers_of_a_slow_limit_make_no_room_in_a_fast_one() {
    let mut now_ns = SECOND_NS;
    // The example of the documents: strangers log in, the attacker asks for anything else.
    let limits = vec![limit("login", (10, 60), 5), limit("everything", (50, 1), 200)];
    let mut both = limiter(1024, limits);
    let most = 200 + 2 * 50;
    let got = passed(&mut both, 1, (0..24_096, &[0, 1]), &mut now_ns);
    assert!((200..=most + 10).contains(&got), "{got} of {most}");

    let limits = vec![limit("fast", (1, 1), 10), limit("slow", (5, DAY_S), 5)];
    let mut both = limiter(1024, limits);
    let got = passed(&mut both, 0, (0..24_096, &[1]), &mut now_ns);
    assert!((10..=12).contains(&got), "{got}");
}

#[test]
fn strangers_who_have_used_up_a_day_take_no_room_from_another_limit() {
    let mut now_ns = SECOND_NS;
    let limits = vec![limit("fast", (1, 1), 10), limit("daily", (1, DAY_S), 1)];
    let mut both = limiter(1024, limits);
    for stranger in 0..20_000 {
        assert!(passes(&mut both, 1, stranger, now_ns));
        // They even insist, so each of them is marked.
        assert!(!passes(&mut both, 1, stranger, now_ns));
    }
    now_ns += 20 * SECOND_NS;
    let got = passed(&mut both, 0, (20_000..40_000, &[0]), &mut now_ns);
    assert!((10..=12).contains(&got), "{got}");
}

#[test]
fn refused_key_stays_in_the_table_with_a_burst_of_one() {
    let mut now_ns = SECOND_NS;
    let mut one = limiter(1024, vec![limit("login", (10, 60), 1)]);
    // Twenty seconds, in which each place is taken two hundred times: one use every six seconds is allowed.
    let got = passed(&mut one, 0, (0..200_000, &[0]), &mut now_ns);
    assert!((4..=5).contains(&got), "{got}");
    let counts = one.counts();
    assert!(
        counts[0].forgotten > 190_000,
        "the operator sees that the table is too small: {counts:?}"
    );
}

#[test]
fn a_refusal_of_any_kind_keeps_a_key() {
    let now_ns = SECOND_NS;
    let amounts =
        Rule::Amounts(QuotaPace { units: 1, window: Duration::from_secs(DAY_S), burst: 1 });
    let bytes = Limit { name: Arc::from("bytes"), rule: amounts, patience: Duration::ZERO };
    let all = [limit("uses", (1, DAY_S), 1), bytes, open("open", 1)];
    // With a table for each limit in which all keys share a line.
    for (looks, one) in all.iter().flat_map(|one| [(true, one), (false, one)]) {
        let mut one = limiter(4, vec![one.clone()]);
        let key = one.key(0, ATTACKER);
        let used = |one: &mut Limiter, key| {
            assert_eq!(one.take(0, key, now_ns), QuotaDecision::Allowed);
            one.spend(0, key, 2, now_ns);
        };
        used(&mut one, key);
        let is_refused = |outcome| matches!(outcome, QuotaDecision::Refused(_));
        let refused = if looks { one.look(0, key, now_ns) } else { one.take(0, key, now_ns) };
        assert!(is_refused(refused));
        for stranger in 0..100 {
            let key = one.key(0, stranger);
            used(&mut one, key);
        }
        assert!(is_refused(one.look(0, key, now_ns)), "{:?}", one.limits());
        assert_eq!(one.counts()[0].forgotten, 97);
    }
}

/// Marks are given back: clients that were refused once make room for a client that is refused now.
#[test]
fn marks_wear_off_where_all_have_one() {
    let (mut table, now) = (KeyTable::new(4), 10);
    for key in 1..=4 {
        *table.number(key, now) = 100 + key;
        table.mark_refused(key);
    }
    *table.number(5, now) = 50;
    table.mark_refused(5);
    assert_eq!(table.known(1), None, "it had used least");
    for key in 6..=8 {
        *table.number(key, now) = 60;
        assert_eq!(table.known(5), Some(&mut 50), "before {key}");
    }
    // Uses that are given back are forgotten first, marked or not.
    *table.number(9, 55) = 60;
    assert_eq!(table.known(5), None);
}

#[test]
fn a_reload_keeps_what_was_used_where_the_room_changes() {
    let now_ns = SECOND_NS;
    let daily = |burst| limit("daily", (1, DAY_S), burst);
    let mut one = limiter(4096, vec![daily(2)]);
    for address in 0..100 {
        assert!(passes(&mut one, 0, address, now_ns) && passes(&mut one, 0, address, now_ns));
        assert!(!passes(&mut one, 0, address, now_ns));
    }
    let bytes = one.bytes();
    assert_eq!(bytes, 4096 * quota::limits::KEY_BYTES);
    // The room is divided by three; the limit has another number; then all is as it was.
    let three = vec![open("open", 1), limit("other", (1, 1), 1), daily(2)];
    for (limits, number) in [(three, 2), (vec![daily(2)], 0)] {
        one.set_limits(Arc::from(limits), now_ns);
        assert!(one.bytes().abs_diff(bytes) <= 3 * 64, "{}", one.bytes());
        for address in 0..100 {
            assert!(!passes(&mut one, number, address, now_ns), "{address}");
        }
    }
    assert_eq!(one.counts()[0].refused, 300);
    // A time is no number of open requests.
    one.set_limits(Arc::from(vec![open("daily", 1)]), now_ns);
    assert!(passes(&mut one, 0, 0, now_ns));
}

#[test]
fn uses_are_given_back_at_the_new_rate() {
    let now_ns = 5 * SECOND_NS;
    let mut one = limiter(1024, vec![limit("x", (1, DAY_S), 2)]);
    assert!(passes(&mut one, 0, 1, now_ns) && passes(&mut one, 0, 1, now_ns));
    assert!(!passes(&mut one, 0, 1, now_ns));
    one.set_limits(Arc::from(vec![limit("x", (2, 1), 2)]), now_ns);
    assert!(!passes(&mut one, 0, 1, now_ns), "both are used");
    assert!(passes(&mut one, 0, 1, now_ns + SECOND_NS / 2 + 1), "one is given back");
    one.set_limits(Arc::from(vec![limit("x", (2, 1), 3)]), now_ns);
    assert!(passes(&mut one, 0, 1, now_ns + SECOND_NS / 2 + 1), "the burst is larger");
}

#[test]
fn news_and_ends_find_their_limit_over_a_reload() {
    let now_ns = SECOND_NS;
    let limits = || vec![open("open", 2), limit("daily", (1, DAY_S), 1)];
    let mut here = Limiter::new(1024, 2, 7);
    here.set_limits(Arc::from(limits()), now_ns);
    let (opened, used) = (here.key(0, 1_u64), here.key(1, 1_u64));
    assert_eq!(here.take(0, opened, now_ns), QuotaDecision::Allowed);
    assert_eq!(here.take(1, used, now_ns), QuotaDecision::Allowed);
    // There, the reload was earlier: the limits have other numbers.
    let mut there = Limiter::new(1024, 2, 7);
    there.set_limits(limits().into_iter().rev().collect(), now_ns);
    // And there it has another kind.
    let mut other = Limiter::new(1024, 2, 7);
    other.set_limits(Arc::from(vec![open("daily", 1), limit("open", (1, DAY_S), 1)]), now_ns);
    let news = here.take_news();
    assert!(here.take_news().is_empty());
    there.learn(&news, now_ns);
    other.learn(&news, now_ns);
    assert!(!passes(&mut there, 0, 1, now_ns));
    assert!(passes(&mut there, 1, 1, now_ns) && !passes(&mut there, 1, 1, now_ns));
    assert!(passes(&mut other, 0, 1, now_ns) && passes(&mut other, 1, 1, now_ns));
    // The request that was opened here ends.
    here.close("open", opened);
    there.learn(&here.take_news(), now_ns);
    assert!(passes(&mut there, 1, 1, now_ns) && !passes(&mut there, 1, 1, now_ns));
    // With the name of a limit that counts no open requests, or of none, nothing ends.
    here.close("daily", used);
    here.close("none", used);
    assert!(here.take_news().is_empty());
    assert!(!passes(&mut here, 1, 1, now_ns));
}

/// A scheduler whose mailbox is full is told later.
#[test]
fn late_news_is_told_in_sums_and_whole() {
    let now_ns = SECOND_NS;
    let limits = || Arc::from(vec![open("open", 3), limit("daily", (1, DAY_S), 3)]);
    let mut limiters: Vec<Limiter> = (0..2).map(|_| Limiter::new(1024, 2, 7)).collect();
    let [here, there] = limiters.as_mut_slice() else { panic!("there are two") };
    here.set_limits(limits(), now_ns);
    there.set_limits(limits(), now_ns);
    let (opened, used) = (here.key(0, 1_u64), here.key(1, 1_u64));
    assert_eq!(here.take(0, opened, now_ns), QuotaDecision::Allowed);
    there.learn(&here.take_news(), now_ns);
    // From now on there is no room: it closes, and others are opened and closed.
    let mut untold = Untold::default();
    for _ in 0..3 {
        here.close("open", opened);
        untold.add(&here.take_news());
        assert_eq!(here.take(0, opened, now_ns), QuotaDecision::Allowed);
        untold.add(&here.take_news());
        assert_eq!(here.take(1, used, now_ns), QuotaDecision::Allowed);
        untold.add(&here.take_news());
    }
    here.close("open", opened);
    untold.add(&here.take_news());
    assert!(!untold.is_empty());
    there.learn(&untold.take(), now_ns);
    assert!(untold.is_empty() && untold.take().is_empty());
    let opens = (0..4).map(|_| passes(there, 0, 1, now_ns));
    assert_eq!(opens.collect::<Vec<_>>(), [true, true, true, false]);
    assert!(!passes(there, 1, 1, now_ns), "the rate was used up");
}

prop_compose! {
    fn any_limit()(
        units in 1_u64..100,
        seconds in prop::sample::select(vec![1, 60, 60 * 60, DAY_S]),
        burst in prop_oneof![Just(1_u64), 1_u64..100],
    ) -> (u64, u64, u64) {
        (units, seconds, burst)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whoever tries as often as the strangers together gets at most twice what its limit allows.
    #[test]
    fn an_attacker_gets_at_most_twice_its_limit(
        limits in prop::collection::vec(any_limit(), 1..5),
        attacked in 0_usize..4,
        seed in any::<u64>(),
        step_ns in 1_000_u64..20_000_000,
        uses in prop::collection::vec((0_usize..4, 1_u64..25), 500),
    ) {
        let attacked = attacked % limits.len();
        let make = |(number, &(units, seconds, burst)): (usize, &(u64, u64, u64))| {
            limit(&number.to_string(), (units, seconds), burst)
        };
        let mut limiter = Limiter::new(1024, 1, seed);
        limiter.set_limits(limits.iter().enumerate().map(make).collect(), 0);
        let (mut now_ns, mut got) = (SECOND_NS, 0_u64);
        // Twelve times as many strangers as there are keys.
        for (stranger, (other, count)) in uses.iter().cycle().take(12 * 1024).enumerate() {
            let other = other % limits.len();
            // Each stranger uses at most a quarter of its limit, or its only use.
            for _ in 0..(*count).min(limits[other].2 / 4).max(1) {
                now_ns += step_ns;
                passes(&mut limiter, other, stranger as u64, now_ns);
                got += u64::from(passes(&mut limiter, attacked, ATTACKER, now_ns));
            }
        }
        let (units, seconds, burst) = limits[attacked];
        let allowed = burst + (now_ns - SECOND_NS) * units / (seconds * SECOND_NS);
        prop_assert!(got <= 2 * allowed + 2, "{got} of {allowed}");
    }
}
