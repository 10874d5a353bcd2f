//! The waits of the server's threads instead of working: locks, disks, pipes, the clock.

use std::collections::{BTreeMap, BTreeSet};

use crate::check::{Check, Gain, Risk};
use crate::cpu_wait::CpuWait;
use crate::finding::{Finding, Judged, Percent, Price};
use crate::host::HostReading;
use crate::processes::{Process, variable_of};
use crate::watching::{FILE_LOCK, MEMORY_LOCK, Watched};

use super::file_locks::{self, tried_again};
use super::growth::late;
use super::no_disk::no_disk;
use super::reclaimed::read_again;
use super::serving::{is_serving, serving, spins, woken};
use super::unread::{always_running, unread};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "app.lock",
        title: "threads that wait for one lock",
        gain: Gain::of(40.0, 40.0, 10.0, 0.0),
        expected: "the time that they wait, as far as CPUs are idle",
        risk: Risk::Process,
        lost: "nothing; it takes a change of the program",
        why: "Only one thread has a lock; the others sleep until it is free, and each sleep and wake-up costs \
              some microseconds. More threads only wait longer.",
        fix: "`velodrome profile --pid PID --locks` shows where, for goroutines, too. Hold the lock for a shorter \
              time, or give each thread its own part of the data; for Python, several processes.",
        source: "futex(2)",
        judge: locks,
    },
    Check {
        id: "app.stuck",
        title: "requests that no thread reads",
        gain: Gain::of(90.0, 90.0, 50.0, 0.0),
        expected: "everything",
        risk: Risk::Process,
        lost: "nothing",
        why: "Requests wait in sockets while all threads sleep in locks, disks or stops: a deadlock, or a \
              thread that holds what all others need.",
        fix: "`velodrome profile --pid PID --off-cpu` shows where they sleep; `gdb -p PID -batch -ex 'thread \
              apply all bt'` shows who holds what.",
        source: "proc_pid_syscall(5)",
        judge: stuck,
    },
    Check {
        id: "app.disk",
        title: "threads that wait for a disk",
        gain: Gain::of(40.0, 50.0, 5.0, 5.0),
        expected: "the time that they wait",
        risk: Risk::Process,
        lost: "with fsync, certainty that data survives a power failure",
        why: "A thread that waits for a disk, in fsync(2) or because a page is not in memory, serves nobody.",
        fix: "Write logs without fsync, group several records into one, or use a helper thread.",
        source: "fsync(2); proc_pid_stat(5)",
        judge: disk,
    },
    Check {
        id: "app.output",
        title: "output that nobody takes fast enough",
        gain: Gain::of(50.0, 60.0, 0.0, 0.0),
        expected: "the time that it waits",
        risk: Risk::Process,
        lost: "lines of the log, if it drops them instead of waiting",
        why: "A pipe holds 64 KiB, a socket of syslog some hundred messages. When their reader is slow (a log \
              collector, journald, a terminal), the server sleeps in write(2).",
        fix: "Log to a file, less, or from a thread of its own; raise the limits of the collector \
              (`RateLimitBurst=` of journald; docker: `mode=non-blocking`).",
        source: "pipe(7)",
        judge: output,
    },
    Check {
        id: "app.sleep",
        title: "threads that sleep by the clock",
        gain: Gain::of(30.0, 40.0, 0.0, 0.0),
        expected: "the time that they sleep",
        risk: Risk::Process,
        lost: "nothing; it takes a change of the program",
        why: "A thread that serves requests and sleeps for a time, for a retry or a pause, serves nobody \
              meanwhile; the kernel may wake it later than asked (timer slack, 50 us by default).",
        fix: "Wait for the event itself, with epoll(7); `velodrome profile --pid PID --off-cpu` shows where it \
              sleeps.",
        source: "nanosleep(2)",
        judge: slept,
    },
];

/// Waiting threads, on average, from which a lock costs.
const WAITERS: f64 = 0.1;

/// A futex that several threads wait for.
struct Lock {
    address: u64,
    threads: BTreeSet<u32>,
    /// Threads that wait, on average.
    waiting: f64,
    looks: u32,
}

/// The lock with the most waiting threads. A condition variable, which idle threads of a pool wait for, is none.
fn lock(host: &HostReading) -> Option<(Lock, BTreeMap<u32, Watched>)> {
    let all = host.watched();
    let mut locks: BTreeMap<(u32, &str), Lock> = BTreeMap::new();
    for (thread, watched) in &all {
        for (call, count) in &watched.calls {
            let Some((address, operation)) =
                call.strip_prefix("futex/").and_then(|rest| rest.split_once('/'))
            else {
                continue;
            };
            // FUTEX_WAIT, with or without FUTEX_PRIVATE_FLAG: C libraries wait for condition variables with
            // FUTEX_WAIT_BITSET, but also for locks of readers and writers. A thread that waits for requests itself
            // belongs to no pool that waits for a condition.
            let is_mutex = matches!(operation, "0" | "80") || is_serving(watched);
            let may_be_global =
                || is_interpreter(host, watched.process) && woken(host, *thread) > OFTEN;
            if !(is_mutex || may_be_global()) {
                continue;
            }
            let lock = locks.entry((watched.process, address)).or_insert_with(|| Lock {
                address: u64::from_str_radix(address, 16).unwrap_or(0),
                threads: BTreeSet::new(),
                waiting: 0.0,
                looks: 0,
            });
            lock.threads.insert(*thread);
            lock.waiting += f64::from(*count) / f64::from(watched.looks.max(1));
            lock.looks = lock.looks.max(watched.looks);
        }
    }
    let found = locks.into_values().filter(|lock| lock.threads.len() > 1);
    let most = found.max_by(|one, other| one.waiting.total_cmp(&other.waiting))?;
    (most.waiting >= WAITERS).then(|| (most, all.clone()))
}

/// Wake-ups of a thread per second from which it takes part in something.
const OFTEN: f64 = 20.0;

/// Whether a program has a lock for its whole interpreter.
fn is_interpreter(host: &HostReading, process: u32) -> bool {
    Process::name(host, process)
        .is_some_and(|name| name.starts_with("python") || name.starts_with("ruby"))
}

/// Whether a lock is that of the whole interpreter: it is a variable of Python itself. A lock that a script has made is
/// in memory that was allocated for it.
fn is_global(host: &HostReading, process: u32, address: u64) -> bool {
    let file = variable_of(host, process, address).unwrap_or_default();
    file.starts_with("python") || file.starts_with("libpython")
}

/// A lock for which threads of the server wait, in words.
pub(super) fn contended(host: &HostReading) -> Option<String> {
    let (lock, all) = lock(host)?;
    let moves = lock.threads.iter().map(|thread| woken(host, *thread)).sum::<f64>();
    if moves < OFTEN {
        return None;
    }
    let process = lock.threads.first().and_then(|thread| all.get(thread)).map(|one| one.process)?;
    let whose = match is_global(host, process, lock.address) {
        true => ", that of the interpreter (GIL)",
        false => "",
    };
    Some(format!(
        "{:.1} of {} threads wait for one lock{whose} at any time, and were woken {moves:.0} times a second",
        lock.waiting,
        lock.threads.len()
    ))
}

/// Ends a check where nothing is known about waits.
pub(super) fn waits_are_seen(host: &HostReading) -> Result<(), Finding> {
    super::server(host)?;
    if host.watched().values().all(|thread| thread.looks == 0) {
        return Finding::unknown("needs two readings of the server, and its threads");
    }
    Ok(())
}

/// The same for what is seen in calls, which takes the right to trace the server.
pub(super) fn calls_are_seen(host: &HostReading) -> Result<(), Finding> {
    waits_are_seen(host)?;
    let all = host.watched();
    if all.values().all(|one| one.calls.keys().all(|call| call.starts_with("at/")))
        && all.values().any(|one| one.looks > one.running + one.stopped)
    {
        return Finding::unknown(
            "the calls in which its threads sleep may not be seen, or none of them tells anything",
        );
    }
    Ok(())
}

/// Locks of the kernel, and their names in words.
const OF_KERNEL: [(&str, &str); 2] = [
    (FILE_LOCK, "a lock of a file (flock, fcntl)"),
    (MEMORY_LOCK, "the lock of their address space (mmap, munmap, page faults)"),
];

/// The threads that wait for a lock of the kernel on average, in words.
fn of_kernel(host: &HostReading) -> Option<(String, f64)> {
    let all = host.watched();
    let waiting = |(call, name): &(&str, &'static str)| {
        let share = |one: &Watched| f64::from(one.seen_in(call)) / f64::from(one.looks.max(1));
        (all.values().map(share).sum::<f64>(), *name)
    };
    let most = OF_KERNEL.iter().map(waiting).max_by(|one, other| one.0.total_cmp(&other.0));
    let (waiting, name) = most.filter(|(waiting, _)| *waiting >= WAITERS)?;
    let file = file_locks::told(host).filter(|_| name == OF_KERNEL[0].1).unwrap_or_default();
    Some((
        format!("{waiting:.1} of {} threads wait for {name} at any time{file}", all.len()),
        waiting,
    ))
}

/// The threads that try again and again to lock a file, on average, in words.
fn of_tries(host: &HostReading, serves: impl Fn(&Watched) -> bool) -> Option<(String, f64)> {
    tried_again(host, serves).filter(|(_, asleep)| *asleep >= WAITERS)
}

fn locks(host: &HostReading) -> Judged {
    calls_are_seen(host)?;
    let of_program = || {
        let (lock, _) = lock(host)?;
        let woken: f64 = lock.threads.iter().map(|thread| woken(host, *thread)).sum();
        Some((contended(host)?, (lock.waiting, woken)))
    };
    let sleeps = |(text, waiting)| (text, (waiting, f64::MAX));
    let of_files = || of_kernel(host).or_else(|| of_tries(host, serving(host))).map(sleeps);
    let Some((text, (waiting, woken))) = of_files().or_else(of_program) else {
        return Finding::good(
            "no lock was seen for which threads wait; goroutines and other tasks, which are no threads, are not seen \
             here",
        );
    };
    let Ok(wait) = CpuWait::of(host) else { return Finding::seen(text, 0.5) };
    let seconds = host.seconds.unwrap_or(1.0);
    let run = (wait.run / seconds).max(0.01);
    let idle = wait.idle(host, |cpu| wait.allowed.contains(cpu)) / seconds;
    let lost = |more: f64| 100.0 * more / (run + more);
    // Threads that wait for a lock would else wait for a CPU, beyond those that the server does not use itself.
    let spare = (wait.allowed.len() as f64 - run).max(woken * OF_A_WAKE_UP);
    let price = Percent::between(lost(waiting.min(idle)), lost(waiting.min(spare)));
    if price.high < NOTICED {
        return Finding::good(format!("{text}, but it uses all CPUs that it may use"));
    }
    Finding::measured(text, price)
}

/// Seconds of work that a sleep and a wake-up in a lock costs at most, with what another CPU has to load again.
const OF_A_WAKE_UP: f64 = 50e-6;

/// Whether its threads are stuck.
pub(super) fn is_stuck(host: &HostReading) -> bool {
    matches!(stuck(host), Ok(Finding::Costs(..)))
}

fn stuck(host: &HostReading) -> Judged {
    calls_are_seen(host)?;
    let unread = Finding::known(unread(host), "its sockets cannot be seen")?;
    if unread == 0 {
        return Finding::good("no request waited from one reading to the next");
    }
    let all = host.watched();
    let still = |(thread, one): &(&u32, &Watched)| {
        let asleep: u32 =
            ["futex/", "sleep", "fsync", "write/", "connect", "at/", FILE_LOCK, MEMORY_LOCK]
                .iter()
                .map(|call| one.seen_in(call))
                .sum();
        asleep >= one.looks && one.looks > 0 && woken(host, **thread) < 1.0
    };
    let stuck: Vec<&Watched> = all.iter().filter(still).map(|(_, one)| one).collect();
    let in_lock = stuck.iter().filter(|one| one.seen_in("futex/") > 0).count();
    let asleep_by_clock = stuck.iter().filter(|one| one.seen_in("sleep") > 0).count();
    let text = format!(
        "{unread} sockets with unread requests the whole time; {} of {} threads did not move: {in_lock} in a \
         lock, {asleep_by_clock} asleep for a time, {} elsewhere",
        stuck.len(),
        all.len(),
        stuck.len() - in_lock - asleep_by_clock
    );
    // Threads of a pool rest while the one that reads requests computes.
    if let Some(busy) = always_running(host) {
        return Finding::good(format!(
            "{text}; thread {busy} of it runs all the time, and may be what they wait for: see app.work"
        ));
    }
    // The other threads wait for events that only the stuck ones could bring.
    let is_idle = CpuWait::of(host).is_ok_and(|wait| wait.run < IDLE * host.seconds.unwrap_or(1.0));
    match stuck.len() * 2 >= all.len() || (is_idle && !stuck.is_empty()) {
        true => Finding::measured(text, Percent::between(60.0, 100.0)),
        false => Finding::good(text),
    }
}

/// CPU time of a server that does nothing, per second.
const IDLE: f64 = 0.02;

/// The share of its looks at which a thread was seen in something, of those at which it was that or ran, for the thread
/// with the most of it; in percent.
pub(super) fn most(host: &HostReading, seen: impl Fn(&Watched) -> u32) -> (f64, usize) {
    most_of(host, |_, one| seen(one))
}

/// The same by the number of each thread, too.
fn most_of(host: &HostReading, seen: impl Fn(u32, &Watched) -> u32) -> (f64, usize) {
    let all = host.watched();
    let share = |(thread, one): (&u32, &Watched)| {
        let (seen, working) = (seen(*thread, one), one.running.max(1));
        // Once may be a coincidence.
        if seen < 2 { 0.0 } else { 100.0 * f64::from(seen) / f64::from(seen + working) }
    };
    let shares: Vec<f64> = all.iter().filter(|(_, one)| one.looks > 0).map(share).collect();
    let count = shares.iter().filter(|share| **share >= NOTICED).count();
    (shares.into_iter().fold(0.0, f64::max), count)
}

/// Share of a thread's time, in percent, from which a wait costs.
pub(super) const NOTICED: f64 = 5.0;

fn waits(host: &HostReading, what: &str, none: &str, seen: impl Fn(&Watched) -> u32) -> Judged {
    told(what, none, most(host, seen))
}

fn told(what: &str, none: &str, (share, count): (f64, usize)) -> Judged {
    if share < NOTICED {
        return Finding::good(none);
    }
    let text =
        format!("{count} of its threads {what}, one of them {share:.0} % of its working time");
    Finding::measured(text, Percent::between(share * 0.7, share))
}

fn disk(host: &HostReading) -> Judged {
    waits_are_seen(host)?;
    let what = no_disk(host).unwrap_or("wait for a disk");
    let found = waits(host, what, "no thread was seen waiting for a disk", |one| {
        one.disk.max(one.seen_in("fsync"))
    })?;
    // Those waits are the price of the limit.
    match (found, read_again(host)) {
        (Finding::Costs(_, text, Price::Measured(range)), Some(part)) => {
            let text = format!("{text}; most of it for a memory limit: see env.memory");
            let rest = 1.0 - part;
            Finding::measured(text, Percent::between(range.low * rest, range.high * rest))
        }
        (found, _) => Ok(found),
    }
}

/// The calls in which a thread waits for the reader of what it says.
const OUTPUTS: [&str; 3] = ["write/pipe", "write/terminal", "write/local-socket"];

fn output(host: &HostReading) -> Judged {
    calls_are_seen(host)?;
    waits(
        host,
        "sleep in writing to a pipe, a terminal or a service of this host",
        "no thread was seen waiting for output",
        |one| OUTPUTS.iter().map(|call| one.seen_in(call)).sum(),
    )
}

fn slept(host: &HostReading) -> Judged {
    calls_are_seen(host)?;
    let serves = serving(host);
    if let Some((text, _)) = of_tries(host, &serves) {
        return Finding::good(format!("{text}: see app.lock"));
    }
    let what = format!("sleep by the clock{}", late(host));
    let asleep = most_of(host, |thread, one| match serves(one) && !spins(host, thread, one) {
        true => one.seen_in("sleep"),
        false => 0,
    });
    told(&what, "no thread that serves was seen asleep", asleep)
}

/// Whether `app.sleep` tells of sleeps by the clock; told as calls a second time, they would stand before their cause.
pub(super) fn sleeps_are_told(host: &HostReading) -> bool {
    matches!(slept(host), Ok(Finding::Costs(..)))
}
