//! The counts of the kernel, and the clocks.

use std::hint::black_box;
use std::thread;

use sys::accounting::{involuntary_switches, resident_bytes, thread_cpu_ns};
use sys::clock::{monotonic_ns, realtime, tick_counter, ticks_per_microsecond};
use sys::cpu::{CpuSet, pin_current_thread};

/// Uses this much CPU time of the calling thread; returns what it has used.
fn work(cpu_ns: u64) -> u64 {
    let begin_ns = thread_cpu_ns();
    let mut sum = 0_u64;
    loop {
        sum = black_box(sum.wrapping_add(1));
        let used_ns = thread_cpu_ns() - begin_ns;
        if used_ns >= cpu_ns {
            return used_ns;
        }
    }
}

/// Compares only readings of one clock, which counts nothing while other programs use the cores.
#[test]
fn cpu_time_grows_by_working_and_not_by_waiting() {
    let before_ns = thread_cpu_ns();
    // It ends, so the time grows by working.
    let worked_ns = thread::spawn(|| work(100_000_000)).join().expect("no panic");
    let waited_ns = thread_cpu_ns() - before_ns;
    assert!(
        waited_ns < worked_ns / 2,
        "{waited_ns} ns for waiting while another worked {worked_ns}"
    );
}

#[test]
fn two_threads_on_one_core_are_switched_against_their_will() {
    let cpu = CpuSet::allowed().expect("the kernel tells").iter().next().expect("one at least");
    let share_core = move || {
        pin_current_thread(cpu).expect("an allowed processor can be pinned to");
        let before = involuntary_switches();
        // As long as it takes, up to five seconds.
        (0..100).any(|_| {
            work(50_000_000);
            involuntary_switches() > before
        })
    };
    let other = thread::spawn(share_core);
    let one = thread::spawn(share_core);
    let switched = (one.join().expect("no panic"), other.join().expect("no panic"));
    assert!(switched.0 || switched.1, "neither was ever switched");
}

#[test]
fn touched_memory_becomes_resident() {
    let before = resident_bytes().expect("/proc is mounted");
    let touched = black_box(vec![1_u8; 64 << 20]);
    let after = resident_bytes().expect("/proc is mounted");
    assert!(after >= before + (48 << 20), "{before} then {after} after touching 64 MiB");
    drop(touched);
}

#[test]
fn the_monotonic_clock_does_not_go_back() {
    let mut last_ns = monotonic_ns();
    for _ in 0..100_000 {
        let now_ns = monotonic_ns();
        assert!(now_ns >= last_ns);
        last_ns = now_ns;
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the clock is compared with another reading of it")]
fn the_time_of_day_is_the_systems() {
    let other = || {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.expect("after 1970")
    };
    let (before, (seconds, nanoseconds), after) = (other(), realtime(), other());
    let ours = std::time::Duration::new(seconds, nanoseconds);
    assert!((before..=after).contains(&ours), "{before:?} {ours:?} {after:?}");
}

#[test]
fn ticks_measure_time() {
    let cpu = CpuSet::allowed().expect("the kernel tells").iter().next().expect("one at least");
    let measured = thread::spawn(move || {
        pin_current_thread(cpu).expect("an allowed processor can be pinned to");
        let rate = ticks_per_microsecond().get();
        // A stop of this thread between two readings is not the counter's fault: the closest try counts.
        let tries = (0..10).map(|_| {
            let (begin_ns, begin_ticks) = (monotonic_ns(), tick_counter());
            while monotonic_ns() - begin_ns < 5_000_000 {}
            let (ticks, elapsed_ns) = (tick_counter() - begin_ticks, monotonic_ns() - begin_ns);
            (ticks * 1000 / rate, elapsed_ns)
        });
        tries.min_by_key(|(by_ticks_ns, elapsed_ns)| by_ticks_ns.abs_diff(*elapsed_ns))
    });
    let (by_ticks_ns, elapsed_ns) = measured.join().expect("no panic").expect("ten tries");
    let difference_ns = by_ticks_ns.abs_diff(elapsed_ns);
    assert!(difference_ns < elapsed_ns / 100, "{by_ticks_ns} by ticks, {elapsed_ns} by clock");
    assert_eq!(ticks_per_microsecond(), ticks_per_microsecond(), "measured once");
}
