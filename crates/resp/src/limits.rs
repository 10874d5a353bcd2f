//! Limits of Redis clients: name, number, unit and consequence.
//!
//! Owns only the numbers. Those of the protocol's grammar are in `wire::limits`.

use std::time::Duration;

// An incomplete command fits into an inbox.
const _: () =
    assert!(PIPELINE_SIZE > wire::limits::RESP_COMMAND_SIZE + runtime::limits::INBOX_BYTES);

/// Ticks of the CPU's counter that the Redis clients of a scheduler may use in one turn (0.6 to 1.5 ms on CPUs of 5 to
/// 2 GHz, 3 ms if there is no such counter). Beyond: the others wait for the next turn, in the order in which they
/// came.
pub const TURN_TICKS: u64 = 3_000_000;

/// The part of that time after which a client waits for the next turn if others wait (an eighth). Larger: a client with
/// one short command waits longer for those with many. Smaller: more clients are resumed for little work.
pub const SHARES: u64 = 8;

/// Waiting Redis clients that are resumed for one turn. Beyond: they are resumed for a later one, so that a line of
/// thousands costs no turn.
pub const CALLED: usize = 128;

/// Steps of comparing keys with a pattern after which a scan looks at the time (64 keys with a plain pattern, some
/// microseconds). Fewer: a scan spends more of its time on looking.
pub const STEPS_PER_LOOK: usize = 6_400;

/// Bytes of a command from which on the time to read it is measured (16 KiB: some microseconds). Such a command may
/// work as long as that in each turn, beyond the share of its client.
pub const LONG_COMMAND: usize = 16 * 1024;

/// Expired keys that `RANDOMKEY` passes over (64). Beyond: it goes on at the first key of the database.
pub const RANDOM_KEYS: usize = 64;

/// Steps of visiting a key, in addition to its comparison.
pub const STEPS_PER_KEY: usize = 100;

/// Bytes that are copied in one step.
pub const BYTES_PER_STEP: usize = 8;

/// Bytes of the pieces of a reply that is made in several turns (64 KiB). Smaller: more pieces are queued. Larger: a
/// piece is copied once more in one go.
pub const PIECE_SIZE: usize = 64 * 1024;

/// Bytes of commands of a Redis client that wait while it does not read its replies (32 MiB: 1.5 million times `GET
/// key`), or of an incomplete command. Beyond: the connection is closed, with reason `inbox-full`.
pub const PIPELINE_SIZE: usize = 32 * 1024 * 1024;

/// Replies that a Redis client awaits from the writer of the store. Beyond: its input is not read until some have
/// arrived.
pub const AWAITED: usize = 1_024;

/// Bytes of orders of a Redis client that the writer has not answered (1 MiB). Beyond: as above.
pub const AWAITED_SIZE: usize = 1024 * 1024;

/// Bytes of the commands between `MULTI` and `EXEC` (1 MiB). Beyond: an error, and `EXEC` is refused.
pub const TRANSACTION_SIZE: usize = 1024 * 1024;

/// Bytes of the name that a Redis client gives itself, and of those of its library (1 KiB). Beyond: an error.
pub const CLIENT_NAME_SIZE: usize = 1024;

/// Words of one `COMMAND`. Beyond: an error.
pub const COMMAND_NAMES: usize = 1_024;

/// Patterns in one `CONFIG GET`. Beyond: an error.
pub const CONFIG_PATTERNS: usize = 16;

/// Keys that a Redis client may watch. Beyond: an error, and the next `EXEC` fails.
pub const WATCHED: usize = 1_024;

/// Keys that one `SCAN` visits. Beyond: it returns fewer than its `COUNT`.
pub const SCAN_KEYS: usize = 4_096;

/// Bytes of the keys in the reply to one `SCAN` (1 MiB). Beyond: the next one returns the rest.
pub const SCAN_SIZE: usize = 1024 * 1024;

/// Cursors of `SCAN` whose keys a scheduler remembers, at most 550 bytes each. Beyond: a scan whose cursor was
/// forgotten costs a search for its key.
pub const SCAN_PLACES: usize = 4_096;

/// Bytes of the reply to `KEYS` (16 MiB). Beyond: an error.
pub const LISTING_SIZE: usize = 16 * 1024 * 1024;

/// Bytes that the Redis clients of a scheduler keep between commands (64 MiB): commands before `EXEC`, and watched
/// keys. Beyond: an error, and the client's transaction is discarded.
pub const KEPT_SIZE: usize = 64 * 1024 * 1024;

/// Bytes of replies of [`local::limits::LENT_SIZE`] and more that have to be copied (64 MiB per scheduler), such as
/// those to `EXEC`, `GETDEL` and `KEYS`, while their clients read them; the first is always allowed. Beyond: an error.
pub const HELD_SIZE: usize = 64 * 1024 * 1024;

/// Bytes of values in one `MGET` reply that are copied (32 MiB), not counting the last. Beyond: an error.
pub const REPLY_SIZE: usize = 32 * 1024 * 1024;

/// How long a client may send its first command while the server drains (the same as for HTTP). Beyond: its connection
/// is closed.
pub const DRAIN_GRACE: Duration = Duration::from_millis(500);
