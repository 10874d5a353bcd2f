//! Certificates: whatever the bytes, what is read of them can be shown in a line, and only a whole certificate is one.

use acme::Certificate;

/// The code that it runs.
pub const COVERS: &[&str] = &["crates/acme/src/certificate"];

/// A certificate with two names and an address, one of 2026 to 2051 with the key of its authority, and elements.
pub const SEEDS: &[&[u8]] = &[
    include_bytes!("certificate/names.der"),
    include_bytes!("certificate/authority.der"),
    b"\x30\x03\x30\x01\x30",
    b"\x30\x84\xff\xff\xff\xff",
];

/// Tags, lengths, identifiers of extensions and times.
pub const WORDS: &[&[u8]] = &[
    b"\x30",
    b"\x31\x0b\x30\x09\x06\x03\x55\x04\x03\x0c\x02a\n",
    b"\x06\x03\x55\x1d\x11",
    b"\x06\x03\x55\x1d\x23",
    b"\x82\x01a",
    b"\x87\x04\x7f\x00\x00\x01",
    b"\xa3\x82",
    b"\x80\x00",
    b"\x81\x80",
    b"\x17\x0d491231235959Z",
    b"\x17\x0d500101000000Z",
    b"\x18\x0f99991231235959Z",
    b"\x18\x0f00000101000000Z",
];

/// Checks the properties of this module for one input.
///
/// # Panics
/// If one does not hold.
pub fn check(data: &[u8]) {
    let Ok(read) = Certificate::read(data) else { return };
    assert!(
        read.names.iter().all(|name| name.bytes().all(|byte| byte.is_ascii_graphic())),
        "{:?}",
        read.names
    );
    for text in [&read.subject, &read.issuer] {
        assert!(!text.contains(char::is_control), "{text:?}");
    }
    assert_eq!(read.renewal_identifier().is_some(), read.authority_key.is_some());
    let longer = [data, b"\0"].concat();
    assert!(Certificate::read(&longer).is_err(), "bytes follow it");
    let shorter = data.split_last().map(|(_, shorter)| shorter).unwrap_or_default();
    assert!(Certificate::read(shorter).is_err(), "a byte is missing");
}
