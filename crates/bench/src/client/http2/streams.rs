//! The streams of one connection, and what both sides have told each other.
//!
//! Owns the state of a connection of HTTP/2: windows, tables, settings, requests in flight. Never reads or writes a
//! frame: `http2` does.

use std::collections::VecDeque;

use wire::h2::{PeerSettings, WINDOW_BYTES_AT_FIRST};
use wire::hpack::{Decoder, Encoder};
use wire::limits::HPACK_TABLE_BYTES;

use super::pending::Pending;
use crate::plan::{AnswerBody, BodyProgress};

/// A connection.
#[derive(Debug)]
pub(super) struct Streams {
    pub(super) decoder: Decoder,
    pub(super) encoder: Encoder,
    pub(super) settings: PeerSettings,
    /// Whether the server's settings have come.
    pub(super) is_greeted: bool,
    /// By number, ascending. Those that have ended stay until they are the first.
    list: VecDeque<Stream>,
    open: usize,
    next_number: u32,
    /// Bytes of content that the server takes on all streams.
    pub(super) window: i64,
    /// Bytes of content that came since we last enlarged the server's window of the connection.
    pub(super) unacknowledged: u32,
    /// A block of fields whose end is still to come.
    pub(super) block: Option<Block>,
    /// When the last bytes came.
    pub(super) heard_ns: u64,
    /// Since when content waits for a window.
    pub(super) stalled_since_ns: Option<u64>,
}

/// The beginning of a block of fields.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) stream: u32,
    pub(super) end_stream: bool,
    pub(super) fragment: Vec<u8>,
}

/// A request and its answer.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) number: u32,
    has_ended: bool,
    pub(super) pending: Pending,
    pub(super) asked: AnswerBody,
    /// The status of the final head; 0 before it.
    pub(super) status: u16,
    /// How long the content is to be, if the server said so.
    pub(super) length: Option<u64>,
    /// Bytes of content so far.
    pub(super) bytes: u64,
    pub(super) body: BodyProgress,
    /// Bytes of content that the server takes on this stream.
    pub(super) window: i64,
    /// Bytes of content since we last enlarged the server's window of this stream.
    pub(super) unacknowledged: u32,
    /// Content of the request that is still to be sent.
    pub(super) unsent: Vec<u8>,
}

impl Stream {
    pub(super) fn new(number: u32, pending: Pending, asked: AnswerBody, window: u32) -> Self {
        Self {
            number,
            has_ended: false,
            pending,
            asked,
            status: 0,
            length: None,
            bytes: 0,
            body: BodyProgress::default(),
            window: window.into(),
            unacknowledged: 0,
            unsent: Vec::new(),
        }
    }
}

/// The last number that a client may give a stream (RFC 9113, 5.1.1).
const NUMBER_MAX: u32 = (1 << 31) - 1;

impl Streams {
    pub(super) fn new(heard_ns: u64) -> Self {
        Self {
            decoder: Decoder::new(HPACK_TABLE_BYTES),
            encoder: Encoder::new(),
            settings: PeerSettings::default(),
            is_greeted: false,
            list: VecDeque::new(),
            open: 0,
            next_number: 1,
            window: WINDOW_BYTES_AT_FIRST.into(),
            unacknowledged: 0,
            block: None,
            heard_ns,
            stalled_since_ns: None,
        }
    }

    /// Requests in flight.
    pub(super) fn open(&self) -> usize {
        self.open
    }

    /// Streams that may be open at once, of so many that are wanted.
    pub(super) fn room(&self, wanted: usize) -> usize {
        wanted.min(self.settings.streams() as usize)
    }

    /// The request that was sent first.
    pub(super) fn oldest(&self) -> Option<&Pending> {
        self.list.front().map(|stream| &stream.pending)
    }

    /// Takes the number of a new stream, and says whether it is the last one of the connection.
    pub(super) fn take_number(&mut self) -> (u32, bool) {
        let number = self.next_number;
        self.next_number += 2;
        (number, self.next_number >= NUMBER_MAX)
    }

    /// Whether a stream was never opened, so that no frame can belong to it.
    pub(super) fn is_idle(&self, number: u32) -> bool {
        number.is_multiple_of(2) || number >= self.next_number
    }

    pub(super) fn add(&mut self, stream: Stream) {
        self.open += 1;
        self.list.push_back(stream);
    }

    /// The open stream with this number.
    #[inline]
    pub(super) fn get(&mut self, number: u32) -> Option<&mut Stream> {
        let at = self.place(number)?;
        self.list.get_mut(at)
    }

    /// Ends a stream, and returns it.
    #[inline]
    pub(super) fn end(&mut self, number: u32) -> Option<Pending> {
        let at = self.place(number)?;
        let stream = self.list.get_mut(at)?;
        stream.has_ended = true;
        stream.unsent = Vec::new();
        stream.body = BodyProgress::default();
        let pending = stream.pending;
        self.open -= 1;
        while self.list.front().is_some_and(|stream| stream.has_ended) {
            self.list.pop_front();
        }
        // One that is not answered for long must not keep the places of all that come after it.
        if self.list.len() > 64 + 4 * self.open {
            self.list.retain(|stream| !stream.has_ended);
        }
        Some(pending)
    }

    /// Ends the oldest stream.
    pub(super) fn end_oldest(&mut self) -> Option<Pending> {
        let number = self.list.front()?.number;
        self.end(number)
    }

    /// All open streams.
    pub(super) fn iter(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.list.iter_mut().filter(|stream| !stream.has_ended)
    }

    fn place(&self, number: u32) -> Option<usize> {
        let at = self.list.binary_search_by_key(&number, |stream| stream.number).ok()?;
        self.list.get(at).filter(|stream| !stream.has_ended).map(|_| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_end_in_any_order_and_the_oldest_is_the_first_that_is_open() {
        let mut streams = Streams::new(0);
        for at in 0..1_000 {
            let (number, is_last) = streams.take_number();
            assert_eq!((number, is_last), (2 * at + 1, false));
            let pending = Pending { due_ns: 0, sent_ns: at.into(), target: 0, key: 0 };
            streams.add(Stream::new(number, pending, AnswerBody::AsFramed, 9));
        }
        assert!(streams.is_idle(2) && streams.is_idle(2_001) && !streams.is_idle(1_999));
        for number in (3..2_000).step_by(2) {
            assert_eq!(
                streams.end(number).map(|pending| pending.sent_ns),
                Some(u64::from(number / 2))
            );
            assert!(streams.end(number).is_none() && streams.get(number).is_none());
            assert_eq!(streams.oldest().map(|pending| pending.sent_ns), Some(0));
        }
        assert_eq!(streams.open(), 1);
        assert!(streams.list.len() <= 68, "{}", streams.list.len());
        assert!(streams.end_oldest().is_some() && streams.end_oldest().is_none());
        assert_eq!((streams.open(), streams.list.len()), (0, 0));
    }
}
