//! Every limit of the simulated world: number, unit and consequence.

/// 512 events in one wait of the simulated pollset, as in the kernel's. Beyond: further events wait for the next one.
pub const EVENT_BATCH: usize = 512;

/// Most bytes of a simulated connection that are in flight or unread, in each direction: 64 KiB. Beyond: a send takes
/// no more until the other side reads.
pub const BUFFER: u32 = 64 * 1024;

/// 2 KiB, the smallest send buffer that a fault makes: output is sent in many parts.
pub const BUFFER_MINIMUM: u32 = 2 * 1024;

/// Bytes from which a simulated send is transmitted although it announced more: 1,448, an Ethernet segment.
/// Fewer bytes wait for the rest or for [`CORK_NS`].
pub const SEGMENT: usize = 1448;

/// How long a simulated send that announced more is held back if nothing follows: 200 ms, as in Linux. A server that
/// announces more and sends nothing is noticed by that delay.
pub const CORK_NS: u64 = 200_000_000;

/// Longest queue of a simulated listener, 4,096: `net.core.somaxconn` of Linux. Beyond: a connection
/// is not answered.
pub const BACKLOG_MAXIMUM: u32 = 4096;

/// Descriptors of a simulated scheduler unless a test sets another number: 2 million. Beyond: nothing is
/// accepted.
pub const DESCRIPTORS: usize = 2_000_000;
/// 1,000 connections of one scheduler of a [`Stage`](crate::Stage). Beyond: it closes the connection that was idle
/// longest.
pub const STAGE_CONNECTIONS: usize = 1_000;
/// 2 consecutive passes over all schedulers in which none does anything: then a stage is at rest.
pub const STAGE_QUIET_PASSES: usize = 2;
/// 100,000 turns of a scheduler at one time. Beyond: it spins, and the test fails.
pub const SETTLING_TURNS_MAX: usize = 100_000;
