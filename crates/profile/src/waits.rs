//! The waits of a process: the stacks at which its threads leave the CPU, with the time until
//! they run again.
//!
//! Owns how records become waits, and which of them are within a call that takes a lock. A thread
//! that waits during the whole profile has no record: `states` sees it.

use std::collections::BTreeMap;
use std::io;

use sys::clock::monotonic_ns;
use sys::sampling::{Modes, SampleTrigger};

use crate::lock_functions::LockFunctions;
use crate::record::{Record, Sample, Stack, Switch, Way};
use crate::threads::{Scope, Threads};

/// A recording of a process's waits.
#[derive(Debug)]
pub struct WaitRecording {
    threads: Threads,
    begun: BTreeMap<u32, Begun>,
    tries: BTreeMap<u32, Try>,
    waited: Waited,
}

/// A lock that a thread is about to take.
#[derive(Debug)]
struct Try {
    stack: Stack,
    has_waited: bool,
}

/// A wait that has not ended.
#[derive(Debug)]
struct Begun {
    time_ns: u64,
    stack: Stack,
    way: Way,
}

/// The recorded waits.
#[derive(Debug, Default)]
pub struct Waited {
    /// Each stack at which a thread waited.
    pub waits: BTreeMap<Stack, Waits>,
    /// The same for threads that were preempted: they could have gone on.
    pub without_cpu: BTreeMap<Stack, Waits>,
    /// Each stack at which a lock was taken, how often, and its waits: one per attempt, however often it had to wait.
    pub tries: BTreeMap<Stack, (u64, Waits)>,
    /// Records lost because the ring buffer was full.
    pub lost: u64,
}

/// The waits at one place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Their number.
    pub count: u64,
    /// Their total time, in nanoseconds.
    pub time_ns: u64,
}

impl WaitRecording {
    /// Begins to record the waits of processes, and their calls of these lock functions.
    ///
    /// # Errors
    /// There is no such process, or its kernel frames may not be seen.
    pub fn begin(scope: Scope, functions: &LockFunctions) -> io::Result<Self> {
        let triggers = [&[SampleTrigger::Switches], &*functions.events].concat();
        let threads = Threads::of_events(scope, &triggers, Modes::Both)?;
        let (begun, tries) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { threads, begun, tries, waited: Waited::default() })
    }

    /// Adds threads that were started in the meantime.
    ///
    /// # Errors
    /// No thread can be recorded.
    pub fn find_threads(&mut self) -> io::Result<()> {
        self.threads.find()
    }

    /// Reads the records that have arrived.
    pub fn drain(&mut self) {
        let Self { threads, begun, tries, waited } = self;
        threads.drain(|record| take(record, begun, tries, waited));
    }

    /// Ends the recording; a wait that has not ended counts until now.
    #[must_use]
    pub fn end(mut self) -> Waited {
        self.drain();
        let now_ns = monotonic_ns();
        for (_, wait) in std::mem::take(&mut self.begun) {
            note(wait, now_ns, &mut self.tries, &mut self.waited);
        }
        self.waited
    }
}

fn take(
    record: Record,
    begun: &mut BTreeMap<u32, Begun>,
    tries: &mut BTreeMap<u32, Try>,
    waited: &mut Waited,
) {
    match record {
        Record::Sample(sample) if sample.stack_top().is_some() => {
            let stack = with_caller(sample);
            waited.tries.entry(stack.clone()).or_default().0 += 1;
            tries.insert(stack.thread, Try { stack, has_waited: false });
        }
        // A return probe is sampled outside of the kernel; a switch is sampled within.
        Record::Sample(Sample { stack, .. }) if stack.kernel.is_empty() => {
            tries.remove(&stack.thread);
        }
        // The sample comes first: it has the stack.
        Record::Sample(Sample { time_ns, stack, .. }) => {
            begun.insert(stack.thread, Begun { time_ns, stack, way: Way::Off });
        }
        Record::Switch(Switch { time_ns, thread, way: Way::On }) => {
            if let Some(wait) = begun.remove(&thread) {
                note(wait, time_ns, tries, waited);
            }
        }
        Record::Switch(Switch { thread, way, .. }) => {
            if let Some(wait) = begun.get_mut(&thread) {
                wait.way = way;
            }
        }
        Record::Lost(thread, count) => {
            waited.lost += count;
            // The end may be among the lost records: without this, a later record would be taken for it.
            begun.remove(&thread);
            tries.remove(&thread);
        }
        Record::Other => {}
    }
}

/// The stack at the entry of a function. It has no frame yet, so the kernel may have left out its caller.
pub(crate) fn with_caller(sample: Sample) -> Stack {
    let caller = sample.stack_top().filter(|_| cfg!(target_arch = "x86_64"));
    let caller = caller.map(|address| address.saturating_sub(1));
    let mut stack = sample.stack;
    if let Some(caller) = caller.filter(|caller| stack.user.get(1) != Some(caller)) {
        stack.user.insert(stack.user.len().min(1), caller);
    }
    stack
}

fn note(wait: Begun, end_ns: u64, tries: &mut BTreeMap<u32, Try>, waited: &mut Waited) {
    let tried = tries.get_mut(&wait.stack.thread);
    let (waits, count) = match (wait.way, tried) {
        (Way::Preempted, _) => (waited.without_cpu.entry(wait.stack).or_default(), 1),
        (_, Some(tried)) => {
            let count = u64::from(!std::mem::replace(&mut tried.has_waited, true));
            (&mut waited.tries.entry(tried.stack.clone()).or_default().1, count)
        }
        (Way::Off | Way::On, None) => (waited.waits.entry(wait.stack).or_default(), 1),
    };
    waits.count += count;
    waits.time_ns += end_ns.saturating_sub(wait.time_ns);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(thread: u32, time_ns: u64, address: u64) -> Record {
        let stack = Stack { thread, kernel: vec![address], ..Stack::default() };
        Record::Sample(Sample { time_ns, stack, ..Sample::default() })
    }

    fn switch(thread: u32, time_ns: u64, way: Way) -> Record {
        Record::Switch(Switch { time_ns, thread, way })
    }

    #[test]
    fn a_wait_is_from_the_leave_to_the_return() {
        let (mut begun, mut tries, mut waited) = Default::default();
        for record in [
            // The end of a wait that began before the recording.
            switch(1, 5, Way::On),
            sample(1, 10, 0xa),
            switch(1, 11, Way::Off),
            sample(2, 12, 0xa),
            switch(2, 12, Way::Preempted),
            switch(1, 40, Way::On),
            sample(1, 50, 0xa),
            switch(1, 50, Way::Off),
            switch(2, 112, Way::On),
            switch(1, 60, Way::On),
            sample(1, 70, 0xb),
            Record::Lost(1, 3),
            switch(1, 900, Way::On),
        ] {
            take(record, &mut begun, &mut tries, &mut waited);
        }
        let all = |side: &BTreeMap<Stack, Waits>| -> Vec<(u32, u64, u64)> {
            side.iter().map(|(stack, waits)| (stack.thread, waits.count, waits.time_ns)).collect()
        };
        assert_eq!(all(&waited.waits), [(1, 2, 40)]);
        assert_eq!(all(&waited.without_cpu), [(2, 1, 100)]);
        assert_eq!((waited.lost, begun.len()), (3, 0));
    }
    #[test]
    fn waits_within_the_call_that_takes_a_lock_are_one_collision_of_it() {
        let function = |address: u64, top: u64| {
            let stack = Stack { thread: 1, user: vec![address, 0x99], ..Stack::default() };
            let behind = [8, top, 8].into_iter().flat_map(u64::to_ne_bytes).collect();
            Record::Sample(Sample { stack, behind, ..Sample::default() })
        };
        let end = || {
            let stack = Stack { thread: 1, user: vec![0x20], ..Stack::default() };
            Record::Sample(Sample { stack, ..Sample::default() })
        };
        let (mut begun, mut tries, mut waited) = Default::default();
        for record in [
            function(0x5, 0x21),
            sample(1, 10, 0xa),
            switch(1, 11, Way::Off),
            switch(1, 40, Way::On),
            // Woken, but too late: it waits again.
            sample(1, 50, 0xa),
            switch(1, 50, Way::Off),
            switch(1, 55, Way::On),
            end(),
            sample(1, 60, 0xb),
            switch(1, 60, Way::Off),
            switch(1, 100, Way::On),
            function(0x5, 0x21),
            end(),
        ] {
            take(record, &mut begun, &mut tries, &mut waited);
        }
        let told: Vec<_> = waited.tries.iter().collect();
        let [(stack, tried)] = &told[..] else { panic!("{told:?}") };
        assert_eq!(stack.user, [0x5, 0x20, 0x99]);
        assert_eq!(**tried, (2, Waits { count: 1, time_ns: 35 }));
        let others: Vec<_> = waited.waits.values().copied().collect();
        assert_eq!(others, [Waits { count: 1, time_ns: 40 }]);
    }
}
