//! The outbox of a stream: its output is handed over to the carrier's side, and taken from there.
//!
//! Owns the units in which a carrier takes output: heads whole, bodies in parts, files by themselves. Never sends.

use std::rc::Rc;

use super::{Outbox, PIECE_BYTES, Piece};
use crate::limits::COPY_BYTES;
use crate::output::{FileRegion, Output, Referenced, SharedBytes};

/// The next unit that the carrier of a stream may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Nothing,
    /// A head; whether it is all that is queued.
    Head {
        is_all: bool,
    },
    /// Other bytes.
    Body {
        bytes: usize,
        is_all: bool,
    },
    /// A file region that is not in the page cache.
    Cold,
    /// The lender has taken back the next piece.
    TakenBack,
}

impl Outbox {
    /// Moves all pieces to the end of another outbox, without copying. Returns whether there were any.
    pub(crate) fn hand_over(&mut self, to: &mut Outbox) -> bool {
        if self.pieces.is_empty() {
            return false;
        }
        if let Some(uptake) = &mut self.uptake {
            uptake.note_sent(self.pieces.iter().map(Piece::left).sum());
        }
        if to.pieces.is_empty() {
            std::mem::swap(&mut to.pieces, &mut self.pieces);
        } else {
            to.pieces.append(&mut self.pieces);
        }
        to.queued += std::mem::take(&mut self.queued);
        to.files += std::mem::take(&mut self.files);
        self.uncounted = 0;
        true
    }

    /// Bytes that were not taken, those of files included.
    pub(crate) fn untaken(&self) -> u64 {
        self.pieces.iter().map(Piece::left).sum()
    }

    /// The next unit, at most so many bytes of a body. File regions are taken by themselves.
    pub(crate) fn next_unit(&self, most: usize) -> Unit {
        match self.pieces.front() {
            None => Unit::Nothing,
            Some(Piece::Head { .. }) => Unit::Head { is_all: self.pieces.len() == 1 },
            Some(Piece::File(region)) => {
                let length = usize::try_from(region.length).unwrap_or(usize::MAX);
                let bytes = length.min(most);
                if !region.file.read_ready(region.offset, bytes) {
                    return Unit::Cold;
                }
                Unit::Body { bytes, is_all: bytes == length && self.pieces.len() == 1 }
            }
            Some(piece) if piece.in_memory().is_none() => Unit::TakenBack,
            Some(_) => self.next_body(most),
        }
    }

    /// The bytes in memory at the front that are no head.
    fn next_body(&self, most: usize) -> Unit {
        let mut bytes = 0;
        for (index, piece) in self.pieces.iter().enumerate() {
            let is_head = matches!(piece, Piece::Head { .. });
            let Some(piece) = piece.in_memory().filter(|_| !is_head) else { break };
            bytes += piece.len();
            if bytes >= most {
                let is_all = bytes == most && index + 1 == self.pieces.len();
                return Unit::Body { bytes: most, is_all };
            }
            if index + 1 == self.pieces.len() {
                return Unit::Body { bytes, is_all: true };
            }
        }
        Unit::Body { bytes, is_all: false }
    }

    /// Takes the head at the front, whole.
    pub(crate) fn take_head(&mut self) -> Option<Vec<u8>> {
        let Some(Piece::Head { bytes, .. }) = self.pieces.front_mut() else { return None };
        let bytes = std::mem::take(bytes);
        self.queued -= bytes.len() + PIECE_BYTES;
        self.pieces.pop_front();
        Some(bytes)
    }

    /// Moves bytes from the front to an output: long ones and files by reference.
    pub(crate) fn take(&mut self, count: usize, output: &mut Output) {
        let mut left = count;
        while left > 0
            && let Some(front) = self.pieces.front()
        {
            let taken = usize::try_from(front.left()).unwrap_or(usize::MAX).min(left);
            match front {
                Piece::Owned { bytes, start } | Piece::Head { bytes, start } => {
                    output.put(&bytes[*start..*start + taken]);
                }
                Piece::Posted { bytes, start } if taken <= COPY_BYTES => {
                    output.put(&bytes[*start..*start + taken]);
                }
                Piece::Posted { bytes, start } => {
                    let (bytes, start, end) = (Rc::new(Rc::clone(bytes)), *start, *start + taken);
                    output.put_shared(SharedBytes { bytes: Referenced::Lent(bytes), start, end });
                }
                Piece::Shared(shared) => {
                    let end = shared.start + taken;
                    output.put_shared(SharedBytes { end, ..shared.clone() });
                }
                Piece::File(region) => {
                    output.put_file(FileRegion { length: taken as u64, ..region.clone() });
                }
            }
            self.advance(taken);
            left -= taken;
        }
    }
}
