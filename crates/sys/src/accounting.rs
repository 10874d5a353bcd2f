//! The counts of the kernel for this thread and this process.
//!
//! Owns nothing. Every call is a system call or reads a file in /proc, so schedulers call them rarely: the CPU time of
//! their thread once in many steps of page processes, and its involuntary switches while they poll instead of sleeping.

use std::io;
use std::mem::MaybeUninit;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// CPU time this thread has used since it began, in nanoseconds, user and kernel time together.
pub fn thread_cpu_ns() -> u64 {
    crate::clock::nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}

/// How often the kernel took the core away from this thread while it still wanted to run. If the number grows while a
/// scheduler polls, the core is shared and polling harms another thread.
pub fn involuntary_switches() -> u64 {
    u64::try_from(usage(libc::RUSAGE_THREAD).ru_nivcsw).unwrap_or(0)
}

/// The usage of this process since it began.
#[derive(Clone, Copy, Debug)]
pub struct ProcessUsage {
    /// CPU time of its threads in user mode.
    pub user: Duration,
    /// CPU time of its threads in the kernel.
    pub system: Duration,
    /// The maximum resident memory, in bytes.
    pub peak_bytes: u64,
}

/// The usage of this process since it began.
pub fn process_usage() -> ProcessUsage {
    let used = usage(libc::RUSAGE_SELF);
    ProcessUsage {
        user: duration(used.ru_utime),
        system: duration(used.ru_stime),
        // In KiB, see getrusage(2).
        peak_bytes: u64::try_from(used.ru_maxrss).unwrap_or(0).saturating_mul(1024),
    }
}

fn duration(time: libc::timeval) -> Duration {
    let micros = u64::try_from(time.tv_usec).unwrap_or(0);
    Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0)) + Duration::from_micros(micros)
}

fn usage(of: libc::c_int) -> libc::rusage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a whole rusage that the call may write to.
    let status = unsafe { libc::getrusage(of, usage.as_mut_ptr()) };
    assert_eq!(status, 0, "getrusage(2) fails only for a bad pointer or an unknown target");
    // SAFETY: it was zeroed, which is a valid rusage, and then filled by the kernel.
    unsafe { usage.assume_init() }
}

/// Resident memory of the whole process, in bytes.
///
/// # Errors
/// If /proc is not mounted, or its text cannot be parsed.
pub fn resident_bytes() -> io::Result<u64> {
    let text = std::fs::read_to_string("/proc/self/statm")?;
    let pages = resident_pages(&text).ok_or_else(|| {
        let message = format!("/proc/self/statm says {text:?}, expected seven numbers");
        io::Error::new(io::ErrorKind::InvalidData, message)
    })?;
    // SAFETY: sysconf reads a constant of the process; no pointer is involved.
    let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let page_bytes = u64::try_from(page_bytes).expect("every Linux process has a page size");
    Ok(pages.saturating_mul(page_bytes))
}

/// The second number of statm, see proc_pid_statm(5).
fn resident_pages(text: &str) -> Option<u64> {
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_number_of_statm_is_the_resident_set() {
        assert_eq!(resident_pages("5012 1210 980 3 0 812 0\n"), Some(1210));
        assert_eq!(resident_pages("5012"), None);
        assert_eq!(resident_pages("5012 many 980"), None);
        assert_eq!(resident_pages(""), None);
    }
}
