//! The authority: which host a request is for.
//!
//! Owns the rule for Host and for the authority of an absolute target: a host and perhaps a port, nothing
//! else (RFC 9110, 4.2.4 and 7.2). Never resolves a name.

use super::scan;
use crate::limits::PORT_DIGITS;

/// Whether the bytes are `uri-host [ ":" port ]` (RFC 9110, 7.2), with a host that is not empty.
#[inline(always)]
pub(crate) fn is_valid(authority: &[u8]) -> bool {
    let host = scan::plain_host(authority, 0);
    match authority.get(host) {
        None => host > 0,
        Some(b':') => host > 0 && is_port(authority.get(host + 1..).unwrap_or_default()),
        Some(_) => is_unusual(authority),
    }
}

#[inline(always)]
pub(super) fn is_port(digits: &[u8]) -> bool {
    after_port(digits).is_some_and(<[u8]>::is_empty)
}

/// The input after the digits of a port, if they are valid.
#[inline(always)]
pub(super) fn after_port(input: &[u8]) -> Option<&[u8]> {
    let size = digits(input);
    let is_port = match size {
        0..PORT_DIGITS => true,
        PORT_DIGITS => input.get(..PORT_DIGITS)? <= b"65535".as_slice(),
        _ => false,
    };
    if is_port { input.get(size..) } else { None }
}

/// How many digits are at the start of the input, or more than a port has.
#[inline(always)]
fn digits(input: &[u8]) -> usize {
    let Some(bytes) = input.first_chunk() else {
        return input.iter().take_while(|byte| byte.is_ascii_digit()).count();
    };
    // The lowest byte with its highest bit is the first one that is no digit: the sum overflows for none before it.
    let word = u64::from_le_bytes(*bytes) ^ (ALL * 0x30);
    let others = (word | word.wrapping_add(ALL * 0x76)) & (ALL * 0x80);
    others.trailing_zeros() as usize / 8
}

/// This byte, eight times, is its product with a byte.
const ALL: u64 = u64::from_ne_bytes([1; 8]);

#[inline(never)]
fn is_unusual(authority: &[u8]) -> bool {
    let (host, rest) = if authority.first() == Some(&b'[') {
        let Some(end) = authority.iter().position(|&byte| byte == b']') else { return false };
        let (literal, rest) = authority.split_at(end + 1);
        if !is_address_literal(literal) {
            return false;
        }
        (literal, rest)
    } else {
        let end = authority.iter().position(|&byte| byte == b':').unwrap_or(authority.len());
        let (name, rest) = authority.split_at(end);
        if !is_registered_name(name) {
            return false;
        }
        (name, rest)
    };
    !host.is_empty() && (rest.is_empty() || rest.strip_prefix(b":").is_some_and(is_port))
}

/// `IP-literal` of RFC 3986, 3.2.2, with the brackets. A zone identifier is not allowed on the wire.
fn is_address_literal(literal: &[u8]) -> bool {
    let inside = literal.strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"]"));
    inside
        .and_then(|inside| str::from_utf8(inside).ok())
        .is_some_and(|text| text.parse::<std::net::Ipv6Addr>().is_ok())
}

/// `reg-name` of RFC 3986, 3.2.2, without commas, because with a comma two Hosts look like one.
fn is_registered_name(name: &[u8]) -> bool {
    let mut rest = name;
    while let Some((&byte, after)) = rest.split_first() {
        rest = match (byte, after) {
            (b'%', [high, low, after @ ..])
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                after
            }
            (b'%' | b',', _) => return false,
            (b'(' | b')' | b';' | b'=', _) => after,
            (byte, _) if scan::is_token(byte) && !matches!(byte, b'#' | b'^' | b'`' | b'|') => {
                after
            }
            _ => return false,
        };
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_with_and_without_port() {
        for authority in [
            "localhost",
            "127.0.0.1:8080",
            "example.com",
            "example.com:",
            "EXAMPLE.com:65535",
            "[::1]",
            "[2001:db8::7]:443",
            "under_score.example",
            "a~b",
            "%41.example",
            "a;b=c",
        ] {
            assert!(is_valid(authority.as_bytes()), "{authority}");
        }
    }

    #[test]
    fn a_port_ends_before_the_first_byte_that_is_no_digit() {
        for byte in 0..=255u8 {
            for at in 0..6 {
                let mut input = *b"123456789012";
                input[at] = byte;
                let slowly = input.iter().take_while(|byte| byte.is_ascii_digit()).count();
                for length in [at + 1, 7, 8, 12] {
                    let input = &input[..length];
                    let expected = slowly.min(length);
                    let rest = input.get(expected..).filter(|_| expected < PORT_DIGITS);
                    let read = after_port(input).filter(|_| expected != PORT_DIGITS);
                    assert_eq!(read, rest, "{input:x?}");
                }
            }
        }
    }

    #[test]
    fn anything_else_is_not_an_authority() {
        for authority in [
            "",
            ":80",
            "user@example.com",
            "user:secret@example.com",
            "example.com/",
            "a,b",
            "a b",
            "example.com:8o",
            "example.com:123456",
            "example.com:65536",
            "example.com:99999",
            "example.com:80:80",
            "example.com:-1",
            "[::1",
            "::1",
            "[::1]x",
            "[::1%25eth0]",
            "[]",
            "[x]",
            "a\\b",
            "a?b",
            "a#b",
            "%4",
            "%zz",
            "a\u{e9}",
            "\"a\"",
        ] {
            assert!(!is_valid(authority.as_bytes()), "{authority}");
        }
    }
}
