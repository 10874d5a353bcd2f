//! The limits on top of the rules: a request too large is refused though it is not over.

use wire::http::head::{FieldSlots, Head, HeadLimits, parse};
use wire::http::refusal::Reason;
use wire::http::url::Scheme;

use crate::requirements::verdict::{accepted, partial, refused, refused_within};

#[test]
fn a_target_too_long_is_414_though_it_is_not_over() {
    let limits = HeadLimits { target_size: 10, ..HeadLimits::default() };
    let fits = b"GET /123456789 HTTP/1.1\r\nHost: a\r\n\r\n";
    assert!(matches!(
        parse(fits, Scheme::Http, &limits, &mut FieldSlots::new()),
        Ok(Head::Complete { .. })
    ));
    refused_within(&limits, b"GET /1234567890", Reason::TargetTooLong);
    refused(format!("GET /{}", "a".repeat(8192)).as_bytes(), Reason::TargetTooLong);
    assert_eq!(Reason::TargetTooLong.status().code(), 414);
}

#[test]
fn a_head_too_large_is_431_though_it_is_not_over() {
    let request = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let limits = |head_size| HeadLimits { head_size, ..HeadLimits::default() };
    let mut slots = FieldSlots::new();
    let answer = parse(request, Scheme::Http, &limits(request.len()), &mut slots);
    assert!(matches!(answer, Ok(Head::Complete { .. })));
    refused_within(&limits(request.len() - 1), request, Reason::HeadTooLarge);
    refused_within(&limits(20), &request[..20], Reason::HeadTooLarge);
    let mut large = b"GET / HTTP/1.1\r\n".to_vec();
    while large.len() < 70_000 {
        large.extend_from_slice(format!("X: {}\r\n", "a".repeat(1000)).as_bytes());
    }
    refused(&large, Reason::HeadTooLarge);
    refused_within(&limits(usize::MAX), &large, Reason::HeadTooLarge);
    assert_eq!(Reason::HeadTooLarge.status().code(), 431);
}

#[test]
fn fields_too_many_or_too_large_are_431_though_they_are_not_over() {
    let many =
        |count: usize| format!("GET / HTTP/1.1\r\nHost: a\r\n{}", "X: y\r\n".repeat(count - 1));
    assert_eq!(accepted(format!("{}\r\n", many(100)).as_bytes(), |_| {}), many(100).len() + 2);
    refused(many(101).as_bytes(), Reason::TooManyFields);
    refused(format!("{}X", many(100)).as_bytes(), Reason::TooManyFields);
    let few = HeadLimits { field_count: 1, ..HeadLimits::default() };
    refused_within(&few, many(2).as_bytes(), Reason::TooManyFields);
    let none = HeadLimits { field_count: 0, ..HeadLimits::default() };
    refused_within(&none, many(1).as_bytes(), Reason::TooManyFields);
    let start = "GET / HTTP/1.1\r\nHost: a\r\n";
    refused(format!("{start}X: {}", "a".repeat(8190)).as_bytes(), Reason::FieldTooLarge);
    partial(format!("{start}X: {}", "a".repeat(8189)).as_bytes());
    refused(format!("{start}{}", "a".repeat(257)).as_bytes(), Reason::FieldNameTooLong);
    partial(format!("{start}{}", "a".repeat(256)).as_bytes());
    let short = HeadLimits { field_size: 6, ..HeadLimits::default() };
    refused_within(&short, b"GET / HTTP/1.1\r\nHost: a", Reason::FieldTooLarge);
    let nameless = HeadLimits { field_name_size: 3, ..HeadLimits::default() };
    refused_within(&nameless, b"GET / HTTP/1.1\r\nHost: a", Reason::FieldNameTooLong);
}
