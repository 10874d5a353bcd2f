//! Sleeps that look as if they were for a disk, and are for something else.
//!
//! Judges nothing.

use std::collections::BTreeMap;

use crate::host::HostReading;

/// Parts of names of kernel functions in which a thread sleeps as if for a disk, and what it waits for instead.
const NO_DISK: [(&str, &str); 4] = [
    (
        "fanotify",
        "wait for a program that is asked before a file is opened (fanotify: a virus scanner)",
    ),
    ("fuse", "wait for a file system that is a program (FUSE)"),
    ("rpc_wait", "wait for a file server (NFS)"),
    ("nfs", "wait for a file server (NFS)"),
];

/// The place in which the threads that sleep as if for a disk do so most often, if that is none.
pub(super) fn no_disk(host: &HostReading) -> Option<&'static str> {
    let mut places: BTreeMap<String, u32> = BTreeMap::new();
    for one in host.watched().into_values() {
        for (call, count) in one.calls.into_iter().filter(|(call, _)| call.starts_with("at/")) {
            *places.entry(call).or_default() += count;
        }
    }
    let (place, _) = places.into_iter().max_by_key(|(_, count)| *count)?;
    NO_DISK.iter().find(|(part, _)| place.contains(part)).map(|(_, what)| *what)
}
