//! The limits of channels: name, number, unit and consequence.

/// Bytes of a channel's name. Beyond: refused.
pub const NAME_SIZE: usize = 255;

/// Channels known to one scheduler: those with subscribers on it, and those with a history whose home it is. Beyond:
/// among [`CHANNELS_COMPARED`] channels, one without subscribers is removed with its history; if there is none,
/// subscribing and publishing to a new channel is refused.
pub const CHANNELS: usize = 100_000;

/// Channels among which one without subscribers is searched (64); with more, a request would take longer.
pub const CHANNELS_COMPARED: usize = 64;

/// Milliseconds that a channel with a history rule stays after its last subscriber has left and its history is empty
/// (60 s): positions of clients that return by then are valid. Then it is removed, and begins a new epoch when it is
/// next used.
pub const UNUSED_MS: u64 = 60_000;

/// Bytes of a pattern of a client (1 KiB), for names of channels and for keys of the store. Beyond: refused, because a
/// comparison costs as much as the name is long times the pattern.
pub const PATTERN_SIZE: usize = 1024;

/// Different patterns (`PSUBSCRIBE`) with subscribers on any scheduler, because each is known to all of them. Beyond:
/// refused.
pub const PATTERNS: usize = 10_000;

/// Steps of comparing one name with all patterns, in the worst case (well below a millisecond); a step is one element
/// of a pattern, or eight literal bytes. A pattern like `news.*` takes a few more than [`STEPS_PER_PATTERN`], one with
/// many classes between stars up to 16,000. Beyond: a further pattern is refused.
pub const PATTERN_STEPS: usize = 200_000;

/// Steps of comparing a name with a pattern, in addition to its elements.
pub const STEPS_PER_PATTERN: usize = 8;

/// Steps of comparing and copying that the messages of one turn take together (well below a millisecond). Beyond:
/// further messages of channels whose home this scheduler is wait for the next turn, and with them their publishers.
pub const STEPS_PER_TURN: usize = 100_000;

/// Steps of comparing names in the searches of a turn (`PUBSUB CHANNELS`, well below a millisecond). Beyond: a search
/// goes on in the next turn.
pub const SEARCH_STEPS_PER_TURN: usize = 100_000;

/// Steps of a message in addition to its comparisons and copies.
pub const STEPS_PER_MESSAGE: usize = 32;

/// Bytes copied in one step.
pub const BYTES_PER_STEP: usize = 64;

/// Subscriptions of one connection. Beyond: refused.
pub const SUBSCRIPTIONS_PER_CONNECTION: usize = 1_000;

/// Subscriptions of one scheduler. Beyond: refused.
pub const SUBSCRIPTIONS: usize = 4_000_000;

/// Bytes of messages in all histories of one scheduler (64 MiB). Beyond: among [`HISTORY_COMPARED`] channels, the one
/// with the largest history loses its oldest messages, and a client that asks for them is told that they were lost.
pub const HISTORY_BYTES: usize = 64 * 1024 * 1024;

/// Channels among which the one with the largest history loses messages (16); with more, publishing would take longer.
pub const HISTORY_COMPARED: usize = 16;

/// Bytes that wait for room in the mailbox of another scheduler, or for a later turn of their channels' home (16 MiB).
/// Beyond: publishing is refused, and so is subscribing to a channel whose home that scheduler is.
pub const UNSENT_BYTES: usize = 16 * 1024 * 1024;

/// Bytes of messages for the subscribers of a channel that wait for the end of a turn (16 MiB). Beyond: publishing is
/// refused.
pub const TURN_BYTES: usize = 16 * 1024 * 1024;

/// Milliseconds between two searches for messages that are too old: a message is kept this much longer than its age.
pub const SWEEP_MS: u64 = 1_000;

/// Bytes of its buffer that a channel keeps between turns (4 KiB); a larger buffer is freed.
pub const KEPT_BUFFER_BYTES: usize = 4 * 1024;

/// Bytes of a message, unless configured (64 KiB). Beyond: refused, HTTP with 413.
pub const MESSAGE_SIZE: u64 = 64 * 1024;

/// Bytes that may wait for a slow subscriber, unless configured (1 MiB). Beyond: what its channel's `slow` says.
pub const BEHIND: u64 = 1024 * 1024;

/// Bytes of a token (8 KiB). Beyond: refused.
pub const TOKEN_SIZE: usize = 8 * 1024;

/// Patterns in a token. Beyond: refused. A connection keeps them, and each is compared with the names that its client
/// requests.
pub const TOKEN_PATTERNS: usize = 100;

/// Bytes of the public information about a token's user (1 KiB). Beyond: refused.
pub const MEMBER_INFO_SIZE: usize = 1024;

/// Bytes of the members of all channels on one scheduler, and of the channels whose home it is (64 MiB). Beyond:
/// clients with a user cannot subscribe to channels with presence.
pub const MEMBERS_BYTES: usize = 64 * 1024 * 1024;

/// Members listed in an answer; their total is always given.
pub const MEMBERS_TOLD: usize = 1_000;

/// Milliseconds for which the key of a message is remembered (5 minutes). After that the same key means another
/// message.
pub const KEY_MS: u64 = 300_000;

/// Keys remembered for a channel. Beyond: the oldest is removed.
pub const KEYS_PER_CHANNEL: usize = 100;

/// Channels for which a scheduler remembers keys. Beyond: the keys of one channel are removed.
pub const KEYED_CHANNELS: usize = 10_000;

/// Bytes of a key. Beyond: refused.
pub const KEY_SIZE: usize = 128;

/// Messages that wait for a listener within the server, such as a page. Beyond: it loses the oldest, and is told.
pub const LISTENER_MESSAGES: usize = 1_000;

/// Bytes of messages that wait for all listeners of a scheduler (64 MiB). Beyond: a listener that gets another loses
/// its oldest; each keeps one.
pub const LISTENERS_BYTES: usize = 64 * 1024 * 1024;

/// Messages on their way into the cluster from one scheduler. Beyond: publishing to a channel with a history is
/// refused.
pub const COMMITS: usize = 10_000;

/// Bytes of those messages (16 MiB). Beyond: the same.
pub const COMMIT_BYTES: usize = 16 * 1024 * 1024;

/// Histories that a scheduler reads from the cluster at the same time. Beyond: the others wait.
pub const READS: usize = 64;

/// Messages that are read from the cluster at once. The rest is read behind them.
pub const READ_MESSAGES: u32 = 256;

/// How often a history is read until a message that should be there is taken for lost, and its subscribers are told.
/// The first two follow at once, the others with the search for old messages ([`SWEEP_MS`]).
pub const READ_TRIES: u8 = 4;

/// New messages of a channel that wait until its history was read. Beyond: they are read as well.
pub const HELD_MESSAGES: usize = 64;

/// Bytes of those messages, of all channels of a scheduler (16 MiB). Beyond: the same.
pub const HELD_BYTES: usize = 16 * 1024 * 1024;

/// Milliseconds for which new subscribers of a channel with a history wait while the cluster is away (2 s). Then: they
/// are told that messages may be lost, and again when it is back.
pub const AWAY_MS: u64 = 2_000;

/// Bytes of members in one answer to another node (256 KiB), and one member at least. The rest is asked for.
pub const PRESENT_BYTES: usize = 256 * 1024;

/// Questions to other nodes about members that are under way at the same time. Beyond: the others wait.
pub const PRESENT_QUESTIONS: usize = 64;

/// Members of a node that has ended that leave in one turn. The others leave in the next turns.
pub const LEAVING_PER_TURN: usize = 1_000;

/// Channels that one turn goes through when the cluster goes away or is back (1,000). The others follow in the next
/// turns.
pub const CHANNELS_PER_TURN: usize = 1_000;

/// Questions of other nodes that a scheduler answers at the same time. Beyond: no answer.
pub const QUESTIONS: usize = 1_000;

/// Publishers whose rate a scheduler tracks. Beyond: one of them is removed, and may then publish a second's worth at
/// once.
pub const PUBLISHERS: usize = 100_000;

/// Milliseconds that a long poll waits if the request gives no time (25 s). Then: an answer without messages.
pub const POLL_MS: u64 = 25_000;

/// Maximum milliseconds that a long poll waits (25 s, less than an answer may take). A longer request waits this long.
pub const POLL_MS_MAX: u64 = 25_000;

/// Bytes of the messages in one answer to a long poll (256 KiB), or one longer message. Beyond: the next request gets
/// the others, at once.
pub const POLL_ANSWER_SIZE: usize = 256 * 1024;

/// Bytes of answers to long polls that a scheduler writes in one turn (256 KiB), and the rest of one answer. Beyond:
/// the other requests are answered in the next turns, the oldest first.
pub const POLL_BYTES_PER_TURN: usize = 256 * 1024;

/// One message in this many is timed, from its publisher to the outboxes of its subscribers (16).
///
/// Consequence: times are of a sample. Fewer: more messages cost a reading of the clock.
pub const MESSAGES_PER_SAMPLE: u32 = 16;

/// Put off requests that are asked again in one turn (64). The others wait for a later one.
pub const POLLS_RESUMED: usize = 64;
