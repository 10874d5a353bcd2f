//! The time of an audit in which a host and its server are looked at from several sides at once.
//!
//! Owns that all sides end together. Each side is a module of its own.

use std::sync::mpsc::channel;
use std::thread::scope;
use std::time::Duration;

use ::tune::{DroppedPackets, HostReading, ServerCalls, ServerWork};

use super::{calls, drops, work};

/// Looks at a host and its server for this time; meanwhile records the server's calls and the packets that are dropped,
/// and samples its threads.
pub(super) fn watch(host: &mut HostReading, process: Option<u32>, time: Duration) {
    scope(|threads| {
        let recorder = process.map(|process| threads.spawn(move || calls::look(process)));
        let (end_of_work, until) = channel();
        let sampler = process.map(|process| threads.spawn(move || work::look(process, &until)));
        let (end_of_drops, until) = channel();
        let counter = threads.spawn(move || drops::look(&until));
        host.watch(time);
        drop((end_of_work, end_of_drops));
        let uncounted = |_| DroppedPackets::Unseen("their recording has failed".to_owned());
        host.add_drops(&counter.join().unwrap_or_else(uncounted));
        if let Some(sampler) = sampler {
            let unsampled = |_| ServerWork::Unseen("sampling has failed".to_owned());
            host.add_work(sampler.join().unwrap_or_else(unsampled));
        }
        if let Some(recorder) = recorder {
            let failed = |_| ServerCalls::Unseen("their recording has failed".to_owned());
            host.add_calls(recorder.join().unwrap_or_else(failed));
        }
    });
}
