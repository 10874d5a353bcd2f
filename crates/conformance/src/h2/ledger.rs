//! Owns what the client has granted so far: the streams it opened, the windows and the frame size it allowed.
//! The server may use no more (`inbox` checks it). Sends nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::limits::{FIRST_WINDOW_BYTES, FRAME_BYTES};

/// SETTINGS_INITIAL_WINDOW_SIZE.
const INITIAL_WINDOW_SIZE: u16 = 4;
/// SETTINGS_MAX_FRAME_SIZE.
const MAX_FRAME_SIZE: u16 = 5;

/// The credit that the server may use.
#[derive(Clone, Debug)]
pub(super) struct Ledger {
    opened: BTreeSet<u32>,
    settings: usize,
    /// The largest that was ever offered: it cannot be known when the server applies a smaller one.
    initial_window: i64,
    frame_bytes: u32,
    /// The sum of the updates; stream 0 is the connection.
    updates: BTreeMap<u32, i64>,
}

impl Ledger {
    pub(super) fn new() -> Self {
        Self {
            opened: BTreeSet::new(),
            settings: 1,
            initial_window: FIRST_WINDOW_BYTES,
            frame_bytes: FRAME_BYTES,
            updates: BTreeMap::new(),
        }
    }

    /// The client opens this stream.
    pub(super) fn open(&mut self, stream: u32) {
        self.opened.insert(stream);
    }

    /// Whether the client has opened this stream.
    pub(super) fn has_opened(&self, stream: u32) -> bool {
        self.opened.contains(&stream)
    }

    /// The newest stream, or 0.
    pub(super) fn last(&self) -> u32 {
        self.opened.last().copied().unwrap_or(0)
    }

    /// The stream that a client opens next.
    pub(super) fn next(&self) -> u32 {
        if self.opened.is_empty() { 1 } else { (self.last() | 1).saturating_add(2) }
    }

    /// The client sends SETTINGS behind those of its preface.
    pub(super) fn announce(&mut self) {
        self.settings += 1;
    }

    /// SETTINGS that the client has sent.
    pub(super) fn settings(&self) -> usize {
        self.settings
    }

    /// The client sends WINDOW_UPDATE.
    pub(super) fn update(&mut self, stream: u32, increment: u32) {
        *self.updates.entry(stream).or_default() += i64::from(increment);
    }

    /// The client sends a setting.
    pub(super) fn set(&mut self, id: u16, value: u32) {
        match id {
            INITIAL_WINDOW_SIZE => self.initial_window = self.initial_window.max(value.into()),
            MAX_FRAME_SIZE => self.frame_bytes = self.frame_bytes.max(value),
            _ => {}
        }
    }

    /// Bytes of DATA that the server may send on this stream in all; on stream 0, on all together.
    pub(super) fn window(&self, stream: u32) -> i64 {
        let first = if stream == 0 { FIRST_WINDOW_BYTES } else { self.initial_window };
        first.saturating_add(self.updates.get(&stream).copied().unwrap_or(0))
    }

    /// The longest payload of a frame that the server may send.
    pub(super) fn frame_bytes(&self) -> u32 {
        self.frame_bytes
    }
}
