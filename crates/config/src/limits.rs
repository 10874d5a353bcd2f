//! Every limit of the configuration: name, number, unit and consequence.
//!
//! Owns only the numbers. The first part has the defaults of keys, the second part the ranges that
//! a configuration may use. Those of pages equal `script::limits`, those of connections
//! `http::limits`; the server, which knows both, compares them.

use std::ops::RangeInclusive;
use std::time::Duration;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

// ---- Requests: the defaults of [limits] ----

/// 16 KiB for request line and fields together; a longer head is answered with 431, and the connection closed.
pub const HEAD_SIZE: u64 = wire::limits::HEAD_SIZE as u64;
/// 100 fields in a head; one more is answered with 431, and the connection closed.
pub const FIELD_COUNT: u64 = wire::limits::FIELD_COUNT as u64;
/// 8 KiB for one field, name and value; a longer one is answered with 431, and the connection closed.
pub const FIELD_SIZE: u64 = wire::limits::FIELD_SIZE as u64;
/// 256 bytes for a field's name; a longer one is answered with 431, and the connection closed.
pub const FIELD_NAME_SIZE: u64 = wire::limits::FIELD_NAME_SIZE as u64;
/// 8 KiB for the request target; a longer one is answered with 414, and the connection closed.
pub const TARGET_SIZE: u64 = 8 * KIB;
/// 1 MiB for a request body, unless its route says otherwise; a longer one is answered with 413.
pub const BODY_SIZE: u64 = wire::limits::BODY_SIZE;
/// 4 KiB for all chunk extensions of one body; more is answered with 400, and the connection closed.
pub const CHUNK_EXTENSION_SIZE: u64 = wire::limits::CHUNK_EXTENSION_SIZE as u64;
/// 8 KiB for the trailer of a chunked body; a longer one is answered with 431, and the connection closed.
pub const TRAILER_SIZE: u64 = wire::limits::TRAILER_SIZE as u64;
/// 64 KiB of a request body that no handler reads are discarded to keep the connection; beyond that it is closed.
pub const UNREAD_BODY_SIZE: u64 = 64 * KIB;

/// 10,000 names in `[acme]`, each with a certificate; a configuration with more is refused.
pub const ACME_NAMES: usize = 10_000;

/// 8 authorities in `[acme]`; a configuration with more is refused.
pub const ACME_ISSUERS: usize = 8;

/// 10,000 certificates of one listener; a configuration with more is refused.
pub const LISTENER_CERTIFICATES: usize = 10_000;

/// 16 KiB for the names and values of one table `headers`, each field counted with four more bytes; a larger table is
/// refused. The three tables that apply to a route fit into one list of fields.
pub const HEADERS_SIZE_MAX: usize = 16 * 1024;
const _: () = assert!(3 * HEADERS_SIZE_MAX <= wire::limits::FIELD_LIST_SIZE);

/// 32 links in `early_hints` of a route; more are refused.
pub const EARLY_HINTS_MAX: usize = 32;
/// 8 KiB for all of them; more are refused, because clients and proxies take heads of such a size.
pub const EARLY_HINTS_BYTES_MAX: usize = 8 * 1024;

// ---- Deadlines and floors: the defaults of [limits] ----

/// 10 s from a request's first byte (or the start of the connection) to the end of its head. After that the answer is
/// 408, or the connection is closed without an answer if no byte arrived.
pub const HEADER_DEADLINE: Duration = Duration::from_secs(10);
/// 30 s without a byte of an announced body; then 408, and the connection is closed.
pub const BODY_IDLE: Duration = Duration::from_secs(30);
/// 512 bytes per second, averaged over the body so far; a slower sender is answered with 408 and closed.
pub const BODY_RATE: u64 = 512;
/// 1 s to discard a request body that no handler reads; then the connection is closed.
pub const UNREAD_BODY_DEADLINE: Duration = Duration::from_secs(1);
/// 30 s in which the peer reads no byte of an answer; then the connection is reset.
pub const SEND_IDLE: Duration = Duration::from_secs(30);
/// 512 bytes per second, averaged over the answer so far; a slower reader is reset.
pub const SEND_RATE: u64 = 512;
/// 75 s between two requests of a connection; then it is closed.
pub const KEEP_ALIVE: Duration = Duration::from_secs(75);
/// 1,000,000 connections in the whole server; beyond this the one that has been idle longest is closed for a new one,
/// and if none is idle, accepting pauses and new ones wait in the queue of the kernel.
pub const CONNECTIONS: u64 = 1_000_000;

/// 250 TLS handshakes of one address under way on one scheduler; further connections of it are closed at once, and
/// counted. A handshake takes a few round trips.
pub const HANDSHAKES_PER_ADDRESS: u64 = 250;

// ---- The server: defaults of the keys at the top of the file ----

/// 50 us of polling before a scheduler sleeps; a longer wait sleeps in the kernel.
pub const SPIN: Duration = Duration::from_micros(50);
/// No busy polling of network devices while a scheduler waits: an interrupt wakes it.
pub const BUSY_POLL: Duration = Duration::ZERO;
/// No samples of the server itself are kept.
pub const PROFILE_RING: Duration = Duration::ZERO;
/// 30 s for running requests to finish after a drain began; then their connections are closed.
pub const DRAIN_DEADLINE: Duration = Duration::from_secs(30);

// ---- Listeners: the defaults of [[listener]] ----

/// 4,096 connections waiting to be accepted on one listening socket; the kernel drops further handshakes.
pub const BACKLOG: u32 = 4096;
/// 1 s for which the kernel defers a new connection until its first byte; then it is accepted. The kernel
/// counts in steps (1, 3, 7, 15 ... s) and takes the first that is long enough.
pub const DEFER_ACCEPT: Duration = Duration::from_secs(1);
/// `0660`: owner and group may connect to a Unix listener; others are refused by the kernel.
pub const UNIX_SOCKET_MODE: u32 = 0o660;

// ---- Files: the defaults of [files] ----

/// 1 KiB: a shorter file is not compressed on the fly.
pub const COMPRESS_FROM: u64 = KIB;
/// 64 MiB of file content in memory for each scheduler; beyond this a file that was not used recently is removed.
pub const CACHE_SIZE: u64 = 64 * MIB;
/// 32 KiB: a longer file is never held in memory but sent from its descriptor.
pub const CACHE_FILE_SIZE: u64 = 32 * KIB;

// ---- Pages: the defaults of [pages] ----

/// 1 ms for which a page runs at a time; then others run, and it continues after them.
pub const PAGE_SLICE: Duration = Duration::from_millis(1);
/// 250 ms of CPU time for one run of a page; beyond this it is ended and answered with 503.
pub const PAGE_CPU_BUDGET: Duration = Duration::from_millis(250);
/// 30 s for a page from its start to its end, including waits; beyond this it is ended and answered with 503.
pub const PAGE_DEADLINE: Duration = Duration::from_secs(30);
/// 14 days for which a session of pages is valid after it was sent.
pub const PAGE_SESSION_AGE: Duration = Duration::from_secs(14 * 24 * 3600);
/// 64 MiB for all pages of one scheduler, including their code; a page that needs more is ended and answered with 503.
pub const PAGE_MEMORY: u64 = 64 * MIB;

/// 32 MiB for all processes of one scheduler that pages spawned: about 8,000 waiting ones. Beyond five eighths of it
/// `spawn` returns `nil, "full"`, and if existing processes need more, those of the request that holds the most are
/// ended. LuaJIT's collector stops a scheduler for about a microsecond per process once in each of its cycles, so more
/// memory means longer stops.
pub const PAGE_PROCESS_MEMORY: u64 = 32 * MIB;
/// 3 MiB for the largest block of one table of a page; a page that exceeds it is ended and answered with 500.
pub const PAGE_TABLE_SIZE: u64 = 3 * MIB;
/// 64 KiB for a table of a page; a configuration with less is refused, because common pages would fail.
pub const PAGE_TABLE_SIZE_MIN: u64 = 64 * KIB;

/// Half of the pages' memory for one run of a page; one that holds more is ended and answered with 503.
pub const PAGE_MEMORY_SHARE: u64 = 2;

/// 1 GiB for a form with files, if `[pages]` names a directory for them; a larger one is answered with 413.
pub const UPLOAD_SIZE: u64 = 1024 * MIB;
/// 16 GiB for all uploaded files that no page has saved; a form that exceeds it is answered with 503, until others are
/// finished.
pub const UPLOADS_SIZE: u64 = 16 * UPLOAD_SIZE;

/// The directory of app modules beside the configuration file, unless another is named.
pub const APP_DIRECTORY: &str = "app";

// ---- Bounds of the values of keys ----

/// 64 KiB of a file that `${file:PATH}` puts into a text; a longer one is refused.
pub const SECRET_SIZE_MAX: usize = 64 * 1024;

/// 1 MiB of `velodrome.toml`; a longer file is refused before it is read as TOML.
pub const CONFIG_SIZE_MAX: usize = 1024 * 1024;
/// 256 files included by one configuration; with more it is refused.
pub const INCLUDES_MAX: usize = 256;
/// 8 MiB of all included files; a configuration with more is refused.
pub const INCLUDED_SIZE_MAX: usize = 8 * 1024 * 1024;
/// 50 problems of one configuration are printed; the last line counts the others.
pub const PROBLEMS_MAX: usize = 50;
/// 1,024 schedulers; a configuration that asks for more is refused.
pub const SCHEDULERS_MAX: u64 = 1024;
/// 1 ms of polling; a configuration with more is refused, because sleeping costs less by then.
pub const SPIN_MAX: Duration = Duration::from_millis(1);
/// 1 ms of busy polling of devices; a configuration with more is refused.
pub const BUSY_POLL_MAX: Duration = Duration::from_millis(1);
/// 1 hour of samples of the server itself; a configuration with more is refused.
pub const PROFILE_RING_MAX: Duration = Duration::from_secs(3600);
/// 365 days; a configuration with a longer deadline is refused (`"forever"` is a word of its own).
pub const DEADLINE_MAX: Duration = Duration::from_secs(365 * 24 * 3600);
/// 65,535 connections of backlog; a configuration that asks for more is refused.
pub const BACKLOG_MAX: u64 = 65_535;
/// 65,535 bytes for a head and every part of one; a configuration with more is refused, because the
/// codec keeps positions in a head in 16 bits.
pub const HEAD_PART_SIZE_MAX: u64 = wire::limits::HEAD_SIZE_MAX as u64;
/// 100 fields; a configuration with more is refused, because the codec has no room for more.
pub const FIELD_COUNT_MAX: u64 = wire::limits::FIELD_COUNT as u64;
/// 100,000 handshakes of one address; a configuration that allows more is refused.
pub const HANDSHAKES_PER_ADDRESS_MAX: u64 = 100_000;
/// 100,000,000 connections; a configuration that allows more is refused.
pub const CONNECTIONS_MAX: u64 = 100_000_000;
/// 100 us for a page's slice; a configuration with less is refused, because interruptions would cost more than the
/// pages.
pub const PAGE_SLICE_MIN: Duration = Duration::from_micros(100);
/// 100 ms for a page's slice; a configuration with more is refused, because all other connections of the scheduler wait
/// that long.
pub const PAGE_SLICE_MAX: Duration = Duration::from_millis(100);
/// 1 ms of CPU time for a page; a configuration with less is refused, because every page would be ended.
pub const PAGE_CPU_BUDGET_MIN: Duration = Duration::from_millis(1);
/// 10 minutes of CPU time for a page; a configuration with more is refused.
pub const PAGE_CPU_BUDGET_MAX: Duration = Duration::from_secs(600);
/// 4 MiB for the pages of a scheduler; a configuration with less is refused, because the library of pages would not
/// fit.
pub const PAGE_MEMORY_MIN: u64 = 4 * MIB;
/// 2 MiB for one run of a page; a configuration with less is refused, because the first MiB is only counted, not
/// measured.
pub const PAGE_RUN_MEMORY_MIN: u64 = 2 * MIB;
/// 1 s for a session; a configuration with less is refused, because every session would expire at once.
pub const PAGE_SESSION_AGE_MIN: Duration = Duration::from_secs(1);
/// 64 GiB for the pages of a scheduler; a configuration with more is refused.
pub const PAGE_MEMORY_MAX: u64 = 64 * 1024 * MIB;

/// 1 KiB for a form with files; a configuration with less is refused, because no form would fit.
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
/// 253 bytes of a host name (RFC 1035 §2.3.4); a request for a longer one goes to the default host.
pub const HOST_NAME_SIZE_MAX: usize = 253;
/// 8 places in one `try` of a route; a list with more is refused.
pub const TRIES_MAX: usize = 8;
/// 1,000,000 rows of one map of redirects; a file with more is refused.
pub const MAP_ROWS_MAX: usize = 1_000_000;
/// 2,000,000 rows of the file of countries; a file with more is refused.
pub const COUNTRY_ROWS_MAX: usize = 2_000_000;
/// 128 MiB of one map of redirects or countries; a longer file is refused.
pub const MAP_SIZE_MAX: usize = 128 * 1024 * 1024;
/// 10 problems of one map are told; then the rest of the file is not read.
pub const MAP_PROBLEMS_MAX: usize = 10;
/// 32 consecutive redirects of this server are followed when they are checked for loops.
pub const REDIRECTS_CHECKED_MAX: usize = 32;

/// 5 minutes until clients shall come again to a site that is maintained.
pub const MAINTENANCE_RETRY: Duration = Duration::from_secs(300);
/// A second to 7 days until clients shall come again; other values are refused.
pub const RETRY_AFTER: RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_secs(7 * 24 * 3600);

// ---- The kernel's ----

/// 107 bytes of a Unix socket's path; a longer one is refused, because the kernel's address has no room for it.
pub const UNIX_PATH_SIZE_MAX: usize = 107;

// ---- Channels: the defaults and bounds of [[channel]] ----

/// 1 MiB of a channel's messages are kept if it has a history; older ones are dropped.
pub const CHANNEL_HISTORY_SIZE: u64 = 1024 * 1024;

/// 16 MiB of a channel's messages at most may be kept; a larger value is refused, because all channels of a scheduler
/// share 64 MiB.
pub const CHANNEL_HISTORY_SIZE_MAX: u64 = 16 * 1024 * 1024;

/// 1,000,000 messages of a channel at most may be kept; a larger value is refused.
pub const CHANNEL_HISTORY_MAX: u64 = 1_000_000;

/// One hour for which a message is kept if its channel has a history.
pub const CHANNEL_HISTORY_AGE: Duration = Duration::from_secs(3600);

/// 1 MiB may wait for a subscriber; beyond, `slow` says what happens.
pub const CHANNEL_BEHIND: u64 = 1024 * 1024;

/// 64 MiB at most may wait for a subscriber; a larger value is refused.
pub const CHANNEL_BEHIND_MAX: u64 = 64 * 1024 * 1024;

/// 64 KiB for a message; a longer one is refused.
pub const CHANNEL_MESSAGE_SIZE: u64 = 64 * 1024;

/// 64 KiB for a message at most; a larger value is refused, because the commands and frames that carry one are not
/// longer.
pub const CHANNEL_MESSAGE_SIZE_MAX: u64 = 64 * 1024;

/// The maximum `rate` of a channel in messages per second: the number of microseconds in a second.
pub const CHANNEL_RATE_MAX: u64 = 1_000_000;

/// 64 `[[process]]` sections; one more is refused, because each may keep a scheduler as busy as a family of processes
/// may.
pub const SITE_PROCESSES_MAX: usize = 64;

/// A second to 365 days between two starts of a process of the site; other values are refused. A process that does
/// something more often should sleep in between.
pub const SITE_PROCESS_EVERY: RangeInclusive<Duration> = Duration::from_secs(1)..=DEADLINE_MAX;

// ---- Other servers: the defaults and bounds of [[upstream]] ----

/// 256 `[[upstream]]` sections; one more is refused.
pub const UPSTREAMS_MAX: usize = 256;
/// 64 servers of one upstream; one more is refused, because the servers that a request has met are 64 bits.
pub const UPSTREAM_SERVERS_MAX: usize = 64;
/// 64 bytes for the name of an upstream; a longer one is refused, because it is a label of metrics.
pub const UPSTREAM_NAME_SIZE: usize = 64;
/// 256 for the weight of a server; a larger one is refused.
pub const UPSTREAM_WEIGHT_MAX: u64 = 256;
/// 5 s for a connection to a server; then the request goes to the next one, or is answered 504.
pub const UPSTREAM_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// 60 s from a request to the first byte of its answer; then it is answered 504.
pub const UPSTREAM_FIRST_BYTE_TIMEOUT: Duration = Duration::from_secs(60);
/// 60 s between two bytes of a server; then the answer is cut.
pub const UPSTREAM_IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// 1,024 open requests of a scheduler to one server; more wait.
pub const UPSTREAM_CONNECTIONS: u64 = 1024;
/// 65,535 open requests of a scheduler to one server; a configuration with more is refused, because one address has
/// no more ports.
pub const UPSTREAM_CONNECTIONS_MAX: u64 = 65_535;
/// 1,024 requests of a scheduler that wait for a server; one more is answered 503.
pub const UPSTREAM_QUEUE: u64 = 1024;
/// 1,000,000 waiting requests; a configuration with more is refused.
pub const UPSTREAM_QUEUE_MAX: u64 = 1_000_000;
/// 10 s for which a request may wait for a server; then it is answered 503.
pub const UPSTREAM_QUEUE_TIMEOUT: Duration = Duration::from_secs(10);
/// 1 repetition of a request; then its failure is answered.
pub const UPSTREAM_RETRIES: u64 = 1;
/// 10 repetitions of a request; a configuration with more is refused.
pub const UPSTREAM_RETRIES_MAX: u64 = 10;
/// 3 failures one after the other, after which a server gets no requests for a while.
pub const UPSTREAM_FAILURES: u64 = 3;
/// 5 s between two checks of a server.
pub const CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// 100 ms to 1 h between two checks of a server; other values are refused, because more often would be a load.
pub const CHECK_INTERVALS: RangeInclusive<Duration> =
    Duration::from_millis(100)..=Duration::from_secs(3600);
/// 2 s for the answer to a check; then it has failed.
pub const CHECK_TIMEOUT: Duration = Duration::from_secs(2);
/// 10 s for which a failed server gets no requests.
pub const UPSTREAM_PAUSE: Duration = Duration::from_secs(10);
/// 64 MiB for the stored answers of one upstream; others leave for new ones.
pub const CACHE_MEMORY: u64 = 64 * MIB;
/// 64 KiB to 1 TiB of memory for the stored answers of an upstream; others are refused.
pub const CACHE_MEMORIES: RangeInclusive<u64> = 64 * KIB..=1024 * 1024 * MIB;
/// 1 MiB for the body of an answer; a longer one is not stored.
pub const CACHE_OBJECT: u64 = MIB;
/// 0 to 1 GiB for the body of an answer; others are refused.
pub const CACHE_OBJECTS: RangeInclusive<u64> = 0..=1024 * MIB;
/// 10 GiB for the files of a cache; others leave for new ones.
pub const CACHE_DISK_SIZE: u64 = 10 * 1024 * MIB;
/// 1 MiB to 1 PiB for the files of a cache; others are refused.
pub const CACHE_DISK_SIZES: RangeInclusive<u64> = MIB..=1024 * 1024 * 1024 * MIB;
/// 1,000,000 files of a cache, whose names are in memory; others leave for new ones.
pub const CACHE_DISK_FILES: u64 = 1_000_000;
/// 16 to 100 million files of a cache; other numbers are refused.
pub const CACHE_DISK_FILE_COUNTS: RangeInclusive<u64> = 16..=100_000_000;
/// 1 GiB for the body of an answer in a file; a longer one is not stored.
pub const CACHE_DISK_OBJECT: u64 = 1024 * MIB;
/// 0 to 1 TiB for the body of an answer in a file; others are refused.
pub const CACHE_DISK_OBJECTS: RangeInclusive<u64> = 0..=1024 * 1024 * MIB;
/// 5 seconds that a request waits for the answer to another one; then it goes to a server by itself.
pub const CACHE_WAIT: Duration = Duration::from_secs(5);

// The store

/// Default maximum size of the store's file (1 TiB). Beyond: a write is answered with an error.
pub const STORE_SIZE: u64 = 1024 * 1024 * MIB;

/// Minimum `size` of the store (1 MiB).
pub const STORE_SIZE_MIN: u64 = MIB;

/// Maximum `size` of the store (16 TiB), which fits the address space of every machine.
pub const STORE_SIZE_MAX: u64 = 16 * 1024 * 1024 * MIB;

/// The time between two writes to the disk (1 s), if writes do not wait for it.
pub const STORE_SYNC_INTERVAL: Duration = Duration::from_secs(1);

/// Databases whose name is a number, from 0, as in Redis.
pub const STORE_NUMBERED: usize = 16;

/// Databases with a name of their own. Beyond: the configuration is refused.
pub const STORE_DATABASES: usize = 48;

/// Bytes of the name of a database. Beyond: the configuration is refused.
pub const STORE_NAME_SIZE: usize = 64;

/// 64 `[[limit]]`; more are refused, because each request is compared with all of them.
pub const QUOTAS_MAX: usize = 64;
/// 64 bytes for the name of a `[[limit]]`; a longer one is refused.
pub const QUOTA_NAME_SIZE: usize = 64;
/// 10 s that a `[[limit]]` may delay a request; more is refused, because a client waits no longer.
pub const QUOTA_DELAY_MAX: Duration = Duration::from_secs(10);
/// 2^50 units of a rate or a burst; more is refused, because it limits nothing.
pub const QUOTA_UNITS_MAX: u64 = 1 << 50;
/// 1,000,000 open requests of one key; more is refused.
pub const QUOTA_OPEN_MAX: u64 = 1_000_000;
/// 131,072 keys of all `[[limit]]`, in equal parts; beyond that the least used of four is forgotten.
pub const QUOTA_KEYS: u64 = 1 << 17;
/// 1,048,576 keys are the most that can be set.
pub const QUOTA_KEYS_MAX: u64 = 1 << 20;

/// 64 servers of NATS in a list; a longer one is refused.
pub const CLUSTER_SERVERS: usize = 64;

/// 32 bytes of a prefix in NATS; a longer one is refused, because it is in every message.
pub const CLUSTER_PREFIX_SIZE: usize = 32;

/// 16 streams for channels with a history.
pub const CLUSTER_STREAMS: u64 = 16;

/// 256 streams at most; more are refused, because a server of NATS recovers them one by one.
pub const CLUSTER_STREAMS_MAX: u64 = 256;

/// 256 MiB of messages in all streams; beyond, the oldest are dropped.
pub const CLUSTER_HISTORY_BYTES: u64 = 256 * 1024 * 1024;

/// 16 MiB of messages in all streams at least; less is refused, because one stream must hold several messages.
pub const CLUSTER_HISTORY_LEAST: u64 = 16 * 1024 * 1024;

/// 5 s until a publisher is told that its message is not confirmed.
pub const CLUSTER_PUBLISH_WAIT: Duration = Duration::from_secs(5);
