//! The part of a word that errors show.

/// Most bytes of a word that an error shows.
pub(super) const SHOWN_BYTES: usize = 128;

/// The beginning of a word.
pub(super) fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN_BYTES)]).into_owned()
}
