//! Every limit of the runtime: name, number and consequence.

use std::time::Duration;

/// Processes whose answers wait for each other, so that runs follow runs and sends follow sends.
///
/// Consequence: an answer waits for the runs of so many others at the most, then all leave; of those one may be a long one
/// ([`GROUP_RUN_TICKS`]).
pub const GROUP_PROCESSES: usize = 8;

/// Ticks of the processor's counter that a run may take without sending the answers that wait: 40 to 100 us on processors of 5 to 2 GHz,
/// 200 us where there is no such counter.
///
/// Consequence: behind a longer run, such as one of a page that computes, the answers that wait leave before anybody else runs.
pub const GROUP_RUN_TICKS: u64 = 200_000;

/// Bytes of an answer that waits for others.
///
/// Consequence: a longer one leaves at once.
pub const GROUP_ANSWER_BYTES: usize = 16 * 1024;

/// Connections accepted from one listener in one turn.
///
/// Consequence: the rest stays in the kernel's queue for the next turn, so that a flood of connections cannot
/// hold up those that are open.
pub const ACCEPTS_PER_TURN: usize = 256;

/// Connections begun in one turn: over loopback the other end is served in the same call, some 20 us each.
///
/// Consequence: the rest is begun in the next turns; what runs meanwhile waits for no more than these.
pub const CONNECTS_PER_TURN: usize = 64;

/// Receives of one process in one turn.
///
/// Consequence: a peer that sends faster than it is read is taken up again in the next turn, behind the others.
pub const RECEIVES_PER_TURN: usize = 4;

/// Bytes a process may leave unread in its inbox, unless its service says otherwise: the largest request head plus one receive.
///
/// Consequence: the connection is closed; a well-behaved service refuses earlier, with a status.
pub const INBOX_BYTES: usize = 128 * 1024;

/// Bytes queued in a process's outbox above which its service should stop producing.
///
/// Consequence: `Context::output_is_full` turns true; a service that goes on anyway meets [`OUTBOX_BYTES`].
pub const OUTBOX_HIGH_WATER_BYTES: usize = 256 * 1024;

/// Bytes a process may have queued in its outbox when it adds more (file regions and shared bytes count by reference: 64
/// each). What one run puts out at once is taken whatever its size, as far as [`BUFFERED_BYTES`] go.
///
/// Consequence: the connection is closed, with reason `OutboxFull`.
pub const OUTBOX_BYTES: usize = 4 * 1024 * 1024;

/// Bytes of a reply copied into the turn's buffer; longer ones are queued by reference.
///
/// Consequence: none visible; below it one copy is cheaper than a gather write.
pub const COPY_BYTES: usize = 16 * 1024;

/// Bytes of a process that a transport seals at once.
///
/// Consequence: more are sealed one after the other, while the socket takes them.
pub const LAYER_SEAL_BYTES: usize = 64 * 1024;

/// Bytes of a process that wait for the end of a transport's handshake.
///
/// Consequence: the others wait in its outbox.
pub const LAYER_EARLY_BYTES: usize = 64 * 1024;

/// Receives of a transport for one of its process, where they bring nothing for it.
///
/// Consequence: others have their turn first.
pub const LAYER_RECEIVES: usize = 4;

/// Bytes of the buffer that a fan keeps from turn to turn.
///
/// Consequence: after a turn with more the rest is freed.
pub const FAN_KEPT_BYTES: usize = 64 * 1024;

/// Pieces given to one gather write.
///
/// Consequence: an outbox of more pieces takes several writes.
pub const GATHER_PIECES: usize = 64;

/// Bytes of a file whose first segment the head in front of it joins.
///
/// Consequence: the head of a longer one leaves by itself. The packet is nothing beside the file; a head that the kernel keeps back makes
/// it send the file in smaller parts under BBR, each of which wakes the peer (twice the CPU from 128 KiB on, measured).
pub const FILE_JOINED_BYTES: u64 = 64 * 1024;

/// Bytes of its queued output that one process sends in one turn.
///
/// Consequence: a fast reader of a large file takes turns with everybody else.
pub const QUEUED_BYTES_SENT_PER_RUN: usize = 1024 * 1024;

/// Bytes of queued output that all processes together send in one turn: about a millisecond of copying.
///
/// Consequence: the processes that are left send in the next turn, after the events that came meanwhile.
pub const QUEUED_BYTES_SENT_PER_TURN: usize = 4 * 1024 * 1024;

/// Messages of one ring between two endpoints.
///
/// Consequence: the sender gets the message back and counts a full ring; what it does then is its own policy.
pub const MAILBOX_MESSAGES: usize = 256;

/// Messages taken from one mailbox in one turn.
///
/// Consequence: the rest waits for the next turn.
pub const MESSAGES_PER_TURN: usize = 256;

/// Connections of one scheduler of which the kernel may hold much unsent output, because their peers take what they get at once: with
/// 4 MiB each 512 MiB at most.
///
/// Consequence: of one more the kernel takes 128 KiB at a time, and a large answer to it costs more wake-ups.
pub const FAST_PEERS: u64 = 128;

/// Ticks within which a fast peer makes room after its socket was full.
///
/// Consequence: a slower one has less of its output in the kernel.
pub const FAST_PEER_TICKS: u64 = 1;

/// Length of one timer tick in milliseconds: how late a deadline may be noticed.
///
/// Consequence: every deadline is rounded up to the next tick.
pub const TICK_MS: u64 = 64;

/// Ticks in one round of the timer wheel (262 seconds).
///
/// Consequence: a later deadline is looked at once a round and put back.
pub const WHEEL_TICKS: usize = 4096;

/// Nanoseconds a scheduler polls before it blocks, unless it is told otherwise.
///
/// Consequence: a request that comes within this time is answered without a sleep and a wake-up; the core is
/// busy meanwhile.
pub const SPIN_NS: u64 = 50_000;

/// Microseconds for which the kernel polls the network device before a scheduler sleeps: none unless it is asked for, as it takes a queue for each scheduler.
pub const BUSY_POLL_US: u32 = 0;

/// Nanoseconds for which spinning stays off after another thread wanted the core.
///
/// Consequence: on a shared core the scheduler blocks at once, as any other server does.
pub const SPIN_PAUSE_NS: u64 = 1_000_000_000;

/// Nanoseconds that a listener without descriptors or room stays paused.
///
/// Consequence: clients wait in the kernel's queue for this long before the next try; never a busy loop.
pub const ACCEPT_PAUSE_NS: u64 = 100_000_000;

/// Nanoseconds from the begin of a drain to the close of the listeners, in which who has begun to connect is accepted and
/// nobody new can begin.
///
/// Consequence: a client whose part of the handshake, or whose first bytes where it has to speak first, take longer is
/// reset.
pub const DRAIN_DOORS_NS: u64 = 100_000_000;

/// Nanoseconds between two log lines about the same trouble.
///
/// Consequence: more of the same is counted, not logged.
pub const COMPLAINT_INTERVAL_NS: u64 = 10_000_000_000;

/// Nanoseconds without progress after which blocked output ends the connection.
///
/// Consequence: closed with reason `SlowReader`; the default of a service that does not say otherwise.
pub const SEND_IDLE_NS: u64 = 30_000_000_000;

/// Bytes a second that a reader must take while output is blocked.
///
/// Consequence: closed with reason `SlowReader`.
pub const SEND_RATE: u64 = 512;

/// Bytes drained after our last answer to a request that was refused, before the close.
///
/// Consequence: what is beyond it meets a reset.
pub const LINGER_BYTES: u32 = 64 * 1024;

/// Milliseconds for which a refused connection is drained.
///
/// Consequence: then closed, whatever the peer still sends.
pub const LINGER_MS: u64 = 1000;

/// Connections of one scheduler, unless configured.
///
/// Consequence: at the limit the longest idle connection is closed to make room; when none is idle, accepting
/// pauses: who comes then waits in the kernel's queue and is tried again every [`ACCEPT_PAUSE_NS`], without an
/// answer until there is room.
pub const CONNECTIONS: usize = 1 << 20;

/// Idle connections that one sweep of the table remembers, the longest idle ones (24 bytes each).
///
/// Consequence: with so many closed to make room, or at work again, the table is swept once more, its whole length in
/// one turn.
pub const EVICTION_CANDIDATES: usize = 1024;

/// Nanoseconds before the next sweep for each connection beyond [`EVICTION_CANDIDATES`]: many times what a look at a
/// slot takes, so that sweeping stays a small part of the time.
///
/// Consequence: when nobody of the last sweep is idle any more and the next is not due, accepting pauses.
pub const EVICTION_REST_NS: u64 = 200;

/// Tries of a thread that may block to put a message into a full ring, [`FULL_RING_PAUSE`] apart: about five seconds.
///
/// Consequence: the message is given back; the scheduler has not turned for that long.
pub const FULL_RING_TRIES: u32 = 5_000;

/// Between two such tries: a millisecond.
///
/// Consequence: as much later may a message come that met a full ring.
pub const FULL_RING_PAUSE: Duration = Duration::from_millis(1);

/// Bytes of inboxes and outboxes that one scheduler may hold, unless configured.
///
/// Consequence: the four below on the way there, and at it nothing is received from anybody, and who puts out what its peer does
/// not take is reset, with reason `OutboxFull`. Beyond it is at most the output of one run.
pub const BUFFERED_BYTES: usize = 256 * 1024 * 1024;

/// Percent of [`BUFFERED_BYTES`] from which on nothing is received from who has bytes queued, in either direction.
///
/// Consequence: what such a peer sends waits in the kernel; everybody else is served.
pub const MEMORY_PERCENT_OF_NO_READ: u64 = 90;

/// Percent of [`BUFFERED_BYTES`] below which they are read again.
///
/// Consequence: between the two who waits goes on waiting, so that a few bytes do not turn it off and on.
pub const MEMORY_PERCENT_OF_READ_AGAIN: u64 = 85;

/// Percent of [`BUFFERED_BYTES`] from which on the longest idle connection is closed, one in a tick: it holds nothing
/// that is counted here, but could with its next request.
///
/// Consequence: closed with reason `Evicted`.
pub const MEMORY_PERCENT_OF_NO_IDLE: u64 = 95;

/// Percent of [`BUFFERED_BYTES`] from which on new connections are turned away.
///
/// Consequence: the service says so (HTTP: 503 with `Retry-After`), then they are closed.
pub const MEMORY_PERCENT_OF_NO_CONNECTION: u64 = 98;

/// One turn in this many is timed in full (kernel calls, handlers by kind).
///
/// Consequence: the shares in the statistics are samples; the counts are exact.
pub const TURNS_PER_SAMPLE: u64 = 64;

/// Endpoints of one mesh of mailboxes: schedulers, helpers, control.
///
/// Consequence: launch refuses to start more.
pub const ENDPOINTS: usize = 1024;

/// Connections that may wait to be accepted at one listener, unless configured.
///
/// Consequence: more are refused by the kernel, which also cuts this at `net.core.somaxconn`.
pub const BACKLOG: u32 = 4096;

/// Bytes of lines that wait for room on standard error (1 MiB).
///
/// Consequence: lines beyond it are lost; how many is told in their place.
pub const OUTLET_BYTES: usize = 1024 * 1024;

/// Bytes of a line that is written at once where there is any room: what a pipe with room takes as a whole (`PIPE_BUF`).
///
/// Consequence: a longer line goes by way of the thread that may wait.
pub const OUTLET_DIRECT_BYTES: usize = 4096;

/// How often the end of the process looks whether all lines are written (100 times).
///
/// Consequence: lines that nobody has read by then, after a second, are lost.
pub const OUTLET_END_TRIES: u32 = 100;

/// The pause between two of these looks (10 ms).
///
/// Consequence: the end of the process may come so much later than the last line.
pub const OUTLET_END_PAUSE: Duration = Duration::from_millis(10);

/// 1,000 times that requests or page processes wait for are looked at in one turn; the others in the next.
pub const ALARMS_PER_TURN: usize = 1_000;
/// 64 times that nobody waits for any more are kept, and as many as there are waiters; more are looked for and dropped.
pub const STALE_ALARMS: usize = 64;
