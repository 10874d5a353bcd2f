//! The limits of pages: name, number, unit and consequence.

use std::time::Duration;

// ---- Templates. Beyond each of the first three: a `TemplateError`, and the page is not loaded ----

/// Bytes of the source of one page or module (1 MiB). Beyond: it is refused, so that offsets, lines and the
/// generated Lua text (at most four times as long, plus the text in between) stay small numbers.
pub const PAGE_BYTES_MAX: usize = 1024 * 1024;

/// Tags in one page. Beyond: the page is refused, because a Lua function has room for 65,536 constants, and a
/// page is one function.
pub const TAGS_MAX: usize = 16_384;

/// Nested blocks and brackets in a page's code. Beyond: the page is refused, as by LuaJIT
/// (`LJ_MAX_XLEVEL`). LuaJIT also counts the page and its functions, and refuses slightly earlier.
pub const NESTING_MAX: usize = 200;

/// Arguments of one call that prints. Beyond: the rest goes into the next call. Arguments take registers,
/// of which a function has 250, and a page may use 194 of them for local variables.
pub const PUT_ARGUMENTS_MAX: usize = 32;

/// Bytes of page text in one Lua string (32 KiB). Beyond: the rest becomes the next argument, so that no
/// constant is larger than what a buffer takes in one step.
pub const LITERAL_BYTES_MAX: usize = 32 * 1024;

// ---- The engine ----

/// Time that a page may run before others run (1 ms), unless configured. Beyond: it is
/// interrupted and continues after them.
pub const SLICE: Duration = Duration::from_millis(1);

/// Time that a page may run without a point where it can be interrupted (5 s), unless configured: calls into LuaJIT's
/// library cannot be interrupted. Consequence: at the next such point it is ended, even if its CPU budget is larger.
pub const UNINTERRUPTED: Duration = Duration::from_secs(5);

/// CPU time of one run (250 ms), unless configured. Beyond: the page is ended.
pub const CPU_BUDGET: Duration = Duration::from_millis(250);

/// Bytes for all pages of one engine (64 MiB), unless configured. Beyond: the page that needs more
/// is ended with "not enough memory"; the others continue.
pub const MEMORY_SIZE: usize = 64 * 1024 * 1024;

/// Bytes of these that one run may hold (half), unless configured. Beyond: it is ended.
pub const RUN_MEMORY_SIZE: usize = MEMORY_SIZE / 2;

/// The fraction of the engine's memory (half) above which garbage is collected in steps at the ends of turns. Below:
/// LuaJIT collects it at its own pace.
pub const COLLECTED_PART: usize = 2;

/// The fraction (half) of what the last collection left free that must be allocated, or held by runs that have ended,
/// before the next one begins. A smaller fraction would search repeatedly where there is nothing to find.
pub const COLLECTED_AGAIN_PART: usize = 2;

/// The fraction of the engine's memory (a sixty-fourth) after which a collection begins if a run was refused memory.
pub const COLLECTED_REFUSED_PART: usize = 64;

/// The fraction of the engine's memory (a quarter) that should be free. With less after a full collection,
/// the runs that hold the most are ended.
pub const ROOM_LITTLE_PART: usize = 4;

/// Eighths of the engine's memory (five) up to which processes are spawned, because spawned processes may later need
/// twice what they begin with. Beyond: `spawn` finds no room.
pub const SPAWNED_EIGHTHS: usize = 5;

/// The fraction of the engine's memory (an eighth) below which free memory makes garbage collection as fast as a turn
/// allows.
pub const ROOM_LEAST_PART: usize = 8;

/// The fraction of the engine's memory (a sixteenth) that should be free beyond [`ROOM_LITTLE_PART`] after runs were
/// ended for lack of it.
pub const ROOM_MORE_PART: usize = 16;

/// Work of LuaJIT's collector in percent of what is allocated meanwhile (200, its default).
pub const COLLECTOR_PACE: i32 = 200;

/// The same during a collection for lack of memory (800), so that it ends before memory is used up.
pub const COLLECTOR_PACE_SHORT: i32 = 800;

/// Steps of the collector at the end of a turn if little memory is free (2).
pub const COLLECTOR_STEPS_LITTLE: usize = 2;

/// Steps of the collector at the end of a turn if hardly any memory is free (4, one or two milliseconds).
pub const COLLECTOR_STEPS_LEAST: usize = 4;

/// Coroutines of ended runs that are released at once (256: about 0.3 ms). Beyond: at the next opportunity.
pub const SWEPT_AT_ONCE: usize = 256;

/// Bytes of the largest block for one table (3 MiB: 2^17 named fields, or 2^18 elements), unless configured. Beyond:
/// the page is ended with an error, because growing copies the whole table and cannot be interrupted.
pub const TABLE_SIZE: usize = 3 * 1024 * 1024;

/// Bytes that a run allocates before further allocations are sampled (256 KiB). Up to there everything counts as held
/// to its end. Beyond: what it holds is estimated. Less would cost short pages more; more would charge long ones for
/// what they do not hold.
pub const UNWATCHED_SIZE: u64 = 256 * 1024;

/// Bytes that a request, or the processes of one request, may hold and still fill the whole memory (16 KiB).
pub const HOLDS_LITTLE: u64 = 16 * 1024;

/// How much memory is reserved for others, by the bytes that a run holds: above 1 MiB a quarter, above 256 KiB an
/// eighth, above 16 KiB a sixteenth. Beyond: a request that needs more is ended, so that one that holds less finds
/// room.
pub const KEPT_FOR_OTHERS: [(u64, usize); 3] =
    [(1024 * 1024, 4), (256 * 1024, 8), (HOLDS_LITTLE, 16)];

/// Bytes of a run's memory that one sampled block represents (8 KiB): of 32 MiB in small blocks 4,096 are sampled, so
/// that the account is correct within a few percent. Beyond: a larger block counts once for each 8 KiB in it.
pub const SAMPLE_SIZE: u64 = 8 * 1024;

/// Work of the collector in one slice of a run under review (64 KiB as counted by LuaJIT: about 100 us, and about
/// 2 ms for many short strings). Beyond: others run before it continues.
pub const COLLECTOR_STEP_BYTES: i32 = 64 * 1024;

/// Time without a running page after which the tick stops (100 ms). Beyond: the next page starts it again, which costs
/// a system call.
pub const TICK_IDLE: Duration = Duration::from_millis(100);

/// Time from one tick to the next while no page runs long (4 ms). A longer time would lengthen the first slice of a
/// long-running page, because it is noticed that much later.
pub const TICK_SLOW: Duration = Duration::from_millis(4);

/// Time after a page exceeded its slice in which ticks come every half slice (500 ms). Beyond: the tick is slow again.
pub const TICK_ALERT: Duration = Duration::from_millis(500);

/// Ticks (half slices) that a page may continue after its slice where it cannot be interrupted: in Lua code that a
/// native function called. Beyond: an error is raised there, and the page is ended.
pub const STALL_TICKS: u32 = 20;

/// Ticks that the end of a slice waits for LuaJIT's compiler, which takes well below a millisecond (400, 200 ms of
/// default slices). Beyond: it is aborted, although LuaJIT does not handle that well.
pub const COMPILER_TICKS: u32 = 400;

/// Bytes of text in one message between processes (1 MiB). Beyond: an error in the sender.
pub const MESSAGE_SIZE: usize = 1024 * 1024;

/// Values in one message, including keys (10,000, encoded in about a millisecond). Beyond: an error in the
/// sender, because encoding cannot be interrupted.
pub const MESSAGE_VALUES: usize = 10_000;

/// Nested tables in one message (50). Beyond: an error in the sender, which also catches a table that contains
/// itself.
pub const MESSAGE_DEPTH: usize = 50;

/// Default time for a fetch of a page (10 s). Beyond: it fails, and the page is told.
pub const FETCH_TIMEOUT: Duration = Duration::from_secs(10);

/// Texts in one reply to a waiting page (6), for which the stack has room. Nothing here passes more.
pub const REPLY_TEXTS: usize = 6;

/// Free coroutines that are kept for the next runs. Beyond: they are collected as garbage.
pub const COROUTINE_POOL: usize = 64;

/// Nested coroutines of a page, each resumed by the previous one (200; about 0.1 MiB of the 2 MiB of a scheduler's
/// stack). Beyond: the resume fails with an error, because the processor's stack would overflow before Lua's.
pub const COROUTINE_DEPTH: usize = 200;

/// Bytes of output for which a coroutine keeps its buffer (128 KiB). Beyond: the buffer is freed, and the
/// next page of that coroutine starts with a small one.
pub const BUFFER_KEPT_SIZE: usize = 128 * 1024;

/// Bytes of a text that pages may compile with `load` (64 KiB, about 5 ms). Beyond: `load` returns nil and a message,
/// because compiling cannot be interrupted.
pub const LOAD_SIZE: usize = 64 * 1024;

/// Jumping words in such a text (`and`, `or`, `elseif`, `break`, `goto`, `&&`, `?.`: 1,000 of them take about 3 ms if
/// all lead to one place, for which LuaJIT needs quadratic time). Beyond: nil and a message.
pub const LOAD_JUMPS: usize = 1_000;

/// Numbers in such a text that LuaJIT reads slowly (200, up to 20 us each): those with an exponent, and those with more
/// than 20 digits, which count once for each 20 digits. Beyond: nil and a message.
pub const LOAD_NUMBERS: usize = 200;

/// Bytes of the Lua text of a page or module (5 MiB: what the longest page becomes, which is four times as long if each
/// of its bytes needs an escape). Beyond: it is not loaded.
pub const SOURCE_SIZE: usize = 5 * PAGE_BYTES_MAX;

/// Inner levels of a traceback that are kept (48). Beyond: levels up to the outermost ones are left out.
pub const TRACEBACK_LEVELS: i32 = 48;

/// Outermost levels of a traceback that are kept (16), which show how all the others came about.
pub const TRACEBACK_OUTER_LEVELS: i32 = 16;

/// Instructions of a function that are searched for the call it ended with (20,000, about a millisecond without
/// interruption). Beyond: a failure after such a call names the page but no line.
pub const TAIL_CODE_SIZE: u32 = 20_000;

/// Numbers or strings that LuaJIT's own `table.sort` sorts (500: about 1 ms in the worst case). Beyond,
/// and with a comparator: a sort in Lua, which usually takes about as long and can be interrupted.
pub const SORT_SIZE: usize = 500;

/// Bytes of all strings passed to LuaJIT's own `table.sort` (64 KiB, because each is compared many times). Beyond: the
/// sort in Lua.
pub const SORT_BYTES: usize = 64 * 1024;

/// Bytes of a result of `string.rep` (16 MiB, made in pieces and copied in about 5 ms). Beyond: an error in the page.
pub const REPEATED_SIZE: usize = 16 * 1024 * 1024;

/// Bytes that one native call copies one by one, as `string.upper` and `%q` do (64 KiB: about 0.2 ms). Beyond: in
/// several calls, between which the page can be interrupted.
pub const TEXT_PIECE_SIZE: usize = 64 * 1024;

/// Bytes that one native call searches for a set of bytes (16 KiB: about 1 ms). Beyond: in several calls.
pub const SEARCHED_PIECE_SIZE: usize = 16 * 1024;

/// Values that one native call concatenates (4,000: 1 ms for numbers). Beyond: in several calls.
pub const VALUES_JOINED: usize = 4_000;

/// Bytes that are kept in pieces while a text is assembled (1 MiB). Beyond: they are joined.
pub const BYTES_JOINED: usize = 1024 * 1024;

/// Values after the position of a native `table.insert` (50,000: about 1 ms). Beyond: they are moved in Lua, which can
/// be interrupted.
pub const VALUES_SHIFTED: usize = 50_000;

/// Bytes of a text that is read as a number (64 KiB: about 0.2 ms). Beyond: it is not a number.
pub const NUMBER_SIZE: usize = 64 * 1024;

/// Bytes of a format passed to LuaJIT's own `string.format`, and of a text in it (4 KiB). Beyond: item by item, which
/// takes longer and can be interrupted.
pub const FORMAT_SIZE: usize = 4 * 1024;

/// Values passed to LuaJIT's own `string.format` (100: about 0.5 ms for the largest numbers). Beyond: item by item.
pub const FORMAT_VALUES: usize = 100;

/// Steps that LuaJIT's own pattern matcher may need in the worst case (200,000: below 1 ms). Beyond: a matcher in Lua
/// does the work, about ten times slower, which can be interrupted.
pub const PATTERN_STEPS: usize = 200_000;

/// Bytes of a text to search for (512 KiB: about 4 ms for preparing it and for searching half as much besides). Beyond:
/// an error in the page, if the text to search is long enough for it to matter.
pub const NEEDLE_SIZE: usize = 512 * 1024;

/// Bytes of a text times those of the replacement up to which LuaJIT's own `gsub` does the work (256 KiB: as
/// many bytes are written in the worst case, in about 2 ms). Beyond: the one in Lua.
pub const REPLACED_SIZE: usize = 256 * 1024;

/// Bytes of a pattern with special characters (4 KiB). Beyond: an error in the page.
pub const PATTERN_SIZE: usize = 4 * 1024;

/// Patterns whose estimate is kept (1,000). Beyond: all are dropped, and estimated again when they are used.
pub const PATTERNS_KEPT: usize = 1_000;

/// Nested arrays and objects in JSON, both ways (124): more than the 100 of what clients send, so that a page can put
/// it into tables of its own. Beyond: an error in the page, which also catches a table that contains itself.
pub const JSON_DEPTH: usize = 124;

/// Bytes of a text in JSON that one native call escapes (8 KiB: about 1 ms if each needs it). Beyond: in several calls.
pub const JSON_PIECE_SIZE: usize = 8 * 1024;

/// Bytes of a text that one native call checks for UTF-8 (64 KiB: about 20 us). Beyond: in several calls.
pub const UTF8_PIECE_SIZE: usize = 64 * 1024;

/// Bytes of a number in JSON (1,000, a hundred times what a program needs). Beyond: an error in the page that decodes
/// it.
pub const JSON_NUMBER_SIZE: usize = 1_000;

/// Bytes of a text whose escaped form is kept (256). Beyond: it is escaped again each time.
pub const ESCAPED_SIZE: usize = 256;

/// Escaped forms that are kept (4,096, at most about 4 MiB). Beyond: all are dropped, and made again when they are
/// used.
pub const ESCAPES_KEPT: usize = 4_096;

/// Bytes of a text that one native call escapes (48 KiB: about 0.3 ms if each is replaced). Beyond: in several
/// calls, between which the page can be interrupted.
pub const ESCAPE_PIECE_SIZE: usize = 48 * 1024;

/// Bytes that one native call hashes, encodes or compares (48 KiB: about 0.2 ms on a slow processor; whole groups of
/// base64, both ways). Beyond: in several calls, between which the page can be interrupted.
pub const CRYPTO_PIECE_SIZE: usize = 48 * 1024;

/// Random bytes of one call (1 KiB, a few microseconds in the kernel). Beyond: an error in the page.
pub const RANDOM_SIZE: usize = 1024;

/// Bytes of a signed cookie, name and value (4 KiB: what browsers keep, RFC 6265, 6.1). Beyond: an error in the page,
/// and such a cookie from a client is ignored.
pub const COOKIE_SIZE: usize = 4 * 1024;

/// 32 cookies of one name are tried for a session or a signed value; one behind them is not found.
pub const COOKIES_TRIED: usize = 32;

/// How long a session is valid after it was sent (14 days), and a signed cookie without an age of its own, unless
/// configured. Beyond: it is ignored.
pub const SESSION_AGE: Duration = Duration::from_secs(14 * 86_400);

/// Bytes of a form's file that `file:read` returns (1 MiB). Beyond: the rest is not read, so that a file of
/// any size takes no more of the pages' memory.
pub const FILE_READ_SIZE: usize = 1024 * 1024;

/// Bytes of a format of `time.date` and `os.date` (1 KiB: about 0.3 ms). Beyond: an error in the page.
pub const DATE_SIZE: usize = 1024;

/// Bytes of a line of a page's log (64 KiB, written in well below a millisecond). Beyond: it is cut, and says how much
/// is missing.
pub const LINE_SIZE: usize = 64 * 1024;

/// Bytes of the message of an error that ends a page (16 KiB). Beyond: it is cut, and says how much is missing.
pub const MESSAGE_TEXT_SIZE: usize = 16 * 1024;

/// Bytes of the name of a field that a page sets (256, as for those of clients). Beyond: an error in the page.
pub const FIELD_NAME_SIZE: usize = 256;

/// Bytes of one value of a field that a page sets, including cookies and targets of redirects (16 KiB: clients and
/// proxies accept 8 to 64 KiB for a whole head). Beyond: an error in the page.
pub const FIELD_VALUE_SIZE: usize = 16 * 1024;

/// Bytes of all fields that a page sets (64 KiB, what the largest proxies accept). Beyond: an error in the page.
pub const HEAD_SIZE: usize = 64 * 1024;

/// Links that a page gives its client before the answer (32). Beyond: an error in the page.
pub const EARLY_HINTS: usize = 32;

/// Bytes of these links (8 KiB, which clients and proxies take in one head). Beyond: an error in the page.
pub const EARLY_HINTS_SIZE: usize = 8 * 1024;

/// Fields of a form, of a query or of cookies that a page reads (2,000, which takes about 3 ms; other servers accept
/// 1,000). Beyond: an error in the page, because they are passed in one call.
pub const FIELDS_MAX: usize = 2_000;

/// Bytes of a URL that a page fetches (16 KiB: what this server accepts in a head, too). Beyond: an error in the page.
pub const URL_SIZE: usize = 16 * 1024;

/// Bytes of the name of a part, a module or an uploaded file in a page's code (4 KiB, the kernel's limit for a path).
/// Beyond: an error in the page.
pub const NAME_SIZE: usize = 4 * 1024;

/// Bytes of a key of the store (503, the store's limit). Beyond: an error in the page.
pub const STORE_KEY_SIZE: usize = 503;

/// Bytes of a value of the store (16 MiB, the store's limit). Beyond: an error in the page.
pub const STORE_VALUE_SIZE: usize = 16 * 1024 * 1024;

/// Keys that `store.scan` reads at once (100). Consequence: it reads again.
pub const STORE_SCAN_KEYS: usize = 100;

/// Bytes of a session in the store, as JSON (64 KiB), because every request reads it. Beyond: an error in the page.
pub const STORED_SESSION_SIZE: usize = 64 * 1024;

/// Keys that one watch of the store compares (1,000). Beyond: an error in the page.
pub const STORE_WATCHED_KEYS: usize = 1_000;

/// How often an update or a transaction of the store is tried if others change what it has read (100). Beyond: it
/// fails, and nothing is written.
pub const STORE_TRIES: usize = 100;

/// Keys that a transaction of the store reads and writes (1,000). Beyond: an error in the page.
pub const STORE_STEPS: usize = 1_000;

/// Pieces of native code in one engine: LuaJIT's own limit (`maxtrace`). Beyond: it discards all of them and begins
/// again.
pub const TRACES_MAX: u16 = 1_000;
