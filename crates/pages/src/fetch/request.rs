//! Outgoing requests.
//!
//! Owns the head of a request, and that nothing in it changes where the request ends or who
//! receives it.

use std::time::Duration;

use wire::http::method::Method;
use wire::http::response::append_field_as_spelt;

use super::failure::Failure;
use super::url::{self, Host, Target};
use crate::limits::{FETCH_BODY_SIZE, FETCH_METHOD_SIZE};

/// A request for a fetch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The method, in capitals.
    pub method: String,
    /// The URL.
    pub url: Vec<u8>,
    /// Names and values of fields, one per line.
    pub fields: Vec<u8>,
    /// The body, if there is one.
    pub body: Option<Vec<u8>>,
    /// How long it may take; for an answer in pieces, how long the head and each piece may take.
    pub timeout: Duration,
    /// How the body of the answer is delivered.
    pub wanted: Wanted,
    /// Whose share of the fetches it uses.
    pub owner: Owner,
}

/// Whose share of the fetches a fetch uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Owner {
    /// A request that a page answers.
    #[default]
    Request,
    /// A process that a page spawned.
    Process,
}

/// How the body of an answer is delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wanted {
    /// As a whole.
    #[default]
    Whole,
    /// Piece by piece, as it arrives.
    Pieces,
}

/// A request that is ready to be sent.
#[derive(Debug)]
pub(super) struct Prepared {
    /// Its destination.
    pub(super) host: Host,
    pub(super) port: u16,
    /// Head and body.
    pub(super) bytes: Box<[u8]>,
    /// The method, for the reader of the answer.
    pub(super) method: Method,
    /// Whether it may be sent again (RFC 9110, 9.2.2).
    pub(super) repeatable: Repeatable,
    /// Its owner.
    pub(super) owner: Owner,
}

/// Whether a request may be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeatable {
    Yes,
    No,
}

/// Fields that determine the end of a message or the use of a connection, which only this server sets (RFC 9110, 7.6.1; RFC 9112, 6).
const FRAMING: [&str; 9] = [
    "connection",
    "content-length",
    "expect",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

const USER_AGENT: &str = concat!("velodrome/", env!("CARGO_PKG_VERSION"));

impl Prepared {
    /// Writes a request.
    pub(super) fn of(asked: &Asked) -> Result<Self, Failure> {
        let target = url::parse(&asked.url)?;
        let method = asked.method.as_str();
        let is_word = method.bytes().all(|byte| byte.is_ascii_uppercase());
        let is_method = !method.is_empty() && method.len() <= FETCH_METHOD_SIZE && is_word;
        // CONNECT and TRACE concern the connection, not a resource (RFC 9110, 9.3.6 and 9.3.8).
        if !is_method || matches!(method, "CONNECT" | "TRACE") {
            return Err(Failure::Method);
        }
        let body = asked.body.as_deref();
        if body.is_some_and(|body| body.len() > FETCH_BODY_SIZE) {
            return Err(Failure::RequestTooLong);
        }
        let mut bytes = Vec::with_capacity(256 + asked.fields.len() + body.map_or(0, <[u8]>::len));
        for piece in [method, " ", &target.path, " HTTP/1.1\r\n"] {
            bytes.extend_from_slice(piece.as_bytes());
        }
        write_fields(&mut bytes, asked, &target)?;
        // A method that defines a meaning for a body states a length of 0 if there is none (RFC 9110, 8.6).
        let length = match body {
            None if !matches!(method, "POST" | "PUT" | "PATCH") => None,
            body => Some(body.map_or(0, <[u8]>::len)),
        };
        if let Some(length) = length {
            bytes.extend_from_slice(b"Content-Length: ");
            bytes.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(body.unwrap_or_default());
        let repeatable = match method {
            "GET" | "HEAD" | "PUT" | "DELETE" | "OPTIONS" => Repeatable::Yes,
            _ => Repeatable::No,
        };
        let method = if method == "HEAD" { Method::Head } else { Method::Get };
        let Target { host, port, .. } = target;
        Ok(Self { host, port, bytes: bytes.into(), method, repeatable, owner: asked.owner })
    }
}

fn write_fields(out: &mut Vec<u8>, asked: &Asked, target: &Target) -> Result<(), Failure> {
    let own = [
        ("Host", target.authority.as_str()),
        ("User-Agent", USER_AGENT),
        ("Accept-Encoding", "identity"),
    ];
    for (name, value) in own {
        if !fields(&asked.fields).any(|(asked, _)| asked.eq_ignore_ascii_case(name.as_bytes())) {
            append_field_as_spelt(out, name, value.as_bytes()).map_err(|_| Failure::Field)?;
        }
    }
    for (name, value) in fields(&asked.fields) {
        let name = str::from_utf8(name).map_err(|_| Failure::Field)?;
        if !FRAMING.iter().any(|framing| name.eq_ignore_ascii_case(framing)) {
            append_field_as_spelt(out, name, value).map_err(|_| Failure::Field)?;
        }
    }
    Ok(())
}

/// Names and values, one per line.
fn fields(lines: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut lines = lines.strip_suffix(b"\n").unwrap_or(lines).split(|byte| *byte == b'\n');
    std::iter::from_fn(move || Some((lines.next()?, lines.next()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(method: &str, fields: &str, body: Option<&str>) -> Asked {
        Asked {
            method: method.into(),
            url: b"http://a.b:81/x?y".into(),
            fields: fields.into(),
            body: body.map(Into::into),
            timeout: Duration::from_secs(1),
            ..Asked::default()
        }
    }

    fn sent(method: &str, fields: &str, body: Option<&str>) -> String {
        let prepared = Prepared::of(&asked(method, fields, body)).unwrap();
        String::from_utf8(prepared.bytes.into()).unwrap().replace(USER_AGENT, "UA")
    }

    #[test]
    fn a_request_has_what_every_server_wants() {
        assert_eq!(
            sent("GET", "", None),
            "GET /x?y HTTP/1.1\r\nHost: a.b:81\r\nUser-Agent: UA\r\nAccept-Encoding: identity\r\n\r\n"
        );
        assert_eq!(
            sent("POST", "X-A\nb\nhost\nother\nuser-agent\nme\n", Some("four")),
            "POST /x?y HTTP/1.1\r\nAccept-Encoding: identity\r\nX-A: b\r\nhost: other\r\n\
             user-agent: me\r\nContent-Length: 4\r\n\r\nfour"
        );
        assert!(sent("PUT", "", None).ends_with("Content-Length: 0\r\n\r\n"));
        assert!(!sent("DELETE", "", None).contains("Content-Length"));
        assert!(sent("DELETE", "", Some("")).ends_with("Content-Length: 0\r\n\r\n"));
        // An empty value is a value.
        assert!(sent("GET", "x-empty\n\n", None).ends_with("x-empty: \r\n\r\n"));
    }

    #[test]
    fn nobody_else_says_where_a_request_ends() {
        let fields = "Content-Length\n99\ntransfer-encoding\nchunked\nConnection\nclose\nTE\nx\n\
            Expect\n100-continue\nUpgrade\nx\nKeep-Alive\nx\nTrailer\nx\nProxy-Connection\nx\n";
        assert_eq!(sent("GET", fields, None), sent("GET", "", None));
    }

    #[test]
    fn what_would_change_a_request_is_refused() {
        for fields in ["x y\nz\n", "\nz\n", "x:\nz\n", "x\r\nz\n", "x\na\rb\n", "x\na\0b\n"] {
            let failure = Prepared::of(&asked("GET", fields, None)).unwrap_err();
            assert_eq!(failure, Failure::Field, "{fields:?}");
        }
        let long = "A".repeat(FETCH_METHOD_SIZE + 1);
        for method in ["", "get", "G T", "CONNECT", "TRACE", "GET / HTTP/1.1\r\nX:", &long] {
            let failure = Prepared::of(&asked(method, "", None)).unwrap_err();
            assert_eq!(failure, Failure::Method, "{method:?}");
        }
        let body = "x".repeat(FETCH_BODY_SIZE + 1);
        let failure = Prepared::of(&asked("POST", "", Some(&body))).unwrap_err();
        assert_eq!(failure, Failure::RequestTooLong);
    }

    #[test]
    fn only_what_does_no_harm_twice_may_be_sent_twice() {
        let repeatable = |method| Prepared::of(&asked(method, "", None)).unwrap().repeatable;
        for method in ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"] {
            assert_eq!(repeatable(method), Repeatable::Yes, "{method}");
        }
        for method in ["POST", "PATCH", "PURGE"] {
            assert_eq!(repeatable(method), Repeatable::No, "{method}");
        }
    }
}
