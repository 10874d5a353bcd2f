//! `Vary` (RFC 9111 section 4.1).

use cache::limits::{VARIANTS, VARY_NAMES};
use cache::{Cache, CacheLookup, CacheRules, KeyParts, NotStored, Vary};

use crate::{at, fields, key, look, object, seen};

fn store(cache: &mut Cache, lines: &str, request: &str) {
    let lines = format!("Cache-Control: max-age=10\n{lines}");
    let stored = object((200, &lines), request, &CacheRules::default(), at(0)).unwrap();
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
        // Programs that get fields as variables take one spelling for the other, and other servers do not.
        ("X-Lang", "X_Lang: evil", "", "vary-miss"),
        ("X-Lang", "X_Lang: evil", "X-Lang: evil", "vary-miss"),
        ("X-Lang", "X-Lang: evil", "X_Lang: evil", "vary-miss"),
        ("X-Lang", "", "X_Lang: evil", "vary-miss"),
        ("X-Lang", "X_LANG: a", "x_lang: a", "fresh"),
        ("X_Lang", "X-Lang: a", "X-Lang: b", "vary-miss"),
        // The server gets these of the proxy, and they are in the key.
        ("X-Forwarded-Proto, Host", "X-Forwarded-Proto: a", "X-Forwarded-Proto: b", "fresh"),
    ] {
        let mut cache = Cache::new(CacheRules::default());
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
    let mut cache = Cache::new(CacheRules::default());
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
    let mut cache = Cache::new(CacheRules::default());
    store(&mut cache, "Vary: X\nETag: \"1\"", "X: 1");
    store(&mut cache, "Vary: Y\nETag: \"2\"", "X: 2");
    // Both are for this one: the youngest counts.
    let CacheLookup::Fresh(found) = look(&mut cache, "/", "X: 1", at(1)) else { panic!("nothing") };
    assert_eq!(found.fields().first("etag"), Some(&b"\"2\""[..]));
    store(&mut cache, "Vary: X\nETag: \"3\"", "X: 1");
    assert_eq!(cache.stats().objects, 2);
}

/// Fields that the server gets of the proxy and not of the client cannot be compared.
#[test]
fn an_answer_that_differs_by_the_client_itself_is_not_stored() {
    let few = KeyParts { host: false, scheme: false, ..KeyParts::default() };
    for (name, rules, is_stored) in [
        ("X-Forwarded-For", CacheRules::default(), false),
        ("x-forwarded-anything", CacheRules::default(), false),
        ("X_Forwarded_For", CacheRules::default(), false),
        ("Forwarded", CacheRules::default(), false),
        ("Accept, X-Request-ID", CacheRules::default(), false),
        ("Via", CacheRules::default(), false),
        ("Host", CacheRules::default(), true),
        ("X-Forwarded-Host, X-Forwarded-Proto", CacheRules::default(), true),
        ("Host", CacheRules { key: few, ..CacheRules::default() }, false),
        ("X-Forwarded-Host", CacheRules { key: few, ..CacheRules::default() }, false),
        ("X-Forwarded-Proto", CacheRules { key: few, ..CacheRules::default() }, false),
    ] {
        let lines = format!("Cache-Control: max-age=9\nVary: {name}");
        let judged = object((200, &lines), "", &rules, at(0)).map(drop);
        let expected = if is_stored { Ok(()) } else { Err(NotStored::Vary) };
        assert_eq!(judged, expected, "{name}");
    }
}

#[test]
fn too_many_names_are_as_good_as_all() {
    let names = |count: usize| (0..count).map(|n| format!("x-{n}, ")).collect::<String>();
    let of =
        |names: &str| Vary::of(&fields(&format!("Vary: {names}")).fields(), KeyParts::default());
    assert!(matches!(of(&names(VARY_NAMES)), Vary::By(names) if names.len() == VARY_NAMES));
    assert_eq!(of(&names(VARY_NAMES + 1)), Vary::Nobody);
}
