//! The packets that the kernel drops during an audit.
//!
//! Owns how often they are read. The crate `profile` records them, the crate `tune` knows causes.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use ::profile::DropWatch;
use ::tune::DroppedPackets;

/// Time between two reads of what was recorded.
const PAUSE: Duration = Duration::from_millis(50);

/// Records dropped packets until the other end is closed.
pub(super) fn look(until: &Receiver<()>) -> DroppedPackets {
    let mut watch = match DropWatch::begin() {
        Ok(watch) => watch,
        Err(error) => return DroppedPackets::Unseen(error.to_string()),
    };
    while until.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
        watch.drain();
    }
    DroppedPackets::Seen(watch.end())
}
