//! CPUs: mitigations, clocks, frequencies.

use crate::changes::faster_clock;
use crate::check::{Check, Gain, Risk};
use crate::files::Look;
use crate::finding::{Finding, Judged};
use crate::host::HostReading;
use crate::processes::cpu_list;
use crate::server::ServerThread;

use super::scheduling::busy;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "cpu.mitigations",
        title: "mitigations of CPU vulnerabilities",
        gain: Gain::of(28.0, 20.0, 5.0, 5.0),
        expected: "28 % on a Xeon of 2020 (v2 15 to 20, page tables 6, buffers 6, v1 1 to 2); less if the \
                   CPU protects itself",
        risk: Risk::Reboot,
        lost: "protection: other programs and guests on the machine may read its memory. Only for a machine \
               that runs nothing but the server",
        why: "Each system call and interrupt pays for them, so in a profile all kernel frames grow instead \
              of one function.",
        fix: "Kernel parameters: from Linux 6.17 `mitigations=auto,no_user_kernel,no_user_user` if no \
              untrusted code runs; before, `mitigations=off`. Debian: /etc/default/grub and `update-grub`; \
              Fedora: `grubby --update-kernel=ALL --args=…`.",
        source: "talawah.io, step 2; docs.kernel.org, attack_vector_controls",
        judge: mitigations,
    },
    Check {
        id: "cpu.clocksource",
        title: "the clock source",
        gain: Gain::of(10.0, 15.0, 0.0, 0.0),
        expected: "reading the clock takes a system call instead of some nanoseconds, 77 % slower",
        risk: Risk::Host,
        lost: "a correct clock, if the time stamp counter is not stable",
        why: "Programs read the time without a system call from `tsc`, `kvm-clock` and \
              `hyperv_clocksource_tsc_page`, but not from `xen`, `hpet` and `acpi_pm`, and a server reads \
              it on each request.",
        fix: "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource, if \
              `available_clocksource` lists it.",
        source: "heap.io, clocksource on AWS",
        judge: clocksource,
    },
    Check {
        id: "cpu.governor",
        title: "the CPU frequency governor",
        gain: Gain::of(8.0, 12.0, 0.0, 0.0),
        expected: "not measured for HTTP; latency at low load gains most",
        risk: Risk::Reversible,
        lost: "power",
        why: "With `powersave` or `ondemand`, a CPU that was idle starts at a low frequency.",
        fix: "echo performance > /sys/devices/system/cpu/cpufreq/policy*/scaling_governor",
        source: "tuned, throughput-performance",
        judge: governor,
    },
    Check {
        id: "cpu.idle",
        title: "deep sleep states of idle CPUs",
        gain: Gain::of(0.0, 15.0, 0.0, 0.0),
        expected: "85 to 890 microseconds to wake from the deepest states of one laptop",
        risk: Risk::Reversible,
        lost: "power, and the highest frequencies of the other CPUs",
        why: "A CPU takes long to wake from deep sleep: the first request after a pause is slow, and at low \
              load all are.",
        fix: "Hold /dev/cpu_dma_latency open with a 0 in it, or echo 1 > \
              /sys/devices/system/cpu/cpu*/cpuidle/state*/disable for the deep states.",
        source: "hasura.io, power management and web servers; tuned, latency-performance",
        judge: idle,
    },
    Check {
        id: "cpu.numa",
        title: "automatic NUMA balancing",
        gain: Gain::of(3.0, 5.0, 0.0, 0.0),
        expected: "the page faults of the scan",
        risk: Risk::Host,
        lost: "memory that follows its program to another node",
        why: "On machines with several nodes the kernel repeatedly unmaps memory to see who uses it. A \
              server whose workers are bound to CPUs gains nothing from that.",
        fix: "sysctl kernel.numa_balancing=0",
        source: "tuned, network-latency; Netflix 2017",
        judge: numa,
    },
    Check {
        id: "cpu.noise",
        title: "periodic interrupts of all CPUs",
        gain: Gain::of(0.5, 3.0, 0.0, 0.0),
        expected: "little, only in the slowest answers",
        risk: Risk::Host,
        lost: "the watchdog that detects hanging CPUs",
        why: "The watchdog uses a performance counter and interrupts each CPU; memory statistics are \
              gathered on each CPU every second.",
        fix: "sysctl kernel.nmi_watchdog=0 vm.stat_interval=10",
        source: "tuned, network-latency",
        judge: noise,
    },
    Check {
        id: "cpu.smt",
        title: "busy threads that share a core",
        gain: Gain::of(20.0, 20.0, 0.0, 0.0),
        expected: "two threads on one core do about 125 % of one, two cores 200 %",
        risk: Risk::Process,
        lost: "nothing",
        why: "Two logical CPUs may be hyperthreads of one core. A server bound to both leaves another core \
              idle.",
        fix: "Bind its threads to one hyperthread of each core first: \
              /sys/devices/system/cpu/cpu*/topology/thread_siblings_list shows which belong together.",
        source: "talawah.io, step 1; docs.kernel.org, scaling",
        judge: siblings,
    },
    Check {
        id: "cpu.isol",
        title: "isolated CPUs that the server does not use",
        gain: Gain::of(20.0, 15.0, 5.0, 0.0),
        expected: "the CPUs that nobody uses",
        risk: Risk::Process,
        lost: "quiet CPUs for the program they were isolated for",
        why: "`isolcpus` excludes CPUs from load balancing: only threads bound to them run there.",
        fix: "Bind the server to them (`taskset`, `CPUAffinity=`), or boot without `isolcpus`.",
        source: "docs.kernel.org, kernel-parameters; SUSE, CPU isolation",
        judge: isolated,
    },
    Check {
        id: "cpu.kernel",
        title: "features that an older kernel lacks",
        gain: Gain::of(4.0, 5.0, 0.0, 0.0),
        expected: "the gain of each feature",
        risk: Risk::Reboot,
        lost: "nothing",
        why: "Linux 5.11 skips seccomp filters for calls that are always allowed, 6.2 steers connections \
              with SO_INCOMING_CPU, 6.9 polls devices for a single program.",
        fix: "A newer kernel; distributions offer one for servers (`linux-image-…-backports`, `kernel-lt`).",
        source: "Linux commits f9d480b6ffbe and b261eda84ec1; ioctl_eventpoll(2)",
        judge: release,
    },
];

fn mitigations(host: &HostReading) -> Judged {
    const PLACE: &str = "/sys/devices/system/cpu/vulnerabilities";
    let names = host.names(PLACE);
    if names.is_empty() {
        return Finding::unknown("the kernel does not say which there are");
    }
    let is_active = |name: &&String| {
        let state = host.text(&format!("{PLACE}/{name}")).unwrap_or_default();
        state.starts_with("Mitigation") && !is_free(name, &state)
    };
    let active: Vec<&str> = names.iter().filter(is_active).map(String::as_str).collect();
    if active.is_empty() {
        return Finding::good("no mitigation with a measurable cost is active");
    }
    // The most expensive ones affect each system call: page tables, buffers, indirect branches of old CPUs.
    let dear = active.iter().filter(|name| {
        matches!(**name, "meltdown" | "mds" | "tsx_async_abort" | "retbleed" | "spectre_v2")
    });
    Finding::set(format!("active: {}", active.join(", ")), dear.count() as f64 * 0.3)
}

/// Mitigations that cost a server nothing, or almost nothing.
fn is_free(name: &str, state: &str) -> bool {
    let by_itself = state.contains("Enhanced") || state.contains("Automatic IBRS");
    match name {
        "spectre_v2" => by_itself,
        "spectre_v1" | "spec_store_bypass" | "l1tf" | "itlb_multihit" | "srbds" => true,
        _ => false,
    }
}

fn clocksource(host: &HostReading) -> Judged {
    const PLACE: &str = "/sys/devices/system/clocksource/clocksource0";
    let current = Finding::known(
        host.text(&format!("{PLACE}/current_clocksource")),
        "the kernel does not say",
    )?;
    let is_fast = ["tsc", "kvm-clock", "hyperv", "arch_sys_counter", "ptp"]
        .iter()
        .any(|name| current.starts_with(name));
    if is_fast {
        return Finding::good(current);
    }
    let others = host.text(&format!("{PLACE}/available_clocksource")).unwrap_or_default();
    let text = match faster_clock(host) {
        Some(_) => format!("{current}; there are {others}"),
        None => format!(
            "{current}; there are {others}: the kernel has found no faster one, or did not trust it (`dmesg \
             | grep -i tsc`)"
        ),
    };
    Finding::set(text, 1.0)
}

fn governor(host: &HostReading) -> Judged {
    const PLACE: &str = "/sys/devices/system/cpu/cpufreq";
    let policies = host.names(PLACE);
    let of = |name: &String| host.text(&format!("{PLACE}/{name}/scaling_governor"));
    let found: Vec<String> = policies.iter().filter_map(of).collect();
    if found.is_empty() {
        return Finding::not_here("this system does not control the CPU frequency");
    }
    match found.iter().filter(|name| *name != "performance").count() {
        0 => Finding::good("performance"),
        slow => Finding::set(
            format!("{} for {slow} of {} CPUs", found[0], found.len()),
            slow as f64 / found.len() as f64,
        ),
    }
}

/// Exit latency of an idle state, in microseconds, from which it counts as long.
const LONG_US: u64 = 50;

fn idle(host: &HostReading) -> Judged {
    const PLACE: &str = "/sys/devices/system/cpu/cpu0/cpuidle";
    let states = host.names(PLACE);
    if states.is_empty() {
        return Finding::not_here("this system does not choose how deep CPUs sleep");
    }
    let deep = states.iter().filter_map(|state| {
        let latency = host.number(&format!("{PLACE}/{state}/latency"))?;
        let is_used = host.number(&format!("{PLACE}/{state}/disable")) != Some(1);
        (is_used && latency >= LONG_US).then_some(latency)
    });
    match deep.max() {
        Some(latency) => Finding::set(
            format!("the deepest takes {latency} us to wake from"),
            (latency as f64 / 300.0).min(1.0),
        ),
        None => Finding::good("none takes long to wake from"),
    }
}

fn numa(host: &HostReading) -> Judged {
    let nodes = host.names("/sys/devices/system/node");
    let count = nodes
        .iter()
        .filter(|name| name.strip_prefix("node").is_some_and(|rest| rest.parse::<u32>().is_ok()))
        .count();
    if count < 2 {
        return Finding::not_here("there is one node");
    }
    match host.sysctl("kernel.numa_balancing") {
        None => Finding::unknown("the kernel does not say whether it moves memory"),
        Some(0) => Finding::good(format!("{count} nodes, and memory stays where it is")),
        Some(_) => Finding::set(format!("{count} nodes, and kernel.numa_balancing is on"), 1.0),
    }
}

fn noise(host: &HostReading) -> Judged {
    match host.look("/proc/sys/kernel/nmi_watchdog") {
        Look::Text(text) if text == "1" => Finding::set("kernel.nmi_watchdog is on", 1.0),
        Look::Text(_) => Finding::good("the watchdog is off"),
        Look::Absent => Finding::not_here("there is no watchdog"),
        Look::Denied => Finding::unknown("kernel.nmi_watchdog may not be read"),
    }
}

fn siblings(host: &HostReading) -> Judged {
    let of = |cpu: usize| {
        let list = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        host.text(&list).map(|text| cpu_list(&text))
    };
    let cores: Vec<Vec<usize>> = (0..host.now.cpus.len()).filter_map(of).collect();
    if !cores.iter().any(|core| core.len() > 1) {
        return Finding::not_here("a core has one thread");
    }
    let busy = busy(host)?;
    let bound = |thread: u32| match *host.now.threads.get(&thread)?.allowed {
        [cpu] => Some(cpu),
        _ => None,
    };
    let used: Vec<usize> = busy.into_iter().filter_map(bound).collect();
    let threads_of = |core: &Vec<usize>| used.iter().filter(|cpu| core.contains(cpu)).count();
    let shared = cores.iter().any(|core| threads_of(core) > 1);
    let idle = cores.iter().any(|core| threads_of(core) == 0);
    match shared && idle {
        true => Finding::seen("two busy threads share a core, and another core has none", 1.0),
        false => Finding::good("no core is shared while another one is idle"),
    }
}

fn isolated(host: &HostReading) -> Judged {
    let isolated = Finding::known(
        host.text("/sys/devices/system/cpu/isolated"),
        "the kernel does not say which are isolated",
    )?;
    let cpus = cpu_list(&isolated);
    if cpus.is_empty() {
        return Finding::good("none is isolated");
    }
    super::server(host)?;
    let is_used = |thread: &ServerThread| matches!(*thread.allowed, [cpu] if cpus.contains(&cpu));
    if host.now.threads.values().any(is_used) {
        return Finding::good(format!(
            "CPUs {isolated} are isolated, and threads of it are bound there"
        ));
    }
    let share = cpus.len() as f64 / host.now.cpus.len().max(1) as f64;
    Finding::seen(
        format!("CPUs {isolated} are isolated, and no thread of it is bound there"),
        share,
    )
}

/// Kernel releases from which servers profit.
const RELEASES: [(u32, u32); 3] = [(5, 11), (6, 2), (6, 9)];

fn release(host: &HostReading) -> Judged {
    let kernel = host.kernel();
    if kernel == (0, 0) {
        return Finding::unknown("its release cannot be read");
    }
    let missing: Vec<String> = RELEASES
        .iter()
        .filter(|release| kernel < **release)
        .map(|(major, minor)| format!("{major}.{minor}"))
        .collect();
    let text = format!("Linux {}.{}", kernel.0, kernel.1);
    match &*missing {
        [] => Finding::good(text),
        missing => Finding::set(
            format!("{text} lacks the features of {}", missing.join(", ")),
            missing.len() as f64 / RELEASES.len() as f64,
        ),
    }
}
