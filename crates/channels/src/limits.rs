//! The limits of channels: name, number, unit and consequence.

/// Bytes of a channel's name. Beyond: refused.
pub const NAME_SIZE: usize = 255;

/// Channels that one scheduler knows: those with subscribers on it, and those whose home it is and that have a history. Beyond: of
/// [`CHANNELS_COMPARED`] channels one without subscribers is forgotten, with its history; where there is none, subscribing and publishing to
/// another one is refused.
pub const CHANNELS: usize = 100_000;

/// Channels among which one without subscribers is looked for (64); with more a request would take longer.
pub const CHANNELS_COMPARED: usize = 64;

/// Milliseconds that a channel with a history rule stays when its last subscriber has gone and its history is empty (60 s): positions of
/// clients that come back by then are good. Then it is forgotten, and begins a new epoch with the next use.
pub const UNUSED_MS: u64 = 60_000;

/// Patterns (`PSUBSCRIBE`) of one scheduler: each is compared with every message. Beyond: refused.
pub const PATTERNS: usize = 1_000;

/// Subscriptions of one connection. Beyond: refused.
pub const SUBSCRIPTIONS_PER_CONNECTION: usize = 1_000;

/// Subscriptions of one scheduler. Beyond: refused.
pub const SUBSCRIPTIONS: usize = 4_000_000;

/// Bytes of messages in all histories of one scheduler (64 MiB). Beyond: of [`HISTORY_COMPARED`] channels the one with the largest
/// history loses its oldest messages, and a client that asks for them is told that they were lost.
pub const HISTORY_BYTES: usize = 64 * 1024 * 1024;

/// Channels of which the one with the largest history loses messages (16); with more a publish would take longer.
pub const HISTORY_COMPARED: usize = 16;

/// Bytes of what waits for room in the mailbox of another scheduler (16 MiB). Beyond: publishing is refused, and so is subscribing to a
/// channel whose home it is.
pub const UNSENT_BYTES: usize = 16 * 1024 * 1024;

/// Bytes of messages for the subscribers of a channel that wait for the end of a turn (16 MiB). Beyond: publishing is refused.
pub const TURN_BYTES: usize = 16 * 1024 * 1024;

/// Milliseconds between two looks for messages that are too old: one is kept so much longer than its age.
pub const SWEEP_MS: u64 = 1_000;

/// Bytes that a channel's buffer keeps from one turn to the next (4 KiB); a larger one is made anew.
pub const KEPT_BUFFER_BYTES: usize = 4 * 1024;

/// Bytes of a message where nothing else is configured (64 KiB). Beyond: refused, HTTP with 413.
pub const MESSAGE_SIZE: u64 = 64 * 1024;

/// Bytes that may wait for a slow subscriber where nothing else is configured (1 MiB). Beyond: what its channel's `slow` says.
pub const BEHIND: u64 = 1024 * 1024;

/// Bytes of a token (8 KiB). Beyond: refused.
pub const TOKEN_SIZE: usize = 8 * 1024;

/// Patterns in a token. Beyond: refused. A connection keeps them, and each is compared with the names that its client asks for.
pub const TOKEN_PATTERNS: usize = 100;

/// Bytes of what a token tells of its user to others (1 KiB). Beyond: refused.
pub const MEMBER_INFO_SIZE: usize = 1024;

/// Bytes of the members of all channels on one scheduler, and of those channels whose home it is (64 MiB). Beyond: subscribing to a channel
/// with presence is refused to a client with a user.
pub const MEMBERS_BYTES: usize = 64 * 1024 * 1024;

/// Members that an answer names at most; it tells how many there are in any case.
pub const MEMBERS_TOLD: usize = 1_000;

/// Milliseconds for which the key of a message is known (5 minutes). Then the same key is another message.
pub const KEY_MS: u64 = 300_000;

/// Keys of a channel that are known. Beyond: the oldest is forgotten.
pub const KEYS_PER_CHANNEL: usize = 100;

/// Channels of which keys are known to a scheduler. Beyond: those of one channel are forgotten.
pub const KEYED_CHANNELS: usize = 10_000;

/// Bytes of a key. Beyond: refused.
pub const KEY_SIZE: usize = 128;

/// Messages that wait for a listener within the server, such as a page. Beyond: it loses the oldest, and is told.
pub const LISTENER_MESSAGES: usize = 1_000;

/// Bytes of messages that wait for all listeners of a scheduler (64 MiB). Beyond: the listener that gets one more loses its oldest; each keeps one.
pub const LISTENERS_BYTES: usize = 64 * 1024 * 1024;

/// Publishers whose rate a scheduler knows. Beyond: one of them is forgotten, which may then publish a second's worth at once.
pub const PUBLISHERS: usize = 100_000;

/// Milliseconds that a long poll waits where the request names no time (25 s). Then: an answer without messages.
pub const POLL_MS: u64 = 25_000;

/// Milliseconds that a long poll waits at most (25 s, less than an answer may take). A request that names more waits so long.
pub const POLL_MS_MAX: u64 = 25_000;
