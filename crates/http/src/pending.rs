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

/// A request kept across turns.
#[derive(Debug)]
pub(super) struct Pending {
    /// Whose it is.
    pub(super) process: ProcessId,
    /// The head, to be parsed again when the request is answered: cheaper to keep than its meaning.
    pub(super) head: Vec<u8>,
    /// What has come of the body.
    pub(super) body: Vec<u8>,
    /// What still reads the body; `None` once it is whole.
    pub(super) decoder: Option<BodyDecoder>,
    /// Where its bytes go.
    pub(super) delivery: Delivery,
    /// Whether the connection can go on after the answer.
    pub(super) rest: BodyRest,
    /// When the body began to come.
    pub(super) began_ns: u64,
    /// Body bytes received, framing included.
    pub(super) received: u64,
    /// What was sent of its answer, when that is sent in parts.
    pub(super) begun: Option<Begun>,
}

/// An answer that was cut with its connection.
pub(super) struct CutShort {
    pub(super) pending: Box<Pending>,
    pub(super) begun: Begun,
    pub(super) peer: Peer,
}

/// Where a body goes as it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    /// It is kept until it is whole.
    Collected,
    /// To the application.
    HandedOver,
    /// The same; the application wants no more since then.
    Paused {
        /// Since when, of the monotonic clock.
        since_ns: u64,
    },
}

/// What becomes of the body's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyRest {
    /// They are read to their end, or there is none.
    Read,
    /// They are not: the connection ends with the answer.
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

    /// Decodes the next piece of the body; one that is whole is over.
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
        // A head that was accepted: its method is the first word, in upper case, perhaps behind empty lines.
        let is_head = self.head.trim_ascii_start().starts_with(b"HEAD ");
        if is_head { BodyUse::Omit } else { BodyUse::Send }
    }

    /// Whether the application has got, or will get, the body piece by piece.
    pub(super) fn is_handed_over(&self) -> bool {
        self.delivery != Delivery::Collected
    }

    /// Whether the application wants no more of the body now.
    pub(super) fn is_paused(&self) -> bool {
        matches!(self.delivery, Delivery::Paused { .. })
    }

    /// The application wants more again. The pause was not the sender's: it does not count as slowness.
    pub(super) fn end_pause(&mut self, now_ns: u64) {
        if let Delivery::Paused { since_ns } = self.delivery {
            self.began_ns = self.began_ns.saturating_add(now_ns.saturating_sub(since_ns));
            self.delivery = Delivery::HandedOver;
        }
    }

    /// Whether a body comes slower than the floor, once the time for a pause is over.
    pub(super) fn is_too_slow(&self, now_ns: u64, idle_ms: u64, rate: u64) -> bool {
        let elapsed_ms = now_ns.saturating_sub(self.began_ns) / 1_000_000;
        elapsed_ms > idle_ms && self.received < rate.saturating_mul(elapsed_ms) / 1000
    }
}
