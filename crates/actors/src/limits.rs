//! Limits of processes of pages that cannot be configured: name, number, unit and consequence.
//!
//! Owns only the numbers. How many of them run in a turn is limited in `pages::limits`.

use std::time::Duration;

// ---- Mailboxes ----

/// 1,000,000 page processes of one scheduler that were spawned or have a name; one more is not spawned (`nil, "full"`).
/// The default memory of processes allows about 20,000; this limit matters above 2 GiB.
pub const PAGE_PROCESSES_MAX: usize = 1_000_000;
/// 1,000 messages in the mailbox of a page process; further senders are told that it is full.
pub const PAGE_MESSAGES_MAX: usize = 1_000;
/// 4 MiB in the mailbox of a page process; further senders are told that it is full.
pub const MAILBOX_SIZE: usize = 4 * 1024 * 1024;
/// 64 MiB in all mailboxes of a scheduler's page processes; further senders are told that the mailbox is full.
pub const ALL_MAILBOXES_SIZE: usize = 64 * 1024 * 1024;
/// 64 bytes are charged for a message in addition to its content.
pub const PAGE_MESSAGE_COST: usize = 64;
/// 1 ms after which letters of page processes are sent again to a scheduler that had no room.
pub const LETTERS_RETRY_MS: u64 = 1;
/// 5 s that a page waits for the receipt of its message to a process of another scheduler; then it continues, and is
/// told that there was no answer.
pub const LETTER_WORD: Duration = Duration::from_secs(5);

// ---- Names ----

/// 16 names that a process may have at a time; one more is refused.
pub const NAMES_PER_PROCESS: usize = 16;
/// 255 bytes of a name that a process registers; a longer one is refused.
pub const PROCESS_NAME_SIZE: usize = 255;

/// 256 names in the cluster that processes of one scheduler have or want: each is asked for every 2 s. A further one is
/// refused.
pub const LEASED_NAMES_MAX: usize = 256;
/// 15 s until a process that wants a name in the cluster is told that the cluster does not answer: a server that has
/// ended without a word keeps its names for 8 s, and a look is up to 2 s late.
pub const LEASE_WORD: Duration = Duration::from_secs(15);

// ---- Families ----

/// 1,000 processes at a time that descend from one request; a further `spawn`
/// fails, and its page is told.
pub const PAGE_FAMILY_MAX: usize = 1_000;
/// 10 times the CPU time that the spawned processes of one request used must pass until it is forgotten. So together
/// they have a tenth of a processor permanently, and more for short times. If they have used more than the budget, a
/// process that continues is ended.
pub const FAMILY_REST_FACTOR: u64 = 10;
/// 10 failures of processes of one request are logged at once, then one in each
/// [`FAMILY_TOLD_AGAIN`]; the others are counted.
pub const FAMILY_FAILURES_TOLD: u64 = 10;
/// 1 s after which another failure may be logged.
pub const FAMILY_TOLD_AGAIN: Duration = Duration::from_secs(1);

// ---- Background processes ----

/// 1 s until a failed background process starts again the first time; twice as long each further time.
pub const PROCESS_RESTART: Duration = Duration::from_secs(1);
/// 64 s at most until it starts again.
pub const PROCESS_RESTART_MAX: Duration = Duration::from_secs(64);
/// 64 s that a process has to run until its earlier failures are forgotten.
pub const PROCESS_STEADY: Duration = PROCESS_RESTART_MAX;
/// 60 s at most between two checks of the clock while a process waits for a time of day. If the clock is set, the start
/// may be this late.
pub const PROCESS_CALENDAR_LOOK: Duration = Duration::from_secs(60);
