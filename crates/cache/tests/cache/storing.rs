//! Which answers are stored (RFC 9111 section 3).

use cache::{AnswerHead, CacheRules, Guessing, NotStored, RequestDirectives, SetCookie, judge};

use crate::{NOW_S, at, date, fields, object};

fn refusal(status: u16, lines: &str, request: &str, rules: &CacheRules) -> Option<NotStored> {
    object((status, lines), request, rules, at(0)).err()
}

#[test]
fn an_answer_is_stored_if_nothing_forbids_it_and_it_says_how_long() {
    let plain = CacheRules::default();
    for (status, lines, request, expected) in [
        // 3: explicit freshness.
        (200, "Cache-Control: max-age=10", "", None),
        (200, "Cache-Control: s-maxage=10", "", None),
        (200, "cache-control: Public, MAX-AGE=\"10\"", "", None),
        (200, &format!("Expires: {}", date(NOW_S + 10)), "", None),
        (200, "", "", Some(NotStored::Unsaid)),
        (200, "Cache-Control: public", "", Some(NotStored::Unsaid)),
        // Stale from the beginning, and nothing to validate it by.
        (200, "Cache-Control: max-age=0", "", Some(NotStored::Useless)),
        (200, "Cache-Control: max-age=ten", "", Some(NotStored::Useless)),
        (200, "Expires: 0", "", Some(NotStored::Useless)),
        (200, "Cache-Control: max-age=10, no-cache", "", Some(NotStored::Useless)),
        (200, "Cache-Control: max-age=0\nETag: \"e\"", "", None),
        (200, "Cache-Control: no-cache\nLast-Modified: Thu, 01 Jan 2015 00:00:00 GMT", "", None),
        (200, "Cache-Control: max-age=0, stale-while-revalidate=9", "", None),
        // 5.2.2.5, 5.2.2.7
        (200, "Cache-Control: max-age=10, no-store", "", Some(NotStored::NoStore)),
        (
            200,
            "Cache-Control: max-age=10\nCache-Control: x, NO-STORE",
            "",
            Some(NotStored::NoStore),
        ),
        (200, "Cache-Control: max-age=10, private", "", Some(NotStored::Private)),
        (200, "Cache-Control: max-age=10, private=\"x-user\"", "", Some(NotStored::Private)),
        // Within quotation marks a name is no directive.
        (200, "Cache-Control: max-age=10, x=\"a, no-store, b\\\"\"", "", None),
        (200, "Cache-Control: max-age=10, x=\"a\\\", no-store, b\"", "", None),
        // 3: final statuses, and no parts.
        (206, "Cache-Control: max-age=10", "", Some(NotStored::Status)),
        (200, "Cache-Control: max-age=10\nContent-Range: bytes 0-1/2", "", Some(NotStored::Status)),
        (304, "Cache-Control: max-age=10", "", Some(NotStored::Status)),
        (103, "Cache-Control: max-age=10", "", Some(NotStored::Status)),
        (404, "Cache-Control: max-age=10", "", None),
        (302, "Cache-Control: max-age=10", "", None),
        (503, "Cache-Control: max-age=10", "", None),
        // 5.2.2.3
        (299, "Cache-Control: max-age=10, must-understand", "", Some(NotStored::Status)),
        (200, "Cache-Control: max-age=10, must-understand, no-store", "", None),
        // 3.5
        (200, "Cache-Control: max-age=10", "Authorization: a", Some(NotStored::Authorization)),
        (200, "Cache-Control: max-age=10, public", "Authorization: a", None),
        (200, "Cache-Control: s-maxage=10", "Authorization: a", None),
        (200, "Cache-Control: max-age=10, must-revalidate", "Authorization: a", None),
        // 7.3, and what a shared cache should do.
        (200, "Cache-Control: max-age=10\nSet-Cookie: a=b", "", Some(NotStored::SetCookie)),
        (200, "Cache-Control: max-age=10", "Cookie: a=b", None),
        // 4.1
        (200, "Cache-Control: max-age=10\nVary: *", "", Some(NotStored::Vary)),
        (200, "Cache-Control: max-age=10\nVary: accept, *", "", Some(NotStored::Vary)),
        (200, "Cache-Control: max-age=10\nVary: accept", "", None),
        // Request directives do not count unless they are to.
        (200, "Cache-Control: max-age=10", "Cache-Control: no-store", None),
    ] {
        assert_eq!(refusal(status, lines, request, &plain), expected, "{status} {lines} {request}");
    }
    let obeying = CacheRules { directives: RequestDirectives::Obeyed, ..plain };
    let told = refusal(200, "Cache-Control: max-age=10", "Cache-Control: no-store", &obeying);
    assert_eq!(told, Some(NotStored::NoStore));
}

#[test]
fn freshness_is_assumed_only_if_the_rules_say_so_and_nobody_is_known_by_a_cookie() {
    let assuming = CacheRules { default_ttl_s: Some(60), ..CacheRules::default() };
    assert_eq!(refusal(200, "", "", &assuming), None);
    assert_eq!(refusal(404, "", "", &assuming), Some(NotStored::Unsaid));
    let with_errors = CacheRules { error_ttl_s: Some(1), ..CacheRules::default() };
    assert_eq!(refusal(404, "", "", &with_errors), None);
    assert_eq!(refusal(200, "", "", &with_errors), Some(NotStored::Unsaid));
    assert_eq!(refusal(404, "Cache-Control: max-age=9", "", &assuming), None);
    assert_eq!(refusal(500, "", "", &assuming), Some(NotStored::Unsaid));
    assert_eq!(refusal(302, "", "", &assuming), Some(NotStored::Unsaid));
    assert_eq!(refusal(200, "", "Cookie: a=b", &assuming), Some(NotStored::Cookie));
    // The word of a server for the cache in front of it.
    assert_eq!(refusal(200, "X-Accel-Expires: 0", "", &assuming), Some(NotStored::NoStore));
    let never = "X-Accel-Expires: 0\nCache-Control: max-age=9\nETag: \"e\"";
    assert_eq!(refusal(200, never, "", &assuming), Some(NotStored::NoStore));
    assert_eq!(refusal(200, "X-Accel-Expires: off", "", &assuming), Some(NotStored::Unsaid));
    assert_eq!(refusal(200, "X-Accel-Expires: off\nCache-Control: max-age=9", "", &assuming), None);
    assert_eq!(refusal(200, "X-Accel-Expires: 9", "", &CacheRules::default()), None);
    let private = "X-Accel-Expires: 9\nCache-Control: private";
    assert_eq!(refusal(200, private, "", &assuming), Some(NotStored::Private));
    let guessing = CacheRules { guessing: Guessing::On, ..CacheRules::default() };
    assert_eq!(refusal(200, &format!("Last-Modified: {}", date(NOW_S - 100)), "", &guessing), None);
    assert_eq!(refusal(200, "", "", &guessing), Some(NotStored::Unsaid));
    // Changed a moment ago: nothing is guessed, and it can be validated.
    assert_eq!(refusal(200, &format!("Last-Modified: {}", date(NOW_S)), "", &guessing), None);
}

#[test]
fn an_answer_whose_end_is_not_marked_may_be_cut_and_is_not_stored() {
    let rules = CacheRules { object: 100, ..CacheRules::default() };
    for (lines, expected) in [
        ("Content-Length: 100", None),
        ("Content-Length: 100, 100", None),
        ("Content-Length: 101", Some(NotStored::Length)),
        ("Content-Length: x", Some(NotStored::Unmeasured)),
        ("Transfer-Encoding: chunked", None),
        ("", Some(NotStored::Unmeasured)),
    ] {
        let fields = fields(&format!("Cache-Control: max-age=9\n{lines}"));
        let answer = AnswerHead { status: 200, fields: fields.fields() };
        let judged = judge(&answer, &crate::fields("").fields(), &rules, (at(0), at(0)));
        assert_eq!(judged.err(), expected, "{lines}");
    }
}

#[test]
fn fields_of_a_connection_and_cookies_are_not_stored() {
    let rules = CacheRules { set_cookie: SetCookie::Remove, ..CacheRules::default() };
    let lines = "Cache-Control: max-age=10\nSet-Cookie: a=b\nConnection: x-hop\nX-Hop: 1\nKeep-Alive: 5\n\
                 Proxy-Authenticate: b\nTransfer-Encoding: chunked\nAge: 5\nX-Kept: k";
    let stored = object((200, lines), "", &rules, at(0)).unwrap();
    let names: Vec<&str> = stored.fields().iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["Cache-Control", "X-Kept", "Date"]);
    assert_eq!(stored.fields().first("date"), Some(date(NOW_S).as_bytes()));
}
