//! Hands an answer to its page piece by piece.
//!
//! Owns that a connection is read no faster than its page reads. Never reads a connection itself.

use runtime::service::{Command, Next};

use super::client::Client;
use super::failure::Failure;
use super::outcome::{Got, Number};
use super::stream::{Reader, Source};
use crate::limits::FETCH_STREAM_BYTES;

impl Client {
    /// The page wants the next piece of an answer.
    pub fn read_on(&mut self, number: Number, now_ns: u64) {
        let Some(stream) = self.streams.get_mut(&number) else { return };
        stream.reader = Reader::Piece;
        let due_ns = now_ns.saturating_add(stream.timeout_ns);
        let was_full = self.appetite(number) == Next::Park;
        let connection = self.fetches.get(&number).and_then(|fetch| fetch.connection);
        self.set_deadline(number, due_ns);
        self.feed(number);
        if let Some(connection) = connection.filter(|_| was_full) {
            self.commands.push(Command::Resume(connection));
        }
    }

    /// Gives the page the piece it waits for, if it has arrived. Returns whether the scheduler should continue to read the connection.
    pub(super) fn feed(&mut self, number: Number) -> Next {
        let Some(stream) = self.streams.get_mut(&number) else { return Next::Read };
        let Some(fetch) = self.fetches.get_mut(&number) else { return Next::Read };
        let pending = fetch.reading.as_mut().filter(|reading| reading.body_bytes() > 0);
        let got = match (stream.reader, pending, stream.source) {
            (Reader::Nothing, ..) => None,
            (Reader::Head, ..) => {
                let head = fetch.reading.as_ref().and_then(|reading| reading.head());
                head.map(|head| Ok(Got::Head(head)))
            }
            (Reader::Piece, Some(reading), _) => Some(Ok(Got::Piece(reading.take_body()))),
            (Reader::Piece, None, Source::Coming) => None,
            (Reader::Piece, None, Source::Whole) => Some(Ok(Got::End)),
            (Reader::Piece, None, Source::Broken(failure)) => Some(Err(failure)),
        };
        if let Some(got) = got {
            stream.reader = Reader::Nothing;
            self.set_deadline(number, u64::MAX);
            match &got {
                Ok(Got::Piece(piece)) => self.release(number, piece.len()),
                Ok(Got::End) | Err(_) => _ = self.remove(number),
                Ok(Got::Head(_) | Got::Whole(_)) => {}
            }
            self.outcomes.push((number, got));
        }
        self.appetite(number)
    }

    /// The whole answer has arrived. `false`: it is not read piece by piece.
    pub(super) fn end_stream(&mut self, number: Number) -> bool {
        let Some(stream) = self.streams.get_mut(&number) else { return false };
        stream.source = Source::Whole;
        if let Some(fetch) = self.fetches.get_mut(&number) {
            fetch.connection = None;
        }
        self.feed(number);
        true
    }

    /// The end of the answer will not come: its page gets the bytes received so far, and then the failure. `false`: the page still waits for
    /// the head.
    pub(super) fn break_stream(&mut self, number: Number, failure: Failure) -> bool {
        let Some(stream) = self.streams.get_mut(&number) else { return false };
        if stream.reader == Reader::Head {
            return false;
        }
        stream.source = Source::Broken(failure);
        let connection = self.fetches.get_mut(&number).and_then(|fetch| fetch.connection.take());
        if let Some(connection) = connection {
            self.commands.push(Command::Close(connection));
        }
        self.feed(number);
        true
    }

    /// Whether to read the connection of a fetch: not while enough of its answer is waiting.
    pub(super) fn appetite(&self, number: Number) -> Next {
        if !self.streams.contains_key(&number) {
            return Next::Read;
        }
        let reading = self.fetches.get(&number).and_then(|fetch| fetch.reading.as_ref());
        let is_full = reading.is_some_and(|reading| reading.body_bytes() >= FETCH_STREAM_BYTES);
        if is_full { Next::Park } else { Next::Read }
    }
}
