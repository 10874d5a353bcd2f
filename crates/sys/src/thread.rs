//! A thread's properties in the kernel: its descriptor table, its name, its number, its timer slack.
//!
//! Owns the separation of tables. Never starts a thread.
//!
//! After [`part_descriptor_table`] a number means a file of this thread; the same number elsewhere is
//! another file. A thread started from here shares this table, not that of the process's first thread.

use std::ffi::CString;
use std::io;
use std::marker::PhantomData;
use std::num::NonZeroU64;
use std::os::fd::RawFd;

use rustix::thread::UnshareFlags;

use crate::limits::THREAD_NAME_BYTES;

/// Gives the calling thread its own descriptor table, a copy of the shared one.
///
/// # Errors
/// The kernel's (errno in [`io::Error::raw_os_error`]): no memory, or a seccomp filter forbids the call.
/// The thread then still has the shared table, and everything works with it.
pub fn part_descriptor_table() -> io::Result<PrivateTable> {
    // SAFETY: every number stays open in the copy, so what this thread owns or borrows stays valid. That no
    // descriptor moves between threads afterwards is the rule of this workspace: the types which hold one on a
    // scheduler are not Send.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::FILES) }?;
    Ok(PrivateTable { _this_thread: PhantomData })
}

/// Proof that the calling thread has its own table. It cannot leave the thread.
#[derive(Debug)]
pub struct PrivateTable {
    _this_thread: PhantomData<*const ()>,
}

impl PrivateTable {
    /// Closes what the table inherited: everything except 0 to 2 and the numbers in `keep` (in any order; negative
    /// ones are ignored). What stays open here stays open for the life of this thread, even if its
    /// owner closes it: a socket closed elsewhere would keep its peer waiting.
    ///
    /// Call it right after the separation, before the thread opens or holds anything, and keep every wake descriptor
    /// that this thread will use ([`crate::wake`]). The proof is consumed, so it cannot be called later by mistake. It
    /// touches no other thread's table; but a descriptor that this thread still owns would be closed under its
    /// owner, whose drop then closes another file with that number.
    ///
    /// # Errors
    /// On kernels before 5.9 (or if `close_range` is filtered), when /proc cannot be read either; some numbers
    /// may then be closed and others not.
    pub fn close_all_except(self, keep: &[RawFd]) -> io::Result<()> {
        let kept = kept_numbers(keep);
        for (first, last) in gaps(&kept) {
            if let Err(error) = close_range(first, last) {
                return match error.raw_os_error() {
                    // The kernel, or a filter, does not know the call.
                    Some(libc::ENOSYS | libc::EPERM) => close_by_walk(&kept),
                    _ => Err(error),
                };
            }
        }
        Ok(())
    }
}

/// 0 to 2 and the numbers to keep, ascending, each once.
fn kept_numbers(keep: &[RawFd]) -> Vec<u32> {
    let wanted = keep.iter().filter_map(|number| u32::try_from(*number).ok());
    let mut kept: Vec<u32> = (0..=2).chain(wanted).collect();
    kept.sort_unstable();
    kept.dedup();
    kept
}

/// The ranges (both ends included) between the kept numbers and above them.
fn gaps(kept: &[u32]) -> impl Iterator<Item = (u32, u32)> + '_ {
    let ends = kept.iter().skip(1).map(|next| next - 1).chain([u32::MAX]);
    kept.iter().map(|number| number + 1).zip(ends).filter(|(first, last)| first <= last)
}

fn close_range(first: u32, last: u32) -> io::Result<()> {
    const NO_FLAGS: libc::c_uint = 0;
    // SAFETY: the call takes three numbers. That nobody owns what is closed is the contract of
    // `close_all_except`, the only caller outside tests. By number, because old C libraries lack the function.
    let status = unsafe { libc::syscall(libc::SYS_close_range, first, last, NO_FLAGS) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The same, by reading which numbers are open. `/proc/self` would show the table of the first thread.
fn close_by_walk(kept: &[u32]) -> io::Result<()> {
    let mut open = Vec::new();
    for entry in std::fs::read_dir("/proc/thread-self/fd")? {
        open.extend(entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
    }
    for number in open.into_iter().filter(|number| kept.binary_search(number).is_err()) {
        // SAFETY: as in `close_range`. The walk's own number is in the list and already closed; nothing was
        // opened in this table since, so closing it again does no harm.
        unsafe { libc::close(number.cast_signed()) };
    }
    Ok(())
}

/// Names the calling thread for `ps`, `top` and debuggers. The kernel keeps [`THREAD_NAME_BYTES`] bytes: a longer
/// name is cut at a character, and any name at a NUL.
///
/// # Errors
/// The kernel's; none is known.
pub fn set_name(name: &str) -> io::Result<()> {
    let end = name.floor_char_boundary(THREAD_NAME_BYTES);
    let visible = name[..end].split('\0').next().unwrap_or_default();
    let name = CString::new(visible).expect("the text was cut at its first NUL");
    Ok(rustix::thread::set_name(&name)?)
}

/// How late the kernel may end the waits of the calling thread in order to combine them with other timers: 50 us by
/// default. For long waits it may always take a thousandth.
///
/// # Errors
/// The kernel's; none is known.
pub fn set_timer_slack_ns(nanoseconds: NonZeroU64) -> io::Result<()> {
    Ok(rustix::thread::set_current_timer_slack(Some(nanoseconds))?)
}

/// Whether two threads of any programs have one descriptor table (kcmp(2), `KCMP_FILES`).
///
/// # Errors
/// The kernel's: it may have no such call, and it takes the right to trace both.
pub fn share_descriptors(one: u32, other: u32) -> io::Result<bool> {
    const FILES: libc::c_int = 2;
    // SAFETY: the call takes five numbers and changes nothing.
    match unsafe { libc::syscall(libc::SYS_kcmp, one, other, FILES, 0_usize, 0_usize) } {
        0 => Ok(true),
        1.. => Ok(false),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The kernel's number of the calling thread, as shown by `ps -L` and /proc.
pub fn id() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_numbers_are_sorted_and_unique() {
        assert_eq!(kept_numbers(&[]), [0, 1, 2]);
        assert_eq!(kept_numbers(&[9, 4, 9, -1, 2]), [0, 1, 2, 4, 9]);
    }

    #[test]
    fn gaps_lie_between_and_above() {
        let all = |kept: &[u32]| gaps(kept).collect::<Vec<_>>();
        assert_eq!(all(&[0, 1, 2]), [(3, u32::MAX)]);
        assert_eq!(all(&[0, 1, 2, 3, 4, 9]), [(5, 8), (10, u32::MAX)]);
    }

    /// Not under Miri, which has no descriptor tables.
    #[cfg(not(miri))]
    #[test]
    fn the_walk_closes_what_the_range_call_would() {
        use crate::descriptor::borrow_inherited;
        use std::os::fd::IntoRawFd;

        // In a separate thread: its table is private and ends with it, so closing harms no other test.
        let checks = std::thread::spawn(|| {
            let _table = part_descriptor_table().expect("parting needs no privilege");
            let open = |_| rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC);
            let numbers = [0; 6].map(|_: u8| open(()).expect("room for six").into_raw_fd());
            let kept = kept_numbers(&[numbers[1], numbers[4]]);
            close_by_walk(&kept).expect("/proc is mounted");
            numbers.map(|number| borrow_inherited(number).is_ok())
        });
        let is_open = checks.join().expect("the thread does not panic");
        assert_eq!(is_open, [false, true, false, false, true, false]);
    }
}
