//! Limits of the store as one scheduler uses it: name, number, unit and consequence.
//!
//! Owns only the numbers.

/// Bytes of orders of a scheduler that the writer has not answered (64 MiB). Beyond: connections wait with their next
/// order.
pub const WAITING_SIZE: usize = 64 * 1024 * 1024;

/// Messages of a scheduler that the writer has not answered. Beyond: orders are collected until one is answered.
pub const MESSAGES: usize = 2;

/// Processes that wait for room with the writer and are admitted at once. Each may have one order, so this many of the
/// largest may exceed the limit.
pub const ADMITTED: usize = 8;

/// Bytes from which on a value is sent from the map at the client's pace (64 KiB). Smaller values are copied.
pub const LENT_SIZE: usize = 64 * 1024;

/// Time between two checks of values lent from the map (1 s). Consequence: they are taken back this much later.
pub const LENT_LOOK_MS: u64 = 1_000;

/// 50 ms between two checks of what a scheduler's pages watch in the store; changes in between are collected.
pub const WATCH_REST_MS: u64 = 50;
