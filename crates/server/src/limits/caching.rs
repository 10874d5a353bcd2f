//! Limits of the caches of upstreams, in memory and on disks.

/// An eighth of the part of a scheduler in the memory of a cache is the longest body that is stored. More: a few
/// answers displace all others.
pub const CACHE_OBJECT_PART: usize = 8;

/// 1,024 orders to forget stored answers may wait for room at other schedulers. Beyond: those forget everything.
pub const CACHE_ORDERS: usize = 1024;

/// 64 KiB that a cache reserves at a time for an answer of unknown length. Larger: less room for others.
pub const CACHE_RESERVE_STEP: usize = 64 * 1024;

/// 256 KiB of an answer that turned out too long to be stored are held for the slowest of its readers. Beyond: the
/// server is not read.
pub const CACHE_WINDOW: usize = 256 * 1024;

/// 16 KiB up to which a stored body is copied to its client. A longer one is lent.
pub const CACHE_COPIED_SIZE: usize = 16 * 1024;
