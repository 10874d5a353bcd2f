//! Every limit of the store: number, unit and consequence.

use std::time::Duration;

/// Bytes of a key: with the eight of a time before it, it fits the 511 that LMDB takes. Beyond: the change is refused.
pub const KEY_SIZE: usize = 503;

/// Bytes of a value (16 MiB). Beyond: the change is refused.
pub const VALUE_SIZE: usize = 16 * 1024 * 1024;

/// Databases of a store. Beyond: the store is not opened.
pub const DATABASES: usize = 64;

/// Bytes of the name of a database. Beyond: the store is not opened.
pub const DATABASE_NAME_SIZE: usize = 64;

/// Bytes of address space that are reserved for the file unless the configuration says otherwise (1 TiB): so large may it grow. Beyond:
/// changes that need room are refused, and everything can still be read and deleted.
pub const SIZE: u64 = 1 << 40;

/// Bytes of address space behind [`SIZE`] (256 MiB). A full store still needs room to delete, because pages are copied before they are changed,
/// and one order may have begun when there was room.
pub const MARGIN: u64 = 256 * 1024 * 1024;

/// Bytes of rows that are sorted in memory while many are loaded (64 MiB).
pub const LOAD_PIECE_SIZE: usize = 64 * 1024 * 1024;

/// Bytes of values that one order reads to give or to write anew (64 MiB), but for the last value. Beyond: it fails, and nothing of it is done.
pub const ORDER_WORK_SIZE: usize = 64 * 1024 * 1024;

/// Bytes of values that all orders of a transaction read so (512 MiB), but for the last value. Beyond: as above, for the orders that are left.
pub const TRANSACTION_WORK_SIZE: usize = 512 * 1024 * 1024;

/// Snapshots that a thread lends values from at the same time. Beyond: a value is copied into memory instead.
pub const LENT_SNAPSHOTS: usize = 32;

/// Milliseconds for which a value is lent (5 minutes): 16 MiB in that time are 56 KB a second. Beyond: it is taken back, and the connection that still has to send it
/// is reset. Until then the file grows by what is written.
pub const LENT_TIME_MS: u64 = 300_000;

/// Milliseconds within which values are lent from the same snapshot, if they are as they were (10 s). With it, a thread lends for [`LENT_TIME_MS`] from
/// no more than [`LENT_SNAPSHOTS`], unless the values that are asked for were just written.
pub const LENT_TOGETHER_MS: u64 = 10_000;

/// Snapshots of other programs at the same time, such as a backup. Beyond: one more fails.
pub const OTHER_READERS: usize = 16;

/// Snapshots of checkpoints at the same time: the last one, the next while it is made, and one that shows that no commit came meanwhile. There are never more.
pub const CHECKPOINTS: usize = 3;

/// Bytes by which the file may grow from one checkpoint to the next (256 MiB), because nothing of the last one is written over. Beyond: the next one is begun before
/// its time, once the last one is made.
pub const CHECKPOINT_GROWTH: u64 = 256 * 1024 * 1024;

/// Bytes of the log (64 MiB) from which a checkpoint is begun before its time, so that no more than twice that is repeated after a power failure.
pub const LOG_SIZE: u64 = 64 * 1024 * 1024;

/// Bytes of a block of the log (4 KiB), of which each entry has whole ones: no disk writes more at once. Smaller: a power failure could take what was answered before.
pub const LOG_BLOCK: usize = 4096;

/// Bytes by which a file of the log grows (64 KiB): the wait for the disk is longer then. Smaller: more often.
pub const LOG_PIECE: usize = 64 * 1024;

/// Bytes that the buffer for an entry of the log keeps (1 MiB). Beyond: they are given back after the entry.
pub const LOG_BUFFER: usize = 1024 * 1024;

/// Bytes of the file that a checkpoint has on their way to the disk at once (1 MiB): an entry of the log waits for no more than that. Smaller: a checkpoint takes longer.
pub const CHECKPOINT_PIECE: usize = 1024 * 1024;

/// The shortest pause behind such a piece (100 us). Shorter: none is made, because nothing of the piece had to be written.
pub const CHECKPOINT_PAUSE: Duration = Duration::from_micros(100);

/// How often the newest commit is looked for while other programs commit. Beyond: the checkpoint fails, and is made later.
pub const CHECKPOINT_ATTEMPTS: usize = 100;

/// Bytes that are left on a disk that took a part of what was written (1 MiB). Below: the error says that it is full.
pub const FULL_DISK: u64 = 1024 * 1024;

/// Keys whose time is over that are removed in one transaction. Consequence: more are left for the next.
pub const EXPIRED_PER_COMMIT: usize = 1_000;

/// Time between two removals of keys whose time is over, when all were removed (1 s).
pub const EXPIRED_LOOK: Duration = Duration::from_secs(1);

/// Keys that one page of a scan looks at. Consequence: the page ends, and the next one goes on.
pub const PAGE_KEYS: usize = 4_096;

/// Scans that are under way and are known by their number. Beyond: the one that was longest without a page begins anew.
pub const CURSORS: usize = 4_096;

/// Bytes of keys and values of one page of a scan (1 MiB), from which it ends.
pub const PAGE_SIZE: usize = 1024 * 1024;
