//! Owns every limit of the HTTP/2 part: number, unit and consequence. Contains no requirement of a case.

/// Bytes of a window before any update (RFC 9113 section 6.9.2); more DATA than granted fails the case.
pub(super) const FIRST_WINDOW_BYTES: i64 = 65_535;
/// Bytes of a frame's payload before any setting (RFC 9113 section 4.2); a longer frame fails the case.
pub(super) const FRAME_BYTES: u32 = 16_384;
/// Bytes of one field block of the server; a longer one fails the case.
pub(super) const BLOCK_BYTES_MAX: usize = 256 * 1024;
/// Repetitions of one line of a script; more are an error in the data.
pub(super) const REPETITIONS_MAX: u32 = 200_000;
/// Bytes of one line of a script with its repetitions; more are an error in the data.
pub(super) const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Frames of the server that a report names; later ones are counted only.
pub(super) const NAMED_FRAMES_MAX: usize = 40;
