//! The clocks: the monotonic one that a turn reads once, the time of day, and a cheap counter for sampled accounting.
//!
//! Owns the choice of the tick counter. Never decides when a clock is read.

use std::num::NonZeroU64;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use rustix::time::{ClockId, Timespec, clock_gettime};

use crate::limits::{TICK_CALIBRATION_NS, TICK_READINGS};

const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;

/// Nanoseconds since some moment before this process began. Never goes back, and is not a time of day.
pub fn monotonic_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// The time of day: seconds and nanoseconds since 1970-01-01 00:00 UTC. It can jump in both directions. A clock
/// set before 1970 reads as zero.
#[expect(clippy::disallowed_methods, reason = "the one place where the time of day is read")]
pub fn realtime() -> (u64, u32) {
    // As all libraries read it, so that a test can set it for the whole process (faketime).
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    (since.as_secs(), since.subsec_nanos())
}

/// A counter that grows evenly with time and takes a few nanoseconds to read if the processor has one: the
/// time-stamp counter if it runs at a constant rate, otherwise [`monotonic_ns`]. Two readings can be compared if
/// they were made on the same core, which is enough for accounting inside a pinned scheduler.
#[inline]
pub fn tick_counter() -> u64 {
    match tick_source() {
        #[cfg(target_arch = "x86_64")]
        TickSource::TimeStampCounter => time_stamp_counter(),
        TickSource::Monotonic => monotonic_ns(),
    }
}

/// How many ticks of [`tick_counter`] make a microsecond, rounded. The first call measures this and sleeps for
/// [`TICK_CALIBRATION_NS`], so make it at the start, not inside a turn.
pub fn ticks_per_microsecond() -> NonZeroU64 {
    static MEASURED: OnceLock<NonZeroU64> = OnceLock::new();
    *MEASURED.get_or_init(calibrate)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TickSource {
    #[cfg(target_arch = "x86_64")]
    TimeStampCounter,
    Monotonic,
}

#[inline]
fn tick_source() -> TickSource {
    static CHOSEN: OnceLock<TickSource> = OnceLock::new();
    *CHOSEN.get_or_init(choose_tick_source)
}

#[cfg(target_arch = "x86_64")]
fn choose_tick_source() -> TickSource {
    use std::arch::x86_64::__cpuid;
    const POWER_MANAGEMENT: u32 = 0x8000_0007;
    const INVARIANT_TSC: u32 = 1 << 8;
    let leaf_maximum = __cpuid(0x8000_0000).eax;
    // The bit behind constant_tsc and nonstop_tsc of /proc/cpuinfo: one rate at any core frequency,
    // and no stop in deep sleep. Virtual machines may hide it; then the slower clock is used.
    if leaf_maximum >= POWER_MANAGEMENT && __cpuid(POWER_MANAGEMENT).edx & INVARIANT_TSC != 0 {
        TickSource::TimeStampCounter
    } else {
        TickSource::Monotonic
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn choose_tick_source() -> TickSource {
    TickSource::Monotonic
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn time_stamp_counter() -> u64 {
    // SAFETY: every x86_64 has RDTSC, and Linux forbids it only to threads that asked for that by prctl(2).
    unsafe { std::arch::x86_64::_rdtsc() }
}

fn calibrate() -> NonZeroU64 {
    let (begin_ns, begin_ticks) = read_both();
    // Nothing is waited for: how much both clocks move in this time is what is measured.
    std::thread::sleep(Duration::from_nanos(TICK_CALIBRATION_NS));
    let (end_ns, end_ticks) = read_both();
    rate(end_ticks.wrapping_sub(begin_ticks), end_ns - begin_ns)
}

/// The clock and the counter at the same moment. If a thread lost its core between the two readings, the rate would be
/// wrong permanently, so the closest pair of several is used.
fn read_both() -> (u64, u64) {
    let sandwich = || (monotonic_ns(), tick_counter(), monotonic_ns());
    let closest = (1..TICK_READINGS)
        .map(|_| sandwich())
        .fold(sandwich(), |one, other| if other.2 - other.0 < one.2 - one.0 { other } else { one });
    (closest.0 + (closest.2 - closest.0) / 2, closest.1)
}

/// Ticks per microsecond, rounded to the nearest; a counter slower than half a megahertz counts as one.
fn rate(ticks: u64, elapsed_ns: u64) -> NonZeroU64 {
    let elapsed_ns = u128::from(elapsed_ns.max(1));
    let rounded = (u128::from(ticks) * 1000 + elapsed_ns / 2) / elapsed_ns;
    u64::try_from(rounded).ok().and_then(NonZeroU64::new).unwrap_or(NonZeroU64::MIN)
}

/// The kernel's two numbers as one. The clocks converted here began at zero less than 584 years ago.
pub(crate) fn nanoseconds(time: Timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds * NANOSECONDS_PER_SECOND + u64::from(subsecond(&time))
}

fn subsecond(time: &Timespec) -> u32 {
    u32::try_from(time.tv_nsec).expect("the kernel gives 0 to 999,999,999 nanoseconds")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_rounded_and_never_zero() {
        assert_eq!(rate(10_000_000, 10_000_000).get(), 1000);
        assert_eq!(rate(25_994_000, 10_000_000).get(), 2599);
        assert_eq!(rate(25_996_000, 10_000_000).get(), 2600);
        assert_eq!(rate(0, 10_000_000).get(), 1);
        assert_eq!(rate(u64::MAX, 0).get(), 1, "does not fit: one rather than a panic");
    }

    #[test]
    fn seconds_and_nanoseconds_are_joined() {
        assert_eq!(nanoseconds(Timespec { tv_sec: 3, tv_nsec: 7 }), 3_000_000_007);
    }
}
