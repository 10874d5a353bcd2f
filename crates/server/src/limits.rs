//! Every bound of the server: its name, its number and unit, and what happens when it is reached.
//!
//! Owns the numbers alone. The first part is the default of a key of `[limits]` or of another section of
//! `velodrome.toml`; the second part cannot be configured. Bounds of the protocol codecs are in
//! `wire::limits`, and the defaults here that concern a request head equal those.

use std::time::Duration;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

// ---- Requests: the defaults of [limits] ----

/// 16 KiB for request line and fields together; a longer head is answered 431 and the connection closed.
pub const HEAD_SIZE: u64 = 16 * KIB;
/// 100 fields in a head; one more is answered 431 and the connection closed.
pub const FIELD_COUNT: u64 = 100;
/// 8 KiB for one field, name and value; a longer one is answered 431 and the connection closed.
pub const FIELD_SIZE: u64 = 8 * KIB;
/// 256 bytes for a field's name; a longer one is answered 431 and the connection closed.
pub const FIELD_NAME_SIZE: u64 = 256;
/// 8 KiB for the request target; a longer one is answered 414 and the connection closed.
pub const TARGET_SIZE: u64 = 8 * KIB;
/// 1 MiB for a request body, where its route says nothing else; a longer one is answered 413.
pub const BODY_SIZE: u64 = MIB;
/// 4 KiB for all chunk extensions of one body; more is answered 400 and the connection closed.
pub const CHUNK_EXTENSION_SIZE: u64 = 4 * KIB;
/// 8 KiB for the trailer of a chunked body; a longer one is answered 431 and the connection closed.
pub const TRAILER_SIZE: u64 = 8 * KIB;
/// 64 KiB of a body nobody reads are thrown away to keep the connection; beyond that it is closed.
pub const UNREAD_BODY_SIZE: u64 = 64 * KIB;

// ---- Deadlines and floors: the defaults of [limits] ----

/// 10 s from a request's first byte (or the connection's start) to the end of its head; late is answered
/// 408, or closed silently when not one byte came.
pub const HEADER_DEADLINE: Duration = Duration::from_secs(10);
/// 30 s without a byte of an announced body; then 408 and the connection is closed.
pub const BODY_IDLE: Duration = Duration::from_secs(30);
/// 512 bytes a second, averaged over the body so far; a slower sender is answered 408 and closed.
pub const BODY_RATE: u64 = 512;
/// 1 s to throw away a body nobody reads; then the connection is closed.
pub const UNREAD_BODY_DEADLINE: Duration = Duration::from_secs(1);
/// 30 s in which the peer takes not one byte of an answer; then the connection is reset.
pub const SEND_IDLE: Duration = Duration::from_secs(30);
/// 512 bytes a second, averaged over the answer so far; a slower reader is reset.
pub const SEND_RATE: u64 = 512;
/// 75 s between two requests of a connection; then it is closed.
pub const KEEP_ALIVE: Duration = Duration::from_secs(75);
/// 1,000,000 connections in the whole server; above it the longest idle one is closed for a new one, and
/// with none idle, accepting pauses and new ones wait in the queue of the kernel.
pub const CONNECTIONS: u64 = 1_000_000;

// ---- The server: defaults of the keys at the top of the file ----

/// 50 us of polling before a scheduler sleeps; a longer wait sleeps in the kernel.
pub const SPIN: Duration = Duration::from_micros(50);
/// 30 s for running requests to end after a drain began; what still runs then is closed.
pub const DRAIN_DEADLINE: Duration = Duration::from_secs(30);

// ---- Listeners: the defaults of [[listener]] ----

/// 4,096 connections waiting to be accepted on one listening socket; the kernel drops the handshakes above.
pub const BACKLOG: u32 = 4096;
/// 1 s for which the kernel keeps a new connection to itself until its first byte; then it hands it over. It
/// counts in steps (1, 3, 7, 15 ... s) and takes the first that is long enough.
pub const DEFER_ACCEPT: Duration = Duration::from_secs(1);
/// `0660`: owner and group may connect to a Unix listener; others are refused by the kernel.
pub const UNIX_SOCKET_MODE: u32 = 0o660;

// ---- Files: the defaults of [files] ----

/// 1 KiB: a shorter file is not compressed on the fly but sent as it is.
pub const COMPRESS_FROM: u64 = KIB;
/// 64 MiB of file content in memory for each scheduler; above it a file not used lately leaves.
pub const CACHE_SIZE: u64 = 64 * MIB;
/// 256 KiB: a longer file is never held in memory but sent from its descriptor.
pub const CACHE_FILE_SIZE: u64 = 256 * KIB;

// ---- Pages: the defaults of [pages] ----

/// 1 ms for which a page runs at a time; then others get their turn, and it goes on after them.
pub const PAGE_SLICE: Duration = script::limits::SLICE;
/// 250 ms of CPU time for one run of a page; with more it is ended and answered 503.
pub const PAGE_CPU_BUDGET: Duration = script::limits::CPU_BUDGET;
/// 30 s for a page from its start to its end, waits included; with more it is ended and answered 503.
pub const PAGE_DEADLINE: Duration = Duration::from_secs(30);
/// 14 days for which a session of pages is good after it was sent; then it is none.
pub const PAGE_SESSION_AGE: Duration = script::limits::SESSION_AGE;
/// 64 MiB for all pages of one scheduler, with their code; the page that asks for more is ended and answered 503.
pub const PAGE_MEMORY: u64 = script::limits::MEMORY_SIZE as u64;

/// 32 MiB for all processes of one scheduler that pages spawned: some 8,000 that wait. Beyond five eighths of it `spawn` gives `nil,
/// "full"`, and where processes that are there need more, those of the request that hold most are ended. LuaJIT's collector stops a
/// scheduler for about a microsecond for each process, once in each of its cycles: with more memory that is more.
pub const PAGE_PROCESS_MEMORY: u64 = 32 * MIB;
/// 3 MiB for the largest block of one table of a page; the page that lets it grow beyond is ended and answered 500.
pub const PAGE_TABLE_SIZE: u64 = script::limits::TABLE_SIZE as u64;
/// 64 KiB for a table of a page; a configuration with less is refused: common pages would fail.
pub const PAGE_TABLE_SIZE_MIN: u64 = 64 * KIB;

/// Half of the pages' memory for one run of a page; one that holds more is ended and answered 503.
pub const PAGE_MEMORY_SHARE: u64 =
    script::limits::MEMORY_SIZE as u64 / script::limits::RUN_MEMORY_SIZE as u64;

/// 1 GiB for a form with files, where `[pages]` names a directory for them; a larger one is answered 413.
pub const UPLOAD_SIZE: u64 = 1024 * MIB;
/// 16 GiB for all files of forms that no page has saved; the form that brings more is answered 503, until others are over.
pub const UPLOADS_SIZE: u64 = 16 * UPLOAD_SIZE;

// ---- What the configuration itself may ask for ----

/// 1 MiB of `velodrome.toml`; a longer file is refused before it is read as TOML.
pub const CONFIG_SIZE_MAX: usize = 1024 * 1024;
/// 50 problems of one configuration are told; the last line counts those left out.
pub const PROBLEMS_MAX: usize = 50;
/// 1,024 schedulers; a configuration that asks for more is refused.
pub const SCHEDULERS_MAX: u64 = 1024;
/// 1 ms of spinning; a configuration that asks for more is refused: sleeping costs less by then.
pub const SPIN_MAX: Duration = Duration::from_millis(1);
/// 365 days; a configuration with a longer deadline is refused (`"forever"` is a word of its own).
pub const DEADLINE_MAX: Duration = Duration::from_secs(365 * 24 * 3600);
/// 65,535 connections of backlog; a configuration that asks for more is refused.
pub const BACKLOG_MAX: u64 = 65_535;
/// 65,535 bytes for a head and every part of one; a configuration that asks for more is refused, as the
/// codec remembers places in a head in 16 bits.
pub const HEAD_PART_SIZE_MAX: u64 = 65_535;
/// 100 fields; a configuration that allows more is refused, as the codec has no room to remember them.
pub const FIELD_COUNT_MAX: u64 = 100;
/// 100,000,000 connections; a configuration that allows more is refused.
pub const CONNECTIONS_MAX: u64 = 100_000_000;
/// 100 us of a page's slice; a configuration with less is refused: the interruptions would cost more than the pages.
pub const PAGE_SLICE_MIN: Duration = Duration::from_micros(100);
/// 100 ms of a page's slice; a configuration with more is refused: everybody else of the scheduler waits so long.
pub const PAGE_SLICE_MAX: Duration = Duration::from_millis(100);
/// 1 ms of CPU time for a page; a configuration with less is refused: every page would be ended.
pub const PAGE_CPU_BUDGET_MIN: Duration = Duration::from_millis(1);
/// 10 minutes of CPU time for a page; a configuration with more is refused.
pub const PAGE_CPU_BUDGET_MAX: Duration = Duration::from_secs(600);
/// 4 MiB for the pages of a scheduler; a configuration with less is refused: the library of pages has no room in it.
pub const PAGE_MEMORY_MIN: u64 = 4 * MIB;
/// 2 MiB for one run of a page; a configuration with less is refused: of the first MiB nothing is known but that it was
/// allocated.
pub const PAGE_RUN_MEMORY_MIN: u64 = 2 * MIB;
/// 1 s of a session; a configuration with less is refused: every session would be over at once.
pub const PAGE_SESSION_AGE_MIN: Duration = Duration::from_secs(1);
/// 64 GiB for the pages of a scheduler; a configuration with more is refused.
pub const PAGE_MEMORY_MAX: u64 = 64 * 1024 * MIB;

/// 1 KiB for a form with files; a configuration that allows less is refused: no form would fit.
pub const UPLOAD_SIZE_MIN: u64 = KIB;
/// 16 TiB for a form with files; a configuration that allows more is refused.
pub const UPLOAD_SIZE_MAX: u64 = 16 * 1024 * 1024 * MIB;

// ---- Routes ----

/// 9 wildcards in one glob, for `$1` to `$9`; a glob with more is refused.
pub const WILDCARDS_MAX: usize = 9;
/// 1,024 bytes of one glob; a longer one is refused.
pub const GLOB_SIZE_MAX: usize = 1024;
/// 8 rewrites of one request; with one more the request is answered 500 and logged as a rewrite loop.
pub const REWRITES_MAX: usize = 8;
/// 253 bytes of a host name (RFC 1035 §2.3.4); a request for a longer one is the default host's.
pub const HOST_NAME_SIZE_MAX: usize = 253;
/// 32 redirects of this server in a row are followed when they are checked for leading in a circle.
pub const REDIRECTS_CHECKED_MAX: usize = 32;

// ---- The kernel's ----

/// 107 bytes of a Unix socket's path; a longer one is refused, as the kernel's address has no room for it.
pub const UNIX_PATH_SIZE_MAX: usize = 107;

// Answers

/// How long an application may make a request wait. Consequence: 504, and the connection is closed.
pub const ANSWER_DEADLINE: Duration = Duration::from_secs(30);

/// Bytes of a request body on the control socket. Consequence: 413.
pub const ADMIN_BODY_SIZE: u64 = 64 * KIB;

/// File helper threads: how many look-ups may wait for the disk at once. Consequence: more wait in mailboxes.
pub const FILE_HELPERS: usize = 4;

/// Connections in the middle of a cold file that wait for room in the helpers' mailboxes. Consequence: one more is
/// closed; a request that is not answered yet gets 503 instead and does not wait here.
pub const POSTPONED_MAX: usize = 4_096;

/// How long a turn of a scheduler may last (5 s). Beyond: the log is told which scheduler and which page, the page is ended when
/// it can be interrupted, and a drain whose time is over leaves that scheduler behind.
pub const TURN_MAX: Duration = Duration::from_secs(5);

/// Time from one look at the schedulers' turns to the next (1 s). Consequence: a turn that lasts is told of so much later.
pub const TURN_LOOK: Duration = Duration::from_secs(1);

/// How long an idle connection is kept open in a drain, so that its next answer can say `Connection: close`.
/// Consequence: a client that sends nothing until then is closed.
pub const DRAIN_IDLE_GRACE: Duration = Duration::from_millis(500);

/// Connections to the control socket and the metrics listener. Consequence: the longest idle one is closed.
pub const ADMIN_CONNECTIONS: usize = 256;

/// Connections that may wait for the control scheduler. Consequence: more are refused by the kernel.
pub const ADMIN_BACKLOG: u32 = 64;

/// Sockets taken over from systemd. Consequence: more are left alone.
pub const INHERITED_MAX: u32 = 64;

// ---- Pages ----

/// 64 KiB of a file of secrets; a longer one is refused: it is another file.
pub const SECRET_FILE_SIZE: u64 = 64 * 1024;
/// 32 bytes of a secret; a shorter one is refused, as who has a cookie could guess it.
pub const SECRET_SIZE_MIN: usize = 32;
/// 16 secrets; a file with more is refused: each is tried for each cookie that is wrong.
pub const SECRETS_MAX: usize = 16;
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
/// 64 descriptors for a scheduler; with fewer the server does not start, and says so: listeners, helpers and a few files take half of them.
pub const DESCRIPTORS_MIN: u64 = 64;
/// The part of a scheduler's descriptors (an eighth) that is kept free of connections: for listeners, logs, and files that are sent.
/// Consequence: the connection limit is the descriptor limit less this.
pub const DESCRIPTORS_RESERVED_PART: u64 = 8;
/// 24 descriptors are kept free of connections at least.
pub const DESCRIPTORS_RESERVED_MIN: u64 = 24;
/// 256 descriptors are kept free of connections at most.
pub const DESCRIPTORS_RESERVED_MAX: u64 = 256;
/// 2 s for the rest of a head that has begun when a drain begins; then its connection is closed, as at any header deadline.
pub const DRAIN_HEADER_DEADLINE: Duration = Duration::from_secs(2);
/// 10 s: so much of these rates may come at once.
pub const LOG_BURST_NS: u64 = 10_000_000_000;
/// 5 s from one line that tells how many were left out to the next.
pub const LOG_TOLD_AGAIN_NS: u64 = 5_000_000_000;
/// 64 times that a page began or went on make the average of what it takes.
pub const VISITS_AVERAGED: u64 = 64;
/// The part of a slice (an eighth) that a page takes each time on the average, of which a request waits for another turn where pages had
/// a slice of this one: so what is answered soon does not wait for what is not.
pub const SLICE_PART_THAT_IS_LONG: u64 = 8;
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
/// 2 us are counted for each step of a page process besides its CPU time in Lua when turns are shared: what it takes of the server
/// itself. It is also what a step is charged until it is known what it takes here.
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
/// 16 requests that waited and have not used up a time slice go on in one turn; the others in the next.
pub const PAGES_RESUMED_PER_TURN: u64 = 16;
/// 1,000 times that page processes wait for are looked at in one turn; the others in the next.
pub const ALARMS_PER_TURN: usize = 1_000;
/// 100 requests of a page to the server are answered at once, if they take no more than a slice; then others get their turn.
pub const PAGE_ANSWERS_AT_ONCE: usize = 100;
/// 64 times that nobody waits for any more are kept, and as many as there are processes that wait; more are looked
/// for and dropped.
pub const STALE_ALARMS: usize = 64;

// ---- Fetches of pages ----

/// 1,024 fetches under way on one scheduler; one more fails with "too many fetches at once".
pub const FETCHES: usize = 1_024;
/// Half of them for processes that pages spawned; a fetch of one more fails, so that requests have the other half.
pub const FETCHES_OF_PROCESSES: usize = FETCHES / 2;
/// 256 MiB of requests and answers of all fetches of a scheduler; the fetch that needs more fails with "too many fetches
/// at once".
pub const FETCH_HELD_BYTES: usize = 256 * 1024 * 1024;
/// 8 MiB of a body, sent or received; a fetch with a longer one fails.
pub const FETCH_BODY_SIZE: usize = 8 * 1024 * 1024;
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

/// The directory of app modules beside the configuration file, where none is named.
pub const APP_DIRECTORY: &str = "app";

/// The app module that answers what nothing else answers.
pub const APP_MAIN: &str = "main";
