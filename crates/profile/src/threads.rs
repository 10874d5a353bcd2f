//! The threads of a process whose events are recorded.
//!
//! Owns which threads those are, including new ones.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use sys::sampling::{Modes, Room, SampleTrigger, Sampler};

use crate::limits::THREADS;
use crate::record::{Record, read};

/// Threads whose events are recorded.
#[derive(Debug)]
pub(crate) struct Threads {
    process: u32,
    sources: Vec<SampleTrigger>,
    modes: Modes,
    hertz: u64,
    room: Room,
    samplers: BTreeMap<u32, Sampler>,
}

impl Threads {
    /// The threads of a process; `hertz` is for clock sources.
    pub(crate) fn of(
        process: u32,
        sources: &[SampleTrigger],
        modes: Modes,
        hertz: u64,
        room: Room,
    ) -> io::Result<Self> {
        let samplers = BTreeMap::new();
        let mut threads = Self { process, sources: sources.to_vec(), modes, hertz, room, samplers };
        threads.find()?;
        Ok(threads)
    }

    /// Adds threads that were started in the meantime, and forgets those that have ended.
    pub(crate) fn find(&mut self) -> io::Result<()> {
        let entries = std::fs::read_dir(format!("/proc/{}/task", self.process))?;
        let mut problem = None;
        let mut alive = BTreeSet::new();
        for entry in entries {
            let name = entry?.file_name();
            let Some(thread) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
            alive.insert(thread);
            if self.samplers.len() >= THREADS || self.samplers.contains_key(&thread) {
                continue;
            }
            match Sampler::open(thread, &self.sources, self.hertz, self.modes, self.room) {
                Ok(sampler) => {
                    self.samplers.insert(thread, sampler);
                }
                Err(error) => problem = Some(error),
            }
        }
        // The number of a thread that has ended may be that of another one later.
        self.samplers.retain(|thread, _| alive.contains(thread));
        match problem {
            Some(error) if self.samplers.is_empty() => Err(error),
            _ => Ok(()),
        }
    }

    /// Reads the records that have arrived, thread by thread, each thread's in the order of time.
    pub(crate) fn drain(&mut self, mut take: impl FnMut(Record)) {
        for sampler in self.samplers.values_mut() {
            sampler.drain(|record| take(read(record)));
        }
    }
}
