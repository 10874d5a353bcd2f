//! Samples all threads of a process.
//!
//! Owns the order in which counters and privileges are tried if the kernel lacks or refuses one,
//! and the remark about it.

use std::collections::BTreeMap;
use std::io;

use sys::sampling::{Modes, Room, SampleTrigger};

use crate::record::{Record, Stack};
use crate::ring::Ring;
use crate::threads::Threads;

/// A process being sampled.
#[derive(Debug)]
pub struct Sampling {
    threads: Threads,
    taken: TakenSamples,
}

/// The samples.
#[derive(Debug, Default)]
pub struct TakenSamples {
    /// How often each stack was sampled.
    pub stacks: BTreeMap<Stack, u64>,
    /// Samples lost because the ring buffer was full.
    pub lost: u64,
    /// Which counter was used, and what is missing, in words.
    pub remarks: Vec<String>,
}

impl Sampling {
    /// Begins to sample a process, this many times per second of each thread's CPU time.
    ///
    /// # Errors
    /// There is no such process, or its threads may not be sampled.
    pub fn begin(process: u32, hertz: u64) -> io::Result<Self> {
        Self::begin_with(process, hertz, Room::Large)
    }

    /// The same with little memory: its records have to be read often.
    ///
    /// # Errors
    /// As [`Sampling::begin`].
    pub fn begin_small(process: u32, hertz: u64) -> io::Result<Self> {
        Self::begin_with(process, hertz, Room::Small)
    }

    fn begin_with(process: u32, hertz: u64, room: Room) -> io::Result<Self> {
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for (source, modes) in [
            (SampleTrigger::Cycles, Modes::Both),
            (SampleTrigger::CpuClock, Modes::Both),
            (SampleTrigger::Cycles, Modes::User),
            (SampleTrigger::CpuClock, Modes::User),
        ] {
            match Threads::of(process, std::slice::from_ref(&source), modes, hertz, room) {
                Ok(threads) => {
                    let remarks = remarks(&source, modes);
                    return Ok(Self {
                        threads,
                        taken: TakenSamples { remarks, ..TakenSamples::default() },
                    });
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Samples threads that were started in the meantime.
    ///
    /// # Errors
    /// No thread can be sampled.
    pub fn find_threads(&mut self) -> io::Result<()> {
        self.threads.find()
    }

    /// Reads the samples that have arrived.
    pub fn drain(&mut self) {
        let taken = &mut self.taken;
        self.threads.drain(|record| match record {
            Record::Sample(sample) => *taken.stacks.entry(sample.stack).or_default() += 1,
            Record::Lost(_, count) => taken.lost += count,
            Record::Switch(_) | Record::Other => {}
        });
    }

    /// Moves the samples that have arrived into a ring.
    pub fn drain_into(&mut self, ring: &mut Ring) {
        let taken = &mut self.taken;
        self.threads.drain(|record| match record {
            Record::Sample(sample) => ring.add(sample.time_ns, sample.stack),
            Record::Lost(_, count) => taken.lost += count,
            Record::Switch(_) | Record::Other => {}
        });
    }

    /// What was lost so far, and the remarks; with the samples that no ring has taken.
    pub fn taken(&self) -> &TakenSamples {
        &self.taken
    }

    /// Ends the sampling, and returns the samples.
    #[must_use]
    pub fn end(mut self) -> TakenSamples {
        self.drain();
        self.taken
    }
}

/// Why a program cannot be sampled, and what allows it.
#[must_use]
pub fn refusal(error: &io::Error) -> String {
    format!(
        "the kernel refuses perf events ({error}): sysctl kernel.perf_event_paranoid=2, or CAP_PERFMON, \
         allows them; in a container, its seccomp profile has to allow perf_event_open"
    )
}

/// Which counter takes the samples, and which frames the kernel does not show, in words.
fn remarks(source: &SampleTrigger, modes: Modes) -> Vec<String> {
    let by = match source {
        SampleTrigger::Cycles => "by cycles of the processor",
        _ => "sampled by the kernel's CPU clock, because hardware counters are not available",
    };
    let missing = "without the kernel's frames: sysctl kernel.perf_event_paranoid=1, or CAP_PERFMON, allows \
                   them";
    let missing = (modes == Modes::User).then_some(missing);
    std::iter::once(by).chain(missing).map(str::to_owned).collect()
}
