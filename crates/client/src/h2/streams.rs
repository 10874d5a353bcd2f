//! The streams of one connection, by number.
//!
//! Owns which numbers are in use. Never reads or writes a frame.

use wire::h2::OutputWindow;

use crate::id::ExchangeId;

/// An open stream.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) number: u32,
    pub(crate) exchange: ExchangeId,
    /// Bytes of the request that the server takes.
    pub(crate) output: OutputWindow,
    /// Whether it is in the queue of those that may have something to send.
    pub(crate) is_queued: bool,
    /// Until when its body waits for the server's consent; `u64::MAX`: it does not.
    pub(crate) consent_due_ns: u64,
}

/// The last number that a client may give a stream (RFC 9113, 5.1.1).
const NUMBER_MAX: u32 = (1 << 31) - 1;

/// All streams of a connection.
#[derive(Debug)]
pub(crate) struct Streams {
    /// Ascending by number.
    open: Vec<Stream>,
    next: u32,
}

impl Default for Streams {
    fn default() -> Self {
        Self { open: Vec::new(), next: 1 }
    }
}

impl Streams {
    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// The number of the next stream; `None`: all are used up.
    pub(crate) fn next_number(&self) -> Option<u32> {
        Some(self.next).filter(|next| *next <= NUMBER_MAX)
    }

    /// Adds a stream, which has the next number.
    pub(crate) fn add(&mut self, stream: Stream) {
        self.next = stream.number + 2;
        self.open.push(stream);
    }

    /// Whether a stream was never opened, so that no frame can belong to it. Even numbers are those of a server, which
    /// must not use them, because pushes are refused.
    pub(crate) fn is_idle(&self, number: u32) -> bool {
        number.is_multiple_of(2) || number >= self.next
    }

    pub(crate) fn get(&mut self, number: u32) -> Option<&mut Stream> {
        let place = self.place(number)?;
        self.open.get_mut(place)
    }

    pub(crate) fn remove(&mut self, number: u32) -> Option<Stream> {
        self.place(number).map(|place| self.open.remove(place))
    }

    /// Removes those behind this number.
    pub(crate) fn remove_behind(&mut self, number: u32) -> Vec<Stream> {
        let place = self.open.partition_point(|stream| stream.number <= number);
        self.open.split_off(place)
    }

    pub(crate) fn iter(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.open.iter_mut()
    }

    fn place(&self, number: u32) -> Option<usize> {
        self.open.binary_search_by_key(&number, |stream| stream.number).ok()
    }
}
