//! The opening handshake of a WebSocket: an accepted one has everything that RFC 6455 requires, as a lenient parser
//! sees it.

use wire::http::head::{self, FieldSlots, Head, HeadLimits};
use wire::http::url::Scheme;
use wire::websocket;

/// The code that it runs.
pub const COVERS: &[&str] = &["crates/wire/src/websocket/handshake"];

/// Handshakes, good and bad.
pub const SEEDS: &[&[u8]] = &[
    b"GET /c HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: \
      dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
    b"GET /c HTTP/1.1\r\nHost: a\r\nUpgrade: h2c, WebSocket\r\nConnection: keep-alive, \
      upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n",
    b"GET /c HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: \
      short\r\nSec-WebSocket-Version: 8\r\n\r\n",
];

/// Pieces of handshakes.
pub const WORDS: &[&[u8]] = &[
    b"Upgrade: websocket\r\n",
    b"Upgrade: ",
    b"Connection: Upgrade\r\n",
    b"Connection: close\r\n",
    b"Sec-WebSocket-Key: ",
    b"dGhlIHNhbXBsZSBub25jZQ==",
    b"Sec-WebSocket-Version: 13\r\n",
    b"Sec-WebSocket-Version: 8\r\n",
    b"websocket",
    b"Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n",
    b"; server_max_window_bits=15",
    b"POST ",
    b"HTTP/1.0",
    b", ",
    b"\r\n",
];

/// Checks the properties of this module for one input.
///
/// # Panics
/// When one is broken.
pub fn check(data: &[u8]) {
    let mut slots = FieldSlots::new();
    let limits = HeadLimits::default();
    let Ok(Head::Complete { request, length }) =
        head::parse(data, Scheme::Http, &limits, &mut slots)
    else {
        return;
    };
    if let Some(answer) = websocket::answer_to(request.fields.all("sec-websocket-extensions")) {
        assert!(answer.starts_with("permessage-deflate; server_no_context_takeover"));
        let offer = b"permessage-deflate";
        assert!(data.windows(offer.len()).any(|part| part == offer));
    }
    let Ok(token) = websocket::check(&request) else { return };
    // A later minor version is treated as 1.1, but not by the other parser.
    let line = data.trim_ascii_start().split(|byte| *byte == b'\r').next();
    if !line.is_some_and(|line| line.ends_with(b" HTTP/1.1")) {
        return;
    }
    let mut fields = [httparse::EMPTY_HEADER; 256];
    let mut oracle = httparse::Request::new(&mut fields);
    let parsed = oracle.parse(&data[..length]).expect("what we take, it takes");
    assert!(parsed.is_complete() && oracle.method == Some("GET") && oracle.version == Some(1));
    let all = |name: &str| {
        let of_name = oracle.headers.iter().filter(|field| field.name.eq_ignore_ascii_case(name));
        of_name.map(|field| field.value.trim_ascii()).collect::<Vec<_>>()
    };
    let names = |name: &str, wanted: &str| {
        all(name).iter().any(|value| {
            let mut members = value.split(|byte| *byte == b',');
            members.any(|member| member.trim_ascii().eq_ignore_ascii_case(wanted.as_bytes()))
        })
    };
    assert!(names("upgrade", "websocket") && names("connection", "upgrade"));
    assert_eq!(all("sec-websocket-version"), [b"13"]);
    let [key] = all("sec-websocket-key")[..] else { panic!("one key") };
    assert!(key.len() == 24 && key.ends_with(b"=="), "16 bytes in base64");
    assert_eq!(token, Some(websocket::accept_token(key)));
}
