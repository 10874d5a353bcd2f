//! The rules of RFC 9110 and RFC 9112 for requests, one by one, and the limits on top of them.
//!
//! Each test names the section it comes from. A refusal is asserted with its exact reason. Here: a request with all its
//! parts, and the statuses; the rules are in the modules.

mod connection;
mod fields;
mod framing;
mod request_line;
mod sizes;
mod verdict;

use verdict::accepted;
use wire::http::head::{Framing, HttpVersion, RequestTarget};
use wire::http::method::Method;
use wire::http::refusal::Reason;

#[test]
fn a_request_gives_all_its_parts() {
    let input = b"GET /a?b=c HTTP/1.1\r\nHost: a.example:80\r\nX-One: 1\r\nx-one:\t \
                  2 \t\r\nEmpty:\r\n\r\nrest";
    let length = accepted(input, |request| {
        assert_eq!(request.method, Method::Get);
        assert_eq!(request.target, RequestTarget::Origin(b"/a?b=c"));
        assert_eq!(request.version, HttpVersion::Http11);
        assert_eq!(request.host, Some(&b"a.example:80"[..]));
        assert_eq!(request.framing, Framing::None);
        assert!(request.persistent && !request.expects_continue && request.upgrade.is_none());
        assert_eq!(request.fields.len(), 4);
        assert_eq!(request.fields.first("x-one"), Some(&b"1"[..]));
        assert_eq!(request.fields.all("x-one").collect::<Vec<_>>(), [b"1", b"2"]);
        assert_eq!(request.fields.first("empty"), Some(&b""[..]));
        assert_eq!(request.fields.first("absent"), None);
        let names: Vec<&str> = request.fields.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["Host", "X-One", "x-one", "Empty"]);
    });
    assert_eq!(length, input.len() - 4);
}

#[test]
fn statuses_of_refusals() {
    for (reason, code) in [
        (Reason::InvalidHost, 400),
        (Reason::LengthAndCoding, 400),
        (Reason::MethodNotAllowed, 405),
        (Reason::BodyTooLarge, 413),
        (Reason::TooManyFields, 431),
        (Reason::MethodUnknown, 501),
        (Reason::MethodTooLong, 501),
        (Reason::CodingUnknown, 501),
        (Reason::VersionNotSupported, 505),
    ] {
        assert_eq!(reason.status().code(), code, "{reason:?}");
        assert!(!reason.text().is_empty());
    }
}
