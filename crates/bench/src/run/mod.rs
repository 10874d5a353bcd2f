//! A measurement from its plan to its report: runs, one after the other.
//!
//! Owns the order of steps, and all readings besides those of the clients: clocks, processors, the
//! server. Prints nothing; the caller is told the progress ten times per second, and may end the
//! measurement.

mod command;
mod describe;
mod hold;
mod interrupt;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use runtime::launch::{
    ConnectionSpread, LaunchError, LaunchPlan, Launched, Pinning as LaunchPinning, Tables, launch,
};
use runtime::mailbox::{EndpointRole, Waking, mesh};
use runtime::scheduler::{Punctuality, SchedulerSettings};
use sys::clock::{monotonic_ns, realtime};

use crate::client::{
    Finished, Glance, Live, LoadClient, MeasuredWindow, NoThreadMessage, ThreadOrders, Work,
    thread_of,
};
use crate::host::{CpuTimes, HostFacts, ServerSample, ServerUse, is_local, listening_processes};
use crate::limits::{END_GRACE_NS, END_GRACE_PER_CONNECTION_NS, LIVE_NS, START_NS};
use crate::plan::{Cpus, LoadAddress, LoadPlan, RequestPace, ThreadPinning};
use crate::report::{ClockBehaviour, Ended, Measured, Report, RunMeasured};
use crate::tally::Tally;
pub use command::{CommandError, printed};
pub use hold::hold;
pub use interrupt::{Continuation, Interrupts};

/// The progress of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct RunProgress {
    /// The run, from 1.
    pub run: u32,
    /// The number of runs.
    pub runs: u32,
    /// Nanoseconds since the run began, including warm-up.
    pub elapsed_ns: u64,
    /// The window of the run.
    pub window: MeasuredWindow,
    /// The counters of all threads' clients.
    pub glance: Glance,
}

/// Why a run could not be made. Failed requests are not such an error; they are counted.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The threads could not be set up.
    #[error("{0}")]
    Launch(#[from] LaunchError),
    /// The kernel refused something that every run needs.
    #[error("the run cannot be made: {0}")]
    Kernel(#[from] io::Error),
    /// A thread ended without a result.
    #[error("a generator thread ended without a result")]
    Thread,
    /// The generators of a measurement could not agree.
    #[error("{0}")]
    Agreement(String),
}

fn unix_ns() -> u64 {
    let (seconds, nanoseconds) = realtime();
    seconds * 1_000_000_000 + u64::from(nanoseconds)
}

/// Executes a plan of requests to HTTP servers or a store, and reports the result. `command` is the command line, for
/// the report; `look` gets the progress ten times per second.
///
/// INT and TERM are blocked in the calling thread, and stay blocked: they end the measurement, and what was measured so
/// far is reported.
///
/// # Errors
/// If the threads of a run cannot be set up.
pub fn requests(
    plan: &LoadPlan,
    command: Vec<String>,
    mut look: impl FnMut(&RunProgress),
) -> Result<Report, RunError> {
    let soon = || Ok(monotonic_ns() + START_NS);
    requests_from(plan, command, soon, |moment| {
        look(moment);
        Continuation::GoOn
    })
}

/// The same as part of a measurement of several generators: `begin` agrees on the moment of the monotonic clock at
/// which a run begins, when this generator is ready for it, and `look` may end the measurement.
///
/// # Errors
/// If the threads of a run cannot be set up, or the generators do not agree.
pub fn requests_from(
    plan: &LoadPlan,
    command: Vec<String>,
    mut begin: impl FnMut() -> Result<u64, RunError>,
    mut look: impl FnMut(&RunProgress) -> Continuation,
) -> Result<Report, RunError> {
    let interrupts = Interrupts::block();
    let begun_unix_s = unix_ns() / 1_000_000_000;
    // Before any thread is pinned: the affinity is the one given to the generator.
    let host = HostFacts::read();
    let work = Arc::new(Work::new(plan.clone()));
    let (runs, ended) = all(&work, &mut begin, &interrupts, &mut look)?;
    let verb = if plan.store.is_some() { "store" } else { "http" };
    let plan = describe::plan(plan, verb);
    Ok(Report::of(Measured { begun_unix_s, command, plan, ended, host, runs, hold: None }))
}

fn all(
    work: &Arc<Work>,
    begin: &mut impl FnMut() -> Result<u64, RunError>,
    interrupts: &Interrupts,
    look: &mut impl FnMut(&RunProgress) -> Continuation,
) -> Result<(Vec<RunMeasured>, Ended), RunError> {
    let count = work.plan().runs.max(1);
    let mut runs = Vec::new();
    for run in 1..=count {
        let (measured, wish) = once(work, run, begin, interrupts, look)?;
        runs.extend(measured);
        if wish == Continuation::End {
            return Ok((runs, Ended::Interrupted));
        }
    }
    Ok((runs, Ended::Complete))
}

/// Running threads, and the channel of their results.
struct Generator {
    launched: Launched,
    lives: Vec<Arc<Live>>,
    outcomes: Receiver<Finished>,
}

/// Readings besides the clients, all at one moment.
struct Reading {
    server: ServerSample,
    cpus: Option<CpuTimes>,
    monotonic_ns: u64,
    unix_ns: u64,
}

/// One run. `None` if it was ended before anything counted.
fn once(
    work: &Arc<Work>,
    run: u32,
    begin: &mut impl FnMut() -> Result<u64, RunError>,
    interrupts: &Interrupts,
    look: &mut impl FnMut(&RunProgress) -> Continuation,
) -> Result<(Option<RunMeasured>, Continuation), RunError> {
    let plan = work.plan();
    let servers = servers(plan);
    // Only now: finding the servers among many processes may take longer than a short run.
    let start_ns = begin()?;
    let window = MeasuredWindow::new(start_ns, plan.warmup, plan.duration);
    let mut generator = stand(work, Some(window))?;
    generator.launched.start();
    let runs = plan.runs.max(1);
    let watched = watch(&servers, window, interrupts, &generator, |elapsed_ns| {
        look(&RunProgress { run, runs, elapsed_ns, window, glance: generator.glance() })
    })?;
    let outcomes = generator.gather(watched.wish, plan.connections)?;
    let measured = watched.before.and_then(|before| measured(outcomes, &before, &watched.after));
    Ok((measured, watched.wish))
}

/// The readings during a run, and whether it should continue.
struct Watched {
    /// When counting began; `None` if it did not.
    before: Option<Reading>,
    after: Reading,
    wish: Continuation,
}

/// Waits for the end of a window, until the threads have sent everything, or for a signal to end early.
fn watch(
    servers: &[u32],
    window: MeasuredWindow,
    interrupts: &Interrupts,
    generator: &Generator,
    mut look: impl FnMut(u64) -> Continuation,
) -> Result<Watched, RunError> {
    let mut wish = Continuation::GoOn;
    let mut before = None;
    loop {
        let now_ns = monotonic_ns();
        if before.is_none() && now_ns >= window.begin_ns {
            before = Some(read(servers));
        }
        if look(now_ns.saturating_sub(window.start_ns)) == Continuation::End {
            wish = Continuation::End;
        }
        if wish == Continuation::End || now_ns >= window.end_ns || generator.is_over() {
            break;
        }
        let border_ns = if before.is_none() { window.begin_ns } else { window.end_ns };
        let left_ns = border_ns.saturating_sub(now_ns).clamp(1, LIVE_NS);
        wish = interrupts.wait(Duration::from_nanos(left_ns))?;
    }
    Ok(Watched { before, after: read(servers), wish })
}

/// Threads that are ready and wait to be started. Without a window they are told later when to begin.
fn stand(work: &Arc<Work>, window: Option<MeasuredWindow>) -> Result<Generator, RunError> {
    let plan = work.plan();
    let threads = plan.threads;
    let lives: Vec<Arc<Live>> = (0..threads).map(|_| Arc::new(Live::default())).collect();
    let cpus = match &plan.pinning {
        ThreadPinning::None => Vec::new(),
        ThreadPinning::Cpus(cpus) => cpus.clone(),
    };
    let (handover, outcomes) = channel();
    let roles = vec![EndpointRole::Scheduler; threads as usize];
    let seats = mesh::<NoThreadMessage>(&roles, Waking::Descriptors)?;
    let make = {
        let (work, lives) = (Arc::clone(work), lives.clone());
        move |endpoint| {
            let thread = thread_of(endpoint);
            let cpu = cpus.get(thread as usize).copied();
            if let Some(cpu) = cpu {
                sys::cpu::pin_current_thread(cpu)?;
            }
            Ok(LoadClient::new(ThreadOrders {
                work: Arc::clone(&work),
                thread,
                window,
                core: cpu.and_then(|cpu| u32::try_from(cpu).ok()),
                live: Arc::clone(&lives[thread as usize]),
                handover: handover.clone(),
            }))
        }
    };
    let launched = launch(&launch_plan(plan), seats, make)?;
    Ok(Generator { launched, lives, outcomes })
}

fn launch_plan(plan: &LoadPlan) -> LaunchPlan {
    // Threads that share a CPU would take each other's time by polling.
    let have_cpus = Cpus::read().is_ok_and(|cpus| cpus.has_one_for_each(plan.threads));
    let punctuality = match plan.pace {
        RequestPace::Closed => Punctuality::Usual,
        RequestPace::Open(_) if have_cpus => Punctuality::Spinning,
        RequestPace::Open(_) => Punctuality::Exact,
    };
    let connections = (plan.connections / plan.threads.max(1)) as usize + 1;
    LaunchPlan {
        name: "bench",
        // A thread is pinned by its own orders.
        pinning: LaunchPinning::None,
        tables: Tables::Private,
        spread: ConnectionSpread::Hash,
        listeners: Vec::new(),
        settings: SchedulerSettings {
            connections,
            punctuality,
            // A server that reads no byte of a request for this long has failed like one that does not answer.
            send_idle_ns: u64::try_from(plan.timeout.as_nanos()).unwrap_or(u64::MAX).max(1),
            send_rate: 0,
            ..SchedulerSettings::default()
        },
        keep: Vec::new(),
    }
}

impl Generator {
    /// The measurements of all threads, once they have ended.
    fn gather(self, wish: Continuation, connections: u32) -> Result<Vec<Finished>, RunError> {
        let connections = u64::from(connections);
        if wish == Continuation::End {
            self.lives.iter().for_each(|live| live.stop());
        }
        let mut outcomes = Vec::new();
        while outcomes.len() < self.lives.len() {
            let grace =
                Duration::from_nanos(END_GRACE_NS + connections * END_GRACE_PER_CONNECTION_NS);
            outcomes.push(self.outcomes.recv_timeout(grace).map_err(|_| RunError::Thread)?);
        }
        self.launched.join()?;
        Ok(outcomes)
    }

    /// Whether all threads have sent all their requests.
    fn is_over(&self) -> bool {
        self.lives.iter().all(|live| live.is_over())
    }

    fn glance(&self) -> Glance {
        self.lives.iter().map(|live| live.glance()).fold(Glance::default(), |sum, one| Glance {
            answered: sum.answered + one.answered,
            failed: sum.failed + one.failed,
            open: sum.open + one.open,
            // Among threads that do the same, the slowest is most significant.
            p99_ns: sum.p99_ns.max(one.p99_ns),
            opened: sum.opened + one.opened,
            tried: sum.tried + one.tried,
        })
    }
}

/// The processes of the server, if it is on this host.
pub(crate) fn servers(plan: &LoadPlan) -> Vec<u32> {
    if let Some(pid) = plan.server {
        return vec![pid];
    }
    let mut pids: Vec<u32> = plan
        .peers
        .iter()
        .filter_map(|peer| match &peer.address {
            LoadAddress::Tcp(address) if is_local(address.ip()) => Some(*address),
            LoadAddress::Tcp(_) | LoadAddress::Unix(_) => None,
        })
        .flat_map(listening_processes)
        .collect();
    pids.sort_unstable();
    pids.dedup();
    pids
}

fn read(servers: &[u32]) -> Reading {
    Reading {
        server: ServerSample::read(servers),
        cpus: CpuTimes::read().ok(),
        monotonic_ns: monotonic_ns(),
        unix_ns: unix_ns(),
    }
}

fn measured(outcomes: Vec<Finished>, before: &Reading, after: &Reading) -> Option<RunMeasured> {
    let wall_ns = outcomes.iter().map(|outcome| outcome.wall_ns).max()?;
    let generator = outcomes.iter().map(|outcome| outcome.used).collect();
    let tally = outcomes.into_iter().map(|outcome| outcome.tally).reduce(|mut sum, one| {
        sum.merge(&one);
        sum
    });
    let signed = |nanoseconds: u64| i64::try_from(nanoseconds).unwrap_or(i64::MAX);
    Some(RunMeasured {
        tally: tally.unwrap_or_else(|| Tally::new(crate::tally::Loop::Closed, 0, 0)),
        wall_ns,
        generator,
        server: ServerUse::between(&before.server, &after.server),
        steal_share: before
            .cpus
            .as_ref()
            .zip(after.cpus.as_ref())
            .and_then(|(before, after)| after.steal_since(before)),
        clock: ClockBehaviour {
            went_back: u64::from(after.monotonic_ns < before.monotonic_ns),
            monotonic_ns: after.monotonic_ns.saturating_sub(before.monotonic_ns),
            realtime_ns: signed(after.unix_ns) - signed(before.unix_ns),
        },
    })
}
