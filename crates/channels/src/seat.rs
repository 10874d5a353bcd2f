//! The place of a subscriber in its audience.
//!
//! Owns what its state can be, and what one that was too slow has missed. `audience` changes it.

use runtime::slots::ProcessId;

use crate::position::Position;

/// A subscriber that gets the bytes of a turn from one of them on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Receiver {
    pub(crate) process: ProcessId,
    pub(crate) seat: Seat,
    pub(crate) from: u32,
}

/// The place of a subscriber in its audience.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seat(pub(crate) u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SeatState {
    /// Free.
    Nobody,
    /// A subscriber that gets everything.
    Live(ProcessId),
    /// One that joined in this turn, when this many bytes were there already.
    Late(ProcessId, u32),
    /// One that waits for other schedulers, with the position it knows.
    Joining(ProcessId, Option<Position>),
    /// One that was too slow, and did not get all messages.
    Behind(ProcessId, Missed),
    /// One that will be disconnected, and gets nothing more.
    Over,
}

/// The messages that a subscriber which was too slow did not get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Missed {
    /// The first message that it did not get has this number or a later one.
    pub(crate) first: u64,
    /// Whether messages before that one are lost for all, of which it was not told.
    pub(crate) is_lost: bool,
}

/// A subscriber that did not get the messages of a turn.
pub(crate) struct Slowed {
    pub(crate) seat: Seat,
    pub(crate) process: ProcessId,
    /// The first message that it did not get, and how many messages of the turn.
    pub(crate) missed: Missed,
    pub(crate) messages: u32,
}
