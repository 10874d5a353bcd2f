//! Messages out of frames (RFC 6455 sections 5.4 to 5.6).
//!
//! Owns what of a message has come while the rest has not, and the order in which frames may follow each other. Payload
//! is taken as it comes, so that text that is not UTF-8 is found with the piece that has it. An idle reader holds
//! nothing.

use super::close::CloseCode;
use super::deflate::{Extension, InflateProblem, inflate};
use super::frame::{Head, HeadProblem, Opcode, apply_mask};
use super::utf8::{Checked, NotUtf8};
use crate::limits::{WEBSOCKET_FRAGMENTS, WEBSOCKET_FRAME_SIZE, WEBSOCKET_MESSAGE_SIZE};

/// The side whose frames are read: those of a client must be masked, those of a server must not be (section 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerRole {
    /// This side is the server.
    Server,
    /// This side is the client.
    Client,
}

/// The limits for a peer. Beyond any of them: [`PeerFailure::TooBig`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageLimits {
    /// Bytes of the payload of a frame.
    pub frame: usize,
    /// Bytes of a message.
    pub message: usize,
    /// Fragments of a message.
    pub fragments: u16,
}

impl Default for MessageLimits {
    fn default() -> Self {
        Self {
            frame: WEBSOCKET_FRAME_SIZE,
            message: WEBSOCKET_MESSAGE_SIZE,
            fragments: WEBSOCKET_FRAGMENTS,
        }
    }
}

/// The kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// UTF-8.
    Text,
    /// Bytes.
    Binary,
}

/// The result of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadStep<'s> {
    /// Nothing complete.
    NeedMore,
    /// A message.
    Message(MessageKind, &'s [u8]),
    /// A ping, to be answered by a pong with the same payload (section 5.5.2).
    Ping(&'s [u8]),
    /// A pong, which may be unsolicited (section 5.5.3).
    Pong,
    /// A close, with its code if it has one; a close must be sent back (section 5.5.1).
    Close(Option<CloseCode>),
}

/// The peer's mistake. Close the connection with its [`code`](Self::code).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerFailure {
    /// It broke the protocol; contains a description.
    Protocol(&'static str),
    /// A text message or the reason of a close is not UTF-8.
    NotUtf8,
    /// A limit was exceeded; contains its description.
    TooBig(&'static str),
    /// Data marked as compressed is not valid.
    NotDeflated,
}

impl PeerFailure {
    /// The close code for it.
    pub fn code(self) -> CloseCode {
        match self {
            Self::Protocol(_) => CloseCode::PROTOCOL_ERROR,
            Self::NotUtf8 | Self::NotDeflated => CloseCode::INVALID_DATA,
            Self::TooBig(_) => CloseCode::TOO_BIG,
        }
    }

    /// The close reason for it.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Protocol(reason) | Self::TooBig(reason) => reason,
            Self::NotUtf8 => "text is not UTF-8",
            Self::NotDeflated => "message is not validly compressed",
        }
    }
}

impl From<NotUtf8> for PeerFailure {
    fn from(_: NotUtf8) -> Self {
        Self::NotUtf8
    }
}

impl From<HeadProblem> for PeerFailure {
    fn from(problem: HeadProblem) -> Self {
        Self::Protocol(match problem {
            HeadProblem::Reserved => RESERVED_BIT,
            HeadProblem::Opcode => "reserved opcode",
            HeadProblem::Control => "control frame is fragmented or too long",
            HeadProblem::Length => "length is not written in the shortest way",
        })
    }
}

/// Reads the messages of one peer.
///
/// ```
/// use wire::websocket::{MessageKind, MessageLimits, MessageReader, PeerRole, ReadStep};
///
/// let input = b"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58";
/// let (mut reader, mut scratch) = (MessageReader::default(), Vec::new());
/// let (used, step) = reader.next(PeerRole::Server, &MessageLimits::default(), input, &mut scratch).unwrap();
/// assert_eq!((used, step), (input.len(), ReadStep::Message(MessageKind::Text, b"Hello")));
/// ```
#[derive(Debug, Default)]
pub struct MessageReader {
    partial: Option<Box<Partial>>,
    extension: Extension,
}

/// The description for a bit that no extension has defined.
const RESERVED_BIT: &str = "reserved bit without an extension";

/// An incomplete message.
#[derive(Debug)]
struct Partial {
    kind: MessageKind,
    is_deflated: bool,
    bytes: Vec<u8>,
    checked: Checked,
    fragments: u16,
    /// The frame whose payload is being read.
    frame: Option<Open>,
}

/// A frame with an incomplete payload.
#[derive(Clone, Copy, Debug)]
struct Open {
    is_final: bool,
    mask: Option<[u8; 4]>,
    taken: u64,
    left: usize,
}

impl Partial {
    /// Takes payload of the open frame; returns how much, and whether the message is complete.
    fn take(&mut self, input: &[u8]) -> Result<(usize, bool), PeerFailure> {
        let Some(open) = &mut self.frame else { return Ok((0, false)) };
        let used = open.left.min(input.len());
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(&input[..used]);
        if let Some(mask) = open.mask {
            apply_mask(&mut self.bytes[begin..], mask, open.taken);
        }
        open.taken += used as u64;
        open.left -= used;
        let is_over = open.left == 0;
        let is_whole = is_over && open.is_final;
        if is_over {
            self.frame = None;
        }
        if self.kind == MessageKind::Text && !self.is_deflated {
            self.checked.advance(&self.bytes)?;
            if is_whole {
                self.checked.finish(&self.bytes)?;
            }
        }
        Ok((used, is_whole))
    }
}

impl MessageReader {
    /// A reader for a peer with this agreement.
    pub fn new(extension: Extension) -> Self {
        Self { partial: None, extension }
    }

    /// The agreement with its peer.
    pub fn extension(&self) -> Extension {
        self.extension
    }

    /// Bytes of memory held for an incomplete message.
    pub fn held_bytes(&self) -> usize {
        self.partial.as_ref().map_or(0, |partial| size_of::<Partial>() + partial.bytes.capacity())
    }

    /// Reads up to the next complete item and returns how much of the input was used. Payload is unmasked in `scratch`.
    /// Pass unused input again, together with further input.
    ///
    /// # Errors
    /// If the peer made a mistake. Nothing more can be read then.
    pub fn next<'s>(
        &mut self,
        role: PeerRole,
        limits: &MessageLimits,
        input: &[u8],
        scratch: &'s mut Vec<u8>,
    ) -> Result<(usize, ReadStep<'s>), PeerFailure> {
        let mut used = 0;
        loop {
            let rest = &input[used..];
            if let Some(partial) = &mut self.partial
                && partial.frame.is_some()
            {
                let (taken, is_whole) = partial.take(rest)?;
                used += taken;
                if is_whole {
                    let (kind, is_deflated) = (partial.kind, partial.is_deflated);
                    *scratch = std::mem::take(&mut partial.bytes);
                    self.partial = None;
                    if is_deflated {
                        inflate_message(kind, limits, scratch)?;
                    }
                    return Ok((used, ReadStep::Message(kind, scratch)));
                }
                if partial.frame.is_some() {
                    return Ok((used, ReadStep::NeedMore));
                }
                continue;
            }
            let Some(head) = Head::read(rest)? else { return Ok((used, ReadStep::NeedMore)) };
            check_mask(role, &head)?;
            let is_first = matches!(head.opcode, Opcode::Text | Opcode::Binary);
            if head.is_deflated && (self.extension == Extension::None || !is_first) {
                return Err(PeerFailure::Protocol(RESERVED_BIT));
            }
            let behind = &rest[head.length..];
            if head.opcode.is_control() {
                let Some(payload) = behind.get(..head.payload as usize) else {
                    return Ok((used, ReadStep::NeedMore));
                };
                used += head.length + payload.len();
                return Ok((used, control(&head, payload, scratch)?));
            }
            let payload = self.check_data(limits, &head)?;
            used += head.length;
            if self.partial.is_none()
                && head.is_final
                && let Some(payload) = behind.get(..payload)
            {
                let kind = kind_of(head.opcode);
                unmask(&head, payload, scratch);
                if head.is_deflated {
                    inflate_message(kind, limits, scratch)?;
                } else if kind == MessageKind::Text && simdutf8::basic::from_utf8(scratch).is_err()
                {
                    return Err(PeerFailure::NotUtf8);
                }
                return Ok((used + payload.len(), ReadStep::Message(kind, scratch)));
            }
            self.open(&head, payload);
        }
    }

    /// Whether this data frame may follow the previous frames; returns its length.
    fn check_data(&self, limits: &MessageLimits, head: &Head) -> Result<usize, PeerFailure> {
        let is_continuation = head.opcode == Opcode::Continuation;
        if is_continuation && self.partial.is_none() {
            return Err(PeerFailure::Protocol("continuation of nothing"));
        }
        if !is_continuation && self.partial.is_some() {
            return Err(PeerFailure::Protocol("a message within a message"));
        }
        let payload = usize::try_from(head.payload).unwrap_or(usize::MAX);
        if payload > limits.frame {
            return Err(PeerFailure::TooBig("frame is too big"));
        }
        let (before, fragments) = self
            .partial
            .as_ref()
            .map_or((0, 0), |partial| (partial.bytes.len(), partial.fragments));
        if before + payload > limits.message {
            return Err(PeerFailure::TooBig("message is too big"));
        }
        if fragments >= limits.fragments {
            return Err(PeerFailure::TooBig("message has too many fragments"));
        }
        Ok(payload)
    }

    /// Starts reading the payload of this frame.
    fn open(&mut self, head: &Head, payload: usize) {
        let partial = self.partial.get_or_insert_with(|| {
            let kind = kind_of(head.opcode);
            Box::new(Partial {
                kind,
                is_deflated: head.is_deflated,
                bytes: Vec::new(),
                checked: Checked::default(),
                fragments: 0,
                frame: None,
            })
        });
        partial.fragments += 1;
        partial.frame =
            Some(Open { is_final: head.is_final, mask: head.mask, taken: 0, left: payload });
    }
}

/// Replaces compressed bytes by the message.
fn inflate_message(
    kind: MessageKind,
    limits: &MessageLimits,
    scratch: &mut Vec<u8>,
) -> Result<(), PeerFailure> {
    *scratch = inflate(scratch, limits.message).map_err(|problem| match problem {
        InflateProblem::Invalid => PeerFailure::NotDeflated,
        InflateProblem::TooBig => PeerFailure::TooBig("message is too big"),
    })?;
    if kind == MessageKind::Text && simdutf8::basic::from_utf8(scratch).is_err() {
        return Err(PeerFailure::NotUtf8);
    }
    Ok(())
}

fn kind_of(opcode: Opcode) -> MessageKind {
    if opcode == Opcode::Text { MessageKind::Text } else { MessageKind::Binary }
}

fn check_mask(role: PeerRole, head: &Head) -> Result<(), PeerFailure> {
    match (role, head.mask) {
        (PeerRole::Server, Some(_)) | (PeerRole::Client, None) => Ok(()),
        (PeerRole::Server, None) => Err(PeerFailure::Protocol("frame of a client is not masked")),
        (PeerRole::Client, Some(_)) => Err(PeerFailure::Protocol("frame of a server is masked")),
    }
}

fn unmask(head: &Head, payload: &[u8], scratch: &mut Vec<u8>) {
    scratch.clear();
    scratch.extend_from_slice(payload);
    if let Some(mask) = head.mask {
        apply_mask(scratch, mask, 0);
    }
}

fn control<'s>(
    head: &Head,
    payload: &[u8],
    scratch: &'s mut Vec<u8>,
) -> Result<ReadStep<'s>, PeerFailure> {
    unmask(head, payload, scratch);
    match head.opcode {
        Opcode::Ping => Ok(ReadStep::Ping(scratch)),
        Opcode::Close => match scratch.as_slice() {
            [] => Ok(ReadStep::Close(None)),
            [high, low, reason @ ..] => {
                let code = CloseCode::received(u16::from_be_bytes([*high, *low]));
                let code = code.ok_or(PeerFailure::Protocol("close code must not be sent"))?;
                simdutf8::basic::from_utf8(reason).map_err(|_| PeerFailure::NotUtf8)?;
                Ok(ReadStep::Close(Some(code)))
            }
            [_] => Err(PeerFailure::Protocol("close code is cut")),
        },
        _ => Ok(ReadStep::Pong),
    }
}

#[cfg(test)]
mod tests;
