//! A small multiplexing protocol for tests: its frames, and what its streams do.
//!
//! A frame is its kind, the number of a stream in two bytes, the length of its content in two bytes, and the content.
//! The acts of a stream depend on its number, see [`Act`].

pub(crate) const OPEN: u8 = 1;
pub(crate) const DATA: u8 = 2;
pub(crate) const END: u8 = 3;
pub(crate) const RESET: u8 = 4;
pub(crate) const WINDOW: u8 = 5;
pub(crate) const HEAD: u8 = 6;
pub(crate) const REFUSED: u8 = 7;
/// Makes the carrier panic.
pub(crate) const PANIC: u8 = 8;

/// Bytes of input that may be on the way to a stream, or unread there.
pub(crate) const INPUT_WINDOW: usize = 300;

/// Bytes of output that may be on the way to a client at first.
pub(crate) const OUTPUT_WINDOW: usize = 400;

/// Most bytes of a frame that a server sends.
pub(crate) const FRAME_BYTES: usize = 120;

/// Bytes of a frame before its content.
const FRAME_HEAD: usize = 5;

/// Bytes of the answer of [`Act::Large`].
pub(crate) const LARGE: usize = 20_000;

/// Its last bytes, which are queued by reference.
pub(crate) const SHARED: usize = 17_000;

/// Nanoseconds, which are ticks in a world, of a stream's work.
pub(crate) const WORK_TICKS: u64 = 100_000;

/// The head of every stream.
pub(crate) const GREETING: &[u8] = b"head";

/// The acts of a stream, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Sends its input back in capitals.
    Echo,
    /// The same, but takes a part of it at a time and waits to be resumed.
    ParkedEcho,
    /// The same, but what it sends is posted to it at the end of the turn.
    PostedEcho,
    /// Sends a long answer after its input.
    Large,
    /// Sends a file after its input.
    File,
    /// Answers half a second after its input.
    Late,
    /// Answers its first input and wants no more.
    Linger,
    /// Panics when its input has ended.
    Panic,
    /// Aborts when its input has ended.
    Abort,
    /// Is not wanted.
    Refuse,
    /// Collects its first input for a while, and then sends all of it back in capitals.
    Collect,
    /// Ends with its head.
    HeadAlone,
}

/// The number of acts.
pub(crate) const ACTS: u16 = 12;

pub(crate) fn act_of(number: u16) -> Act {
    use Act::*;
    let acts = [
        Echo, ParkedEcho, PostedEcho, Large, File, Late, Linger, Panic, Abort, Refuse, Collect,
        HeadAlone,
    ];
    acts[usize::from(number % ACTS)]
}

pub(crate) fn frame(kind: u8, number: u16, content: &[u8], wire: &mut Vec<u8>) {
    wire.push(kind);
    wire.extend_from_slice(&number.to_be_bytes());
    wire.extend_from_slice(&u16::try_from(content.len()).unwrap().to_be_bytes());
    wire.extend_from_slice(content);
}

/// The first frame, its length on the wire included.
pub(crate) fn first_frame(wire: &[u8]) -> Option<(u8, u16, &[u8], usize)> {
    let [kind, one, two, high, low, behind @ ..] = wire else { return None };
    let length = usize::from(u16::from_be_bytes([*high, *low]));
    let content = behind.get(..length)?;
    Some((*kind, u16::from_be_bytes([*one, *two]), content, FRAME_HEAD + length))
}
