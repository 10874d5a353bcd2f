//! The changes that fix a check: files of `/proc/sys` and `/sys` and device settings, each with its
//! new value.
//!
//! Owns the values. A check without such a fix has none: the operator has to type the command. Writes
//! nothing.

use crate::host::HostReading;
use crate::interrupts::interrupts_of;
use crate::lines::named;
use crate::settings::{PLACE, place};

/// Interrupt moderation in microseconds from which a device without adaptive moderation counts as moderated.
pub(crate) const TOGETHER: u64 = 8;

/// Interrupt moderation in microseconds for devices that cannot adapt it (AWS, ENA best practices).
const WAIT_US: &str = "64";

/// A file and its new value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// Its path.
    pub path: String,
    /// Its present value, as read.
    pub old: String,
    /// Its new value.
    pub new: String,
}

/// The changes that fix a check on a host; files that have the new value already are left out.
pub fn changes_of(id: &str, host: &HostReading) -> Vec<FileChange> {
    let cpus = host.now.cpus.len().max(1);
    let wanted: Vec<(String, String)> = match id {
        "stack.somaxconn" => sysctls(&[("net.core.somaxconn", "4096")]),
        "stack.synbacklog" => sysctls(&[("net.ipv4.tcp_max_syn_backlog", "4096")]),
        "stack.ports" => sysctls(&[("net.ipv4.ip_local_port_range", "10240\t65535")]),
        "stack.tw" => sysctls(&[("net.ipv4.tcp_max_tw_buckets", "262144")]),
        "stack.slow-start" => sysctls(&[("net.ipv4.tcp_slow_start_after_idle", "0")]),
        "stack.cc" => sysctls(&[("net.ipv4.tcp_congestion_control", "reno")]),
        "stack.conntrack-size" => sysctls(&[("net.netfilter.nf_conntrack_max", "1048576")]),
        "stack.popular" => sysctls(&[
            ("net.ipv4.tcp_timestamps", "1"),
            ("net.ipv4.tcp_sack", "1"),
            ("net.ipv4.tcp_syncookies", "1"),
        ]),
        "stack.file" => sysctls(&[("fs.file-max", "4194304"), ("fs.nr_open", "2097152")]),
        "stack.notsent" => sysctls(&[("net.ipv4.tcp_notsent_lowat", "131072")]),
        "stack.rwmem" => sysctls(&[
            ("net.ipv4.tcp_rmem", "4096\t131072\t16777216"),
            ("net.ipv4.tcp_wmem", "4096\t16384\t16777216"),
        ]),
        "vm.minfree" => sysctls(&[("vm.min_free_kbytes", &hundredth_of_memory(host))]),
        "vm.hugepages" => sysctls(&[("vm.nr_hugepages", "0")]),
        "vm.swap" => sysctls(&[("vm.swappiness", "10")]),
        "vm.thp" => file("/sys/kernel/mm/transparent_hugepage/enabled", "madvise"),
        "cpu.numa" => sysctls(&[("kernel.numa_balancing", "0")]),
        "cpu.noise" => sysctls(&[("kernel.nmi_watchdog", "0"), ("vm.stat_interval", "10")]),
        "cpu.clocksource" => {
            let clock = faster_clock(host).map(|clock| {
                file("/sys/devices/system/clocksource/clocksource0/current_clocksource", clock)
            });
            clock.unwrap_or_default()
        }
        "cpu.governor" => {
            let place = "/sys/devices/system/cpu/cpufreq";
            let policy = |name: String| {
                (format!("{place}/{name}/scaling_governor"), "performance".to_owned())
            };
            host.names(place).into_iter().map(policy).collect()
        }
        "net.busy" => sysctls(&[("net.core.busy_poll", "50")]),
        "net.budget" => {
            sysctls(&[("net.core.netdev_budget", "600"), ("net.core.netdev_max_backlog", "5000")])
        }
        "net.rps" => alone(queues(host, "rx-", "rps_cpus", |_| mask_of_all(cpus))),
        "net.rps-twice" => queues(host, "rx-", "rps_cpus", |_| "0".to_owned()),
        "net.threaded" => of_devices(host, "threaded", "0"),
        "net.xps" => queues(host, "tx-", "xps_cpus", |queue| mask(queue % cpus)),
        "net.irq" => interrupts(host, cpus),
        "net.queues" => devices(host, "queues", |now, most| now.max(most.min(cpus as u64))),
        "net.rings" => devices(host, "rx-ring", |now, most| most.min(now * RING_FACTOR)),
        "net.coalesce" => adapting(host),
        "app.fastopen" => sysctls(&[("net.ipv4.tcp_fastopen", "3")]),
        "net.tso" => switched(host.carriers(), "tso", "on"),
        "net.gso" => switched(host.carriers(), "gso", "on"),
        "net.gro" => switched(host.hardware(), "gro", "off"),
        "net.lro" => switched(host.hardware(), "lro", "off"),
        "net.arfs" => switched(host.hardware(), "ntuple", "on"),
        _ => Vec::new(),
    };
    let change = |(path, new): (String, String)| {
        // A value that cannot be read could not be restored.
        let old = host.text(&path)?;
        (!is_same(&old, &new)).then_some(FileChange { path, old, new })
    };
    wanted.into_iter().filter_map(change).collect()
}

/// The fastest clock source of those that this machine has.
pub(crate) fn faster_clock(host: &HostReading) -> Option<&'static str> {
    let all = host.text("/sys/devices/system/clocksource/clocksource0/available_clocksource")?;
    let names = ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"];
    names.into_iter().find(|name| all.split_whitespace().any(|one| one == *name))
}

fn sysctls(names: &[(&str, &str)]) -> Vec<(String, String)> {
    let path = |name: &str| format!("/proc/sys/{}", name.replace('.', "/"));
    names.iter().map(|(name, value)| (path(name), (*value).to_owned())).collect()
}

fn file(path: &str, value: &str) -> Vec<(String, String)> {
    vec![(path.to_owned(), value.to_owned())]
}

/// A file of each queue of each hardware device.
fn queues(
    host: &HostReading,
    kind: &str,
    name: &str,
    value: impl Fn(usize) -> String,
) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for device in host.devices() {
        if !host.has(&format!("/sys/class/net/{device}/device")) {
            continue;
        }
        let place = format!("/sys/class/net/{device}/queues");
        let mut names = host.names(&place);
        names.retain(|queue| queue.starts_with(kind));
        for queue in names {
            let number = queue[kind.len()..].parse().unwrap_or(0);
            all.push((format!("{place}/{queue}/{name}"), value(number)));
        }
    }
    all
}

/// The queues that are the only one of their device.
fn alone(queues: Vec<(String, String)>) -> Vec<(String, String)> {
    let device = |path: &str| path.split("/queues/").next().map(str::to_owned);
    let is_alone = |(path, _): &&(String, String)| {
        queues.iter().filter(|(other, _)| device(other) == device(path)).count() == 1
    };
    queues.iter().filter(is_alone).cloned().collect()
}

/// A file of each hardware device.
fn of_devices(host: &HostReading, name: &str, value: &str) -> Vec<(String, String)> {
    let of = |device: String| (format!("/sys/class/net/{device}/{name}"), value.to_owned());
    host.hardware().into_iter().map(of).collect()
}

/// One hundredth of the memory, in KiB.
fn hundredth_of_memory(host: &HostReading) -> String {
    let lines = named(&host.text("/proc/meminfo").unwrap_or_default().replace(" kB", ""));
    (lines.get("MemTotal").copied().unwrap_or(0) / 100).to_string()
}

/// A ring that overflowed becomes this many times as long; not longer, because a longer ring has more cache misses.
const RING_FACTOR: u64 = 4;

/// A numeric setting of devices, and its maximum.
fn devices(
    host: &HostReading,
    name: &str,
    wanted: impl Fn(u64, u64) -> u64,
) -> Vec<(String, String)> {
    let of = |device: String| {
        let path = place(&device, name);
        let now = host.number(&path)?;
        let most = host.number(&place(&device, &format!("{name}-most")))?;
        Some((path, wanted(now, most).to_string()))
    };
    host.hardware().into_iter().filter_map(of).collect()
}

fn switched(devices: Vec<String>, name: &str, value: &str) -> Vec<(String, String)> {
    let of = |device: String| (place(&device, name), value.to_owned());
    devices.into_iter().map(of).collect()
}

/// Devices without interrupt moderation get the adaptive one; those that do not have it get a fixed time that suits
/// most loads.
fn adapting(host: &HostReading) -> Vec<(String, String)> {
    let change = |device: String| {
        let [adapts, time] = ["adaptive-rx", "rx-usecs"].map(|name| place(&device, name));
        let is_at_once = host.number(&time).is_some_and(|time| time < TOGETHER);
        match host.text(&adapts).is_some() {
            _ if !is_at_once || has_own_times(host, &device) => None,
            true => Some((adapts, "on".to_owned())),
            false => Some((time, WAIT_US.to_owned())),
        }
    };
    host.hardware().into_iter().filter_map(change).collect()
}

/// Whether this driver gives the time another meaning: Intel's for gigabit devices adapt at 1 and 3 microseconds
/// (docs.kernel.org, e1000e, InterruptThrottleRate); a virtio device waits only if its host offers that (virtio 1.3,
/// bits 52 and 53), but its driver reports a time anyway.
pub(crate) fn has_own_times(host: &HostReading, device: &str) -> bool {
    let device_place = format!("/sys/class/net/{device}/device");
    let driver = host.link(&format!("{device_place}/driver")).unwrap_or_default();
    match &*driver {
        "e1000" | "e1000e" | "igb" | "igc" => {
            matches!(host.number(&place(device, "rx-usecs")), Some(1 | 3))
        }
        "virtio_net" => {
            let features = host.text(&format!("{device_place}/features")).unwrap_or_default();
            !features.get(52..54).is_some_and(|bits| bits.contains('1'))
        }
        _ => false,
    }
}

/// Binds each queue's interrupts to a CPU of its own, for devices with several queues.
fn interrupts(host: &HostReading, cpus: usize) -> Vec<(String, String)> {
    let devices = host.hardware().into_iter();
    let all = devices.map(|device| interrupts_of(host, &device));
    all.filter(|all| all.iter().any(|one| one.queue != all[0].queue))
        .flatten()
        .map(|one| (format!("/proc/irq/{}/smp_affinity", one.number), mask(one.queue % cpus)))
        .collect()
}

/// A CPU mask with one CPU, in words of 32 bits with commas between them, as the kernel writes it.
fn mask(cpu: usize) -> String {
    let words = vec!["00000000"; cpu / 32].join(",");
    let first = format!("{:x}", 1_u32 << (cpu % 32));
    if words.is_empty() { first } else { format!("{first},{words}") }
}

/// A CPU mask with the first CPUs, up to this number.
fn mask_of_all(cpus: usize) -> String {
    let mut words = vec!["ffffffff".to_owned(); cpus / 32];
    if !cpus.is_multiple_of(32) {
        words.insert(0, format!("{:x}", (1_u32 << (cpus % 32)) - 1));
    }
    words.join(",")
}

/// The directories whose files may be written.
const WRITTEN: [&str; 4] = ["/proc/sys/", "/proc/irq/", "/sys/", PLACE];

/// Whether a change may write this file: the journal may be in a directory that others can write, too.
pub(crate) fn is_of_the_kernel(path: &str) -> bool {
    WRITTEN.iter().any(|place| path.starts_with(place)) && path.split('/').all(|part| part != "..")
}

/// Whether the text of a file is this value: the kernel puts tabs between numbers, zeros before masks, and brackets
/// around the selected word.
pub fn is_same(read: &str, value: &str) -> bool {
    written(read) == written(value)
}

/// The text to write so that a file reads as it did.
pub(crate) fn written(read: &str) -> String {
    if let Some(chosen) = read.split_once('[').and_then(|(_, rest)| rest.split_once(']')) {
        return chosen.0.to_owned();
    }
    let is_mask = read.chars().all(|one| one.is_ascii_hexdigit() || one == ',');
    if is_mask && read.contains(',') {
        let trimmed = read.trim_start_matches(['0', ',']);
        return if trimmed.is_empty() { "0".to_owned() } else { trimmed.to_owned() };
    }
    let words: Vec<&str> = read.split_whitespace().collect();
    match &*words {
        [one] if is_mask && one.len() > 1 && one.starts_with('0') => {
            let trimmed = one.trim_start_matches('0');
            if trimmed.is_empty() { "0".to_owned() } else { trimmed.to_owned() }
        }
        words => words.join("\t"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_as_the_kernel_has_them() {
        assert_eq!((mask(0), mask(5), mask(33)), ("1".into(), "20".into(), "2,00000000".into()));
        assert_eq!(mask_of_all(4), "f");
        assert_eq!(mask_of_all(64), "ffffffff,ffffffff");
        assert_eq!(mask_of_all(33), "1,ffffffff");
    }

    #[test]
    fn value_read_is_compared_with_value_written() {
        for (read, value) in [
            ("32768\t60999", "32768 60999"),
            ("always [madvise] never", "madvise"),
            ("00000000,0000000f", "f"),
            ("0000", "0"),
            ("4096", "4096"),
            ("cubic", "cubic"),
        ] {
            assert!(is_same(read, value), "{read} {value}");
        }
        assert!(!is_same("always [madvise] never", "always"));
        assert!(!is_same("10", "1"));
    }
}
