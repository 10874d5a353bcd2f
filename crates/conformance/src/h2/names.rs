//! Owns the names of frames, error codes and settings, as cases and reports write them.
//! Knows no rule about them.

/// A number with its name in the RFC.
type Named = (&'static str, u32);

/// RFC 9113 section 6, and RFC 9218 section 7.1.
const FRAMES: &[Named] = &[
    ("DATA", 0),
    ("HEADERS", 1),
    ("PRIORITY", 2),
    ("RST_STREAM", 3),
    ("SETTINGS", 4),
    ("PUSH_PROMISE", 5),
    ("PING", 6),
    ("GOAWAY", 7),
    ("WINDOW_UPDATE", 8),
    ("CONTINUATION", 9),
    ("PRIORITY_UPDATE", 16),
];

/// RFC 9113 section 7.
const ERROR_CODES: &[Named] = &[
    ("NO_ERROR", 0),
    ("PROTOCOL_ERROR", 1),
    ("INTERNAL_ERROR", 2),
    ("FLOW_CONTROL_ERROR", 3),
    ("SETTINGS_TIMEOUT", 4),
    ("STREAM_CLOSED", 5),
    ("FRAME_SIZE_ERROR", 6),
    ("REFUSED_STREAM", 7),
    ("CANCEL", 8),
    ("COMPRESSION_ERROR", 9),
    ("CONNECT_ERROR", 10),
    ("ENHANCE_YOUR_CALM", 11),
    ("INADEQUATE_SECURITY", 12),
    ("HTTP_1_1_REQUIRED", 13),
];

/// RFC 9113 section 6.5.2, RFC 8441 section 3, RFC 9218 section 2.1.
const SETTINGS: &[Named] = &[
    ("HEADER_TABLE_SIZE", 1),
    ("ENABLE_PUSH", 2),
    ("MAX_CONCURRENT_STREAMS", 3),
    ("INITIAL_WINDOW_SIZE", 4),
    ("MAX_FRAME_SIZE", 5),
    ("MAX_HEADER_LIST_SIZE", 6),
    ("ENABLE_CONNECT_PROTOCOL", 8),
    ("NO_RFC7540_PRIORITIES", 9),
];

/// The kind of frame of this name, or of this number.
pub(super) fn frame_kind(word: &str) -> Option<u8> {
    number(FRAMES, word).and_then(|kind| u8::try_from(kind).ok())
}

/// The name of a kind of frame, or its number.
pub(super) fn frame_name(kind: u8) -> String {
    name(FRAMES, u32::from(kind))
}

/// The error code of this name, or of this number.
pub(super) fn error_code(word: &str) -> Option<u32> {
    number(ERROR_CODES, word)
}

/// The name of an error code, or its number.
pub(super) fn error_name(code: u32) -> String {
    name(ERROR_CODES, code)
}

/// The setting of this name, or of this number.
pub(super) fn setting(word: &str) -> Option<u16> {
    number(SETTINGS, word).and_then(|id| u16::try_from(id).ok())
}

/// The name of a setting, or its number.
pub(super) fn setting_name(id: u16) -> String {
    name(SETTINGS, u32::from(id))
}

/// A number, decimal or with `0x`.
pub(super) fn integer(word: &str) -> Option<u32> {
    match word.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    }
}

fn number(names: &[Named], word: &str) -> Option<u32> {
    let named = names.iter().find(|(name, _)| *name == word).map(|(_, number)| *number);
    named.or_else(|| integer(word))
}

fn name(names: &[Named], number: u32) -> String {
    let named = names.iter().find(|(_, other)| *other == number);
    named.map_or_else(|| format!("0x{number:x}"), |(name, _)| (*name).to_owned())
}
