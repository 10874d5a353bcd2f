//! Processors of the machine the test runs on, and the count of schedulers from given facts.

use std::num::NonZeroU64;
use std::thread;

use sys::cpu::{
    CpuFacts, CpuQuota, CpuSet, current_cpu, pin_current_thread, scheduler_count_default,
};
use sys::limits::CPUS_MAXIMUM;

fn quota(quota_us: u64, period_us: u64) -> Option<CpuQuota> {
    Some(CpuQuota { quota_us: NonZeroU64::new(quota_us)?, period_us: NonZeroU64::new(period_us)? })
}

fn count(cpus: usize, quota: Option<CpuQuota>) -> usize {
    scheduler_count_default(&CpuFacts { allowed: (0..cpus).collect(), quota }).get()
}

#[test]
fn schedulers_are_bounded_by_processors_and_by_quota() {
    assert_eq!(count(8, None), 8);
    assert_eq!(count(8, quota(250_000, 100_000)), 3, "two and a half are rounded up");
    assert_eq!(count(8, quota(200_000, 100_000)), 2);
    assert_eq!(count(2, quota(800_000, 100_000)), 2);
    assert_eq!(count(8, quota(1_000, 100_000)), 1);
    assert_eq!(count(0, None), 1, "at least one, whatever the facts say");
}

#[test]
fn sets_hold_what_they_were_made_of() {
    let set: CpuSet = [5, 0, 1023, CPUS_MAXIMUM, 5].into_iter().collect();
    assert_eq!(set.iter().collect::<Vec<_>>(), [0, 5, 1023]);
    assert_eq!(set.count(), 3);
    assert!(set.contains(5) && set.contains(1023));
    assert!(!set.contains(1) && !set.contains(CPUS_MAXIMUM));
    assert_eq!(format!("{set:?}"), "{0, 5, 1023}");
    assert_ne!(set, [0, 5].into_iter().collect());
}

#[test]
fn the_facts_of_this_process_can_be_read() {
    let facts = CpuFacts::read().expect("the kernel tells");
    assert!(facts.allowed.contains(current_cpu()));
    let schedulers = scheduler_count_default(&facts).get();
    assert!((1..=facts.allowed.count()).contains(&schedulers), "{schedulers} from {facts:?}");
}

#[test]
fn a_pinned_thread_runs_there_and_only_there() {
    let allowed = CpuSet::allowed().expect("the kernel tells");
    for cpu in allowed.iter() {
        let seen = thread::spawn(move || {
            pin_current_thread(cpu).expect("an allowed processor can be pinned to");
            (current_cpu(), CpuSet::allowed().expect("the kernel tells"))
        });
        let (ran_on, now_allowed) = seen.join().expect("no panic");
        assert_eq!(ran_on, cpu);
        assert_eq!(now_allowed, [cpu].into_iter().collect());
    }
    assert_eq!(
        CpuSet::allowed().expect("the kernel tells"),
        allowed,
        "other threads are not touched"
    );
}

#[test]
fn a_processor_that_does_not_exist_cannot_be_pinned_to() {
    for cpu in [CPUS_MAXIMUM - 1, CPUS_MAXIMUM, usize::MAX] {
        let error = pin_current_thread(cpu).expect_err("no machine here has that many");
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput, "{cpu}: {error}");
    }
}
