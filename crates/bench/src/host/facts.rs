//! The facts of a host that a result depends on.
//!
//! Owns which ones are kept. Keeps nothing that names the host or its users.

use std::fs::{read_dir, read_to_string};

use serde::{Deserialize, Serialize};
use sys::text::numbers_in_list;

/// Kernel settings that affect what a server can do, by their sysctl(8) names.
const SYSCTLS: [&str; 25] = [
    "fs.file-max",
    "fs.nr_open",
    "kernel.sched_autogroup_enabled",
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.default_qdisc",
    "net.core.netdev_max_backlog",
    "net.core.rmem_max",
    "net.core.somaxconn",
    "net.core.wmem_max",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_autocorking",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_max_orphans",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_max_tw_buckets",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_tw_reuse",
    "net.ipv4.tcp_wmem",
    "net.netfilter.nf_conntrack_max",
];

/// One named fact, as the kernel writes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// Its name.
    pub name: String,
    /// Its value, in one line.
    pub value: String,
}

/// Facts about this host. What could not be read is null or missing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostFacts {
    /// Release of the kernel.
    pub kernel: Option<String>,
    /// Instruction set, as the compiler names it.
    pub architecture: String,
    /// The name of the processor.
    pub cpu_model: Option<String>,
    /// The number of online cores.
    pub cpus_online: Option<u32>,
    /// The cores the generator may use.
    pub cpus_allowed: Vec<u32>,
    /// The number of cores in the control group's quota; null without a quota.
    pub cpu_quota: Option<f64>,
    /// The frequency governor.
    pub governor: Option<String>,
    /// Whether two threads share a core: `1` or `0`.
    pub smt: Option<String>,
    /// Whether the processor reports a virtual machine.
    pub virtual_machine: Option<bool>,
    /// The kernel's clock source.
    pub clock_source: Option<String>,
    /// Memory of the host, in bytes.
    pub memory_bytes: Option<u64>,
    /// Maximum number of open files of this process.
    pub open_files_maximum: Option<u64>,
    /// Vulnerabilities of the processor and the kernel's mitigation of each.
    pub mitigations: Vec<Fact>,
    /// Kernel settings.
    pub sysctls: Vec<Fact>,
}

impl HostFacts {
    /// Reads the facts.
    pub fn read() -> HostFacts {
        let cpuinfo = read_to_string("/proc/cpuinfo").unwrap_or_default();
        let cpu_facts = sys::cpu::CpuFacts::read().ok();
        HostFacts {
            kernel: line("/proc/sys/kernel/osrelease"),
            architecture: std::env::consts::ARCH.to_owned(),
            cpu_model: named(&cpuinfo, "model name").map(str::to_owned),
            cpus_online: line("/sys/devices/system/cpu/online")
                .and_then(|text| u32::try_from(numbers_in_list(&text).count()).ok()),
            cpus_allowed: allowed(),
            cpu_quota: cpu_facts.and_then(|facts| facts.quota).map(quota_cpus),
            governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            smt: line("/sys/devices/system/cpu/smt/active"),
            virtual_machine: named(&cpuinfo, "flags").map(is_virtual),
            clock_source: line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            memory_bytes: memory_bytes(&read_to_string("/proc/meminfo").unwrap_or_default()),
            open_files_maximum: open_files(
                &read_to_string("/proc/self/limits").unwrap_or_default(),
            ),
            mitigations: mitigations(),
            sysctls: SYSCTLS.iter().filter_map(|name| sysctl(name)).collect(),
        }
    }
}

/// The first line of a small file.
fn line(path: &str) -> Option<String> {
    let text = read_to_string(path).ok()?;
    text.lines().next().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned)
}

/// The value of the first line `NAME : value`.
fn named<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(found, _)| found.trim() == name)
        .map(|(_, value)| value.trim())
}

fn is_virtual(flags: &str) -> bool {
    flags.split_ascii_whitespace().any(|flag| flag == "hypervisor")
}

fn allowed() -> Vec<u32> {
    let numbers = sys::cpu::CpuSet::allowed();
    numbers.iter().flat_map(|set| set.iter()).filter_map(|cpu| u32::try_from(cpu).ok()).collect()
}

fn quota_cpus(quota: sys::cpu::CpuQuota) -> f64 {
    quota.quota_us.get() as f64 / quota.period_us.get() as f64
}

fn memory_bytes(meminfo: &str) -> Option<u64> {
    let kibibytes = named(meminfo, "MemTotal")?.strip_suffix("kB")?.trim_end();
    kibibytes.parse::<u64>().ok()?.checked_mul(1024)
}

/// The soft limit, because the kernel enforces that one.
fn open_files(limits: &str) -> Option<u64> {
    let rest = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    rest.split_ascii_whitespace().next()?.parse().ok()
}

fn mitigations() -> Vec<Fact> {
    let directory = "/sys/devices/system/cpu/vulnerabilities";
    let entries = read_dir(directory).into_iter().flatten().flatten();
    let mut facts: Vec<Fact> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let value = line(&format!("{directory}/{name}"))?;
            Some(Fact { name, value })
        })
        .collect();
    facts.sort_by(|left, right| left.name.cmp(&right.name));
    facts
}

fn sysctl(name: &str) -> Option<Fact> {
    let value = line(&format!("/proc/sys/{}", name.replace('.', "/")))?;
    let value = value.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    Some(Fact { name: name.to_owned(), value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_values_are_taken_from_the_files_of_proc() {
        let cpuinfo = "processor\t: 0\nmodel name\t: Example 9000 @ 3 GHz: fast\nflags\t\t: fpu hypervisor\n\
                       processor\t: 1\nmodel name\t: other\n";
        assert_eq!(named(cpuinfo, "model name"), Some("Example 9000 @ 3 GHz: fast"));
        assert_eq!(named(cpuinfo, "flags").map(is_virtual), Some(true));
        assert!(!is_virtual("fpu hypervisors"));
        assert_eq!(named(cpuinfo, "model"), None);
        assert_eq!(memory_bytes("MemTotal:        2048 kB\nMemFree: 1 kB\n"), Some(2_097_152));
        assert_eq!(memory_bytes("MemFree: 1 kB\n"), None);
        let limits = "Limit       Soft Limit   Hard Limit   Units\n\
                      Max open files            1024                 524288               files\n";
        assert_eq!(open_files(limits), Some(1024));
    }

    #[test]
    fn this_host_has_a_kernel_and_cores_and_settings() {
        let facts = HostFacts::read();
        assert!(facts.kernel.is_some());
        assert!(!facts.cpus_allowed.is_empty());
        assert!(facts.cpus_online >= Some(1));
        assert!(facts.memory_bytes > Some(1 << 20));
        assert!(facts.open_files_maximum > Some(2));
        assert!(facts.sysctls.iter().any(|fact| fact.name == "net.core.somaxconn"));
    }
}
