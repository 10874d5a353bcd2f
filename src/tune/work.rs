//! What the server spends the time of its CPUs on during an audit: its threads are sampled while they are looked at.
//!
//! Owns how often. The crate `profile` samples and knows kinds of work, the crate `tune` gives a price.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use ::profile::{
    SampleKind, SampledTime, Sampling, Scope, SymbolNames, WorkFinding, WorkKind, refusal,
    work_findings,
};
use ::tune::{CostlyWork, Knowledge, ServerWork};

/// Samples per second of a thread's CPU time.
const HERTZ: u64 = 99;

/// Time between two reads of samples.
const PAUSE: Duration = Duration::from_millis(100);

/// Samples a program and its children until the other end is closed.
#[expect(
    clippy::disallowed_methods,
    reason = "how long is sampled is measured by a clock of its own"
)]
pub(super) fn look(process: u32, until: &Receiver<()>) -> ServerWork {
    let begun = Sampling::begin(Scope::Tree(process), HERTZ, SampleKind::CpuTime);
    let mut sampling = match begun {
        Ok(sampling) => sampling,
        Err(error) => return ServerWork::Unseen(refusal(&error)),
    };
    let begun = Instant::now();
    while until.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
        sampling.drain();
    }
    let seconds = begun.elapsed().as_secs_f64();
    let mut taken = sampling.end();
    let names =
        SymbolNames::find_of(taken.stacks.keys(), &[], &taken.processes, &mut taken.remarks);
    let found = work_findings(&taken, &names, SampledTime { seconds, hertz: HERTZ });
    ServerWork::Seen(found.into_iter().map(costly).collect())
}

fn costly(finding: WorkFinding) -> CostlyWork {
    let knowledge = match finding.kind {
        WorkKind::Known => Knowledge::Kind,
        WorkKind::Function => Knowledge::Function,
    };
    let WorkFinding { of_thread, of_all, text, .. } = finding;
    CostlyWork { of_thread, of_all, knowledge, text }
}
