//! Frames as we write them.
//!
//! Owns their layout, and how a block of fields becomes frames. A caller keeps to the peer's windows and settings.

use super::frame_head::{ACK, END_HEADERS, END_STREAM};
use super::{ErrorCode, FRAME_HEAD_BYTES, FrameHead, FrameKind, SettingId};

/// The frames that a sender still sends on its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterFrame {
    /// More.
    More,
    /// Nothing: the frame has END_STREAM.
    Nothing,
}

impl AfterFrame {
    const fn flag(self) -> u8 {
        match self {
            Self::More => 0,
            Self::Nothing => END_STREAM,
        }
    }
}

/// Writes the head of a DATA frame; its content follows.
#[inline]
pub fn write_data_head(stream: u32, length: u32, after: AfterFrame, out: &mut Vec<u8>) {
    FrameHead { length, kind: FrameKind::DATA, flags: after.flag(), stream }.write(out);
}

/// Begins a head or trailers: a block of fields follows, then [`end_headers`]. Returns the place for that.
#[inline]
pub fn begin_headers(out: &mut Vec<u8>) -> usize {
    let begin = out.len();
    out.extend_from_slice(&[0; FRAME_HEAD_BYTES]);
    begin
}

/// Ends a head or trailers: the bytes behind the place become a HEADERS frame of at most `max_frame_bytes`, and as many
/// CONTINUATION frames as it needs.
#[inline]
pub fn end_headers(
    begin: usize,
    stream: u32,
    after: AfterFrame,
    max_frame_bytes: u32,
    out: &mut Vec<u8>,
) {
    let length = out.len().saturating_sub(begin + FRAME_HEAD_BYTES);
    if length > max_frame_bytes as usize {
        return split_headers(begin, stream, after, max_frame_bytes, out);
    }
    let flags = END_HEADERS | after.flag();
    // Not more than a frame has.
    let head = FrameHead { length: length as u32, kind: FrameKind::HEADERS, flags, stream };
    if let Some(place) = out.get_mut(begin..).and_then(|rest| rest.first_chunk_mut()) {
        *place = head.bytes();
    }
}

#[cold]
fn split_headers(
    begin: usize,
    stream: u32,
    after: AfterFrame,
    max_frame_bytes: u32,
    out: &mut Vec<u8>,
) {
    let block = out.split_off(begin + FRAME_HEAD_BYTES);
    out.truncate(begin);
    let mut parts = block.chunks(max_frame_bytes as usize).peekable();
    let (mut kind, mut flags) = (FrameKind::HEADERS, after.flag());
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            flags |= END_HEADERS;
        }
        // A chunk of what fits in a frame.
        FrameHead { length: part.len() as u32, kind, flags, stream }.write(out);
        out.extend_from_slice(part);
        (kind, flags) = (FrameKind::CONTINUATION, 0);
    }
}

/// Writes settings.
pub fn write_settings(settings: &[(SettingId, u32)], out: &mut Vec<u8>) {
    // There are fewer than ten of them.
    let length = settings.len() as u32 * 6;
    FrameHead { length, kind: FrameKind::SETTINGS, flags: 0, stream: 0 }.write(out);
    for (id, value) in settings {
        out.extend_from_slice(&id.0.to_be_bytes());
        out.extend_from_slice(&value.to_be_bytes());
    }
}

/// Writes that the peer's settings are in use.
pub fn write_settings_ack(out: &mut Vec<u8>) {
    FrameHead { length: 0, kind: FrameKind::SETTINGS, flags: ACK, stream: 0 }.write(out);
}

/// Writes a PING.
pub fn write_ping(opaque: [u8; 8], out: &mut Vec<u8>) {
    FrameHead { length: 8, kind: FrameKind::PING, flags: 0, stream: 0 }.write(out);
    out.extend_from_slice(&opaque);
}

/// Writes the answer to a PING.
pub fn write_ping_ack(opaque: [u8; 8], out: &mut Vec<u8>) {
    FrameHead { length: 8, kind: FrameKind::PING, flags: ACK, stream: 0 }.write(out);
    out.extend_from_slice(&opaque);
}

/// Writes that the connection will end, with a few words for people.
pub fn write_goaway(last_stream: u32, code: ErrorCode, debug: &str, out: &mut Vec<u8>) {
    // A few words.
    let length = 8 + debug.len() as u32;
    FrameHead { length, kind: FrameKind::GOAWAY, flags: 0, stream: 0 }.write(out);
    out.extend_from_slice(&last_stream.to_be_bytes());
    out.extend_from_slice(&code.number().to_be_bytes());
    out.extend_from_slice(debug.as_bytes());
}

/// Writes that a stream ends.
pub fn write_reset(stream: u32, code: ErrorCode, out: &mut Vec<u8>) {
    write_number(FrameKind::RST_STREAM, stream, code.number(), out);
}

/// Writes that there is more room: 1 to 2^31 - 1 bytes, for a stream or, with 0, for the connection.
#[inline]
pub fn write_window_update(stream: u32, increment: u32, out: &mut Vec<u8>) {
    write_number(FrameKind::WINDOW_UPDATE, stream, increment, out);
}

fn write_number(kind: FrameKind, stream: u32, number: u32, out: &mut Vec<u8>) {
    FrameHead { length: 4, kind, flags: 0, stream }.write(out);
    out.extend_from_slice(&number.to_be_bytes());
}
