//! `Cache-Status` (RFC 9211).

use cache::{Forwarded, Outcome, Report};

#[test]
fn a_report_says_what_the_cache_did() {
    let forwarded = |why, status, is_stored, is_collapsed| Outcome::Forwarded {
        why,
        status,
        is_stored,
        is_collapsed,
    };
    for (outcome, ttl_s, key, text) in [
        (Outcome::Hit, Some(5), None, "v; hit; ttl=5"),
        (
            Outcome::Hit,
            Some(-5),
            Some("http://a/\"\\\u{e4}"),
            "v; hit; ttl=-5; key=\"http://a/\\\"\\\\\"",
        ),
        (
            forwarded(Forwarded::UriMiss, None, true, false),
            Some(9),
            None,
            "v; fwd=uri-miss; stored; ttl=9",
        ),
        (
            forwarded(Forwarded::Stale, Some(304), true, true),
            None,
            None,
            "v; fwd=stale; fwd-status=304; stored; collapsed",
        ),
        (forwarded(Forwarded::Bypass, None, false, false), None, None, "v; fwd=bypass"),
        (Outcome::Refused, None, None, "v; detail=only-if-cached"),
    ] {
        assert_eq!(Report { outcome, ttl_s, key }.text("v"), text);
    }
}
