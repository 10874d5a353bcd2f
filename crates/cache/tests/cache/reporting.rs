//! `Cache-Status` (RFC 9211).

use cache::{CacheOutcome, CacheStatus, ForwardReason};

#[test]
fn a_report_says_what_the_cache_did() {
    let forwarded = |why, status, is_stored, is_collapsed| CacheOutcome::Forwarded {
        why,
        status,
        is_stored,
        is_collapsed,
    };
    for (outcome, ttl_s, key, text) in [
        (CacheOutcome::Hit, Some(5), None, "v; hit; ttl=5"),
        (
            CacheOutcome::Hit,
            Some(-5),
            Some("http://a/\"\\\u{e4}"),
            "v; hit; ttl=-5; key=\"http://a/\\\"\\\\\"",
        ),
        (
            forwarded(ForwardReason::UriMiss, None, true, false),
            Some(9),
            None,
            "v; fwd=uri-miss; stored; ttl=9",
        ),
        (
            forwarded(ForwardReason::Stale, Some(304), true, true),
            None,
            None,
            "v; fwd=stale; fwd-status=304; stored; collapsed",
        ),
        (forwarded(ForwardReason::Bypass, None, false, false), None, None, "v; fwd=bypass"),
        (CacheOutcome::Refused, None, None, "v; detail=only-if-cached"),
    ] {
        assert_eq!(CacheStatus { outcome, ttl_s, key }.text("v"), text);
    }
}
