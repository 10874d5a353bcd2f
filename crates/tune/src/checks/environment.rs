//! The environment of the server: hypervisors, other programs, their weight against its own.

use crate::check::{Check, Gain, Risk};
use crate::counters::Cpu;
use crate::cpu_wait::CpuWait;
use crate::finding::{Finding, Judged, Percent};
use crate::host::HostReading;

use super::asleep::most;

pub(super) const CHECKS: &[Check] = &[
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
        why: "A program on a CPU of the server runs while the server waits. The time is that which its threads \
              spent in the queue of a CPU.",
        fix: "Stop them, or bind them elsewhere: `taskset`, `CPUAffinity=` of their unit.",
        source: "proc_pid_schedstat(5)",
        judge: neighbours,
    },
    Check {
        id: "env.weight",
        title: "a control group with a small share of the CPU",
        gain: Gain::of(20.0, 30.0, 5.0, 0.0),
        expected: "the time that it waits for programs of other groups",
        risk: Risk::Host,
        lost: "CPU time of the other groups",
        why: "When several control groups want a CPU, each gets time by its weight, whatever the priorities \
              of the programs in it are.",
        fix: "`CPUWeight=` of the unit or of its slice (100 is usual); `--cpu-shares` of a container (1024 is \
              usual).",
        source: "docs.kernel.org, cgroup-v2",
        judge: weight,
    },
    Check {
        id: "env.disk",
        title: "programs that wait for a disk",
        gain: Gain::of(10.0, 20.0, 0.0, 5.0),
        expected: "the time they wait",
        risk: Risk::Host,
        lost: "nothing",
        why: "A thread that reads or writes a slow disk does nothing else meanwhile.",
        fix: "`velodrome profile --pid PID --off-cpu` shows where; a faster disk, more memory for the page \
              cache, or reads and writes on helper threads.",
        source: "docs.kernel.org, psi",
        judge: disk,
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

/// Steal time of a CPU, in percent, from which it costs.
const STOLEN: f64 = 1.0;

fn steal(host: &HostReading) -> Judged {
    let sum = |kind: fn(&Cpu) -> u64| {
        host.moved(|counters| Some(counters.cpus.iter().map(kind).sum())).unwrap_or(0)
    };
    let (all, stolen) = (sum(|cpu| cpu.all), sum(|cpu| cpu.stolen));
    if all == 0 {
        return Finding::unknown("/proc/stat cannot be read");
    }
    let share = stolen as f64 * 100.0 / all as f64;
    let text = format!("{share:.1} % {}", host.span());
    if share > STOLEN && host.seconds.is_some() {
        return Finding::measured(text, Percent::between(share, share));
    }
    Finding::good(text)
}

/// Share of the time that waits have to take in order to cost, in percent.
const NOTICED: f64 = 3.0;

fn neighbours(host: &HostReading) -> Judged {
    if host.process.is_none() {
        return Finding::unknown("say with --pid which program is the server");
    }
    let wait = CpuWait::of(host).or_else(Finding::unknown)?;
    let lost = wait.lost_of_time(wait.for_others, host.seconds.unwrap_or(1.0));
    let Some((share, first)) = wait.others.first() else {
        return Finding::good("no other program used its CPUs");
    };
    let stat = host.now.programs.get(first);
    let name = stat.map_or("", |stat| &*stat.name);
    // Such a program has a CPU whenever it wants one, whatever nice values and weights say (sched(7)).
    let policy = match stat.map_or(0, |stat| stat.policy) {
        1 => ", with a real-time priority (SCHED_FIFO)",
        2 => ", with a real-time priority (SCHED_RR)",
        6 => ", with a real-time priority (SCHED_DEADLINE)",
        _ => "",
    };
    let all: f64 = wait.others.iter().map(|(share, _)| share).sum();
    let text = format!(
        "{name} ({first}) uses {:.0} % of a CPU there{policy}, all others together {:.0} %; the server waited for \
         them {lost:.0} % of the time",
        share * 100.0,
        (all - share) * 100.0,
    );
    if lost < NOTICED {
        return Finding::good(text);
    }
    // The kernel counts the whole time, but the division between others and own threads is estimated.
    Finding::measured(text, Percent::between(lost * DIVIDED, lost))
}

/// The part of the waiting time that is for others at least.
const DIVIDED: f64 = 0.7;

fn weight(host: &HostReading) -> Judged {
    let wait = CpuWait::of(host).or_else(Finding::unknown)?;
    let low = host.now.groups.iter().filter_map(|(place, group)| Some((group.weight?, place)));
    let (least, place) =
        Finding::known(low.min(), "the weight of its control groups cannot be read")?;
    let text = format!("{place} has {least} % of the usual weight");
    if least >= 100 {
        return Finding::good("its control groups have the usual weight, or more");
    }
    let lost = wait.lost_of_time(wait.for_others, host.seconds.unwrap_or(1.0));
    if lost < NOTICED {
        return Finding::set(format!("{text}; it hardly waited for others"), 0.1);
    }
    let text = format!("{text}, and it waited for other programs {lost:.0} % of the time");
    Finding::measured(text, Percent::between(lost * DIVIDED, lost))
}

/// Pressure stall, in percent of the time, from which it costs.
const WAITED: f64 = 10.0;

fn pressure(host: &HostReading) -> Judged {
    if host.process.is_some()
        && let Ok(wait) = CpuWait::of(host)
    {
        let lost = wait.lost(wait.for_others + wait.for_own);
        return Finding::good(format!(
            "the server waited for a CPU {lost:.0} % of the time; see env.neighbours and app.workers"
        ));
    }
    let seconds = Finding::known(host.seconds, "needs two readings of counters")?;
    match host.moved(|counters| counters.pressure.get("cpu").copied()) {
        None => Finding::unknown("the kernel does not count waits for a CPU"),
        Some(waited) => {
            let share = waited as f64 / 1e4 / seconds;
            let text = format!("a thread waited for a CPU {share:.0} % of the time");
            if share < WAITED {
                return Finding::good(text);
            }
            // One of many threads may have waited all that time.
            Finding::measured(
                text,
                Percent::between(share / host.now.cpus.len().max(1) as f64 / 4.0, share),
            )
        }
    }
}

/// Waits for a disk, in percent of the time, from which they cost.
const WAITED_FOR_DISK: f64 = 10.0;

fn disk(host: &HostReading) -> Judged {
    let seconds = Finding::known(host.seconds, "needs two readings of counters")?;
    let of_group = host.now.groups.iter().filter_map(|(place, now)| {
        let before = host.before.groups.get(place)?.pressure.get("io")?;
        Some(now.pressure.get("io")?.saturating_sub(*before))
    });
    let of_server = of_group.min();
    let of_host = host.moved(|counters| counters.pressure.get("io").copied());
    let waited =
        Finding::known(of_server.or(of_host), "the kernel does not count waits for a disk")?;
    let share = waited as f64 / 1e4 / seconds;
    let whose =
        if of_server.is_some() { "a thread of its control group" } else { "a thread of the host" };
    let text = format!("{whose} waited for a disk {share:.0} % of the time");
    // Others of its group may have waited: its group may be that of the whole host.
    let is_seen = host.watched().values().any(|one| one.looks > 0);
    let (of_threads, _) = most(host, |one| one.disk.max(one.seen_in("fsync")));
    if is_seen && of_threads < NOTICED {
        return Finding::good(format!("{text}, but none of the server was seen waiting"));
    }
    if share >= WAITED_FOR_DISK && (host.process.is_none() || of_server.is_some()) {
        return Finding::seen(text, share / 100.0);
    }
    Finding::good(text)
}
