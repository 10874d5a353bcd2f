//! Replies and pushes.
//!
//! Owns how they are written.

/// The version of the protocol that a client uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RespVersion {
    /// The default, until a client sends `HELLO 3`.
    #[default]
    Two,
    /// Has types for maps, nulls and pushes.
    Three,
}

fn write_number(out: &mut Vec<u8>, sign: u8, number: i64) {
    out.push(sign);
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    out.extend_from_slice(b"\r\n");
}

fn length(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Writes a line of text without line ends.
pub fn write_simple(out: &mut Vec<u8>, text: &str) {
    out.push(b'+');
    out.extend_from_slice(text.as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// Writes an error: its code, a space, its text. Line ends in the text, which may come from a client, become spaces.
pub fn write_error(out: &mut Vec<u8>, text: &str) {
    out.push(b'-');
    out.extend(text.bytes().map(|byte| if byte == b'\r' || byte == b'\n' { b' ' } else { byte }));
    out.extend_from_slice(b"\r\n");
}

/// Writes an integer.
pub fn write_integer(out: &mut Vec<u8>, number: i64) {
    write_number(out, b':', number);
}

/// Writes the text before this many bytes. A line end follows them.
pub fn write_bulk_head(out: &mut Vec<u8>, count: usize) {
    write_number(out, b'$', length(count));
}

/// Writes bytes.
pub fn write_bulk(out: &mut Vec<u8>, bytes: &[u8]) {
    write_bulk_head(out, bytes.len());
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

/// Writes a null.
pub fn write_null(out: &mut Vec<u8>, version: RespVersion) {
    out.extend_from_slice(match version {
        RespVersion::Two => b"$-1\r\n",
        RespVersion::Three => b"_\r\n",
    });
}

/// Writes a null array.
pub fn write_null_array(out: &mut Vec<u8>, version: RespVersion) {
    out.extend_from_slice(match version {
        RespVersion::Two => b"*-1\r\n",
        RespVersion::Three => b"_\r\n",
    });
}

/// Writes the head of an array; this many elements follow.
pub fn write_array(out: &mut Vec<u8>, parts: usize) {
    write_number(out, b'*', length(parts));
}

/// Writes the head of a map; this many pairs follow. In RESP2 it is an array with twice as many elements.
pub fn write_map(out: &mut Vec<u8>, pairs: usize, version: RespVersion) {
    match version {
        RespVersion::Two => write_array(out, 2 * pairs),
        RespVersion::Three => write_number(out, b'%', length(pairs)),
    }
}

/// Writes the head of a RESP3 push; this many elements follow.
pub fn write_push(out: &mut Vec<u8>, parts: usize) {
    write_number(out, b'>', length(parts));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    /// The examples of the specification.
    #[test]
    fn replies_are_written_as_the_specification_has_them() {
        assert_eq!(written(|out| write_simple(out, "OK")), "+OK\r\n");
        assert_eq!(written(|out| write_error(out, "ERR no\r\n+OK")), "-ERR no  +OK\r\n");
        assert_eq!(written(|out| write_integer(out, -7)), ":-7\r\n");
        assert_eq!(written(|out| write_bulk(out, b"he\r\nllo")), "$7\r\nhe\r\nllo\r\n");
        assert_eq!(written(|out| write_null(out, RespVersion::Two)), "$-1\r\n");
        assert_eq!(written(|out| write_null(out, RespVersion::Three)), "_\r\n");
        assert_eq!(written(|out| write_null_array(out, RespVersion::Two)), "*-1\r\n");
        assert_eq!(written(|out| write_null_array(out, RespVersion::Three)), "_\r\n");
        assert_eq!(written(|out| write_array(out, 2)), "*2\r\n");
        assert_eq!(written(|out| write_map(out, 2, RespVersion::Two)), "*4\r\n");
        assert_eq!(written(|out| write_map(out, 2, RespVersion::Three)), "%2\r\n");
        assert_eq!(written(|out| write_push(out, 3)), ">3\r\n");
    }
}
