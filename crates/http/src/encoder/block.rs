//! Heads as values, for the carrier of a stream: a status and fields, each with its length before it.
//!
//! Owns the form of a block, for the encoder that writes it and for the carrier that reads it. A carrier renders it
//! as its protocol wants it, HTTP/2 with HPACK. Never has a body.
//!
//! A block is the number of bytes that follow (4 bytes), the status (2), and for each field the length of its name
//! (2) and value (4), its name in lower case, and its value. Numbers are big-endian. A field that is about an HTTP/1
//! connection is left out (RFC 9113, 8.2.2). Trailers are a block behind the body, with 0 for the status.

use wire::http::kept::OF_CONNECTION;
use wire::http::response::{InvalidField, check_field};
use wire::http::status::Status;

/// Bytes of the number before a block.
const SIZE: usize = 4;

/// Writes one block after the other into the same room.
#[derive(Debug, Default)]
pub(super) struct BlockWriter(Vec<u8>);

impl BlockWriter {
    /// Begins a block.
    pub(super) fn begin(&mut self, status: Status) {
        self.0.clear();
        self.0.extend_from_slice(&[0; SIZE]);
        self.0.extend_from_slice(&status.code().to_be_bytes());
    }

    /// Begins the block of trailers.
    pub(super) fn begin_trailers(&mut self) {
        self.0.clear();
        self.0.extend_from_slice(&[0; SIZE + 2]);
    }

    /// Adds a field after checking it.
    pub(super) fn field(&mut self, name: &str, value: &[u8]) -> Result<(), InvalidField> {
        check_field(name, value)?;
        if u16::try_from(name.len()).is_err() || u32::try_from(value.len()).is_err() {
            return Err(InvalidField::Room);
        }
        self.put(name, value);
        Ok(())
    }

    /// Adds a field that is valid.
    pub(super) fn put(&mut self, name: &str, value: &[u8]) {
        if is_of_connection_in_any_case(name) {
            return;
        }
        // The lengths were checked with the field, or are those of a list shorter than 64 KiB.
        self.0.extend_from_slice(&(name.len() as u16).to_be_bytes());
        self.0.extend_from_slice(&(value.len() as u32).to_be_bytes());
        let name_at = self.0.len();
        self.0.extend_from_slice(name.as_bytes());
        if let Some(name) = self.0.get_mut(name_at..) {
            name.make_ascii_lowercase();
        }
        self.0.extend_from_slice(value);
    }

    /// The whole block.
    pub(super) fn finish(&mut self) -> &[u8] {
        let size = u32::try_from(self.0.len() - SIZE).unwrap_or(u32::MAX);
        if let Some(place) = self.0.first_chunk_mut::<SIZE>() {
            *place = size.to_be_bytes();
        }
        &self.0
    }
}

/// Whether a field is about a connection.
#[inline]
fn is_of_connection_in_any_case(name: &str) -> bool {
    // Most names have other first letters.
    let may_be = matches!(
        name.as_bytes().first(),
        Some(b'C' | b'c' | b'K' | b'k' | b'P' | b'p' | b'T' | b't' | b'U' | b'u')
    );
    may_be && OF_CONNECTION.iter().any(|other| other.eq_ignore_ascii_case(name))
}

/// The head of an answer on a stream, as its carrier reads it.
///
/// ```
/// use http::HeadBlock;
///
/// let bytes = b"\0\0\0\x0f\0\xc8\0\x04\0\0\0\x03etag\"1\"the body";
/// let (block, body) = HeadBlock::split(bytes).expect("it is whole");
/// assert_eq!(block.status().map(|status| status.code()), Some(200));
/// assert_eq!(block.fields().collect::<Vec<_>>(), [("etag", &b"\"1\""[..])]);
/// assert_eq!(body, b"the body");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct HeadBlock<'b> {
    status: Option<Status>,
    fields: &'b [u8],
    /// Both.
    bytes: &'b [u8],
}

impl<'b> HeadBlock<'b> {
    /// The block at the start of the bytes, and the bytes after it. `None`: it is incomplete, or is no block.
    pub fn split(bytes: &'b [u8]) -> Option<(Self, &'b [u8])> {
        let (size, rest) = bytes.split_first_chunk::<SIZE>()?;
        let (block, rest) =
            rest.split_at_checked(usize::try_from(u32::from_be_bytes(*size)).ok()?)?;
        let (status, fields) = block.split_first_chunk()?;
        let status = match u16::from_be_bytes(*status) {
            0 => None,
            code => Some(Status::from_code(code)?),
        };
        Some((Self { status, fields, bytes: block }, rest))
    }

    /// The status; 1xx is interim, and another block follows. `None`: these are trailers, which follow the body.
    pub fn status(&self) -> Option<Status> {
        self.status
    }

    /// All of it. Blocks with the same bytes are equal.
    #[inline]
    pub(crate) fn bytes(&self) -> &'b [u8] {
        self.bytes
    }

    /// Names in lower case, and values, in order.
    pub fn fields(&self) -> impl Iterator<Item = (&'b str, &'b [u8])> + use<'b> {
        self.raw_fields().map_while(|(name, value)| Some((str::from_utf8(name).ok()?, value)))
    }

    /// The same, as bytes.
    #[inline]
    pub(crate) fn raw_fields(&self) -> impl Iterator<Item = (&'b [u8], &'b [u8])> + use<'b> {
        let mut rest = self.fields;
        std::iter::from_fn(move || {
            let (name_size, after) = rest.split_first_chunk()?;
            let (value_size, after) = after.split_first_chunk()?;
            let (name, after) = after.split_at_checked(u16::from_be_bytes(*name_size).into())?;
            let value_size = usize::try_from(u32::from_be_bytes(*value_size)).ok()?;
            let (value, after) = after.split_at_checked(value_size)?;
            rest = after;
            Some((name, value))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9113, 8.2.2.
    #[test]
    fn a_field_about_a_connection_is_left_out() {
        let mut writer = BlockWriter::default();
        writer.begin(Status::UPGRADE_REQUIRED);
        writer.put("Connection", b"upgrade");
        writer.field("Upgrade", b"websocket").expect("a field");
        writer.put("Upgrade-Insecure-Requests", b"1");
        writer.field("KEEP-ALIVE", b"5").expect("a field");
        let (block, _) = HeadBlock::split(writer.finish()).expect("it is whole");
        let expected = [("upgrade-insecure-requests", &b"1"[..])];
        assert_eq!(block.fields().collect::<Vec<_>>(), expected);
    }
}
