//! The limits of the file engine: number, unit, consequence.

/// 500 ms: a younger cached result is served without a lookup.
pub const FRESH_MS: u64 = 500;

/// 1,000 ms: up to this age a cached result is served while it is looked up again; beyond it the request waits for the
/// disk. So a changed file is served within a second.
pub const SERVABLE_MS: u64 = 1_000;

/// 10 s: a job without an answer for this long counts as lost, and the next request for the path sends another.
pub const ANSWER_WAIT_MS: u64 = 10_000;

/// 4,096 running jobs of one scheduler; a request that needs one more is answered with 503, a refresh is postponed.
pub const IN_FLIGHT_MAX: usize = 4_096;

/// 4,096 remembered paths without anything to serve; beyond it the oldest is removed, and needs another lookup.
pub const NEGATIVE_MAX: usize = 4_096;

/// 1,024 slots checked to find one to evict; after these the next one is evicted even if it was used recently.
pub const SWEEP_MAX: usize = 1_024;

/// 384 bytes charged for every cached result for its slot, its key and its allocations, so that many small
/// ones cannot exceed the limit in bytes.
pub const SLOT_COST: usize = 384;

/// 4,096 names in the listing of a directory, the first ones in its order; the others are left out, and the listing
/// says so.
pub const LISTING_NAMES_MAX: usize = 4_096;

/// 4,096 bytes of a path below its root; a longer one is answered with 404. The kernel's `PATH_MAX`.
pub const PATH_SIZE_MAX: usize = 4_096;

/// 3 reads of a file that is being written; after these the result of the last read is served.
pub const READ_TRIES: usize = 3;

/// 100 ms: a file changed less than this before it was read may change again without a new time stamp, so the next
/// lookup reads it again. Longer than the clock tick of every kernel.
pub const UNSETTLED_MS: u64 = 100;

/// 2 s: the same for a file whose time of change has no fraction of a second, as on file systems that keep none.
pub const UNSETTLED_COARSE_MS: u64 = 2_000;

/// 1980-01-01: an earlier modification time is not the time of a change (builds that can be reproduced give all files
/// the same one, often 1 s after the epoch), so there is no `Last-Modified`.
pub const LAST_MODIFIED_FROM_S: u64 = 315_532_800;

/// 512 KiB of the beginning of a large file are read into the page cache during the lookup; the rest waits for
/// [`Warm`](super::Warm).
pub const WARM_FIRST_SIZE: u64 = 512 * 1024;

/// 8 MiB of a file are warmed by one job; of a longer region only the first part.
pub const WARM_SIZE_MAX: u64 = 8 * 1024 * 1024;

/// 1,024 descriptors of large files that one scheduler keeps between requests; for further files each request opens its
/// own.
pub const HANDLES_MAX: usize = 1_024;

/// 1 s: a kept descriptor that was not used for this long is closed. So the blocks of a deleted file are freed, and its
/// file system can be unmounted, a second after the last answer.
pub const HANDLE_KEPT_MS: u64 = 1_000;

/// 32 KiB: a longer file is not held in memory but sent from its descriptor. Beyond this size `sendfile` costs less
/// than a copy, as long as the descriptor is kept.
pub const HELD_SIZE: u64 = 32 * 1024;

/// 1 KiB: a shorter file is not compressed, because that would save less than a packet.
pub const COMPRESS_FROM: u64 = 1_024;

/// 4 MiB: a longer file is not compressed on the fly; only a precompressed sibling is used.
pub const COMPRESS_TO: u64 = 4 * 1024 * 1024;

/// 64 MiB of cached results for each scheduler; beyond it results are evicted.
pub const CACHE_SIZE: usize = 64 * 1024 * 1024;

/// 64 KiB of a file of secrets; a longer one is refused, because it must be another file.
pub const SECRET_FILE_SIZE: u64 = 64 * 1024;
/// 32 bytes of a secret; a shorter one is refused, because a client with a cookie could guess it.
pub const SECRET_SIZE_MIN: usize = 32;
/// 16 secrets; a file with more is refused, because each is tried for every invalid cookie or token.
pub const SECRETS_MAX: usize = 16;
