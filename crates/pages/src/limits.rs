//! Limits of pages, their processes, fetches and forms that cannot be configured: name, number,
//! unit and consequence.
//!
//! Owns only the numbers. Defaults of `[pages]` are in `config::limits`.

use std::time::Duration;

const KIB: u64 = 1024;

// ---- Pages ----

/// 10,000 pages below one root; the others are not found, and the log says so.
pub const PAGES_MAX: usize = 10_000;
/// 1 MiB of a page's source; a longer page is answered 500, and the log says why.
pub const PAGE_BYTES_MAX: usize = script::limits::PAGE_BYTES_MAX;
/// 16 KiB of a page's source are read at a time; few pages take more than one read.
pub const PAGE_READ_BYTES: usize = 16 * 1024;
/// 20 names of one page that are not there are told; the others are told when these are mended.
pub const PAGE_STRANGERS_MAX: usize = 20;
/// 100,000 names below a root are looked at for pages; what is behind them is not found, and the log says so.
pub const PAGE_ENTRIES_MAX: usize = 100_000;
/// 32 directories deep pages are looked for; what is deeper is not found, and the log says so.
pub const PAGE_DEPTH_MAX: usize = 32;
/// 1,000 pages of a scheduler have statistics of their own; all others, in the order of their first requests, are counted
/// together.
pub const COUNTED_PAGES_MAX: usize = 1_000;
/// 7 lines before and after the one where a page failed; others are not shown to its author.
pub const FAULT_LINES: usize = 7;
/// 400 characters of such a line; the rest is not shown.
pub const FAULT_LINE_CHARACTERS: usize = 400;
/// 4,000 characters of the message of a page that failed; the rest is not shown to its author.
pub const FAULT_MESSAGE_CHARACTERS: usize = 4_000;
/// 10 ms without a change: then an edit is taken as complete, and the pages are read again. An editor that takes longer
/// between two steps of saving shows what is in between to who asks right then.
pub const PAGE_QUIET: Duration = Duration::from_millis(10);
/// 500 ms after the first change the pages are read again, even when the changes do not end.
pub const PAGE_QUIET_MAX: Duration = Duration::from_millis(500);
/// 3 files of an edit are named in the log. Beyond: the others are counted.
pub const EDIT_NAMES_MAX: usize = 3;
/// 4 times the CPU time that it took, nobody reads the pages again: whoever makes directories without end takes a fifth of
/// one processor at most.
pub const PAGE_REST_FACTOR: u64 = 4;
/// 1 s: no longer do edits wait because reading was much work.
pub const PAGE_REST_MAX: Duration = Duration::from_secs(1);
/// 1 s after pages could not be read for want of something, they are tried again; the old ones are served meanwhile.
pub const PAGE_RETRY: Duration = Duration::from_secs(1);
/// 8,192 directories are watched for edits of pages; edits in others are found at a reload, and the log says so.
pub const PAGE_WATCHES_MAX: usize = 8_192;
/// 8 pages or modules of one edit for which there is no memory are tried, each with a collection of all garbage. Beyond: the others
/// stay as they were without a try.
pub const PAGE_LOADS_FAILED_MAX: usize = 8;
/// 40 links on the way to a root are followed, as by the kernel. Beyond: what turns a link behind them is found at a reload.
pub const WAY_LINKS_MAX: usize = 40;
/// 1,000,000 page processes of one scheduler that were spawned or have a name; one more is not spawned (`nil, "full"`). With the default
/// memory of processes some 20,000 are: this bound is met where it is above 2 GiB.
pub const PAGE_PROCESSES_MAX: usize = 1_000_000;
/// 1 KiB held is the least for which a request, or the processes of one, are ended to make room: the end of those that hold less gives
/// none.
pub const ENDED_FOR_ROOM_MIN: u64 = 1024;
/// 100 lines in a second of each page in the server's log, and ten seconds' worth of them at once; others are left out and counted.
pub const LOG_PAGE_LINES_PER_SECOND: u64 = 100;
/// 64 KiB in a second of each page's lines; others are left out and counted.
pub const LOG_PAGE_BYTES_PER_SECOND: u64 = 64 * KIB;
/// 1,000 lines in a second of all pages of a scheduler; others are left out and counted.
pub const LOG_ALL_LINES_PER_SECOND: u64 = 1_000;
/// 512 KiB in a second of the lines of all pages of a scheduler; others are left out and counted.
pub const LOG_ALL_BYTES_PER_SECOND: u64 = 512 * KIB;
/// 10 s: so much of these rates may come at once.
pub const LOG_BURST_NS: u64 = 10_000_000_000;
/// 5 s from one line that tells how many were left out to the next.
pub const LOG_TOLD_AGAIN_NS: u64 = 5_000_000_000;
/// 64 times that a page began or went on make the average of what it takes.
pub const VISITS_AVERAGED: u64 = 64;
/// 2 slices that requests of pages have of a turn. Beyond: those that come, or go on, wait for the next turn, and files do not wait for
/// them.
pub const SLICES_OF_A_TURN: u64 = 2;
/// The part of a slice (an eighth) that a page takes each time on the average, of which a request waits for another turn where pages had
/// a slice of this one: so what is answered soon does not wait for what is not.
pub const SLICE_PART_THAT_IS_LONG: u64 = 8;
/// 4 slices: who has used more goes on by turns with those that have used less, whatever the numbers of both.
pub const SLICES_THAT_ARE_MUCH: u64 = 4;
/// 500 processes are ended in one turn to make room; more are in the turns after.
pub const PROCESSES_ENDED_AT_ONCE: usize = 500;
/// 4,096 processes of a scheduler have work to do and wait for their turn, some 20 ms of it; one more is not spawned (`nil, "full"`).
pub const PROCESSES_READY_MAX: usize = 4_096;
/// The part of a slice (an eighth) that processes have of a turn in which no request took more: then what came from outside has its turn.
pub const PROCESS_SHARE_PART: u64 = 8;
/// 1,000 messages in the mailbox of a page process; the sender of one more is told that it is full.
pub const PAGE_MESSAGES_MAX: usize = 1_000;
/// 4 MiB in the mailbox of a page process; the sender of more is told that it is full.
pub const MAILBOX_SIZE: usize = 4 * 1024 * 1024;
/// 64 MiB in all mailboxes of a scheduler's page processes; the sender of more is told that the mailbox is full.
pub const ALL_MAILBOXES_SIZE: usize = 64 * 1024 * 1024;
/// 64 bytes are counted for a message besides its own.
pub const PAGE_MESSAGE_COST: usize = 64;
/// 1 ms after which letters of page processes are sent again to a scheduler that had no room for them.
pub const LETTERS_RETRY_MS: u64 = 1;
/// 5 s for which a page waits to hear whether its message to a process of another scheduler has arrived; then it is told that
/// nobody answers, and goes on.
pub const LETTER_WORD: Duration = Duration::from_secs(5);
/// 1,000 processes that come of one request at a time, its own and those that its processes spawned among them; `spawn` of one
/// more fails, and its page is told.
pub const PAGE_FAMILY_MAX: usize = 1_000;
/// 10 times as long as it used the CPU: after that time it is forgotten that the spawned processes of one request did. So all of
/// them together have a tenth of a processor for ever, and at times more; with more than the budget used, one that goes on is
/// ended.
pub const FAMILY_REST_FACTOR: u64 = 10;
/// 10 failures of processes that come of one request are told in the log at once, and then one in each
/// [`FAMILY_TOLD_AGAIN`]; the others are counted.
pub const FAMILY_FAILURES_TOLD: u64 = 10;
/// 1 s after which the log may have another failure.
pub const FAMILY_TOLD_AGAIN: Duration = Duration::from_secs(1);
/// 2 us that a step of a page process is charged besides its CPU time in Lua, until it is known what it takes here. A request that goes on
/// takes as much of a turn at least.
pub const PAGE_STEP_NS: u64 = 2_000;
/// 64 steps of page processes after which the CPU time of their thread is read, to know what a step takes of the server: a system
/// call that is not felt.
pub const TOLL_LOOK_STEPS: u64 = 64;
/// 10 ms of that time after which the price of a step is made anew. Less would say little: the part that is Lua is sampled.
pub const TOLL_SPAN_NS: u64 = 10_000_000;
/// 250 ns that a step is charged at least, however much of the time was Lua.
pub const TOLL_MIN_NS: u64 = 250;
/// 20 us that a step is charged at the most: beyond is the work for others, files and sleeping among it.
pub const TOLL_MAX_NS: u64 = 20_000;
/// 100 requests of a page to the server are answered at once, if they take no more than a slice; then others get their turn.
pub const PAGE_ANSWERS_AT_ONCE: usize = 100;

// ---- Fetches of pages ----

/// 1,024 fetches under way on one scheduler; one more fails with "too many fetches at once".
pub const FETCHES: usize = 1_024;
/// A quarter of a scheduler's connections, where that is less: a page that fetches from its own server takes two for each, and
/// half stays for clients.
pub const FETCH_PART_OF_CONNECTIONS: usize = 4;
/// Half of the fetches for processes that pages spawned; a fetch of one more fails, so that requests have the other half.
pub const FETCH_PART_OF_PROCESSES: usize = 2;
/// 256 MiB of requests and answers of all fetches of a scheduler; the fetch that needs more fails with "too many fetches
/// at once".
pub const FETCH_HELD_BYTES: usize = 256 * 1024 * 1024;
/// 8 MiB of a body, sent or received; a fetch with a longer one fails.
pub const FETCH_BODY_SIZE: usize = 8 * 1024 * 1024;
/// 64 KiB of an answer that a page reads piece by piece are held; then its connection is not read until the page takes them.
pub const FETCH_STREAM_BYTES: usize = 64 * 1024;
/// 16 names that a process has at a time; one more is refused.
pub const NAMES_PER_PROCESS: usize = 16;
/// 16 channels to which a page, or a process, listens at a time; one more is refused.
pub const LISTENING_PER_PAGE: usize = 16;
/// 8 such answers a page has at a time; a fetch that would be one more comes to nothing, and says so.
pub const FETCH_STREAMS_PER_PAGE: usize = 8;
/// Half of the fetches are such answers at most, so that there is room for those that are over soon; one more fails.
pub const FETCH_PART_OF_STREAMS: usize = 2;
/// 64 KiB of the head of an answer, interim answers before it included; a fetch with a longer one fails.
pub const FETCH_HEAD_SIZE: usize = wire::limits::RESPONSE_HEAD_SIZE as usize;
/// 16 KiB of a URL, which a page is held to already; a fetch of a longer one fails.
pub const FETCH_URL_SIZE: usize = script::limits::URL_SIZE;
/// 32 letters of a method; a fetch with a longer one fails.
pub const FETCH_METHOD_SIZE: usize = 32;
/// 64 KiB of a request are handed to its connection at a time; the rest follows when these have left.
pub const FETCH_PIECE_BYTES: usize = 64 * 1024;
/// 32 idle connections to one address; one more is closed after its answer.
pub const FETCH_IDLE_PER_HOST: usize = 32;
/// 256 idle connections of a scheduler; one more is closed after its answer.
pub const FETCH_IDLE: usize = 256;
/// 30 s for which a connection of fetches may be idle; then it is closed.
pub const FETCH_IDLE_TIME: Duration = Duration::from_secs(30);
/// 1,024 names of hosts are remembered by a scheduler, or being looked up; with more, those that are known are forgotten, and
/// where all are being looked up, one more fetch fails with "too many fetches at once".
pub const FETCH_NAMES: usize = 1_024;
/// 30 s for which the addresses of a name are believed; then it is looked up again.
pub const FETCH_NAME_AGE: Duration = Duration::from_secs(30);
/// 2 s for which it is believed that a name has no address; then it is looked up again.
pub const FETCH_NO_NAME_AGE: Duration = Duration::from_secs(2);
/// 30 s after which a name that was asked for is asked for again by who wants it: its answer was lost on the way, or a helper
/// is slow and asked twice. Until then everybody waits for the one answer.
pub const FETCH_QUESTION_AGE: Duration = Duration::from_secs(30);
/// 16 addresses of a name; others are not tried.
pub const FETCH_ADDRESSES: usize = 16;
/// 2 threads that look names up: one name may take many seconds. Consequence: a third such name waits.
pub const NAME_HELPERS: usize = 2;

// ---- Forms with files ----

/// 64 KiB of a file are written at once; a larger one goes to its helper in so many pieces.
pub const UPLOAD_BLOCK_SIZE: usize = 64 * 1024;
/// 4 pieces of one form are with the helper or on their way; with more of them its connection is not read.
pub const UPLOAD_BLOCKS: usize = 4;
/// 2 threads write the files of forms, where a directory is named for them; a slow disk holds up forms, and nobody else.
pub const UPLOAD_HELPERS: usize = 2;
/// 10 ms until a helper whose mailbox was full is written to again, when nothing happens until then.
pub const UPLOAD_FULL_PAUSE_MS: u64 = 10;
/// 1 MiB of a file is given to a page by `file:read`; what is behind it is not read.
pub const UPLOAD_READ_SIZE: usize = script::limits::FILE_READ_SIZE;
/// 255 bytes of the name a file is saved by, as file systems have it; with a longer one it is not saved.
pub const UPLOAD_NAME_SIZE: usize = 255;

/// The app module that answers what nothing else answers.
pub const APP_MAIN: &str = "main";

/// 1 MiB of messages that pages of a scheduler publish in a turn; with more a page is told to wait.
pub const PUBLISHED_BYTES: usize = 1024 * 1024;

// ---- Processes of the site ----

/// 1 s until a process of the site that failed begins again, the first time; twice as long each time after that.
pub const PROCESS_RESTART: Duration = Duration::from_secs(1);
/// 64 s at most until it begins again.
pub const PROCESS_RESTART_MAX: Duration = Duration::from_secs(64);
/// 64 s for which one has to run until its failures before that are forgotten.
pub const PROCESS_STEADY: Duration = PROCESS_RESTART_MAX;
/// 60 s at most between two looks at the calendar while a process waits for a time of day: so late it may be where a clock was set.
pub const PROCESS_CALENDAR_LOOK: Duration = Duration::from_secs(60);

/// 50 ms between two looks of a scheduler's pages at what they watch in the store: in between more is gathered.
pub const STORE_WATCH_REST_MS: u64 = 50;

/// 1 s that a page waits until others that change the same keys of the store have done so. Consequence: it tries before them.
pub const STORE_LINE_WAIT: Duration = Duration::from_secs(1);
