//! The head of a request: any cut gives the same result, an accepted head obeys every rule, and a
//! lenient parser accepts all that ours does.

use wire::http::head::{
    self, FieldSlots, Framing, Head, HeadLimits, HttpVersion, RequestHead, RequestTarget,
};
use wire::http::kept::KeptHead;
use wire::http::url::Scheme;
use wire::limits;

use crate::cutting;

/// The code that it runs.
pub const COVERS: &[&str] = &["crates/wire/src/http/head"];

/// Heads of all kinds.
pub const SEEDS: &[&[u8]] = &[
    b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n",
    b"GET /a?b=c HTTP/1.0\r\n\r\n",
    b"\r\nPOST /x HTTP/1.1\r\nhost: [::1]:8080\r\nContent-Length: 5\r\n\r\nhello",
    b"POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"GET http://example.org:80/p HTTP/1.1\r\nHost: example.org:80\r\nConnection: close\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, keep-alive\r\nUpgrade: websocket\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nAccept: */*\r\nCookie: a=b; c=\"d\"\r\nX-Y:\t z \r\n\r\nGET /",
    b"HEAD /very/long/path/to/something HTTP/1.1\r\nHost: a.b.c\r\nContent-Length: 3, 3\r\n\r\n",
];

/// Pieces of heads, good and bad.
pub const WORDS: &[&[u8]] = &[
    b"GET ",
    b"HEAD ",
    b"POST ",
    b"PUT ",
    b"OPTIONS * ",
    b"CONNECT a:1 ",
    b"TRACE ",
    b"get ",
    b"/",
    b"http://a/",
    b"https://u@a:1/?#",
    b" HTTP/1.1",
    b" HTTP/1.0",
    b" HTTP/1.9",
    b" HTTP/2.0",
    b" http/1.1",
    b"\r\n",
    b"\r\n\r\n",
    b"\n",
    b"\r",
    b" ",
    b"\t",
    b": ",
    b"Host: a\r\n",
    b"Host: [::1]\r\n",
    b"Host:\r\n",
    b"Content-Length: 5\r\n",
    b"Content-Length: +5\r\n",
    b"Content-Length: 18446744073709551616\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: gzip, chunked\r\n",
    b"Transfer-Encoding : chunked\r\n",
    b"Connection: close\r\n",
    b"Connection: keep-alive\r\n",
    b"Expect: 100-continue\r\n",
    b"Upgrade: h2c\r\n",
    b"A: b\r\n",
    b" folded\r\n",
    b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    b"\0",
];

/// The statuses with which a head may be refused.
const STATUSES: [u16; 8] = [400, 405, 414, 417, 421, 431, 501, 505];

/// Checks the properties of this module for one input.
pub fn check(data: &[u8]) {
    let limits = HeadLimits::default();
    cutting::assert_settles(data, &Answer::Partial, |bytes| answer(bytes, &limits));
    let mut slots = FieldSlots::new();
    match head::parse(data, Scheme::Http, &limits, &mut slots) {
        Ok(Head::Partial) => assert!(data.len() < limits.head_size, "partial beyond the limit"),
        Ok(Head::Complete { request, length }) => {
            let text = &data[..length];
            assert!(length <= limits.head_size && text.ends_with(b"\r\n\r\n"));
            assert_request(&request);
            let kept = KeptHead::of(&request);
            assert_eq!(format!("{:?}", kept.request()), format!("{request:?}"), "a kept head");
            assert_lenient_agrees(text, &request);
        }
        Err(refusal) => assert!(STATUSES.contains(&refusal.status().code()), "{refusal:?}"),
    }
}

/// The result of a parse, in a form that can be compared and outlives the input.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Partial,
    Complete { length: usize, request: String },
    Refused(String),
}

fn answer(data: &[u8], limits: &HeadLimits) -> Answer {
    let mut slots = FieldSlots::new();
    match head::parse(data, Scheme::Http, limits, &mut slots) {
        Ok(Head::Partial) => Answer::Partial,
        Ok(Head::Complete { request, length }) => {
            Answer::Complete { length, request: format!("{request:?}") }
        }
        Err(refusal) => Answer::Refused(format!("{refusal:?}")),
    }
}

fn assert_request(request: &RequestHead<'_, '_>) {
    if let RequestTarget::Origin(target) = request.target {
        // An absolute target without a path is its query alone.
        assert!(matches!(target.first(), Some(b'/' | b'?')));
        assert!(target.iter().all(|byte| byte.is_ascii_graphic() && *byte != b'#'));
        assert!(target.len() <= limits::REQUEST_LINE_SIZE);
    }
    assert!(request.fields.len() <= limits::FIELD_COUNT);
    assert_eq!(request.fields.iter().count(), request.fields.len());
    for (name, value) in request.fields.iter() {
        assert!(!name.is_empty() && name.bytes().all(is_token_byte), "{name:?}");
        assert!(name.len() <= limits::FIELD_NAME_SIZE);
        assert!(value.iter().all(|byte| *byte == b'\t' || (*byte >= 0x20 && *byte != 0x7F)));
        assert_eq!(value.trim_ascii(), value, "blanks around a value");
        assert!(request.fields.first(&name.to_ascii_lowercase()).is_some());
    }
    let has = |name: &str| request.fields.first(name).is_some();
    if request.version == HttpVersion::Http11 {
        assert!(request.host.is_some() && request.fields.all("host").count() == 1);
    }
    match request.framing {
        Framing::Chunked => {
            assert!(has("transfer-encoding") && !has("content-length"));
            assert_eq!(request.version, HttpVersion::Http11);
        }
        Framing::Length(_) => assert!(has("content-length") && !has("transfer-encoding")),
        Framing::None => assert!(!has("transfer-encoding")),
    }
    if request.upgrade.is_some() {
        assert!(has("upgrade") && has("connection"));
    }
}

/// RFC 9110 section 5.6.2.
fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// httparse accepts more than we do; if we accept, it must see the same lines.
fn assert_lenient_agrees(text: &[u8], request: &RequestHead<'_, '_>) {
    let mut headers = [httparse::EMPTY_HEADER; limits::FIELD_COUNT];
    let mut lenient = httparse::Request::new(&mut headers);
    match lenient.parse(text) {
        Ok(status) => assert_eq!(status, httparse::Status::Complete(text.len())),
        // RFC 9110 section 2.5: a later minor version is treated as a known one; not by httparse.
        Err(httparse::Error::Version) => return,
        Err(error) => panic!("a lenient parser refuses what we accept: {error}"),
    }
    assert_eq!(lenient.headers.len(), request.fields.len());
    for (theirs, (name, value)) in lenient.headers.iter().zip(request.fields.iter()) {
        assert_eq!(theirs.name, name);
        assert_eq!(theirs.value.trim_ascii(), value);
    }
}
