//! Every limit of the store: number, unit and consequence.

use std::time::Duration;

/// Maximum bytes of a key. With the eight bytes of an expiry time in front it fits LMDB's limit of 511. Beyond: the
/// change is refused.
pub const KEY_SIZE: usize = 503;

/// Maximum bytes of a value (16 MiB). Beyond: the change is refused.
pub const VALUE_SIZE: usize = 16 * 1024 * 1024;

/// Maximum number of databases, those for the program included. Beyond: the store is not opened.
pub const DATABASES: usize = 65;

/// Maximum bytes of a database name. Beyond: the store is not opened.
pub const DATABASE_NAME_SIZE: usize = 64;

/// Length of the longest decimal number (512; the largest sum has 327 characters). Longer values are no numbers to
/// `INCRBYFLOAT`.
pub(crate) const DECIMAL_SIZE: usize = 512;

/// Length of the longest integer, the minimum. Longer values are not parsed as integers.
pub const NUMBER_SIZE: usize = 20;

/// Bytes that a record takes beside its key and its value, about: its place in a page of LMDB, its kind, version and
/// expiry.
pub const RECORD_SIZE: usize = 32;

/// Default maximum bytes of the file (1 TiB); this much address space is reserved. Beyond: changes that need space are
/// refused, and everything can still be read and deleted.
pub const SIZE: u64 = 1 << 40;

/// Bytes of address space beyond [`SIZE`] (256 MiB). A full store still needs space to delete, because LMDB copies a
/// page before it changes it, and an order may have begun before the store was full.
pub const MARGIN: u64 = 256 * 1024 * 1024;

/// Bytes of rows that an import sorts in memory at a time (64 MiB).
pub const LOAD_PIECE_SIZE: usize = 64 * 1024 * 1024;

/// Bytes of stored values that one order reads to return or rewrite them (64 MiB), not counting the last value. Beyond:
/// the order fails and changes nothing.
pub const ORDER_WORK_SIZE: usize = 64 * 1024 * 1024;

/// The same for all orders of one transaction (512 MiB). Beyond: the remaining orders fail.
pub const TRANSACTION_WORK_SIZE: usize = 512 * 1024 * 1024;

/// Snapshots from which a thread lends values at the same time. Beyond: values are copied to memory instead.
pub const LENT_SNAPSHOTS: usize = 32;

/// Snapshots that a thread holds for replies that take several turns. Beyond: the next such reply waits for the one
/// before.
pub const HELD_SNAPSHOTS: usize = 1;

/// Milliseconds after which a lent value is taken back (5 minutes, which is 56 KB/s for 16 MiB). Beyond: the connection
/// that is still sending it is reset. Until then the file grows by everything that is written.
pub const LENT_TIME_MS: u64 = 300_000;

/// Milliseconds within which loans of unchanged values share a snapshot (10 s). With this a thread needs at most
/// [`LENT_SNAPSHOTS`] for [`LENT_TIME_MS`], unless the requested values were written recently.
pub const LENT_TOGETHER_MS: u64 = 10_000;

/// Snapshots of other programs, such as backups, at the same time. Beyond: the next one fails.
pub const OTHER_READERS: usize = 16;

/// Snapshots for checkpoints at the same time: the last checkpoint, the one being made, and one to detect commits of
/// other programs meanwhile. There are never more.
pub const CHECKPOINTS: usize = 3;

/// Bytes by which the file may grow between checkpoints (256 MiB), because the pages of the last checkpoint are kept.
/// Beyond: the next checkpoint starts early, as soon as the current one is done.
pub const CHECKPOINT_GROWTH: u64 = 256 * 1024 * 1024;

/// Bytes of the log (64 MiB) after which a checkpoint starts early, so that a power failure replays at most twice as
/// much.
pub const LOG_SIZE: u64 = 64 * 1024 * 1024;

/// Block size of the log (4 KiB). Each entry fills whole blocks, because a disk writes at most one block atomically.
/// Smaller: a power failure could destroy an entry that was answered.
pub const LOG_BLOCK: usize = 4096;

/// Bytes by which a log file grows at a time (64 KiB); the wait for the disk is longer then. Smaller: the file grows
/// more often.
pub const LOG_PIECE: usize = 64 * 1024;

/// Bytes of the log buffer that are kept between entries (1 MiB). Beyond: the rest is freed after the entry.
pub const LOG_BUFFER: usize = 1024 * 1024;

/// Bytes that a checkpoint writes at a time (1 MiB); an entry of the log waits for at most that much. Smaller: a
/// checkpoint takes longer.
pub const CHECKPOINT_PIECE: usize = 1024 * 1024;

/// Shortest pause between such writes (100 us). Shorter pauses are skipped, because the write had nothing to do.
pub const CHECKPOINT_PAUSE: Duration = Duration::from_micros(100);

/// Attempts to find the newest commit while other programs commit. Beyond: the checkpoint fails and is made later.
pub const CHECKPOINT_ATTEMPTS: usize = 100;

/// Free bytes below which a short write counts as a full disk (1 MiB).
pub const FULL_DISK: u64 = 1024 * 1024;

/// Bytes on the disk that are kept for deletions (4 MiB), beside the share of the file. One writes about 30 KiB while a
/// snapshot keeps LMDB from reusing pages. Beyond: a deletion on a full disk fails until the snapshot ends.
pub const RESERVE: u64 = 4 * 1024 * 1024;

/// The part of the file's size by which that is more (1/256). Deleting everything writes eight bytes for each page of
/// 4 KiB. Smaller: on a full disk a large store cannot be emptied at once.
pub const RESERVE_SHARE_OF_DATA: u64 = 256;

/// The part of the free disk that it takes at most (1/8). Larger: a small disk has less room for values.
pub const RESERVE_SHARE_OF_DISK: u64 = 8;

/// Bytes of it that a deletion gets first (64 KiB), and twice as many with each further attempt. Smaller: a deletion
/// makes more attempts.
pub const RESERVE_PIECE: u64 = 64 * 1024;

/// Fewer bytes are not taken back after a deletion (4 KiB).
pub const RESERVE_BLOCK: u64 = 4096;

/// Expired keys that one transaction deletes. Beyond: the next transaction deletes the rest.
pub const EXPIRED_PER_COMMIT: usize = 1_000;

/// Time between two searches for expired keys, if the last one deleted all (1 s).
pub const EXPIRED_LOOK: Duration = Duration::from_secs(1);

/// Keys that one page of a scan examines. Beyond: the next page continues.
pub const PAGE_KEYS: usize = 4_096;

/// Bytes of keys and values after which a page of a scan ends (1 MiB).
pub const PAGE_SIZE: usize = 1024 * 1024;

/// Bytes of each of the two files with the last records of a store with replicas (32 MiB), beyond its last record. A
/// replica that has missed more takes a snapshot.
pub const KEPT_FILE: u64 = 32 * 1024 * 1024;

/// Maximum bytes of a record that is sent (256 MiB). A larger transaction is not sent: replicas take a snapshot.
pub const RECORD_MOST: usize = 256 * 1024 * 1024;

/// Terms of leaders that a store remembers. Beyond: a store that comes back from an earlier one sets aside more records
/// than it had to.
pub const TERMS: usize = 64;

/// Commits whose versions a new leader leaves out (2^30), because the last leader may have made that many that no
/// replica has. Smaller: a version might be used twice.
pub const TERM_VERSIONS: u64 = 1 << 30;

/// Bytes of records that are read at a time when they are set aside (4 MiB).
pub(crate) const ASIDE_PIECE: usize = 4 * 1024 * 1024;

/// Bytes of a piece of a snapshot for a replica (256 KiB), beyond its last record. Larger: the leader's writer is busy
/// for longer with each.
pub const PIECE_SIZE: usize = 256 * 1024;

/// Bytes of a part of a message between nodes (512 KiB). Larger: a NATS server with its default settings takes none.
pub const FRAGMENT_SIZE: usize = 512 * 1024;

/// Maximum bytes of a message between nodes (320 MiB): of a record, or of the orders of a scheduler. A larger one is
/// dropped.
pub const MESSAGE_MOST: usize = 320 * 1024 * 1024;

/// Nodes whose messages are put together at the same time. Beyond: the message that was begun first is dropped.
pub const SENDERS: usize = 8;

/// Bytes of records in one message (256 KiB), beyond its last one.
pub const RECORDS_SIZE: usize = 256 * 1024;

/// Bytes of records that answer one question of a replica (4 MiB), beyond the last one. It asks again for the rest.
pub const ANSWER_SIZE: usize = 4 * 1024 * 1024;

/// Bytes of records that a replica applies in one transaction (8 MiB), beyond the last one.
pub const APPLIED_SIZE: usize = 8 * 1024 * 1024;

/// Time between two messages of a leader that has nothing new (1 s). Longer: a replica that has missed the last record
/// notices later.
pub const LEAD_EVERY_MS: u64 = 1_000;

/// Time without a message after which a leader counts as away (5 s).
pub const LEADER_AWAY_MS: u64 = 5_000;

/// Time after which a question without an answer is asked again (1 s).
pub const ASK_AGAIN_MS: u64 = 1_000;

/// Time after which a replica asks again for what it could not apply, or take (10 s). Shorter: while its disk is full,
/// or it lacks a database, the leader sends more in vain.
pub const REFUSED_MS: u64 = 10_000;

/// Time after which a replica that does not catch up says so (10 s).
pub const BEHIND_MS: u64 = 10_000;

/// Time for which a leader whose program has just begun listens before it executes orders (1 s). Shorter: if another
/// one was promoted meanwhile, it may acknowledge writes that it sets aside then.
pub const LISTENS_MS: u64 = 1_000;

/// The same from when others hear it (200 ms). Shorter: their answers may come too late.
pub const HEARD_MS: u64 = 200;

/// Time for which a replica that is to lead waits for its leader to hand over (1.2 s, and a leader says every second
/// that it is there). Longer: one that is lost is replaced later. Shorter: one that is well counts as lost.
pub const HAND_OVER_MS: u64 = 1_200;

/// Time for which a leader that hands over executes nothing (2 s), longer than the replica waits. Longer: writes wait
/// longer if no other store leads then.
pub const HANDED_OVER_MS: u64 = 2_000;

/// Time for which a replica waits to hear from a leader whose term has ended that it has not begun an order (1 s). Then
/// the order may have been executed or not.
pub const ORPHAN_MS: u64 = 1_000;

/// Messages with orders that a replica has sent and that are not answered. Beyond: the next ones wait.
pub const FORWARDED: usize = 32;

/// Replicas whose last order a node remembers. Beyond: the one that has sent nothing for longest is forgotten, and
/// an order of it that comes twice is executed twice.
pub const REPLICAS: usize = 1_024;

/// Milliseconds by which the clocks of a leader and a replica may differ and count as the same (1 s). Larger: keys may
/// expire later or earlier on a replica by as much.
pub const CLOCKS_APART_MS: i64 = 1_000;

/// Messages one after the other that say that a leader's clock is less far ahead than is believed, before that is
/// believed. Fewer: messages that are late make keys of a replica live longer for a moment.
pub(crate) const CLOCK_MESSAGES: u32 = 5;

/// Keys whose use is counted while somebody asks for the keys that are used most.
///
/// Consequence: a key that is used less often than one in this many may be missing.
pub const HOT_KEYS: usize = 1_024;

/// Bytes of a key by which it is told apart while uses are counted.
///
/// Consequence: longer keys with the same beginning are counted as one.
pub const HOT_KEY_SIZE: usize = 128;

/// For this long after a question for them, uses of keys are counted.
///
/// Consequence: whoever asks less often sees what was used since the last question but one.
pub const HOT_KEYS_MS: u64 = 10_000;
