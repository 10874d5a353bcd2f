//! Limits of the server's control groups, of both versions, and of all groups above them.

use crate::check::{Check, Gain, Risk};
use crate::cpu_wait::CpuWait;
use crate::finding::{Finding, Judged, Percent};
use crate::group::{GroupCounts, groups_of};
use crate::host::HostReading;
use crate::processes::ProcessStat;

use super::asleep::{NOTICED, most};
use super::reclaimed::read_again;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "env.quota",
        title: "a CPU quota",
        gain: Gain::of(40.0, 60.0, 20.0, 0.0),
        expected: "no pauses of up to a whole period, 100 ms",
        risk: Risk::Process,
        lost: "nothing; only the administrator of the machine can change the quota",
        why: "When a control group has used its quota, all its threads stop until the next period. With \
              more threads than the quota has CPUs, that happens early.",
        fix: "As many workers as the quota has whole CPUs; or request CPUs instead of a quota (cpuset, the \
              static CPU manager of Kubernetes).",
        source: "docs.kernel.org, cgroup-v2; kubernetes issue 67577",
        judge: quota,
    },
    Check {
        id: "env.memory",
        title: "a memory limit of a control group",
        gain: Gain::of(20.0, 40.0, 30.0, 20.0),
        expected: "the time that its threads free pages themselves; at the limit, the end of a program",
        risk: Risk::Host,
        lost: "memory of other groups",
        why: "Above `memory.high` each allocation frees pages first and is slowed down; above `memory.max` a \
              program is ended. Files that are read and written count as well.",
        fix: "`MemoryHigh=` and `MemoryMax=` of the unit or slice, `--memory` of a container; or a smaller \
              server: `[limits]` of Velodrome.",
        source: "docs.kernel.org, cgroup-v2",
        judge: memory,
    },
    Check {
        id: "env.pids",
        title: "a limit of threads and programs",
        gain: Gain::of(5.0, 5.0, 20.0, 5.0),
        expected: "a thread or program that cannot be started does no work",
        risk: Risk::Reversible,
        lost: "protection against a program that starts others without end",
        why: "At `pids.max` of a control group a new thread is refused with EAGAIN, like a new program.",
        fix: "`TasksMax=` of the unit or slice, `--pids-limit` of a container.",
        source: "docs.kernel.org, cgroup-v2",
        judge: tasks,
    },
    Check {
        id: "env.io",
        title: "a limit of disk requests",
        gain: Gain::of(10.0, 30.0, 0.0, 5.0),
        expected: "the time that its threads wait for the disk beyond the disk's own",
        risk: Risk::Host,
        lost: "disk time of other groups",
        why: "At `io.max` of a control group (blkio.throttle in version 1) reads and writes wait, however idle the \
              disk is.",
        fix: "`IOReadBandwidthMax=`, `IOWriteIOPSMax=` and the like of the unit or slice; `--device-write-iops` \
              and the like of a container.",
        source: "docs.kernel.org, cgroup-v2",
        judge: disks,
    },
];

/// The groups of the server, with their counts before and now; the reason why they are not known.
fn groups(host: &HostReading) -> Result<Vec<(&String, GroupCounts, &GroupCounts)>, Finding> {
    let process = super::server(host)?;
    if let Err(why) = groups_of(host, process) {
        return Finding::unknown(why);
    }
    let with_before = |(place, now)| {
        let before: Option<&GroupCounts> = host.before.groups.get(place);
        (place, before.cloned().unwrap_or_default(), now)
    };
    Ok(host.now.groups.iter().map(with_before).collect())
}

fn quota(host: &HostReading) -> Judged {
    let groups = groups(host)?;
    let with = groups.into_iter().filter_map(|(place, before, now)| {
        let throttled = now.throttled.saturating_sub(before.throttled);
        let periods = now.periods.saturating_sub(before.periods);
        Some((throttled, periods, now.quota?, place))
    });
    let Some((throttled, periods, quota, place)) = with.max() else {
        return Finding::good("none of its control groups has one");
    };
    let cpus = quota as f64 / 1000.0;
    if throttled == 0 {
        return Finding::good(format!(
            "{cpus:.1} CPUs for {place}, never throttled {}",
            host.span()
        ));
    }
    let text = format!(
        "{cpus:.1} CPUs for {place}; throttled in {throttled} of {periods} periods {}",
        host.span()
    );
    match CpuWait::of(host) {
        Ok(wait) if wait.for_quota > 0.0 => {
            let lost = wait.lost(wait.for_quota);
            Finding::measured(text, Percent::between(lost * 0.8, lost))
        }
        _ => Finding::seen(text, throttled as f64 / periods.max(1) as f64),
    }
}

/// Memory, relative to a limit, from which it costs.
const NEAR: f64 = 0.95;

/// The price of workers that are killed in the middle of what they do, and of sockets that have no memory: unknown, and
/// rarely little.
const KILLED: Percent = Percent { low: 40.0, high: 98.0 };

/// Programs of a control group that were killed for its memory limit, in words.
pub(super) fn killed(host: &HostReading) -> Option<String> {
    let count = |(place, now): (&String, &GroupCounts)| {
        let count = now.killed.saturating_sub(host.before.groups.get(place)?.killed);
        (count > 0 && host.seconds.is_some()).then(|| (count, place.clone()))
    };
    // A group above counts those of all below it: the limit is that of the innermost one.
    let (count, place) = host.now.groups.iter().filter_map(count).max_by_key(|one| one.1.len())?;
    Some(format!("{count} programs in {place} were killed for its memory limit {}", host.span()))
}

/// Sockets of a control group that are at the limit of their memory, in words.
pub(super) fn starved_sockets(host: &HostReading) -> Option<String> {
    let starved = |(place, group): (&String, &GroupCounts)| {
        let (used, most) = group.sockets.filter(|(used, most)| used >= most)?;
        Some(format!(
            "the TCP sockets in {place} use {} of {} KiB (memory.kmem.tcp.limit_in_bytes)",
            used >> 10,
            most >> 10
        ))
    };
    host.now.groups.iter().find_map(starved)
}

fn memory(host: &HostReading) -> Judged {
    let groups = groups(host)?;
    if let Some(text) = starved_sockets(host) {
        return Finding::scaled(text, KILLED);
    }
    if let Some(text) = killed(host) {
        let bound = groups.iter().filter_map(|(_, _, now)| now.memory).map(|(_, most)| most).min();
        let bound = bound.map_or_else(String::new, |most| format!(", {} MiB", most >> 20));
        return Finding::scaled(format!("{text}{bound}"), KILLED);
    }
    let mut text = "none of its control groups has one".to_owned();
    for (place, before, now) in groups {
        let Some((used, most)) = now.memory else { continue };
        let met = now.memory_events.saturating_sub(before.memory_events);
        text = format!("{place} uses {} of {} MiB", used >> 20, most >> 20);
        let waited = |one: &GroupCounts| one.pressure.get("memory").copied();
        let stalled =
            waited(now).zip(waited(&before)).map(|(now, before)| now.saturating_sub(before));
        if met > 0 && host.seconds.is_some() {
            let text = format!("{text}, and met the limit {met} times {}", host.span());
            if let Some(finding) = of_reading(host, &text) {
                return finding;
            }
            let share = stalled.zip(host.seconds).map(|(us, seconds)| us as f64 / 1e4 / seconds);
            return match share {
                Some(share) => {
                    Finding::measured(text, Percent::between(share * 0.5, share.max(5.0)))
                }
                None => Finding::seen(text, 1.0),
            };
        }
        if used as f64 > most as f64 * NEAR {
            return Finding::set(text, 0.5);
        }
    }
    Finding::good(text)
}

/// The price of pages that are read again: the time for which threads wait for a disk, at least as far as these pages
/// are what is read. The kernel forgets some of those that it has freed, so there may be more of them.
fn of_reading(host: &HostReading, text: &str) -> Option<Judged> {
    let part = read_again(host)?;
    let (waited, _) = most(host, |one| one.disk.max(one.seen_in("fsync")));
    let text = format!(
        "{text}; {:.0} % of what the server reads from disks had been in memory and was freed for it, and a thread \
         waits for a disk {waited:.0} % of its working time",
        part * 100.0
    );
    let price = Percent::between(waited * part * 0.8, waited);
    (waited >= NOTICED).then(|| Finding::measured(text, price))
}

/// The price of work that no thread or program could be started for: unknown, and rarely little.
const REFUSED: Percent = Percent { low: 10.0, high: 60.0 };

/// Programs of the server that have ended and are kept because nobody has waited for them, in words.
fn ended(host: &HostReading) -> String {
    let is_one = |stat: &&ProcessStat| stat.state == 'Z' && host.now.members.contains(&stat.parent);
    match host.now.programs.values().filter(is_one).count() {
        few if few < 10 => String::new(),
        count => format!(
            ", {count} of them programs that have ended, for which their parent has not waited (zombies)"
        ),
    }
}

fn tasks(host: &HostReading) -> Judged {
    let groups = groups(host)?;
    let mut text = "none of its control groups has one".to_owned();
    for (place, before, now) in groups {
        let Some((used, most)) = now.tasks else { continue };
        text = format!("{place} has {used} of {most}{}", ended(host));
        let refused = now.refused_tasks.saturating_sub(before.refused_tasks);
        if refused > 0 && host.seconds.is_some() {
            let text = format!("{text}; {refused} were refused {}", host.span());
            return Finding::scaled(text, REFUSED);
        }
        if used * 10 >= most * 9 {
            return Finding::set(text, 1.0);
        }
    }
    Finding::good(text)
}

fn disks(host: &HostReading) -> Judged {
    let groups = groups(host)?;
    let bound = groups.iter().find(|(_, _, now)| !now.disks.is_empty());
    let Some((place, _, now)) = bound else {
        return Finding::good("none of its control groups has one");
    };
    let text = format!("{place} has the limit {}", now.disks);
    let (share, _) = most(host, |one| one.disk.max(one.seen_in("fsync")));
    if share < NOTICED {
        return Finding::good(format!("{text}; no thread was seen waiting for a disk"));
    }
    let text = format!("{text}; a thread waited for a disk {share:.0} % of its working time");
    Finding::measured(text, Percent::between(share * 0.7, share))
}
