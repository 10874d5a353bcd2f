//! The frames in which a multiplexing client thinks, whatever its connection speaks.
//!
//! Owns their form. Never sends one.
//!
//! A frame is its kind (1 byte), the number of a stream (2), the length of its content (4), and the content; numbers
//! are big-endian.

/// A request: what follows it (1 byte: nothing, a body, or a protocol), then lines: method, target, authority, the
/// protocol if there is one, and for each field its name and its value.
pub(crate) const OPEN: u8 = 1;
/// Bytes of a body.
pub(crate) const DATA: u8 = 2;
/// The end of a body.
pub(crate) const END: u8 = 3;
/// The stream is of no use any more.
pub(crate) const RESET: u8 = 4;
/// The other side may send so many bytes more (4 bytes).
pub(crate) const WINDOW: u8 = 5;
/// The head of an answer, as the stream wrote it.
pub(crate) const HEAD: u8 = 6;

/// Bytes of input that may be on the way to a stream, or unread there, at first.
pub(crate) const INPUT_WINDOW: usize = 65_535;

/// Bytes of output that may be on the way to a client at first.
pub(crate) const OUTPUT_WINDOW: usize = 2_000;

/// Bytes of a frame before its content.
const FRAME_HEAD: usize = 7;

pub(crate) fn frame(kind: u8, number: u16, content: &[u8], wire: &mut Vec<u8>) {
    frame_head(kind, number, content.len(), wire);
    wire.extend_from_slice(content);
}

pub(crate) fn frame_head(kind: u8, number: u16, length: usize, wire: &mut Vec<u8>) {
    wire.push(kind);
    wire.extend_from_slice(&number.to_be_bytes());
    wire.extend_from_slice(&u32::try_from(length).unwrap().to_be_bytes());
}

/// A frame, and its length on the wire.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'w> {
    pub(crate) kind: u8,
    pub(crate) number: u16,
    pub(crate) content: &'w [u8],
    pub(crate) length: usize,
}

/// The first frame, if all of it is there.
pub(crate) fn first_frame(wire: &[u8]) -> Option<Frame<'_>> {
    let (head, behind) = wire.split_first_chunk::<FRAME_HEAD>()?;
    let [kind, one, two, length @ ..] = *head;
    let length = usize::try_from(u32::from_be_bytes(length)).unwrap();
    let content = behind.get(..length)?;
    let number = u16::from_be_bytes([one, two]);
    Some(Frame { kind, number, content, length: FRAME_HEAD + length })
}

/// The credit of a window frame.
pub(crate) fn credit_of(frame: Frame<'_>) -> Option<usize> {
    usize::try_from(u32::from_be_bytes(frame.content.try_into().ok()?)).ok()
}
