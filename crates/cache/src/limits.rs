//! The limits of a cache that cannot be configured: name, number, consequence.

/// 2^31 seconds for any time that a field says (RFC 9111 section 1.2.2). Beyond: the same, 68 years.
pub const SECONDS_MAX: u64 = 1 << 31;
/// 86,400 seconds of freshness that is guessed from `Last-Modified`. Beyond: the answer is validated after a day.
pub const HEURISTIC_MAX_S: u64 = 86_400;
/// A tenth of the time since `Last-Modified` is the guessed freshness (RFC 9111 section 4.2.2). Fewer parts: answers
/// stay fresh longer that have changed.
pub const HEURISTIC_PART: u64 = 10;
/// 16 names in `Vary`. Beyond: the answer is not stored.
pub const VARY_NAMES: usize = 16;
/// 16 stored answers of one URI that differ by `Vary`. Beyond: the oldest one is forgotten.
pub const VARIANTS: usize = 16;
/// 512 bytes that an answer is charged besides its body, its fields and its key: its places in tables. Smaller: the
/// memory that is used exceeds the configured one.
pub const ENTRY_COST: usize = 512;
/// A tenth of the memory is for answers that were asked for once. More: a scan forgets more of the others.
pub const SMALL_PART: usize = 10;
/// 3 uses are counted at most. More: an answer that was popular once stays longer.
pub const USES_MAX: u8 = 3;
/// 64 keys that were forgotten are remembered even if less is stored. Fewer: an answer that comes back counts as new.
pub const GHOSTS_MIN: usize = 64;
/// Half of the memory may be of answers that are being received, with those that clients still read though they were
/// forgotten. Beyond: an answer is passed on and not stored.
pub const ARRIVING_PART: usize = 2;
/// 64 purges may be at work, until each stored answer was looked at. Beyond: everything is purged.
pub const PURGES: usize = 64;
/// 1,024 stored answers are compared with purges in one go. More: a turn takes longer.
pub const SWEPT: usize = 1024;
/// 60 seconds by which a record may be younger than the clock says. More: its clock was wrong, and it is not used.
pub const RECORD_CLOCK_SLACK_S: u64 = 60;
/// 4,096 bytes are what a file uses at least, and a multiple of which it uses. Smaller: files use more than is counted.
pub const BLOCK_SIZE: u64 = 4096;
/// 4,096 keys whose answers cannot be stored are known, 16 bytes each. Beyond: requests for one of them wait for each
/// other once more.
pub const PASSED_KEYS: usize = 4096;
/// 60 seconds during which requests for such a key do not wait for each other. Longer: an answer that has become
/// storable is stored later.
pub const PASSED_MS: u64 = 60_000;
/// 1 second of the same after a fetch that failed. Longer: a server that is back gets more requests at once.
pub const FAILED_MS: u64 = 1_000;
/// 16 fetches of one URI at a time that others may wait for. Beyond: a request goes by itself.
pub const FETCHES_OF_URI: usize = 16;
/// 4,096 requests may wait for one fetch. Beyond: a request goes by itself.
pub const WAITERS: usize = 4096;
/// 2,048 bytes of a pattern of a purge. Beyond: it is refused.
pub const PATTERN_SIZE: usize = 2048;
/// 1 MiB for all of a stored answer but its body. Beyond: it is not stored on a disk.
pub const RECORD_SIZE: usize = 1 << 20;
/// 16 KiB of a file are read at first: a usual record, and perhaps its body. Less: more answers are read in two steps.
pub const FIRST_READ: usize = 16 * 1024;
