//! The packets that the kernel drops during an audit.
//!
//! Owns how often they are read. The crate `profile` records them, the crate `tune` knows causes.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use ::profile::DropWatch;
use ::tune::DroppedPackets;

/// Time between two reads of what was recorded, and how many packets are enough: each record costs the kernel about a
/// microsecond where the packet is dropped.
const PAUSE: Duration = Duration::from_millis(50);
const ENOUGH: u64 = 10_000;

/// Records dropped packets until the other end is closed, or there were enough.
#[expect(
    clippy::disallowed_methods,
    reason = "how long is recorded is measured by a clock of its own"
)]
pub(super) fn look(until: &Receiver<()>) -> DroppedPackets {
    let mut watch = match DropWatch::begin() {
        Ok(watch) => watch,
        Err(error) => return DroppedPackets::Unseen(error.to_string()),
    };
    let begun = Instant::now();
    let is_to_go_on = |watch: &DropWatch| watch.count() < ENOUGH && !watch.is_full();
    while is_to_go_on(&watch) && until.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
        watch.drain();
    }
    let seconds = begun.elapsed().as_secs_f64();
    DroppedPackets::Seen { seconds, counts: watch.end() }
}
