//! The requests of schedulers to the disks of caches, and the answers.
//!
//! Owns the shapes: plain data. Never carries anything out.

use std::path::Path;
use std::sync::Arc;

use cache::{DiskRecord, Elsewhere, PurgePattern, Time};
use http::FieldList;

/// The number of an answer that a scheduler has stored on a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SaveId(pub u64);

/// Orders of one scheduler, in their order. They are answered together.
#[derive(Debug)]
pub struct DiskOrders {
    /// The time of that scheduler.
    pub now: Time,
    /// The orders, each for a directory.
    pub orders: Vec<(Arc<Path>, DiskOrder)>,
}

/// An order.
#[derive(Debug)]
pub enum DiskOrder {
    /// Find an answer for a request.
    Look {
        /// The number of the question.
        look: u64,
        /// The beginning of its record.
        key: Vec<u8>,
        /// The number of the text of its key.
        text: u64,
        /// The fields of the request.
        request: FieldList,
        /// The longest body that the scheduler holds in memory.
        most: usize,
    },
    /// An answer is stored: its parts follow.
    Begin {
        /// Its number.
        save: SaveId,
        /// All but its body.
        record: Box<DiskRecord>,
        /// Whether the body is too long for memory, so that nobody will ever compare it with its check sum.
        is_long: bool,
    },
    /// A part of its body.
    Write(SaveId, Vec<u8>),
    /// It is whole.
    End(SaveId),
    /// It will not be.
    Abort(SaveId),
    /// The answer that is stored under this name was validated.
    Refresh(Arc<str>, Box<DiskRecord>),
    /// Forget the answers with this number of their text.
    Forget(u64),
    /// Forget everything that a pattern includes, in all directories.
    Purge(PurgePattern),
    /// So many bytes, and so many files.
    Limit(u64, usize),
}

/// The results of an order.
#[derive(Debug)]
pub enum DiskAnswer {
    /// The finding for a question.
    Looked(u64, DiskFound),
    /// A part of a body is written.
    Written(SaveId),
    /// An answer is stored; where its body is.
    Kept(SaveId, Elsewhere),
    /// It is not.
    Lost(SaveId, Loss),
}

/// The findings.
#[derive(Debug)]
pub enum DiskFound {
    /// A record, and its body.
    Whole(Vec<u8>, Vec<u8>),
    /// A record; its body is too long for memory.
    Long(Vec<u8>, Elsewhere),
    /// Only answers to other requests for the same.
    OtherVariants,
    /// Nothing.
    Nothing,
}

/// Why an answer is not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The disk is full, or fails.
    Failed,
    /// It was forgotten before it was whole.
    Forgotten,
}

metric::counted! {
    /// The content of all directories, and the fates of files.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct DiskReport {
        /// Bytes that the files of caches use.
        pub bytes: u64 = Gauge(Bytes, "cache_disk.bytes", "cache_disk"),
        /// Files of caches.
        pub files: u64 = Gauge(Count, "cache_disk.files", "cache_disk_files"),
        /// Files of caches that left for want of room.
        pub evictions: u64 = Counter(Count, "cache_disk.evictions", "cache_disk_evictions"),
        /// Files of caches that were not what had been written, and were deleted.
        pub damaged: u64 = Counter(Count, "cache_disk.damaged", "cache_disk_damaged"),
    }
}
