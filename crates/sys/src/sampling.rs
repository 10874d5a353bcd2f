//! Samples of what a thread executes and waits for (perf_event_open(2)), as the records that the kernel writes.
//!
//! Owns the event and its ring buffer. Never interprets a record.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// What triggers samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SampleTrigger {
    /// The processor's cycle counter. A virtual machine may not have one.
    Cycles,
    /// A kernel clock that runs while the thread does.
    CpuClock,
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

/// The room for records that were not read yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// 512 KiB, about a thousand deep stacks.
    Large,
    /// 64 KiB: for a few samples per second. Locked memory of a user without privileges is short.
    Small,
}

impl Room {
    /// Pages of the ring buffer after its first one; the kernel wants a power of two.
    fn pages(self) -> usize {
        match self {
            Self::Large => 128,
            Self::Small => 16,
        }
    }
}

const PAGE: usize = 4096;

/// A position in the ring, by its offset in the first page (`struct perf_event_mmap_page`).
#[derive(Clone, Copy)]
enum Position {
    /// The writer's.
    Head = 1024,
    /// The reader's.
    Tail = 1032,
}

/// Words of `struct perf_event_attr` up to its fifth version.
const ATTRIBUTE_WORDS: usize = 14;

/// The content of each sample: address, thread, time, call chain; after these the fields of a tracepoint
/// (`PERF_SAMPLE_*`).
const SAMPLE_TYPE: u64 = 1 | 2 | 4 | (1 << 5);
const WITH_FIELDS: u64 = 1 << 10;
/// `PERF_SAMPLE_STACK_USER`.
const WITH_STACK_TOP: u64 = 1 << 13;
/// Bytes of the top of a stack: on x86-64 the return address, at the begin of a function.
const STACK_TOP: u64 = 8;

/// Bits of the flags: `exclude_kernel`, `exclude_hv`, `freq`.
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const BY_FREQUENCY: u64 = 1 << 10;
/// `exclude_callchain_kernel`, `exclude_callchain_user`.
const EXCLUDE_CHAINS: u64 = 3 << 21;
/// `sample_id_all`, `use_clockid`, `context_switch`.
const TIME_IN_ALL: u64 = 1 << 18;
const WITH_CLOCK: u64 = 1 << 25;
const WITH_SWITCHES: u64 = 1 << 26;

/// `PERF_EVENT_IOC_SET_OUTPUT`: an event writes into the ring of another one.
const SET_OUTPUT: libc::Ioctl = 0x2405;

/// The monotonic clock, in the upper half of its word.
const CLOCK: u64 = (libc::CLOCK_MONOTONIC as u64) << 32;

/// Samples of one thread.
#[derive(Debug)]
pub struct Sampler {
    /// Open as long as samples are taken; all write into one ring, in order of time.
    events: Vec<OwnedFd>,
    /// Invariant: nothing else refers to this mapping, which has as many pages as `room` says, and one before them.
    ring: NonNull<u8>,
    room: Room,
    buffer: Vec<u8>,
}

// SAFETY: the mapping belongs to this value alone, and the kernel lets any thread of the process read it.
unsafe impl Send for Sampler {}

impl Sampler {
    /// Begins to sample a thread: this many times per second of its CPU time, or each time for a source that is an
    /// event.
    ///
    /// # Errors
    /// If the kernel has no such counter (`NotFound`), does not allow it (`PermissionDenied`), or the thread does not
    /// exist.
    pub fn open(
        thread: u32,
        sources: &[SampleTrigger],
        hertz: u64,
        modes: Modes,
        room: Room,
    ) -> io::Result<Self> {
        let events = sources.iter().map(|source| event(thread, source, hertz, modes));
        let events: Vec<OwnedFd> = events.collect::<io::Result<_>>()?;
        let Some((first, others)) = events.split_first() else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let ring = map(first.as_fd(), room)?;
        let mut sampler = Self { events: Vec::new(), ring, room, buffer: Vec::new() };
        for other in others {
            // SAFETY: both numbers are descriptors of events that are open; no memory is given.
            let result = unsafe { libc::ioctl(other.as_raw_fd(), SET_OUTPUT, first.as_raw_fd()) };
            if result < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        sampler.events = events;
        Ok(sampler)
    }

    /// Takes the new records; each has its header of eight bytes.
    pub fn drain(&mut self, mut take: impl FnMut(&[u8])) {
        let head = self.position(Position::Head).load(Ordering::Acquire);
        let tail = self.position(Position::Tail).load(Ordering::Relaxed);
        self.buffer.clear();
        let (size, count) = ((self.room.pages() * PAGE) as u64, head.wrapping_sub(tail));
        for at in 0..count.min(size) {
            let place = PAGE + ((tail + at) % size) as usize;
            // SAFETY: the place is within the mapping, behind its first page.
            let byte = unsafe { self.ring.add(place) };
            // SAFETY: the kernel has written all bytes before the head, which was read with acquire, and does not write
            // over them before the tail has moved.
            self.buffer.push(unsafe { byte.read() });
        }
        self.position(Position::Tail).store(head, Ordering::Release);
        let mut rest = &self.buffer[..];
        while let Some(size) = rest.get(6..8) {
            let size = usize::from(u16::from_ne_bytes([size[0], size[1]]));
            if size < 8 || size > rest.len() {
                break;
            }
            let (record, behind) = rest.split_at(size);
            take(record);
            rest = behind;
        }
    }

    fn position(&self, which: Position) -> &AtomicU64 {
        // SAFETY: both are within the first page of the mapping.
        let place = unsafe { self.ring.add(which as usize) };
        // SAFETY: it is aligned to eight bytes, lives as long as this, and the kernel reads and writes it as a whole.
        unsafe { AtomicU64::from_ptr(place.as_ptr().cast()) }
    }
}

/// Opens one event of a thread, which counts from now on.
fn event(thread: u32, source: &SampleTrigger, hertz: u64, modes: Modes) -> io::Result<OwnedFd> {
    let mut attribute = [0_u64; ATTRIBUTE_WORDS];
    let (kind, event, period, more) = match source {
        SampleTrigger::Cycles => (0, 0, hertz, BY_FREQUENCY),
        SampleTrigger::CpuClock => (1, 0, hertz, BY_FREQUENCY),
        SampleTrigger::Switches => (1, 3, 1, WITH_SWITCHES),
        SampleTrigger::Tracepoint(number) => (2, *number, 1, 0),
        SampleTrigger::Probe(probe) => {
            (probe.kind, u64::from(probe.edge == CallEdge::Return), 1, 0)
        }
    };
    // The kind and, above it, the size of the attribute.
    attribute[0] = kind | ((size_of_val(&attribute) as u64) << 32);
    attribute[1] = event;
    attribute[2] = period;
    attribute[3] = SAMPLE_TYPE
        | match source {
            SampleTrigger::Tracepoint(_) => WITH_FIELDS,
            SampleTrigger::Probe(Probe { edge: CallEdge::Begin, .. }) => WITH_STACK_TOP,
            _ => 0,
        };
    let excluded = match modes {
        Modes::Both => 0,
        Modes::User => EXCLUDE_KERNEL,
        Modes::Stackless => EXCLUDE_CHAINS,
    };
    attribute[5] = more | EXCLUDE_HYPERVISOR | TIME_IN_ALL | WITH_CLOCK | excluded;
    attribute[11] = CLOCK;
    if let SampleTrigger::Probe(probe) = source {
        // The kernel copies the path during the call.
        attribute[7] = probe.path.as_ptr() as u64;
        attribute[8] = probe.offset;
        attribute[11] |= STACK_TOP;
    }
    let thread =
        libc::pid_t::try_from(thread).map_err(|_| io::Error::from_raw_os_error(libc::ESRCH))?;
    let (any_cpu, no_group, close_on_exec) = (-1_i32, -1_i32, 8_u64);
    // SAFETY: the kernel reads as many bytes of the attribute as its size field says, which is that of the array, and
    // the string of a probe, which lives in `source`; the other arguments are numbers.
    let number = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            attribute.as_ptr(),
            thread,
            any_cpu,
            no_group,
            close_on_exec,
        )
    };
    if number < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor, and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(number as i32) })
}

fn map(event: BorrowedFd<'_>, room: Room) -> io::Result<NonNull<u8>> {
    let length = (1 + room.pages()) * PAGE;
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: the kernel chooses an address where nothing is mapped.
    let place =
        unsafe { mmap(std::ptr::null_mut(), length, protection, MapFlags::SHARED, event, 0) };
    let place = place.map_err(io::Error::from)?;
    NonNull::new(place.cast()).ok_or_else(|| io::Error::other("a mapping at no address"))
}

impl Drop for Sampler {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nothing refers to it any more.
        let _unmapped =
            unsafe { munmap(self.ring.as_ptr().cast(), (1 + self.room.pages()) * PAGE) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_thread_is_sampled_while_it_works() {
        let thread = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let opened =
            Sampler::open(thread, &[SampleTrigger::CpuClock], 1_000, Modes::User, Room::Small);
        let mut sampler = match opened {
            Ok(sampler) => sampler,
            // A container may forbid sampling.
            Err(error) => {
                assert!(
                    matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM | libc::ENOSYS)),
                    "{error}"
                );
                return;
            }
        };
        let mut kinds = Vec::new();
        let mut number = 1_u64;
        while kinds.iter().filter(|kind| **kind == 9).count() < 20 {
            for _ in 0..100_000 {
                number = std::hint::black_box(number.wrapping_mul(3));
            }
            sampler.drain(|record| {
                kinds.push(u32::from_ne_bytes([record[0], record[1], record[2], record[3]]))
            });
        }
        assert!(
            Sampler::open(u32::MAX - 1, &[SampleTrigger::CpuClock], 100, Modes::User, Room::Large)
                .is_err()
        );
    }
}
