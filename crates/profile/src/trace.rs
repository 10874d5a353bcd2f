//! Kernel events with a begin and an end: system calls, and waits for kernel locks.
//!
//! Owns how their records become pairs.

use std::collections::BTreeMap;
use std::io;

use syscalls::Sysno;

use sys::sampling::{Modes, Room, SampleForm, SampleTrigger, UserStacks};

use crate::limits::HUGE_ROOMS;
use crate::record::{Record, Sample, Stack};
use crate::refused::Refused;
use crate::signals::{DELIVERY, HANDLER_END, Signals};
use crate::threads::{Scope, Threads, targets};
use crate::tracepoints::number;
use crate::waits::Waits;

/// The kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceEvent {
    /// System calls, without their stacks.
    Calls,
    /// Waits for kernel locks, including those that spin.
    Locks,
}

/// The tracepoints of system calls.
const CALLS: [&str; 2] = ["raw_syscalls/sys_enter", "raw_syscalls/sys_exit"];

/// A recording of pairs.
#[derive(Debug)]
pub struct Tracing {
    points: Tracepoints,
    threads: Threads,
    begun: BTreeMap<(u32, u64), Sample>,
    pairs: Pairs,
}

/// The tracepoints of a recording, by their ids.
#[derive(Clone, Copy, Debug)]
struct Tracepoints {
    traced: TraceEvent,
    end: u64,
    /// That of signals, which are recorded with calls, if the kernel has it.
    signal: Option<u64>,
}

/// The recorded pairs.
#[derive(Debug, Default)]
pub struct Pairs {
    /// By the number of the system call, or the flags of the lock, and the stack at its begin.
    pub all: BTreeMap<(u64, Stack), Waits>,
    /// How often each system call ended with each error, by their numbers.
    pub errors: BTreeMap<(u64, i32), u64>,
    /// The sum of the results of each system call that succeeded: of reads and writes, bytes.
    pub results: BTreeMap<u64, u64>,
    /// The sum of the descriptors that each poll(2) or select(2) was given.
    pub(crate) watched: BTreeMap<u64, u64>,
    pub(crate) refused: Refused,
    pub(crate) signals: Signals,
    /// Records lost because the ring buffer was full.
    pub lost: u64,
    /// The times of the first and the last pair, in nanoseconds of the monotonic clock.
    span_ns: Option<(u64, u64)>,
}

impl Pairs {
    /// The seconds from the first to the last pair: those for which was recorded, if the ring buffer was full, or if
    /// there were so many that it was ended early. To end it may take longer than that.
    pub fn seconds_seen(&self) -> Option<f64> {
        let seconds = |(first, last): (u64, u64)| last.saturating_sub(first) as f64 / 1e9;
        self.span_ns.map(|span| seconds(span).max(1e-4))
    }
}

impl Tracing {
    /// Begins to record.
    ///
    /// # Errors
    /// `NotFound` without the process or tracefs, `Unsupported` if the kernel has no such tracepoints,
    /// `PermissionDenied`.
    pub fn begin(scope: Scope, traced: TraceEvent) -> io::Result<Self> {
        let (names, modes) = match traced {
            TraceEvent::Calls => (CALLS, Modes::Stackless),
            TraceEvent::Locks => (["lock/contention_begin", "lock/contention_end"], Modes::Both),
        };
        Self::begin_with(traced, names, |triggers| Threads::of_events(scope, triggers, modes))
    }

    /// Begins to record system calls for a moment, with little memory: some thousands of each thread.
    ///
    /// # Errors
    /// As [`Tracing::begin`].
    pub fn begin_small(scope: Scope) -> io::Result<Self> {
        let is_few = targets(scope)?.len() <= HUGE_ROOMS;
        let form = SampleForm {
            modes: Modes::Stackless,
            user: UserStacks::FramePointers,
            hertz: 0,
            room: if is_few { Room::Large } else { Room::Small },
        };
        Self::begin_with(TraceEvent::Calls, CALLS, |triggers| Threads::of(scope, triggers, form))
    }

    fn begin_with(
        traced: TraceEvent,
        names: [&str; 2],
        threads: impl FnOnce(&[SampleTrigger]) -> io::Result<Threads>,
    ) -> io::Result<Self> {
        let [begin, end] = names.map(number);
        let (begin, end) = (begin?, end?);
        let signal = (traced == TraceEvent::Calls).then(|| number(DELIVERY).ok()).flatten();
        let triggers = [Some(begin), Some(end), signal].into_iter().flatten();
        let threads = threads(&triggers.map(SampleTrigger::Tracepoint).collect::<Vec<_>>())?;
        let points = Tracepoints { traced, end, signal };
        Ok(Self { points, threads, begun: BTreeMap::new(), pairs: Pairs::default() })
    }

    /// The number of pairs so far.
    pub fn count(&self) -> u64 {
        self.pairs.all.values().map(|waits| waits.count).sum()
    }

    /// Whether records were lost because a ring buffer was full.
    pub fn is_full(&self) -> bool {
        self.pairs.lost > 0
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
        let (points, pairs, begun) = (self.points, &mut self.pairs, &mut self.begun);
        self.threads.drain(|record| match record {
            Record::Sample(sample) => pair(points, sample, begun, pairs),
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

/// Which argument of a call is the number of descriptors that it was given.
fn place_of_count(number: u64) -> Option<usize> {
    match Sysno::new(usize::try_from(number).ok()?)?.name() {
        "select" | "pselect6" => Some(0),
        "poll" | "ppoll" => Some(1),
        _ => None,
    }
}

fn pair(
    points: Tracepoints,
    sample: Sample,
    begun: &mut BTreeMap<(u32, u64), Sample>,
    pairs: &mut Pairs,
) {
    // The fields that all events have are eight bytes; the first is the tracepoint's id.
    let number = |at: usize| sample.fields().get(at..).and_then(|bytes| bytes.first_chunk::<8>());
    let Some(key) = number(8).map(|bytes| u64::from_ne_bytes(*bytes)) else { return };
    let event = sample.fields().first_chunk().map_or(0, |bytes| u16::from_ne_bytes(*bytes));
    let (event, is_calls) = (u64::from(event), points.traced == TraceEvent::Calls);
    if points.signal == Some(event) {
        pairs.signals.note(key);
        begun.insert((sample.stack.thread, HANDLER_END), sample);
        return;
    }
    let place = (sample.stack.thread, key);
    let is_handler = is_calls && key == HANDLER_END;
    if event != points.end && !is_handler {
        // A lock that spins before it sleeps has two begins; the first one counts.
        if is_calls || !begun.contains_key(&place) {
            begun.insert(place, sample);
        }
        return;
    }
    let Some(begin) = begun.remove(&place) else { return };
    let (first, last) = pairs.span_ns.unwrap_or((begin.time_ns, sample.time_ns));
    pairs.span_ns = Some((first.min(begin.time_ns), last.max(sample.time_ns)));
    if is_calls
        && !is_handler
        && let Some(result) = number(16).map(|bytes| i64::from_ne_bytes(*bytes))
    {
        if let Some(error) = error_of(result) {
            *pairs.errors.entry((key, error)).or_default() += 1;
        }
        *pairs.results.entry(key).or_default() += u64::try_from(result).unwrap_or(0);
        // The arguments of a call are behind its number.
        let argument = |at: usize| begin.fields().get(16 + 8 * at..)?.first_chunk::<8>();
        if let Some(count) = place_of_count(key).and_then(argument) {
            *pairs.watched.entry(key).or_default() += u64::from_ne_bytes(*count);
        }
        let first = argument(0).map_or(0, |bytes| i64::from_ne_bytes(*bytes));
        pairs.refused.note(sample.stack.thread, key, first, result);
    }
    let flags = begin.fields().get(16..).and_then(|bytes| bytes.first_chunk());
    let kind = match points.traced {
        TraceEvent::Calls => key,
        TraceEvent::Locks => u64::from(flags.map_or(0, |bytes| u32::from_ne_bytes(*bytes))),
    };
    let mut stack = begin.stack;
    if is_calls {
        (stack.kernel, stack.user) = (Vec::new(), Vec::new());
    }
    let waits = pairs.all.entry((kind, stack)).or_default();
    waits.count += 1;
    waits.time_ns += sample.time_ns.saturating_sub(begin.time_ns);
}

/// The error that a system call returned. Numbers from 512 on are the kernel's own: the call goes on after a signal.
fn error_of(result: i64) -> Option<i32> {
    let error = i32::try_from(result.checked_neg()?).ok()?;
    (1..512).contains(&error).then_some(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn points(traced: TraceEvent) -> Tracepoints {
        Tracepoints { traced, end: 12, signal: Some(13) }
    }

    fn sample(time_ns: u64, thread: u32, event: u16, key: u64, flags: u32) -> Sample {
        let mut fields = [0; 24];
        fields[..2].copy_from_slice(&event.to_ne_bytes());
        fields[8..16].copy_from_slice(&key.to_ne_bytes());
        fields[16..20].copy_from_slice(&flags.to_ne_bytes());
        let stack = Stack { thread, kernel: vec![0xa], ..Stack::default() };
        let behind = [&24_u32.to_ne_bytes()[..], &fields].concat();
        Sample { time_ns, stack, behind, ..Sample::default() }
    }

    fn all(traced: TraceEvent, samples: Vec<Sample>) -> Vec<(u64, u32, u64, u64)> {
        let (mut begun, mut pairs) = (BTreeMap::new(), Pairs::default());
        let points = points(traced);
        samples.into_iter().for_each(|sample| pair(points, sample, &mut begun, &mut pairs));
        let row = |((kind, stack), waits): (&(u64, Stack), &Waits)| {
            (*kind, stack.thread, waits.count, waits.time_ns)
        };
        pairs.all.iter().map(row).collect()
    }

    #[test]
    fn the_time_of_a_recording_is_that_of_its_pairs() {
        let (mut begun, mut pairs) = (BTreeMap::new(), Pairs::default());
        assert_eq!(pairs.seconds_seen(), None);
        for at in [1_000, 20_000_000] {
            for (time_ns, event) in [(at, 11), (at + 1_000, 12)] {
                let sample = sample(time_ns, 1, event, 44, 0);
                pair(points(TraceEvent::Calls), sample, &mut begun, &mut pairs);
            }
        }
        let seconds = pairs.seconds_seen().expect("two were recorded");
        assert!((0.019..0.021).contains(&seconds), "{seconds}");
    }

    #[test]
    fn a_handler_of_a_signal_ends_with_the_call_that_never_returns() {
        let calls = vec![
            sample(1, 1, 11, HANDLER_END, 0),
            sample(10, 1, 13, 27, 0),
            sample(12, 1, 11, 44, 0),
            sample(13, 1, 12, 44, 0),
            sample(30, 1, 11, HANDLER_END, 7),
            sample(31, 1, 12, u64::MAX, 0),
        ];
        assert_eq!(all(TraceEvent::Calls, calls), [(HANDLER_END, 1, 1, 20), (44, 1, 1, 1)]);
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
        assert_eq!(
            [0, 5, -2, -511, -512, i64::MIN].map(error_of),
            [None, None, Some(2), Some(511), None, None]
        );
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
