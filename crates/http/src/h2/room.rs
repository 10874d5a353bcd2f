//! The room of a connection for content of requests: at most so much is on the way, unread, or kept by streams.
//!
//! Owns the connection's window for input, what all streams hold, and how far the connection is in sharing the room
//! out. One stream, whose turn it is, may keep as much as its request may have: so each body can become whole. Never
//! sends.

use runtime::streams::InputHold;
use wire::h2::WindowBroken;

use crate::h2_streams::{ContentWindow, HeldContent};
use crate::limits::{H2_CONNECTION_WINDOW_BYTES, H2_STREAM_WINDOW_BYTES};

/// From these bytes on, bodies that are collected share the room.
const CROWDED_BYTES: usize = H2_CONNECTION_WINDOW_BYTES as usize / 2;
/// Below these bytes, each stream may send again as it likes.
const CALM_BYTES: usize = H2_CONNECTION_WINDOW_BYTES as usize / 8;

/// How the room is shared out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Each stream has a window of its own, and takes what it likes of the connection's.
    Free,
    /// The client was told that streams have no windows of their own. It says so after so many other answers.
    Asked { acknowledged_before: u8 },
    /// It knows: a stream sends what it was granted.
    Shared,
}

/// The next step of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RoomStep {
    Nothing,
    /// A stream has to be chosen, whose turn it is.
    ChooseTurn,
    /// The client has to be told that streams have no windows of their own.
    Take,
    /// Streams may be granted something.
    Grant,
    /// Streams get their windows back.
    GiveBack,
}

/// The room of one connection.
#[derive(Debug)]
pub(super) struct InputRoom {
    window: ContentWindow,
    unread: usize,
    kept: usize,
    stage: Stage,
    /// SETTINGS that the client has not acknowledged.
    unacknowledged: u8,
    /// The stream whose turn it is, and what it keeps.
    turn: Option<(u32, usize)>,
    /// Streams were told that none of them may send.
    is_closed: bool,
}

impl InputRoom {
    /// That of a new connection, which has sent its first SETTINGS.
    pub(super) fn new() -> Self {
        Self {
            window: ContentWindow::of(H2_CONNECTION_WINDOW_BYTES),
            unread: 0,
            kept: 0,
            stage: Stage::Free,
            unacknowledged: 1,
            turn: None,
            is_closed: false,
        }
    }

    /// The client has sent so many bytes.
    pub(super) fn take(&mut self, bytes: u32) -> Result<(), WindowBroken> {
        self.window.take(bytes)
    }

    /// The window of a new stream.
    pub(super) fn window_of_stream(&self) -> u32 {
        match self.stage {
            Stage::Free | Stage::Asked { .. } => H2_STREAM_WINDOW_BYTES,
            Stage::Shared => 0,
        }
    }

    /// Whether streams send only what they were granted.
    pub(super) fn is_shared(&self) -> bool {
        self.stage == Stage::Shared
    }

    /// The bytes that a stream holds have changed.
    pub(super) fn count(&mut self, number: u32, before: HeldContent, after: HeldContent) {
        self.unread = self.unread + after.unread() - before.unread();
        self.kept = self.kept + after.kept() - before.kept();
        if let Some((turn, kept)) = &mut self.turn
            && *turn == number
        {
            *kept = after.kept();
        }
    }

    /// A stream is over.
    pub(super) fn forget(&mut self, number: u32, held: HeldContent) {
        self.count(number, held, HeldContent::default());
        if self.turn() == Some(number) {
            self.turn = None;
        }
    }

    /// The stream whose turn it is.
    pub(super) fn turn(&self) -> Option<u32> {
        self.turn.map(|(number, _)| number)
    }

    /// It is the turn of a stream that keeps so many bytes.
    pub(super) fn begin_turn(&mut self, number: u32, kept: usize) {
        self.turn = Some((number, kept));
    }

    /// The stream whose turn it is needs no more room than others, if that has room.
    pub(super) fn end_turn(&mut self) {
        if self.unread + self.kept <= H2_CONNECTION_WINDOW_BYTES as usize {
            self.turn = None;
        }
    }

    /// Bytes that streams keep, without the one whose turn it is.
    fn kept_by_others(&self) -> usize {
        self.kept - self.turn.map_or(0, |(_, kept)| kept)
    }

    /// The step by which the connection's window is opened now.
    pub(super) fn open_window(&mut self) -> Option<u32> {
        let whole = H2_CONNECTION_WINDOW_BYTES as usize;
        let held = self.unread + self.kept_by_others();
        if self.is_shared() { None } else { self.window.open(whole.saturating_sub(held)) }
    }

    /// Whether streams may send, as far as the connection's window says so; `None`: they know. Those that were granted
    /// something are told apart.
    pub(super) fn hold(&mut self) -> Option<InputHold> {
        if self.is_shared() {
            return None;
        }
        let is_closed = self.window.room() == 0;
        // New streams are told as well.
        match (std::mem::replace(&mut self.is_closed, is_closed), is_closed) {
            (_, true) => Some(InputHold::HeldBack),
            (true, false) => Some(InputHold::Open),
            (false, false) => None,
        }
    }

    /// Streams were granted so many bytes in all: the step by which the connection's window is opened for them.
    pub(super) fn open_for(&mut self, granted: usize) -> Option<u32> {
        self.window.open_at_least(granted)
    }

    /// The next step.
    pub(super) fn step(&self) -> RoomStep {
        match self.stage {
            Stage::Free if self.kept_by_others() <= CROWDED_BYTES => RoomStep::Nothing,
            Stage::Free if self.turn.is_none() => RoomStep::ChooseTurn,
            Stage::Free => RoomStep::Take,
            Stage::Asked { .. } => RoomStep::Nothing,
            Stage::Shared if self.unread + self.kept <= CALM_BYTES => RoomStep::GiveBack,
            Stage::Shared => RoomStep::Grant,
        }
    }

    /// The client was told that streams have no windows of their own.
    pub(super) fn on_taken(&mut self) {
        self.stage = Stage::Asked { acknowledged_before: self.unacknowledged };
        self.unacknowledged = self.unacknowledged.saturating_add(1);
    }

    /// The client was told that they have.
    pub(super) fn on_given_back(&mut self) {
        self.stage = Stage::Free;
        self.unacknowledged = self.unacknowledged.saturating_add(1);
    }

    /// The client has acknowledged SETTINGS. Returns whether it knows now that streams have no windows of their own.
    pub(super) fn on_acknowledged(&mut self) -> bool {
        self.unacknowledged = self.unacknowledged.saturating_sub(1);
        match &mut self.stage {
            Stage::Asked { acknowledged_before: 0 } => {
                self.stage = Stage::Shared;
                true
            }
            Stage::Asked { acknowledged_before } => {
                *acknowledged_before -= 1;
                false
            }
            Stage::Free | Stage::Shared => false,
        }
    }
}
