//! The events that trigger samples, and the form of a sample.
//!
//! Owns the probes of functions and the kernel's number for that kind of event. Opens nothing.

use std::ffi::CString;
use std::io;
use std::path::Path;

/// The trigger of samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SampleTrigger {
    /// The processor's cycle counter. A virtual machine may not have one.
    Cycles,
    /// A kernel clock that runs while the thread does.
    CpuClock,
    /// Page faults, each or one of several: the sample says of how many.
    PageFaults,
    /// Each time the thread leaves its CPU, with records of when it leaves and returns.
    Switches,
    /// Each time the thread hits a kernel tracepoint, given by its number, with the fields of the tracepoint.
    Tracepoint(u64),
    /// Each time the thread calls a function, or returns from it.
    Probe(Probe),
}

/// A function of a program whose calls are events (`perf_uprobe`). Closing the event removes it completely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The kernel's number for this kind of event.
    kind: u64,
    /// The file that contains it.
    path: CString,
    /// Its offset in the file.
    offset: u64,
    edge: CallEdge,
}

/// The moment of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEdge {
    /// Its begin; the sample also has the top of the stack.
    Begin,
    /// Its return.
    Return,
}

impl Probe {
    /// A function in a file that programs map, by its offset in that file.
    ///
    /// # Errors
    /// `NotFound` if the kernel has no such events.
    pub fn of_file(file: &Path, offset: u64, edge: CallEdge) -> io::Result<Self> {
        let kind = kind_of_probes()?;
        Ok(Self { kind, path: CString::new(file.as_os_str().as_encoded_bytes())?, offset, edge })
    }

    /// The kernel's number for this kind of event.
    pub(crate) fn kind(&self) -> u64 {
        self.kind
    }

    /// The file that contains the function.
    pub(crate) fn path(&self) -> &CString {
        &self.path
    }

    /// The function's offset in the file.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// The moment of the call.
    pub(crate) fn edge(&self) -> CallEdge {
        self.edge
    }
}

/// The number of this kind of event in this kernel.
fn kind_of_probes() -> io::Result<u64> {
    let path = "/sys/bus/event_source/devices/uprobe/type";
    let text = std::fs::read_to_string(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => io::Error::new(error.kind(), "this kernel has no uprobes"),
        kind => io::Error::new(kind, format!("{path}: {error}")),
    })?;
    text.trim().parse().map_err(|_| io::Error::other(format!("{path} has no number")))
}

/// The events that are sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SampleTarget {
    /// Those of one thread, on whichever CPU it runs.
    Thread(u32),
    /// Those of all threads on one CPU, which needs `CAP_PERFMON` or a low `perf_event_paranoid`.
    Cpu(u32),
}

/// Whether samples are taken in the kernel, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modes {
    /// In the kernel and in the program.
    Both,
    /// Only in the program: all that is allowed if `perf_event_paranoid` is 2 or more.
    User,
    /// In the kernel, too, but without stacks: events that are only counted.
    Stackless,
}

/// How the program's part of a stack is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserStacks {
    /// By the kernel, which follows frame pointers: it needs a program that has them.
    FramePointers,
    /// By the reader, too: each sample has the registers `ip`, `sp` and `bp` (on ARM `pc`, `sp`, `fp` and `lr`), and
    /// this many bytes of the stack, a multiple of eight below 60,000.
    Copied(u32),
}

/// The room for records that were not read yet. A user without privileges may lock little memory: if the kernel refuses
/// the room, half of it is tried, down to 64 KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// 4 MiB: for events of few threads, of which there may be ten thousands per second, with copied stacks.
    Huge,
    /// 512 KiB: about a thousand chains, or thirty copied stacks of 16 KiB.
    Large,
    /// 64 KiB: for a few samples per second.
    Small,
}

impl Room {
    /// Pages of the ring buffer after its first one; the kernel wants a power of two.
    pub(crate) fn pages(self) -> usize {
        match self {
            Self::Huge => 1024,
            Self::Large => 128,
            Self::Small => 16,
        }
    }
}

/// The form of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleForm {
    /// Whether the kernel's part is wanted.
    pub modes: Modes,
    /// How the program's part is found.
    pub user: UserStacks,
    /// Samples per second, for triggers that are clocks or counters.
    pub hertz: u64,
    /// The room for records.
    pub room: Room,
}
