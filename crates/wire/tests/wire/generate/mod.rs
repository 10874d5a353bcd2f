//! Requests for property tests: mostly well formed, often nearly so.
//!
//! Owns the pieces that requests are put together from. Never says which of them are valid.

use proptest::prelude::*;
use proptest::sample::{Index, select};

/// A message head, from valid to damaged.
pub(crate) fn head() -> impl Strategy<Value = Vec<u8>> {
    let line_end =
        prop_oneof![90 => Just("\r\n"), 1 => Just("\n"), 1 => Just("\r"), 1 => Just(" \r\n")];
    let lead =
        prop_oneof![12 => Just(""), 1 => Just("\r\n"), 1 => Just("\r\n\r\n\r\n"), 1 => Just("\n")];
    let host = prop_oneof![9 => Just(Some("Host: a.example\r\n")), 1 => Just(None)];
    let fields = prop::collection::vec((field(), line_end.clone()), 0..5);
    let damage = prop::collection::vec((any::<Index>(), damage()), 0..3);
    (
        lead,
        request_line(),
        line_end,
        (host, fields),
        prop_oneof![1 => Just(true), 4 => Just(false)],
        damage,
    )
        .prop_map(|(lead, line, end, (host, fields), is_damaged, damage)| {
            let mut text = format!("{lead}{line}{end}");
            text.push_str(host.unwrap_or_default());
            for (field, end) in fields {
                text.push_str(&field);
                text.push_str(end);
            }
            text.push_str("\r\n");
            let mut bytes = text.into_bytes();
            for (index, damage) in damage.into_iter().filter(|_| is_damaged) {
                let at = index.index(bytes.len());
                match damage {
                    Damage::Replace(byte) => bytes[at] = byte,
                    Damage::Insert(byte) => bytes.insert(at, byte),
                    Damage::Remove => drop(bytes.remove(at)),
                }
            }
            bytes
        })
}

#[derive(Clone, Debug)]
enum Damage {
    Replace(u8),
    Insert(u8),
    Remove,
}

fn damage() -> impl Strategy<Value = Damage> {
    let byte = prop_oneof![any::<u8>(), select(b"\r\n\t :,;/#*\0\x7f\x80-_+0x".to_vec())];
    prop_oneof![
        byte.clone().prop_map(Damage::Replace),
        byte.prop_map(Damage::Insert),
        Just(Damage::Remove)
    ]
}

fn request_line() -> impl Strategy<Value = String> {
    let method = prop_oneof![
        20 => Just("GET"),
        4 => Just("POST"),
        1 => select(vec!["HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "get", "TRACE", "BREW"]),
    ];
    let target = prop_oneof![
        20 => "/[a-z0-9%._?=&~-]{0,40}",
        1 => select(vec!["*", "http://a.example/x?y", "http://a.example", "HTTPS://A.example:443/", "//",
            "/#a", "/ ", "a.example:80", "http://u@a.example/", "http://?a", "/\u{e9}", "", "/a\tb"])
            .prop_map(str::to_owned),
    ];
    let version = prop_oneof![
        30 => Just("HTTP/1.1"),
        1 => select(vec!["HTTP/1.0", "HTTP/1.2", "HTTP/2.0", "http/1.1", "HTTP/1.10", "HTTP/1,1", "", "HTTP/0.9"]),
    ];
    (method, target, version)
        .prop_map(|(method, target, version)| format!("{method} {target} {version}"))
}

fn field() -> impl Strategy<Value = String> {
    prop_oneof![
        1 => Just("Host: a.example".to_owned()),
        2 => (select(NAMES.to_vec()), select(vec![": ", ":", ":\t ", " :", ""]), select(VALUES.to_vec()))
            .prop_map(|(name, colon, value)| format!("{name}{colon}{value}")),
        2 => (select(NAMES.to_vec()), select(VALUES.to_vec()))
            .prop_map(|(name, value)| format!("{name}: {value}")),
        6 => "[A-Za-z-]{1,20}: [ -~\t]{0,50}",
        1 => framing_field(),
    ]
}

/// Content-Length or Transfer-Encoding, or a name that a careless reader takes for one of them.
pub(crate) fn framing_field() -> impl Strategy<Value = String> {
    let name = select(vec!["Content-Length", "Transfer-Encoding"]);
    let mark = select(vec!["", "", "", "_", "-", ".", "!", "x", "1", " ", "\t", "\u{b}", ":"]);
    (name, mark, any::<Index>(), prop::bool::ANY, select(VALUES.to_vec())).prop_map(
        |(name, mark, index, replaces, value)| {
            let at = index.index(name.len() + 1);
            let rest =
                if replaces && !mark.is_empty() { name.get(at + 1..) } else { name.get(at..) };
            format!("{}{mark}{}: {value}", &name[..at], rest.unwrap_or_default())
        },
    )
}

const NAMES: &[&str] = &[
    "Host",
    "host",
    "HOST",
    "Connection",
    "connection",
    "Content-Length",
    "content-length",
    "Expect",
    "Transfer-Encoding",
    "transfer-encoding",
    "Upgrade",
    "Accept",
    "Cookie",
    "X",
    "X-Forwarded-For",
    "",
    " Leading",
    "Con tent",
    "Na(me",
    "Accept-Language",
    "Content_Length",
    "Transfer-Encodin",
    "Cache-Control",
];

const VALUES: &[&str] = &[
    "a.example",
    "b.example:80",
    "[::1]:8080",
    "user@a.example",
    "a,b",
    "",
    "0",
    "5",
    "10",
    "+5",
    "5, 5",
    "0x5",
    "9223372036854775808",
    "9223372036854775809",
    "99999999999999999999",
    "close",
    "keep-alive",
    "Close, Upgrade",
    "upgrade",
    "websocket",
    "chunked",
    "Chunked",
    "gzip, chunked",
    "chunked, chunked",
    "chunked, gzip",
    "identity",
    "gzip",
    ",chunked",
    "chunked;q=1",
    "xchunked",
    "100-continue",
    "200-maybe",
    "text/html;q=0.9,*/*",
    "a\tb",
    "caf\u{e9}",
];
