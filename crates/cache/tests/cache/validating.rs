//! Validation (RFC 9111 section 4.3).

use cache::{CacheRules, Mismatch, NotStored, SetCookie};

use crate::{NOW_S, at, date, fields, object};

const CHANGED: &str = "Last-Modified: Thu, 01 Jan 2015 00:00:00 GMT";

#[test]
fn a_validation_asks_with_all_validators() {
    for (status, lines, expected) in [
        (200, "ETag: \"e\"", "If-None-Match: \"e\"\r\n".to_owned()),
        (200, "ETag: W/\"e\"", "If-None-Match: W/\"e\"\r\n".to_owned()),
        (200, CHANGED, CHANGED.replace("Last-Modified", "If-Modified-Since") + "\r\n"),
        (200, "X: y", String::new()),
        (404, "ETag: \"e\"", String::new()),
    ] {
        let lines = format!("Cache-Control: max-age=9\n{lines}");
        let stored = object((status, &lines), "", &CacheRules::default(), at(0)).unwrap();
        let conditions = stored.conditions();
        assert_eq!(conditions.fields().lines(), expected.as_bytes(), "{lines}");
        assert_eq!(stored.can_be_validated(), !expected.is_empty(), "{lines}");
    }
}

#[test]
fn a_304_replaces_fields_but_not_those_of_the_body() {
    let rules = CacheRules::default();
    let lines = format!(
        "Cache-Control: max-age=9\nETag: \"e\"\nContent-Type: text/plain\nContent-Encoding: gzip\nX-Old: 1\n\
         X-Both: 1\nX-Both: 2\nDate: {}",
        date(NOW_S)
    );
    let stored = object((200, &lines), "", &rules, at(0)).unwrap();
    let fresh = fields(&format!(
        "Cache-Control: max-age=50\nETag: \"e\"\nContent-Type: evil\nContent-Length: 99\nContent-Encoding: \
         br\nContent-Range: bytes 0-1/9\nX-Both: 3\nAge: 4\nConnection: X-Hop\nX-Hop: 1\nDate: {}",
        date(NOW_S + 20)
    ));
    let request = fields("");
    let times = (at(20), at(20));
    let freshened = stored.freshened(&fresh.fields(), &request.fields(), &rules, times).unwrap();
    assert_eq!(freshened.refused, None);
    let freshened = freshened.object;
    let known = freshened.fields();
    let all: Vec<String> = known
        .iter()
        .map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value)))
        .collect();
    assert_eq!(
        all,
        [
            "Content-Type: text/plain",
            "Content-Encoding: gzip",
            "X-Old: 1",
            "Cache-Control: max-age=50",
            "ETag: \"e\"",
            "X-Both: 3",
            &format!("Date: {}", date(NOW_S + 20)),
        ]
    );
    assert_eq!(freshened.freshness().age_s(at(21)), 5);
    assert_eq!(freshened.freshness().lifetime_s, 50);
    assert_eq!(***freshened.body(), *b"ok");
}

#[test]
fn a_304_about_another_answer_changes_nothing() {
    let rules = CacheRules::default();
    let stored = object((200, "Cache-Control: max-age=9\nETag: \"e\""), "", &rules, at(0)).unwrap();
    let (other, weak, none) = (fields("ETag: \"f\""), fields("ETag: W/\"e\""), fields("X: y"));
    let freshen = |fields: &wire::http::fields::FieldList| {
        let request = crate::fields("");
        stored.freshened(&fields.fields(), &request.fields(), &rules, (at(9), at(9))).map(drop)
    };
    assert_eq!(freshen(&other), Err(Mismatch));
    assert_eq!(freshen(&weak), Ok(()));
    assert_eq!(freshen(&none), Ok(()));
}

/// Whatever keeps an answer from being stored does so in a 304: otherwise what is for one would be given to all.
#[test]
fn the_fields_of_a_304_are_judged_like_those_of_any_answer() {
    let assuming = CacheRules { default_ttl_s: Some(60), ..CacheRules::default() };
    let removing = CacheRules { set_cookie: SetCookie::Remove, ..CacheRules::default() };
    let (plain, user) = (CacheRules::default(), "Authorization: a");
    for (stored, lines, request, rules, refused) in [
        ("max-age=9", "X: y", "", &plain, None),
        ("max-age=9", "X: y", "Cookie: a=b", &plain, None),
        ("max-age=9", "Cache-Control: no-store", "", &plain, Some(NotStored::NoStore)),
        ("max-age=9", "Cache-Control: private", "", &plain, Some(NotStored::Private)),
        ("max-age=9", "Vary: *", "", &plain, Some(NotStored::Vary)),
        ("max-age=9", "Set-Cookie: a=b", "", &plain, Some(NotStored::SetCookie)),
        ("max-age=9", "Set-Cookie: a=b", "", &removing, None),
        ("max-age=9, public", "X: y", user, &plain, Some(NotStored::Authorization)),
        ("public", "Cache-Control: max-age=9", user, &assuming, Some(NotStored::Authorization)),
        ("public", "Cache-Control: max-age=9, public", user, &assuming, None),
        ("public", "X: y", "Cookie: a=b", &assuming, Some(NotStored::Cookie)),
        ("public", "X: y", "", &assuming, None),
        ("max-age=9", "Cache-Control: public", "", &plain, Some(NotStored::Unsaid)),
    ] {
        let told = format!("{stored} {lines} {request}");
        let known = format!("Cache-Control: {stored}\nETag: \"e\"");
        let stored = object((200, &known), "", rules, at(0)).unwrap();
        let (fresh, request) = (fields(lines), fields(request));
        let times = (at(9), at(9));
        let freshened = stored.freshened(&fresh.fields(), &request.fields(), rules, times).unwrap();
        assert_eq!(freshened.refused, refused, "{told}");
        let object = freshened.object;
        assert_eq!(object.freshness().age_s(at(10)), 1, "{told}");
        assert_eq!(object.fields().first("date"), Some(date(NOW_S + 9).as_bytes()), "{told}");
        // The client that has asked gets it, unless nobody is to.
        let has_cookie = object.fields().has("set-cookie");
        assert_eq!(has_cookie, lines.contains("Cookie") && refused.is_some(), "{told}");
        assert!(!object.fields().has("content-length") && !object.fields().has("age"), "{told}");
    }
}

#[test]
fn a_304_with_more_fields_than_there_is_room_for_is_not_stored() {
    let rules = CacheRules::default();
    let long = |name: &str| format!("{name}: {}\n", "x".repeat(1000)).repeat(40);
    let lines = format!("Cache-Control: max-age=9\nETag: \"e\"\n{}", long("X"));
    let stored = object((200, &lines), "", &rules, at(0)).unwrap();
    let (fresh, request) = (fields(&long("Y")), fields(""));
    let freshened =
        stored.freshened(&fresh.fields(), &request.fields(), &rules, (at(9), at(9))).unwrap();
    assert_eq!(freshened.refused, Some(NotStored::Length));
}
