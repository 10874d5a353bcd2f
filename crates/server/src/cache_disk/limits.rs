//! The limits of the disks of caches that cannot be configured: name, number, consequence.

use std::time::Duration;

/// 256 KiB of records and bodies in one message to the disks of caches. More: lookups wait longer.
pub(crate) const CACHE_DISK_BATCH: usize = 256 * 1024;

/// 2 messages of a scheduler to the disks of caches may be unanswered. Beyond: its orders wait.
pub(crate) const CACHE_DISK_UNANSWERED: usize = 2;

/// 32 MiB of bodies of a scheduler may wait to be written. Beyond: an answer is not stored on the disk.
pub(crate) const CACHE_DISK_WAITING: usize = 32 << 20;

/// 16,384 orders of a scheduler may wait for the disks of caches. Beyond: everything on them is forgotten.
pub(crate) const CACHE_DISK_ORDERS: usize = 16_384;

/// 4,096 keys of a scheduler may be looked for at a time. Beyond: a request goes to a server.
pub(crate) const CACHE_DISK_LOOKS: usize = 4096;

/// 1 second without an answer of the disks. Beyond: requests go to servers, and nothing is stored, until there is one.
pub(crate) const CACHE_DISK_PATIENCE: Duration = Duration::from_secs(1);

/// 64 files are compared with purges in one go. More: lookups wait longer.
pub(crate) const CACHE_DISK_COMPARED: usize = 64;

/// 8 MiB of a long body are written before the disk has to have them. More: lookups wait longer for a slow disk.
pub(crate) const CACHE_DISK_SYNC: u64 = 8 << 20;

/// 256 KiB of purges at work. Beyond: everything is purged.
pub(crate) const CACHE_PURGES_SIZE: usize = 256 * 1024;

/// 128 KiB of a long answer on their way to the disk. More: each such answer uses more memory.
pub(crate) const CACHE_DISK_PART: usize = 128 * 1024;
