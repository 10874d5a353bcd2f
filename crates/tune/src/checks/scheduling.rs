//! The server's threads and the CPUs: how many want one, where they may run, how they are favoured.

use std::collections::BTreeSet;

use crate::check::{Check, Gain, Risk};
use crate::cpu_wait::CpuWait;
use crate::finding::{Evidence, Finding, Judged, Percent, Price};
use crate::group::GroupCounts;
use crate::host::HostReading;
use crate::processes::cpu_list;

use super::asleep::contended;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "app.workers",
        title: "the number of busy threads",
        gain: Gain::of(25.0, 10.0, 10.0, 0.0),
        expected: "25 to 27 % where half of four vCPUs was used",
        risk: Risk::Process,
        lost: "nothing",
        why: "A server with fewer worker threads than CPUs leaves CPUs idle; with more, its threads wait \
              for each other. It shows when its threads are busy nearly all the time and other CPUs that it \
              may use are not.",
        fix: "One worker per CPU that it may use: `velodrome serve --schedulers N`, `worker_processes auto` \
              in nginx.",
        source: "talawah.io, Extreme HTTP Performance Tuning, step 1",
        judge: workers,
    },
    Check {
        id: "app.affinity",
        title: "CPUs that the server may not use",
        gain: Gain::of(25.0, 25.0, 10.0, 0.0),
        expected: "the time of the idle CPUs",
        risk: Risk::Process,
        lost: "CPUs that were kept for other programs",
        why: "Threads that wait for the few CPUs they may use could run on the idle ones. An affinity \
              (`taskset`, `CPUAffinity=`) or the cpuset of a control group forbids it.",
        fix: "`taskset -a -p -c LIST PID`, `CPUAffinity=` or `AllowedCPUs=` of the unit, `--cpuset-cpus` of a \
              container.",
        source: "sched_setaffinity(2); proc_pid_schedstat(5)",
        judge: affinity,
    },
    Check {
        id: "app.pin",
        title: "busy threads that are not bound to a CPU",
        gain: Gain::of(10.0, 15.0, 5.0, 0.0),
        expected: "a part of the 38 % of perfect locality",
        risk: Risk::Process,
        lost: "the kernel's freedom to move threads away from busy CPUs",
        why: "A thread that moves to another CPU finds cold caches, and packets of its connections still \
              arrive at the old CPU. With several busy workers, bind each to one CPU.",
        fix: "`velodrome serve` binds its schedulers unless --no-pin is given; `worker_cpu_affinity auto` \
              in nginx; otherwise `taskset -p -c N THREAD`.",
        source: "talawah.io, step 5",
        judge: pin,
    },
    Check {
        id: "app.sched",
        title: "a low scheduling priority of the server",
        gain: Gain::of(10.0, 25.0, 2.0, 0.0),
        expected: "the time that it waits for programs with higher priority",
        risk: Risk::Process,
        lost: "CPU time of the other programs",
        why: "A positive nice value, or the policies batch and idle, give other programs priority when both \
              want the CPU.",
        fix: "`Nice=0` and `CPUSchedulingPolicy=other` in the unit; `renice 0 -p PID`, `chrt -o -p 0 PID`. \
              SCHED_FIFO is no solution: a thread that spins in it starves the host.",
        source: "sched(7)",
        judge: politeness,
    },
];

/// Threads that wanted a CPU at least half of the time between the two readings.
pub(super) fn busy(host: &HostReading) -> Result<Vec<u32>, Finding> {
    CpuWait::of(host).map(|wait| wait.busy).or_else(Finding::unknown)
}

/// Idle CPUs that are needed for another thread to gain something.
const ENOUGH_IDLE: f64 = 0.5;

/// Share of its time, in percent, that the server may wait for itself.
const OWN_WAIT: f64 = 5.0;

fn workers(host: &HostReading) -> Judged {
    let wait = CpuWait::of(host).or_else(Finding::unknown)?;
    let (busy, cpus) = (wait.busy.len(), wait.allowed.len());
    let seconds = host.seconds.unwrap_or(1.0);
    let idle = wait.idle(host, |cpu| wait.allowed.contains(cpu)) / seconds;
    let own = wait.lost_to_own();
    if wait.wanting > wait.cpus.len() && own >= OWN_WAIT {
        let text = format!(
            "{} of its threads want a CPU and share {}{}: they waited for each other {own:.0} % of their time",
            wait.wanting,
            plural(wait.cpus.len(), "CPU"),
            bound_by(host, &wait.cpus)
        );
        // The CPUs are busy all the same: mostly answers come later.
        return Ok(Finding::Costs(Evidence::Seen, text, Price::Published(own / 100.0)));
    }
    if busy == 0 {
        return Finding::good(format!(
            "no thread of it wanted a CPU half of the time; together they ran {:.2} s a second",
            wait.run / seconds
        ));
    }
    if busy < cpus && idle < ENOUGH_IDLE {
        return Finding::good(format!("{busy} of its threads are busy, and no CPU was idle"));
    }
    if busy < cpus
        && let Some(lock) = contended(host)
    {
        return Finding::good(format!(
            "{busy} of its threads are busy, but another one would wait for the same lock: {lock}"
        ));
    }
    if busy < cpus {
        let text = format!(
            "{busy} of its threads are busy, it may use {cpus} CPUs, and {idle:.1} of them were idle"
        );
        let gain = 100.0 * idle / (wait.run / seconds + idle);
        return Finding::scaled(text, Percent::between(gain * 0.3, gain));
    }
    Finding::good(format!("{busy} of its threads are busy on {}", plural(cpus, "CPU")))
}

/// What bounds threads to some CPUs of the host, in words; empty if they may use all.
fn bound_by(host: &HostReading, cpus: &BTreeSet<usize>) -> String {
    let online = host.online();
    if online.iter().all(|cpu| cpus.contains(cpu)) {
        return String::new();
    }
    let is_bound = |(_, group): &(&String, &GroupCounts)| {
        let allowed = cpu_list(&group.cpus);
        !allowed.is_empty() && online.iter().any(|cpu| !allowed.contains(cpu))
    };
    // The outermost group with a bound has the shortest path.
    let group = host.now.groups.iter().filter(is_bound).map(|(place, _)| place);
    let by = group.min_by_key(|place| place.len()).map_or_else(
        || "their affinity (taskset, CPUAffinity=)".to_owned(),
        |place| format!("the cpuset of {place}"),
    );
    format!(" of {}, by {by}", online.len())
}

pub(super) fn plural(count: usize, name: &str) -> String {
    if count == 1 { format!("1 {name}") } else { format!("{count} {name}s") }
}

/// Share of the time for which CPUs that it may not use have to be idle while it waits.
const NOTICED: f64 = 0.05;

fn affinity(host: &HostReading) -> Judged {
    let wait = CpuWait::of(host).or_else(Finding::unknown)?;
    let online = host.online();
    let free = |cpu: &usize| !wait.cpus.contains(cpu) && online.contains(cpu);
    let others = online.iter().filter(|cpu| free(cpu)).count();
    if others == 0 {
        return Finding::good("it may use all CPUs");
    }
    let list: Vec<String> = wait.cpus.iter().map(usize::to_string).collect();
    let text =
        format!("its busy threads may use CPU {}{}", list.join(", "), bound_by(host, &wait.cpus));
    let idle = wait.idle(host, free);
    let unused = idle.min(wait.for_own + wait.for_others);
    let noticed = NOTICED * host.seconds.unwrap_or(1.0);
    if unused < wait.run * OWN_WAIT / 100.0 || unused < noticed {
        // With other CPUs it would at least share them with what is busy there.
        let waits = wait.lost_to_own() >= OWN_WAIT && wait.wanting > wait.allowed.len();
        return match waits {
            true => Finding::set(format!("{text}; the others were busy as well meanwhile"), 0.2),
            false => Finding::good(format!("{text}; the others would do nothing more")),
        };
    }
    let text = format!(
        "{text}; they waited {:.1} s for them while the others were idle for {idle:.1} s {}",
        wait.for_own + wait.for_others,
        host.span()
    );
    let lost = 100.0 * unused / (wait.run + unused);
    // A server that mostly sleeps for something else loses little to it.
    let waited = wait.for_own + wait.for_others;
    let lost = lost.min(wait.lost_of_time(waited, host.seconds.unwrap_or(1.0)));
    Finding::measured(text, Percent::between(lost * 0.5, lost))
}

/// Moves of a busy thread to another CPU, per second, from which they cost, and from which they cost most.
const MOVES: f64 = 20.0;
const MOVES_MOST: f64 = 1_000.0;

fn pin(host: &HostReading) -> Judged {
    let busy = busy(host)?;
    if busy.is_empty() {
        return Finding::good("no thread of it was busy");
    }
    if host.now.cpus.len() < 2 {
        return Finding::not_here("there is one CPU");
    }
    let is_free =
        |thread: &&u32| host.now.threads.get(thread).is_some_and(|thread| thread.allowed.len() > 1);
    let free: Vec<&u32> = busy.iter().filter(is_free).collect();
    if free.is_empty() {
        return Finding::good("each busy thread has a CPU");
    }
    let moves = |thread: &&u32| {
        let before = host.before.threads.get(thread)?.moves?;
        Some(host.now.threads.get(thread)?.moves?.saturating_sub(before))
    };
    let counted: Vec<u64> = free.iter().filter_map(moves).collect();
    if counted.is_empty() {
        return Finding::unknown(format!(
            "{} of {} busy threads may run on several CPUs; the kernel does not count how often they moved",
            free.len(),
            busy.len()
        ));
    }
    let all: u64 = counted.iter().sum();
    let rate = all as f64 / host.seconds.unwrap_or(1.0) / counted.len() as f64;
    let text = format!(
        "{} of {} busy threads may run on several CPUs, and moved {all} times {}",
        free.len(),
        busy.len(),
        host.span()
    );
    if rate < MOVES { Finding::good(text) } else { Finding::seen(text, rate / MOVES_MOST) }
}

fn politeness(host: &HostReading) -> Judged {
    super::server(host)?;
    let lowest = host.now.threads.values().max_by_key(|thread| (thread.policy == 5, thread.nice));
    let lowest = Finding::known(lowest, "its priority cannot be read")?;
    let (text, share) = match lowest.policy {
        3 => ("its policy is batch".to_owned(), 0.5),
        5 => ("its policy is idle".to_owned(), 1.0),
        _ if lowest.nice > 0 => {
            (format!("its nice value is {}", lowest.nice), lowest.nice as f64 / 19.0)
        }
        _ => return Finding::good(format!("its nice value is {}", lowest.nice)),
    };
    let seconds = host.seconds.unwrap_or(1.0);
    match CpuWait::of(host) {
        Ok(wait) if wait.lost_of_time(wait.for_others, seconds) >= OWN_WAIT => {
            let lost = wait.lost_of_time(wait.for_others, seconds);
            let text = format!("{text}, and it waited for other programs {lost:.0} % of the time");
            Finding::measured(text, Percent::between(lost * 0.7, lost))
        }
        _ => Finding::set(text, share * 0.2),
    }
}
