//! Field lines, and the Host field in particular.

use wire::http::refusal::Reason;

use crate::requirements::verdict::{accepted, refused, refused_field, refused_line, with_fields};

#[test]
fn rfc9112_3_2_host_is_there_once_and_is_a_host() {
    refused(b"GET / HTTP/1.1\r\n\r\n", Reason::MissingHost);
    refused(b"GET / HTTP/1.1\r\nHosts: a\r\n\r\n", Reason::MissingHost);
    refused(b"GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n", Reason::DuplicateHost);
    refused(b"GET / HTTP/1.1\r\nX: y\r\nHOST: a\r\nhost: a\r\n\r\n", Reason::DuplicateHost);
    for host in [
        "", " ", "u@a", "u:p@a", "a/b", "a,b", "a b", "a:b", "a:80:80", "a:123456", ":80",
        "http://a", "a?b", "[a]", "a\u{e9}", "a\tb",
    ] {
        refused(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes(), Reason::InvalidHost);
        refused(
            format!("GET / HTTP/1.0\r\nX: y\r\nHost:{host}\r\n\r\n").as_bytes(),
            Reason::InvalidHost,
        );
    }
    for host in
        ["a", "a.example.", "127.0.0.1:8080", "[::1]", "[::1]:80", "A_b.example", "a:", "%41"]
    {
        for field in [format!("Host: {host}"), format!("Host:{host}"), format!("hOST:\t{host} ")] {
            let input = format!("GET / HTTP/1.1\r\n{field}\r\n\r\n");
            accepted(input.as_bytes(), |request| {
                assert_eq!(request.host, Some(host.as_bytes()));
                assert_eq!(request.fields.first("host"), Some(host.as_bytes()));
            });
        }
    }
    accepted(b"GET / HTTP/1.0\r\n\r\n", |request| assert_eq!(request.host, None));
}

#[test]
fn rfc9112_3_2_2_host_repeats_the_authority_of_the_target() {
    refused_line("GET http://b/ HTTP/1.1", Reason::HostMismatch);
    refused_line("GET http://a:81/ HTTP/1.1", Reason::HostMismatch);
    for (target, host) in [("a:80", "a"), ("a", "a:80"), ("a:", "a"), ("[::1]:80", "[::1]")] {
        let input = format!("GET http://{target}/ HTTP/1.1\r\nHost: {host}\r\n\r\n");
        accepted(input.as_bytes(), |request| assert_eq!(request.host, Some(target.as_bytes())));
    }
    refused(b"GET http://[::80]/ HTTP/1.1\r\nHost: [:\r\n\r\n", Reason::InvalidHost);
    refused(b"GET http://a/ HTTP/1.1\r\n\r\n", Reason::MissingHost);
    with_fields("GET http://A/ HTTP/1.1", "", |request| assert_eq!(request.host, Some(&b"A"[..])));
    accepted(b"GET http://b/ HTTP/1.0\r\n\r\n", |request| {
        assert_eq!(request.host, Some(&b"b"[..]))
    });
}

#[test]
fn rfc9112_5_field_lines() {
    refused(b"GET / HTTP/1.1\r\n Host: a\r\n\r\n", Reason::BlankBeforeFirstField);
    refused(b"GET / HTTP/1.1\r\n\tHost: a\r\n\r\n", Reason::BlankBeforeFirstField);
    refused_field(" folded", Reason::ObsoleteFold);
    refused_field("X: a\r\n\tfolded", Reason::ObsoleteFold);
    refused_field(": a", Reason::EmptyFieldName);
    refused_field("X : a", Reason::BlankInFieldName);
    refused_field("X\t: a", Reason::BlankInFieldName);
    refused_field("X Y: a", Reason::BlankInFieldName);
    refused_field("X", Reason::FieldWithoutColon);
    refused_field("Xabcdefghijklmnopqrstuvwxyz", Reason::FieldWithoutColon);
    for name in ["X(", "X\u{0}", "X\u{7f}", "X\u{e9}", "\"X\"", "X/Y", "X@", "X[Y]", "X=Y", "{"] {
        refused_field(&format!("{name}: a"), Reason::InvalidFieldName);
    }
    for byte in (0..0x20u8).chain([0x7f]).filter(|byte| !b"\t\r\n".contains(byte)) {
        refused_field(&format!("X: abc{}def", char::from(byte)), Reason::InvalidFieldValue);
    }
    with_fields("GET / HTTP/1.1", "!#$%&'*+-.^_`|~09azAZ: a\tb \u{80}\u{ff} ,;\"\r\n", |request| {
        let value = "a\tb \u{80}\u{ff} ,;\"".as_bytes();
        assert_eq!(request.fields.first("!#$%&'*+-.^_`|~09azaz"), Some(value));
    });
}
