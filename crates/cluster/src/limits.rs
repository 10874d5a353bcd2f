//! The bounds of a link: a name, a number, and what happens beyond it.

/// 1 MiB and 64 KiB of a message of NATS, header fields included: its own default for payloads, and what a republished
/// message has in addition. Beyond: the connection is closed, because no node sends longer ones.
pub const MESSAGE_BYTES: usize = 1024 * 1024 + 64 * 1024;

/// Bytes of input that a connection may have unread: one message with its line. A sender of more is closed.
pub const INBOX_BYTES: usize = MESSAGE_BYTES + 128 * 1024;

/// 16 MiB that wait to be sent to NATS. Beyond: announcements and members are dropped, and the link counts them; the
/// connection of a server that takes nothing is closed when it is silent for [`SILENCE_MS`].
pub const OUTPUT_BYTES: usize = 16 * 1024 * 1024;

/// 32 MiB of mail of the node's store that wait to be sent to NATS. Beyond: more is dropped, and the stores ask again.
pub const MAIL_BYTES: usize = 32 * 1024 * 1024;

/// 513 KiB of a message between stores at most, which their crate cuts. A server of NATS that takes less carries none
/// of the longer ones, and the link says so.
pub const STORE_MESSAGE_BYTES: usize = 513 * 1024;

/// 1 MiB of mail, beyond its last part, that NATS has not confirmed. Larger: messages of channels wait for longer
/// behind it. Smaller: replicas take their snapshots more slowly where NATS is far away.
pub const MAIL_UNDER_WAY: usize = 1024 * 1024;

/// 10,000 commits of a scheduler that wait for their results. Beyond: one more is refused as busy.
pub const COMMITS: usize = 10_000;

/// 32 MiB of messages in commits that wait. Beyond: one more is refused as busy.
pub const COMMIT_BYTES: usize = 32 * 1024 * 1024;

/// 64 histories are read at a time. Beyond: others wait in line.
pub const READS_UNDER_WAY: usize = 64;

/// 256 KiB of messages in one part of a history. Beyond: the rest is read behind it.
pub const READ_BYTES: u64 = 256 * 1024;

/// 5 s for a part of a history. Beyond: it has failed, and is asked for again.
pub const READ_MS: u64 = 5_000;

/// 2 s for what is asked of streams. Beyond: it is asked again.
pub const STREAM_ANSWER_MS: u64 = 2_000;

/// Time for which a stream without a message counts as new (60 s). Shorter: while servers start, more of them give it
/// an epoch, one after the other.
pub const NEW_STREAM_MS: u64 = 60_000;

/// 10 s between two looks at the state of a stream.
pub const SAMPLE_MS: u64 = 10_000;

/// 68 KiB of a message in a stream at most: the largest message of a channel, its subject and header fields.
pub const KEPT_MESSAGE_BYTES: u64 = 68 * 1024;

/// 1 s after which a stream is asked for again that could not be made.
pub const STREAM_AGAIN_MS: u64 = 1_000;

/// 10,000 messages and results that wait until the epoch of their stream is known. Beyond: messages are dropped, which
/// their channels notice by the number of the message before the next one.
pub const HELD: usize = 10_000;

/// 4 MiB of them for each stream. Beyond: as above.
pub const HELD_BYTES: usize = 4 * 1024 * 1024;

/// 1 s for the answers of other nodes. Beyond: there are no more.
pub const ANSWERS_MS: u64 = 1_000;

/// 1,000 questions that wait for answers. Beyond: one more gets none.
pub const QUESTIONS: usize = 1_000;

/// 512 KiB of an answer to another node. Beyond: it has only a part of what was found.
pub const ANSWER_BYTES: usize = 512 * 1024;

/// 2 s between two signs of life of a node.
pub const HEARTBEAT_MS: u64 = 2_000;

/// 6 s without a sign of life. Beyond: the node has ended, and its members leave.
pub const LEASE_MS: u64 = 6_000;

/// 2 s between two renewals of a lease by its holder, or two looks of another node at it.
pub const LEASE_LOOK_MS: u64 = 2_000;

/// 6 s for which a lease is held after its last renewal was sent. Beyond: its holder lets go.
pub const LEASE_HELD_MS: u64 = 6_000;

/// 8 s without a renewal that another node has seen. Beyond: it takes the lease. Longer than [`LEASE_HELD_MS`], so that
/// the holder has let go.
pub const LEASE_FREE_MS: u64 = 8_000;

/// 5 s in which a server of NATS that led a stream and was cut off hears of the new leader, which tells the others each
/// second that it is there. Beyond: a state of a stream that is older than what was seen before is believed, if its
/// server knows a leader, and what was missed is read.
pub const AGREEMENT_MS: u64 = 5_000;

/// 2 s over which links connect again after a cut between servers of NATS, so that they do not at the same moment.
pub const REJOIN_MS: u64 = 2_000;

/// 1,000 other nodes. Beyond: one more is not heard.
pub const NODES: usize = 1_000;

/// 2 s after which a server that says nothing is asked whether it is there.
pub const QUIET_MS: u64 = 2_000;

/// 6 s without a byte of the server. Beyond: the link counts as lost, and another server is tried.
pub const SILENCE_MS: u64 = 6_000;

/// 5 s to connect and be welcomed. Beyond: the next server is tried.
pub const HANDSHAKE_MS: u64 = 5_000;

/// 100 ms before all servers are tried again, twice as long each time.
pub const FIRST_PAUSE_MS: u64 = 100;

/// 5 s before all servers are tried again at most.
pub const LAST_PAUSE_MS: u64 = 5_000;

/// 64 servers, with those that servers tell of. Beyond: others are not tried.
pub const SERVERS: usize = 64;

/// 5 minutes in which a message that is sent again is recognised.
pub const REPEATS_NS: u64 = 300_000_000_000;
