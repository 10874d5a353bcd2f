//! The system calls of the server during an audit: recorded for a moment, while its threads are looked at.
//!
//! Owns how long that is. The crate `profile` records them and knows what they indicate, the crate `tune` gives a
//! price.

use std::thread::sleep;
use std::time::{Duration, Instant};

use ::profile::{CallFinding, Pairs, Scope, Tracing, call_findings, calls_named};
use ::tune::{CostlyCalls, Opened, ServerCalls};

/// Longest time for which calls are recorded, and how many are enough: a server that makes very many of them is slowed
/// for some milliseconds.
const TIME: Duration = Duration::from_millis(400);
const ENOUGH: u64 = 4_000;

/// Time between two reads of what was recorded.
const PAUSE: Duration = Duration::from_millis(5);

/// Records the calls of a program and its children for a moment.
#[expect(
    clippy::disallowed_methods,
    reason = "how long is recorded is measured by a clock of its own"
)]
pub(super) fn look(process: u32) -> ServerCalls {
    let mut tracing = match Tracing::begin_small(Scope::Tree(process)) {
        Ok(tracing) => tracing,
        Err(error) => return ServerCalls::Unseen(error.to_string()),
    };
    let begun = Instant::now();
    while begun.elapsed() < TIME && tracing.count() < ENOUGH && !tracing.is_full() {
        sleep(PAUSE);
        tracing.drain();
    }
    let (elapsed, is_enough) = (begun.elapsed().as_secs_f64(), tracing.count() >= ENOUGH);
    let pairs = tracing.end();
    let seen = pairs.seconds_seen().filter(|_| is_enough || pairs.lost > 0);
    let seconds = seen.unwrap_or(elapsed);
    let count: u64 = pairs.all.values().map(|waits| waits.count).sum();
    let found = call_findings(&pairs, seconds);
    ServerCalls::Seen {
        rate: count as f64 / seconds,
        opened: opened(&pairs, seconds),
        found: found.into_iter().map(costly).collect(),
    }
}

/// The connections that it accepts and opens; `None` if it may do so without a call.
fn opened(pairs: &Pairs, seconds: f64) -> Option<Opened> {
    let rate = |begin: &str| calls_named(pairs, begin) as f64 / seconds;
    let opened = Opened { accepted: rate("accept"), attempts: rate("connect") };
    (rate("io_uring") == 0.0).then_some(opened)
}

fn costly(finding: CallFinding) -> CostlyCalls {
    CostlyCalls { share: finding.share, lost: finding.lost, text: finding.text }
}
