//! Samples all threads of a process.
//!
//! Owns the order in which counters and privileges are tried if the kernel lacks or refuses one,
//! and the remark about it.

use std::collections::BTreeMap;
use std::io;

use sys::sampling::{Modes, Room, SampleForm, SampleTrigger, UserStacks};

use crate::ended::SeenProcesses;
use crate::limits::{HUGE_ROOMS, SAMPLED_STACK, TIMES};
use crate::record::{Record, Sample, Stack};
use crate::ring::Ring;
use crate::threads::{Scope, Threads, targets};

/// Processes being sampled.
#[derive(Debug)]
pub struct Sampling {
    threads: Threads,
    kind: SampleKind,
    trigger: SampleTrigger,
    taken: TakenSamples,
}

/// The samples.
#[derive(Debug, Default)]
pub struct TakenSamples {
    /// How often each stack was sampled, and when.
    pub stacks: BTreeMap<Stack, StackSamples>,
    /// Samples lost because the ring buffer was full.
    pub lost: u64,
    /// Which counter was used, and what is missing, in words.
    pub remarks: Vec<String>,
    /// The processes that were seen, for the names of those that have ended.
    pub processes: SeenProcesses,
    /// Samples whose time is kept.
    timed: usize,
    /// Of how many events the next sample of each thread is one.
    periods: BTreeMap<u32, u64>,
}

/// The samples of one stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StackSamples {
    /// Their number, or that of the events for which they stand.
    pub count: u64,
    /// Their times, in nanoseconds of the monotonic clock; the last ones may be missing.
    pub times_ns: Vec<u64>,
}

/// The kind of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleKind {
    /// Of CPU time.
    CpuTime,
    /// Of page faults: a first touch of memory, or a page that was not there.
    PageFaults,
}

impl Sampling {
    /// Begins to sample, this many times per second of each thread's CPU time.
    ///
    /// # Errors
    /// There is no such process, or its threads may not be sampled.
    pub fn begin(scope: Scope, hertz: u64, kind: SampleKind) -> io::Result<Self> {
        let clocks = [SampleTrigger::Cycles, SampleTrigger::CpuClock];
        let triggers: &[SampleTrigger] = match kind {
            SampleKind::CpuTime => &clocks,
            SampleKind::PageFaults => &[SampleTrigger::PageFaults],
        };
        let is_few = targets(scope)?.len() <= HUGE_ROOMS;
        let room = if is_few { Room::Huge } else { Room::Large };
        let form = |user| SampleForm { modes: Modes::Both, user, hertz, room };
        // An old kernel, or a processor whose registers it does not tell, refuses copied stacks.
        Self::begin_with(scope, triggers, kind, form(UserStacks::Copied(SAMPLED_STACK)))
            .or_else(|_| Self::begin_with(scope, triggers, kind, form(UserStacks::FramePointers)))
    }

    /// Begins to sample a process that has frame pointers, with little memory: its records have to be read often.
    ///
    /// # Errors
    /// As [`Sampling::begin`].
    pub fn begin_small(process: u32, hertz: u64) -> io::Result<Self> {
        let triggers = [SampleTrigger::Cycles, SampleTrigger::CpuClock];
        let form = SampleForm {
            modes: Modes::Both,
            user: UserStacks::FramePointers,
            hertz,
            room: Room::Small,
        };
        Self::begin_with(Scope::Process(process), &triggers, SampleKind::CpuTime, form)
    }

    fn begin_with(
        scope: Scope,
        triggers: &[SampleTrigger],
        kind: SampleKind,
        form: SampleForm,
    ) -> io::Result<Self> {
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for modes in [Modes::Both, Modes::User] {
            for trigger in triggers {
                let form = SampleForm { modes, ..form };
                match Threads::of(scope, std::slice::from_ref(trigger), form) {
                    Ok(threads) => {
                        let remarks = remarks(trigger, modes);
                        let taken = TakenSamples { remarks, ..TakenSamples::default() };
                        return Ok(Self { threads, kind, trigger: trigger.clone(), taken });
                    }
                    Err(error) => last = error,
                }
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
        let Self { threads, kind, taken, .. } = self;
        threads.drain(|record| match record {
            Record::Sample(sample) => taken.add(sample, *kind),
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

    /// Whether the kernel's clock triggers the samples, and not a counter of the processor.
    pub fn is_clock(&self) -> bool {
        self.trigger == SampleTrigger::CpuClock
    }

    /// The losses so far, and the remarks; with the samples that no ring has taken.
    pub fn taken(&self) -> &TakenSamples {
        &self.taken
    }

    /// Ends the sampling, and returns the samples.
    #[must_use]
    pub fn end(mut self) -> TakenSamples {
        self.drain();
        self.taken.processes = self.threads.seen();
        self.taken
    }
}

impl TakenSamples {
    fn add(&mut self, sample: Sample, kind: SampleKind) {
        let count = match kind {
            SampleKind::CpuTime => 1,
            // The kernel chooses a period for a thread at each sample, and says it then: it is that of the next one.
            SampleKind::PageFaults => {
                self.periods.insert(sample.stack.thread, sample.period).unwrap_or(1)
            }
        };
        let seen = self.stacks.entry(sample.stack).or_default();
        seen.count += count;
        if self.timed < TIMES {
            self.timed += 1;
            seen.times_ns.push(sample.time_ns);
        }
    }

    /// Whether the time of every sample is kept.
    pub fn is_timed(&self) -> bool {
        self.timed < TIMES
    }
}

/// Why a program cannot be sampled, and what allows it.
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
        SampleTrigger::PageFaults => "at page faults",
        _ => "sampled by the kernel's CPU clock, because hardware counters are not available",
    };
    let missing = "without the kernel's frames: sysctl kernel.perf_event_paranoid=1, or CAP_PERFMON, allows \
                   them";
    let missing = (modes == Modes::User).then_some(missing);
    std::iter::once(by).chain(missing).map(str::to_owned).collect()
}
