//! Limits of the generator, each with its consequence.

/// Longest time in a histogram, 60 s in nanoseconds. A longer one is recorded as 60 s and counted as clamped; sums
/// and means use the real value.
pub const LATENCY_MAXIMUM_NS: u64 = 60_000_000_000;

/// Significant digits of a histogram, 3: times are accurate to a thousandth, and a histogram takes 216 KiB.
pub const LATENCY_DIGITS: u8 = 3;

/// Seconds in the series of a run, 21,600 (6 hours), 4 KiB for each one reached. Later events are counted
/// in the last second.
pub const SECONDS_MAXIMUM: usize = 21_600;

/// Longest histogram blob that is read, 4 MiB encoded. A longer one is refused.
pub const BLOB_BYTES_MAXIMUM: usize = 4 << 20;

/// The version of the report format, 1. A reader refuses an unknown version.
pub const REPORT_SCHEMA: u32 = 1;

/// The version of the format of a knee search, 2: since then `response_ns` has p95. A reader refuses an unknown
/// version.
pub const KNEE_SCHEMA: u32 = 2;

/// Points of a line on a page, 1,000: more than the columns of a screen. For a longer run, several seconds share a
/// point.
pub const PLOT_POINTS_MAXIMUM: usize = 1_000;

/// Points of a line up to which each is drawn with its figures, 120. A line with more has none.
pub const PLOT_DOTS_MAXIMUM: usize = 120;

/// Share of its core up to which a generator thread may work, 0.9. Beyond it the generator may have limited
/// the rate, and the result is INVALID unless a server thread was as busy.
pub const GENERATOR_BUSY_MAXIMUM: f64 = 0.9;

/// Share of its core from which the busiest thread of a server counts as the limit of the rate, 0.9. Below it a busy
/// generator makes the result INVALID.
pub const SERVER_BUSY_MINIMUM: f64 = 0.9;

/// Lateness that 99 of 100 sends may always have, 100,000 ns. Beyond it the result is INVALID if it is also more than
/// [`LATE_SHARE_MAXIMUM`] of the response time.
pub const LATE_P99_MAXIMUM_NS: u64 = 100_000;

/// Lateness at the 99th percentile as a share of the response time there, 0.1. Beyond it, and beyond
/// [`LATE_P99_MAXIMUM_NS`], the response times describe the generator more than the server: INVALID.
pub const LATE_SHARE_MAXIMUM: f64 = 0.1;

/// Share of the time of all cores that the hypervisor may have given to others, 0.01. Beyond it the result is INVALID.
pub const STEAL_SHARE_MAXIMUM: f64 = 0.01;

/// Difference of monotonic clock and time of day over a run, 100,000,000 ns. Both follow the same discipline, so beyond
/// it the host was paused or its clock was set during the run: INVALID.
pub const CLOCK_DISTANCE_MAXIMUM_NS: u64 = 100_000_000;

/// Difference from Little's law as a share of the connections, 0.05, in addition to what the edges of the run and the
/// threads, each busy with one connection, explain. Beyond it rate, times and connections contradict each other:
/// INVALID.
pub const LITTLES_LAW_SHARE_MAXIMUM: f64 = 0.05;

/// Share of outcomes that may be failures for Little's law to be checked, 0.01. Beyond it the time that failures took
/// is missing in the sum, and the law is not checked.
pub const LITTLES_LAW_FAILED_MAXIMUM: f64 = 0.01;

/// Share of a run that a generator thread may wait for its core without a note, 0.05. Beyond it the verdict
/// has a note that others used the core.
pub const GENERATOR_WAITING_MAXIMUM: f64 = 0.05;
/// Share of a run that a generator thread of a closed loop may wait for its core, 0.1. Beyond it the times describe the
/// host: INVALID.
pub const GENERATOR_STARVED_MAXIMUM: f64 = 0.1;

/// Share of a run that such a thread may wait in one stretch, 0.01. Beyond it the thread failed to send more than one
/// in a hundred requests meanwhile, and the 99th percentile leaves them out: INVALID.
pub const GENERATOR_STRETCH_MAXIMUM: f64 = 0.01;

/// Share of a run that a thread of the server may be ready without a core, without a note, 0.05.
/// Beyond it the verdict has a note.
pub const SERVER_WAITING_MAXIMUM: f64 = 0.05;

/// Share of the requests of an open loop that may be due and not sent at the end, 0.01. Beyond it the generator did not
/// keep the rate of the plan: INVALID.
pub const RATE_MISSED_MAXIMUM: f64 = 0.01;

/// Share of failed requests from which on the note on failures states it, 0.01. Below it the note has only their
/// number.
pub const FAILED_SHARE_REMARKED: f64 = 0.01;

/// Lateness that 99 of 100 sends on held connections may always have, 20 ms in nanoseconds. They only check that the
/// connections live, from threads that sleep in between. Beyond it the result is INVALID.
pub const HOLD_LATE_MAXIMUM_NS: u64 = 20_000_000;

/// Bytes by which a server must grow for each held connection, 16: less than any connection takes. Below it the memory
/// of a connection is not known, because the server reused memory from earlier connections.
pub const HOLD_BYTES_MINIMUM: f64 = 16.0;

/// Average answers in a tenth of a second from which on a tenth without any is noted, 20: by chance there is none in
/// 10^8. Below it a tenth without an answer means nothing.
pub const STALL_ANSWERS_PER_TENTH: u64 = 20;

/// Ticks of 10 ms that the hypervisor must have taken from a core to count, 3: fewer depend on when they
/// were counted. Below it the core has lost nothing.
pub const STEAL_TICKS_MINIMUM: u64 = 3;

/// Share of its time from which on a core counts as used, 0.1. Below it stolen time is not counted, because no thread
/// of the measurement had work on that core.
pub const CORE_USED_MINIMUM: f64 = 0.1;

/// Share of handshakes that should resume a session if the user asked for that, 0.9. Below it the verdict has a note.
pub const RESUMED_SHARE_MINIMUM: f64 = 0.9;

/// Highest rate, 100 million requests per second: more than any host sends. A higher one is refused before the run.
pub const RATE_PER_SECOND_MAX: f64 = 1e8;

/// Maximum number of keys, 10^12: up to here the arithmetic of the distributions is exact. More are
/// refused before the run.
pub const KEYS_MAX: u64 = 1_000_000_000_000;

/// Highest exponent of Zipf's distribution, 20, with which the second key comes once in a million draws. A higher one
/// is refused before the run.
pub const ZIPF_EXPONENT_MAX: f64 = 20.0;

/// Maximum number of varying places in one request, 16, because their numbers are kept on the stack. A template with
/// more is refused before the run.
pub const VARYING_PARTS_MAX: usize = 16;

/// Largest request, 4 MiB (bytes): what the outbox of a connection holds if the server does not read at once.
/// A larger one is refused before the run.
pub const REQUEST_BYTES_MAX: usize = runtime::limits::OUTBOX_BYTES;

/// Most URLs of one run, 1,000. More are refused before the run.
pub const TARGETS_MAX: usize = 1_000;

/// Highest weight of a URL, 1 million. A higher one is refused before the run.
pub const WEIGHT_MAX: u32 = 1_000_000;

/// Most threads, 256: each pair of them has a mailbox. More are refused before the run.
pub const THREADS_MAX: u32 = 256;

/// Fraction (a quarter) of the ports of one source address that connections use. The kernel tries
/// ports one by one, and tries many if most are taken. Further connections use further addresses.
pub const SOURCE_PORTS_DIVISOR: u32 = 4;

/// Most connections, 10 million: their state alone takes 3 GB. More are refused before the run.
pub const CONNECTIONS_MAX: u32 = 10_000_000;

/// Maximum number of requests in flight on one connection, 1,024, because their send times are kept. More are refused
/// before the run.
pub const PIPELINE_MAX: u32 = 1_024;

/// Bytes of content that a server may send before it is acknowledged, on a stream of HTTP/2 and on a connection (1 GiB,
/// as h2load allows), so that no server waits for the generator. They are acknowledged when half of them is used up.
pub const STREAM_WINDOW_BYTES: u32 = (1 << 30) - 1;

/// Bytes of a block of fields that a server may send in HTTP/2 (64 KiB). Beyond: its connection has failed.
pub const RESPONSE_BLOCK_BYTES: usize = 64 * 1024;

/// 32 different errors that end streams and connections of HTTP/2 are told apart; others are counted together.
pub const STREAM_ENDS_MAXIMUM: usize = 32;

/// How long one of several addresses of a name may take to answer, 1 s (milliseconds). After that the next one is
/// tried.
pub const PROBE_MS: u64 = 1_000;

/// Descriptors of a table that are not for connections, 64: standard streams, pollset, timers, wake descriptors. With
/// fewer left, a run is refused before it begins.
pub const DESCRIPTORS_RESERVED: u64 = 64;

/// Different agreements of encrypted connections (version, cipher, certificate) that a report names, 16. Connections
/// with others are counted and not named.
pub const TERMS_MAXIMUM: usize = 16;

/// Pause before a connection that could not be opened is tried again, 50 ms in nanoseconds: each connection tries a
/// server that is down twenty times per second, not as fast as it refuses.
pub const RECONNECT_PAUSE_NS: u64 = 50_000_000;

/// Interval at which a generator thread updates its counters, 100 ms in nanoseconds: a live display may be this old,
/// and a thread ends this late when it is told to.
pub const LIVE_NS: u64 = 100_000_000;

/// How long failing connections are tried again before the others are held without them, 1 s in
/// nanoseconds since the last success. Those still missing make the result INVALID.
pub const OPENING_PATIENCE_NS: u64 = 1_000_000_000;

/// From the launch of the threads to their first request, 20 ms in nanoseconds: by then all threads are ready, and they
/// begin at the same moment.
pub const START_NS: u64 = 20_000_000;

/// How long a thread may take beyond the end of its run, 5 s in nanoseconds. Beyond it the run has failed.
pub const END_GRACE_NS: u64 = 5_000_000_000;

/// Nanoseconds that each connection adds to that (100 us): it is closed first, and a server on this host closes the
/// other end meanwhile. Beyond it the run has failed.
pub const END_GRACE_PER_CONNECTION_NS: u64 = 100_000;

/// Resamples of a bootstrap interval, 10,000: its ends are then accurate to about a fiftieth of its width. A comparison
/// of runs takes a few milliseconds for this.
pub const BOOTSTRAP_RESAMPLES: usize = 10_000;

/// Minimum number of runs on each side of a comparison, 4. With fewer, no order of the runs is as rare as one in
/// twenty, and nothing is called significant.
pub const COMPARE_RUNS_MINIMUM: usize = 4;

/// Maximum number of runs of both sides together for which the rank test counts every order, 60. Beyond it the normal
/// approximation is used.
pub const RANK_EXACT_RUNS_MAXIMUM: usize = 60;

/// Probability below which a difference is called significant, 0.05: one comparison in twenty of equal servers
/// is.
pub const SIGNIFICANCE: f64 = 0.05;

/// Most rounds of a comparison, 1,000. More are refused before the first.
pub const COMPARE_ROUNDS_MAXIMUM: u32 = 1_000;

/// Runs of a comparison that may be repeated because they are not valid, for each of its rounds, 2: as many as it has
/// runs, in any distribution. After that an invalid one counts, and nothing is concluded.
pub const COMPARE_RERUNS_PER_ROUND: u32 = 2;

/// Rate at which the search for a knee begins by default, 1,000 requests per second. A server that breaks
/// there is reported as broken from the start.
pub const KNEE_RATE_LOWEST: f64 = 1_000.0;

/// Rate at which the search for a knee ends by default, 1 million requests per second. A server that holds
/// there is reported as never broken.
pub const KNEE_RATE_HIGHEST: f64 = 1_000_000.0;

/// Factor from one step of a search to the next, 2: the search goes up until the objective breaks.
pub const KNEE_STEP_FACTOR: f64 = 2.0;

/// Factor between the last good and the first bad rate at which a search ends, 1.05: the knee is known to within 5 %.
pub const KNEE_INTERVAL_FACTOR: f64 = 1.05;

/// Maximum number of rates that a search tries, 64: enough for all between the lowest and the highest possible rate.
/// The search ends there with what it knows.
pub const KNEE_RATES_MAXIMUM: usize = 64;

/// Share of requests that may fail, or be left over at the end of a step, 0.001. Beyond it an objective is violated,
/// whatever the times of the others; one at a higher percentile than p99.9 allows less.
pub const KNEE_FAILED_SHARE_MAXIMUM: f64 = 0.001;

/// Messages whose first and last arrival `bench channel` records, 1,000,000 of 24 bytes in each thread. Later ones
/// count in all figures except these.
pub const CHANNEL_MESSAGES_FOLLOWED: usize = 1_000_000;

/// How long `bench channel` waits for a missing message while no other arrives, 3 s in nanoseconds. Then it counts as
/// lost.
pub const CHANNEL_PATIENCE_NS: u64 = 3_000_000_000;

/// Minimum bytes of a message of `bench channel`, 32, which the time, the run, the publisher and the number take; fewer
/// are refused.
pub const CHANNEL_MESSAGE_MINIMUM: usize = 32;

/// Maximum bytes of a message of `bench channel`, 65,536; more are refused.
pub const CHANNEL_MESSAGE_MAXIMUM: usize = 65_536;

/// Most addresses of `bench channel`, 16: each thread has a histogram of 216 KiB for each pair of them. More are
/// refused before the run.
pub const CHANNEL_ADDRESSES_MAXIMUM: usize = 16;

/// Places of missing messages that `bench channel` keeps for a subscriber, 1,000 of 24 bytes. Messages missing beyond
/// are counted as gaps, and as doubles if they arrive late.
pub const CHANNEL_HOLES_FOLLOWED: usize = 1_000;

/// Pairs of consecutive messages that `bench channel` keeps in each thread besides one for each message, 1 million.
/// Beyond, differences in order are no longer found, and the report says so.
pub const CHANNEL_SUCCESSIONS_FOLLOWED: usize = 1_000_000;

/// Faults of each kind that `bench channel` names in a report, 10. Others are counted.
pub const CHANNEL_FAULTS_NAMED: usize = 10;

/// How often `bench channel` looks whether a storm is over, 5 ms in nanoseconds: the server's CPU time for it is
/// counted this much too long.
pub const STORM_LOOK_NS: u64 = 5_000_000;

/// How long `bench channel` waits for subscribers that a storm cut, 60 s in nanoseconds. Those still away make the
/// result INVALID.
pub const STORM_PATIENCE_NS: u64 = 60_000_000_000;

/// The version of the protocol between a coordinator and its agents, 1. Another version, or another version of the
/// program, is refused, because both must read a command line in the same way.
pub const AGENT_PROTOCOL: u32 = 1;

/// Most agents of a measurement, 16. More are refused before the run. With as many addresses of a channel there are at
/// most 256 publishers, whose number has two digits in a message.
pub const AGENTS_MAXIMUM: usize = 16;

const _: () = assert!(AGENTS_MAXIMUM * CHANNEL_ADDRESSES_MAXIMUM <= 256);

/// Longest message between a coordinator and an agent before each has proved that it has the key, 1 KiB. A longer one
/// ends the connection.
pub const AGENT_GREETING_BYTES: usize = 1 << 10;

/// Longest message afterwards, 64 MiB: the result of a thousand runs. A longer one ends the connection, and the agent
/// counts as lost.
pub const AGENT_MESSAGE_BYTES: usize = 64 << 20;

/// Shortest key that a coordinator and its agents share, 32 bytes. A shorter one is refused, because it could be
/// guessed from an overheard greeting.
pub const AGENT_KEY_BYTES: usize = 32;

/// How long a greeting may take, 5 s in nanoseconds. Then an agent waits for the next coordinator, and a coordinator
/// gives up.
pub const AGENT_GREETING_NS: u64 = 5_000_000_000;

/// How long a coordinator waits beyond the planned time for an agent, 60 s in nanoseconds. Then it counts as lost.
pub const AGENT_PATIENCE_NS: u64 = 60_000_000_000;

/// How long an agent waits for the next message of its coordinator, 10 minutes in nanoseconds: others may still open
/// their connections. Then it waits for another coordinator.
pub const AGENT_IDLE_NS: u64 = 600_000_000_000;

/// Readings of the clock of an agent, 16, of which the one with the shortest round trip counts.
pub const AGENT_CLOCK_READINGS: u32 = 16;

/// From the order to start until the start, 100 ms in nanoseconds, in addition to the time that the order takes to the
/// agent that is furthest away.
pub const AGENT_START_NS: u64 = 100_000_000;

/// Pause between two writes of `bench store --own-writes`, 10 ms in nanoseconds: a hundred a second, which is no load.
pub const OWN_WRITES_PAUSE_NS: u64 = 10_000_000;

/// How long a write may take to be seen at another address, 1 s in nanoseconds. Then it counts as unseen.
pub const OWN_WRITES_PATIENCE_NS: u64 = 1_000_000_000;

/// Longest answer in such a check, 4 KiB. A longer one counts as a failure.
pub const OWN_WRITES_ANSWER_BYTES: usize = 4 << 10;
