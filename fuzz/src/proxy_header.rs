//! PROXY protocol headers: any cut gives the same result, and a header takes no byte of what follows.

use wire::limits::{PROXY_V1_BYTES_MAXIMUM, PROXY_V2_PAYLOAD_BYTES_MAXIMUM};
use wire::proxy::{ParsedProxyHeader, ProxiedClient, ProxyError, parse};

use crate::cutting;

/// The code that it runs.
pub const COVERS: &[&str] = &["crates/wire/src/proxy"];

/// Headers of both versions.
pub const SEEDS: &[&[u8]] = &[
    b"PROXY TCP4 192.0.2.1 198.51.100.2 56324 443\r\nGET / HTTP/1.1\r\n",
    b"PROXY TCP6 2001:db8::1 ::1 1 65535\r\n",
    b"PROXY UNKNOWN ffff:f...f:ffff\r\nrest",
    b"\r\n\r\n\0\r\nQUIT\n\x21\x11\x00\x0c\xc0\x00\x02\x01\xc6\x33\x64\x02\xdc\x04\x01\xbbGET",
    b"\r\n\r\n\0\r\nQUIT\n\x20\x00\x00\x00rest",
    b"\r\n\r\n\0\r\nQUIT\n\x21\x21\x00\x27aaaaaaaaaaaaaaaabbbbbbbbbbbbbbbb\x00\x01\x00\x02\x03\x00\x00",
];

/// Pieces of headers.
pub const WORDS: &[&[u8]] = &[
    b"PROXY ",
    b"TCP4 ",
    b"TCP6 ",
    b"UNKNOWN",
    b"192.0.2.1 ",
    b"::1 ",
    b"::ffff:1.2.3.4 ",
    b"0 ",
    b"65535",
    b"65536",
    b"01",
    b"\r\n",
    b"\n",
    b" ",
    b"\r\n\r\n\0\r\nQUIT\n",
    b"\x21\x11\x00\x0c",
    b"\x21\x31\x00\xd8",
    b"\x20\x00",
    b"\xff\xff",
    b"\x00\x00",
];

/// Bytes of the part of version 2 that every header has.
const V2_FIXED_BYTES: usize = 16;

/// Checks the properties of this module for one input.
pub fn check(data: &[u8]) {
    cutting::assert_settles(data, &Ok(ParsedProxyHeader::Partial), parse);
    match parse(data) {
        Ok(ParsedProxyHeader::Complete { length, source }) => {
            assert!(length <= data.len());
            let is_text = data.starts_with(b"PROXY ");
            let most = if is_text {
                PROXY_V1_BYTES_MAXIMUM
            } else {
                V2_FIXED_BYTES + PROXY_V2_PAYLOAD_BYTES_MAXIMUM
            };
            assert!(length <= most, "{length} bytes of header");
            assert!(!is_text || data[..length].ends_with(b"\r\n"));
            if let (true, ProxiedClient::Inet { source, destination }) = (is_text, source) {
                assert_eq!(source.is_ipv4(), destination.is_ipv4());
                assert_eq!(source.is_ipv4(), data.starts_with(b"PROXY TCP4 "));
            }
            assert_eq!(parse(&data[..length]), parse(data), "the rest does not matter");
        }
        Ok(ParsedProxyHeader::Partial) => {
            assert!(data.len() < V2_FIXED_BYTES + PROXY_V2_PAYLOAD_BYTES_MAXIMUM);
        }
        Err(error) => assert_fair(error, data),
    }
}

/// A peer that uses neither version gets that error, not that its header is too long.
fn assert_fair(error: ProxyError, data: &[u8]) {
    let speaks = data.first().is_some_and(|byte| matches!(byte, b'P' | b'\r'));
    assert!(speaks || error == ProxyError::Signature, "{error:?}");
}
