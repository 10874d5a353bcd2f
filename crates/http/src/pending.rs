//! A request that cannot be answered yet: its body is incomplete, or the application waits for
//! something.
//!
//! Owns copies of the head and of a collected body, because the bytes they came in are lent for one
//! call only.

use runtime::clock::Now;
use runtime::slots::ProcessId;
use sys::socket::Peer;
use wire::http::body::{BodyDecoder, Piece};
use wire::http::refusal::Refusal;

use super::reply::BodyUse;
use super::stream::Begun;

/// A request that is kept across turns.
#[derive(Debug)]
pub(super) struct Pending {
    /// The process of its connection.
    pub(super) process: ProcessId,
    /// The head, which is parsed again when the request is answered: the text is cheaper to keep than the parsed form.
    pub(super) head: Vec<u8>,
    /// The body so far.
    pub(super) body: Vec<u8>,
    /// The decoder of the body; `None` once it is complete.
    pub(super) decoder: Option<BodyDecoder>,
    /// Where the body's bytes go.
    pub(super) delivery: Delivery,
    /// Whether the connection can continue after the answer.
    pub(super) rest: BodyRest,
    /// When the body began to arrive.
    pub(super) began_ns: u64,
    /// Body bytes received, framing included.
    pub(super) received: u64,
    /// The part of its answer that was sent, if it is sent in parts.
    pub(super) begun: Option<Begun>,
}

/// An answer that was cut off with its connection.
pub(super) struct CutShort {
    pub(super) pending: Box<Pending>,
    pub(super) begun: Begun,
    pub(super) peer: Peer,
}

/// Where a body goes as it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    /// It is kept until it is complete.
    Collected,
    /// To the application.
    HandedOver,
    /// To the application, which has paused.
    Paused {
        /// When it paused, on the monotonic clock.
        since_ns: u64,
    },
}

/// Whether the body is read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyRest {
    /// Yes, or there is no body.
    Read,
    /// No: the connection ends with the answer.
    Unread,
}

impl Pending {
    /// A request without a body so far.
    pub(super) fn new(head: &[u8], process: ProcessId, now: Now) -> Self {
        Self {
            process,
            head: head.to_vec(),
            body: Vec::new(),
            decoder: None,
            delivery: Delivery::Collected,
            rest: BodyRest::Read,
            began_ns: now.monotonic_ns,
            received: 0,
            begun: None,
        }
    }

    /// Decodes the next piece of the body. Drops the decoder at the end of the body.
    pub(super) fn next_piece<'b>(
        &mut self,
        input: &'b [u8],
        consumed: &mut usize,
    ) -> Result<Piece<'b>, Refusal> {
        let Some(decoder) = &mut self.decoder else { return Ok(Piece::End) };
        let (count, piece) = decoder.next(&input[*consumed..])?;
        *consumed += count;
        Ok(piece)
    }

    /// Whether the answer has a body.
    pub(super) fn body_use(&self) -> BodyUse {
        // The head was accepted, so the method is the first word, in upper case, perhaps after empty lines.
        let is_head = self.head.trim_ascii_start().starts_with(b"HEAD ");
        if is_head { BodyUse::Omit } else { BodyUse::Send }
    }

    /// Whether the application gets the body piece by piece.
    pub(super) fn is_handed_over(&self) -> bool {
        self.delivery != Delivery::Collected
    }

    /// Whether the application has paused the body.
    pub(super) fn is_paused(&self) -> bool {
        matches!(self.delivery, Delivery::Paused { .. })
    }

    /// The application continues. The pause was not the sender's, so it does not count as slowness.
    pub(super) fn end_pause(&mut self, now_ns: u64) {
        if let Delivery::Paused { since_ns } = self.delivery {
            self.began_ns = self.began_ns.saturating_add(now_ns.saturating_sub(since_ns));
            self.delivery = Delivery::HandedOver;
        }
    }

    /// Whether a body arrives more slowly than the minimum rate, after the time for a pause.
    pub(super) fn is_too_slow(&self, now_ns: u64, idle_ms: u64, rate: u64) -> bool {
        let elapsed_ms = now_ns.saturating_sub(self.began_ns) / 1_000_000;
        elapsed_ms > idle_ms && self.received < rate.saturating_mul(elapsed_ms) / 1000
    }
}
