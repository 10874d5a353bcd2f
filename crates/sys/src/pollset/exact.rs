//! Waits that end within microseconds of their time: `epoll_pwait2`, which has a resolution of nanoseconds.
//!
//! Owns the call and the steps of a long wait. Has no fallback: on a kernel before 5.11, which does not have the call,
//! the pollset uses another.

use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::event::epoll;
use rustix::io::Errno;

/// Whether the kernel has the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExactCall {
    /// Yes, as far as is known.
    Known,
    /// It was refused.
    Missing,
}

/// The longest wait in one step, 2 ms (in nanoseconds). The kernel may be late by a thousandth of a wait (by one in two
/// hundred for a thread of low priority), however small its timer slack: here 2 to 10 us.
const ONE_STEP_NS: u64 = 2_000_000;

/// Of a longer wait, one part in this many is left for the next step: twice the kernel's possible delay.
const LEFT_ONE_IN: u64 = 100;

// The kernel's record and ours have the same layout.
const _: () = assert!(size_of::<epoll::Event>() == size_of::<libc::epoll_event>());

/// How long to wait first if this much time is left.
pub(super) fn step_ns(left_ns: u64) -> u64 {
    if left_ns <= ONE_STEP_NS { left_ns } else { left_ns - (left_ns / LEFT_ONE_IN).max(1) }
}

/// Waits for events for this long, and puts them into the room of `events`.
pub(super) fn wait(
    epoll: BorrowedFd<'_>,
    events: &mut Vec<epoll::Event>,
    timeout_ns: u64,
) -> Result<(), Errno> {
    events.clear();
    let room = i32::try_from(events.capacity()).unwrap_or(i32::MAX);
    let timeout = libc::timespec {
        tv_sec: (timeout_ns / 1_000_000_000).cast_signed(),
        tv_nsec: (timeout_ns % 1_000_000_000).cast_signed(),
    };
    // SAFETY: the kernel writes at most `room` events, which the vector has memory for, and reads `timeout`, which
    // lives for the call; no signal mask is given. By number, because old C libraries lack the function.
    let count = unsafe {
        libc::syscall(
            libc::SYS_epoll_pwait2,
            epoll.as_raw_fd(),
            events.as_mut_ptr(),
            room,
            &raw const timeout,
            std::ptr::null::<libc::sigset_t>(),
            0_usize,
        )
    };
    let Ok(count) = usize::try_from(count) else {
        let error = std::io::Error::last_os_error();
        return Err(Errno::from_io_error(&error).unwrap_or(Errno::INVAL));
    };
    // SAFETY: the kernel has written so many events, no more than there was memory for; all bits are valid in them.
    unsafe { events.set_len(count) };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_waits_are_made_in_steps_that_come_to_an_end() {
        assert_eq!(step_ns(0), 0);
        assert_eq!(step_ns(ONE_STEP_NS), ONE_STEP_NS);
        let (mut left_ns, mut steps) = (3_600_000_000_000, 0);
        while left_ns > 0 {
            let step_ns = step_ns(left_ns);
            assert!(left_ns - step_ns <= left_ns / LEFT_ONE_IN, "never far from the whole");
            left_ns -= step_ns;
            steps += 1;
        }
        assert!(steps <= 6, "an hour in {steps} steps");
    }
}
