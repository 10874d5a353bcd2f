//! HTTP/2 (RFC 9113): frames, settings, error codes, and the heads that frames carry.
//!
//! Owns the codec of both sides, with extended CONNECT (RFC 8441) and priorities (RFC 9218), and what both sides count:
//! windows, control frames, and blocks that are incomplete. Never knows which frame may follow which: the connection
//! does. Blocks of fields are compressed by [`hpack`](crate::hpack).

mod control_budget;
mod error_code;
mod field_block;
mod fields;
mod frame;
mod frame_head;
mod priority;
mod request_head;
mod request_text;
mod response_head;
mod settings;
mod window;
mod write;

pub use control_budget::{ControlBudget, TooManyFrames};
pub use error_code::ErrorCode;
pub use field_block::{BlockBounds, BlockTooLarge, FieldBlock};
pub use fields::TrailerFields;
pub use frame::{FrameError, FrameScope, H2Frame, read_frame};
pub use frame_head::{FRAME_HEAD_BYTES, FrameHead, FrameKind};
pub use priority::StreamPriority;
pub use request_head::{AfterHead, RequestFields, UnusableHead};
pub use request_text::{InvalidAuthority, RequestText};
pub use response_head::{H2ResponseHead, MalformedResponse, ResponseFields};
pub use settings::{PeerSettings, SettingId, SettingsReader};
pub use window::{InputWindow, OutputWindow, WindowBroken};
pub use write::{
    AfterFrame, begin_headers, end_headers, write_data_head, write_goaway, write_ping,
    write_ping_ack, write_reset, write_settings, write_settings_ack, write_window_update,
};

/// The first bytes of a client (RFC 9113, 3.4).
pub const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The largest window, and the largest sum of one with an increment (RFC 9113, 6.9.1).
pub const WINDOW_BYTES_MAX: u32 = (1 << 31) - 1;

/// The window of a new connection, and of a stream without other settings (RFC 9113, 6.9.2).
pub const WINDOW_BYTES_AT_FIRST: u32 = 65_535;

/// The largest frame of a peer that has not announced another (RFC 9113, 4.2).
pub const FRAME_BYTES_AT_FIRST: u32 = 16_384;

/// The largest frame that a peer may announce.
pub const FRAME_BYTES_MAX: u32 = (1 << 24) - 1;
