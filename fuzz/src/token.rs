//! Tokens of channels: bytes without a valid signature are never accepted; a signed token grants only what its claims
//! say.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use channels::limits::{NAME_SIZE, TOKEN_SIZE};
use channels::{TokenKeys, TokenProblem};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The code that it runs.
pub const COVERS: &[&str] = &["crates/channels/src/token"];

/// The number of a header, and claims.
pub const SEEDS: &[&[u8]] = &[
    b"\x00{\"exp\":1900000000,\"sub\":\"ann\",\"subscribe\":[\"chat.*\"],\"publish\":[\"a\"],\"info\":{\"a\":1}}",
    b"\x00{\"exp\":1700000000}",
    b"\x01{\"exp\":1900000000,\"nbf\":1850000000.5,\"aud\":\"x\"}",
    b"\x02{}",
    b"\xffeyJhbGciOiJIUzI1NiJ9.eyJleHAiOjE5MDAwMDAwMDB9.AAAA",
];

/// Pieces of claims and tokens.
pub const WORDS: &[&[u8]] = &[
    b"\"exp\":",
    b"\"nbf\":",
    b"\"sub\":",
    b"\"aud\":",
    b"\"info\":",
    b"\"subscribe\":[",
    b"\"publish\":[",
    b"1900000000",
    b"1e300",
    b"-0.0",
    b"null",
    b"eyJhbGciOiJub25lIn0.",
    b".",
];

const HEADERS: [&str; 5] = [
    r#"{"alg":"HS256"}"#,
    r#"{"typ":"JWT","alg":"HS256","kid":"1"}"#,
    r#"{"alg":"none"}"#,
    r#"{"alg":"HS256","crit":["exp"]}"#,
    r#"{"alg":"EdDSA"}"#,
];

const SECRET: &str = "a secret of thirty-two bytes, or more";
const NOW: u64 = 1_800_000_000;

static KEYS: LazyLock<[TokenKeys; 2]> = LazyLock::new(|| {
    let public = "-----BEGIN PUBLIC \
                  KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC \
                  KEY-----";
    let (public, _rest) = TokenKeys::of_public_keys(public).expect("a key");
    [TokenKeys::of_secrets([SECRET]), public]
});

/// Checks the properties of this module for one input.
///
/// # Panics
/// When one is broken.
pub fn check(data: &[u8]) {
    for keys in &*KEYS {
        assert!(keys.read(data, NOW).is_err(), "nobody signed it");
    }
    let Some((header, claims)) = data.split_first() else { return };
    let header = usize::from(*header);
    let Some(text) = HEADERS.get(header) else { return };
    let token = signed(text, claims);
    let read = KEYS[0].read(token.as_bytes(), NOW);
    assert!(KEYS[1].read(token.as_bytes(), NOW).is_err(), "a public key is no secret");
    if header >= 2 {
        assert!(read.is_err(), "{text}");
        return;
    }
    assert!(!matches!(read, Err(TokenProblem::Signature | TokenProblem::Algorithm)));
    let Ok(pass) = read else { return };
    assert!(token.len() <= TOKEN_SIZE && pass.expires > NOW);
    // Claims that are not valid JSON are not checked further.
    let Ok(said) = serde_json::from_slice::<serde_json::Value>(claims) else { return };
    assert!(said["exp"].as_f64().is_some_and(|exp| exp >= pass.expires as f64 || exp > 1e19));
    assert!(said["nbf"].as_f64().is_none_or(|nbf| nbf <= NOW as f64));
    assert_eq!(pass.user(), said["sub"].as_str().filter(|user| !user.is_empty()));
    assert!(pass.user().is_none_or(|user| user.len() <= NAME_SIZE));
    // It is valid until then and no longer.
    let late = KEYS[0].read(token.as_bytes(), pass.expires);
    assert_eq!(late.err(), Some(TokenProblem::Expired));
}

fn signed(header: &str, claims: &[u8]) -> String {
    let text = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
    let mut code = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).expect("any length");
    code.update(text.as_bytes());
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(code.finalize().into_bytes()))
}
