//! Programs that hold the server up: a stop, a tracer, the programs that it starts itself.

use crate::check::{Check, Gain, Risk};
use crate::cpu_wait::CpuWait;
use crate::finding::{Finding, Judged, Percent};
use crate::host::HostReading;
use crate::processes::Process;
use crate::watching::STARTS;

use super::asleep::{NOTICED, most, waits_are_seen};
use super::groups::killed;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "app.stopped",
        title: "a stopped server",
        gain: Gain::of(90.0, 90.0, 10.0, 0.0),
        expected: "the time for which it is stopped",
        risk: Risk::Process,
        lost: "what has stopped it: a debugger, job control, a freezer",
        why: "A program that SIGSTOP or a debugger has stopped does nothing, and its clients wait.",
        fix: "`kill -CONT PID`; end the debugger, or the tool that takes its stacks by stopping it. A frozen control \
              group: `systemctl thaw UNIT`, `docker unpause`, 0 in its cgroup.freeze, THAWED in its freezer.state.",
        source: "proc_pid_stat(5)",
        judge: stopped,
    },
    Check {
        id: "app.tracer",
        title: "a tracer of system calls",
        gain: Gain::of(70.0, 70.0, 0.0, 0.0),
        expected: "each call stops the thread twice, for some 10 microseconds",
        risk: Risk::Process,
        lost: "what it shows",
        why: "A tracer such as strace or gdb stops the server at each event it wants to see, and runs while \
              the server waits.",
        fix: "End it (`TracerPid` in /proc/PID/status). `velodrome profile --syscalls` counts calls without \
              stopping anything.",
        source: "ptrace(2)",
        judge: traced,
    },
    Check {
        id: "app.children",
        title: "programs that the server starts",
        gain: Gain::of(50.0, 50.0, 0.0, 10.0),
        expected: "about a millisecond for each",
        risk: Risk::Process,
        lost: "the separation of one process per request",
        why: "To start a program takes hundreds of page faults, and the server waits until it has begun, or \
              ended. Workers that crash are started anew, too.",
        fix: "FastCGI, a pool of workers, or a library instead of a program.",
        source: "vfork(2)",
        judge: children,
    },
];

fn stopped(host: &HostReading) -> Judged {
    waits_are_seen(host)?;
    if let Some((place, _)) = host.now.groups.iter().find(|(_, group)| group.frozen) {
        let text =
            format!("the control group {place} is frozen, and all that is in it stands still");
        return Finding::measured(text, Percent::between(90.0, 100.0));
    }
    if tracer(host).is_some() {
        return Finding::good("it is traced: see app.tracer");
    }
    let all = host.watched();
    let shares = all.values().map(|one| f64::from(one.stopped) / f64::from(one.looks.max(1)));
    let share = shares.fold(0.0, f64::max) * 100.0;
    if share < NOTICED {
        return Finding::good("it was not seen stopped");
    }
    let text =
        format!("it was stopped (SIGSTOP, a debugger or a freezer) {share:.0} % of the time");
    Finding::measured(text, Percent::between(share * 0.8, share * 1.2))
}

/// The program that traces the server.
fn tracer(host: &HostReading) -> Option<u32> {
    host.now.threads.values().map(|thread| thread.tracer).find(|tracer| *tracer != 0)
}

fn traced(host: &HostReading) -> Judged {
    super::server(host)?;
    if host.now.threads.is_empty() {
        return Finding::unknown("its threads cannot be read");
    }
    let Some(tracer) = tracer(host) else { return Finding::good("nobody traces it") };
    let name = Process::name(host, tracer).unwrap_or_default();
    let text = format!("{name} (process {tracer}) traces it");
    let all = host.watched();
    if all.is_empty() {
        return Finding::seen(text, 1.0);
    }
    let (share, _) = most(host, |one| one.stopped);
    let text = format!("{text}; a thread was seen stopped {share:.0} % of its working time");
    Finding::measured(text, Percent::between(share * 0.7, share.max(20.0)))
}

/// Programs started per second from which they cost.
const STARTED: f64 = 20.0;

fn children(host: &HostReading) -> Judged {
    super::server(host)?;
    if let Some(text) = killed(host) {
        return Finding::good(format!("{text}: see env.memory"));
    }
    let (Some(seconds), Ok(wait)) = (host.seconds, CpuWait::of(host)) else {
        return Finding::unknown("needs two readings of the server");
    };
    let started = Finding::known(
        host.moved(|counters| counters.started),
        "/proc/stat does not say how many programs were started",
    )?;
    let of_children = |counters: &crate::counters::Counters| -> u64 {
        let ticks = |process| Some(counters.programs.get(process)?.ticks_of_children);
        counters.members.iter().filter_map(ticks).sum()
    };
    let used = of_children(&host.now).saturating_sub(of_children(&host.before)) as f64 / 100.0;
    let rate = started as f64 / seconds;
    let new = host.now.members.difference(&host.before.members).count();
    let text = format!(
        "{rate:.0} programs or threads were started per second; those of the server that ended used {:.0} % of a \
         CPU; {new} of its {} programs are new",
        used * 100.0 / seconds,
        host.now.members.len()
    );
    let all = host.watched();
    let waiting = all.values().map(|one| {
        let calls = one.seen_in(STARTS) + one.seen_in("wait-child");
        // A master that does nothing but wait for its workers is idle.
        if calls >= one.looks { 0 } else { calls }
    });
    let waiting = waiting.max().unwrap_or(0);
    let looks = all.values().map(|one| one.looks).max().unwrap_or(0).max(1);
    let waited = f64::from(waiting) / f64::from(looks) * seconds;
    if rate < STARTED || used + waited < 0.05 * seconds {
        return Finding::good(text);
    }
    let lost = |time: f64| 100.0 * time / (wait.run + time).max(0.01);
    Finding::measured(text, Percent::between(lost(used), lost(used.max(waited))))
}
