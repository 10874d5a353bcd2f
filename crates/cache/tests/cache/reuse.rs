//! Whether a stored answer is used (RFC 9111 sections 4, 4.2.4 and 5.2.1; RFC 5861).

use cache::{Cache, CacheLookup, CacheRules, KeyParts, RequestDirectives, Uri};
use wire::http::url::Scheme;

use crate::{at, fields, key, look, object, seen, with};

#[test]
fn a_stale_answer_is_used_only_where_it_is_allowed() {
    let lenient = CacheRules { while_revalidate_s: 5, if_error_s: 100, ..CacheRules::default() };
    for (lines, rules, seconds, expected) in [
        ("max-age=10", &CacheRules::default(), 9, "fresh"),
        ("max-age=10", &CacheRules::default(), 10, "validate"),
        ("max-age=10, stale-while-revalidate=5", &CacheRules::default(), 14, "stale"),
        ("max-age=10, stale-while-revalidate=5", &CacheRules::default(), 15, "validate"),
        ("max-age=10", &lenient, 14, "stale"),
        ("max-age=10", &lenient, 15, "validate"),
        ("max-age=10, stale-while-revalidate=0", &lenient, 14, "validate"),
        // Only the server may allow it where it wants a validation.
        ("max-age=10, must-revalidate", &lenient, 14, "validate"),
        ("max-age=10, proxy-revalidate", &lenient, 14, "validate"),
        ("s-maxage=10", &lenient, 14, "validate"),
        ("s-maxage=10, stale-while-revalidate=5", &lenient, 14, "stale"),
        ("max-age=10, must-revalidate, stale-while-revalidate=5", &lenient, 14, "validate"),
        // 5.2.2.4
        ("max-age=10, no-cache", &lenient, 1, "validate"),
        ("max-age=10, no-cache=\"x\"", &lenient, 1, "validate"),
    ] {
        let mut cache = with(&format!("ETag: \"e\"\nCache-Control: {lines}"), rules.clone());
        assert_eq!(seen(&mut cache, "/", "", at(seconds)), expected, "{lines} after {seconds}");
    }
    let allowed = |lines: &str| {
        let stored = object((200, &format!("Cache-Control: {lines}")), "", &lenient, at(0));
        stored.unwrap().freshness().if_error_s
    };
    assert_eq!(allowed("max-age=10"), 100);
    assert_eq!(allowed("max-age=10, stale-if-error=3"), 3);
    assert_eq!(allowed("max-age=10, must-revalidate, stale-if-error=3"), 0);
}

#[test]
fn directives_of_a_request_count_only_if_they_are_to() {
    let obeying = CacheRules { directives: RequestDirectives::Obeyed, ..CacheRules::default() };
    for (request, seconds, expected) in [
        ("Cache-Control: no-cache", 1, "validate"),
        ("Pragma: no-cache", 1, "validate"),
        // 5.4: Cache-Control is newer.
        ("Pragma: no-cache\nCache-Control: max-age=5", 1, "fresh"),
        ("Cache-Control: max-age=5", 5, "fresh"),
        ("Cache-Control: max-age=5", 6, "validate"),
        ("Cache-Control: min-fresh=5", 5, "fresh"),
        ("Cache-Control: min-fresh=5", 6, "validate"),
        ("Cache-Control: max-stale=5", 15, "fresh"),
        ("Cache-Control: max-stale=5", 16, "validate"),
        ("Cache-Control: max-stale", 1000, "fresh"),
        ("Cache-Control: only-if-cached", 1, "fresh"),
        ("Cache-Control: only-if-cached", 10, "504"),
    ] {
        let mut cache = with("Cache-Control: max-age=10\nETag: \"e\"", obeying.clone());
        assert_eq!(seen(&mut cache, "/", request, at(seconds)), expected, "{request} {seconds}");
        let mut deaf = with("Cache-Control: max-age=10\nETag: \"e\"", CacheRules::default());
        let expected = if seconds < 10 { "fresh" } else { "validate" };
        assert_eq!(seen(&mut deaf, "/", request, at(seconds)), expected, "{request} {seconds}");
    }
    let mut cache = with("Cache-Control: max-age=10", obeying.clone());
    assert_eq!(seen(&mut cache, "/other", "Cache-Control: only-if-cached", at(1)), "504");
    let mut strict = with("Cache-Control: max-age=10, must-revalidate\nETag: \"e\"", obeying);
    assert_eq!(seen(&mut strict, "/", "Cache-Control: max-stale", at(11)), "validate");
}

#[test]
fn anonymous_answer_is_not_reused_for_users() {
    let assuming = CacheRules { default_ttl_s: Some(60), ..CacheRules::default() };
    for (lines, request, expected) in [
        ("Cache-Control: max-age=10", "Authorization: a", "pass"),
        ("Cache-Control: max-age=10, public", "Authorization: a", "fresh"),
        ("Cache-Control: max-age=10", "Cookie: a=b", "fresh"),
        ("X: y", "Cookie: a=b", "pass"),
        ("X: y", "", "fresh"),
    ] {
        let mut cache = with(lines, assuming.clone());
        assert_eq!(seen(&mut cache, "/", request, at(1)), expected, "{lines} {request}");
    }
}

#[test]
fn a_key_is_the_uri_as_the_server_gets_it() {
    let of = |scheme, host, target, way, parts| {
        cache::AnswerKey::new(&Uri { scheme, host, target, way }, parts)
    };
    let all = KeyParts::default();
    let plain = of(Scheme::Http, "a.test", "/p?x=1&y=2", 0, all);
    assert_eq!(&**plain.text(), "http://a.test/p?x=1&y=2");
    assert_eq!((plain.host(), plain.target()), ("a.test", "/p?x=1&y=2"));
    // RFC 9110 section 4.2.3.
    assert_eq!(of(Scheme::Http, "A.Test:80", "/p?x=1&y=2", 0, all), plain);
    for other in [
        of(Scheme::Https, "a.test", "/p?x=1&y=2", 0, all),
        of(Scheme::Http, "a.test:8080", "/p?x=1&y=2", 0, all),
        of(Scheme::Http, "a.test:443", "/p?x=1&y=2", 0, all),
        of(Scheme::Http, "a.test.", "/p?x=1&y=2", 0, all),
        // The server may read each of these differently.
        of(Scheme::Http, "a.test", "/p?y=2&x=1", 0, all),
        of(Scheme::Http, "a.test", "/%70?x=1&y=2", 0, all),
        of(Scheme::Http, "a.test", "/P?x=1&y=2", 0, all),
        of(Scheme::Http, "a.test", "/p?x=1&y=2&", 0, all),
        of(Scheme::Http, "a.test", "/p", 0, all),
        of(Scheme::Http, "a.test", "/p?x=1&y=2", 1, all),
    ] {
        assert_ne!(other, plain, "{other:?}");
    }
    let few = KeyParts { scheme: false, host: false, query: false };
    assert_eq!(of(Scheme::Https, "b", "/p?z", 0, few), of(Scheme::Http, "a", "/p", 0, few));
    // A host in a path is no host.
    assert_ne!(of(Scheme::Http, "a", "/p", 0, all), of(Scheme::Http, "", "/a/p", 0, all));
}

#[test]
fn a_key_whose_answer_was_not_stored_is_passed_for_a_minute() {
    let mut cache = Cache::new(CacheRules::default());
    assert_eq!(seen(&mut cache, "/", "", at(0)), "uri-miss");
    cache.note_unstorable(&key("/"), at(0));
    assert_eq!(seen(&mut cache, "/", "", at(59)), "pass");
    assert_eq!(seen(&mut cache, "/other", "", at(59)), "uri-miss");
    assert_eq!(seen(&mut cache, "/", "", at(60)), "uri-miss");
    for number in 0..5_000 {
        assert_ne!(seen(&mut cache, &format!("/{number}"), "", at(59)), "pass", "{number}");
    }
    cache.note_failed(&key("/"), at(100));
    assert_eq!(seen(&mut cache, "/", "", at(100)), "pass");
    assert_eq!(seen(&mut cache, "/", "", at(101)), "uri-miss");
    cache.note_unstorable(&key("/"), at(200));
    let stored =
        object((200, "Cache-Control: max-age=1"), "", &CacheRules::default(), at(200)).unwrap();
    cache.store(&key("/"), stored, &fields("").fields());
    cache.invalidate("http://site.test/");
    assert!(matches!(look(&mut cache, "/", "", at(201)), CacheLookup::Missing(_)));
}

#[test]
fn a_server_that_has_just_failed_is_not_asked_again_while_a_stale_answer_may_be_used() {
    for (lines, expected) in [
        ("max-age=10, stale-if-error=10", "fresh"),
        ("max-age=10, stale-if-error=1", "pass"),
        ("max-age=10, must-revalidate, stale-if-error=10", "pass"),
    ] {
        let mut cache =
            with(&format!("ETag: \"e\"\nCache-Control: {lines}"), CacheRules::default());
        assert_eq!(seen(&mut cache, "/", "", at(15)), "validate", "{lines}");
        cache.note_failed(&key("/"), at(15));
        assert_eq!(seen(&mut cache, "/", "", at(15)), expected, "{lines}");
        assert_eq!(seen(&mut cache, "/", "", at(16)), "validate", "{lines}");
    }
}

#[test]
fn a_reference_of_an_answer_is_one_to_the_same_origin() {
    for (reference, target) in [
        ("/b?x#y", Some("/b?x")),
        ("http://Site.test/b", Some("/b")),
        ("http://site.test:80/b", Some("/b")),
        ("http://other.test/b", None),
        ("//site.test/b", None),
        ("b", None),
        ("http://site.test", None),
    ] {
        let referred = key("/a").referred(reference);
        assert_eq!(referred.as_ref().map(|key| key.target()), target, "{reference}");
    }
}
