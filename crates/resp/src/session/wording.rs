//! The part of a word that error texts show.

/// Maximum bytes of a word in an error text.
pub(super) const SHOWN_BYTES: usize = 128;

/// The beginning of a word.
pub(super) fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN_BYTES)]).into_owned()
}
