//! Samples of what a thread executes and waits for (perf_event_open(2)), as the records that the kernel writes.
//!
//! Owns the ring buffer of each thread; `event` opens what fills it. Never interprets a record.

mod event;
mod trigger;

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

pub use trigger::{
    CallEdge, Modes, Probe, Room, SampleForm, SampleTarget, SampleTrigger, UserStacks,
};

const PAGE: usize = 4096;

/// A position in the ring, by its offset in the first page (`struct perf_event_mmap_page`).
#[derive(Clone, Copy)]
enum Position {
    /// The writer's.
    Head = 1024,
    /// The reader's.
    Tail = 1032,
}

/// `PERF_EVENT_IOC_SET_OUTPUT`: an event writes into the ring of another one.
const SET_OUTPUT: libc::Ioctl = 0x2405;

/// Samples of one thread, or of one CPU.
#[derive(Debug)]
pub struct Sampler {
    /// Open as long as samples are taken; all write into one ring, in order of time.
    events: Vec<OwnedFd>,
    /// Invariant: nothing else refers to this mapping, which has so many pages, and one before them.
    ring: NonNull<u8>,
    pages: usize,
    buffer: Vec<u8>,
}

// SAFETY: the mapping belongs to this value alone, and the kernel lets any thread of the process read it.
unsafe impl Send for Sampler {}

impl Sampler {
    /// Begins to sample a thread or a CPU: this many times per second of its CPU time, or each time for a trigger that
    /// is an event.
    ///
    /// # Errors
    /// If the kernel has no such counter (`NotFound`), does not allow it (`PermissionDenied`), or the thread does not
    /// exist.
    pub fn open(
        target: SampleTarget,
        triggers: &[SampleTrigger],
        form: &SampleForm,
    ) -> io::Result<Self> {
        let events = triggers.iter().map(|trigger| event::open(target, trigger, form));
        let events: Vec<OwnedFd> = events.collect::<io::Result<_>>()?;
        let Some((first, others)) = events.split_first() else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let (ring, pages) = map(first.as_fd(), form.room)?;
        let mut sampler = Self { events: Vec::new(), ring, pages, buffer: Vec::new() };
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
        let size = self.pages * PAGE;
        let count = usize::try_from(head.wrapping_sub(tail)).unwrap_or(size).min(size);
        let begin = (tail % size as u64) as usize;
        let first = count.min(size - begin);
        self.buffer.clear();
        // At the end of the ring, records go on at its begin.
        for (begin, length) in [(begin, first), (0, count - first)] {
            // SAFETY: the place is within the mapping, behind its first page.
            let place = unsafe { self.ring.add(PAGE + begin) };
            // SAFETY: these bytes are within the mapping. The kernel has written all bytes before the head, which was
            // read with acquire, and does not write over them before the tail has moved.
            let bytes = unsafe { std::slice::from_raw_parts(place.as_ptr(), length) };
            self.buffer.extend_from_slice(bytes);
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

/// Maps the ring of an event; returns its pages, too.
fn map(event: BorrowedFd<'_>, room: Room) -> io::Result<(NonNull<u8>, usize)> {
    let mut pages = room.pages();
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    loop {
        let length = (1 + pages) * PAGE;
        // SAFETY: the kernel chooses an address where nothing is mapped.
        let place =
            unsafe { mmap(std::ptr::null_mut(), length, protection, MapFlags::SHARED, event, 0) };
        match place {
            Ok(place) => {
                let none = || io::Error::other("a mapping at no address");
                return NonNull::new(place.cast()).map(|ring| (ring, pages)).ok_or_else(none);
            }
            Err(rustix::io::Errno::PERM | rustix::io::Errno::NOMEM)
                if pages > Room::Small.pages() =>
            {
                pages /= 2;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nothing refers to it any more.
        let _unmapped = unsafe { munmap(self.ring.as_ptr().cast(), (1 + self.pages) * PAGE) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_thread_is_sampled_while_it_works() {
        let thread = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let form = SampleForm {
            modes: Modes::User,
            user: UserStacks::FramePointers,
            hertz: 1_000,
            room: Room::Small,
        };
        let target = SampleTarget::Thread(thread);
        let opened = Sampler::open(target, &[SampleTrigger::CpuClock], &form);
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
        let nobody = SampleTarget::Thread(u32::MAX - 1);
        assert!(Sampler::open(nobody, &[SampleTrigger::CpuClock], &form).is_err());
    }
}
