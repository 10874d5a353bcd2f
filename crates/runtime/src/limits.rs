//! Every limit of the runtime: name, number and consequence.

mod accepting;

use std::time::Duration;

pub use accepting::*;

/// Processes whose answers are held back together, so that several run before several are sent.
///
/// Consequence: an answer waits for the runs of at most this many other processes; then all are sent. Only one of those
/// runs may be long ([`GROUP_RUN_TICKS`]).
pub const GROUP_PROCESSES: usize = 8;

/// Ticks of the CPU's counter that a run may take before the held answers are sent: 40 to 100 us on CPUs of 5 to 2 GHz,
/// 200 us if there is no such counter.
///
/// Consequence: after a longer run, for example of a page that computes, the held answers are sent before another
/// process runs.
pub const GROUP_RUN_TICKS: u64 = 200_000;

/// Bytes of an answer that may be held back.
///
/// Consequence: a longer one is sent at once.
pub const GROUP_ANSWER_BYTES: usize = 16 * 1024;

/// Connections begun in one turn. Over loopback, `connect` also runs the other end: about 20 us each.
///
/// Consequence: the rest begins in the next turns, so other processes wait for at most this many.
pub const CONNECTS_PER_TURN: usize = 64;

/// Receives of one process in one turn.
///
/// Consequence: a peer that sends faster continues in the next turn, after the others.
pub const RECEIVES_PER_TURN: usize = 4;

/// Bytes a process may leave unread in its inbox, unless its service sets another bound: the largest request head plus
/// one receive.
///
/// Consequence: the connection is closed. A well-behaved service refuses earlier, with a status.
pub const INBOX_BYTES: usize = 128 * 1024;

/// Bytes queued in a process's outbox above which its service should stop producing.
///
/// Consequence: `Context::output_is_full` becomes true. A service that continues anyway reaches [`OUTBOX_BYTES`].
pub const OUTBOX_HIGH_WATER_BYTES: usize = 256 * 1024;

/// Bytes a process may have queued in its outbox when it adds more (file regions and shared bytes count 64 bytes each,
/// because they are queued by reference). The output of one run is accepted at any size, as far as [`BUFFERED_BYTES`]
/// allows.
///
/// Consequence: the connection is closed, with reason `OutboxFull`.
pub const OUTBOX_BYTES: usize = 4 * 1024 * 1024;

/// Bytes of a reply that are copied into the turn's buffer. Longer replies are queued by reference.
///
/// Consequence: not visible. Below this size one copy is cheaper than a gather write.
pub const COPY_BYTES: usize = 16 * 1024;

/// Bytes that a transport encodes at once for one process.
///
/// Consequence: longer output is encoded in parts, while the socket accepts them.
pub const LAYER_SEAL_BYTES: usize = 64 * 1024;

/// Ticks of the CPU's counter that handshakes of transports may take in one turn: 0.6 to 1.5 ms on CPUs of 5 to 2 GHz.
/// One more is run when some are left.
///
/// Consequence: further handshakes go on in the next turn, in the order in which they came; connections that have
/// agreed wait at most this long for them.
pub const HANDSHAKE_TICKS_PER_TURN: u64 = 3_000_000;

/// Handshakes of accepted connections with a transport that may be under way on one scheduler.
///
/// Consequence: further connections of listeners with a transport wait in the accept queue until one has agreed, has
/// failed or has reached its deadline.
pub const HANDSHAKES_MAX: u64 = 1_000;

/// Encoded bytes that are kept until the next ones come, when more output or its end follows at once.
///
/// Consequence: with more, they are sent in several parts.
pub const LAYER_KEPT_BYTES: usize = 32 * 1024;

/// Bytes of a transport's own answers that wait for room in the socket, such as those of a handshake.
///
/// Consequence: the connection is closed when its peer makes the transport answer more and does not read it.
pub const LAYER_OWED_BYTES: usize = 256 * 1024;

/// Receives of a transport in one receive of its process, if they yield no plain bytes.
///
/// Consequence: other processes run first.
pub const LAYER_RECEIVES: usize = 4;

/// Streams that one process carries at the same time. Consequence: it opens no further one until one ends. A service
/// has a smaller bound of its own, which it tells its peer.
pub const STREAMS_PER_PROCESS: usize = 1024;

/// Streams that are over whose room (some 500 bytes) is kept for others until memory is given back: those of twenty
/// full connections, answered together. As many lists of carriers without a stream. Consequence: more are freed.
pub const SPARE_STREAMS: usize = 2_048;

/// Bytes of input that wait for the process of one stream, and as many that it leaves unread. Consequence: further
/// input is not accepted for the stream, or its process is closed. A carrier grants its peer smaller windows.
pub const STREAM_INPUT_BYTES: usize = 1024 * 1024;

/// How often in one turn streams run and their carriers are told. Consequence: an answer that takes more steps between
/// a stream and its carrier takes more turns, so that other connections have theirs.
pub const STREAM_ROUNDS: usize = 4;

/// Ticks of the CPU's counter for which all streams of one carrier run in a turn in which others want something: 100
/// to 250 us on CPUs of 5 to 2 GHz, a hundred short answers or a quarter of a page's slice. Consequence: the rest waits
/// for the next turn, so that many streams of one connection delay others no more than one connection would.
pub const STREAM_TICKS_BESIDE_OTHERS: u64 = 500_000;

/// Bytes of its buffer that a fan keeps between turns.
///
/// Consequence: a larger buffer is freed after the turn.
pub const FAN_KEPT_BYTES: usize = 64 * 1024;

/// Pieces in one gather write.
///
/// Consequence: an outbox with more pieces takes several writes.
pub const GATHER_PIECES: usize = 64;

/// Bytes of a file up to which the head is sent in the same segment as the file's first bytes.
///
/// Consequence: the head of a longer file is sent by itself. One packet more is nothing beside the file. If the kernel
/// holds the head back, it sends the file in smaller parts under BBR, each of which wakes the peer (twice the CPU from
/// 128 KiB on, measured).
pub const FILE_JOINED_BYTES: u64 = 64 * 1024;

/// Bytes of queued output that one process sends in one turn.
///
/// Consequence: a fast reader of a large file takes turns with the others.
pub const QUEUED_BYTES_SENT_PER_RUN: usize = 1024 * 1024;

/// Bytes of queued output that all processes together send in one turn: about a millisecond of copying.
///
/// Consequence: the remaining processes send in the next turn, after the events that arrived meanwhile.
pub const QUEUED_BYTES_SENT_PER_TURN: usize = 4 * 1024 * 1024;

/// Messages in one ring between two endpoints.
///
/// Consequence: the sender gets the message back and counts a full ring. What it does then is its own policy.
pub const MAILBOX_MESSAGES: usize = 256;

/// Messages taken from one mailbox in one turn.
///
/// Consequence: the rest waits for the next turn.
pub const MESSAGES_PER_TURN: usize = 256;

/// Connections of one scheduler for which the kernel may hold much unsent output, because their peers read at once: at
/// 4 MiB each, at most 512 MiB.
///
/// Consequence: for further connections the kernel takes 128 KiB at a time, and a large answer costs more wake-ups.
pub const FAST_PEERS: u64 = 128;

/// Ticks within which a fast peer makes room again after its socket was full.
///
/// Consequence: for a slower peer the kernel holds less output.
pub const FAST_PEER_TICKS: u64 = 1;

/// Length of one timer tick in milliseconds. A deadline may be noticed this late.
///
/// Consequence: every deadline is rounded up to the next tick.
pub const TICK_MS: u64 = 64;

/// Ticks in one round of the timer wheel (262 seconds).
///
/// Consequence: a later deadline is visited once per round and linked again.
pub const WHEEL_TICKS: usize = 4096;

/// Nanoseconds a scheduler polls before it blocks, unless configured.
///
/// Consequence: a request that arrives within this time is answered without a sleep and a wake-up. Meanwhile the core
/// is busy.
pub const SPIN_NS: u64 = 50_000;

/// Microseconds for which the kernel busy-polls the network device before a scheduler sleeps. Off by default, because
/// it needs a queue per scheduler.
pub const BUSY_POLL_US: u32 = 0;

/// Nanoseconds for which polling stays off after another thread wanted the core.
///
/// Consequence: on a shared core the scheduler blocks at once, like any other server.
pub const SPIN_PAUSE_NS: u64 = 1_000_000_000;

/// Nanoseconds between two log lines about the same problem.
///
/// Consequence: repeated problems are counted, not logged.
pub const COMPLAINT_INTERVAL_NS: u64 = 10_000_000_000;

/// Nanoseconds without progress after which blocked output ends the connection, unless the service sets another bound.
///
/// Consequence: closed with reason `SlowReader`.
pub const SEND_IDLE_NS: u64 = 30_000_000_000;

/// Bytes per second that a peer must read while output is blocked.
///
/// Consequence: closed with reason `SlowReader`.
pub const SEND_RATE: u64 = 512;

/// Bytes read and discarded after the last answer to a refused request, before the close.
///
/// Consequence: if the peer sends more, it gets a reset.
pub const LINGER_BYTES: u32 = 64 * 1024;

/// Milliseconds for which the input of a refused connection is discarded.
///
/// Consequence: then the connection is closed, even if the peer still sends.
pub const LINGER_MS: u64 = 1000;

/// Connections of one scheduler, unless configured.
///
/// Consequence: at the limit, the connection that has been idle longest is closed to make room. If none is idle,
/// accepting pauses: new clients wait in the kernel's queue, without an answer, and the listener tries again every
/// [`ACCEPT_PAUSE_NS`].
pub const CONNECTIONS: usize = 1 << 20;

/// Idle connections that one sweep of the table remembers, those idle longest (24 bytes each).
///
/// Consequence: when all of them are closed or at work again, the table is swept again, the whole of it in
/// one turn.
pub const EVICTION_CANDIDATES: usize = 1024;

/// Nanoseconds until the next sweep, for each connection beyond [`EVICTION_CANDIDATES`]: many times the cost of
/// visiting a slot, so that sweeping remains a small part of the time.
///
/// Consequence: if no candidate of the last sweep is still idle and the next sweep is not yet due, accepting pauses.
pub const EVICTION_REST_NS: u64 = 200;

/// Tries of a thread that may block to put a message into a full ring, [`FULL_RING_PAUSE`] apart: about five seconds.
///
/// Consequence: the message is given back. The scheduler has not run for that long.
pub const FULL_RING_TRIES: u32 = 5_000;

/// The pause between two such tries: a millisecond.
///
/// Consequence: a message that met a full ring may arrive this much later.
pub const FULL_RING_PAUSE: Duration = Duration::from_millis(1);

/// Bytes that one scheduler may hold for its processes, unless configured: inboxes, outboxes, and what has arrived of
/// messages and bodies ([`Service::held_bytes`](crate::service::Service::held_bytes)).
///
/// Consequence: the thresholds below apply on the way to this limit. At the limit nothing is received from any
/// connection, and a process with much output that its peer does not read is reset when it adds to it, with reason
/// `OutboxFull`. At most the output of one run goes beyond it, and small outputs.
pub const BUFFERED_BYTES: usize = 256 * 1024 * 1024;

/// Percent of [`BUFFERED_BYTES`] from which on nothing is received from connections with unsent output.
///
/// Consequence: what such a peer sends waits in the kernel. All other connections are served.
pub const MEMORY_PERCENT_OF_NO_READ: u64 = 90;

/// Percent of [`BUFFERED_BYTES`] below which those connections are read again.
///
/// Consequence: between the two thresholds they keep waiting, so that a few bytes do not switch it on and off.
pub const MEMORY_PERCENT_OF_READ_AGAIN: u64 = 85;

/// Percent of [`BUFFERED_BYTES`] from which on the processes that hold most are ended, those of the client that holds
/// most first, until less is held.
///
/// Consequence: a process with unsent output is reset with reason `OutboxFull`; another answers that there is no memory
/// for it (HTTP: 503) and ends.
pub const MEMORY_PERCENT_OF_GIVE_BACK: u64 = 95;

/// Nanoseconds for each connection until all are looked at again for those that hold most, and at least a tick: many
/// times the cost of visiting a slot. Those that hold much ([`LARGE_HOLDERS`]) are found without that.
///
/// Consequence: if processes with little hold the larger part, the memory may be full for so long, and nothing is
/// received meanwhile.
pub const SWEEP_REST_NS: u64 = EVICTION_REST_NS;

/// Percent of [`BUFFERED_BYTES`] up to which a process with little unsent output may add to it.
///
/// Consequence: beyond it, a process whose output has to wait is reset, however little that is.
pub const MEMORY_PERCENT_OF_SMALL_OUTPUT: u64 = 105;

/// Processes that hold much: each holds at least this fraction of [`BUFFERED_BYTES`] (64 KiB of 256 MiB), so there are
/// no more.
///
/// Consequence: a process with less is ended only if such processes hold the larger part, and does not have to give way
/// to those that hold much.
pub const LARGE_HOLDERS: usize = 4096;

/// Percent of [`BUFFERED_BYTES`] from which on new connections are refused.
///
/// Consequence: the service answers (HTTP: 503 with `Retry-After`), then they are closed.
pub const MEMORY_PERCENT_OF_NO_CONNECTION: u64 = 98;

/// One turn in this many is timed in full.
///
/// Consequence: of what is not timed each time, the shares of time are samples. The counts are exact.
pub const TURNS_PER_SAMPLE: u64 = 16;

/// Endpoints of one mesh of mailboxes: schedulers, helpers, control.
///
/// Consequence: a launch with more is refused.
pub const ENDPOINTS: usize = 1024;

/// Connections that may wait at one listener to be accepted, unless configured.
///
/// Consequence: the kernel refuses more. It also limits this to `net.core.somaxconn`.
pub const BACKLOG: u32 = 4096;

/// Bytes of lines that wait for room on standard error (1 MiB).
///
/// Consequence: further lines are lost. A later line says how many.
pub const OUTLET_BYTES: usize = 1024 * 1024;

/// Bytes of a line that is written directly if there is any room: a pipe with room takes this much as a whole
/// (`PIPE_BUF`).
///
/// Consequence: a longer line goes through the thread that may block.
pub const OUTLET_DIRECT_BYTES: usize = 4096;

/// How long a text waits for the reader of standard output or standard error before the outlet is open and after it is
/// finished (1 s).
///
/// Consequence: it is lost, so that a reader that does not read keeps no process from starting or ending.
pub const OUTLET_READER_WAIT: Duration = Duration::from_secs(1);

/// How often the end of the process checks whether all lines are written (100 times).
///
/// Consequence: lines that are still unread after a second are lost.
pub const OUTLET_END_TRIES: u32 = 100;

/// The pause between two of these checks (10 ms).
///
/// Consequence: the process may end this much later than its last line is written.
pub const OUTLET_END_PAUSE: Duration = Duration::from_millis(10);

/// 1,000 due times of waiting requests or page processes are handled in one turn; the others in the next.
pub const ALARMS_PER_TURN: usize = 1_000;
/// 64 stale alarms are kept, plus as many as there are waiters. Beyond that they are searched for and dropped.
pub const STALE_ALARMS: usize = 64;

/// Slots that a walk sees in one turn. Consequence: a walk over a larger table takes several turns, none of them long.
pub const SLOTS_WALKED_PER_TURN: usize = 1_024;

/// For this long after a walk it is counted what each process uses.
///
/// Consequence: whoever asks less often sees what was used since the last question but one.
pub const WATCH_NS: u64 = 10_000_000_000;

/// Time from which on a turn is a long one (50 ms).
///
/// Consequence: it is told to whoever asks what was remarkable.
pub const LONG_TURN_NS: u64 = 50_000_000;

/// Ticks of the CPU's counter from which on a turn may be a long one (10 to 50 ms on CPUs of 5 to 1 GHz, 50 ms if
/// there is no such counter).
///
/// Consequence: the clock is read at its end.
pub(crate) const LONG_TURN_TICKS: u64 = 50_000_000;
/// Bytes of what one step of a trace says.
///
/// Consequence: the rest of the text is cut off.
pub const TRACE_DETAIL_BYTES: usize = 240;

/// Requests and connections that a scheduler follows for a trace at a time.
///
/// Consequence: further ones are counted as left out.
pub const TRACE_FOLLOWED: usize = 1_024;

/// Steps of one request, or of one connection, in a trace.
///
/// Consequence: it is no longer followed; a connection is followed again from its next request on.
pub const TRACE_STEPS_OF_ONE: u32 = 200;

/// Steps of a trace that wait to be sent to the one who asked. Consequence: further ones are counted as left out.
pub const TRACE_STEPS_HELD: usize = 4_096;

/// Steps of a trace that are sent before [`TRACE_BATCH_MS`].
pub const TRACE_BATCH_STEPS: usize = 256;

/// Milliseconds that a step of a trace waits at most before it is sent.
pub const TRACE_BATCH_MS: u64 = 100;

/// Requests under way of a scheduler that are sampled for a collector. Consequence: a further one is counted as lost.
pub const SPANS_UNDER_WAY: usize = 512;

/// Steps of a sampled request. Consequence: further ones are left out, but for the last.
pub const SPAN_STEPS: usize = 64;

/// Sampled requests of one turn. Consequence: further ones are counted as lost.
pub const SPANS_FINISHED: usize = 256;
