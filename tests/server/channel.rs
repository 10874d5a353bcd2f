//! Clients of channels, with plain sockets.
//!
//! Owns what they send. Does not check what they receive.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::time::SystemTime;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use conformance::{ParsedResponse, RequestKind};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha256;

use super::Server;
use super::client::{head, read};
use super::patience::{Deadline, PATIENCE, until};

/// The address for Redis clients.
pub(crate) fn resp(server: &Server) -> SocketAddr {
    let address = until("the address of Redis clients", || {
        let printed = server.directory().text("stdout.txt");
        printed.lines().find_map(|line| line.trim().strip_prefix("redis://").map(str::to_owned))
    });
    address.parse().unwrap()
}

/// A connection with a read timeout.
pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Sends bytes and reads until these have arrived.
pub(crate) fn say(stream: &mut TcpStream, bytes: &[u8], end: &[u8]) -> Vec<u8> {
    stream.write_all(bytes).unwrap();
    let (mut heard, mut piece, deadline) = (Vec::new(), [0; 65536], Deadline::new());
    // A part that was searched once is not searched again: an answer may have a megabyte.
    let mut searched = 0;
    while !heard[searched..].windows(end.len()).any(|part| part == end) {
        searched = (heard.len() + 1).saturating_sub(end.len()).max(searched);
        let count = read(stream, &mut piece).unwrap_or_else(|error| {
            panic!("{error} behind {:?}", String::from_utf8_lossy(&heard));
        });
        assert!(count > 0, "it ended behind {:?}", String::from_utf8_lossy(&heard));
        // A stream that says from time to time that it is alive ends no wait for a read.
        assert!(!deadline.is_over(), "nothing came behind {:?}", String::from_utf8_lossy(&heard));
        heard.extend_from_slice(&piece[..count]);
    }
    heard
}

/// The fields of a WebSocket request.
pub(crate) const UPGRADE: &str = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

/// A new WebSocket.
pub(crate) fn websocket(server: &Server, path: &str) -> TcpStream {
    let mut stream = connect(server.address());
    let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n{UPGRADE}\r\n");
    let head = say(&mut stream, request.as_bytes(), b"\r\n\r\n");
    let head = String::from_utf8_lossy(&head);
    assert!(head.contains("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"), "{head}");
    stream
}

/// One request on a connection of its own.
pub(crate) fn ask(
    server: &Server,
    method: &str,
    path: &str,
    fields: &[(&str, &str)],
    body: &[u8],
) -> ParsedResponse {
    let length = body.len().to_string();
    let fields = [fields, &[("Content-Length", &*length)]].concat();
    let mut client = server.client();
    client.send([head(method, path, &fields).as_bytes(), body].concat()).unwrap();
    client.response(RequestKind::of_method(Some(method))).unwrap()
}

/// Publishes; returns the status.
pub(crate) fn post(server: &Server, path: &str, body: &[u8]) -> u16 {
    ask(server, "POST", path, &[], body).status
}

/// A masked text frame; the mask is zero.
pub(crate) fn frame(text: &str) -> Vec<u8> {
    let length = u16::try_from(text.len()).unwrap();
    let head = match u8::try_from(length) {
        Ok(short @ 0..126) => vec![0x81, 0x80 | short],
        _ => [&[0x81, 0x80 | 126][..], &length.to_be_bytes()].concat(),
    };
    [&head[..], &[0; 4], text.as_bytes()].concat()
}

/// The secret that signs tokens.
pub(crate) const SECRET: &str = "the secret that tokens are signed with";
/// The API key of a program.
pub(crate) const API_KEY: &str = "the key of a program that may do all";

/// Sends orders of a program, and returns the answer.
pub(crate) fn order(server: &Server, orders: &Value) -> Value {
    let key = format!("Bearer {API_KEY}");
    let fields = [("Authorization", &*key)];
    let answer = ask(server, "POST", "/channels", &fields, orders.to_string().as_bytes());
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    serde_json::from_slice(&answer.body).unwrap()
}

/// A token with these claims, valid for this many seconds.
pub(crate) fn token(claims: &str, seconds: u64) -> String {
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let claims = format!("{{\"exp\":{},{claims}}}", now + seconds);
    let text = format!("{}.{}", part("{\"alg\":\"HS256\",\"typ\":\"JWT\"}"), part(&claims));
    let mut code = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    code.update(text.as_bytes());
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(code.finalize().into_bytes()))
}
