//! Requests that wait for the answer to another one.

use cache::limits::{FETCHES_OF_URI, WAITERS};
use cache::{
    AnswerHead, CacheQuery, CacheRules, FetchId, Fetches, Join, RequestDirectives, Sharing,
    StorageTerms, Time, Worth, judge,
};

use crate::{at, fields, key, object};

fn terms(lines: &str, request: &str) -> StorageTerms {
    let said = if lines.contains("Cache-Control") { "" } else { "Cache-Control: max-age=9" };
    let head = fields(&format!("Content-Length: 0\n{said}\n{lines}"));
    let answer = AnswerHead { status: 200, fields: head.fields() };
    judge(&answer, &fields(request).fields(), &CacheRules::default(), (at(0), at(0))).unwrap()
}

fn begin(fetches: &mut Fetches<u32>, request: &str) -> FetchId {
    fetches.begin(key("/"), fields(request), None, (Sharing::Shared, at(0)))
}

fn join(fetches: &mut Fetches<u32>, request: &str, who: u32) -> Join {
    join_at(fetches, "/", (request, at(0)), who)
}

fn join_at(
    fetches: &mut Fetches<u32>,
    target: &str,
    (request, now): (&str, Time),
    who: u32,
) -> Join {
    let (key, request) = (key(target), fields(request));
    let asked = CacheQuery { key: &key, fields: &request.fields(), now };
    fetches.join(&asked, RequestDirectives::Obeyed, who)
}

#[test]
fn requests_wait_for_the_head_of_one_fetch_and_then_read_its_answer() {
    let mut fetches = Fetches::default();
    assert_eq!(join(&mut fetches, "", 1), Join::Lead);
    let id = begin(&mut fetches, "");
    assert_eq!(join(&mut fetches, "", 2), Join::Wait(id));
    assert_eq!(join(&mut fetches, "", 3), Join::Wait(id));
    assert_eq!(join_at(&mut fetches, "/other", ("", at(0)), 4), Join::Lead);
    fetches.leave(id, 2);
    assert_eq!(fetches.know(id, terms("", "")), [3]);
    assert_eq!(join(&mut fetches, "", 3), Join::Read(id));
    assert!(fetches.end(id).unwrap().waiters.is_empty() && fetches.is_empty());
    assert_eq!(join(&mut fetches, "", 3), Join::Lead);
}

#[test]
fn a_request_for_another_variant_or_of_a_user_fetches_by_itself() {
    let mut fetches = Fetches::default();
    let id = begin(&mut fetches, "X: 1");
    fetches.know(id, terms("Vary: X", "X: 1"));
    assert_eq!(join(&mut fetches, "X: 1", 1), Join::Read(id));
    assert_eq!(join(&mut fetches, "X: 2", 1), Join::Lead);
    assert_eq!(join(&mut fetches, "X: 1\nAuthorization: a", 1), Join::Alone);
    let other = begin(&mut fetches, "X: 2");
    assert_eq!(join(&mut fetches, "X: 2", 1), Join::Wait(other));
    for _ in 2..FETCHES_OF_URI {
        let id = begin(&mut fetches, "X: 1");
        fetches.know(id, terms("Vary: X", "X: 1"));
    }
    fetches.know(other, terms("Vary: X", "X: 2"));
    assert_eq!(join(&mut fetches, "X: 3", 1), Join::Alone);
}

/// RFC 9111 section 5.2.2.4: what is to be validated for each request was perhaps made for the one that fetches.
#[test]
fn only_what_is_fresh_is_read_while_it_arrives() {
    for (lines, request, seconds, reads) in [
        ("Cache-Control: max-age=9", "", 0, true),
        ("Cache-Control: max-age=9", "", 8, true),
        ("Cache-Control: max-age=9", "", 9, false),
        ("Cache-Control: max-age=9\nAge: 9\nETag: \"e\"", "", 0, false),
        ("Cache-Control: max-age=9, no-cache\nETag: \"e\"", "", 0, false),
        ("Cache-Control: no-cache\nETag: \"e\"", "", 0, false),
        ("Cache-Control: max-age=0, must-revalidate\nETag: \"e\"", "", 0, false),
        ("Cache-Control: max-age=0, stale-while-revalidate=9", "", 0, false),
        ("Cache-Control: max-age=9", "Cache-Control: no-cache", 0, false),
        ("Cache-Control: max-age=9", "Cache-Control: min-fresh=10", 0, false),
    ] {
        let mut fetches = Fetches::default();
        let id = begin(&mut fetches, "");
        assert_eq!(
            join_at(&mut fetches, "/", (request, at(seconds)), 2),
            Join::Wait(id),
            "{lines}"
        );
        assert_eq!(fetches.know(id, terms(lines, "")), [2], "{lines}");
        let expected = if reads { Join::Read(id) } else { Join::Alone };
        let joined = join_at(&mut fetches, "/", (request, at(seconds)), 2);
        assert_eq!(joined, expected, "{lines} {request} {seconds}");
    }
}

#[test]
fn an_answer_that_each_request_validates_makes_no_request_wait() {
    for (control, waits) in [("max-age=9", true), ("no-cache", false), ("max-age=0", false)] {
        let lines = format!("Cache-Control: {control}\nETag: \"e\"");
        let validated = object((200, &lines), "", &CacheRules::default(), at(0)).unwrap();
        let mut fetches = Fetches::default();
        let shared = (Sharing::Shared, at(99));
        let id = fetches.begin(key("/"), fields(""), Some(validated), shared);
        let expected = if waits { Join::Wait(id) } else { Join::Alone };
        assert_eq!(join(&mut fetches, "", 2), expected, "{control}");
    }
}

#[test]
fn a_request_after_a_change_does_not_share_a_fetch_from_before_it() {
    let mut fetches = Fetches::default();
    let id = begin(&mut fetches, "");
    assert_eq!(join(&mut fetches, "", 2), Join::Wait(id));
    assert_eq!(fetches.spoil(|key| key.target() == "/other"), []);
    assert_eq!(fetches.spoil(|key| key.target() == "/"), [2]);
    assert_eq!(fetches.get(id).unwrap().worth, Worth::Spoilt);
    assert_eq!(join(&mut fetches, "", 2), Join::Lead);
    assert!(fetches.has(&key("/")));
}

#[test]
fn a_line_has_an_end() {
    let mut fetches = Fetches::default();
    let id = begin(&mut fetches, "");
    for who in 0..u32::try_from(WAITERS).unwrap() {
        assert_eq!(join(&mut fetches, "", who), Join::Wait(id));
    }
    assert_eq!(join(&mut fetches, "", 0), Join::Alone);
}

#[test]
fn a_stranger_does_not_wait_for_the_answer_to_a_user() {
    for (leader, mine, waits) in [
        ("Authorization: a", "", false),
        ("Cookie: a=b", "", false),
        ("Cookie: a=b", "Cookie: c=d", true),
        ("", "Cookie: c=d\nAuthorization: a", true),
    ] {
        let mut fetches = Fetches::default();
        let id = begin(&mut fetches, leader);
        let expected = if waits { Join::Wait(id) } else { Join::Lead };
        assert_eq!(join(&mut fetches, mine, 2), expected, "{leader} {mine}");
    }
}

#[test]
fn private_fetch_has_no_waiters() {
    let mut fetches = Fetches::default();
    let id = fetches.begin(key("/"), fields(""), None, (Sharing::Alone, at(0)));
    assert_eq!(join(&mut fetches, "", 2), Join::Lead);
    // A change concerns it all the same.
    assert_eq!(fetches.spoil(|_| true), []);
    assert_eq!(fetches.end(id).unwrap().worth, Worth::Spoilt);
}
