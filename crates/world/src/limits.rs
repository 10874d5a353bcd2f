//! Every bound of the simulated world: number, unit, and what happens when it is reached.

/// 512 events in one wait of the simulated pollset, as in the kernel's. Further events wait for the next one.
pub const EVENT_BATCH: usize = 512;

/// Most bytes of a simulated connection on their way and not read, in each direction: 64 KiB. A send takes no
/// more until the other side reads.
pub const BUFFER: u32 = 64 * 1024;

/// 2 KiB, the smallest such buffer that a fault makes: output leaves in many parts.
pub const BUFFER_MINIMUM: u32 = 2 * 1024;

/// Bytes from which a simulated send that announced more is transmitted all the same: 1,448, a segment of an
/// Ethernet. What is less waits for the rest or for [`CORK_NS`].
pub const SEGMENT: usize = 1448;

/// How long a simulated send that announced more is held back when nothing follows: 200 ms, as in Linux. Whoever
/// announces more and sends nothing is seen by that delay.
pub const CORK_NS: u64 = 200_000_000;

/// Longest queue of a simulated listener, 4,096: `net.core.somaxconn` of Linux. A connection that finds it full
/// is not answered.
pub const BACKLOG_MAXIMUM: u32 = 4096;

/// Descriptors of a simulated scheduler unless a test sets another number: 2 million. At the limit nothing is
/// accepted.
pub const DESCRIPTORS: usize = 2_000_000;
/// 1,000 connections of one scheduler of a [`Stage`](crate::Stage); beyond that it closes the longest idle one.
pub const STAGE_CONNECTIONS: usize = 1_000;
/// 2 passes over all schedulers in which none does anything: then a stage rests.
pub const STAGE_QUIET_PASSES: usize = 2;
