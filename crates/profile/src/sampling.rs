//! Taking samples of all threads of a process.
//!
//! Owns which threads those are, and what is done where the kernel does not allow or have something: it is tried in order, and said.

use std::collections::BTreeMap;
use std::io;

use sys::sampling::{Modes, Sampler, Source};

use crate::limits::THREADS;
use crate::record::{Record, Stack, read};

/// Samples of a process, being taken.
#[derive(Debug)]
pub struct Sampling {
    process: u32,
    source: Source,
    modes: Modes,
    hertz: u64,
    samplers: BTreeMap<u32, Sampler>,
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
            let (samplers, taken) = (BTreeMap::new(), Taken::default());
            let mut sampling = Self { process, source, modes, hertz, samplers, taken };
            match sampling.find_threads() {
                Ok(()) => {
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
            Source::CpuClock => {
                "by the kernel's clock: the processor's counters are not there".to_owned()
            }
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
        let entries = std::fs::read_dir(format!("/proc/{}/task", self.process))?;
        let mut problem = None;
        for entry in entries {
            let name = entry?.file_name();
            let Some(thread) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
            if self.samplers.len() >= THREADS || self.samplers.contains_key(&thread) {
                continue;
            }
            match Sampler::open(thread, self.source, self.hertz, self.modes) {
                Ok(sampler) => {
                    self.samplers.insert(thread, sampler);
                }
                Err(error) => problem = Some(error),
            }
        }
        match problem {
            Some(error) if self.samplers.is_empty() => Err(error),
            _ => Ok(()),
        }
    }

    /// Takes the samples that have come.
    pub fn drain(&mut self) {
        let taken = &mut self.taken;
        for sampler in self.samplers.values_mut() {
            sampler.drain(|record| match read(record) {
                Record::Sample(stack) => *taken.stacks.entry(stack).or_default() += 1,
                Record::Lost(count) => taken.lost += count,
                Record::Other => {}
            });
        }
    }

    /// Ends, and gives what was taken.
    #[must_use]
    pub fn end(mut self) -> Taken {
        self.drain();
        self.taken
    }
}
