//! Settings (RFC 9113, 6.5; RFC 8441, 3; RFC 9218, 2.1).
//!
//! Owns their numbers, their bounds and what holds without them. Never sends an acknowledgement.

use super::{
    ErrorCode, FRAME_BYTES_AT_FIRST, FRAME_BYTES_MAX, WINDOW_BYTES_AT_FIRST, WINDOW_BYTES_MAX,
};

/// The number of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SettingId(pub u16);

impl SettingId {
    /// Bytes of the table that the peer's encoder may fill.
    pub const HEADER_TABLE_SIZE: Self = Self(1);
    /// Whether a server may push.
    pub const ENABLE_PUSH: Self = Self(2);
    /// Streams that the peer may have open.
    pub const MAX_CONCURRENT_STREAMS: Self = Self(3);
    /// The window of a new stream.
    pub const INITIAL_WINDOW_SIZE: Self = Self(4);
    /// The largest frame.
    pub const MAX_FRAME_SIZE: Self = Self(5);
    /// Bytes of all fields of a head, each with 32 more.
    pub const MAX_HEADER_LIST_SIZE: Self = Self(6);
    /// Whether a client may ask for other protocols (RFC 8441).
    pub const ENABLE_CONNECT_PROTOCOL: Self = Self(8);
    /// Whether dependencies have no meaning (RFC 9218).
    pub const NO_RFC7540_PRIORITIES: Self = Self(9);
}

/// The settings of a frame, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettingsReader<'b>(&'b [u8]);

impl<'b> SettingsReader<'b> {
    pub(super) fn new(payload: &'b [u8]) -> Self {
        Self(payload)
    }
}

impl Iterator for SettingsReader<'_> {
    type Item = (SettingId, u32);

    fn next(&mut self) -> Option<Self::Item> {
        let ([id_high, id_low, value @ ..], rest) = self.0.split_first_chunk::<6>()?;
        self.0 = rest;
        let id = u16::from_be_bytes([*id_high, *id_low]);
        Some((SettingId(id), u32::from_be_bytes(*value)))
    }
}

/// The settings of a peer: at first those without any frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerSettings {
    table_bytes: u32,
    window_bytes: u32,
    frame_bytes: u32,
    streams: u32,
    takes_protocols: bool,
}

impl Default for PeerSettings {
    fn default() -> Self {
        Self {
            table_bytes: 4_096,
            window_bytes: WINDOW_BYTES_AT_FIRST,
            frame_bytes: FRAME_BYTES_AT_FIRST,
            streams: u32::MAX,
            takes_protocols: false,
        }
    }
}

impl PeerSettings {
    /// Uses a setting that has come. One that is not known means nothing.
    ///
    /// # Errors
    /// If it has a value that it cannot have: a connection error with this code.
    pub fn apply(&mut self, id: SettingId, value: u32) -> Result<(), ErrorCode> {
        match id {
            SettingId::HEADER_TABLE_SIZE => self.table_bytes = value,
            // Not used here, but no other values are valid.
            SettingId::ENABLE_PUSH | SettingId::NO_RFC7540_PRIORITIES => {
                flag(value)?;
            }
            SettingId::MAX_CONCURRENT_STREAMS => self.streams = value,
            SettingId::INITIAL_WINDOW_SIZE if value > WINDOW_BYTES_MAX => {
                return Err(ErrorCode::FlowControlError);
            }
            SettingId::INITIAL_WINDOW_SIZE => self.window_bytes = value,
            SettingId::MAX_FRAME_SIZE
                if !(FRAME_BYTES_AT_FIRST..=FRAME_BYTES_MAX).contains(&value) =>
            {
                return Err(ErrorCode::ProtocolError);
            }
            SettingId::MAX_FRAME_SIZE => self.frame_bytes = value,
            SettingId::ENABLE_CONNECT_PROTOCOL => {
                // RFC 8441, 3: who has allowed it does not forbid it again.
                if self.takes_protocols && value == 0 {
                    return Err(ErrorCode::ProtocolError);
                }
                self.takes_protocols = flag(value)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Bytes of the table that our encoder may fill.
    pub fn table_bytes(&self) -> u32 {
        self.table_bytes
    }

    /// The window of a new stream; at most 2^31 - 1.
    pub fn window_bytes(&self) -> u32 {
        self.window_bytes
    }

    /// Bytes of the largest frame behind its head; 2^14 to 2^24 - 1.
    pub fn frame_bytes(&self) -> u32 {
        self.frame_bytes
    }

    /// Streams that we may have open.
    pub fn streams(&self) -> u32 {
        self.streams
    }
}

fn flag(value: u32) -> Result<bool, ErrorCode> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(ErrorCode::ProtocolError),
    }
}
