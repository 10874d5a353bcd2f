//! Busy polling of network devices by one epoll before its thread sleeps (Linux 6.9, `ioctl_eventpoll(2)`).
//!
//! Owns the two calls. The caller decides how much CPU time it is worth.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// `struct epoll_params` of linux/eventpoll.h.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Parameters {
    microseconds: u32,
    budget: u16,
    is_preferred: u8,
    pad: u8,
}

/// `EPIOCSPARAMS`, `EPIOCGPARAMS`.
const SET: libc::Ioctl = 0x4008_8a01_u32 as libc::Ioctl;
const GET: libc::Ioctl = 0x8008_8a02_u32 as libc::Ioctl;

/// Packets taken at once: the kernel's default. More requires `CAP_NET_ADMIN`.
const BUDGET: u16 = 8;

/// Sets how long the device is polled before the thread sleeps; 0 turns it off.
///
/// # Errors
/// `ErrorKind::InvalidInput` and `Other` (`ENOTTY`) if the kernel does not support the call.
pub fn set_busy_polling_us(epoll: &impl AsFd, microseconds: u32) -> io::Result<()> {
    let wanted = Parameters { microseconds, budget: BUDGET, ..Parameters::default() };
    // SAFETY: the kernel reads one `struct epoll_params`, whose layout this is.
    let answer = unsafe { libc::ioctl(epoll.as_fd().as_raw_fd(), SET, &raw const wanted) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// How long the device is polled.
///
/// # Errors
/// As [`set_busy_polling_us`].
pub fn busy_polling_us(epoll: &impl AsFd) -> io::Result<u32> {
    let mut found = Parameters::default();
    // SAFETY: the kernel writes one `struct epoll_params`, whose layout this is.
    let answer = unsafe { libc::ioctl(epoll.as_fd().as_raw_fd(), GET, &raw mut found) };
    if answer == 0 { Ok(found.microseconds) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoll_polls_as_long_as_it_was_told() {
        let epoll = rustix::event::epoll::create(rustix::event::epoll::CreateFlags::CLOEXEC)
            .expect("an epoll");
        match set_busy_polling_us(&epoll, 50) {
            Ok(()) => {
                assert_eq!(busy_polling_us(&epoll).expect("the kernel knows the other call"), 50);
                set_busy_polling_us(&epoll, 0).expect("as before");
                assert_eq!(busy_polling_us(&epoll).expect("the kernel knows the other call"), 0);
            }
            // Before Linux 6.9 the kernel has no such call.
            Err(error) => assert_eq!(error.raw_os_error(), Some(libc::ENOTTY), "{error}"),
        }
    }
}
