//! The streams of one connection, and what both sides have told each other.
//!
//! Owns the state of a connection of HTTP/2: windows, tables, settings, requests in flight, and the frames that follow
//! from it. Never reads a frame; what came of an answer is in `stream`.

mod request;
mod stream;

use std::collections::VecDeque;

use wire::h2::{
    AfterFrame, ErrorCode, PeerSettings, SettingId, SettingsReader, WINDOW_BYTES_AT_FIRST,
    WINDOW_BYTES_MAX, begin_headers, end_headers, write_reset, write_window_update,
};
use wire::hpack::{Decoder, Encoder, Indexing};
use wire::limits::HPACK_TABLE_BYTES;

use super::pending::Pending;
use crate::client::Context;
use crate::plan::AnswerBody;
pub(super) use request::StreamRequest;
use stream::{Stream, used_up};

/// Why a connection cannot go on.
pub(super) type Broken = &'static str;

const IDLE: Broken = "a frame is for a stream that was never opened";
const TOO_LARGE: Broken = "a window is larger than it may be";

/// A connection.
#[derive(Debug)]
pub(super) struct Streams {
    decoder: Decoder,
    encoder: Encoder,
    settings: PeerSettings,
    /// Whether the server's settings have come.
    is_greeted: bool,
    /// By number, ascending. Those that have ended stay until they are the first.
    list: VecDeque<Stream>,
    open: usize,
    next_number: u32,
    /// Bytes of content that the server takes on all streams.
    window: i64,
    /// Bytes of content that came since we last enlarged the server's window of the connection.
    unacknowledged: u32,
    /// A block of fields whose end is still to come.
    block: Option<Block>,
    /// When the last bytes came.
    heard_ns: u64,
    /// Since when content waits for a window.
    stalled_since_ns: Option<u64>,
}

/// A block of fields, or the beginning of one. Plain data.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) stream: u32,
    pub(crate) end_stream: bool,
    pub(crate) fragment: Vec<u8>,
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
        self.list.front().map(Stream::pending)
    }

    /// Bytes came.
    pub(super) fn hear(&mut self, now_ns: u64) {
        self.heard_ns = now_ns;
    }

    /// When the last bytes came.
    pub(super) fn heard_ns(&self) -> u64 {
        self.heard_ns
    }

    /// Whether the server's settings have come.
    pub(super) fn is_greeted(&self) -> bool {
        self.is_greeted
    }

    /// The server's settings (RFC 9113, 6.5).
    pub(super) fn take_settings(&mut self, settings: SettingsReader<'_>) -> Result<(), Broken> {
        for (id, value) in settings {
            let window = i64::from(self.settings.window_bytes());
            let applied = self.settings.apply(id, value);
            applied.map_err(|_| "a setting has a value that it cannot have")?;
            match id {
                SettingId::HEADER_TABLE_SIZE => self.encoder.set_peer_table_bytes(value),
                SettingId::INITIAL_WINDOW_SIZE => {
                    for stream in self.list.iter_mut().filter(|stream| !stream.has_ended()) {
                        let larger = stream.enlarge(i64::from(value) - window);
                        check_window(larger)?;
                    }
                }
                SettingId::ENABLE_PUSH if value == 1 => return Err("a server announces push"),
                _ => {}
            }
        }
        self.is_greeted = true;
        Ok(())
    }

    /// Streams that the server allows at once.
    pub(super) fn allowed(&self) -> u32 {
        self.settings.streams()
    }

    /// Whether the end of a block of fields is still to come.
    pub(super) fn has_open_block(&self) -> bool {
        self.block.is_some()
    }

    /// The beginning of a block of fields came.
    pub(super) fn keep_block(&mut self, block: Block) {
        self.block = Some(block);
    }

    /// More of the block of fields came.
    pub(super) fn continue_block(&mut self, stream: u32, fragment: &[u8]) -> Result<Block, Broken> {
        let block = self.block.take().filter(|block| block.stream == stream);
        let mut block = block.ok_or("a block of fields is continued on another stream")?;
        block.fragment.extend_from_slice(fragment);
        Ok(block)
    }

    /// Reads the fields of a block, of any stream: the table must stay in step.
    pub(super) fn decode(
        &mut self,
        fragment: &[u8],
        visit: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), Broken> {
        self.decoder.decode(fragment, visit).map_err(|_| "a block of fields is not HPACK")
    }

    /// Sends a request on a new stream; its content follows. Says whether it is the last one of the connection.
    pub(super) fn send(
        &mut self,
        request: &StreamRequest,
        pending: Pending,
        asked: AnswerBody,
        out: &mut Vec<u8>,
    ) -> bool {
        let (number, is_last) = self.take_number();
        let begin = begin_headers(out);
        self.encoder.begin_block(out);
        for (name, value) in request.fields() {
            self.encoder.encode(name, value, Indexing::Add, out);
        }
        let after =
            if request.content().is_empty() { AfterFrame::Nothing } else { AfterFrame::More };
        end_headers(begin, number, after, self.settings.frame_bytes(), out);
        let window = self.settings.window_bytes();
        self.add(Stream::new(number, pending, asked, window).with_content(request.content()));
        is_last
    }

    /// Sends content that has room in the windows of the server; `false` if some waits for a window.
    pub(super) fn send_content(&mut self, context: &mut Context<'_>) -> bool {
        let frame_bytes = self.settings.frame_bytes().into();
        let mut is_sent = true;
        for stream in self.list.iter_mut().filter(|stream| !stream.has_ended()) {
            while stream.is_sending() && !context.output_is_full() {
                let room = self.window.min(frame_bytes);
                let size = stream.send_content(room, context.output.buffer());
                if size == 0 {
                    is_sent = false;
                    break;
                }
                self.window -= size;
            }
        }
        is_sent
    }

    /// Content waits for a window; `false` if it did before.
    pub(super) fn begin_stall(&mut self, now_ns: u64) -> bool {
        let begins = self.stalled_since_ns.is_none();
        self.stalled_since_ns.get_or_insert(now_ns);
        begins
    }

    /// No content waits for a window; the result is since when some did.
    pub(super) fn end_stall(&mut self) -> Option<u64> {
        self.stalled_since_ns.take()
    }

    /// Takes the number of a new stream, and says whether it is the last one of the connection.
    fn take_number(&mut self) -> (u32, bool) {
        let number = self.next_number;
        self.next_number += 2;
        (number, self.next_number >= NUMBER_MAX)
    }

    /// Refuses a frame for a stream that was never opened (RFC 9113, 5.1).
    pub(super) fn check_number(&self, number: u32) -> Result<(), Broken> {
        if number.is_multiple_of(2) || number >= self.next_number { Err(IDLE) } else { Ok(()) }
    }

    /// The open streams behind one.
    pub(super) fn behind(&self, number: u32) -> Vec<u32> {
        let open = self.list.iter().filter(|stream| !stream.has_ended()).map(Stream::number);
        open.filter(|open| *open > number).collect()
    }

    /// Content came: the server's windows are enlarged when half of them is used up.
    pub(super) fn acknowledge(&mut self, number: u32, bytes: u32, out: &mut Vec<u8>) {
        let of_connection = used_up(&mut self.unacknowledged, bytes);
        let of_stream = self.get(number).map_or(0, |stream| stream.acknowledge(bytes));
        for (number, increment) in [(0, of_connection), (number, of_stream)] {
            if increment > 0 {
                write_window_update(number, increment, out);
            }
        }
    }

    /// The server takes more content (RFC 9113, 6.9.1).
    pub(super) fn enlarge(&mut self, number: u32, increment: u32) -> Result<(), Broken> {
        if number == 0 {
            self.window += i64::from(increment);
            return check_window(self.window);
        }
        self.check_number(number)?;
        self.get(number).map_or(Ok(()), |stream| check_window(stream.enlarge(increment.into())))
    }

    fn add(&mut self, stream: Stream) {
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
        let pending = self.list.get_mut(at)?.end();
        self.open -= 1;
        while self.list.front().is_some_and(Stream::has_ended) {
            self.list.pop_front();
        }
        // One that is not answered for long must not keep the places of all that come after it.
        if self.list.len() > 64 + 4 * self.open {
            self.list.retain(|stream| !stream.has_ended());
        }
        Some(pending)
    }

    /// Ends the oldest stream.
    pub(super) fn end_oldest(&mut self) -> Option<Pending> {
        let number = self.list.front()?.number();
        self.end(number)
    }

    /// Gives up the oldest request, if its time is over.
    pub(super) fn cancel_oldest(
        &mut self,
        is_over: impl Fn(&Pending) -> bool,
        out: &mut Vec<u8>,
    ) -> Option<Pending> {
        let stream = self.list.front().filter(|stream| is_over(stream.pending()))?;
        write_reset(stream.number(), ErrorCode::Cancel, out);
        self.end_oldest()
    }

    fn place(&self, number: u32) -> Option<usize> {
        let at = self.list.binary_search_by_key(&number, Stream::number).ok()?;
        self.list.get(at).filter(|stream| !stream.has_ended()).map(|_| at)
    }
}

fn check_window(window: i64) -> Result<(), Broken> {
    if window > WINDOW_BYTES_MAX.into() { Err(TOO_LARGE) } else { Ok(()) }
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
        let is_idle = |number| streams.check_number(number).is_err();
        assert!(is_idle(2) && is_idle(2_001) && !is_idle(1_999));
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
