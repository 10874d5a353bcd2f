//! A host with much to fix, its steps, and its files.

use std::collections::BTreeMap;

use tune::{Allowed, HostReading, Journal, Load, PlanStep, audit, plan};

use super::Fake;

pub(crate) const BOOT: &str = "kernel/random/boot_id";

/// A host with much to fix.
pub(crate) fn poor() -> Fake {
    let fake = Fake::new();
    fake.sysctl(BOOT, "first");
    for (name, value) in [
        ("net/core/somaxconn", "128"),
        ("net/ipv4/tcp_slow_start_after_idle", "1"),
        ("net/ipv4/tcp_sack", "0"),
        ("net/ipv4/tcp_max_syn_backlog", "256"),
        ("kernel/nmi_watchdog", "1"),
        ("vm/stat_interval", "1"),
        ("net/core/busy_poll", "0"),
    ] {
        fake.sysctl(name, value);
    }
    fake.write("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never");
    for irq in 40..44 {
        fake.write(&format!("proc/irq/{irq}/effective_affinity_list"), "0");
        fake.write(&format!("proc/irq/{irq}/smp_affinity"), "f");
    }
    fake.device(&[("gro", "on"), ("rx-usecs", "0"), ("adaptive-rx", "off"), ("queues-most", "8")]);
    fake.write("sys/class/net/eth0/ifindex", "2");
    fake
}

pub(crate) fn steps(fake: &Fake) -> Vec<PlanStep> {
    let host = HostReading::of(fake.path(), Some(100));
    plan(&host, &audit(&host, Load::Latency), &Allowed::of(&[])).steps
}

/// All files that may be changed, with their contents.
pub(crate) fn state(fake: &Fake, steps: &[PlanStep]) -> BTreeMap<String, String> {
    let files = steps.iter().flat_map(|step| &step.changes);
    let read = |path: &str| {
        std::fs::read_to_string(fake.path().join(path.trim_start_matches('/'))).unwrap()
    };
    files.map(|change| (change.path.clone(), read(&change.path).trim().to_owned())).collect()
}

pub(crate) fn put(fake: &Fake, path: &str, value: &str) {
    fake.write(path.trim_start_matches('/'), value);
}

pub(crate) fn journal(fake: &Fake) -> Journal {
    Journal::open(&fake.path().join("state")).unwrap()
}

/// The value that the fake kernel reads back: its files keep the brackets that a real kernel adds by itself.
pub(crate) fn plain(value: &str) -> String {
    let chosen = value.split(['[', ']']).nth(1);
    chosen.unwrap_or(value).to_owned()
}
