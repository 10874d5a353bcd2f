//! How much of its core a thread or a server used.
//!
//! Owns the samples and their differences. The scheduler counts time on a core in nanoseconds, but does not split it;
//! the split into user and system comes from ticks and is applied to the exact sum.

use std::fs::read_to_string;
use std::io;
use std::path::Path;

use sys::text::of_kernel_file;

use crate::host::listener::numbers_in;

/// Nanoseconds of a tick in /proc: 100 per second on every Linux, whatever the kernel's own interval.
const TICK_NS: u64 = 10_000_000;

/// The resources that one generator thread used during a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ThreadUse {
    /// The core it is pinned to; `None` if it is not pinned.
    pub core: Option<u32>,
    /// Time on a core, in nanoseconds.
    pub cpu_ns: u64,
    /// The part of it spent polling without finding work.
    pub spun_ns: u64,
    /// Time it was ready to run and the core was busy with others.
    pub waited_ns: u64,
    /// The longest stretch of it, sampled ten times per second.
    pub longest_wait_ns: u64,
    /// The length of the run.
    pub wall_ns: u64,
}

impl ThreadUse {
    /// The share of its core it worked, without polling.
    pub fn busy(&self) -> f64 {
        share(self.cpu_ns.saturating_sub(self.spun_ns), self.wall_ns)
    }
}

/// The kernel's counts for one thread since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadSample {
    /// Its number.
    pub thread: u32,
    /// Time on a core, in nanoseconds.
    pub run_ns: u64,
    /// Time it was ready and waited for a core, in nanoseconds.
    pub wait_ns: u64,
}

impl ThreadSample {
    /// Samples the calling thread.
    ///
    /// # Errors
    /// If /proc is not mounted or the kernel keeps no such counts.
    pub fn current() -> io::Result<ThreadSample> {
        let text = read_to_string("/proc/thread-self/schedstat")?;
        let (run_ns, wait_ns) =
            parse_schedstat(&text).ok_or_else(|| strange("/proc/thread-self/schedstat"))?;
        Ok(ThreadSample { thread: 0, run_ns, wait_ns })
    }

    /// The resources that a pinned thread used between an earlier sample and this one.
    pub fn since(
        &self,
        earlier: &ThreadSample,
        core: Option<u32>,
        spun_ns: u64,
        wall_ns: u64,
    ) -> ThreadUse {
        ThreadUse {
            core,
            cpu_ns: self.run_ns.saturating_sub(earlier.run_ns),
            spun_ns,
            waited_ns: self.wait_ns.saturating_sub(earlier.wait_ns),
            longest_wait_ns: 0,
            wall_ns,
        }
    }
}

/// One process of a server at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessSample {
    /// Its number.
    pub pid: u32,
    /// The name of its program, at most 15 bytes.
    pub name: String,
    /// Ticks of user time of all its threads, past and present.
    pub user_ticks: u64,
    /// Ticks of system time of all its threads, past and present.
    pub system_ticks: u64,
    /// Its resident memory.
    pub resident_bytes: u64,
    /// Its current threads.
    pub threads: Vec<ThreadSample>,
}

impl ProcessSample {
    /// Samples a process.
    ///
    /// # Errors
    /// If there is no such process, or we may not inspect it.
    pub fn read(pid: u32) -> io::Result<ProcessSample> {
        let process = Path::new("/proc").join(pid.to_string());
        let stat = of_kernel_file(process.join("stat"))?;
        let stat = parse_stat(&stat).ok_or_else(|| strange("/proc/PID/stat"))?;
        let status = of_kernel_file(process.join("status"))?;
        let tasks = process.join("task");
        let threads = numbers_in(&tasks).filter_map(|thread| {
            // A thread may end between the listing and the reading.
            let text = read_to_string(tasks.join(format!("{thread}/schedstat"))).ok()?;
            let (run_ns, wait_ns) = parse_schedstat(&text)?;
            Some(ThreadSample { thread, run_ns, wait_ns })
        });
        Ok(ProcessSample {
            pid,
            name: stat.name.to_owned(),
            user_ticks: stat.user_ticks,
            system_ticks: stat.system_ticks,
            resident_bytes: parse_resident(&status).unwrap_or(0),
            threads: threads.collect(),
        })
    }

    /// Time on a core since an earlier sample, in nanoseconds: exact if no thread ended in between, otherwise in ticks.
    fn cpu_ns_since(&self, earlier: &ProcessSample) -> u64 {
        let all_live = earlier.threads.iter().all(|thread| self.thread(thread.thread).is_some());
        if all_live && !self.threads.is_empty() {
            self.threads.iter().map(|thread| run_ns_since(thread, earlier)).sum()
        } else {
            let (user, system) = self.ticks_since(earlier);
            (user + system) * TICK_NS
        }
    }

    fn ticks_since(&self, earlier: &ProcessSample) -> (u64, u64) {
        (
            self.user_ticks.saturating_sub(earlier.user_ticks),
            self.system_ticks.saturating_sub(earlier.system_ticks),
        )
    }

    fn thread(&self, number: u32) -> Option<&ThreadSample> {
        self.threads.iter().find(|thread| thread.thread == number)
    }
}

/// All processes of a server at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerSample {
    /// Those that could be read.
    pub processes: Vec<ProcessSample>,
}

impl ServerSample {
    /// Samples the processes, without those that have ended or that we may not inspect.
    pub fn read(pids: &[u32]) -> ServerSample {
        let processes = pids.iter().filter_map(|pid| ProcessSample::read(*pid).ok()).collect();
        ServerSample { processes }
    }
}

/// The resources that a server used during a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerUse {
    /// The name of its program.
    pub name: String,
    /// Its processes.
    pub pids: Vec<u32>,
    /// How many threads it had at the end.
    pub threads: u32,
    /// Time on all cores, in nanoseconds.
    pub cpu_ns: u64,
    /// The part in user mode. `None` if the run was too short to tell.
    pub user_ns: Option<u64>,
    /// The part in the kernel.
    pub system_ns: Option<u64>,
    /// The time that its busiest thread used of its core, in nanoseconds.
    pub busiest_thread_ns: u64,
    /// How long the thread that waited most was ready without a core, in nanoseconds.
    pub longest_waiting_thread_ns: u64,
    /// Resident memory of all its processes at the end; shared memory counts for each.
    pub resident_bytes: u64,
}

impl ServerUse {
    /// The difference of two samples. `None` if no process is in both, so the server has ended.
    pub fn between(earlier: &ServerSample, later: &ServerSample) -> Option<ServerUse> {
        let pairs: Vec<(&ProcessSample, &ProcessSample)> = later
            .processes
            .iter()
            .filter_map(|now| {
                let then = earlier.processes.iter().find(|then| then.pid == now.pid)?;
                Some((then, now))
            })
            .collect();
        let (_, first) = pairs.first()?;
        let cpu_ns = pairs.iter().map(|(then, now)| now.cpu_ns_since(then)).sum();
        let (user_ticks, system_ticks) = pairs
            .iter()
            .map(|(then, now)| now.ticks_since(then))
            .fold((0, 0), |sum, ticks| (sum.0 + ticks.0, sum.1 + ticks.1));
        let user_ns = split(cpu_ns, user_ticks, system_ticks);
        let threads = pairs
            .iter()
            .flat_map(|(then, now)| now.threads.iter().map(|thread| run_ns_since(thread, then)));
        let waits = pairs
            .iter()
            .flat_map(|(then, now)| now.threads.iter().map(|thread| wait_ns_since(thread, then)));
        Some(ServerUse {
            name: first.name.clone(),
            pids: pairs.iter().map(|(_, now)| now.pid).collect(),
            threads: u32::try_from(threads.clone().count()).unwrap_or(u32::MAX),
            cpu_ns,
            user_ns,
            system_ns: user_ns.map(|user_ns| cpu_ns - user_ns),
            busiest_thread_ns: threads.max().unwrap_or(0),
            longest_waiting_thread_ns: waits.max().unwrap_or(0),
            resident_bytes: pairs.iter().map(|(_, now)| now.resident_bytes).sum(),
        })
    }
}

/// A thread that began in between counts from zero.
fn run_ns_since(thread: &ThreadSample, earlier: &ProcessSample) -> u64 {
    let then = earlier.thread(thread.thread).map_or(0, |then| then.run_ns);
    thread.run_ns.saturating_sub(then)
}

fn wait_ns_since(thread: &ThreadSample, earlier: &ProcessSample) -> u64 {
    let then = earlier.thread(thread.thread).map_or(0, |then| then.wait_ns);
    thread.wait_ns.saturating_sub(then)
}

/// The part of an exact time that the ticks attribute to user mode.
fn split(cpu_ns: u64, user_ticks: u64, system_ticks: u64) -> Option<u64> {
    let ticks = u128::from(user_ticks) + u128::from(system_ticks);
    let part = (u128::from(cpu_ns) * u128::from(user_ticks)).checked_div(ticks)?;
    u64::try_from(part).ok()
}

fn share(part_ns: u64, whole_ns: u64) -> f64 {
    if whole_ns == 0 { 0.0 } else { part_ns as f64 / whole_ns as f64 }
}

fn strange(file: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{file} is not in the known form"))
}

struct Stat<'a> {
    name: &'a str,
    user_ticks: u64,
    system_ticks: u64,
}

/// proc_pid_stat(5). The name is in parentheses and may contain any byte, including parentheses.
fn parse_stat(text: &str) -> Option<Stat<'_>> {
    let (before, after) = text.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    // The word after the name is field 3; user time is field 14, system time field 15.
    let mut words = after.split_ascii_whitespace().skip(14 - 3);
    let user_ticks = words.next()?.parse().ok()?;
    let system_ticks = words.next()?.parse().ok()?;
    Some(Stat { name, user_ticks, system_ticks })
}

/// Time on a core and time of waiting for one, in nanoseconds.
fn parse_schedstat(text: &str) -> Option<(u64, u64)> {
    let mut words = text.split_ascii_whitespace();
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

/// The resident set of /proc/PID/status, in bytes.
fn parse_resident(status: &str) -> Option<u64> {
    let rest = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = rest.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(pid: u32, ticks: (u64, u64), threads: &[(u32, u64)]) -> ProcessSample {
        let threads = threads.iter();
        ProcessSample {
            pid,
            name: "server".to_owned(),
            user_ticks: ticks.0,
            system_ticks: ticks.1,
            resident_bytes: 1000,
            threads: threads
                .map(|(thread, run_ns)| ThreadSample {
                    thread: *thread,
                    run_ns: *run_ns,
                    wait_ns: 0,
                })
                .collect(),
        }
    }

    fn of(processes: Vec<ProcessSample>) -> ServerSample {
        ServerSample { processes }
    }

    #[test]
    fn the_texts_of_proc_are_understood() {
        let text =
            "4711 (a) (b) c) S 1 4711 4711 0 -1 4194560 100 0 0 0 321 654 0 0 20 0 3 0 1 2 3\n";
        let stat = parse_stat(text).unwrap();
        assert_eq!((stat.name, stat.user_ticks, stat.system_ticks), ("a) (b) c", 321, 654));
        assert!(parse_stat("4711 (short) S 1 2").is_none());
        assert!(parse_stat("").is_none());
        assert_eq!(parse_schedstat("1041029 44195 2\n"), Some((1_041_029, 44_195)));
        assert_eq!(parse_schedstat("1041029"), None);
        assert_eq!(parse_resident("Name:\tx\nVmRSS:\t    2048 kB\n"), Some(2_097_152));
        assert_eq!(parse_resident("Name:\tx\n"), None, "a kernel thread has none");
    }

    #[test]
    fn exact_time_is_split_by_ticks() {
        // 900 us and 300 us in two threads, one of them new; 10 ticks of user time, 30 of system time.
        let earlier = of(vec![sample(7, (100, 200), &[(7, 1_000_000)])]);
        let later = of(vec![sample(7, (110, 230), &[(7, 1_900_000), (8, 300_000)])]);
        let used = ServerUse::between(&earlier, &later).unwrap();
        assert_eq!((used.cpu_ns, used.threads, used.busiest_thread_ns), (1_200_000, 2, 900_000));
        assert_eq!((used.user_ns, used.system_ns), (Some(300_000), Some(900_000)));
        assert_eq!((used.pids, used.resident_bytes), (vec![7], 1000));
    }

    #[test]
    fn when_a_thread_ended_its_ticks_still_count() {
        let earlier = of(vec![sample(7, (100, 200), &[(7, 1_000_000), (8, 5)])]);
        let later = of(vec![sample(7, (103, 204), &[(7, 1_900_000)])]);
        let used = ServerUse::between(&earlier, &later).unwrap();
        assert_eq!(used.cpu_ns, 70_000_000, "7 ticks of 10 ms");
        assert_eq!(used.user_ns, Some(30_000_000));
    }

    #[test]
    fn processes_add_up_and_those_that_came_or_went_are_left_out() {
        let earlier = of(vec![
            sample(7, (0, 0), &[(7, 100)]),
            sample(8, (0, 0), &[(8, 100)]),
            sample(9, (0, 0), &[(9, 100)]),
        ]);
        let later = of(vec![
            sample(7, (0, 0), &[(7, 150)]),
            sample(8, (0, 0), &[(8, 400)]),
            sample(10, (0, 0), &[(10, 999)]),
        ]);
        let used = ServerUse::between(&earlier, &later).unwrap();
        assert_eq!((used.cpu_ns, used.busiest_thread_ns, used.pids), (350, 300, vec![7, 8]));
        assert_eq!((used.user_ns, used.system_ns), (None, None), "no tick passed");
        assert_eq!(ServerUse::between(&earlier, &of(Vec::new())), None, "the server is gone");
    }

    #[test]
    fn looking_for_work_in_vain_is_no_work() {
        let earlier = ThreadSample { thread: 1, run_ns: 500, wait_ns: 10 };
        let later = ThreadSample { thread: 1, run_ns: 1500, wait_ns: 60 };
        let used = later.since(&earlier, Some(3), 250, 1000);
        assert_eq!((used.cpu_ns, used.waited_ns, used.core), (1000, 50, Some(3)));
        assert_eq!(used.busy(), 0.75);
        assert_eq!(ThreadUse::default().busy(), 0.0, "a run without length");
    }

    #[test]
    fn the_calling_thread_is_counted() {
        let earlier = ThreadSample::current().unwrap();
        while ThreadSample::current().unwrap().run_ns == earlier.run_ns {}
        let own = std::process::id();
        assert_eq!(ServerSample::read(&[own, u32::MAX]).processes.len(), 1);
        assert!(ProcessSample::read(own).unwrap().resident_bytes > 0);
    }
}
