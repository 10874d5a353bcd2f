//! Owns the bytes of frames and field blocks, right ones and wrong ones: it writes whatever it is told.
//! Checks nothing, and compresses nothing: a field is a literal without Huffman coding (RFC 7541 section 6.2).

/// RFC 9113 section 3.4.
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The flag END_STREAM of DATA and HEADERS, and ACK of SETTINGS and PING.
pub(super) const END_STREAM: u8 = 0x1;
/// The flag END_HEADERS.
pub(super) const END_HEADERS: u8 = 0x4;
/// The flag PADDED.
pub(super) const PADDED: u8 = 0x8;
/// The flag PRIORITY of HEADERS.
pub(super) const PRIORITY: u8 = 0x20;

/// The head of a frame. Plain data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    /// With the reserved bit, if that is to be set.
    pub(crate) stream: u32,
    /// The length that the head says, if it lies.
    pub(crate) length: Option<u32>,
}

/// Appends a frame.
pub(super) fn write_frame(head: Head, payload: &[u8], out: &mut Vec<u8>) {
    let actual = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    let length = head.length.unwrap_or(actual);
    out.extend_from_slice(&length.to_be_bytes()[1..]);
    out.extend_from_slice(&[head.kind, head.flags]);
    out.extend_from_slice(&head.stream.to_be_bytes());
    out.extend_from_slice(payload);
}

/// How a literal field is marked (RFC 7541 sections 6.2.1 to 6.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Literal {
    /// The decoder adds it to its dynamic table.
    Added,
    /// Not added.
    Plain,
    /// Never added, by no one on the way.
    Never,
}

/// Appends a literal field with its name.
pub(super) fn write_field(literal: Literal, name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    out.push(match literal {
        Literal::Added => 0x40,
        Literal::Plain => 0x00,
        Literal::Never => 0x10,
    });
    write_string(name, out);
    write_string(value, out);
}

/// Appends a string literal without Huffman coding (RFC 7541 section 5.2).
fn write_string(text: &[u8], out: &mut Vec<u8>) {
    const PREFIX_MAX: usize = 127;
    let length = text.len();
    if length < PREFIX_MAX {
        out.push(length as u8);
    } else {
        out.push(PREFIX_MAX as u8);
        let mut left = length - PREFIX_MAX;
        while left >= 128 {
            out.push((left % 128) as u8 | 0x80);
            left /= 128;
        }
        out.push(left as u8);
    }
    out.extend_from_slice(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_is_that_of_the_rfc() {
        // RFC 7541 appendix C.2.1.
        let mut out = Vec::new();
        write_field(Literal::Added, b"custom-key", b"custom-header", &mut out);
        assert_eq!(out, b"\x40\x0acustom-key\x0dcustom-header");
    }

    #[test]
    fn a_long_string_has_a_length_of_several_bytes() {
        let mut out = Vec::new();
        write_string(&[b'a'; 1464], &mut out);
        // 1464 = 127 + 1337, and 1337 is 57 + 10 * 128 (RFC 7541 appendix C.1.2).
        assert_eq!(out[..3], [0x7f, 0xb9, 0x0a]);
        assert_eq!(out.len(), 3 + 1464);
    }

    #[test]
    fn a_head_may_lie_about_the_length() {
        let mut out = Vec::new();
        write_frame(Head { kind: 6, flags: 1, stream: 0, length: Some(9) }, b"abc", &mut out);
        assert_eq!(out, b"\x00\x00\x09\x06\x01\x00\x00\x00\x00abc");
    }
}
