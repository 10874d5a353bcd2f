//! The unsent output of a process.
//!
//! Owns the queue of one process that has to wait: bounded, and kept only while it is not empty.
//! Sends as much as one turn may, several pieces in one gathered write, files from the page cache.

mod taking;

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::rc::Rc;

use sys::file::FileHandle;
use sys::pollset::{Corking, Pollset, Sent};

use crate::limits::{FILE_JOINED_BYTES, GATHER_PIECES};
use crate::output::{FileRegion, Leaving, Output, SharedBytes};
use crate::uptake::{Floor, Uptake};

pub(crate) use taking::Unit;

/// Where an outbox sends its pieces.
pub(crate) trait Sink {
    /// Sends one piece.
    fn send_bytes(&mut self, bytes: &[u8], follows: Corking) -> Sent;

    /// Sends several pieces in one write.
    fn send(&mut self, parts: &[IoSlice<'_>], follows: Corking) -> Sent;

    /// Sends a region of a file that is in the page cache.
    fn send_file(&mut self, file: &FileHandle, offset: u64, length: usize) -> Sent;
}

/// A socket without a transport.
pub(crate) struct Plain<'a, P: Pollset> {
    pub(crate) pollset: &'a mut P,
    pub(crate) socket: &'a P::Socket,
}

impl<P: Pollset> Sink for Plain<'_, P> {
    fn send_bytes(&mut self, bytes: &[u8], follows: Corking) -> Sent {
        self.pollset.send_bytes(self.socket, bytes, follows)
    }

    fn send(&mut self, parts: &[IoSlice<'_>], follows: Corking) -> Sent {
        self.pollset.send(self.socket, parts, follows)
    }

    fn send_file(&mut self, file: &FileHandle, offset: u64, length: usize) -> Sent {
        self.pollset.send_file(self.socket, file, offset, length)
    }
}

enum Piece {
    Owned {
        bytes: Vec<u8>,
        start: usize,
    },
    /// A head, which the carrier of a stream takes by itself.
    Head {
        bytes: Vec<u8>,
        start: usize,
    },
    Shared(SharedBytes),
    /// Bytes shared with other outboxes of this scheduler. The reference count is not atomic.
    Posted {
        bytes: Rc<[u8]>,
        start: usize,
    },
    File(FileRegion),
}

/// Emptied outboxes kept for reuse.
///
/// Limit: further ones are freed.
const SPARE_OUTBOXES: usize = 4_096;

/// Emptied outboxes of a scheduler.
#[derive(Default)]
#[expect(clippy::vec_box, reason = "they go into slots as they are")]
pub(crate) struct SpareOutboxes(Vec<Box<Outbox>>);

impl SpareOutboxes {
    /// An empty outbox.
    pub(crate) fn take(&mut self) -> Box<Outbox> {
        self.0.pop().unwrap_or_default()
    }

    /// Keeps an outbox for reuse.
    pub(crate) fn give_back(&mut self, mut outbox: Box<Outbox>) {
        if self.0.len() < SPARE_OUTBOXES {
            outbox.clear();
            self.0.push(outbox);
        }
    }
}

/// The queue of one process.
#[derive(Default)]
pub(crate) struct Outbox {
    pieces: VecDeque<Piece>,
    queued: usize,
    /// Those of the queued bytes that were posted in this turn. Most of them are sent before the queue is counted.
    uncounted: usize,
    /// Bytes that a transport holds back, or that the carrier of a stream has not taken. They are sent before the
    /// pieces.
    owed: usize,
    /// File regions that the carrier of a stream has not taken.
    owed_files: usize,
    /// File regions among the pieces.
    files: usize,
    /// Whether its scheduler has listed it as large.
    is_large: bool,
    /// How the peer reads the output; `None` until a send was incomplete.
    pub(crate) uptake: Option<Uptake>,
}

/// The result of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transmitted {
    /// Everything was sent.
    All,
    /// The socket has no room.
    Blocked,
    /// The socket has room, but this turn has sent enough.
    Budget,
    /// The next piece is a file region that is not in the page cache.
    Cold,
    /// The lender has taken back the next piece.
    TakenBack,
    /// The connection failed.
    Failed(io::ErrorKind),
}

impl Piece {
    /// The bytes not sent yet; `None` for a file region, and for bytes that were taken back.
    fn in_memory(&self) -> Option<&[u8]> {
        match self {
            Self::Owned { bytes, start } | Self::Head { bytes, start } => Some(&bytes[*start..]),
            Self::Shared(shared) => shared.as_slice(),
            Self::Posted { bytes, start } => Some(&bytes[*start..]),
            Self::File(_) => None,
        }
    }

    /// Bytes that are left of it.
    fn left(&self) -> u64 {
        match self {
            Self::Owned { bytes, start } | Self::Head { bytes, start } => {
                (bytes.len() - start) as u64
            }
            Self::Posted { bytes, start } => (bytes.len() - start) as u64,
            Self::Shared(shared) => (shared.end - shared.start) as u64,
            Self::File(region) => region.length,
        }
    }

    /// The hint to the kernel about sending a head that precedes this piece.
    fn behind_a_head(&self) -> Corking {
        match self {
            Self::File(region) if region.length > FILE_JOINED_BYTES => Corking::Off,
            _ => Corking::On,
        }
    }
}

/// Pieces for which an emptied outbox keeps room.
///
/// Limit: room for more is freed.
const SPARE_PIECES: usize = 8;

/// Bytes that a queued piece is charged in addition to its content.
const PIECE_BYTES: usize = 64;

impl Outbox {
    /// Bytes of memory in the queue.
    pub(crate) fn queued_bytes(&self) -> usize {
        self.queued + self.owed
    }

    /// The same, without bytes that were posted in this turn.
    pub(crate) fn counted_bytes(&self) -> usize {
        self.queued + self.owed - self.uncounted
    }

    /// Records how many bytes the transport holds back.
    pub(crate) fn note_owed(&mut self, bytes: usize) {
        self.owed = bytes;
    }

    /// Records what the carrier of a stream has not taken.
    pub(crate) fn note_untaken(&mut self, queue: &Outbox) {
        (self.owed, self.owed_files) = (queue.queued_bytes(), queue.files);
    }

    /// Counts posted bytes too, from now on.
    pub(crate) fn count_posted(&mut self) {
        self.uncounted = 0;
    }

    /// Queues shared bytes.
    pub(crate) fn post(&mut self, bytes: &Rc<[u8]>) {
        self.uncounted += bytes.len() + PIECE_BYTES;
        self.post_rest(bytes, 0);
    }

    /// When to check the peer next: at once if no send was tried yet.
    pub(crate) fn look_due_ns(&self, floor: Floor) -> u64 {
        self.uptake.as_ref().map_or(0, |uptake| uptake.due_ns(floor))
    }

    /// Queues the unsent rest of shared bytes.
    pub(crate) fn post_rest(&mut self, bytes: &Rc<[u8]>, start: usize) {
        self.queued += bytes.len() + PIECE_BYTES;
        self.pieces.push_back(Piece::Posted { bytes: Rc::clone(bytes), start });
    }

    /// Whether a file region is queued. Each holds a descriptor, so one at a time is enough.
    pub(crate) fn holds_file(&self) -> bool {
        self.files + self.owed_files > 0
    }

    /// It holds much from now on. `false` if that was noted before.
    pub(crate) fn is_newly_large(&mut self) -> bool {
        !std::mem::replace(&mut self.is_large, true)
    }

    /// It holds little again.
    pub(crate) fn note_small(&mut self) {
        self.is_large = false;
    }

    /// Drops everything.
    pub(crate) fn clear(&mut self) {
        self.pieces.clear();
        self.pieces.shrink_to(SPARE_PIECES);
        (self.queued, self.uncounted, self.owed) = (0, 0, 0);
        (self.files, self.owed_files) = (0, 0);
        self.uptake = None;
        self.is_large = false;
    }

    /// Queues bytes that the socket did not accept.
    pub(crate) fn push_bytes(&mut self, bytes: &[u8]) {
        self.queued += bytes.len() + PIECE_BYTES;
        self.pieces.push_back(Piece::Owned { bytes: bytes.to_vec(), start: 0 });
    }

    /// Queues everything in an output.
    pub(crate) fn append(&mut self, output: &mut Output) {
        output.drain_into(|piece| match piece {
            Leaving::Copied(bytes) => self.push_bytes(bytes),
            Leaving::Head(bytes) => {
                self.queued += bytes.len() + PIECE_BYTES;
                self.pieces.push_back(Piece::Head { bytes: bytes.to_vec(), start: 0 });
            }
            Leaving::Shared(shared) => {
                self.queued += PIECE_BYTES;
                self.pieces.push_back(Piece::Shared(shared));
            }
            Leaving::File(region) => {
                self.queued += PIECE_BYTES;
                self.files += 1;
                self.pieces.push_back(Piece::File(region));
            }
        });
    }

    /// The file region that has to be read into the page cache before sending can continue.
    pub(crate) fn cold_region(&self) -> Option<&FileRegion> {
        match self.pieces.front() {
            Some(Piece::File(region)) => Some(region),
            _ => None,
        }
    }

    /// Sends what the socket accepts, at most `most` bytes, and adds the count to `sent_bytes`. `follows` says what
    /// comes after the last piece.
    pub(crate) fn transmit(
        &mut self,
        sink: &mut impl Sink,
        follows: Corking,
        most: usize,
        sent_bytes: &mut usize,
    ) -> Transmitted {
        let mut left = most;
        while let Some(front) = self.pieces.front_mut() {
            if left == 0 {
                return Transmitted::Budget;
            }
            let (asked, sent) = match front {
                Piece::File(region) => {
                    let length = usize::try_from(region.length).unwrap_or(usize::MAX).min(left);
                    (length, sink.send_file(&region.file, region.offset, length))
                }
                Piece::Shared(shared) if shared.as_slice().is_none() => {
                    return Transmitted::TakenBack;
                }
                _ => self.send_memory(sink, follows, left),
            };
            let count = match sent {
                Sent::All => asked,
                Sent::Part(count) => count,
                Sent::Cold => return Transmitted::Cold,
                Sent::Failed(kind) => return Transmitted::Failed(kind),
            };
            *sent_bytes += count;
            if let Some(uptake) = &mut self.uptake {
                uptake.note_sent(count as u64);
            }
            let was_file = matches!(self.pieces.front(), Some(Piece::File(_)));
            self.advance(count);
            left -= count;
            // A file region is sent in steps chosen by the pollset, so only a step that sent nothing means that the
            // socket is full.
            if count < asked && (count == 0 || !was_file) {
                return Transmitted::Blocked;
            }
        }
        Transmitted::All
    }

    /// One gather write of the memory pieces at the front, at most `most` bytes.
    fn send_memory(
        &self,
        sink: &mut impl Sink,
        mut follows: Corking,
        most: usize,
    ) -> (usize, Sent) {
        if let [piece] = self.pieces.as_slices().0
            && let Some(bytes) = piece.in_memory()
            && bytes.len() <= most
            && self.pieces.len() == 1
        {
            return (bytes.len(), sink.send_bytes(bytes, follows));
        }
        let mut slices = [IoSlice::new(&[]); GATHER_PIECES];
        let mut count = 0;
        let mut asked = 0;
        for piece in &self.pieces {
            let Some(bytes) = piece.in_memory() else {
                follows = piece.behind_a_head();
                break;
            };
            if count == GATHER_PIECES {
                follows = Corking::On;
                break;
            }
            let fits = &bytes[..bytes.len().min(most - asked)];
            if fits.len() < bytes.len() {
                follows = Corking::On;
            }
            slices[count] = IoSlice::new(fits);
            count += 1;
            asked += fits.len();
        }
        (asked, sink.send(&slices[..count], follows))
    }

    /// Drops this many sent bytes from the front.
    fn advance(&mut self, mut count: usize) {
        while let Some(front) = self.pieces.front_mut() {
            let (left, held) = match front {
                Piece::Owned { bytes, start } | Piece::Head { bytes, start } => {
                    (bytes.len() - *start, bytes.len())
                }
                Piece::Shared(shared) => (shared.end - shared.start, 0),
                Piece::Posted { bytes, start } => (bytes.len() - *start, bytes.len()),
                Piece::File(region) => (usize::try_from(region.length).unwrap_or(usize::MAX), 0),
            };
            if count >= left {
                count -= left;
                self.queued -= held + PIECE_BYTES;
                self.files -= usize::from(matches!(front, Piece::File(_)));
                self.pieces.pop_front();
                continue;
            }
            match front {
                Piece::Owned { start, .. }
                | Piece::Head { start, .. }
                | Piece::Posted { start, .. } => *start += count,
                Piece::Shared(shared) => shared.start += count,
                Piece::File(region) => {
                    region.offset += count as u64;
                    region.length -= count as u64;
                }
            }
            return;
        }
    }
}
