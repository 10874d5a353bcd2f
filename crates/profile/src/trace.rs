//! Kernel events with a begin and an end: system calls, and waits for kernel locks.
//!
//! Owns the ids of these tracepoints, from tracefs, and how their records become pairs. Mounts
//! nothing.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use sys::sampling::{Modes, Room, SampleTrigger};

use crate::record::{Record, Sample, Stack};
use crate::threads::Threads;
use crate::waits::Waits;

/// The kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceEvent {
    /// System calls, without their stacks.
    Calls,
    /// Waits for kernel locks, including those that spin.
    Locks,
}

/// Where tracefs is mounted.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// A recording of pairs.
#[derive(Debug)]
pub struct Tracing {
    traced: TraceEvent,
    end: u64,
    threads: Threads,
    begun: BTreeMap<(u32, u64), Sample>,
    pairs: Pairs,
}

/// The recorded pairs.
#[derive(Debug, Default)]
pub struct Pairs {
    /// By the number of the system call, or the flags of the lock, and the stack at its begin.
    pub all: BTreeMap<(u64, Stack), Waits>,
    /// Records lost because the ring buffer was full.
    pub lost: u64,
}

impl Tracing {
    /// Begins to record.
    ///
    /// # Errors
    /// `NotFound` without the process or tracefs, `Unsupported` if the kernel has no such tracepoints,
    /// `PermissionDenied`.
    pub fn begin(process: u32, traced: TraceEvent) -> io::Result<Self> {
        let (names, modes) = match traced {
            TraceEvent::Calls => {
                (["raw_syscalls/sys_enter", "raw_syscalls/sys_exit"], Modes::Stackless)
            }
            TraceEvent::Locks => (["lock/contention_begin", "lock/contention_end"], Modes::Both),
        };
        let [begin, end] = names.map(number);
        let (begin, end) = (begin?, end?);
        let sources = [SampleTrigger::Tracepoint(begin), SampleTrigger::Tracepoint(end)];
        let threads = Threads::of(process, &sources, modes, 0, Room::Large)?;
        Ok(Self { traced, end, threads, begun: BTreeMap::new(), pairs: Pairs::default() })
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
        let (traced, end, pairs, begun) = (self.traced, self.end, &mut self.pairs, &mut self.begun);
        self.threads.drain(|record| match record {
            Record::Sample(sample) => pair(traced, end, sample, begun, pairs),
            Record::Lost(thread, count) => {
                pairs.lost += count;
                begun.retain(|(other, _), _| *other != thread);
            }
            Record::Switch(_) | Record::Other => {}
        });
    }

    /// Ends the recording, and returns the pairs.
    #[must_use]
    pub fn end(mut self) -> Pairs {
        self.drain();
        self.pairs
    }
}

fn pair(
    traced: TraceEvent,
    end: u64,
    sample: Sample,
    begun: &mut BTreeMap<(u32, u64), Sample>,
    pairs: &mut Pairs,
) {
    // The fields that all events have are eight bytes; the first is the tracepoint's id.
    let number = |at: usize| sample.fields().get(at..).and_then(|bytes| bytes.first_chunk::<8>());
    let Some(key) = number(8).map(|bytes| u64::from_ne_bytes(*bytes)) else { return };
    let event = sample.fields().first_chunk().map_or(0, |bytes| u16::from_ne_bytes(*bytes));
    let place = (sample.stack.thread, key);
    if u64::from(event) != end {
        // A lock that spins before it sleeps has two begins; the first one counts.
        if traced == TraceEvent::Calls || !begun.contains_key(&place) {
            begun.insert(place, sample);
        }
        return;
    }
    let Some(begin) = begun.remove(&place) else { return };
    let flags = begin.fields().get(16..).and_then(|bytes| bytes.first_chunk());
    let kind = match traced {
        TraceEvent::Calls => key,
        TraceEvent::Locks => u64::from(flags.map_or(0, |bytes| u32::from_ne_bytes(*bytes))),
    };
    let mut stack = begin.stack;
    if traced == TraceEvent::Calls {
        (stack.kernel, stack.user) = (Vec::new(), Vec::new());
    }
    let waits = pairs.all.entry((kind, stack)).or_default();
    waits.count += 1;
    waits.time_ns += sample.time_ns.saturating_sub(begin.time_ns);
}

/// The id of a tracepoint.
fn number(name: &str) -> io::Result<u64> {
    let looks: Vec<_> =
        PLACES.iter().map(|place| (place, Path::new(place).join("events").metadata())).collect();
    let Some((place, _)) = looks.iter().find(|(_, look)| look.is_ok()) else {
        let is_denied = |look: &io::Result<_>| {
            look.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
        };
        if looks.iter().any(|(_, look)| is_denied(look)) {
            let why = "root alone may read tracefs";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        return Err(io::Error::new(
            io::ErrorKind::NotFound,
            "tracefs is not mounted: mount -t tracefs nodev /sys/kernel/tracing",
        ));
    };
    let path = format!("{place}/events/{name}/id");
    let text = std::fs::read_to_string(&path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            io::Error::new(io::ErrorKind::Unsupported, format!("this kernel has no {name}"))
        }
        kind => io::Error::new(kind, format!("{path}: {error}")),
    })?;
    text.trim().parse().map_err(|_| io::Error::other(format!("{path} has no number")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: u64 = 12;

    fn sample(time_ns: u64, thread: u32, event: u16, key: u64, flags: u32) -> Sample {
        let mut fields = [0; 24];
        fields[..2].copy_from_slice(&event.to_ne_bytes());
        fields[8..16].copy_from_slice(&key.to_ne_bytes());
        fields[16..20].copy_from_slice(&flags.to_ne_bytes());
        let stack = Stack { thread, kernel: vec![0xa], user: Vec::new() };
        let behind = [&24_u32.to_ne_bytes()[..], &fields].concat();
        Sample { time_ns, stack, behind }
    }

    fn all(traced: TraceEvent, samples: Vec<Sample>) -> Vec<(u64, u32, u64, u64)> {
        let (mut begun, mut pairs) = (BTreeMap::new(), Pairs::default());
        samples.into_iter().for_each(|sample| pair(traced, END, sample, &mut begun, &mut pairs));
        let row = |((kind, stack), waits): (&(u64, Stack), &Waits)| {
            (*kind, stack.thread, waits.count, waits.time_ns)
        };
        pairs.all.iter().map(row).collect()
    }

    #[test]
    fn an_end_belongs_to_the_begin_of_its_thread_and_thing() {
        let calls = vec![
            sample(5, 1, 12, 44, 0),
            sample(10, 1, 11, 44, 0),
            sample(11, 2, 11, 44, 0),
            sample(15, 1, 12, 44, 0),
            sample(31, 2, 12, 44, 0),
            sample(40, 1, 11, 44, 0),
            sample(47, 1, 12, 44, 0),
        ];
        assert_eq!(all(TraceEvent::Calls, calls), [(44, 1, 2, 12), (44, 2, 1, 20)]);
        // A mutex spins and then sleeps: one wait.
        let locks = vec![
            sample(10, 1, 11, 0xbeef, 33),
            sample(20, 1, 11, 0xbeef, 32),
            sample(12, 1, 11, 0xcafe, 1),
            sample(30, 1, 12, 0xcafe, 0),
            sample(50, 1, 12, 0xbeef, 0),
            Sample::default(),
        ];
        assert_eq!(all(TraceEvent::Locks, locks), [(1, 1, 1, 18), (33, 1, 1, 40)]);
    }
}
