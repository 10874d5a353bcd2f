//! The output of a run of a process, before it is sent.
//!
//! Owns one scheduler's buffer for copied bytes, used by every process in turn, so that the plain
//! path writes into cached memory and allocates nothing. What cannot be sent at once moves to the
//! process's own outbox.

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use sys::file::FileHandle;

use crate::limits::COPY_BYTES;

/// Bytes for one process, in order: copied, shared, or a region of a file.
///
/// ```
/// # use runtime::output::{Output, SharedBytes};
/// let mut output = Output::default();
/// output.put(b"head ");
/// let bytes = vec![b'x'; 100_000].into();
/// output.put_shared(SharedBytes { bytes, start: 0, end: 100_000 });
/// assert_eq!(output.queued_bytes(), 100_005);
/// ```
#[derive(Default)]
pub struct Output {
    bytes: Vec<u8>,
    pieces: Vec<Piece>,
    /// `bytes` up to here belong to earlier pieces.
    claimed: usize,
    referenced: usize,
}

/// The service's name for a file. It is given back to the service if the file is not in the page cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileName {
    /// The root directory it is in.
    pub root: u16,
    /// Its path in that directory.
    pub relative: Arc<str>,
}

/// A region of a file to be sent from the page cache.
#[derive(Clone, Debug)]
pub struct FileRegion {
    /// The open file.
    pub file: Rc<FileHandle>,
    /// Its name.
    pub name: FileName,
    /// Offset of the first byte.
    pub offset: u64,
    /// Length in bytes.
    pub length: u64,
}

/// Bytes that are queued by reference.
#[derive(Clone, Debug)]
pub struct SharedBytes {
    /// The whole buffer.
    pub bytes: Referenced,
    /// First byte of the part to send.
    pub start: usize,
    /// One past its last byte.
    pub end: usize,
}

/// The owner of bytes that are queued by reference.
#[derive(Clone)]
pub enum Referenced {
    /// All holders of the reference.
    Shared(Arc<[u8]>),
    /// A lender that may take the bytes back: it then returns no bytes. A connection that still has to send them is
    /// soon reset, with reason `SlowReader`.
    Lent(Rc<dyn AsRef<[u8]>>),
}

impl From<Arc<[u8]>> for Referenced {
    fn from(bytes: Arc<[u8]>) -> Self {
        Self::Shared(bytes)
    }
}

impl From<Vec<u8>> for Referenced {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Shared(bytes.into())
    }
}

impl fmt::Debug for Referenced {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, length) = match self {
            Self::Shared(bytes) => ("Shared", bytes.len()),
            Self::Lent(lender) => ("Lent", (**lender).as_ref().len()),
        };
        out.debug_tuple(name).field(&length).finish()
    }
}

impl SharedBytes {
    /// The part to send; `None` if its lender has taken it back.
    pub(crate) fn as_slice(&self) -> Option<&[u8]> {
        let bytes: &[u8] = match &self.bytes {
            Referenced::Shared(bytes) => bytes,
            Referenced::Lent(lender) => (**lender).as_ref(),
        };
        bytes.get(self.start..self.end)
    }
}

pub(crate) enum Piece {
    /// The copied bytes up to this offset.
    CopiedTo(usize),
    /// The same, as a head.
    HeadTo(usize),
    Shared(SharedBytes),
    File(FileRegion),
}

impl Output {
    /// The buffer of copied bytes, to append to.
    #[inline]
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Appends bytes.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends a head: a unit that the carrier of a stream takes by itself, never mixed with other bytes. To a socket
    /// it is sent like any other bytes.
    pub fn put_head(&mut self, head: &[u8]) {
        self.claim();
        self.bytes.extend_from_slice(head);
        if self.claimed < self.bytes.len() {
            self.claimed = self.bytes.len();
            self.pieces.push(Piece::HeadTo(self.claimed));
        }
    }

    /// Queues shared bytes: short ones are copied, longer ones are queued by reference.
    pub fn put_shared(&mut self, shared: SharedBytes) {
        let slice = shared.as_slice().unwrap_or_default();
        if slice.len() <= COPY_BYTES {
            self.bytes.extend_from_slice(slice);
            return;
        }
        self.claim();
        self.referenced += slice.len();
        self.pieces.push(Piece::Shared(shared));
    }

    /// Queues a region of a file.
    pub fn put_file(&mut self, region: FileRegion) {
        if region.length > 0 {
            self.claim();
            self.pieces.push(Piece::File(region));
        }
    }

    fn claim(&mut self) {
        if self.claimed < self.bytes.len() {
            self.claimed = self.bytes.len();
            self.pieces.push(Piece::CopiedTo(self.claimed));
        }
    }

    /// Removes some of the copied bytes and returns them. Positions count from the start of [`Output::buffer`].
    pub fn omit(&mut self, start: usize, length: usize) -> Vec<u8> {
        let end = self.bytes.len().min(start + length);
        let omitted: Vec<u8> = self.bytes.drain(start.min(end)..end).collect();
        let back = |claimed: &mut usize| {
            if *claimed > start {
                *claimed -= omitted.len().min(*claimed - start);
            }
        };
        back(&mut self.claimed);
        for piece in &mut self.pieces {
            if let Piece::CopiedTo(end) | Piece::HeadTo(end) = piece {
                back(end);
            }
        }
        omitted
    }

    /// Bytes in memory that wait to be sent. A file region counts as 0.
    #[inline]
    pub fn queued_bytes(&self) -> usize {
        match self.plain() {
            Some(bytes) => bytes.len(),
            None => self.bytes.len() + self.referenced,
        }
    }

    /// Whether the output contains a file region.
    #[inline]
    pub(crate) fn holds_file(&self) -> bool {
        !self.pieces.is_empty() && self.pieces.iter().any(|piece| matches!(piece, Piece::File(_)))
    }

    /// Whether the output is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.pieces.is_empty()
    }

    /// All bytes, if all are copied ones (the plain path).
    #[inline]
    pub(crate) fn plain(&self) -> Option<&[u8]> {
        if self.pieces.is_empty() { Some(&self.bytes) } else { None }
    }

    /// Exchanges the buffer, if it holds only copied bytes.
    #[inline]
    pub(crate) fn swap_bytes(&mut self, bytes: &mut Vec<u8>) {
        debug_assert!(self.pieces.is_empty(), "copied bytes alone");
        std::mem::swap(&mut self.bytes, bytes);
    }

    /// Empties the output and keeps the buffer, unless an unusually long reply enlarged it.
    #[inline]
    pub fn clear(&mut self) {
        self.bytes.clear();
        if self.bytes.capacity() > 4 * crate::limits::OUTBOX_HIGH_WATER_BYTES {
            self.bytes = Vec::new();
        }
        if !self.pieces.is_empty() {
            self.pieces.clear();
        }
        self.claimed = 0;
        self.referenced = 0;
    }

    /// Passes each piece on, in order, and empties the output.
    pub(crate) fn drain_into(&mut self, mut take: impl FnMut(Leaving<'_>)) {
        self.claim();
        let mut start = 0;
        for piece in self.pieces.drain(..) {
            match piece {
                Piece::CopiedTo(end) => {
                    take(Leaving::Copied(&self.bytes[start..end]));
                    start = end;
                }
                Piece::HeadTo(end) => {
                    take(Leaving::Head(&self.bytes[start..end]));
                    start = end;
                }
                Piece::Shared(shared) => take(Leaving::Shared(shared)),
                Piece::File(region) => take(Leaving::File(region)),
            }
        }
        self.clear();
    }
}

/// A piece that moves from the output to an outbox.
pub(crate) enum Leaving<'a> {
    Copied(&'a [u8]),
    Head(&'a [u8]),
    Shared(SharedBytes),
    File(FileRegion),
}
