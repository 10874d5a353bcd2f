//! Frames as they come (RFC 9113, 6).
//!
//! Owns the layout of each kind, and every rule about sizes and about the stream 0, which need no state. Frames are
//! lent from the input: a caller passes the same bytes again, and more, until a frame is whole.

use super::frame_head::{
    ACK, END_HEADERS, END_STREAM, FRAME_HEAD_BYTES, FrameHead, FrameKind, NUMBER_BITS, PADDED,
    PRIORITY,
};
use super::{ErrorCode, SettingsReader};

/// A frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum H2Frame<'b> {
    /// Content.
    Data {
        /// Its stream.
        stream: u32,
        /// The content, without padding.
        content: &'b [u8],
        /// Bytes that the windows count: padding and its length too (RFC 9113, 6.9.1).
        flow_bytes: u32,
        /// Whether the stream's content ends with it.
        end_stream: bool,
    },
    /// Fields.
    Headers {
        /// Their stream.
        stream: u32,
        /// The block of fields, or the beginning of it.
        fragment: &'b [u8],
        /// Whether nothing follows these fields on the stream.
        end_stream: bool,
        /// Whether the block is whole.
        end_headers: bool,
        /// The stream depends on itself, which is a stream error of the type PROTOCOL_ERROR (RFC 7540, 5.3.1). Other
        /// dependencies have no meaning any more.
        depends_on_itself: bool,
    },
    /// A dependency, which has no meaning any more.
    Priority {
        /// Its stream.
        stream: u32,
        /// As in [`Headers`](Self::Headers).
        depends_on_itself: bool,
    },
    /// The end of a stream: RST_STREAM.
    Reset {
        /// The stream.
        stream: u32,
        /// The reason.
        code: ErrorCode,
    },
    /// Settings of the sender.
    Settings(SettingsReader<'b>),
    /// The sender uses the settings that it was sent.
    SettingsAck,
    /// A request that the sender will answer unasked.
    PushPromise {
        /// The stream that it belongs to.
        stream: u32,
    },
    /// A question whether the peer is there.
    Ping {
        /// Bytes to send back.
        opaque: [u8; 8],
    },
    /// The answer to that.
    PingAck {
        /// The bytes of the question.
        opaque: [u8; 8],
    },
    /// The connection will end.
    GoAway {
        /// The last stream that the sender has done or will do something for.
        last_stream: u32,
        /// The reason.
        code: ErrorCode,
        /// Text for people.
        debug: &'b [u8],
    },
    /// More room.
    WindowUpdate {
        /// The stream; 0 is the connection.
        stream: u32,
        /// How much: 1 to 2^31 - 1.
        increment: u32,
    },
    /// More of a block of fields.
    Continuation {
        /// Their stream.
        stream: u32,
        /// The next part of the block.
        fragment: &'b [u8],
        /// Whether the block is whole with it.
        end_headers: bool,
    },
    /// The priority of a stream (RFC 9218, 7.1).
    PriorityUpdate {
        /// The stream that has this priority, not 0.
        stream: u32,
        /// The value of its Priority field: see [`StreamPriority`](super::StreamPriority).
        value: &'b [u8],
    },
    /// A kind that is not known, which means nothing (RFC 9113, 5.5).
    Unknown {
        /// The kind.
        kind: FrameKind,
        /// Its stream.
        stream: u32,
    },
}

/// The part of a connection that ends with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameScope {
    /// All of it (RFC 9113, 5.4.1).
    Connection,
    /// One stream (5.4.2).
    Stream(u32),
}

/// A frame that breaks a rule. The peer is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameError {
    /// The code to end it with.
    pub code: ErrorCode,
    /// The part that ends.
    pub scope: FrameScope,
    /// Bytes of the frame, which came whole if only a stream ends.
    pub bytes: usize,
    /// The rule in a few words, for GOAWAY and logs.
    pub text: &'static str,
}

/// Reads the frame at the beginning of the input, and says how many bytes it has. `Ok(None)`: it is not whole. Frames
/// of more than `max_frame_bytes` behind their heads are refused.
///
/// # Errors
/// If the frame breaks a rule, as early as its bytes say so.
#[inline]
pub fn read_frame(
    input: &[u8],
    max_frame_bytes: u32,
) -> Result<Option<(H2Frame<'_>, usize)>, FrameError> {
    let Some(head) = FrameHead::read(input) else { return Ok(None) };
    if head.length > max_frame_bytes {
        return Err(too_large("a frame is larger than was agreed"));
    }
    check_head(head)?;
    let bytes = FRAME_HEAD_BYTES + head.length as usize;
    let Some(payload) = input.get(FRAME_HEAD_BYTES..bytes) else { return Ok(None) };
    let frame = read_payload(head, payload).map_err(|error| FrameError { bytes, ..error })?;
    Ok(Some((frame, bytes)))
}

const fn of_connection(code: ErrorCode, text: &'static str) -> FrameError {
    FrameError { code, scope: FrameScope::Connection, bytes: 0, text }
}

const fn too_large(text: &'static str) -> FrameError {
    of_connection(ErrorCode::FrameSizeError, text)
}

const fn wrong(text: &'static str) -> FrameError {
    of_connection(ErrorCode::ProtocolError, text)
}

/// Checks all that the head alone shows, and that ends the connection.
#[inline(always)]
fn check_head(head: FrameHead) -> Result<(), FrameError> {
    let FrameHead { length, kind, stream, .. } = head;
    if stream == 0 {
        match kind {
            FrameKind::DATA
            | FrameKind::HEADERS
            | FrameKind::PRIORITY
            | FrameKind::RST_STREAM
            | FrameKind::PUSH_PROMISE
            | FrameKind::CONTINUATION => return Err(wrong("a frame of a stream names none")),
            _ => {}
        }
    } else {
        match kind {
            FrameKind::SETTINGS
            | FrameKind::PING
            | FrameKind::GOAWAY
            | FrameKind::PRIORITY_UPDATE => {
                return Err(wrong("a frame of the connection names a stream"));
            }
            _ => {}
        }
    }
    let fits = match kind {
        FrameKind::RST_STREAM | FrameKind::WINDOW_UPDATE => length == 4,
        FrameKind::PING => length == 8,
        FrameKind::GOAWAY => length >= 8,
        FrameKind::PRIORITY_UPDATE => length >= 4,
        FrameKind::SETTINGS if head.has(ACK) => length == 0,
        FrameKind::SETTINGS => length.is_multiple_of(6),
        _ => true,
    };
    if fits { Ok(()) } else { Err(too_large("a frame has a size that its kind cannot have")) }
}

/// Reads a frame whose head is in order.
#[inline(always)]
fn read_payload(head: FrameHead, payload: &[u8]) -> Result<H2Frame<'_>, FrameError> {
    let stream = head.stream;
    Ok(match head.kind {
        FrameKind::DATA => H2Frame::Data {
            stream,
            content: without_padding(head, payload)?,
            flow_bytes: head.length,
            end_stream: head.has(END_STREAM),
        },
        FrameKind::HEADERS => return read_headers(head, payload),
        FrameKind::PRIORITY => {
            let Some(depends_on) = payload.first_chunk().filter(|_| payload.len() == 5) else {
                return Err(FrameError {
                    scope: FrameScope::Stream(stream),
                    ..too_large("a PRIORITY frame has not 5 bytes")
                });
            };
            H2Frame::Priority { stream, depends_on_itself: number_of(*depends_on) == stream }
        }
        FrameKind::RST_STREAM => {
            H2Frame::Reset { stream, code: ErrorCode::of(u32::from_be_bytes(first(payload)?)) }
        }
        FrameKind::SETTINGS if head.has(ACK) => H2Frame::SettingsAck,
        FrameKind::SETTINGS => H2Frame::Settings(SettingsReader::new(payload)),
        FrameKind::PUSH_PROMISE => H2Frame::PushPromise { stream },
        FrameKind::PING if head.has(ACK) => H2Frame::PingAck { opaque: first(payload)? },
        FrameKind::PING => H2Frame::Ping { opaque: first(payload)? },
        FrameKind::GOAWAY => read_goaway(payload)?,
        FrameKind::WINDOW_UPDATE => read_window_update(stream, payload)?,
        FrameKind::CONTINUATION => {
            H2Frame::Continuation { stream, fragment: payload, end_headers: head.has(END_HEADERS) }
        }
        FrameKind::PRIORITY_UPDATE => read_priority_update(payload)?,
        kind => H2Frame::Unknown { kind, stream },
    })
}

/// Takes the first bytes, which the size of the frame has room for.
#[inline(always)]
fn first<const N: usize>(payload: &[u8]) -> Result<[u8; N], FrameError> {
    payload.first_chunk().copied().ok_or(too_large("a frame is too small for its kind"))
}

/// The number of a stream, without the reserved bit.
#[inline(always)]
fn number_of(bytes: [u8; 4]) -> u32 {
    u32::from_be_bytes(bytes) & NUMBER_BITS
}

/// RFC 9113, 6.1 and 6.2.
#[inline(always)]
fn without_padding(head: FrameHead, payload: &[u8]) -> Result<&[u8], FrameError> {
    if !head.has(PADDED) {
        return Ok(payload);
    }
    let Some((padding, rest)) = payload.split_first() else {
        return Err(too_large("a padded frame has no length of its padding"));
    };
    let content = rest.len().checked_sub(usize::from(*padding));
    content.and_then(|content| rest.get(..content)).ok_or(wrong("padding is longer than its frame"))
}

#[inline(always)]
fn read_headers(head: FrameHead, payload: &[u8]) -> Result<H2Frame<'_>, FrameError> {
    let mut fragment = without_padding(head, payload)?;
    let mut depends_on_itself = false;
    if head.has(PRIORITY) {
        let depends_on = number_of(first(fragment)?);
        depends_on_itself = depends_on == head.stream;
        fragment = fragment.get(5..).ok_or(too_large("a HEADERS frame is too small"))?;
    }
    Ok(H2Frame::Headers {
        stream: head.stream,
        fragment,
        end_stream: head.has(END_STREAM),
        end_headers: head.has(END_HEADERS),
        depends_on_itself,
    })
}

fn read_goaway(payload: &[u8]) -> Result<H2Frame<'_>, FrameError> {
    let [a, b, c, d, code @ ..] = first::<8>(payload)?;
    Ok(H2Frame::GoAway {
        last_stream: number_of([a, b, c, d]),
        code: ErrorCode::of(u32::from_be_bytes(code)),
        debug: payload.get(8..).unwrap_or_default(),
    })
}

/// RFC 9113, 6.9.
fn read_window_update(stream: u32, payload: &[u8]) -> Result<H2Frame<'_>, FrameError> {
    let increment = number_of(first(payload)?);
    if increment == 0 {
        let scope = if stream == 0 { FrameScope::Connection } else { FrameScope::Stream(stream) };
        return Err(FrameError { scope, ..wrong("a WINDOW_UPDATE adds nothing") });
    }
    Ok(H2Frame::WindowUpdate { stream, increment })
}

/// RFC 9218, 7.1.
fn read_priority_update(payload: &[u8]) -> Result<H2Frame<'_>, FrameError> {
    let stream = number_of(first(payload)?);
    if stream == 0 {
        return Err(wrong("a PRIORITY_UPDATE is for stream 0"));
    }
    Ok(H2Frame::PriorityUpdate { stream, value: payload.get(4..).unwrap_or_default() })
}
