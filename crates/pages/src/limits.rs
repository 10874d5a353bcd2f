//! Limits of pages, their processes, fetches and forms that cannot be configured: name, number,
//! unit and consequence.
//!
//! Owns only the numbers. Defaults of `[pages]` are in `config::limits`.

use std::time::Duration;

const KIB: u64 = 1024;

// ---- Pages ----

/// 10,000 pages below one root; further ones are not found, and the log says so.
pub const PAGES_MAX: usize = 10_000;
/// 1 MiB of a page's source; a longer page is answered with 500, and the log says why.
pub const PAGE_BYTES_MAX: usize = script::limits::PAGE_BYTES_MAX;
/// 16 KiB of a page's source are read at a time; few pages take more than one read.
pub const PAGE_READ_BYTES: usize = 16 * 1024;
/// 20 missing names of one page are reported; the others are reported when these are fixed.
pub const PAGE_STRANGERS_MAX: usize = 20;
/// 100,000 names below a root are searched for pages; further ones are not found, and the log says so.
pub const PAGE_ENTRIES_MAX: usize = 100_000;
/// 32 levels of directories are searched for pages; deeper pages are not found, and the log says so.
pub const PAGE_DEPTH_MAX: usize = 32;
/// 1,000 pages of a scheduler have counters of their own, in the order of their first requests; all others are counted
/// together.
pub const COUNTED_PAGES_MAX: usize = 1_000;
/// 7 lines before and after the one where a page failed are shown to its author.
pub const FAULT_LINES: usize = 7;
/// 400 characters of such a line; the rest is not shown.
pub const FAULT_LINE_CHARACTERS: usize = 400;
/// 4,000 characters of the message of a page that failed; the rest is not shown to its author.
pub const FAULT_MESSAGE_CHARACTERS: usize = 4_000;
/// 10 ms without a change, after which an edit counts as complete and the pages are read again. If an editor takes
/// longer between two steps of saving, a request in between sees the intermediate state.
pub const PAGE_QUIET: Duration = Duration::from_millis(10);
/// 500 ms after the first change the pages are read again, even if changes continue.
pub const PAGE_QUIET_MAX: Duration = Duration::from_millis(500);
/// 3 files of an edit are named in the log. Beyond: the others are counted.
pub const EDIT_NAMES_MAX: usize = 3;
/// 4 times the CPU time of reading the pages must pass before they are read again: a program that creates directories
/// without end takes a fifth of one processor at most.
pub const PAGE_REST_FACTOR: u64 = 4;
/// 1 s at most that edits wait because reading the pages took much work.
pub const PAGE_REST_MAX: Duration = Duration::from_secs(1);
/// 1 s after pages could not be read for lack of a resource, they are tried again. The old ones are served meanwhile.
pub const PAGE_RETRY: Duration = Duration::from_secs(1);
/// 8,192 directories are watched for edits of pages; edits in others are found at a reload, and the log says so.
pub const PAGE_WATCHES_MAX: usize = 8_192;
/// 8 pages or modules of one edit are tried although there was no memory for them, each after a full garbage
/// collection. Beyond: the others stay unchanged without a try.
pub const PAGE_LOADS_FAILED_MAX: usize = 8;
/// 40 links on the path to a root are followed, as by the kernel. Beyond: a changed link is noticed at a reload.
pub const WAY_LINKS_MAX: usize = 40;
/// 1 KiB is the least that a request, or the processes of one, must hold to be ended for room: ending smaller holders
/// would free nothing.
pub const ENDED_FOR_ROOM_MIN: u64 = 1024;
/// 100 lines per second of each page in the server's log, with bursts of ten seconds' worth; others are left out and
/// counted.
pub const LOG_PAGE_LINES_PER_SECOND: u64 = 100;
/// 64 KiB per second of each page's lines; others are left out and counted.
pub const LOG_PAGE_BYTES_PER_SECOND: u64 = 64 * KIB;
/// 1,000 lines per second of all pages of a scheduler; others are left out and counted.
pub const LOG_ALL_LINES_PER_SECOND: u64 = 1_000;
/// 512 KiB per second of the lines of all pages of a scheduler; others are left out and counted.
pub const LOG_ALL_BYTES_PER_SECOND: u64 = 512 * KIB;
/// 10 s worth of these rates may come as a burst.
pub const LOG_BURST_NS: u64 = 10_000_000_000;
/// 5 s between two lines that say how many were left out.
pub const LOG_TOLD_AGAIN_NS: u64 = 5_000_000_000;
/// 64 runs (until a page waits or ends) form the average of what a page takes.
pub const VISITS_AVERAGED: u64 = 64;
/// 2 slices of a turn for requests of pages. Beyond: requests that start or continue wait for the next turn, so that
/// files do not wait for them.
pub const SLICES_OF_A_TURN: u64 = 2;
/// The fraction of a slice (an eighth) from which a page counts as slow, by its average: a request for it waits for
/// another turn if pages have already used a slice of this one. So quick answers do not wait for slow ones.
pub const SLICE_PART_THAT_IS_LONG: u64 = 8;
/// 4 slices: runs that have used more take turns with those that have used less, however many there are of each.
pub const SLICES_THAT_ARE_MUCH: u64 = 4;
/// 500 processes are ended in one turn to make room; more in the following turns.
pub const PROCESSES_ENDED_AT_ONCE: usize = 500;
/// 4,096 processes of a scheduler may be ready to run, some 20 ms of work; one more is not spawned (`nil, "full"`).
pub const PROCESSES_READY_MAX: usize = 4_096;
/// The fraction of a slice (an eighth) for processes in a turn in which requests took no more, before new events are
/// handled.
pub const PROCESS_SHARE_PART: u64 = 8;
/// 32 remarks about runs of pages wait for whoever asks; more are counted.
pub const REMARKS_MAX: usize = 32;
/// 20 ms that a run of a page took without an interruption, of which half was CPU time, are remarked on.
pub const RUN_UNINTERRUPTED_NS: u64 = 20_000_000;
/// 100 ms of CPU time that a run of a page has used are remarked on, once.
pub const RUN_MUCH_NS: u64 = 100_000_000;
/// 2 us charged for a step of a page process in addition to its CPU time in Lua, until the cost here is known. A
/// request that continues takes at least this much of a turn.
pub const PAGE_STEP_NS: u64 = 2_000;
/// 64 steps of page processes after which the CPU time of their thread is read, to measure what a step costs the
/// server: a system call too rare to matter.
pub const STEP_COST_LOOK_STEPS: u64 = 64;
/// 10 ms of that time after which the price of a step is computed again. A shorter time would say little, because the
/// time in Lua is sampled.
pub const STEP_COST_SPAN_NS: u64 = 10_000_000;
/// 250 ns charged for a step at least, however much of the time was Lua.
pub const STEP_COST_MIN_NS: u64 = 250;
/// 20 us charged for a step at most: the rest is other work, including files and sleeping.
pub const STEP_COST_MAX_NS: u64 = 20_000;
/// 100 requests of a page to the server are answered at once, within a slice; then other pages run.
pub const PAGE_ANSWERS_AT_ONCE: usize = 100;

// ---- Fetches of pages ----

/// 1,024 running fetches on one scheduler; one more fails with "too many fetches at once".
pub const FETCHES: usize = 1_024;
/// A quarter of a scheduler's connections, if that is less: a page that fetches from its own server uses two for each,
/// and half remains for clients.
pub const FETCH_PART_OF_CONNECTIONS: usize = 4;
/// Half of the fetches for processes that pages spawned; one more fails, so that requests have the other half.
pub const FETCH_PART_OF_PROCESSES: usize = 2;
/// 256 MiB of requests and answers in all fetches of a scheduler; a fetch that needs more fails with "too many fetches
/// at once".
pub const FETCH_HELD_BYTES: usize = 256 * 1024 * 1024;
/// 8 MiB of a body, sent or received; a fetch with a longer one fails.
pub const FETCH_BODY_SIZE: usize = 8 * 1024 * 1024;
/// 16 channels to which a page or process may be subscribed at a time; one more is refused.
pub const LISTENING_PER_PAGE: usize = 16;
/// 8 such answers that a page may read at a time; one more fetch fails and says so.
pub const FETCH_STREAMS_PER_PAGE: usize = 8;
/// Half of the fetches at most for such answers, so that there is room for short ones; one more fails.
pub const FETCH_PART_OF_STREAMS: usize = 2;
/// 2 threads that look up names, because one name may take many seconds. Consequence: a third slow name waits.
pub const NAME_HELPERS: usize = 2;

// ---- Forms with files ----

/// 64 KiB of a file are written at once; a larger one goes to its helper in several pieces.
pub const UPLOAD_BLOCK_SIZE: usize = 64 * 1024;
/// 4 pieces of one form may be at the helper or on the way; with more, its connection is not read.
pub const UPLOAD_BLOCKS: usize = 4;
/// 2 threads write the files of forms, if there is an upload directory; a slow disk delays only forms.
pub const UPLOAD_HELPERS: usize = 2;
/// 10 ms until a helper with a full mailbox is tried again, if nothing happens until then.
pub const UPLOAD_FULL_PAUSE_MS: u64 = 10;
/// 1 MiB of a file is returned to a page by `file:read`; the rest is not read.
pub const UPLOAD_READ_SIZE: usize = script::limits::FILE_READ_SIZE;
/// 255 bytes of the name under which a file is saved, as in file systems; with a longer one it is not saved.
pub const UPLOAD_NAME_SIZE: usize = 255;

/// The app module that answers requests for which there is nothing else.
pub const APP_MAIN: &str = "main";

/// 1 MiB of messages that the pages of a scheduler may publish in a turn; beyond that a page is told to wait.
pub const PUBLISHED_BYTES: usize = 1024 * 1024;

/// 64 servers whose times for fetches a scheduler counts apart, 8 KiB each. Consequence: further ones share one
/// histogram.
pub const FETCH_ORIGINS_TIMED: usize = 64;

/// 1 s that a page waits for others that change the same keys of the store. Consequence: it then tries before them.
pub const STORE_LINE_WAIT: Duration = Duration::from_secs(1);
