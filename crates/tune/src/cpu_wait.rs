//! How long the server's threads waited for a CPU between the two readings, and who had it: a quota, other programs,
//! or the server's own threads.
//!
//! Owns this division. Judges nothing.

use std::collections::{BTreeMap, BTreeSet};

use crate::counters::Cpu;
use crate::host::HostReading;
use crate::processes::ProcessStat;
use crate::server::ServerThread;
use crate::watching::Watched;

/// Share of the time in which a thread has to want a CPU in order to count as busy.
const BUSY: f64 = 0.5;

/// The same for a thread that may wait for others of the server.
const WANTS: f64 = 0.1;

/// Clock ticks of a second.
const TICKS: f64 = 100.0;

/// The server's time, in seconds, summed over its threads.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CpuWait {
    /// On a CPU.
    pub(crate) run: f64,
    /// In the queue of a CPU because other programs had it.
    pub(crate) for_others: f64,
    /// The part of it that others used of the CPUs: less, if several threads waited at once.
    pub(crate) taken: f64,
    /// In the queue of a CPU because other threads of the server had it.
    pub(crate) for_own: f64,
    /// Stopped by the quota of a control group.
    pub(crate) for_quota: f64,
    /// Threads that wanted a CPU at least half of the time.
    pub(crate) busy: Vec<u32>,
    /// Threads that wanted a CPU at least a tenth of the time.
    pub(crate) wanting: usize,
    /// The CPUs that the busy ones may use.
    pub(crate) cpus: BTreeSet<usize>,
    /// The CPUs that its threads may use, busy or not.
    pub(crate) allowed: BTreeSet<usize>,
    /// Programs that ran on those of the busy threads: share of a CPU, and number; the largest first.
    pub(crate) others: Vec<(f64, u32)>,
}

impl CpuWait {
    /// Divides the server's time; the reason why it cannot.
    pub(crate) fn of(host: &HostReading) -> Result<Self, &'static str> {
        if host.process.is_none() {
            return Err("needs --pid");
        }
        let Some(seconds) = host.seconds else { return Err("needs two readings of the server") };
        if host.now.threads.is_empty() {
            return Err("its threads cannot be read");
        }
        let mut all = Self::default();
        let throttled = throttled(host);
        // A stop by a quota is no wait for others.
        let watched = if throttled > 0.0 { BTreeMap::new() } else { host.watched() };
        let (mut wait, mut is_counted, mut wanting) = (0.0, true, 0);
        for (thread, now) in &host.now.threads {
            let (run, waited) = times(now, host.before.threads.get(thread));
            let waited = match watched.get(thread) {
                Some(seen) if is_starved(seen, run + waited.unwrap_or(0.0), seconds) => {
                    Some((seconds - run).max(0.0))
                }
                _ => waited,
            };
            all.run += run;
            wait += waited.unwrap_or(0.0);
            is_counted &= waited.is_some();
            wanting += usize::from(run + waited.unwrap_or(0.0) >= WANTS * seconds);
            if run + waited.unwrap_or(0.0) >= BUSY * seconds {
                all.busy.push(*thread);
            }
        }
        if !is_counted && wait == 0.0 && all.busy.is_empty() {
            return Err("the kernel does not count waits for a CPU, and no thread of it was busy");
        }
        all.cpus = cpus(host, &all.busy);
        all.allowed = cpus(host, &[]);
        all.for_quota = throttled;
        // Since Linux 6.18 a thread that a quota stops is in no queue.
        let wait = if host.kernel() >= (6, 18) { wait } else { (wait - throttled).max(0.0) };
        let used = used_on(host, &all.cpus);
        let by_others = (used - all.run).max(0.0);
        all.others = others(host, &all.cpus, seconds);
        let known: f64 = all.others.iter().map(|(share, _)| share * seconds).sum();
        let by_others = by_others.min(known);
        all.wanting = wanting;
        // Threads that have a CPU each do not wait for each other.
        let is_crowded = wanting > all.cpus.len();
        let share = match is_crowded {
            true => by_others / (by_others + all.run).max(f64::MIN_POSITIVE),
            false => 1.0,
        };
        all.taken = (wait * share).min(by_others);
        // All threads of a crowd wait while another program has the CPU.
        all.for_others = if is_crowded { wait * share } else { all.taken };
        all.for_own = wait * (1.0 - share);
        Ok(all)
    }

    /// The share of its time that the server lost to this wait, in percent.
    pub(crate) fn lost(&self, wait: f64) -> f64 {
        100.0 * wait / (self.run + wait).max(f64::MIN_POSITIVE)
    }

    /// The same as a part of all time, in percent: a server that mostly sleeps loses little, however long it waited
    /// when it wanted to run.
    pub(crate) fn lost_of_time(&self, wait: f64, seconds: f64) -> f64 {
        let threads = if self.busy.is_empty() { self.wanting } else { self.busy.len() };
        100.0 * wait / self.wanted().max(seconds * threads.max(1) as f64).max(f64::MIN_POSITIVE)
    }

    /// Time in which its threads ran or wanted to.
    pub(crate) fn wanted(&self) -> f64 {
        self.run + self.for_others + self.for_own
    }

    /// The share of their time for which its threads waited for each other, in percent.
    pub(crate) fn lost_to_own(&self) -> f64 {
        100.0 * self.for_own / self.wanted().max(f64::MIN_POSITIVE)
    }

    /// CPUs that were idle between the readings, of those that this selects, in seconds.
    pub(crate) fn idle(&self, host: &HostReading, is_meant: impl Fn(&usize) -> bool) -> f64 {
        let Some(seconds) = host.seconds else { return 0.0 };
        let idle = |cpu: &usize| {
            let (Some(before), Some(now)) = (host.before.cpus.get(*cpu), host.now.cpus.get(*cpu))
            else {
                return 0.0;
            };
            idle_share(*before, *now) * seconds
        };
        (0..host.now.cpus.len()).filter(|cpu| is_meant(cpu)).map(|cpu| idle(&cpu)).sum()
    }
}

/// Whether a thread waited in the queue of a CPU nearly all the time, without having been counted: the kernel counts a
/// wait at its end.
fn is_starved(seen: &Watched, counted: f64, seconds: f64) -> bool {
    seen.looks > 1 && seen.running * 10 >= seen.looks * 9 && counted < BUSY * seconds
}

/// Seconds on a CPU, and in the queue of one if that is counted.
fn times(now: &ServerThread, before: Option<&ServerThread>) -> (f64, Option<f64>) {
    // A thread that is new has done all of it between the readings.
    let none = ServerThread::default();
    let before = before.unwrap_or(&none);
    let seconds = |now: u64, before: u64| now.saturating_sub(before) as f64 / 1e9;
    match now.ran {
        Some(ran) => {
            let earlier = before.ran.unwrap_or_default();
            (seconds(ran.run, earlier.run), Some(seconds(ran.wait, earlier.wait)))
        }
        None => (now.ticks.saturating_sub(before.ticks) as f64 / TICKS, None),
    }
}

/// The CPUs that these threads may use; all if it is not known.
fn cpus(host: &HostReading, threads: &[u32]) -> BTreeSet<usize> {
    let of = |thread: &u32| host.now.threads.get(thread).map(|one| one.allowed.clone());
    let all: BTreeSet<usize> = match threads {
        [] => host.now.threads.values().flat_map(|one| one.allowed.clone()).collect(),
        threads => threads.iter().filter_map(of).flatten().collect(),
    };
    let count = host.now.cpus.len();
    let known: BTreeSet<usize> = all.into_iter().filter(|cpu| *cpu < count).collect();
    if known.is_empty() { (0..count).collect() } else { known }
}

/// Seconds for which quotas stopped the server.
fn throttled(host: &HostReading) -> f64 {
    let moved = host.now.groups.iter().map(|(place, now)| {
        let before = host.before.groups.get(place).map_or(now.throttled_ns, |one| one.throttled_ns);
        now.throttled_ns.saturating_sub(before) as f64 / 1e9
    });
    moved.fold(0.0, f64::max)
}

pub(crate) fn idle_share(before: Cpu, now: Cpu) -> f64 {
    let (all, idle) = (now.all.saturating_sub(before.all), now.idle.saturating_sub(before.idle));
    if all == 0 { 1.0 } else { idle as f64 / all as f64 }
}

/// Seconds for which these CPUs ran programs.
fn used_on(host: &HostReading, cpus: &BTreeSet<usize>) -> f64 {
    let used = |cpu: &usize| {
        let (Some(before), Some(now)) = (host.before.cpus.get(*cpu), host.now.cpus.get(*cpu))
        else {
            return 0.0;
        };
        let busy = |cpu: &Cpu| cpu.all.saturating_sub(cpu.idle + cpu.stolen);
        busy(now).saturating_sub(busy(before)) as f64 / TICKS
    };
    cpus.iter().map(used).sum()
}

/// Share of a CPU from which another program is named.
const NAMED: f64 = 0.02;

/// Other programs that ran on these CPUs, as far as that is seen: the CPU of a program is known when it is looked at.
fn others(host: &HostReading, cpus: &BTreeSet<usize>, seconds: f64) -> Vec<(f64, u32)> {
    let own = std::process::id();
    let is_here = |stat: &ProcessStat| cpus.contains(&stat.cpu);
    let mut all: Vec<(f64, u32)> = Vec::new();
    for (process, now) in &host.now.programs {
        let before = host.before.programs.get(process);
        let ticks = now.ticks.saturating_sub(before.map_or(0, |stat| stat.ticks));
        // A process that was started since, and has ended, is in the time of its parent's children.
        let share = ticks as f64 / TICKS / seconds;
        let was_here = is_here(now) || before.is_some_and(is_here);
        if share >= NAMED && was_here && !host.now.members.contains(process) && *process != own {
            all.push((share, *process));
        }
    }
    all.sort_by(|one, other| other.0.total_cmp(&one.0));
    all
}
