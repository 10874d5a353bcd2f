//! Writes changed pages of the tree in pieces, before fdatasync(2).
//!
//! Owns the pauses between pieces, in which log entries and commits of other programs use the disk.
//! Never guarantees that anything is on disk.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a thread of its own, with the file of the checkpoints, measures how long the disk takes"
)]

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use crate::ffi::write_out;
use crate::limits::{CHECKPOINT_PAUSE, CHECKPOINT_PIECE};

/// Writes most of the changed pages. Pauses after each piece for as long as it took, unless the checkpoint is urgent.
pub(super) fn write_pieces(data: &File, is_urgent: &AtomicBool) -> io::Result<()> {
    for piece in (0..data.metadata()?.len()).step_by(CHECKPOINT_PIECE) {
        let begun = Instant::now();
        write_out(data, piece, CHECKPOINT_PIECE)?;
        let took = begun.elapsed();
        if took >= CHECKPOINT_PAUSE && !is_urgent.load(Ordering::Relaxed) {
            thread::sleep(took);
        }
    }
    Ok(())
}
