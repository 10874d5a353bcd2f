//! How the threads of a process are scheduled: the difference of two readings of `/proc`. Needs no
//! privileges for programs of the same user.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;

use sys::text::of_kernel_file;

use crate::processes::threads_of;
use crate::threads::Scope;

/// The counters of all threads at one time.
#[derive(Clone, Debug, Default)]
pub struct Scheduling {
    threads: BTreeMap<u32, Thread>,
    /// Ticks of all CPUs, and the stolen ones, which the hypervisor gave to others.
    ticks: u64,
    steal: u64,
}

#[derive(Clone, Debug, Default)]
struct Thread {
    name: String,
    run_ns: u64,
    wait_ns: u64,
    voluntary: u64,
    involuntary: u64,
    /// `None` if the kernel does not report them.
    migrations: Option<u64>,
    allowed: String,
}

impl Scheduling {
    /// Reads the counters of all threads.
    ///
    /// # Errors
    /// There is no such process.
    pub fn look(scope: Scope) -> io::Result<Self> {
        let mut scheduling = Self::default();
        for process in scope.processes()? {
            // A child may end in the meantime.
            for number in threads_of(process).unwrap_or_default() {
                let path = format!("/proc/{process}/task/{number}");
                let read = |name: &str| of_kernel_file(format!("{path}/{name}")).ok();
                if let Some(status) = read("status") {
                    let [stat, sched] =
                        ["schedstat", "sched"].map(|name| read(name).unwrap_or_default());
                    let name = read("comm").unwrap_or_default().trim().to_owned();
                    scheduling.threads.insert(number, thread(name, &stat, &status, &sched));
                }
            }
        }
        let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        (scheduling.ticks, scheduling.steal) = ticks(&stat);
        Ok(scheduling)
    }

    /// The difference to an earlier reading, this many seconds ago, as a table: the threads with the most CPU time
    /// first.
    pub fn table_since(&self, before: &Self, seconds: f64, most: usize) -> String {
        let none = Thread::default();
        let mut rows: Vec<(u32, &Thread, &Thread)> = self
            .threads
            .iter()
            .map(|(number, now)| (*number, before.threads.get(number).unwrap_or(&none), now))
            .collect();
        rows.sort_by_key(|(_, before, now)| {
            std::cmp::Reverse(now.run_ns - before.run_ns.min(now.run_ns))
        });
        let mut text = format!(
            "{:24}{:>8}{:>16}{:>14}{:>14}{:>12}  allowed CPUs\n",
            "thread", "runs", "waits for a CPU", "wake-ups/s", "preempted/s", "migrations"
        );
        let share = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds / 1e7;
        let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
        for (number, before, now) in rows.into_iter().take(most) {
            let migrations = now.migrations.map_or_else(
                || "-".to_owned(),
                |count| count.saturating_sub(before.migrations.unwrap_or(0)).to_string(),
            );
            let _endless = writeln!(
                text,
                "{:24}{:>6.1} %{:>14.1} %{:>14.0}{:>14.0}{migrations:>12}  {}",
                format!("{} ({number})", now.name),
                share(now.run_ns, before.run_ns),
                share(now.wait_ns, before.wait_ns),
                rate(now.voluntary, before.voluntary),
                rate(now.involuntary, before.involuntary),
                now.allowed,
            );
        }
        let ticks = self.ticks.saturating_sub(before.ticks).max(1) as f64;
        let steal = self.steal.saturating_sub(before.steal) as f64 * 100.0 / ticks;
        let _endless = writeln!(
            text,
            "\nsteal: {steal:.1} % of all CPUs went to other guests of this machine"
        );
        text
    }
}

fn thread(name: String, stat: &str, status: &str, sched: &str) -> Thread {
    let mut times = stat.split_whitespace().map(|number| number.parse().unwrap_or(0));
    let (run_ns, wait_ns) = (times.next().unwrap_or(0), times.next().unwrap_or(0));
    let line = |name: &str| {
        status
            .lines()
            .find_map(|line| Some(line.strip_prefix(name)?.trim_start_matches(':').trim()))
    };
    let number = |name: &str| line(name).and_then(|text| text.parse().ok()).unwrap_or(0);
    let migrations = sched.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == "se.nr_migrations").then(|| value.trim().parse().ok())?
    });
    Thread {
        name,
        run_ns,
        wait_ns,
        voluntary: number("voluntary_ctxt_switches"),
        involuntary: number("nonvoluntary_ctxt_switches"),
        migrations,
        allowed: line("Cpus_allowed_list").unwrap_or("-").to_owned(),
    }
}

/// All ticks in the first line of `/proc/stat`, and the stolen ones (proc_stat(5)); guests are part of the user time.
fn ticks(stat: &str) -> (u64, u64) {
    let line = stat.lines().next().unwrap_or_default();
    let ticks: Vec<u64> =
        line.split_whitespace().skip(1).take(8).map(|ticks| ticks.parse().unwrap_or(0)).collect();
    (ticks.iter().sum(), ticks.get(7).copied().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scheduling_between_two_readings_is_reported() {
        let look = |by: u64| {
            let stat = format!("{} {} {by}", 500_000_000 * by, 100_000_000 * by);
            let status = format!(
                "Cpus_allowed_list:\t1\nvoluntary_ctxt_switches:\t{}\nnonvoluntary_ctxt_switches:\t{}\n",
                300 * by,
                7 * by
            );
            let sched = format!("se.nr_migrations                             :     {}\n", 2 * by);
            let one = thread("worker".to_owned(), &stat, &status, &sched);
            let (ticks, steal) = ticks(&format!("cpu  {} 0 0 0 0 0 0 {} 0 0\n", 95 * by, 5 * by));
            Scheduling { threads: BTreeMap::from([(7, one)]), ticks, steal }
        };
        let table = look(3).table_since(&look(1), 2.0, 10);
        let row: Vec<&str> = table.lines().nth(1).unwrap_or_default().split_whitespace().collect();
        assert_eq!(row, ["worker", "(7)", "50.0", "%", "10.0", "%", "300", "7", "4", "1"]);
        assert!(table.contains("steal: 5.0 %"), "{table}");
    }
}
