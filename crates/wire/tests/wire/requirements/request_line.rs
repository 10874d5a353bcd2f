//! Methods, targets, versions, and the ends of lines.

use wire::http::head::{HttpVersion, RequestTarget};
use wire::http::refusal::Reason;

use crate::requirements::verdict::{accepted, partial, refused, refused_line, with_fields};

#[test]
fn rfc9110_9_1_methods() {
    for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"] {
        with_fields(&format!("{method} / HTTP/1.1"), "", |request| {
            assert_eq!(request.method.as_str(), method);
        });
    }
    refused_line("TRACE / HTTP/1.1", Reason::MethodNotAllowed);
    refused_line("CONNECT a:80 HTTP/1.1", Reason::MethodNotAllowed);
    for unknown in ["get", "Get", "BREW", "GETT", "GE", "PRI", "x", "M-SEARCH"] {
        refused_line(&format!("{unknown} / HTTP/1.1"), Reason::MethodUnknown);
    }
    refused_line(&format!("{} / HTTP/1.1", "A".repeat(32)), Reason::MethodUnknown);
    refused("A".repeat(33).as_bytes(), Reason::MethodTooLong);
    for invalid in [" GET", "G(T", "\u{e9}", "\tGET", "GET\t", "\"GET\"", "\u{0}", "{"] {
        refused_line(&format!("{invalid} / HTTP/1.1"), Reason::InvalidMethod);
    }
    refused(b"GET\r\n\r\n", Reason::InvalidMethod);
    refused(b"GET\n", Reason::BareLineFeed);
}

#[test]
fn rfc9112_2_2_a_few_empty_lines_are_stepped_over() {
    let request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    for count in 0..=2 {
        let input = format!("{}{request}", "\r\n".repeat(count));
        assert_eq!(accepted(input.as_bytes(), |_| {}), input.len());
    }
    refused(format!("\r\n\r\n\r\n{request}").as_bytes(), Reason::TooManyEmptyLines);
    refused(format!("\n{request}").as_bytes(), Reason::BareLineFeed);
    refused(format!("\r{request}").as_bytes(), Reason::BareCarriageReturn);
    for open in ["", "\r", "\r\n", "\r\n\r", "\r\n\r\n"] {
        partial(open.as_bytes());
    }
}

#[test]
fn rfc9112_2_2_every_line_ends_with_both_bytes() {
    for input in [
        "GET / HTTP/1.1\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\n",
        "GET /\n",
    ] {
        refused(input.as_bytes(), Reason::BareLineFeed);
    }
    for input in [
        "GET / HTTP/1.1\rHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\rX",
    ] {
        refused(input.as_bytes(), Reason::BareCarriageReturn);
    }
}

#[test]
fn rfc9110_7_4_what_is_asked_for_over_https_is_not_answered_in_the_clear() {
    refused(b"GET https://a/ HTTP/1.1\r\nHost: a\r\n\r\n", Reason::SecureTarget);
    refused(b"GET HTTPS://a/ HTTP/1.1\r\nHost: a\r\n\r\n", Reason::SecureTarget);
}

#[test]
fn rfc9112_3_2_forms_of_the_target() {
    let target = |line: &str, expected: RequestTarget<'_>| {
        with_fields(&format!("{line} HTTP/1.1"), "", |request| {
            assert_eq!(request.target, expected, "{line}");
            assert_eq!(request.host, Some(&b"a"[..]));
        });
    };
    target("GET /", RequestTarget::Origin(b"/"));
    target("GET //a", RequestTarget::Origin(b"//a"));
    target(
        "GET /!\"$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
        RequestTarget::Origin(b"/!\"$%&'()*+,-./:;<=>?@[\\]^_`{|}~"),
    );
    target("GET http://a/b?c", RequestTarget::Origin(b"/b?c"));
    target("GET HTTP://a", RequestTarget::Origin(b"/"));
    target("GET http://a?b=c", RequestTarget::Origin(b"?b=c"));
    target("OPTIONS *", RequestTarget::Asterisk);
    for line in
        ["GET *", "GET a", "GET a:80", "GET ftp://a/", "GET ?a", "GET http:/a", "OPTIONS **"]
    {
        refused_line(&format!("{line} HTTP/1.1"), Reason::InvalidTargetForm);
    }
    for authority in ["", "u@a", "a,b", "a:b", "a:123456", "[a]"] {
        refused_line(&format!("GET http://{authority}/ HTTP/1.1"), Reason::InvalidTargetAuthority);
    }
}

#[test]
fn rfc9112_3_2_the_target_is_visible_ascii_without_a_fragment() {
    refused_line("GET /#a HTTP/1.1", Reason::FragmentInTarget);
    for byte in [0, 1, 9, 11, 0x1f, 0x7f, 0x80, 0xa0, 0xff] {
        let input = [b"GET /abcdefghi", &[byte][..], b" HTTP/1.1\r\nHost: a\r\n\r\n"].concat();
        refused(&input, Reason::InvalidTarget);
    }
    refused_line("GET /a b HTTP/1.1", Reason::InvalidVersion);
    refused_line("GET  / HTTP/1.1", Reason::MissingTarget);
    refused_line("GET ", Reason::MissingTarget);
}

#[test]
fn rfc9112_2_3_versions() {
    with_fields("GET / HTTP/1.0", "", |request| assert_eq!(request.version, HttpVersion::Http10));
    for minor in 1..=9 {
        with_fields(&format!("GET / HTTP/1.{minor}"), "", |request| {
            assert_eq!(request.version, HttpVersion::Http11);
        });
    }
    for version in ["HTTP/2.0", "HTTP/3.0", "HTTP/0.8", "HTTP/9.1"] {
        refused_line(&format!("GET / {version}"), Reason::VersionNotSupported);
    }
    for version in [
        "http/1.1",
        "Http/1.1",
        "HTTP/1",
        "HTTP/11",
        "HTTP/1.",
        "HTTP/1.10",
        "HTTP/01.1",
        "HTTP/1,1",
        "HTTP /1.1",
        "HTTP/1.1 ",
        "HTTP/a.b",
        "HTTPS/1.1",
        " HTTP/1.1",
        "HTTP/1.1\t",
        "FOO",
        "HTTP/2",
    ] {
        refused_line(&format!("GET / {version}"), Reason::InvalidVersion);
    }
    refused(b"GET /\r\n", Reason::MissingVersion);
    refused(b"GET / \r\n", Reason::MissingVersion);
    refused_line("GET / HTTP/0.9", Reason::MissingVersion);
}
