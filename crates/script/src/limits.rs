//! The limits of pages: name, number, unit and consequence.

use std::time::Duration;

// ---- Templates. Beyond each of the first three: a `TemplateError`, and the page is not loaded ----

/// Bytes of the source of one page, or of a module (1 MiB). Beyond: it is refused, so that offsets, lines and the
/// Lua text made from it (at most four times as long, with what stands between) stay small numbers.
pub const PAGE_BYTES_MAX: usize = 1024 * 1024;

/// Tags in one page. Beyond: the page is refused; a Lua function has room for 65,536 constants, and a
/// page is one function.
pub const TAGS_MAX: usize = 16_384;

/// Blocks and brackets open at one place of a page's code. Beyond: the page is refused, as LuaJIT would
/// do (`LJ_MAX_XLEVEL`). LuaJIT counts the page and its functions, too, and refuses it a little before.
pub const NESTING_MAX: usize = 200;

/// Arguments of one call that prints. Beyond: the rest goes into the next call. Arguments take registers,
/// of which a function has 250, and a page may use 194 of them for local variables.
pub const PUT_ARGUMENTS_MAX: usize = 32;

/// Bytes of page text in one Lua string (32 KiB). Beyond: the rest becomes the next argument, so that no
/// constant of a page is larger than what a buffer takes in one step.
pub const LITERAL_BYTES_MAX: usize = 32 * 1024;

// ---- The engine ----

/// Time that a page may run before others get their turn (1 ms), where nothing else is configured. Beyond: it is
/// interrupted and goes on after them.
pub const SLICE: Duration = Duration::from_millis(1);

/// Time that a page may run without coming to a place where it can be interrupted (5 s), where nothing else is set: calls
/// into LuaJIT's library cannot be. Consequence: at the next such place it is ended, also where its CPU budget is larger.
pub const UNINTERRUPTED: Duration = Duration::from_secs(5);

/// CPU time of one run (250 ms), where nothing else is configured. Beyond: the page is ended.
pub const CPU_BUDGET: Duration = Duration::from_millis(250);

/// Bytes for all pages of one engine (64 MiB), where nothing else is configured. Beyond: the page that asks for more
/// is ended with "not enough memory"; the others go on.
pub const MEMORY_SIZE: usize = 64 * 1024 * 1024;

/// Bytes that one run may hold of these (half of them), where nothing else is configured. Beyond: it is ended.
pub const RUN_MEMORY_SIZE: usize = MEMORY_SIZE / 2;

/// The part of the engine's memory (half) above which garbage is collected in steps at the ends of turns. Below: LuaJIT collects it in
/// its own time.
pub const COLLECTED_PART: usize = 2;

/// The part (half) of what the last collection left free that has to be allocated, or held by runs that have ended, before the next
/// begins. Less would look again and again where nothing is to be found.
pub const COLLECTED_AGAIN_PART: usize = 2;

/// The part of the engine's memory (a sixty-fourth) for which a collection begins where a run was refused memory.
pub const COLLECTED_REFUSED_PART: usize = 64;

/// The part of the engine's memory (a quarter) that is free where there is room for all. With less, when all garbage is
/// collected: those that hold most are ended.
pub const ROOM_LITTLE_PART: usize = 4;

/// Eighths of the engine's memory (five) up to which a process is spawned: those that were spawned have begun with half of what they
/// will need. Beyond: `spawn` finds no room.
pub const SPAWNED_EIGHTHS: usize = 5;

/// The part of the engine's memory (an eighth) with less of which free garbage is collected as fast as a turn allows.
pub const ROOM_LEAST_PART: usize = 8;

/// The part of the engine's memory (a sixteenth) that is free beyond [`ROOM_LITTLE_PART`] when some were ended for want of it.
pub const ROOM_MORE_PART: usize = 16;

/// Work of LuaJIT's collector in percent of what is allocated meanwhile (200, its default).
pub const COLLECTOR_PACE: i32 = 200;

/// The same while a collection is under way because little memory is left (800): it is over before that is used up.
pub const COLLECTOR_PACE_SHORT: i32 = 800;

/// Steps of the collector at the end of a turn where little memory is free (2).
pub const COLLECTOR_STEPS_LITTLE: usize = 2;

/// Steps of the collector at the end of a turn where hardly any memory is free (4, one or two milliseconds).
pub const COLLECTOR_STEPS_LEAST: usize = 4;

/// Coroutines of runs that were ended which are let go of at once (256: some 0.3 ms). Beyond: at the next chance.
pub const SWEPT_AT_ONCE: usize = 256;

/// Bytes of the largest block that one table may take (3 MiB: 2^17 fields by name, or 2^18 elements), where nothing else is
/// configured. Beyond: the page that lets it grow is ended with an error; growing copies the whole table, and nobody interrupts that.
pub const TABLE_SIZE: usize = 3 * 1024 * 1024;

/// Bytes that a run has allocated before a part of what follows is watched (256 KiB). Up to there all count as held to its end. Beyond:
/// what it holds is estimated. Less would cost pages that are over soon, more would blame those that last for what they do not hold.
pub const UNWATCHED_SIZE: u64 = 256 * 1024;

/// Bytes that a request, or the processes of one request, may hold and still fill the whole memory (16 KiB).
pub const HOLDS_LITTLE: u64 = 16 * 1024;

/// Above how many bytes held which part of the memory is kept for others: above 1 MiB a quarter, above 256 KiB an eighth, above 16 KiB a
/// sixteenth. Beyond: a request that needs more is ended, so that one that holds less finds room.
pub const KEPT_FOR_OTHERS: [(u64, usize); 3] =
    [(1024 * 1024, 4), (256 * 1024, 8), (HOLDS_LITTLE, 16)];

/// Bytes of a run's memory that one watched block stands for (8 KiB): of 32 MiB in small blocks 4,096 are watched, so that
/// the account is right within some percent. Beyond: a block counts as many times as that goes into it.
pub const SAMPLE_SIZE: u64 = 8 * 1024;

/// Work of the collector in one slice of a run that may hold too much (64 KiB as LuaJIT counts it: some 100 us, and some
/// 2 ms where it goes through short strings). Beyond: others have their turn before it goes on.
pub const COLLECTOR_STEP_BYTES: i32 = 64 * 1024;

/// Time without a running page after which the tick stops (100 ms). Beyond: the next page starts it again, for the
/// price of a system call.
pub const TICK_IDLE: Duration = Duration::from_millis(100);

/// Time from one tick to the next while no page lasts (4 ms). Beyond: the first slice of a page that does would be longer,
/// as it is seen that much later.
pub const TICK_SLOW: Duration = Duration::from_millis(4);

/// Time after a page outlasted its slice in which ticks come every half slice (500 ms). Beyond: the tick is slow again.
pub const TICK_ALERT: Duration = Duration::from_millis(500);

/// Ticks (half slices) that a page may go on after its slice where it cannot be interrupted: in Lua code that a
/// native function called. Beyond: an error is raised there, and the page is ended.
pub const STALL_TICKS: u32 = 20;

/// Ticks that the end of a slice waits for LuaJIT's compiler, which takes well below a millisecond (400, 200 ms of default
/// slices). Beyond: it is aborted, as if it would never end; LuaJIT does not like that.
pub const COMPILER_TICKS: u32 = 400;

/// Bytes of text in one message between processes (1 MiB). Beyond: an error in the sender.
pub const MESSAGE_SIZE: usize = 1024 * 1024;

/// Values in one message, keys included (10,000, which are encoded in about a millisecond). Beyond: an error in the
/// sender, as encoding cannot be interrupted.
pub const MESSAGE_VALUES: usize = 10_000;

/// Tables within each other in one message (50). Beyond: an error in the sender, which also ends a table that contains
/// itself.
pub const MESSAGE_DEPTH: usize = 50;

/// Time that a fetch of a page may take where it says nothing else (10 s). Beyond: it fails, and the page is told so.
pub const FETCH_TIMEOUT: Duration = Duration::from_secs(10);

/// Texts of one reply to a waiting page (6): the stack has room for them. Beyond: nothing of ours does.
pub const REPLY_TEXTS: usize = 6;

/// Coroutines without a run that are kept for the next ones. Beyond: they are collected as garbage.
pub const COROUTINE_POOL: usize = 64;

/// Coroutines of a page of which each was resumed by the one before (200; some 0.1 MiB of the 2 MiB of a scheduler's stack). Beyond:
/// the resume fails with an error, as the stack of the processor would end before that of Lua.
pub const COROUTINE_DEPTH: usize = 200;

/// Bytes of a page's output for which its coroutine keeps the room (128 KiB). Beyond: the room is given back, and the
/// next page of that coroutine begins small.
pub const BUFFER_KEPT_SIZE: usize = 128 * 1024;

/// Bytes of a text that pages may compile with `load` (64 KiB, some 5 ms). Beyond: `load` gives nil and a message, as compiling
/// cannot be interrupted.
pub const LOAD_SIZE: usize = 64 * 1024;

/// Words of such a text that jump (`and`, `or`, `elseif`, `break`, `goto`, `&&`, `?.`: 1,000 of them take some 3 ms where they all lead to
/// one place, for which LuaJIT needs a time that grows with their square). Beyond: nil and a message.
pub const LOAD_JUMPS: usize = 1_000;

/// Numbers of such a text that take LuaJIT long to read (200, up to 20 us each): those with an exponent, and those of more than 20
/// digits, of which one counts as many times as there are 20 digits in it. Beyond: nil and a message.
pub const LOAD_NUMBERS: usize = 200;

/// Bytes of Lua text that is a page, or a module (5 MiB: what is made of the longest page, which is four times as long where each of its
/// bytes needs an escape). Beyond: it is not loaded.
pub const SOURCE_SIZE: usize = 5 * PAGE_BYTES_MAX;

/// Inner levels of a traceback that are kept (48). Beyond: those up to the outermost ones are left out.
pub const TRACEBACK_LEVELS: i32 = 48;

/// Outermost levels of a traceback that are kept (16), which tell how it came to all the others.
pub const TRACEBACK_OUTER_LEVELS: i32 = 16;

/// Instructions of a function that is looked through for the call it ended with (20,000, about a millisecond, which nobody
/// interrupts). Beyond: a failure behind such a call names the page and no line.
pub const TAIL_CODE_SIZE: u32 = 20_000;

/// Numbers or strings that are sorted by LuaJIT's own `table.sort` (500: some 1 ms where they were chosen to take it long). Beyond,
/// and with a comparator: by a sort in Lua, which takes about as long as the other usually does and can be interrupted.
pub const SORT_SIZE: usize = 500;

/// Bytes of all strings that LuaJIT's own `table.sort` gets (64 KiB: each is compared many times). Beyond: the sort in Lua.
pub const SORT_BYTES: usize = 64 * 1024;

/// Bytes of a result of `string.rep` (16 MiB, which are put together in pieces and copied in some 5 ms). Beyond: an error in the page.
pub const REPEATED_SIZE: usize = 16 * 1024 * 1024;

/// Bytes that one native call copies one by one, as `string.upper` and `%q` do (64 KiB: some 0.2 ms). Beyond: in as many calls as
/// it takes, between which the page can be interrupted.
pub const TEXT_PIECE_SIZE: usize = 64 * 1024;

/// Bytes that one native call looks through for any of some kinds (16 KiB: some 1 ms). Beyond: in as many calls as it takes.
pub const SEARCHED_PIECE_SIZE: usize = 16 * 1024;

/// Values that one native call puts together (4,000: 1 ms where they are numbers). Beyond: in as many calls as it takes.
pub const VALUES_JOINED: usize = 4_000;

/// Bytes that are kept in pieces while a text is put together (1 MiB). Beyond: they become one.
pub const BYTES_JOINED: usize = 1024 * 1024;

/// Values behind the place of a native `table.insert` (50,000: some 1 ms). Beyond: they are moved in Lua, which can be interrupted.
pub const VALUES_SHIFTED: usize = 50_000;

/// Bytes of a text that is read as a number (64 KiB: some 0.2 ms). Beyond: it is none.
pub const NUMBER_SIZE: usize = 64 * 1024;

/// Bytes of a format that LuaJIT's own `string.format` gets, and of a text in it (4 KiB). Beyond: item by item, which takes longer
/// and can be interrupted.
pub const FORMAT_SIZE: usize = 4 * 1024;

/// Values that LuaJIT's own `string.format` gets (100: some 0.5 ms for the largest numbers). Beyond: item by item.
pub const FORMAT_VALUES: usize = 100;

/// Steps that LuaJIT's own pattern matcher may need at worst (200,000: below 1 ms). Beyond: a matcher in Lua does the
/// work, some ten times slower, which can be interrupted.
pub const PATTERN_STEPS: usize = 200_000;

/// Bytes of a text that another is searched for (512 KiB: some 4 ms for preparing it and for searching half as much besides). Beyond:
/// an error in the page, where the text to search is so long that it matters.
pub const NEEDLE_SIZE: usize = 512 * 1024;

/// Bytes of a text times those of what takes the place of a match in it, up to which LuaJIT's own `gsub` does it (256 KiB: as
/// many bytes are written at worst, in some 2 ms). Beyond: the one in Lua.
pub const REPLACED_SIZE: usize = 256 * 1024;

/// Bytes of a pattern with special characters (4 KiB). Beyond: an error in the page.
pub const PATTERN_SIZE: usize = 4 * 1024;

/// Patterns whose estimate is kept (1,000). Beyond: all are forgotten, and estimated again when they come.
pub const PATTERNS_KEPT: usize = 1_000;

/// Levels of arrays and objects in JSON, both ways (100). Beyond: an error in the page, which also ends a table that
/// contains itself.
pub const JSON_DEPTH: usize = 100;

/// Bytes of a text in JSON that one native call escapes (8 KiB: some 1 ms where each is). Beyond: in as many calls as it takes.
pub const JSON_PIECE_SIZE: usize = 8 * 1024;

/// Bytes of a number in JSON (1,000, a hundred times what a program has a use for). Beyond: an error in the page that decodes it.
pub const JSON_NUMBER_SIZE: usize = 1_000;

/// Bytes of a text whose escaped form is kept (256). Beyond: it is escaped again each time.
pub const ESCAPED_SIZE: usize = 256;

/// Escaped forms that are kept (4,096, at most some 4 MiB). Beyond: all are forgotten, and made again when they come.
pub const ESCAPES_KEPT: usize = 4_096;

/// Bytes of a text that are escaped in one native call (48 KiB: some 0.3 ms where each is replaced). Beyond: in as many calls as it
/// takes, between which the page can be interrupted.
pub const ESCAPE_PIECE_SIZE: usize = 48 * 1024;

/// Bytes that are hashed, encoded or compared in one native call (48 KiB: some 0.2 ms on a slow processor; whole groups of
/// base64, both ways). Beyond: in as many calls as it takes, between which the page can be interrupted.
pub const CRYPTO_PIECE_SIZE: usize = 48 * 1024;

/// Random bytes of one call (1 KiB, some microseconds in the kernel). Beyond: an error in the page.
pub const RANDOM_SIZE: usize = 1024;

/// Bytes of a signed cookie, name and value (4 KiB: what browsers keep, RFC 6265, 6.1). Beyond: an error in the page, and such
/// a cookie from a client is none.
pub const COOKIE_SIZE: usize = 4 * 1024;

/// Time for which a session is good after it was sent (14 days), and a signed cookie without an age of its own, where
/// nothing else is configured. Beyond: it is none.
pub const SESSION_AGE: Duration = Duration::from_secs(14 * 86_400);

/// Bytes of a form's file that `file:read` gives (1 MiB). Beyond: what is behind them is not read, so that a file of
/// any size takes no more of the pages' memory.
pub const FILE_READ_SIZE: usize = 1024 * 1024;

/// Bytes of a format of `time.date` and `os.date` (1 KiB: some 0.3 ms). Beyond: an error in the page.
pub const DATE_SIZE: usize = 1024;

/// Bytes of a line of a page's log (64 KiB, whose writing takes well below a millisecond). Beyond: it is cut, and says how much
/// is missing.
pub const LINE_SIZE: usize = 64 * 1024;

/// Bytes of what an error says that ends a page (16 KiB). Beyond: it is cut, and says how much is missing.
pub const MESSAGE_TEXT_SIZE: usize = 16 * 1024;

/// Bytes of the name of a field that a page sets (256, as for those of clients). Beyond: an error in the page.
pub const FIELD_NAME_SIZE: usize = 256;

/// Bytes of one value of a field that a page sets, cookies and targets of redirects among them (16 KiB: clients and proxies take
/// 8 to 64 KiB for a whole head). Beyond: an error in the page.
pub const FIELD_VALUE_SIZE: usize = 16 * 1024;

/// Bytes of all fields that a page sets (64 KiB, what the largest proxies take). Beyond: an error in the page.
pub const HEAD_SIZE: usize = 64 * 1024;

/// Fields of a form, of a query or of cookies that a page looks at (2,000, which takes some 3 ms; others take 1,000). Beyond: an
/// error in the page, as they are handed over in one call.
pub const FIELDS_MAX: usize = 2_000;

/// Bytes of a URL that a page fetches (16 KiB: what this server takes in a head, too). Beyond: an error in the page.
pub const URL_SIZE: usize = 16 * 1024;

/// Bytes of the name of a part, a module or an uploaded file as a page says it (4 KiB, what the kernel takes of a path). Beyond: an
/// error in the page.
pub const NAME_SIZE: usize = 4 * 1024;

/// Bytes of a key of the store (503, which is what the store takes). Beyond: an error in the page.
pub const STORE_KEY_SIZE: usize = 503;

/// Bytes of a value of the store (16 MiB, which is what the store takes). Beyond: an error in the page.
pub const STORE_VALUE_SIZE: usize = 16 * 1024 * 1024;

/// Keys that `store.scan` reads at once (100). Consequence: it reads again.
pub const STORE_SCAN_KEYS: usize = 100;

/// Bytes of a session in the store, as JSON (64 KiB): every request reads it. Beyond: an error in the page.
pub const STORED_SESSION_SIZE: usize = 64 * 1024;

/// Keys that one watch of the store compares (1,000). Beyond: an error in the page.
pub const STORE_WATCHED_KEYS: usize = 1_000;

/// How often an update or a transaction of the store is tried where others change what it has read (100). Beyond: it fails, and nothing
/// is written.
pub const STORE_TRIES: usize = 100;

/// Keys that a transaction of the store reads and writes (1,000). Beyond: an error in the page.
pub const STORE_STEPS: usize = 1_000;

/// Pieces of native code that an engine can have: LuaJIT's own bound (`maxtrace`). Beyond: it throws all of it away and begins anew.
pub const TRACES_MAX: u16 = 1_000;
