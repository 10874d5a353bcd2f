//! Pages that a memory limit of a control group has freed and the server needs again: the cause of waits for a disk.

use crate::host::HostReading;

/// Pages in a second from which it matters that they are read again, and their part of what the server reads from
/// disks.
const READ_AGAIN: f64 = 50.0;
const PART: f64 = 0.2;

/// Bytes of a page.
const PAGE: f64 = 4096.0;

/// The part of what the server reads from disks that it had in memory, and a limit of a group has freed.
pub(super) fn read_again(host: &HostReading) -> Option<f64> {
    let pages = host.now.groups.iter().filter_map(|(place, now)| {
        let before = host.before.groups.get(place)?;
        let is_met = now.memory.is_some() && now.memory_events > before.memory_events;
        is_met.then(|| now.refaults.saturating_sub(before.refaults))
    });
    let pages = pages.max()? as f64;
    let read = host.moved(|counters| counters.uses.read_bytes)?;
    let part = (pages * PAGE / read.max(1) as f64).min(1.0);
    (pages >= READ_AGAIN * host.seconds? && part >= PART).then_some(part)
}
