//! Observers of the host or the server, and their cost: samplers, BPF programs, traces, audit rules.

use crate::check::{Check, Gain, Risk};
use crate::cpu_wait::CpuWait;
use crate::finding::{Finding, Judged, Percent};
use crate::host::HostReading;
use crate::observers::{self, Observer};
use crate::processes::Process;
use crate::rules::{AUDIT_RULES, NO_AUDIT_RULES};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "cpu.audit",
        title: "auditing of system calls",
        gain: Gain::of(8.0, 5.0, 0.0, 0.0),
        expected: "a part of 11 %; on one laptop a system call took 60 instead of 40 ns",
        risk: Risk::Security,
        lost: "the audit trail",
        why: "Each system call of a program that the audit system watches takes the slow path in and out, and \
              walks the rules for system calls. Rules are in the kernel, whether auditd runs or not.",
        fix: "`auditctl -l` lists the rules; `auditctl -a never,task`, then restart the server: the rule \
              applies to programs that start later.",
        source: "talawah.io, step 3",
        judge: auditing,
    },
    Check {
        id: "obs.perf",
        title: "a sampler of the whole host or the server",
        gain: Gain::of(10.0, 10.0, 0.0, 0.0),
        expected: "2 to 6 microseconds for each sample with its stack",
        risk: Risk::Process,
        lost: "what it shows",
        why: "A sampler interrupts a CPU thousands of times a second and walks the stack of what runs there.",
        fix: "End it, or let it sample less often: 99 times a second are usual (`perf record -F 99`).",
        source: "perf_event_open(2)",
        judge: samplers,
    },
    Check {
        id: "obs.bpf",
        title: "BPF programs in the way of calls and packets",
        gain: Gain::of(5.0, 5.0, 1.0, 0.0),
        expected: "0.1 to 1 microsecond each time one runs",
        risk: Risk::Process,
        lost: "what they show, enforce or count",
        why: "A program at a system call, a function or a scheduler event runs each time, for all programs of \
              the host.",
        fix: "`bpftool prog` lists them, with their times if kernel.bpf_stats_enabled is 1; end the agent that \
              holds them.",
        source: "docs.kernel.org, bpf; bpftool-prog(8)",
        judge: programs,
    },
    Check {
        id: "obs.trace",
        title: "kernel tracing that is switched on",
        gain: Gain::of(15.0, 10.0, 0.0, 0.0),
        expected: "some percent for events; half of the throughput for a tracer of all functions; 1 to 3 \
                   microseconds for each hit of a probe in a program",
        risk: Risk::Process,
        lost: "the trace",
        why: "A trace that somebody has left on records each function, event or probe hit, for all programs.",
        fix: "echo nop > /sys/kernel/tracing/current_tracer; echo > /sys/kernel/tracing/set_event; echo > \
              /sys/kernel/tracing/uprobe_events",
        source: "docs.kernel.org, ftrace and uprobetracer",
        judge: traces,
    },
];

fn auditing(host: &HostReading) -> Judged {
    if host.text("/proc/cmdline").is_some_and(|line| line.split(' ').any(|word| word == "audit=0"))
    {
        return Finding::good("switched off at boot");
    }
    let daemon = Process::named(host, "auditd");
    let with = daemon.map_or_else(
        || "without auditd".to_owned(),
        |process| format!("auditd runs (process {process})"),
    );
    let Some(rules) = host.text(AUDIT_RULES) else {
        return match daemon {
            Some(_) => Finding::set(with, 1.0),
            None => Finding::unknown(
                host.text(NO_AUDIT_RULES)
                    .unwrap_or_else(|| "the kernel's rules cannot be asked for here".to_owned()),
            ),
        };
    };
    let count = |list: &str| rules.lines().filter(|line| line.starts_with(list)).count();
    if rules.lines().any(|line| line == "task never") {
        return Finding::good("a rule exempts programs");
    }
    match (count("exit"), daemon) {
        (0, None) => Finding::good("no rule for system calls, and no auditd"),
        (0, Some(_)) => Finding::set(format!("{with}, without rules for system calls"), 0.5),
        (rules, _) => {
            let text = format!("{rules} rules for system calls, {with}");
            // Each rule is compared with each call that its mask names.
            Finding::scaled(
                text,
                Percent::between(2.0 + rules as f64 * 0.1, 8.0 + rules as f64 * 0.5),
            )
        }
    }
}

/// Interrupts of the timer that a CPU has without a sampler, per second.
const USUAL: f64 = 1_000.0;

/// Seconds that a sample with its stack takes.
const SAMPLE: (f64, f64) = (1.5e-6, 6.0e-6);

fn all(host: &HostReading) -> Option<Vec<Observer>> {
    Some(Observer::read(&host.text(observers::PLACE)?))
}

fn unseen() -> Judged {
    Finding::unknown("the descriptors of other programs may not be seen: needs root")
}

fn samplers(host: &HostReading) -> Judged {
    let Some(all) = all(host) else { return unseen() };
    let found: Vec<&Observer> = all
        .iter()
        .filter(|one| one.kind == "perf" && !host.now.members.contains(&one.process))
        .collect();
    let Some(first) = found.first() else { return Finding::good("none") };
    let text =
        format!("{} (process {}) has {} of its events", first.name, first.process, first.count);
    let (Some(seconds), Some(ticked)) = (host.seconds, host.moved(|counters| counters.ticking))
    else {
        return Finding::set(text, 0.3);
    };
    // Events of a clock interrupt by the timer, those of a counter by NMI.
    let cpus = host.now.cpus.len().max(1) as f64;
    let rate = ticked as f64 / seconds / cpus;
    let text =
        format!("{text}; {rate:.0} interrupts of timers and counters per second on each CPU");
    let more = (rate - USUAL).max(0.0);
    let taken = taken_by(&found, host);
    match more > 0.0 {
        true => Finding::scaled(
            text,
            Percent::between(
                more * SAMPLE.0 * 100.0 + taken * 0.5,
                more * SAMPLE.1 * 100.0 + taken,
            ),
        ),
        // It counts, or waits for something that has not happened.
        false => Finding::good(text),
    }
}

/// The part of the server's time, in percent, for which it waited for a CPU that these programs had: a sampler also
/// takes its samples out of the kernel and writes them.
fn taken_by(observers: &[&Observer], host: &HostReading) -> f64 {
    let (Ok(wait), Some(seconds)) = (CpuWait::of(host), host.seconds) else { return 0.0 };
    let is_one = |process: u32| observers.iter().any(|one| one.process == process);
    let used = wait.others.iter().filter(|(_, process)| is_one(*process));
    let used = used.map(|(share, _)| share * seconds).sum::<f64>().min(wait.taken);
    wait.lost_of_time(wait.for_others * used / wait.taken.max(f64::MIN_POSITIVE), seconds)
}

fn programs(host: &HostReading) -> Judged {
    let Some(all) = all(host) else { return unseen() };
    let found: Vec<&Observer> = all.iter().filter(|one| one.kind == "bpf").collect();
    match found.first() {
        None => Finding::good("no program holds one that observes"),
        Some(first) => {
            let count: usize = found.iter().map(|one| one.count).sum();
            let text = format!("{count}, some of {} (process {})", first.name, first.process);
            Finding::set(text, 1.0)
        }
    }
}

fn traces(host: &HostReading) -> Judged {
    const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
    let place = Finding::known(
        PLACES.into_iter().find(|place| host.has(&format!("{place}/current_tracer"))),
        "tracefs is not mounted here, or may not be read",
    )?;
    let text = |name: &str| host.text(&format!("{place}/{name}"));
    let tracer = Finding::known(text("current_tracer"), "the current tracer may not be read")?;
    if text("tracing_on").is_some_and(|on| on == "0")
        && text("uprobe_events").is_none_or(|all| all.is_empty())
    {
        return Finding::good("recording is off");
    }
    if tracer != "nop" {
        let share = if tracer.starts_with("function") { 1.0 } else { 0.3 };
        return Finding::seen(format!("the tracer {tracer} records"), share);
    }
    let count = |name: &str| {
        text(name).map_or(0, |all| all.lines().filter(|line| !line.is_empty()).count())
    };
    let (events, probes) = (count("set_event"), count("uprobe_events") + count("kprobe_events"));
    match (events, probes) {
        (0, 0) => Finding::good("no tracer, no event, no probe"),
        (events, probes) => {
            Finding::seen(format!("{events} events and {probes} probes are on"), 0.5)
        }
    }
}
