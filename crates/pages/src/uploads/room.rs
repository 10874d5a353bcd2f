//! The space that uploaded files may take together until a page saves them.
//!
//! Owns the count, which all upload helpers of a server share. Never knows whose bytes they are.

use std::sync::atomic::{AtomicU64, Ordering};

/// Room for unsaved files.
#[derive(Debug)]
pub struct UploadRoom {
    held: AtomicU64,
    most: u64,
}

impl UploadRoom {
    /// Room for this many bytes.
    pub fn new(most: u64) -> Self {
        Self { held: AtomicU64::new(0), most }
    }

    /// Takes room for this many bytes, all or none. The helpers share nothing but the count.
    pub(super) fn take(&self, bytes: u64) -> bool {
        let taken = |held: u64| held.checked_add(bytes).filter(|held| *held <= self.most);
        self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).is_ok()
    }

    /// Returns room that was taken.
    pub(super) fn give_back(&self, bytes: u64) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_taken_up_to_the_last_byte_and_not_beyond() {
        let room = UploadRoom::new(10);
        assert!(room.take(6) && !room.take(5) && room.take(4) && !room.take(1));
        room.give_back(6);
        assert!(!room.take(7) && room.take(6) && !room.take(u64::MAX));
    }
}
