//! Limits of accepting connections, also while a drain ends it.

/// Connections accepted from one listener in one turn.
///
/// Consequence: the rest stays in the kernel's queue until the next turn, so a flood of connections cannot
/// delay the open ones.
pub const ACCEPTS_PER_TURN: usize = 256;

/// Ticks of the CPU's counter that accepting from one listener may take in one turn, with the first requests of the
/// connections: 0.4 to 1 ms on CPUs of 5 to 2 GHz. One more is accepted when some are left.
///
/// Consequence: the rest stays in the kernel's queue until the next turn, as above. Clients that connect again as soon
/// as they have their answer would otherwise make one turn of 256 requests, with one time.
pub const ACCEPT_TICKS_PER_TURN: u64 = 2_000_000;

/// Nanoseconds that a listener stays paused when there is no descriptor or no room.
///
/// Consequence: clients wait in the kernel's queue until the next try. There is never a busy loop.
pub const ACCEPT_PAUSE_NS: u64 = 100_000_000;

/// Connections that are accepted from each listener's queue when a drain closes it.
///
/// Consequence: those behind them are reset. A queue holds at most net.core.somaxconn, 4,096 unless it was raised.
pub const DRAIN_ACCEPTS: u64 = 4_096;

/// Nanoseconds from the start of a drain until the listeners are closed. In this time clients that have begun to
/// connect are accepted, and new ones cannot begin.
///
/// Consequence: a client that needs longer for the rest of the handshake is reset, and so is one that needs longer for
/// its first bytes where the client speaks first.
pub const DRAIN_DOORS_NS: u64 = 100_000_000;
