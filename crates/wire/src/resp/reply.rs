//! Replies and pushes.
//!
//! Owns how they are written.

/// Which version a client speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// As every client does that has not said `HELLO 3`.
    #[default]
    Two,
    /// With maps, nulls and pushes of their own.
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

/// A line of text without line ends.
pub fn write_simple(out: &mut Vec<u8>, text: &str) {
    out.push(b'+');
    out.extend_from_slice(text.as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// An error: its code, a space, its text. Line ends in it, which a client could have put there, become spaces.
pub fn write_error(out: &mut Vec<u8>, text: &str) {
    out.push(b'-');
    out.extend(text.bytes().map(|byte| if byte == b'\r' || byte == b'\n' { b' ' } else { byte }));
    out.extend_from_slice(b"\r\n");
}

/// A whole number.
pub fn write_integer(out: &mut Vec<u8>, number: i64) {
    write_number(out, b':', number);
}

/// What goes before so many bytes; a line end follows them.
pub fn write_bulk_head(out: &mut Vec<u8>, count: usize) {
    write_number(out, b'$', length(count));
}

/// Bytes.
pub fn write_bulk(out: &mut Vec<u8>, bytes: &[u8]) {
    write_bulk_head(out, bytes.len());
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

/// Nothing.
pub fn write_null(out: &mut Vec<u8>, version: Version) {
    out.extend_from_slice(match version {
        Version::Two => b"$-1\r\n",
        Version::Three => b"_\r\n",
    });
}

/// Nothing in the place of an array.
pub fn write_null_array(out: &mut Vec<u8>, version: Version) {
    out.extend_from_slice(match version {
        Version::Two => b"*-1\r\n",
        Version::Three => b"_\r\n",
    });
}

/// The head of an array; so many parts follow.
pub fn write_array(out: &mut Vec<u8>, parts: usize) {
    write_number(out, b'*', length(parts));
}

/// The head of a map; so many pairs follow. In RESP2 it is an array of twice as many parts.
pub fn write_map(out: &mut Vec<u8>, pairs: usize, version: Version) {
    match version {
        Version::Two => write_array(out, 2 * pairs),
        Version::Three => write_number(out, b'%', length(pairs)),
    }
}

/// The head of a push of RESP3; so many parts follow.
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
        assert_eq!(written(|out| write_null(out, Version::Two)), "$-1\r\n");
        assert_eq!(written(|out| write_null(out, Version::Three)), "_\r\n");
        assert_eq!(written(|out| write_null_array(out, Version::Two)), "*-1\r\n");
        assert_eq!(written(|out| write_null_array(out, Version::Three)), "_\r\n");
        assert_eq!(written(|out| write_array(out, 2)), "*2\r\n");
        assert_eq!(written(|out| write_map(out, 2, Version::Two)), "*4\r\n");
        assert_eq!(written(|out| write_map(out, 2, Version::Three)), "%2\r\n");
        assert_eq!(written(|out| write_push(out, 3)), ">3\r\n");
    }
}
