//! The growth of what the server uses: mappings, memory, page faults, disks; and how late its timers are.

use crate::check::{Check, Gain, Risk};
use crate::cpu_wait::CpuWait;
use crate::finding::{Finding, Judged, Percent};
use crate::host::HostReading;
use crate::open_files;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "app.maps",
        title: "the number of memory mappings",
        gain: Gain::of(30.0, 30.0, 30.0, 5.0),
        expected: "at the limit, mmap(2), malloc and new threads fail",
        risk: Risk::Reversible,
        lost: "some kernel memory",
        why: "A program may have `vm.max_map_count` mappings (65,530 by default). Beyond, allocations fail with \
              ENOMEM although memory is free; and with very many of them each mmap(2) is slower.",
        fix: "sysctl vm.max_map_count=262144; but first see who maps and never unmaps: `velodrome profile \
              --syscalls`.",
        source: "docs.kernel.org, sysctl/vm",
        judge: mappings,
    },
    Check {
        id: "app.faults",
        title: "page faults",
        gain: Gain::of(20.0, 20.0, 0.0, 5.0),
        expected: "0.25 to 1 microsecond for each",
        risk: Risk::Process,
        lost: "memory that the allocator keeps instead of giving it back",
        why: "Memory that is mapped anew for each request is filled with zeros page by page, when it is first \
              touched.",
        fix: "Keep buffers; let the allocator keep memory (`MALLOC_TRIM_THRESHOLD_`, `MALLOC_MMAP_THRESHOLD_` of \
              glibc, `dirty_decay_ms` of jemalloc); huge pages for large heaps.",
        source: "proc_pid_stat(5), minflt",
        judge: faults,
    },
    Check {
        id: "app.leak",
        title: "memory that grows",
        gain: Gain::of(15.0, 15.0, 25.0, 30.0),
        expected: "until memory is used up, the page faults; then everything",
        risk: Risk::Process,
        lost: "nothing",
        why: "A server under a steady load that grows every second has a leak, a cache without a bound, or \
              requests that end more slowly than they come.",
        fix: "Look at it for longer: `velodrome profile --pid PID` and the allocator's own profile show who \
              allocates.",
        source: "proc_pid_status(5), VmRSS",
        judge: leak,
    },
    Check {
        id: "app.disk-full",
        title: "a full disk under the server's files",
        gain: Gain::of(20.0, 20.0, 5.0, 5.0),
        expected: "each write fails with ENOSPC, and some programs try again at once",
        risk: Risk::Process,
        lost: "what is deleted",
        why: "A log on a full disk is lost, and a write that fails costs as much as one that succeeds.",
        fix: "`df -h FILE`; delete, rotate, or log elsewhere.",
        source: "statvfs(3)",
        judge: full,
    },
    Check {
        id: "app.slack",
        title: "timers that may be late",
        gain: Gain::of(0.0, 10.0, 0.0, 0.0),
        expected: "the time by which each sleep is longer",
        risk: Risk::Process,
        lost: "fewer wake-ups",
        why: "The kernel may end a wait later by the timer slack, in order to combine it with others: usually 50 \
              us.",
        fix: "prctl(PR_SET_TIMERSLACK, 50000), or `TimerSlackNSec=` of the unit.",
        source: "prctl(2)",
        judge: slack,
    },
];

fn mappings(host: &HostReading) -> Judged {
    super::server(host)?;
    let (Some(count), Some(most)) = (host.now.uses.mappings, host.sysctl("vm.max_map_count"))
    else {
        return Finding::unknown("its mappings, or vm.max_map_count, may not be read");
    };
    let before = host.before.uses.mappings.unwrap_or(count);
    let text = format!("{count} of {most}, {} more than before", count.saturating_sub(before));
    let share = count as f64 / most.max(1) as f64;
    if share > 0.98 {
        return Finding::scaled(
            format!("{text}: mmap(2) fails with ENOMEM"),
            Percent::between(10.0, 90.0),
        );
    }
    let Some(seconds) = host.seconds else { return Finding::good(text) };
    let rate = count.saturating_sub(before) as f64 / seconds;
    let left = (most.saturating_sub(count)) as f64 / rate.max(f64::MIN_POSITIVE);
    // A heap that grows at the start of a program has some hundred.
    match rate > 10.0 && left < 3600.0 && share > 0.05 {
        true => Finding::scaled(
            format!("{text}: the limit is met in {left:.0} s"),
            Percent::between(5.0, 60.0),
        ),
        false if share > 0.8 => Finding::seen(text, share),
        false => Finding::good(text),
    }
}

/// Seconds that a page fault takes: without and with the page being cleared in a virtual machine.
const FAULT: (f64, f64) = (0.25e-6, 1.0e-6);

/// Share of the server's time, in percent, from which page faults cost.
const NOTICED: f64 = 5.0;

/// Page faults of the server's threads between the readings.
fn faulted(host: &HostReading) -> u64 {
    let moved = host.now.threads.iter().map(|(thread, now)| {
        let before = host.before.threads.get(thread).map_or(now.faults, |one| one.faults);
        now.faults.saturating_sub(before)
    });
    moved.sum()
}

fn faults(host: &HostReading) -> Judged {
    let wait = CpuWait::of(host).or_else(Finding::unknown)?;
    let count = faulted(host);
    let rate = count as f64 / host.seconds.unwrap_or(1.0);
    let lost = |each: f64| (100.0 * count as f64 * each / wait.run.max(0.01)).min(90.0);
    let text = format!("{rate:.0} a second");
    let price = Percent::between(lost(FAULT.0), lost(FAULT.1));
    if price.middle() < NOTICED { Finding::good(text) } else { Finding::scaled(text, price) }
}

/// Growth, in KiB per second, from which it is told, and seconds within which memory has to double: the heap of a
/// garbage collector grows for a while after each collection.
const GROWN: f64 = 1024.0;
const SOON: f64 = 30.0;

/// Seconds until memory is used up from which it is told in any case, and the age of a program that is still young.
const SHORT: f64 = 600.0;
const YOUNG: f64 = 60.0;

/// The seconds since the server was started; `None` if it is not known.
fn age(host: &HostReading) -> Option<f64> {
    let up = host.text("/proc/uptime")?;
    let up: f64 = up.split(' ').next()?.parse().ok()?;
    let started = host.now.programs.get(&host.process?)?.started;
    Some(up - started as f64 / 100.0)
}

fn leak(host: &HostReading) -> Judged {
    super::server(host)?;
    let (Some(before), Some(now)) = (host.before.uses.memory_kib, host.now.uses.memory_kib) else {
        return Finding::unknown("needs two readings of its memory");
    };
    let rate = now.saturating_sub(before) as f64 / host.seconds.unwrap_or(1.0);
    let text = format!("{} MiB, {:.1} MiB more each second", now >> 10, rate / 1024.0);
    if rate < GROWN {
        return Finding::good(text);
    }
    let lines =
        crate::lines::named(&host.text("/proc/meminfo").unwrap_or_default().replace(" kB", ""));
    let left = lines.get("MemAvailable").map(|free| *free as f64 / rate);
    // A server that has just been started fills its heap and caches.
    let is_steady = age(host).is_none_or(|age| age > YOUNG) && rate * SOON >= now as f64;
    if !is_steady && left.is_none_or(|left| left > SHORT) {
        return Finding::good(text);
    }
    match left {
        Some(left) => {
            let text = format!("{text}: what is free is used up in {left:.0} s");
            Finding::seen(text, (3600.0 / left.max(1.0)).clamp(0.3, 1.0))
        }
        None => Finding::seen(text, 0.3),
    }
}

fn full(host: &HostReading) -> Judged {
    let process = super::server(host)?;
    let text = Finding::known(
        host.text(&open_files::place(process)),
        "the files it has open may not be seen",
    )?;
    let files = open_files::WrittenFile::read(&text);
    let Some(least) = files.iter().min_by(|one, other| one.free.total_cmp(&other.free)) else {
        return Finding::good("it writes no file");
    };
    let text = format!("{} is on a disk of which {:.1} % are free", least.path, least.free);
    match least.free {
        free if free < 0.1 => Finding::scaled(text, Percent::between(5.0, 60.0)),
        free if free < 2.0 => Finding::set(text, 0.3),
        _ => Finding::good(text),
    }
}

/// The usual timer slack, in nanoseconds.
const USUAL: u64 = 50_000;

/// How late each sleep of the server may end, in words, if that is more than usual.
pub(super) fn late(host: &HostReading) -> String {
    let slack =
        host.process.and_then(|process| host.number(&format!("/proc/{process}/timerslack_ns")));
    match slack.filter(|slack| *slack > USUAL) {
        Some(slack) => {
            format!(", each up to {:.1} ms longer than asked (timer slack)", slack as f64 / 1e6)
        }
        None => String::new(),
    }
}

fn slack(host: &HostReading) -> Judged {
    let process = super::server(host)?;
    match host.number(&format!("/proc/{process}/timerslack_ns")) {
        None => Finding::unknown("its timer slack may not be read"),
        Some(slack) if slack > USUAL => {
            let text = format!("each sleep may be {} us longer", slack / 1000);
            Finding::set(text, (slack as f64 / 1e6).clamp(0.1, 1.0))
        }
        Some(slack) => Finding::good(format!("{} us", slack / 1000)),
    }
}
