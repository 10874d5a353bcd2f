//! `Vary` (RFC 9111 section 4.1).

use cache::limits::{VARIANTS, VARY_NAMES};
use cache::{Cache, Looked, Rules, Vary};

use crate::{at, fields, key, look, object, seen};

fn store(cache: &mut Cache, lines: &str, request: &str) {
    let lines = format!("Cache-Control: max-age=10\n{lines}");
    let stored = object((200, &lines), request, &Rules::default(), at(0)).unwrap();
    assert!(cache.store(&key("/"), stored, &fields(request).fields()));
}

#[test]
fn an_answer_is_for_requests_with_the_same_values() {
    for (vary, stored_for, request, expected) in [
        ("Accept", "Accept: a, b", "Accept: a, b", "fresh"),
        ("accept", "Accept: a, b", "ACCEPT: a,b", "fresh"),
        ("Accept", "Accept: a, b", "Accept: a\nAccept: b", "fresh"),
        ("Accept", "Accept: a, b", "Accept:  a ,, b ", "fresh"),
        ("Accept", "Accept: a, b", "Accept: b, a", "vary-miss"),
        ("Accept", "Accept: a, b", "Accept: a, B", "vary-miss"),
        ("Accept", "Accept: a, b", "Accept: a", "vary-miss"),
        ("Accept", "Accept: ab", "Accept: a, b", "vary-miss"),
        ("Accept", "Accept: a", "", "vary-miss"),
        ("Accept", "", "Accept: a", "vary-miss"),
        ("Accept", "", "", "fresh"),
        ("Accept", "Accept: a\nX: 1", "Accept: a\nX: 2", "fresh"),
        ("Accept, X", "Accept: a\nX: 1", "Accept: a\nX: 2", "vary-miss"),
        ("Accept\nVary: X", "Accept: a\nX: 1", "Accept: a\nX: 2", "vary-miss"),
        ("", "Accept: a", "Accept: b", "fresh"),
    ] {
        let mut cache = Cache::new(Rules::default());
        store(&mut cache, &format!("Vary: {vary}"), stored_for);
        assert_eq!(
            seen(&mut cache, "/", request, at(1)),
            expected,
            "{vary} {stored_for} {request}"
        );
    }
}

#[test]
fn each_variant_is_stored_and_the_oldest_of_too_many_goes() {
    let mut cache = Cache::new(Rules::default());
    for number in 0..=VARIANTS {
        store(&mut cache, "Vary: X", &format!("X: {number}"));
    }
    assert_eq!(cache.stats().objects, VARIANTS);
    assert_eq!(seen(&mut cache, "/", "X: 0", at(1)), "vary-miss");
    for number in 1..=VARIANTS {
        assert_eq!(seen(&mut cache, "/", &format!("X: {number}"), at(1)), "fresh", "{number}");
    }
}

#[test]
fn a_younger_answer_takes_the_place_of_those_that_it_is_for_too() {
    let mut cache = Cache::new(Rules::default());
    store(&mut cache, "Vary: X\nETag: \"1\"", "X: 1");
    store(&mut cache, "Vary: Y\nETag: \"2\"", "X: 2");
    // Both are for this one: the youngest counts.
    let Looked::Fresh(found) = look(&mut cache, "/", "X: 1", at(1)) else { panic!("nothing") };
    assert_eq!(found.fields().first("etag"), Some(&b"\"2\""[..]));
    store(&mut cache, "Vary: X\nETag: \"3\"", "X: 1");
    assert_eq!(cache.stats().objects, 2);
}

#[test]
fn too_many_names_are_as_good_as_all() {
    let names = |count: usize| (0..count).map(|n| format!("x-{n}, ")).collect::<String>();
    let of = |names: &str| Vary::of(&fields(&format!("Vary: {names}")).fields());
    assert!(matches!(of(&names(VARY_NAMES)), Vary::By(names) if names.len() == VARY_NAMES));
    assert_eq!(of(&names(VARY_NAMES + 1)), Vary::Nobody);
}
