//! Time that other programs take from a server of many threads: it is told from that which its threads take from each
//! other.

use tune::{Finding, HostReading, Load, Price, audit};

use crate::fake::Fake;

/// Sixteen threads on CPU 0, which another program has for 95 % of the time, with this line of its `stat`.
fn beside(stat: impl Fn(u64) -> String) -> HostReading {
    let fake = Fake::new();
    let threads: Vec<(u32, u64, &str)> = (100..116).map(|thread| (thread, 0, "0")).collect();
    fake.threads(&threads);
    fake.write("proc/50/stat", &stat(0));
    let mut host = HostReading::of(fake.path(), Some(100));
    fake.busy_cpus();
    (100..116).for_each(|thread| fake.ran(thread, 3, 990));
    fake.write("proc/50/stat", &stat(95));
    host.look_again(1.0);
    host
}

fn stat(ticks: u64, policy: u64) -> String {
    let zeros = |count: usize| vec!["0"; count].join(" ");
    format!("50 (hog) S 1 {} {ticks} {} 0 0 {policy}", zeros(9), zeros(24))
}

#[test]
fn many_threads_lose_to_a_neighbour_what_it_takes() {
    let report = audit(&beside(|ticks| stat(ticks, 0)), Load::Throughput);
    let first = &report.findings[0];
    assert_eq!(first.check.id, "env.neighbours", "{:?}", first.finding);
    match &first.finding {
        Finding::Costs(_, text, Price::Measured(range)) => {
            assert!(range.high > 90.0 && range.low > 60.0, "{range:?}");
            assert!(text.contains("waited for them 94 % of the time"), "{text}");
        }
        other => panic!("{other:?}"),
    }
    let own = report.findings.iter().find(|one| one.check.id == "app.workers").unwrap();
    assert!(!own.finding.text().contains("waited for each other 9"), "{:?}", own.finding);
}

#[test]
fn a_real_time_priority_of_a_neighbour_is_named() {
    for (policy, name) in [(1, "SCHED_FIFO"), (2, "SCHED_RR"), (6, "SCHED_DEADLINE")] {
        let host = beside(|ticks| stat(ticks, policy));
        let found = tune::find("env.neighbours").unwrap().finding(&host);
        assert!(found.text().contains(&format!("({name})")), "{found:?}");
    }
}
