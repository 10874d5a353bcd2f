//! Waking a sleeping scheduler: the wake descriptor that ends its wait. [`SleepMark`] says that it is asleep.
//!
//! Owns the eventfd pair. Never carries a message ([`crate::ring`] does) and never decides whether to wake (the
//! mark does).
//!
//! # Life of a wake descriptor
//! A wake descriptor is created before the descriptor tables are separated, so its number means the same file in every
//! table, and it lives as long as the process: dropping a [`Waker`] or a [`WakeSource`] closes nothing, because
//! it could only close the number in the dropping thread's table. A thread that closes what it inherited
//! ([`crate::thread::PrivateTable::close_all_except`]) has to keep the numbers of all wakers it may use and of
//! its own source; a waker used after its number was closed would write to whatever file has the number then.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, RawFd};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;

pub use crate::sleep_mark::SleepMark;

/// Creates a wake descriptor and returns its two ends. Call it before any thread separates its descriptor table.
///
/// # Errors
/// The kernel's, if the process has no descriptors or memory left.
pub fn wake_pair() -> io::Result<(Waker, WakeSource)> {
    let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
    // Leaked on purpose: an OwnedFd would close the number in one table out of many.
    let number = Number(eventfd(0, flags)?.into_raw_fd());
    Ok((Waker { number }, WakeSource { number }))
}

/// The number of a wake descriptor.
///
/// Invariant: it came from `eventfd`, and nothing of ours closes it; the module's contract is that a thread which
/// closes inherited descriptors keeps the wake descriptors it uses.
#[derive(Clone, Copy, Debug)]
struct Number(RawFd);

impl AsFd for Number {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: it is open (invariant of the type).
        unsafe { BorrowedFd::borrow_raw(self.0) }
    }
}

/// Ends the wait of the scheduler that holds the [`WakeSource`], from any thread.
#[derive(Clone, Debug)]
pub struct Waker {
    number: Number,
}

impl Waker {
    /// Makes the source readable. Waking twice before the sleeper drains is the same as waking once.
    ///
    /// # Panics
    /// If the number is not open in this thread's table: it was missing in the list of those to keep.
    pub fn wake(&self) {
        match rustix::io::write(self.number, &1_u64.to_ne_bytes()) {
            // The counter is at its maximum, hence not zero, hence the source is readable.
            Ok(_) | Err(Errno::AGAIN) => {}
            Err(error) => {
                panic!("wake descriptor {} is not open in this table: {error}", self.number.0)
            }
        }
    }
}

impl AsRawFd for Waker {
    fn as_raw_fd(&self) -> RawFd {
        self.number.0
    }
}

/// The sleeping side, which the pollset watches for reading.
#[derive(Debug)]
pub struct WakeSource {
    number: Number,
}

impl WakeSource {
    /// Makes the source not readable again; returns whether it was. For the place of this call in a turn see the
    /// module's documentation.
    ///
    /// # Panics
    /// If the number is not open in this thread's table: it was missing in the list of those to keep.
    pub fn drain(&self) -> bool {
        let mut count = [0_u8; 8];
        match rustix::io::read(self.number, &mut count) {
            Ok(_) => true,
            Err(Errno::AGAIN) => false,
            Err(error) => {
                panic!("wake descriptor {} is not open in this table: {error}", self.number.0)
            }
        }
    }
}

impl WakeSource {
    /// Blocks until woken, or for this long: this is how a helper thread, which has no pollset, sleeps.
    pub fn wait(&self, at_most: Option<Duration>) {
        let mut polled = [PollFd::from_borrowed_fd(self.as_fd(), PollFlags::IN)];
        let at_most = at_most.and_then(|time| Timespec::try_from(time).ok());
        // An interrupted poll is an early check of the mailboxes, nothing else.
        let _early_look = poll(&mut polled, at_most.as_ref());
    }
}

impl AsRawFd for WakeSource {
    fn as_raw_fd(&self) -> RawFd {
        self.number.0
    }
}

impl AsFd for WakeSource {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.number.as_fd()
    }
}
