//! Memory: swapping, huge pages.

use crate::check::{Check, Gain, Risk};
use crate::counters::named;
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
    Check {
        id: "vm.minfree",
        title: "memory that is freed while a program waits",
        gain: Gain::of(5.0, 20.0, 10.0, 5.0),
        expected: "no packet dropped for want of a page; no wait for one",
        risk: Risk::Host,
        lost: "a hundredth of the memory, which stays free",
        why: "The kernel keeps some pages free for packets that come. When they are used up whoever wants the next page frees some first.",
        mend: "sysctl vm.min_free_kbytes=N, one to three hundredths of the memory.",
        source: "AWS, ENA best practices; docs.kernel.org, sysctl/vm",
        judge: stalls,
    },
    Check {
        id: "vm.dirty",
        title: "writers that wait for the disk",
        gain: Gain::of(3.0, 15.0, 0.0, 5.0),
        expected: "none for a server that writes nothing; a log that waits holds up whoever writes it",
        risk: Risk::Host,
        lost: "more is lost when the power fails, where the bound is raised",
        why: "When so much is written and not yet on the disk, each program that writes waits until some of it is.",
        mend: "sysctl vm.dirty_background_ratio=5, so that writing begins earlier; a faster disk. A bound in bytes is put back by its ratio: 0 is refused.",
        source: "docs.kernel.org, sysctl/vm; tuned issue 882",
        judge: dirty,
    },
    Check {
        id: "vm.hugepages",
        title: "huge pages that are kept for nobody",
        gain: Gain::of(0.0, 0.0, 5.0, 12.0),
        expected: "the memory that they take",
        risk: Risk::Host,
        lost: "huge pages for a program that asks for them later",
        why: "Pages of `vm.nr_hugepages` are taken at once, and can be used by nobody but programs that ask for them.",
        mend: "sysctl vm.nr_hugepages=0",
        source: "docs.kernel.org, hugetlbpage",
        judge: reserved,
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

fn stalls(host: &Host) -> Finding {
    if host.seconds.is_none() {
        return Finding::unknown("it takes two looks");
    }
    let names = ["allocstall_dma32", "allocstall_normal", "allocstall_movable"];
    let count = |name: &str| host.moved(|counters| counters.memory(name));
    let stalls: u64 = names.into_iter().filter_map(count).sum();
    if stalls > 0 {
        return Finding::seen(format!("{stalls} times {}", host.span()), 1.0);
    }
    Finding::good(format!("never {}", host.span()))
}

fn dirty(host: &Host) -> Finding {
    let (dirty, bound) = (
        host.now.memory("nr_dirty"),
        host.now.memory("nr_dirty_threshold").filter(|bound| *bound > 0),
    );
    let (Some(dirty), Some(bound)) = (dirty, bound) else {
        return Finding::unknown("the kernel does not say how much is not written yet");
    };
    let share = dirty as f64 / bound as f64;
    let text = format!("{dirty} of {bound} pages are not written yet");
    if share > 0.8 { Finding::seen(text, share) } else { Finding::good(text) }
}

fn reserved(host: &Host) -> Finding {
    let Some(text) = host.text("/proc/meminfo") else {
        return Finding::unknown("/proc/meminfo cannot be read");
    };
    let lines = named(&text.replace(" kB", ""));
    let number = |name: &str| lines.get(name).copied().unwrap_or(0);
    let (all, free) = (number("HugePages_Total"), number("HugePages_Free"));
    let text = format!(
        "{} MiB, of which {free} of {all} pages are free",
        (all * number("Hugepagesize")) >> 10
    );
    if all > 0 && free == all { Finding::set(text, 1.0) } else { Finding::good(text) }
}
