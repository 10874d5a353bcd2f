//! The environment of the server: quotas, hypervisors, other programs.

use crate::check::{Check, Gain, Risk};
use crate::counters::{Cpu, control_group};
use crate::finding::Finding;
use crate::host::HostReading;
use crate::processes::Process;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "env.quota",
        title: "a CPU quota",
        gain: Gain::of(40.0, 60.0, 20.0, 0.0),
        expected: "no pauses of up to a whole period, 100 ms",
        risk: Risk::Process,
        lost: "nothing; only the administrator of the machine can change the quota",
        why: "When a control group has used its quota, all its threads stop until the next period. With \
              more threads than the quota has CPUs, that happens early.",
        fix: "As many workers as the quota has whole CPUs; or request CPUs instead of a quota (cpuset, the \
              static CPU manager of Kubernetes).",
        source: "docs.kernel.org, cgroup-v2; kubernetes issue 67577",
        judge: quota,
    },
    Check {
        id: "env.steal",
        title: "time taken by the hypervisor",
        gain: Gain::of(20.0, 30.0, 5.0, 0.0),
        expected: "as much as it took; a measurement with more than 1 % of it is worthless",
        risk: Risk::Interruption,
        lost: "nothing",
        why: "The hypervisor gave the CPU to another virtual machine while this one wanted to run.",
        fix: "Another machine, or a type with dedicated CPUs.",
        source: "proc_stat(5)",
        judge: steal,
    },
    Check {
        id: "env.neighbours",
        title: "other programs on the same CPUs",
        gain: Gain::of(30.0, 30.0, 5.0, 0.0),
        expected: "as much as they use",
        risk: Risk::Host,
        lost: "what they do",
        why: "A server bound to a CPU cannot move away from another program on it.",
        fix: "Stop them, or bind them elsewhere: `taskset`, `CPUAffinity=` of their unit.",
        source: "proc_pid_stat(5)",
        judge: neighbours,
    },
    Check {
        id: "env.pressure",
        title: "programs that wait for a CPU",
        gain: Gain::of(10.0, 25.0, 5.0, 0.0),
        expected: "the time they wait",
        risk: Risk::Host,
        lost: "nothing",
        why: "More threads want to run than there are CPUs.",
        fix: "Fewer workers or fewer other programs; `velodrome tune audit --pid` shows which.",
        source: "docs.kernel.org, psi",
        judge: pressure,
    },
];

fn quota(host: &HostReading) -> Finding {
    let Some(group) = control_group(host, host.process) else {
        return Finding::unknown("the control group (version 2) of the process is not known");
    };
    let Some(max) = host.text(&format!("{group}/cpu.max")) else {
        return Finding::not_here("its control group has no quota");
    };
    let mut words = max.split_whitespace();
    let quota = words.next().and_then(|word| word.parse::<f64>().ok());
    let period = words.next().and_then(|word| word.parse::<f64>().ok()).unwrap_or(100_000.0);
    let Some(quota) = quota else { return Finding::good("its control group has no quota") };
    let cpus = quota / period.max(1.0);
    let periods = host.moved(|counters| Some(counters.quota?.0)).unwrap_or(0);
    let throttled = host.moved(|counters| Some(counters.quota?.1)).unwrap_or(0);
    if throttled > 0 {
        let share = throttled as f64 / periods.max(1) as f64;
        let text = format!(
            "{cpus:.1} CPUs; throttled in {throttled} of {periods} periods {}",
            host.span()
        );
        return Finding::seen(text, share * 2.0);
    }
    Finding::good(format!("{cpus:.1} CPUs, never throttled {}", host.span()))
}

/// Steal time of a CPU, in percent, from which it costs.
const STOLEN: f64 = 1.0;

fn steal(host: &HostReading) -> Finding {
    let sum = |kind: fn(&Cpu) -> u64| {
        host.moved(|counters| Some(counters.cpus.iter().map(kind).sum())).unwrap_or(0)
    };
    let (all, stolen) = (sum(|cpu| cpu.all), sum(|cpu| cpu.stolen));
    if all == 0 {
        return Finding::unknown("/proc/stat cannot be read");
    }
    let share = stolen as f64 * 100.0 / all as f64;
    let text = format!("{share:.1} % {}", host.span());
    if share > STOLEN { Finding::seen(text, share / 20.0) } else { Finding::good(text) }
}

/// Share of a CPU from which a program counts as a noisy neighbour.
const BUSY: f64 = 0.1;

fn neighbours(host: &HostReading) -> Finding {
    let Some(seconds) = host.seconds else {
        return Finding::unknown("needs two readings of counters");
    };
    let own = std::process::id();
    let mut busy: Vec<(f64, u32)> = Vec::new();
    for (process, now) in &host.now.programs {
        let before = host.before.programs.get(process).copied().unwrap_or(*now);
        let share = now.saturating_sub(before) as f64 / 100.0 / seconds;
        if share >= BUSY && Some(*process) != host.process && *process != own {
            busy.push((share, *process));
        }
    }
    busy.sort_by(|one, other| other.0.total_cmp(&one.0));
    let Some((share, first)) = busy.first() else { return Finding::good("none uses much") };
    if host.process.is_none() && busy.len() == 1 {
        return Finding::unknown(format!(
            "one program is busy ({first}); say with --pid which one is the server"
        ));
    }
    let name = Process::name(host, *first).unwrap_or_default();
    let all: f64 = busy.iter().map(|(share, _)| share).sum();
    let cpus = host.now.cpus.len().max(1) as f64;
    let text = format!(
        "{name} ({first}) uses {:.0} % of a CPU, all others together {:.0} %",
        share * 100.0,
        (all - share) * 100.0
    );
    Finding::seen(text, all / cpus * 2.0)
}

/// Pressure stall, in percent of ten seconds, from which it costs.
const WAITED: f64 = 10.0;

fn pressure(host: &HostReading) -> Finding {
    let Some(text) = host.text("/proc/pressure/cpu") else {
        return Finding::unknown("the kernel does not count waits for a CPU");
    };
    let share =
        text.split_whitespace().find_map(|word| word.strip_prefix("avg10=")?.parse::<f64>().ok());
    match share {
        Some(share) if share >= WAITED => Finding::seen(
            format!("a thread waited in {share:.0} % of the last ten seconds"),
            share / 100.0,
        ),
        Some(_) => Finding::good("hardly any"),
        None => Finding::unknown("/proc/pressure/cpu has an unknown format"),
    }
}
