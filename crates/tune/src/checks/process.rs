//! The server's own process: threads, descriptors, filters. Needs the process named with `--pid`.

use crate::check::{Check, Gain, Risk};
use crate::counters::Cpu;
use crate::finding::Finding;
use crate::host::HostReading;
use crate::processes::Process;

use super::NO_PROCESS;

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
        id: "app.nofile",
        title: "the limit of open files of the process",
        gain: Gain::of(0.0, 0.0, 100.0, 0.0),
        expected: "no connections beyond the limit without it",
        risk: Risk::Reversible,
        lost: "nothing",
        why: "Each connection is a descriptor. With a limit of 1024, the soft limit of many systems, the \
              server cannot accept more.",
        fix: "`LimitNOFILE=1048576` in the unit of the service, or `ulimit -n` before its start. Beyond \
              1,048,576 raise `fs.nr_open` first.",
        source: "getrlimit(2)",
        judge: nofile,
    },
    Check {
        id: "app.seccomp",
        title: "a seccomp filter",
        gain: Gain::of(6.0, 4.0, 0.0, 0.0),
        expected: "a part of 11 %; little since Linux 5.11, which skips the filter for calls that are \
                   always allowed",
        risk: Risk::Security,
        lost: "the filter: an attacker who takes over the server may use every call",
        why: "Each system call first runs the filter program. A long filter cost up to a fifth before Linux \
              5.11; newer kernels skip it for calls that it always allows.",
        fix: "For a container: `--security-opt seccomp=unconfined`, or a smaller profile; for a unit: no \
              `SystemCallFilter=`.",
        source: "talawah.io, step 3; Linux commit f9d480b6ffbe",
        judge: seccomp,
    },
    Check {
        id: "app.ssbd",
        title: "speculative store bypass disabled for the process",
        gain: Gain::of(15.0, 8.0, 0.0, 0.0),
        expected: "one CPU-bound case took 50 % longer",
        risk: Risk::Security,
        lost: "protection of the process against code that runs within it",
        why: "Kernels before 5.16 disabled speculative store bypass for every process with a seccomp \
              filter. That slows all of its code, not only its system calls.",
        fix: "Linux 5.16 or later, or a filter installed with SECCOMP_FILTER_FLAG_SPEC_ALLOW.",
        source: "moby issue 42619",
        judge: ssbd,
    },
    Check {
        id: "app.nopool",
        title: "idle threads of the server",
        gain: Gain::of(2.5, 1.0, 0.0, 3.0),
        expected: "2 to 3 % where a name resolution pool was removed",
        risk: Risk::Process,
        lost: "the purpose of the pool: files, names, work that would block others",
        why: "A pool larger than its work costs memory, and wakes threads in turn that find cold caches.",
        fix: "The server's own setting: `UV_THREADPOOL_SIZE` of node, `thread_pool` of nginx, `GOMAXPROCS` \
              of Go.",
        source: "talawah.io, step 1",
        judge: idle_threads,
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
    Check {
        id: "app.thp",
        title: "transparent huge pages of the server",
        gain: Gain::of(0.0, 2.0, 5.0, 8.0),
        expected: "partly freed memory is returned; a large heap that is mostly read becomes slower",
        risk: Risk::Process,
        lost: "fewer TLB misses for large heaps",
        why: "A huge page takes 2 MiB even if only some bytes are used. An allocator that frees in small \
              pieces keeps many of them.",
        fix: "For the server alone: `MemoryTHP=disable` of newer systemd, or prctl(PR_SET_THP_DISABLE) \
              before it starts; for the host see vm.thp.",
        source: "prctl(2); DigitalOcean, transparent huge pages and alternative memory allocators",
        judge: huge_pages,
    },
];

/// Threads that were busy at least half of the time between the two readings.
pub(super) fn busy(host: &HostReading) -> Result<Vec<u32>, Finding> {
    if host.process.is_none() {
        return Err(Finding::unknown(NO_PROCESS));
    }
    let Some(seconds) = host.seconds else {
        return Err(Finding::unknown("needs two readings of the server"));
    };
    let worked = |thread: &u32, now: u64| {
        let before = host.before.threads.get(thread).copied().unwrap_or(now);
        now.saturating_sub(before) as f64 / 100.0 / seconds
    };
    let threads = host.now.threads.iter();
    Ok(threads.filter(|(id, now)| worked(id, **now) >= 0.5).map(|(id, _)| *id).collect())
}

/// Idle threads that a server may have, in all and for each CPU it may use.
const SPARE: usize = 16;
const SPARE_FOR_EACH_CPU: usize = 4;

fn idle_threads(host: &HostReading) -> Finding {
    if host.process.is_none() {
        return Finding::unknown(NO_PROCESS);
    }
    if host.seconds.is_none() {
        return Finding::unknown("needs two readings of the server");
    }
    let has_rested = |(thread, now): &(&u32, &u64)| host.before.threads.get(thread) == Some(now);
    let resting = host.now.threads.iter().filter(has_rested).count();
    let all = host.now.threads.len();
    let text = format!("{resting} of its {all} threads did nothing {}", host.span());
    // The pools of an idle server cannot be judged.
    let spare = SPARE.max(host.cpus() * SPARE_FOR_EACH_CPU);
    if resting > spare && resting < all { Finding::set(text, 1.0) } else { Finding::good(text) }
}

/// Idle CPUs that are needed for another thread to gain something.
const ENOUGH_IDLE: f64 = 0.5;

/// The number of idle CPUs between the two readings; a CPU without ticks was idle.
fn idle(host: &HostReading) -> f64 {
    let share = |(before, now): (&Cpu, &Cpu)| {
        let (all, idle) =
            (now.all.saturating_sub(before.all), now.idle.saturating_sub(before.idle));
        if all == 0 { 1.0 } else { idle as f64 / all as f64 }
    };
    host.before.cpus.iter().zip(&host.now.cpus).map(share).sum()
}

fn workers(host: &HostReading) -> Finding {
    let busy = match busy(host) {
        Ok(busy) => busy.len(),
        Err(finding) => return finding,
    };
    let cpus = host.cpus();
    if busy == 0 {
        return Finding::good("no thread of it was busy");
    }
    let idle = idle(host);
    if busy < cpus && idle < ENOUGH_IDLE {
        return Finding::good(format!("{busy} of its threads are busy, and no CPU was idle"));
    }
    if busy < cpus {
        let text = format!(
            "{busy} of its threads are busy, it may use {cpus} CPUs, and {idle:.1} of them were idle"
        );
        let unused = (cpus - busy) as f64 / cpus as f64;
        return Finding::seen(text, unused * 2.0);
    }
    if busy > cpus {
        let text = format!("{busy} of its threads are busy, and it may use {cpus} CPUs");
        return Finding::seen(text, 0.3);
    }
    Finding::good(format!("{busy} of its threads are busy on {cpus} CPUs"))
}

fn pin(host: &HostReading) -> Finding {
    let Some(process) = host.process else { return Finding::unknown(NO_PROCESS) };
    let busy = match busy(host) {
        Ok(busy) if busy.is_empty() => return Finding::good("no thread of it was busy"),
        Ok(busy) => busy,
        Err(finding) => return finding,
    };
    if host.now.cpus.len() < 2 {
        return Finding::not_here("there is one CPU");
    }
    let is_free = |thread: &&u32| {
        Process::thread_allowed(host, process, **thread).is_some_and(|cpus| cpus.len() > 1)
    };
    let free = busy.iter().filter(is_free).count();
    if free == 0 {
        return Finding::good("each busy thread has a CPU");
    }
    let text = format!("{free} of {} busy threads may run on several CPUs", busy.len());
    Finding::seen(text, free as f64 / busy.len() as f64)
}

fn nofile(host: &HostReading) -> Finding {
    let Some(process) = host.process else { return Finding::unknown(NO_PROCESS) };
    let Some(limits) = host.text(&format!("/proc/{process}/limits")) else {
        return Finding::unknown("its limits cannot be read");
    };
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().next());
    let Some(soft) = soft.and_then(|word| word.parse::<u64>().ok()) else {
        return Finding::good("as many as it likes");
    };
    let open = host.names(&format!("/proc/{process}/fd")).len() as u64;
    // A process always has an open descriptor: zero means that they cannot be seen.
    let seen = if open == 0 { "an unknown number".to_owned() } else { open.to_string() };
    if open * 10 >= soft * 9 {
        return Finding::seen(format!("{open} of {soft} are open"), 1.0);
    }
    if soft < 65_536 {
        return Finding::set(format!("{soft}, of which {seen} are open"), 0.5);
    }
    Finding::good(format!("{soft}, of which {seen} are open"))
}

fn seccomp(host: &HostReading) -> Finding {
    let Some(process) = host.process else { return Finding::unknown(NO_PROCESS) };
    match Process::status(host, process, "Seccomp").as_deref() {
        None => Finding::unknown("its status cannot be read"),
        Some("2") => {
            let filters = Process::status(host, process, "Seccomp_filters");
            let filters = filters.unwrap_or_else(|| "some".to_owned());
            let share = if host.kernel() >= (5, 11) { 0.3 } else { 1.0 };
            Finding::set(format!("filters of system calls: {filters}"), share)
        }
        Some(_) => Finding::good("no filter"),
    }
}

fn ssbd(host: &HostReading) -> Finding {
    let Some(process) = host.process else { return Finding::unknown(NO_PROCESS) };
    match Process::status(host, process, "Speculation_Store_Bypass").as_deref() {
        None => Finding::unknown("its status does not say"),
        Some(state) if state.contains("force mitigated") || state == "thread mitigated" => {
            Finding::set(state, 1.0)
        }
        Some(state) => Finding::good(state),
    }
}

/// Fields behind the name in `stat` (proc_pid_stat(5)).
const NICE: usize = 16;
const POLICY: usize = 38;

fn politeness(host: &HostReading) -> Finding {
    let Some(process) = host.process else { return Finding::unknown(NO_PROCESS) };
    let stat = host.text(&format!("/proc/{process}/stat")).unwrap_or_default();
    let fields: Vec<i64> = match stat.rsplit_once(')') {
        Some((_, rest)) => rest.split_whitespace().map(|word| word.parse().unwrap_or(0)).collect(),
        None => Vec::new(),
    };
    let (Some(nice), Some(policy)) = (fields.get(NICE), fields.get(POLICY)) else {
        return Finding::unknown("its priority cannot be read");
    };
    match policy {
        3 => Finding::set("its policy is batch", 0.5),
        5 => Finding::set("its policy is idle", 1.0),
        _ if *nice > 0 => Finding::set(format!("its nice value is {nice}"), *nice as f64 / 19.0),
        _ => Finding::good(format!("its nice value is {nice}")),
    }
}

/// Memory in huge pages (KiB) from which it counts.
const MUCH_KIB: u64 = 256 << 10;

fn huge_pages(host: &HostReading) -> Finding {
    let Some(process) = host.process else { return Finding::unknown(NO_PROCESS) };
    let Some(text) = host.text(&format!("/proc/{process}/smaps_rollup")) else {
        return Finding::unknown("its memory may not be inspected");
    };
    let kib = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    let (huge, all) = (kib("AnonHugePages:").unwrap_or(0), kib("Rss:").unwrap_or(0));
    let text = format!("{} of {} MiB", huge >> 10, all >> 10);
    if huge > MUCH_KIB && huge * 2 > all { Finding::set(text, 0.5) } else { Finding::good(text) }
}
