//! One measurement of one server under one workload.
//!
//! Owns which accounts are read before and after, and the divisions.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::bench::SPARE_DESCRIPTORS;
use crate::bench::accounting::{self, Spent};
use crate::bench::contender::Version;
use crate::bench::flood;
use crate::bench::load;
use crate::bench::ours;
use crate::bench::proxies;
use crate::bench::run::Run;
use crate::bench::running::Running;
use crate::bench::sample::Count;
use crate::bench::sample::{Metric, Sample};
use crate::bench::secure;
use crate::bench::site::Site;
use crate::bench::workload::{Beside, Load, Workload};
use crate::client::{self, Opening};
use crate::failure::Failure;
use crate::process::{self, Guarded};

/// Time for a server to become idle before its memory is read: connections of HTTP/2 give some back after a second.
const REST: Duration = Duration::from_secs(2);

/// Time in which all connections of a workload of memory are opened.
const HOLD_LIMIT: Duration = Duration::from_secs(50);

/// CPU time of a server at rest in that time: a request of held connections now and then.
const REST_NANOSECONDS: u64 = 100_000_000;

/// Connections that are held before the memory is first read.
const HELD_FIRST: u32 = 200;

/// The constants of all measurements of a workload.
pub(crate) struct Measuring<'a> {
    pub(crate) workload: &'static Workload,
    pub(crate) site: &'a Site,
    pub(crate) run: &'a Run,
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
            Load::Idle { connections } | Load::IdleStreams { connections } => {
                format!("{connections} connections of our own, held")
            }
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
            Load::Idle { connections } | Load::IdleStreams { connections } => {
                self.idle(server, connections)
            }
            Load::SecureIdle { connections } => self.secure_idle(server, connections),
            load @ Load::SecureFan { .. } => {
                let words = self.words(server, duration, None)?;
                let mut own = Sample::new();
                let mut sample = self.loaded(server, |_, _| {
                    let (count, read) = load::run(load, &words)?;
                    own.clone_from(&read);
                    Ok((count, read))
                })?;
                // That of the whole time has the handshakes in it.
                sample.retain(|metric, _| {
                    !matches!(metric, Metric::UserMicros | Metric::SystemMicros)
                });
                sample.extend(own);
                Ok(sample)
            }
            load @ Load::SecurePaced { beside, .. } => {
                let words = self.words(server, duration, None)?;
                let run = || load::run(load, &words);
                let mut sample = self.loaded(server, |address, _| match beside {
                    Beside::Nobody => run(),
                    Beside::Handshakes => {
                        let (loaded, begun) = flood::beside(address, run)?;
                        let (count, mut sample) = loaded?;
                        sample.insert(Metric::AskedBeside, begun as f64);
                        Ok((count, sample))
                    }
                    Beside::Streams(count) => {
                        let _ended_behind = self.crowd(server, duration, count)?;
                        run()
                    }
                })?;
                // The time that the server spends is not for these requests.
                sample.retain(|metric, _| {
                    use Metric::{CpuMicros, SpunMicros, SystemMicros, UserMicros};
                    !matches!(metric, CpuMicros | UserMicros | SystemMicros | SpunMicros)
                });
                Ok(sample)
            }
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
        let cores_before = accounting::cores(&self.run.cores);
        let (count, mut sample) = run(server.address, self.workload.path)?;
        let after = accounting::spent(&family);
        let cores_after = accounting::cores(&self.run.cores);
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
        let url = format!("{}://{}{path}", server.scheme, server.address);
        let connections = match load {
            Load::Paced { connections, .. } => connections,
            Load::Secure { connections, way } => {
                let way = format!(
                    "--warmup 0s {} {}",
                    way.flags(server.version),
                    secure::trust(self.site)
                );
                return ours::words(self.site, ("http", &url), connections, duration, &way);
            }
            Load::SecurePaced { connections, rate, .. } => {
                let way = format!("--warmup 1s --rate {rate} {}", secure::trust(self.site));
                return ours::words(self.site, ("http", &url), connections, duration, &way);
            }
            Load::SecureFan { members } => {
                let (site, process) = (self.site, server.family().last().copied());
                let of_server = process.map_or_else(String::new, |id| format!("--server-pid {id}"));
                let way = format!("--timeout 60s {} {of_server}", secure::trust(site));
                return ours::words(site, ("channel", &url), members, duration, &way);
            }
            Load::Upload { connections, bytes } => {
                let way = format!("--warmup 0s --body-file {}", proxies::body(self.site, bytes)?);
                return ours::words(self.site, ("http", &url), connections, duration, &way);
            }
            Load::Fan { members, lines } => {
                let (size, protocol) = ((members, lines), server.protocol);
                return load::fan_words(size, server.address, protocol, duration, self.site);
            }
            _ => return load::words(load, server.address, path, duration, self.site),
        };
        let way = rate.map_or_else(String::new, |rate| format!("--rate {rate:.0}"));
        let way = format!("--warmup 0s {way}");
        ours::words(self.site, ("http", &url), connections, duration, &way)
    }

    /// One connection of HTTP/2 whose streams ask for the same all the time.
    fn crowd(
        &self,
        server: &Running,
        duration: Duration,
        streams: u32,
    ) -> Result<Guarded, Failure> {
        let url = format!("{}://{}{}", server.scheme, server.address, self.workload.path);
        // Until it is ended.
        let duration = duration + Duration::from_secs(60);
        let way = format!("--warmup 0s --h2 -m {streams} {}", secure::trust(self.site));
        let mut command = Command::new("nice");
        command.args(["-n", "19"]).args(ours::words(self.site, ("http", &url), 1, duration, &way)?);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Guarded::start(&mut command, "bench http")
    }

    /// Connections that our own generator holds after a handshake and a request.
    fn secure_idle(&self, server: &Running, count: u32) -> Result<Sample, Failure> {
        let hold = |count: u32| {
            let url = format!("{}://{}{}", server.scheme, server.address, self.workload.path);
            let velodrome = self.site.velodrome()?.display().to_string();
            let flags = format!("{} -t 1 -d 60s", secure::trust(self.site));
            let mut command = Command::new(velodrome);
            command.args(["bench", "hold", &url, "-c", &count.to_string()]);
            command.args(flags.split_whitespace()).stdout(Stdio::null()).stderr(Stdio::null());
            let guarded = Guarded::start(&mut command, "bench hold")?;
            let opened = || {
                let held = guarded.family().first().map_or(0, |id| accounting::descriptors(*id));
                held >= u64::from(count)
            };
            if !process::wait_until(HOLD_LIMIT, opened) {
                return Err(Failure::Work(format!("{count} connections were not opened")));
            }
            // Handshakes end long after their sockets were opened.
            let family = server.family();
            let rests = || {
                let before = accounting::spent(&family).nanoseconds;
                std::thread::sleep(REST);
                accounting::spent(&family).nanoseconds - before < REST_NANOSECONDS
            };
            if !process::wait_until(HOLD_LIMIT, rests) {
                return Err(Failure::Work("the server does not come to rest".to_owned()));
            }
            Ok(guarded)
        };
        // Memory that the first connections allocate belongs to the process.
        let first = hold(HELD_FIRST)?;
        let family = server.family();
        let (before, open_before) =
            (accounting::memory(&family), accounting::accepted(server.address));
        let held = hold(count)?;
        let after = accounting::memory(&family);
        // A server takes no more than its own limit; the others wait in the kernel.
        let open = accounting::accepted(server.address).saturating_sub(open_before);
        drop((first, held));
        if open < count {
            println!("only {open} connections: the server takes no more");
        }
        let each =
            |before: u64, after: u64| (after as f64 - before as f64) / f64::from(open.max(1));
        Ok(Sample::from([
            (Metric::ResidentBytes, each(before.resident, after.resident)),
            (Metric::AnonymousBytes, each(before.anonymous, after.anonymous)),
        ]))
    }

    fn idle(&self, server: &Running, wanted: u64) -> Result<Sample, Failure> {
        let count = wanted.min(self.run.descriptors.saturating_sub(SPARE_DESCRIPTORS));
        if count < wanted {
            println!("only {count} connections: the descriptor limit is {}", self.run.descriptors);
        }
        // Memory that the first request allocates belongs to the process, not to a connection.
        let (address, path) = (server.address, self.workload.path);
        let opening = match server.version {
            Version::Http1 => Opening::http1(address, path),
            Version::Http2 => Opening::http2(address, path),
        };
        let first = client::hold(address, &opening, 1)?;
        std::thread::sleep(REST);
        let family = server.family();
        let before = accounting::memory(&family);
        let held = client::hold(address, &opening, count)?;
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
