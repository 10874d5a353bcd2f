//! Memory: swapping, huge pages.

use crate::check::{Check, Gain, Risk};
use crate::finding::Finding;
use crate::host::Host;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "vm.swap",
        title: "memory that is swapped out",
        gain: Gain::of(20.0, 40.0, 10.0, 5.0),
        expected: "none while nothing is swapped; each page that comes back is a wait for the disk",
        risk: Risk::Host,
        lost: "memory for the page cache, where programs keep what they do not use",
        why: "With a high `vm.swappiness` the kernel swaps parts of programs out in favour of files, also where memory is not short.",
        mend: "sysctl vm.swappiness=10, and more memory or fewer programs where pages come back all the time.",
        source: "tuned; Netflix 2017",
        judge: swap,
    },
    Check {
        id: "vm.thp",
        title: "huge pages for all memory",
        gain: Gain::of(2.0, 10.0, 8.0, 15.0),
        expected: "fewer stalls, and less memory where it is freed in small pieces; the opposite for large heaps that are mostly read",
        risk: Risk::Host,
        lost: "fewer misses of the TLB for large heaps",
        why: "With `always` the kernel makes huge pages of any memory, looks for free ones while programs wait, and keeps what they have freed in part.",
        mend: "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        source: "tuned, latency-performance; Netflix 2017",
        judge: huge_pages,
    },
    Check {
        id: "vm.pressure",
        title: "programs that wait for memory",
        gain: Gain::of(20.0, 40.0, 30.0, 20.0),
        expected: "what programs wait, they do not work",
        risk: Risk::Process,
        lost: "nothing",
        why: "When memory is short the kernel has programs free pages themselves, in the middle of what they do.",
        mend: "More memory, fewer programs, or smaller bounds: `[limits]` of Velodrome.",
        source: "docs.kernel.org, psi",
        judge: pressure,
    },
];

fn swap(host: &Host) -> Finding {
    let Some(swappiness) = host.sysctl("vm.swappiness") else {
        return Finding::unknown("vm.swappiness cannot be read");
    };
    let has_swap = host.text("/proc/swaps").is_some_and(|text| text.lines().count() > 1);
    if !has_swap {
        return Finding::not_here("there is no swap");
    }
    let came_back = host.moved(|counters| counters.memory("pswpin")).unwrap_or(0);
    if came_back > 0 && host.seconds.is_some() {
        return Finding::seen(format!("{came_back} pages came back {}", host.span()), 1.0);
    }
    if swappiness > 10 {
        return Finding::set(format!("vm.swappiness is {swappiness}"), 0.1);
    }
    Finding::good(format!("vm.swappiness is {swappiness}"))
}

fn huge_pages(host: &Host) -> Finding {
    match host.text("/sys/kernel/mm/transparent_hugepage/enabled") {
        None => Finding::not_here("the kernel has no huge pages of its own"),
        Some(text) if text.contains("[always]") => {
            let stalls = host.moved(|counters| counters.memory("compact_stall")).unwrap_or(0);
            if stalls > 0 && host.seconds.is_some() {
                let text =
                    format!("always, and programs waited {stalls} times for one {}", host.span());
                return Finding::seen(text, 1.0);
            }
            Finding::set("always", 0.6)
        }
        Some(text) => Finding::good(text.split(['[', ']']).nth(1).unwrap_or("not always")),
    }
}

/// Percent of a minute for which somebody waited for memory, from which it matters.
const WAITED: f64 = 1.0;

fn pressure(host: &Host) -> Finding {
    let Some(text) = host.text("/proc/pressure/memory") else {
        return Finding::unknown("the kernel does not count who waits for memory");
    };
    let share =
        text.split_whitespace().find_map(|word| word.strip_prefix("avg60=")?.parse::<f64>().ok());
    match share {
        Some(share) if share >= WAITED => Finding::seen(
            format!("programs waited for memory in {share:.0} % of the last minute"),
            share / 30.0,
        ),
        Some(_) => Finding::good("nobody waits"),
        None => Finding::unknown("/proc/pressure/memory has another form"),
    }
}
