//! Processors: which ones this process may use, how many make sense, and pinning a thread to one.
//!
//! Owns the affinity calls and, in `quota`, the reading of control groups. Never counts the processors of the
//! machine, because only the allowed ones matter.

mod quota;

use std::fmt;
use std::io;
use std::num::NonZeroUsize;

use rustix::thread::{CpuSet as KernelSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

use crate::limits::CPUS_MAXIMUM;
pub use quota::CpuQuota;

const _: () = assert!(CPUS_MAXIMUM == KernelSet::MAX_CPU);

/// A set of processors by number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CpuSet {
    members: KernelSet,
}

impl CpuSet {
    /// The processors on which the calling thread may run. Read this before pinning; afterwards it is the one
    /// processor.
    ///
    /// # Errors
    /// The kernel's; `InvalidInput` on a machine with more than [`CPUS_MAXIMUM`] processors.
    pub fn allowed() -> io::Result<Self> {
        Ok(Self { members: sched_getaffinity(None)? })
    }

    /// How many processors are in the set.
    pub fn count(&self) -> usize {
        self.iter().count()
    }

    /// Whether the processor is in the set.
    pub fn contains(&self, cpu: usize) -> bool {
        cpu < CPUS_MAXIMUM && self.members.is_set(cpu)
    }

    /// The numbers in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..CPUS_MAXIMUM).filter(|cpu| self.members.is_set(*cpu))
    }
}

impl FromIterator<usize> for CpuSet {
    /// Numbers from [`CPUS_MAXIMUM`] on are left out.
    fn from_iter<I: IntoIterator<Item = usize>>(numbers: I) -> Self {
        let mut members = KernelSet::new();
        numbers.into_iter().filter(|cpu| *cpu < CPUS_MAXIMUM).for_each(|cpu| members.set(cpu));
        Self { members }
    }
}

impl fmt::Debug for CpuSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.iter()).finish()
    }
}

/// The facts that determine how many schedulers a process should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuFacts {
    /// The processors that may be used.
    pub allowed: CpuSet,
    /// The CPU time that may be used, if a control group limits it.
    pub quota: Option<CpuQuota>,
}

impl CpuFacts {
    /// Reads the facts of this process. A control group that cannot be read counts as one without a limit.
    ///
    /// # Errors
    /// If the allowed processors cannot be read, see [`CpuSet::allowed`].
    pub fn read() -> io::Result<Self> {
        Ok(Self { allowed: CpuSet::allowed()?, quota: quota::of_this_process() })
    }
}

/// One scheduler for each allowed processor, but no more than the quota can keep busy (rounded up), and at least one.
/// More schedulers than the quota pays for would all be stopped together in the middle of a period.
pub fn scheduler_count_default(facts: &CpuFacts) -> NonZeroUsize {
    let affordable = facts.quota.map_or(usize::MAX, |quota| quota.whole_cpus());
    NonZeroUsize::new(facts.allowed.count().min(affordable)).unwrap_or(NonZeroUsize::MIN)
}

/// Pins the calling thread to one processor. Threads it starts later inherit that.
///
/// # Errors
/// `InvalidInput` if the processor does not exist, is offline or is not allowed.
pub fn pin_current_thread(cpu: usize) -> io::Result<()> {
    if cpu >= CPUS_MAXIMUM {
        let message = format!("processor {cpu}: only 0 to {} can be pinned to", CPUS_MAXIMUM - 1);
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    Ok(sched_setaffinity(None, &[cpu].into_iter().collect::<CpuSet>().members)?)
}

/// The processor on which the calling thread runs now. Unless it is pinned, the answer may already be outdated.
pub fn current_cpu() -> usize {
    sched_getcpu()
}
