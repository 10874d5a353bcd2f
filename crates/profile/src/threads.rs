//! The threads that are recorded: the threads of a process, of it and its children, or all CPUs of the machine.
//!
//! Owns which threads those are, including new ones, and that frames are unwound where stacks were copied.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use sys::sampling::{Modes, Room, SampleForm, SampleTarget, SampleTrigger, Sampler, UserStacks};
use sys::text::{numbers_in_list, of_kernel_file};

use crate::ended::SeenProcesses;
use crate::limits::{EVENT_STACK, HUGE_ROOMS, THREADS};
use crate::processes::{threads_of, tree_of};
use crate::record::{BehindChain, Record, Sample, read};
use crate::unwinding::Unwinding;

/// The target of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The threads of one process.
    Process(u32),
    /// Those of a process, its children, their children and so on.
    Tree(u32),
    /// Every CPU of the machine.
    Machine,
}

impl Scope {
    /// Its processes now; none for the machine.
    ///
    /// # Errors
    /// There is no such process.
    pub fn processes(self) -> io::Result<Vec<u32>> {
        match self {
            Self::Process(process) => Ok(vec![process]),
            Self::Tree(process) => tree_of(process),
            Self::Machine => Ok(Vec::new()),
        }
    }
}

/// Threads or CPUs whose events are recorded.
#[derive(Debug)]
pub(crate) struct Threads {
    scope: Scope,
    triggers: Vec<SampleTrigger>,
    form: SampleForm,
    samplers: BTreeMap<SampleTarget, Sampler>,
    unwinding: Unwinding,
}

impl Threads {
    pub(crate) fn of(
        scope: Scope,
        triggers: &[SampleTrigger],
        form: SampleForm,
    ) -> io::Result<Self> {
        let (samplers, unwinding) = (BTreeMap::new(), Unwinding::default());
        let mut threads = Self { scope, triggers: triggers.to_vec(), form, samplers, unwinding };
        threads.find()?;
        Ok(threads)
    }

    /// The same for events of which each is recorded.
    pub(crate) fn of_events(
        scope: Scope,
        triggers: &[SampleTrigger],
        modes: Modes,
    ) -> io::Result<Self> {
        let is_few = targets(scope)?.len() <= HUGE_ROOMS;
        let form = SampleForm {
            modes,
            user: UserStacks::Copied(EVENT_STACK),
            hertz: 0,
            room: if is_few { Room::Huge } else { Room::Large },
        };
        Self::of(scope, triggers, form)
    }

    /// Adds threads that were started in the meantime, and forgets those that have ended.
    pub(crate) fn find(&mut self) -> io::Result<()> {
        let mut problem = None;
        let targets = targets(self.scope)?;
        for target in &targets {
            if self.samplers.len() >= THREADS || self.samplers.contains_key(target) {
                continue;
            }
            match Sampler::open(*target, &self.triggers, &self.form) {
                Ok(sampler) => {
                    self.samplers.insert(*target, sampler);
                }
                Err(error) => problem = Some(error),
            }
        }
        // The number of a thread that has ended may be that of another one later.
        self.samplers.retain(|target, _| targets.contains(target));
        match problem {
            Some(error) if self.samplers.is_empty() => Err(error),
            _ => Ok(()),
        }
    }

    /// The processes that were seen and whose stacks were copied.
    pub(crate) fn seen(&self) -> SeenProcesses {
        self.unwinding.seen()
    }

    /// Reads the records that have arrived, thread by thread, each thread's in the order of time.
    pub(crate) fn drain(&mut self, mut take: impl FnMut(Record)) {
        let order = match self.triggers.first() {
            Some(SampleTrigger::Tracepoint(_)) => BehindChain::Fields,
            _ => BehindChain::Copied,
        };
        let is_copied = matches!(self.form.user, UserStacks::Copied(_));
        for sampler in self.samplers.values_mut() {
            sampler.drain(|record| {
                let mut record = read(record);
                if let Record::Sample(sample) = &mut record
                    && is_copied
                {
                    unwind(sample, order, &mut self.unwinding);
                }
                take(record);
            });
        }
    }
}

/// Puts the unwound frames in the place of those that the kernel found, and forgets the copy.
fn unwind(sample: &mut Sample, order: BehindChain, unwinding: &mut Unwinding) {
    let copied = sample.copied(order);
    let Some(copied) = copied else { return };
    let found = unwinding.frames(sample.time_ns, &sample.stack, copied);
    if let Some(frames) = found {
        sample.stack.user = frames;
    }
    match order {
        BehindChain::Copied => sample.behind.clear(),
        BehindChain::Fields => sample.behind.truncate(4 + sample.fields().len()),
    }
}

/// The threads or CPUs of a scope, now.
pub(crate) fn targets(scope: Scope) -> io::Result<BTreeSet<SampleTarget>> {
    if scope == Scope::Machine {
        let online = of_kernel_file("/sys/devices/system/cpu/online")?;
        return Ok(numbers_in_list(&online).map(SampleTarget::Cpu).collect());
    }
    let mut targets = BTreeSet::new();
    let mut problem = None;
    for process in scope.processes()? {
        match threads_of(process) {
            Ok(threads) => targets.extend(threads.into_iter().map(SampleTarget::Thread)),
            // A child may end in the meantime.
            Err(error) => problem = Some(error),
        }
    }
    match problem {
        Some(error) if targets.is_empty() => Err(error),
        _ => Ok(targets),
    }
}
