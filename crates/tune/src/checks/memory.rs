//! Memory: swapping, huge pages.

use crate::check::{Check, Gain, Risk};
use crate::finding::{Finding, Judged, Percent};
use crate::host::HostReading;
use crate::lines::named;

use super::asleep::most;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "vm.swap",
        title: "swapped-out memory",
        gain: Gain::of(20.0, 40.0, 10.0, 5.0),
        expected: "none while nothing is swapped; each page that returns is a wait for the disk",
        risk: Risk::Host,
        lost: "memory for the page cache, if programs keep what they do not use",
        why: "With a high `vm.swappiness` the kernel swaps out parts of programs in favour of files, even \
              if memory is not short.",
        fix: "sysctl vm.swappiness=10, and more memory or fewer programs if pages keep returning.",
        source: "tuned; Netflix 2017",
        judge: swap,
    },
    Check {
        id: "vm.thp",
        title: "transparent huge pages for all memory",
        gain: Gain::of(2.0, 10.0, 8.0, 15.0),
        expected: "fewer stalls, and less memory if it is freed in small pieces; the opposite for large \
                   heaps that are mostly read",
        risk: Risk::Host,
        lost: "fewer TLB misses for large heaps",
        why: "With `always` the kernel uses huge pages for any memory, searches for free ones while \
              programs wait, and keeps partly freed ones.",
        fix: "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        source: "tuned, latency-performance; Netflix 2017",
        judge: huge_pages,
    },
    Check {
        id: "vm.pressure",
        title: "programs that wait for memory",
        gain: Gain::of(20.0, 40.0, 30.0, 20.0),
        expected: "the time that programs wait",
        risk: Risk::Process,
        lost: "nothing",
        why: "When memory is short, programs must free pages themselves in the middle of their work.",
        fix: "More memory, fewer programs, or smaller limits: `[limits]` of Velodrome.",
        source: "docs.kernel.org, psi",
        judge: pressure,
    },
    Check {
        id: "vm.dropped",
        title: "a page cache that is emptied again and again",
        gain: Gain::of(20.0, 40.0, 0.0, 5.0),
        expected: "the time that programs wait for disks afterwards",
        risk: Risk::Host,
        lost: "memory that looks free; the kernel frees such pages by itself when it needs them",
        why: "A program, often a job of cron, writes to /proc/sys/vm/drop_caches. All files have to be read from \
              disks again.",
        fix: "End that job: `grep -r drop_caches /etc/cron* /etc/systemd /var/spool/cron`.",
        source: "docs.kernel.org, sysctl/vm",
        judge: dropped,
    },
    Check {
        id: "vm.minfree",
        title: "memory reclaimed while a program waits",
        gain: Gain::of(5.0, 20.0, 10.0, 5.0),
        expected: "no packets dropped for lack of a page; no waits for one",
        risk: Risk::Host,
        lost: "one percent of the memory, which stays free",
        why: "The kernel keeps some pages free for incoming packets. When they are used up, whoever needs \
              the next page must first free some.",
        fix: "sysctl vm.min_free_kbytes=N, one to three percent of the memory.",
        source: "AWS, ENA best practices; docs.kernel.org, sysctl/vm",
        judge: stalls,
    },
    Check {
        id: "vm.dirty",
        title: "writers that wait for the disk",
        gain: Gain::of(3.0, 15.0, 0.0, 5.0),
        expected: "none for a server that writes nothing; a log that waits delays its writer",
        risk: Risk::Host,
        lost: "more data at risk in a power failure, if the limit is raised",
        why: "When too much written data is not on disk yet, every program that writes waits.",
        fix: "sysctl vm.dirty_background_ratio=5, so that writeback starts earlier; a faster disk. A limit \
              in bytes is reverted by setting its ratio, because 0 is refused.",
        source: "docs.kernel.org, sysctl/vm; tuned issue 882",
        judge: dirty,
    },
    Check {
        id: "vm.hugepages",
        title: "reserved huge pages that nobody uses",
        gain: Gain::of(0.0, 0.0, 5.0, 12.0),
        expected: "the memory they take",
        risk: Risk::Host,
        lost: "huge pages for a program that requests them later",
        why: "Pages of `vm.nr_hugepages` are reserved at once, and only programs that request them can use \
              them.",
        fix: "sysctl vm.nr_hugepages=0",
        source: "docs.kernel.org, hugetlbpage",
        judge: reserved,
    },
];

fn swap(host: &HostReading) -> Judged {
    let swappiness = Finding::known(host.sysctl("vm.swappiness"), "vm.swappiness cannot be read")?;
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

fn huge_pages(host: &HostReading) -> Judged {
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

/// Memory pressure stall, in percent of the time, from which it costs.
const WAITED: f64 = 1.0;

fn pressure(host: &HostReading) -> Judged {
    let seconds = Finding::known(host.seconds, "needs two readings of counters")?;
    match host.moved(|counters| counters.pressure.get("memory").copied()) {
        None => Finding::unknown("the kernel does not count waits for memory"),
        Some(waited) => {
            let share = waited as f64 / 1e4 / seconds;
            let text = format!("programs waited for memory {share:.1} % of the time");
            if share < WAITED {
                return Finding::good(text);
            }
            Finding::measured(text, Percent::between(share * 0.3, share))
        }
    }
}

fn stalls(host: &HostReading) -> Judged {
    if host.seconds.is_none() {
        return Finding::unknown("needs two readings of counters");
    }
    let names = ["allocstall_dma32", "allocstall_normal", "allocstall_movable"];
    let count = |name: &str| host.moved(|counters| counters.memory(name));
    let counts: Vec<u64> = names.into_iter().filter_map(count).collect();
    if counts.is_empty() {
        return Finding::unknown("/proc/vmstat does not count them here");
    }
    let stalls: u64 = counts.iter().sum();
    if stalls > 0 {
        return Finding::seen(format!("{stalls} times {}", host.span()), 1.0);
    }
    Finding::good(format!("never {}", host.span()))
}

fn dropped(host: &HostReading) -> Judged {
    let seconds = Finding::known(host.seconds, "needs two readings of counters")?;
    let count = host.moved(|counters| counters.memory("drop_pagecache"));
    let count = Finding::known(count, "/proc/vmstat does not count it here")?;
    let text = format!("{count} times {}", host.span());
    if count == 0 {
        return Finding::good(text);
    }
    let (waits, _) = most(host, |one| one.disk);
    let text =
        format!("{text}; a thread of the server waits for a disk {waits:.0} % of its working time");
    let often = (count as f64 / seconds).min(1.0);
    Finding::scaled(text, Percent::between(waits * often * 0.7, waits.max(5.0)))
}

fn dirty(host: &HostReading) -> Judged {
    let (dirty, bound) = (
        host.now.memory("nr_dirty"),
        host.now.memory("nr_dirty_threshold").filter(|bound| *bound > 0),
    );
    let (Some(dirty), Some(bound)) = (dirty, bound) else {
        return Finding::unknown("the kernel does not say how much is not written yet");
    };
    let share = dirty as f64 / bound as f64;
    let text = format!("{dirty} of {bound} pages are not written yet");
    let waits = host.watched().into_values().map(|one| {
        100.0 * f64::from(one.seen_in("at/balance_dirty_pages")) / f64::from(one.looks.max(1))
    });
    let waits = waits.fold(0.0, f64::max);
    if waits >= WAITED {
        let text =
            format!("{text}; a thread of the server waited for that {waits:.0} % of the time");
        return Finding::measured(text, Percent::between(waits * 0.7, waits));
    }
    if share > 0.8 { Finding::seen(text, share) } else { Finding::good(text) }
}

fn reserved(host: &HostReading) -> Judged {
    let text = Finding::known(host.text("/proc/meminfo"), "/proc/meminfo cannot be read")?;
    let lines = named(&text.replace(" kB", ""));
    let number = |name: &str| lines.get(name).copied().unwrap_or(0);
    let (all, free) = (number("HugePages_Total"), number("HugePages_Free"));
    let text = format!(
        "{} MiB, of which {free} of {all} pages are free",
        (all * number("Hugepagesize")) >> 10
    );
    if all > 0 && free == all { Finding::set(text, 1.0) } else { Finding::good(text) }
}
