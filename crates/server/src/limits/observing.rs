//! Limits of those who look at a running server: lists, dumps, dashboards, events and traces.

use std::time::Duration;

/// Rows of a list that `velodrome top` and others may ask for at once.
///
/// Consequence: a wish for more is refused.
pub const LIVE_ROWS_MAX: usize = 1_000;

/// Suspended pages, and channels, that are looked at for a list, in one turn.
///
/// Consequence: those beyond are counted as left out.
pub const LIVE_SEEN_MAX: usize = 10_000;

/// How long a dump waits for each of its parts.
///
/// Consequence: a part that takes longer is missing, and the dump says so.
pub const DUMP_PATIENCE: Duration = Duration::from_secs(5);

/// Bytes of one part of a dump.
///
/// Consequence: a longer part is cut, and stands there as text.
pub const DUMP_SIZE: u64 = 64 << 20;

/// After a dump for a panic, others are written only after this long.
///
/// Consequence: of many panics in a row, the first has a dump.
pub const DUMP_REST: Duration = Duration::from_mins(1);
/// Event streams of snapshots that are open at once: dashboards that somebody looks at.
///
/// Consequence: a further one is refused with 503, and its page says so.
pub const DASHBOARD_STREAMS: usize = 32;
// Events

/// The last events that are kept (256).
///
/// Consequence: older ones are only in the log.
pub const EVENTS_KEPT: usize = 256;

/// Time between two rounds in which the control scheduler asks the schedulers how they are (1 s).
///
/// Consequence: an event is this much later than its cause.
pub const EVENTS_LOOK_MS: u64 = 1_000;

/// How long a scheduler may take to answer that question (500 ms). Beyond: that is an event.
pub const EVENTS_PATIENCE_MS: u64 = 500;

/// How long after its question a scheduler that has not answered is asked again (1 minute). Less: a scheduler that is
/// stuck for hours has a full mailbox.
pub const EVENTS_ASK_AGAIN_MS: u64 = 60_000;

/// Events of one kind about one thing are at least this far apart (10 s).
///
/// Consequence: those between are counted, and the next one says how many there were.
pub const EVENTS_AGAIN_MS: u64 = 10_000;

/// Kinds and things whose last event is remembered for this (1,024). Beyond: no event of another thing.
pub const EVENTS_THINGS: usize = 1_024;

/// Lines of the cause of an event (32); the others are left out.
pub const EVENTS_CAUSE_LINES: usize = 32;

/// Bytes of the line of an event, and of each line of its cause (512); the rest is left out.
pub const EVENTS_LINE_SIZE: usize = 512;

/// Time between two looks at how long certificates are valid (1 hour), besides when there are new ones.
pub const EVENTS_CERTIFICATES_MS: u64 = 3_600_000;

/// Days before the end of a certificate from which on it is told (7).
pub const EVENTS_CERTIFICATE_DAYS: i64 = 7;

/// Time by which a deadline is noticed late that is told (100 ms).
pub const LATE_NS: u64 = 100_000_000;

/// Time in which a scheduler wants to run, in a round, from which on it is told if it did not (500 ms).
pub const CORE_WANTED_NS: u64 = 500_000_000;

/// Hundredths of the connections in use that are told (90).
pub const CONNECTIONS_NEAR: usize = 90;

/// Failed handshakes in a round that are told (100).
pub const HANDSHAKES_FAILED_MANY: u64 = 100;

/// Messages in a round for which a mailbox had no room that are told (10): a few are usual in bursts, and wait.
pub const MAILBOX_FULL_MANY: u64 = 10;

/// Time between two messages in which the writer of the store tells its numbers (500 ms).
///
/// Consequence: they are this old at most while it writes.
pub const STORE_TOLD_REST: Duration = Duration::from_millis(500);

/// Time of a commit of the store that is told (100 ms).
pub const STORE_SLOW_COMMIT: Duration = Duration::from_millis(100);

/// Time of a checkpoint of the store that is told (2 s).
pub const STORE_SLOW_CHECKPOINT: Duration = Duration::from_secs(2);

/// Lines of slow requests in a second, per scheduler (100). Beyond: they are counted, and the next line says how many.
pub const SLOW_LINES_PER_SECOND: u64 = 100;

/// Bytes of the path in the line of a slow request (512); the rest is left out.
pub const SLOW_PATH_SIZE: usize = 512;

/// Answers of 5xx in a round that are told (10).
pub const ERRORS_MANY: u64 = 10;

/// Routes whose answers of 5xx are counted in a round, the first of the configuration that have any (32).
///
/// Consequence: if others have more, they are not named.
pub const ROUTES_ERRING: usize = 32;

/// Pages that are named when memory of pages is short, or that do not compile after an edit (5).
pub const PAGES_NAMED: usize = 5;
/// Things per second that one trace begins to follow, over all schedulers.
///
/// Consequence: a wish for more is refused.
pub const TRACE_RATE_MAX: u32 = 1_000;

/// Seconds that one trace lasts at most (10 minutes).
///
/// Consequence: a wish for more is refused.
pub const TRACE_SECONDS_MAX: u64 = 600;

/// Bytes of a pattern of a trace. Consequence: a longer one is refused.
pub const TRACE_PATTERN_BYTES: usize = 1_024;

/// 1 MiB of lines of a trace wait for the one who asked for it.
///
/// Consequence: further steps are counted as left out.
pub const TRACE_UNREAD_BYTES: usize = 1024 * 1024;

/// Milliseconds after the end of a trace in which schedulers may say what they have left out.
///
/// Consequence: those that have not are named.
pub const TRACE_GRACE_MS: u64 = 1_000;

/// Routes whose times are counted apart, in the order of the configuration.
///
/// Consequence: those beyond share one histogram.
pub const ROUTES_TIMED: u32 = 4_096;

/// Spans of a scheduler that wait for the collector. Consequence: further ones are dropped and counted.
pub const SPANS_QUEUED: usize = 4_096;

/// Spans of one message to the collector. Consequence: the rest is sent with the next one.
pub const SPANS_AT_ONCE: usize = 512;

/// A second between two messages of a scheduler to the collector.
pub const SPANS_PAUSE_NS: u64 = 1_000_000_000;

/// How long the collector may take for a message (5 s). Consequence: its spans count as dropped.
pub const SPANS_TIME: Duration = Duration::from_secs(5);

// Profiles of the server itself

/// Samples per second of each thread's CPU time in the continuous profile (49). More: the threads lose more time to it.
pub const PROFILE_RING_HERTZ: u64 = 49;

/// 32 MiB of samples in the continuous profile: some minutes of a hundred busy threads.
///
/// Consequence: older ones leave before their time, and a profile says how far back it reaches.
pub const PROFILE_RING_BYTES: usize = 32 << 20;

/// Time between two reads of samples (500 ms). Longer: the kernel's room for them overflows.
///
/// Consequence: samples beyond are lost, and a profile says how many.
pub const PROFILE_READ: Duration = Duration::from_millis(500);

/// Time between two searches for threads that are new (10 s).
pub const PROFILE_SEARCH: Duration = Duration::from_secs(10);

/// Samples per second of each thread's CPU time while a server without a continuous profile is sampled for somebody
/// (99).
pub const PROFILE_NOW_HERTZ: u64 = 99;

/// Seconds for which such a server is sampled at most (30).
///
/// Consequence: a wish for more is refused.
pub const PROFILE_SECONDS_MAX: u64 = 30;

/// Minutes around slow events whose profiles are kept (8).
///
/// Consequence: the oldest leaves, and its events say no more that there is one.
pub const PROFILE_CUTS: usize = 8;

/// 2 MiB of stacks in the profile of one such minute.
///
/// Consequence: the stacks that were sampled least often are left out, and the profile says how many samples they had.
pub const PROFILE_CUT_BYTES: usize = 2 << 20;

/// Half of the time around an event that its profile has (30 s).
pub const PROFILE_CUT_HALF: Duration = Duration::from_secs(30);

/// Requests for profiles that may wait at once. Consequence: a further one is answered 503.
pub const PROFILES_ASKED: usize = 8;
