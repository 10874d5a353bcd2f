//! Taking samples of all threads of a process.
//!
//! Owns the order in which counters and rights are tried where the kernel lacks or refuses one, and the remark that says so.

use std::collections::BTreeMap;
use std::io;

use sys::sampling::{Modes, Source};

use crate::record::{Record, Stack};
use crate::threads::Threads;

/// Samples of a process, being taken.
#[derive(Debug)]
pub struct Sampling {
    source: Source,
    modes: Modes,
    threads: Threads,
    taken: Taken,
}

/// What was taken.
#[derive(Debug, Default)]
pub struct Taken {
    /// How often each stack was met.
    pub stacks: BTreeMap<Stack, u64>,
    /// Samples that had no room.
    pub lost: u64,
    /// What was used, and what is missing, in words.
    pub remarks: Vec<String>,
}

impl Sampling {
    /// Begins to sample a process, so many times in a second of each thread's CPU time.
    ///
    /// # Errors
    /// When there is no such process, or its threads may not be sampled at all.
    pub fn begin(process: u32, hertz: u64) -> io::Result<Self> {
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for (source, modes) in [
            (Source::Cycles, Modes::Both),
            (Source::CpuClock, Modes::Both),
            (Source::Cycles, Modes::User),
            (Source::CpuClock, Modes::User),
        ] {
            match Threads::of(process, &[source], modes, hertz) {
                Ok(threads) => {
                    let mut sampling = Self { source, modes, threads, taken: Taken::default() };
                    sampling.remark();
                    return Ok(sampling);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn remark(&mut self) {
        self.taken.remarks.push(match self.source {
            Source::Cycles => "by cycles of the processor".to_owned(),
            _ => "by the kernel's clock: the processor's counters are not there".to_owned(),
        });
        if self.modes == Modes::User {
            self.taken.remarks.push(
                "without the kernel's frames: sysctl kernel.perf_event_paranoid=1, or CAP_PERFMON, allows them".to_owned(),
            );
        }
    }

    /// Samples threads that have begun since.
    ///
    /// # Errors
    /// When none can be sampled.
    pub fn find_threads(&mut self) -> io::Result<()> {
        self.threads.find()
    }

    /// Takes the samples that have come.
    pub fn drain(&mut self) {
        let taken = &mut self.taken;
        self.threads.drain(|record| match record {
            Record::Sample(sample) => *taken.stacks.entry(sample.stack).or_default() += 1,
            Record::Lost(_, count) => taken.lost += count,
            Record::Switch(_) | Record::Other => {}
        });
    }

    /// Ends, and gives what was taken.
    #[must_use]
    pub fn end(mut self) -> Taken {
        self.drain();
        self.taken
    }
}
