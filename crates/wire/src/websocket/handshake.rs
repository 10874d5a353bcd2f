//! The opening handshake of a server (RFC 6455 section 4.2; on a stream RFC 8441 section 5).
//!
//! Owns what a request must have to become a WebSocket, and the token that accepts it. Never answers.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};

use crate::http::head::{HttpVersion, RequestHead};
use crate::http::method::Method;

/// The supported version, for `Sec-WebSocket-Version` in a 426.
pub const SUPPORTED_VERSION: &str = "13";

/// Section 1.3: hashed after the key, so that only a server that understands WebSocket can accept.
const ACCEPT_SUFFIX: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Bytes of a decoded key.
const KEY_BYTES: usize = 16;

/// Why a request does not become a WebSocket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeProblem {
    /// It does not request one: no `Upgrade: websocket` with `Connection: upgrade`, not GET, or HTTP/1.0; or, on a
    /// stream, another protocol.
    NotAsked,
    /// It requests another version: 426, with the supported one.
    Version,
    /// Its key is missing, repeated, or not 16 bytes in base64: 400.
    Key,
}

/// Checks a request and returns the value of `Sec-WebSocket-Accept`. `None`: it came on a stream, where nobody can
/// take it for something else, so it has no key and its answer no token (RFC 8441, 5).
///
/// # Errors
/// If it does not become a WebSocket.
pub fn check(request: &RequestHead<'_, '_>) -> Result<Option<[u8; 28]>, HandshakeProblem> {
    let is_asked = request.upgrade.is_some_and(|protocols| {
        let mut names = protocols.split(|byte| *byte == b',');
        names.any(|name| name.trim_ascii().eq_ignore_ascii_case(b"websocket"))
    });
    if !is_asked || request.method != Method::Get || request.version == HttpVersion::Http10 {
        return Err(HandshakeProblem::NotAsked);
    }
    let mut versions = request.fields.all("sec-websocket-version");
    if versions.next() != Some(SUPPORTED_VERSION.as_bytes()) || versions.next().is_some() {
        return Err(HandshakeProblem::Version);
    }
    if request.version == HttpVersion::Http2 {
        return Ok(None);
    }
    let mut keys = request.fields.all("sec-websocket-key");
    let key = keys.next().filter(|key| is_key(key) && keys.next().is_none());
    key.map(|key| Some(accept_token(key))).ok_or(HandshakeProblem::Key)
}

fn is_key(key: &[u8]) -> bool {
    let mut decoded = [0; KEY_BYTES + 2];
    STANDARD.decode_slice(key, &mut decoded) == Ok(KEY_BYTES)
}

/// A key for a server that is asked on behalf of a client without one, from what only this request is called. It keeps
/// nothing secret: it shows that the server speaks WebSocket, and no answer to another request is one to this.
pub fn key_of(request: &[u8]) -> String {
    let hash = Sha1::new().chain_update(request).finalize();
    STANDARD.encode(hash.get(..KEY_BYTES).unwrap_or_default())
}

/// The value of `Sec-WebSocket-Accept` for a key.
pub fn accept_token(key: &[u8]) -> [u8; 28] {
    let hash = Sha1::new().chain_update(key).chain_update(ACCEPT_SUFFIX).finalize();
    let mut token = [0; 28];
    let written = STANDARD.encode_slice(hash, &mut token);
    debug_assert_eq!(written, Ok(28), "20 bytes are 28 characters");
    token
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::head::{FieldSlots, Head, HeadLimits, parse};
    use crate::http::url::Scheme;

    fn checked(head: &str) -> Result<String, HandshakeProblem> {
        let mut slots = FieldSlots::new();
        match parse(head.as_bytes(), Scheme::Http, &HeadLimits::default(), &mut slots) {
            Ok(Head::Complete { request, .. }) => {
                let token = check(&request)?.expect("on a connection there is a token");
                Ok(String::from_utf8_lossy(&token).into_owned())
            }
            other => panic!("{other:?}"),
        }
    }

    fn with(fields: &str) -> String {
        format!("GET /chat HTTP/1.1\r\nHost: a\r\n{fields}\r\n")
    }

    const KEY: &str = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    const VERSION: &str = "Sec-WebSocket-Version: 13\r\n";
    const UPGRADE: &str = "Upgrade: websocket\r\nConnection: Upgrade\r\n";

    #[test]
    fn a_key_is_valid_and_differs_between_requests() {
        assert!(is_key(key_of(b"one").as_bytes()));
        assert_ne!(key_of(b"one"), key_of(b"two"));
    }

    /// RFC 6455 section 1.3 has this key and this answer.
    #[test]
    fn the_handshake_of_the_rfc_is_accepted() {
        let head = with(&format!("{UPGRADE}{KEY}{VERSION}"));
        assert_eq!(checked(&head).as_deref(), Ok("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
        let browser = "Connection: keep-alive, Upgrade\r\nUpgrade: h2c, WebSocket\r\n";
        assert!(checked(&with(&format!("{browser}{KEY}{VERSION}"))).is_ok());
    }

    /// RFC 6455 section 4.2.1.
    #[test]
    fn a_request_that_lacks_something_is_not_accepted() {
        let cases = [
            (with(&format!("{KEY}{VERSION}")), HandshakeProblem::NotAsked),
            (with(&format!("Upgrade: websocket\r\n{KEY}{VERSION}")), HandshakeProblem::NotAsked),
            (
                with(&format!("Upgrade: h2c\r\nConnection: upgrade\r\n{KEY}{VERSION}")),
                HandshakeProblem::NotAsked,
            ),
            (
                with(&format!("{UPGRADE}{KEY}{VERSION}")).replace("GET", "POST"),
                HandshakeProblem::NotAsked,
            ),
            (
                with(&format!("{UPGRADE}{KEY}{VERSION}")).replace("/1.1", "/1.0"),
                HandshakeProblem::NotAsked,
            ),
            (with(&format!("{UPGRADE}{KEY}")), HandshakeProblem::Version),
            (
                with(&format!("{UPGRADE}{KEY}{VERSION}")).replace("13", "8"),
                HandshakeProblem::Version,
            ),
            (with(&format!("{UPGRADE}{KEY}{VERSION}{VERSION}")), HandshakeProblem::Version),
            (with(&format!("{UPGRADE}{VERSION}")), HandshakeProblem::Key),
            (with(&format!("{UPGRADE}{KEY}{KEY}{VERSION}")), HandshakeProblem::Key),
            (
                with(&format!("{UPGRADE}Sec-WebSocket-Key: dGhlIA==\r\n{VERSION}")),
                HandshakeProblem::Key,
            ),
            (
                with(&format!("{UPGRADE}{VERSION}Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZS4u\r\n")),
                HandshakeProblem::Key,
            ),
            (
                with(&format!("{UPGRADE}{VERSION}Sec-WebSocket-Key: ????????????????????????\r\n")),
                HandshakeProblem::Key,
            ),
        ];
        for (head, problem) in cases {
            assert_eq!(checked(&head), Err(problem), "{head}");
        }
    }
}
