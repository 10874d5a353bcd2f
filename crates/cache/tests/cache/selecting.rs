//! The reply to a client from a stored answer (RFC 9111 section 4.3.2, RFC 9110 sections 13 and 14).

use cache::{Selection, select};
use wire::http::conditional::SafeMethod;
use wire::http::range::ByteRange;

use crate::{NOW_S, fields};

#[test]
fn conditions_and_ranges_of_a_client_are_those_of_the_stored_answer() {
    let part = |first, length| Selection::Part(ByteRange { first, length });
    let changed = "Thu, 01 Jan 2015 00:00:00 GMT";
    for (status, request, expected) in [
        (200, String::new(), Selection::Whole),
        (200, "If-None-Match: \"e\"".into(), Selection::NotModified),
        (200, "If-None-Match: W/\"e\", \"f\"".into(), Selection::NotModified),
        (200, "If-None-Match: \"f\"".into(), Selection::Whole),
        (200, "If-None-Match: *".into(), Selection::NotModified),
        (200, format!("If-Modified-Since: {changed}"), Selection::NotModified),
        (200, format!("If-None-Match: \"f\"\nIf-Modified-Since: {changed}"), Selection::Whole),
        // Conditions are about answers that would be 2xx (RFC 9110 section 13.2.1).
        (404, "If-None-Match: \"e\"".into(), Selection::Whole),
        (404, "Range: bytes=0-1".into(), Selection::Whole),
        (200, "Range: bytes=2-4".into(), part(2, 3)),
        (200, "Range: bytes=-3".into(), part(7, 3)),
        (200, "Range: bytes=9-99".into(), part(9, 1)),
        (200, "Range: bytes=10-".into(), Selection::Unsatisfied),
        (200, "Range: bytes=0-1, 4-5".into(), Selection::Whole),
        (200, "Range: lines=0-1".into(), Selection::Whole),
        (200, "Range: bytes=2-4\nIf-Range: \"e\"".into(), part(2, 3)),
        (200, "Range: bytes=2-4\nIf-Range: \"f\"".into(), Selection::Whole),
        (200, "Range: bytes=2-4\nIf-None-Match: \"e\"".into(), Selection::NotModified),
        // For a server alone (section 4.3.2).
        (200, "If-Match: \"f\"".into(), Selection::Whole),
    ] {
        let answer = fields(&format!("ETag: \"e\"\nLast-Modified: {changed}"));
        let sent = fields(&request);
        let asked = (SafeMethod::Get, &sent.fields());
        let selection = select((status, &answer.fields()), Some(10), asked, NOW_S);
        assert_eq!(selection, expected, "{status} {request}");
    }
    let (answer, sent) = (fields("ETag: \"e\""), fields("Range: bytes=2-4"));
    let of = |method, size| select((200, &answer.fields()), size, (method, &sent.fields()), NOW_S);
    assert_eq!(of(SafeMethod::Head, Some(10)), Selection::Whole);
    assert_eq!(of(SafeMethod::Get, None), Selection::Whole);
}
