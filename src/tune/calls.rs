//! The system calls of the server during an audit: recorded for a moment, while its threads are looked at.
//!
//! Owns how long that is. The crate `profile` records them and knows what they indicate, the crate `tune` gives a
//! price.

use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use ::profile::{CallFinding, Scope, Tracing, call_findings};
use ::tune::{CostlyCalls, HostReading, ServerCalls};

/// Longest time for which calls are recorded, and how many are enough: a server that makes very many of them is slowed
/// for some milliseconds.
const TIME: Duration = Duration::from_millis(400);
const ENOUGH: u64 = 4_000;

/// Time between two reads of what was recorded.
const PAUSE: Duration = Duration::from_millis(5);

/// Looks at a host and its server for this time, and records the server's calls meanwhile.
pub(super) fn watch(host: &mut HostReading, process: Option<u32>, time: Duration) {
    let Some(process) = process else { return host.watch(time) };
    scope(|threads| {
        let recorder = threads.spawn(|| look(process));
        host.watch(time);
        let failed = |_| ServerCalls::Unseen("their recording has failed".to_owned());
        host.add_calls(recorder.join().unwrap_or_else(failed));
    });
}

/// Records the calls of a program and its children for a moment.
#[expect(
    clippy::disallowed_methods,
    reason = "how long is recorded is measured by a clock of its own"
)]
fn look(process: u32) -> ServerCalls {
    let mut tracing = match Tracing::begin_small(Scope::Tree(process)) {
        Ok(tracing) => tracing,
        Err(error) => return ServerCalls::Unseen(error.to_string()),
    };
    let begun = Instant::now();
    while begun.elapsed() < TIME && tracing.count() < ENOUGH && !tracing.is_full() {
        sleep(PAUSE);
        tracing.drain();
    }
    let pairs = tracing.end();
    let seconds = pairs.seconds(begun.elapsed().as_secs_f64());
    let count: u64 = pairs.all.values().map(|waits| waits.count).sum();
    let found = call_findings(&pairs, seconds);
    ServerCalls::Seen {
        rate: count as f64 / seconds,
        found: found.into_iter().map(costly).collect(),
    }
}

fn costly(finding: CallFinding) -> CostlyCalls {
    CostlyCalls { share: finding.share, lost: finding.lost, text: finding.text }
}
