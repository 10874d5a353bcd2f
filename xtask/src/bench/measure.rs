//! One measurement of one server under one workload.
//!
//! Owns which accounts are read before and after, and the divisions.

use std::time::Duration;

use crate::bench::SPARE_DESCRIPTORS;
use crate::bench::accounting::{self, Spent};
use crate::bench::host::Cores;
use crate::bench::load;
use crate::bench::ours;
use crate::bench::running::Running;
use crate::bench::sample::Count;
use crate::bench::sample::{Metric, Sample};
use crate::bench::site::Site;
use crate::bench::workload::{Load, Workload};
use crate::client;
use crate::failure::Failure;

/// Time for a server to become idle before its memory is read.
const REST: Duration = Duration::from_millis(500);

/// The constants of all measurements of a workload.
pub(crate) struct Measuring<'a> {
    pub(crate) workload: &'static Workload,
    pub(crate) site: &'a Site,
    pub(crate) cores: &'a Cores,
    pub(crate) descriptors: u64,
}

impl Measuring<'_> {
    /// The requests per second of one server in a closed loop.
    pub(crate) fn closed_loop_maximum(
        &self,
        server: &Running,
        duration: Duration,
    ) -> Result<f64, Failure> {
        let Load::Paced { .. } = self.workload.load else { return Ok(f64::INFINITY) };
        let words = self.words(server, duration, None)?;
        Ok(load::run(self.workload.load, &words)?.0.per_second)
    }

    /// The command that loads a server, for the reader.
    pub(crate) fn load_command(&self, server: &Running, duration: Duration) -> String {
        match self.workload.load {
            Load::Idle { connections } => format!("{connections} connections of our own, held"),
            _ => match self.words(server, duration, Some(f64::NAN)) {
                Ok(words) => words.join(" ").replace("NaN", "RATE"),
                Err(failure) => failure.to_string(),
            },
        }
    }

    /// Loads the server and discards the figures.
    pub(crate) fn warm_up(
        &self,
        server: &Running,
        duration: Duration,
        rate: f64,
    ) -> Result<(), Failure> {
        if self.workload.is_memory() {
            return Ok(());
        }
        self.once(server, duration, rate).map(|_| ())
    }

    /// One measurement.
    pub(crate) fn once(
        &self,
        server: &Running,
        duration: Duration,
        rate: f64,
    ) -> Result<Sample, Failure> {
        match self.workload.load {
            Load::Idle { connections } => self.idle(server, connections),
            load => {
                let words = self.words(server, duration, Some(rate))?;
                self.loaded(server, |_, _| load::run(load, &words))
            }
        }
    }

    /// Runs a load between two readings of the accounts.
    pub(crate) fn loaded(
        &self,
        server: &Running,
        run: impl FnOnce(std::net::SocketAddr, &str) -> Result<(Count, Sample), Failure>,
    ) -> Result<Sample, Failure> {
        let family = server.family();
        let before = accounting::spent(&family);
        let cores_before = accounting::cores(self.cores);
        let (count, mut sample) = run(server.address, self.workload.path)?;
        let after = accounting::spent(&family);
        let cores_after = accounting::cores(self.cores);
        let (micros, user_share) = used(before, after);
        let cpu = micros / count.requests.max(1) as f64;
        sample.extend([
            (Metric::Rate, count.per_second),
            (Metric::CpuMicros, cpu),
            (Metric::UserMicros, cpu * user_share),
            (Metric::SystemMicros, cpu * (1.0 - user_share)),
            (Metric::ServerCoreBusy, cores_after.0.busy_percent(cores_before.0)),
            (Metric::LoadCoreBusy, cores_after.1.busy_percent(cores_before.1)),
            (
                Metric::Steal,
                f64::midpoint(
                    cores_after.0.steal_percent(cores_before.0),
                    cores_after.1.steal_percent(cores_before.1),
                ),
            ),
            (Metric::Errors, count.errors as f64),
        ]);
        Ok(sample)
    }

    /// The command line of the generator; of the open loop with its rate, or in a closed loop to find the maximum.
    fn words(
        &self,
        server: &Running,
        duration: Duration,
        rate: Option<f64>,
    ) -> Result<Vec<String>, Failure> {
        let Workload { load, path, .. } = *self.workload;
        let connections = match load {
            Load::Paced { connections } => connections,
            Load::Fan { members, lines } => {
                let (size, protocol) = ((members, lines), server.protocol);
                return load::fan_words(size, server.address, protocol, duration, self.site);
            }
            _ => return load::words(load, server.address, path, duration, self.site),
        };
        let way = rate.map_or_else(String::new, |rate| format!("--rate {rate:.0}"));
        let way = format!("--warmup 0s {way}");
        ours::words(self.site, server.address, path, connections, duration, &way)
    }

    fn idle(&self, server: &Running, wanted: u64) -> Result<Sample, Failure> {
        let count = wanted.min(self.descriptors.saturating_sub(SPARE_DESCRIPTORS));
        if count < wanted {
            println!("only {count} connections: the descriptor limit is {}", self.descriptors);
        }
        // What the first request allocates belongs to the process, not to a connection.
        let first = client::hold(server.address, self.workload.path, 1)?;
        std::thread::sleep(REST);
        let family = server.family();
        let before = accounting::memory(&family);
        let held = client::hold(server.address, self.workload.path, count)?;
        std::thread::sleep(REST);
        let after = accounting::memory(&family);
        let closed = client::closed_count(&held);
        drop(first);
        let each = |before: u64, after: u64| (after as f64 - before as f64) / count.max(1) as f64;
        Ok(Sample::from([
            (Metric::ResidentBytes, each(before.resident, after.resident)),
            (Metric::AnonymousBytes, each(before.anonymous, after.anonymous)),
            (Metric::Errors, closed as f64),
        ]))
    }
}

/// CPU microseconds between two readings, and the share of them in user mode.
fn used(before: Spent, after: Spent) -> (f64, f64) {
    let user = after.user_ticks.saturating_sub(before.user_ticks);
    let system = after.system_ticks.saturating_sub(before.system_ticks);
    let nanoseconds = after.nanoseconds.saturating_sub(before.nanoseconds);
    (nanoseconds as f64 / 1_000.0, user as f64 / (user + system).max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_time_is_split_by_ticks() {
        let before = Spent { nanoseconds: 1_000, user_ticks: 10, system_ticks: 10 };
        let after = Spent { nanoseconds: 5_001_000, user_ticks: 11, system_ticks: 13 };
        assert_eq!(used(before, after), (5_000.0, 0.25));
        assert_eq!(used(before, before), (0.0, 0.0));
    }
}
