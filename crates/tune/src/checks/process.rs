//! The server's own programs: descriptors, filters, idle threads, huge pages. Needs the process named with `--pid`.

use crate::calls::{CostlyCalls, ServerCalls};
use crate::check::{Check, Gain, Risk};
use crate::descriptors::OpenDescriptor;
use crate::finding::{Evidence, Finding, Judged, Percent, Price};
use crate::host::HostReading;
use crate::processes::Process;
use crate::server::ServerThread;

use super::calls::recorded;

pub(super) const CHECKS: &[Check] = &[
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

/// Idle threads that a server may have, in all and for each CPU it may use.
const SPARE: usize = 16;
const SPARE_FOR_EACH_CPU: usize = 4;

fn idle_threads(host: &HostReading) -> Judged {
    super::server(host)?;
    if host.seconds.is_none() {
        return Finding::unknown("needs two readings of the server");
    }
    let has_rested = |(thread, now): &(&u32, &ServerThread)| {
        let before = host.before.threads.get(thread);
        before.is_some_and(|before| (before.ticks, before.ran) == (now.ticks, now.ran))
    };
    let resting = host.now.threads.iter().filter(has_rested).count();
    let all = host.now.threads.len();
    if all == 0 {
        return Finding::unknown("its threads cannot be read");
    }
    let text = format!("{resting} of its {all} threads did nothing {}", host.span());
    // The pools of an idle server cannot be judged.
    let spare = SPARE.max(host.cpus() * SPARE_FOR_EACH_CPU);
    if resting > spare && resting < all { Finding::set(text, 1.0) } else { Finding::good(text) }
}

/// The worst finding over the server's programs.
fn worst(host: &HostReading, judge: impl Fn(u32) -> Judged) -> Judged {
    let process = super::server(host)?;
    let mut members: Vec<u32> = host.now.members.iter().copied().collect();
    members.retain(|member| *member != process);
    let mut worst = judge(process);
    for member in members {
        let found = judge(member);
        if weight(&found) > weight(&worst) {
            worst = found;
        }
    }
    worst
}

/// By which findings of one check are compared.
fn weight(judged: &Judged) -> f64 {
    let (Ok(finding) | Err(finding)) = judged;
    match finding {
        Finding::Costs(Evidence::Seen, _, Price::Published(share)) => 200.0 + share,
        Finding::Costs(Evidence::Seen, _, Price::Scaled(range) | Price::Measured(range)) => {
            300.0 + range.middle()
        }
        Finding::Costs(Evidence::Set, _, Price::Published(share)) => 1.0 + share,
        Finding::Costs(Evidence::Set, ..) => 1.0,
        Finding::Unknown(_) => 0.5,
        Finding::Good(_) | Finding::NotHere(_) => 0.0,
    }
}

/// Descriptors that are enough for very many connections.
const MANY_FILES: u64 = 65_536;

/// The part of the gain of a limit that is far from being reached.
const UNUSED: f64 = 0.02;

fn nofile(host: &HostReading) -> Judged {
    worst(host, |process| nofile_of(host, process))
}

/// The open descriptors of a program of the server that may have hardly any more, and its limit.
pub(super) fn nearly_all(host: &HostReading) -> Option<(u64, u64)> {
    let of = |process: &u32| {
        let limits = host.text(&format!("/proc/{process}/limits"))?;
        let soft: u64 = soft_limit(&limits)?.parse().ok()?;
        let open = host.names(&format!("/proc/{process}/fd")).len() as u64;
        (open * 10 >= soft * 9).then_some((open, soft))
    };
    host.now.members.iter().find_map(of)
}

/// The soft limit of open files: a number, or `unlimited`.
fn soft_limit(limits: &str) -> Option<&str> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()
}

fn nofile_of(host: &HostReading, process: u32) -> Judged {
    let limits =
        Finding::known(host.text(&format!("/proc/{process}/limits")), "its limits cannot be read")?;
    let soft = Finding::known(soft_limit(&limits), "its limits have an unknown format")?;
    let Ok(soft) = soft.parse::<u64>() else { return Finding::good("as many as it likes") };
    let open = OpenDescriptor::most(host, process);
    // A process always has an open descriptor: zero means that they cannot be seen.
    let seen = if open == 0 { "an unknown number".to_owned() } else { open.to_string() };
    if open >= soft {
        let text = format!("all {soft} are open: what it accepts or opens fails (EMFILE)");
        return Finding::scaled(text, Percent::between(20.0, 99.0));
    }
    if open * 10 >= soft * 9 {
        let text = format!("{open} of {soft} are open");
        return match recorded(host) {
            Ok(ServerCalls::Seen { found, .. }) if !found.iter().any(CostlyCalls::lacks_files) => {
                let text = format!("{text}; none was refused in the moment that was recorded");
                Finding::scaled(text, Percent::between(1.0, 15.0))
            }
            _ => Finding::scaled(text, Percent::between(5.0, 90.0)),
        };
    }
    if soft < MANY_FILES {
        let used = if open == 0 { 1.0 } else { open as f64 / soft as f64 };
        return Finding::set(format!("{soft}, of which {seen} are open"), used.clamp(UNUSED, 0.5));
    }
    Finding::good(format!("{soft}, of which {seen} are open"))
}

fn seccomp(host: &HostReading) -> Judged {
    worst(host, |process| match Process::status(host, process, "Seccomp").as_deref() {
        None => Finding::unknown("its status cannot be read"),
        Some("2") => {
            let filters = Process::status(host, process, "Seccomp_filters");
            let filters = filters.unwrap_or_else(|| "some".to_owned());
            of_filters(host, &filters)
        }
        Some(_) => Finding::good("no filter"),
    })
}

/// Seconds that a call takes for filters: those of a container on a kernel that skips them, and one of 1,200
/// instructions that looks at arguments (about 4 ns each).
const FILTERED: (f64, f64) = (0.02e-6, 5.0e-6);

/// The price of filters by the calls that are counted: reads, writes and sleeps, which are most of a server's.
fn of_filters(host: &HostReading, filters: &str) -> Judged {
    let text = format!("filters of system calls: {filters}");
    let Some(seconds) = host.seconds else {
        let share = if host.kernel() >= (5, 11) { 0.3 } else { 1.0 };
        return Finding::set(text, share);
    };
    let woken = host.moved(|counters| {
        Some(counters.threads.values().filter_map(|thread| thread.wake_ups).sum())
    });
    let counted = host.moved(|counters| counters.uses.calls).unwrap_or(0) + woken.unwrap_or(0);
    let (calls, least) = match recorded(host) {
        Ok(ServerCalls::Seen { rate, .. }) => (rate * seconds, ""),
        _ => (counted as f64, "at least "),
    };
    let text = format!("{text}; {least}{:.0} calls a second pass them", calls / seconds);
    let busy = host.now.threads.len().max(1).min(host.cpus()) as f64;
    let percent = |each: f64| (100.0 * calls * each / seconds / busy).min(50.0);
    let price = Price::Scaled(Percent::between(percent(FILTERED.0), percent(FILTERED.1)));
    Ok(Finding::Costs(Evidence::Set, text, price))
}

fn ssbd(host: &HostReading) -> Judged {
    worst(host, |process| {
        match Process::status(host, process, "Speculation_Store_Bypass").as_deref() {
            None => Finding::unknown("its status does not say"),
            Some(state) if state.contains("force mitigated") || state == "thread mitigated" => {
                Finding::set(state, 1.0)
            }
            Some(state) => Finding::good(state),
        }
    })
}

/// Memory in huge pages (KiB) from which it counts.
const MUCH_KIB: u64 = 256 << 10;

fn huge_pages(host: &HostReading) -> Judged {
    worst(host, |process| huge_pages_of(host, process))
}

fn huge_pages_of(host: &HostReading, process: u32) -> Judged {
    let text = Finding::known(
        host.text(&format!("/proc/{process}/smaps_rollup")),
        "its memory may not be inspected",
    )?;
    let kib = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    let (huge, all) = (kib("AnonHugePages:").unwrap_or(0), kib("Rss:").unwrap_or(0));
    let text = format!("{} of {} MiB", huge >> 10, all >> 10);
    if huge > MUCH_KIB && huge * 2 > all { Finding::set(text, 0.5) } else { Finding::good(text) }
}
