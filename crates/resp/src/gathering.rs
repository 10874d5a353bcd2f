//! A reply that is made from many keys, in as many turns as it takes.
//!
//! Owns what was found so far. All keys are read from one snapshot, as if the command took no time. Never writes to a
//! connection.

use std::sync::Arc;

use local::ValueBytes;
use runtime::output::{Output, SharedBytes};
use store::HeldSnapshot;
use wire::resp::{RespVersion, write_bulk, write_bulk_head, write_null};

use crate::limits::PIECE_SIZE;

/// The reply so far.
#[derive(Debug)]
pub(crate) struct Gathering {
    /// The snapshot of the first turn.
    pub(crate) held: HeldSnapshot,
    /// The index of the next word of the command.
    pub(crate) next: usize,
    /// How many of the keys exist.
    pub(crate) found: usize,
    /// Bytes of values that were copied.
    pub(crate) copied: usize,
    /// The encoded values, as far as they are complete pieces.
    pieces: Vec<SharedBytes>,
    tail: Vec<u8>,
}

impl Gathering {
    /// A reply without values, for a command whose second word is its first key.
    pub(crate) fn new(held: HeldSnapshot) -> Self {
        Self { held, next: 1, found: 0, copied: 0, pieces: Vec::new(), tail: Vec::new() }
    }

    /// Adds a value, or null.
    pub(crate) fn add(&mut self, given: Option<ValueBytes<'_>>, version: RespVersion) {
        match given {
            None => write_null(&mut self.tail, version),
            Some(ValueBytes::Copied(bytes)) => write_bulk(&mut self.tail, bytes),
            Some(ValueBytes::Lent(shared)) => {
                write_bulk_head(&mut self.tail, shared.end - shared.start);
                self.cut();
                self.pieces.push(shared);
                self.tail.extend_from_slice(b"\r\n");
            }
        }
        if self.tail.len() >= PIECE_SIZE {
            self.cut();
        }
    }

    /// Makes the tail a piece, which is sent without another copy.
    fn cut(&mut self) {
        let (start, end) = (0, self.tail.len());
        let bytes = Arc::<[u8]>::from(&*self.tail).into();
        self.tail.clear();
        self.pieces.push(SharedBytes { bytes, start, end });
    }

    /// Writes the values.
    pub(crate) fn write(self, output: &mut Output) {
        self.pieces.into_iter().for_each(|piece| output.put_shared(piece));
        output.put(&self.tail);
    }
}
