//! What a process waits for: the stacks at which its threads leave their CPUs, with the time until they are back.
//!
//! Owns how records become waits. A thread that waits from before the first look to behind the last is not seen.

use std::collections::BTreeMap;
use std::io;

use sys::clock::monotonic_ns;
use sys::sampling::{Modes, Source};

use crate::record::{Record, Sample, Stack, Switch, Way};
use crate::threads::Threads;

/// Waits of a process, being recorded.
#[derive(Debug)]
pub struct Waiting {
    threads: Threads,
    begun: BTreeMap<u32, Begun>,
    waited: Waited,
}

/// A wait whose end has not come.
#[derive(Debug)]
struct Begun {
    time_ns: u64,
    stack: Stack,
    way: Way,
}

/// What was recorded.
#[derive(Debug, Default)]
pub struct Waited {
    /// Each stack at which a thread waited.
    pub waits: BTreeMap<Stack, Waits>,
    /// The same for threads that could have gone on, and had no CPU.
    pub without_cpu: BTreeMap<Stack, Waits>,
    /// Records that had no room.
    pub lost: u64,
}

/// Waits at one place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// How many.
    pub count: u64,
    /// Their time together, in nanoseconds.
    pub time_ns: u64,
}

impl Waiting {
    /// Begins to record the waits of a process.
    ///
    /// # Errors
    /// When there is no such process, or its kernel frames may not be seen.
    pub fn begin(process: u32) -> io::Result<Self> {
        let threads = Threads::of(process, &[Source::Switches], Modes::Both, 0)?;
        Ok(Self { threads, begun: BTreeMap::new(), waited: Waited::default() })
    }

    /// Records threads that have begun since.
    ///
    /// # Errors
    /// When none can be recorded.
    pub fn find_threads(&mut self) -> io::Result<()> {
        self.threads.find()
    }

    /// Takes the records that have come.
    pub fn drain(&mut self) {
        let (begun, waited) = (&mut self.begun, &mut self.waited);
        self.threads.drain(|record| take(record, begun, waited));
    }

    /// Ends; a wait that goes on counts until now.
    #[must_use]
    pub fn end(mut self) -> Waited {
        self.drain();
        let now_ns = monotonic_ns();
        for (_, wait) in std::mem::take(&mut self.begun) {
            note(wait, now_ns, &mut self.waited);
        }
        self.waited
    }
}

fn take(record: Record, begun: &mut BTreeMap<u32, Begun>, waited: &mut Waited) {
    match record {
        // The sample comes first: with it the stack.
        Record::Sample(Sample { time_ns, stack, .. }) => {
            begun.insert(stack.thread, Begun { time_ns, stack, way: Way::Off });
        }
        Record::Switch(Switch { time_ns, thread, way: Way::On }) => {
            if let Some(wait) = begun.remove(&thread) {
                note(wait, time_ns, waited);
            }
        }
        Record::Switch(Switch { thread, way, .. }) => {
            if let Some(wait) = begun.get_mut(&thread) {
                wait.way = way;
            }
        }
        Record::Lost(thread, count) => {
            waited.lost += count;
            // An end may be among what was lost: what comes next would be taken for it.
            begun.remove(&thread);
        }
        Record::Other => {}
    }
}

fn note(wait: Begun, end_ns: u64, waited: &mut Waited) {
    let side = match wait.way {
        Way::Preempted => &mut waited.without_cpu,
        Way::Off | Way::On => &mut waited.waits,
    };
    let waits = side.entry(wait.stack).or_default();
    waits.count += 1;
    waits.time_ns += end_ns.saturating_sub(wait.time_ns);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(thread: u32, time_ns: u64, address: u64) -> Record {
        let stack = Stack { thread, kernel: vec![address], user: Vec::new() };
        Record::Sample(Sample { time_ns, stack, fields: Vec::new() })
    }

    fn switch(thread: u32, time_ns: u64, way: Way) -> Record {
        Record::Switch(Switch { time_ns, thread, way })
    }

    #[test]
    fn a_wait_is_from_the_leave_to_the_return() {
        let (mut begun, mut waited) = (BTreeMap::new(), Waited::default());
        for record in [
            // Of a wait that began before anybody looked.
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
            take(record, &mut begun, &mut waited);
        }
        let all = |side: &BTreeMap<Stack, Waits>| -> Vec<(u32, u64, u64)> {
            side.iter().map(|(stack, waits)| (stack.thread, waits.count, waits.time_ns)).collect()
        };
        assert_eq!(all(&waited.waits), [(1, 2, 40)]);
        assert_eq!(all(&waited.without_cpu), [(2, 1, 100)]);
        assert_eq!((waited.lost, begun.len()), (3, 0));
    }
}
