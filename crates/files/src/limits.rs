//! The limits of the file engine: number, unit, consequence.

/// 500 ms: a cached result younger than this is served without a second look.
pub const FRESH_MS: u64 = 500;

/// 1,000 ms: up to this age a cached result is served while it is looked up again; past it the request waits for the
/// disk. So a changed file is served as it is now within a second.
pub const SERVABLE_MS: u64 = 1_000;

/// 10 s: a job without an answer for so long is taken for lost, and the next request for the path sends another.
pub const ANSWER_WAIT_MS: u64 = 10_000;

/// 4,096 jobs in flight for one scheduler; a request that needs one more is answered 503, a refresh is put off.
pub const IN_FLIGHT_MAX: usize = 4_096;

/// 4,096 remembered paths at which nothing can be served; the oldest is forgotten and costs a look at the disk again.
pub const NEGATIVE_MAX: usize = 4_096;

/// 1,024 slots looked at to find one to evict; after these the next one goes even if it was used lately.
pub const SWEEP_MAX: usize = 1_024;

/// 384 bytes added to the cost of every cached result for its slot, its key and its allocations, so that many small
/// ones cannot pass the bound in bytes.
pub const SLOT_COST: usize = 384;

/// 4,096 names of a directory in its listing, the first ones in its order; the others are left out and the listing says so.
pub const LISTING_NAMES_MAX: usize = 4_096;

/// 4,096 bytes of a path below its root; a longer one is answered 404. The kernel's `PATH_MAX`.
pub const PATH_SIZE_MAX: usize = 4_096;

/// 3 reads of a file that is written meanwhile; after these what the last read gave is served as it is.
pub const READ_TRIES: usize = 3;

/// 100 ms: a file changed so shortly before it was read can change again without a new time stamp, so the next look
/// reads it again. Above the clock tick of every kernel.
pub const UNSETTLED_MS: u64 = 100;

/// 512 KiB of the beginning of a large file are brought into the page cache when it is looked up; the rest waits for
/// [`Warm`](super::Warm).
pub const WARM_FIRST_SIZE: u64 = 512 * 1024;

/// 8 MiB of a file are warmed by one job; of a longer region only the first part is.
pub const WARM_SIZE_MAX: u64 = 8 * 1024 * 1024;

/// 1,024 descriptors of large files that one scheduler keeps between requests; of more files each request opens its own.
pub const HANDLES_MAX: usize = 1_024;

/// 1 s: a kept descriptor that was not used for so long is closed. So the blocks of a deleted file are free, and its file system can be
/// unmounted, a second after the last answer.
pub const HANDLE_KEPT_MS: u64 = 1_000;

/// 32 KiB: a longer file is not held in memory but sent from its descriptor. From there on `sendfile` costs less than a copy, as long as
/// the descriptor is kept.
pub const HELD_SIZE: u64 = 32 * 1024;

/// 1 KiB: a shorter file is not compressed; what it saves is less than a packet.
pub const COMPRESS_FROM: u64 = 1_024;

/// 4 MiB: a longer file is not compressed on the fly, only taken from a precompressed sibling.
pub const COMPRESS_TO: u64 = 4 * 1024 * 1024;

/// 64 MiB of cached results for each scheduler; past it results are evicted.
pub const CACHE_SIZE: usize = 64 * 1024 * 1024;

/// 32 members of an `Accept` field are read; those after are as if they were not there.
pub const ACCEPT_MEMBERS_MAX: usize = 32;

/// 64 KiB of a file of secrets; a longer one is refused: it is another file.
pub const SECRET_FILE_SIZE: u64 = 64 * 1024;
/// 32 bytes of a secret; a shorter one is refused, as a client that has a cookie could guess it.
pub const SECRET_SIZE_MIN: usize = 32;
/// 16 secrets; a file with more is refused: each is tried for each cookie or token that is wrong.
pub const SECRETS_MAX: usize = 16;
