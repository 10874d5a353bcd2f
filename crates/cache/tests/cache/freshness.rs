//! For how long an answer is fresh, and how old it is (RFC 9111 section 4.2).

use cache::{CacheRules, Guessing};
use proptest::prelude::*;

use crate::{NOW_S, at, date, object};

fn lifetime(lines: &str, rules: &CacheRules) -> u64 {
    object((200, &format!("ETag: \"e\"\n{lines}")), "", rules, at(0))
        .unwrap()
        .freshness()
        .lifetime_s
}

#[test]
fn the_lifetime_is_the_first_that_is_said() {
    let plain = CacheRules { default_ttl_s: Some(7), ..CacheRules::default() };
    let expires = |after: u64| format!("Expires: {}", date(NOW_S + after));
    for (lines, expected) in [
        ("Cache-Control: max-age=10, s-maxage=20".to_owned(), 20),
        (format!("Cache-Control: max-age=10\n{}", expires(50)), 10),
        (expires(50), 50),
        (format!("Date: {}\n{}", date(NOW_S - 30), expires(50)), 80),
        // The date is no date: the time at which the answer came counts.
        (format!("Date: yesterday\n{}", expires(50)), 50),
        (expires(0), 0),
        ("Expires: -1".to_owned(), 0),
        (format!("{}\n{}", expires(50), expires(60)), 0),
        // 4.2.1: what contradicts itself is less fresh.
        ("Cache-Control: max-age=10, max-age=5".to_owned(), 5),
        ("Cache-Control: max-age=10\nCache-Control: max-age=20".to_owned(), 10),
        ("Cache-Control: max-age=-1".to_owned(), 0),
        ("Cache-Control: max-age=1.5".to_owned(), 0),
        ("Cache-Control: max-age".to_owned(), 0),
        // 1.2.2: what is too large is 2^31.
        ("Cache-Control: max-age=99999999999999999999999".to_owned(), 1 << 31),
        ("X: y".to_owned(), 7),
        // What a server says to the cache in front of it.
        ("X-Accel-Expires: 30\nCache-Control: max-age=10, s-maxage=20".to_owned(), 30),
        (format!("X-Accel-Expires: @{}\n{}", NOW_S + 40, expires(50)), 40),
        (format!("X-Accel-Expires: @{}\n{}", NOW_S - 1, expires(50)), 0),
        ("X-Accel-Expires: 99999999999999999999999".to_owned(), 1 << 31),
        ("X-Accel-Expires: off\nCache-Control: max-age=10".to_owned(), 10),
        ("X-Accel-Expires: @\nCache-Control: max-age=10".to_owned(), 10),
        ("Pragma: no-cache".to_owned(), 7),
    ] {
        assert_eq!(lifetime(&lines, &plain), expected, "{lines}");
    }
    let guessing =
        CacheRules { guessing: Guessing::On, default_ttl_s: Some(7), ..CacheRules::default() };
    let changed = |ago: u64| format!("Last-Modified: {}", date(NOW_S - ago));
    assert_eq!(lifetime(&changed(1000), &guessing), 100);
    assert_eq!(lifetime(&changed(100_000_000), &guessing), 86_400);
    assert_eq!(lifetime("Last-Modified: never", &guessing), 7);
}

#[test]
fn the_age_counts_what_passed_before_on_the_way_and_here() {
    for (lines, expected) in [
        (String::new(), 5),
        ("Age: 10".to_owned(), 15),
        ("Age: 10, 20".to_owned(), 15),
        ("Age: soon".to_owned(), 5),
        ("Age: -10".to_owned(), 5),
        // 4.2.3: the larger one of both ways to know it.
        (format!("Date: {}", date(NOW_S - 30)), 35),
        (format!("Age: 40\nDate: {}", date(NOW_S - 30)), 45),
        // A server whose clock is ahead.
        (format!("Date: {}", date(NOW_S + 30)), 5),
    ] {
        let lines = format!("Cache-Control: max-age=100\n{lines}");
        let stored = object((200, &lines), "", &CacheRules::default(), at(0)).unwrap();
        assert_eq!(stored.freshness().age_s(at(5)), expected, "{lines}");
    }
}

#[test]
fn the_time_on_the_way_counts() {
    let fields = crate::fields("Content-Length: 2\nCache-Control: max-age=100\nAge: 10");
    let answer = cache::AnswerHead { status: 200, fields: fields.fields() };
    let request = crate::fields("");
    let terms =
        cache::judge(&answer, &request.fields(), &CacheRules::default(), (at(0), at(4))).unwrap();
    assert_eq!(terms.freshness.age_s(at(4)), 14);
    assert_eq!(terms.freshness.ttl_s(at(6)), 84);
}

proptest! {
    /// The calculation of section 4.2.3 with plain numbers.
    #[test]
    fn an_answer_is_fresh_while_its_age_is_below_its_lifetime(
        max_age in 0_u64..1000, age in 0_u64..1000, delay in 0_u64..1000, rest in 0_u64..1000,
    ) {
        let lines = format!(
            "Cache-Control: max-age={max_age}\nAge: {age}\nDate: {}\nETag: \"e\"",
            date(NOW_S.saturating_sub(delay))
        );
        let stored = object((200, &lines), "", &CacheRules::default(), at(0)).unwrap();
        let expected = age.max(delay) + rest;
        prop_assert_eq!(stored.freshness().age_s(at(rest)), expected);
        prop_assert_eq!(stored.freshness().is_fresh(at(rest)), expected < max_age);
        prop_assert_eq!(stored.freshness().staleness_s(at(rest)), expected.saturating_sub(max_age));
    }
}
