//! Subscribers of a channel, a publisher, and the delivery of its messages.
//!
//! Owns the order of a run: open subscribers, publish messages, wait for the last ones. `client` is
//! one thread, `report` the result. Prints nothing.

mod client;
mod message;
mod report;
mod tally;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use runtime::launch::{ConnectionSpread, LaunchPlan, Pinning as LaunchPinning, Tables, launch};
use runtime::mailbox::{EndpointRole, Waking, mesh};
use runtime::scheduler::{Punctuality, SchedulerSettings};
use sys::clock::{monotonic_ns, realtime};

use crate::client::{NoThreadMessage, thread_of};
use crate::host::{CpuTimes, ServerSample, ServerUse, ThreadUse, resident_bytes};
use crate::limits::{CHANNEL_PATIENCE_NS, END_GRACE_NS, END_GRACE_PER_CONNECTION_NS, LIVE_NS};
use crate::plan::{LoadPlan, ThreadPinning};
use crate::run::{Continuation, Interrupts, RunError, servers};

use client::{Orders, Subscribers};
pub use report::ChannelReport;
use tally::{Finished, Tally};

/// The plan of a run.
#[derive(Clone, Debug)]
pub struct ChannelPlan {
    /// The address, the number of subscribers and threads, and how long messages are published. Its target is the
    /// channel's path.
    pub plan: LoadPlan,
    /// When messages are published.
    pub pace: ChannelPace,
    /// Bytes of a message.
    pub size: usize,
    /// The number of messages after which publishing ends early.
    pub messages: u64,
}

/// When messages are published.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ChannelPace {
    /// This many per second, whether or not earlier ones have arrived.
    Rate(f64),
    /// This many at once, and the next when all subscribers of the publisher's thread have received them.
    AtOnce(u32),
}

/// The progress of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChannelMoment {
    /// Connected subscribers.
    pub open: u64,
    /// The wanted number.
    pub wanted: u64,
    /// Messages published.
    pub published: u64,
    /// Messages received, by all subscribers together.
    pub received: u64,
}

/// Shared state of the threads and the one that watches them.
#[derive(Debug)]
struct Signs {
    /// Connected subscribers, and those that were tried.
    open: AtomicU64,
    tried: AtomicU64,
    /// When publishing begins and ends; never, until it is known.
    begin_ns: AtomicU64,
    end_ns: AtomicU64,
    published: AtomicU64,
    received: AtomicU64,
    /// 1 when the run is over.
    over: AtomicU64,
}

impl Signs {
    fn new() -> Self {
        Self {
            open: AtomicU64::new(0),
            tried: AtomicU64::new(0),
            begin_ns: AtomicU64::new(u64::MAX),
            end_ns: AtomicU64::new(u64::MAX),
            published: AtomicU64::new(0),
            received: AtomicU64::new(0),
            over: AtomicU64::new(0),
        }
    }

    /// Sets when publishing begins and how long it lasts.
    fn begin(&self, begin_ns: u64, duration: Duration) {
        let duration_ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.end_ns.store(begin_ns.saturating_add(duration_ns), Ordering::Relaxed);
        self.begin_ns.store(begin_ns, Ordering::Release);
    }

    fn moment(&self, wanted: u64) -> ChannelMoment {
        let read = |sign: &AtomicU64| sign.load(Ordering::Relaxed);
        ChannelMoment {
            open: read(&self.open),
            wanted,
            published: read(&self.published),
            received: read(&self.received),
        }
    }
}

/// Executes a plan and reports the result. `look` gets the progress ten times per second. INT and TERM end it early.
///
/// # Errors
/// If the threads cannot be set up.
pub fn run(
    plan: &ChannelPlan,
    mut look: impl FnMut(&ChannelMoment),
) -> Result<ChannelReport, RunError> {
    let interrupts = Interrupts::block();
    let (begun_unix_s, _) = realtime();
    let servers = servers(&plan.plan);
    let memory = |pids: &[u32]| pids.iter().filter_map(|pid| resident_bytes(*pid)).sum::<u64>();
    let memory_before = memory(&servers);
    let signs = Arc::new(Signs::new());
    let wanted = u64::from(plan.plan.connections);
    let (handover, outcomes) = channel();
    let mut launched = stand(plan, &signs, &handover)?;
    launched.start();
    let mut wait =
        |is_over: &mut dyn FnMut(&ChannelMoment) -> bool| -> Result<Continuation, RunError> {
            loop {
                let moment = signs.moment(wanted);
                look(&moment);
                if is_over(&moment) {
                    return Ok(Continuation::GoOn);
                }
                if interrupts.wait(Duration::from_nanos(LIVE_NS))? == Continuation::End {
                    return Ok(Continuation::End);
                }
            }
        };
    let tried = || signs.tried.load(Ordering::Relaxed);
    let mut wish = wait(&mut |moment| moment.open >= wanted || tried() >= wanted)?;
    let opened = signs.moment(wanted).open;
    let memory_open = memory(&servers);
    let before = (ServerSample::read(&servers), CpuTimes::read().ok());
    if wish == Continuation::GoOn {
        let begin_ns = monotonic_ns() + LIVE_NS;
        signs.begin(begin_ns, plan.plan.duration);
        let mut latest = (0, begin_ns);
        wish = wait(&mut |moment| {
            let now_ns = monotonic_ns();
            if moment.received > latest.0 {
                latest = (moment.received, now_ns);
            }
            let is_published =
                moment.published >= plan.messages || now_ns >= signs.end_ns.load(Ordering::Relaxed);
            let is_quiet = now_ns.saturating_sub(latest.1) > CHANNEL_PATIENCE_NS;
            let has_all = moment.received >= moment.published.saturating_mul(opened);
            opened == 0 || is_published && (has_all || is_quiet)
        })?;
    }
    let after = (ServerSample::read(&servers), CpuTimes::read().ok());
    signs.over.store(1, Ordering::Release);
    let (tally, used) = gather(plan, &outcomes)?;
    launched.join()?;
    Ok(ChannelReport::of(report::Measured {
        begun_unix_s,
        plan,
        opened,
        tally,
        generator: used,
        server: ServerUse::between(&before.0, &after.0),
        steal_share: before.1.as_ref().zip(after.1).and_then(|(then, now)| now.steal_since(then)),
        server_bytes: memory_open.checked_sub(memory_before).filter(|_| memory_before > 0),
        is_whole: wish == Continuation::GoOn,
    }))
}

/// What all threads received and used, once they have ended.
fn gather(
    plan: &ChannelPlan,
    outcomes: &Receiver<Finished>,
) -> Result<(Tally, Vec<ThreadUse>), RunError> {
    let (mut tally, mut used) = (Tally::default(), Vec::new());
    let connections = u64::from(plan.plan.connections);
    let grace = Duration::from_nanos(END_GRACE_NS + connections * END_GRACE_PER_CONNECTION_NS);
    for _ in 0..plan.plan.threads {
        let finished = outcomes.recv_timeout(grace).map_err(|_| RunError::Thread)?;
        tally.merge(finished.tally);
        used.extend(finished.used);
    }
    Ok((tally, used))
}

/// Threads that are ready and wait to be started.
fn stand(
    plan: &ChannelPlan,
    signs: &Arc<Signs>,
    handover: &Sender<Finished>,
) -> Result<runtime::launch::Launched, RunError> {
    let threads = plan.plan.threads;
    let cpus = match &plan.plan.pinning {
        ThreadPinning::None => Vec::new(),
        ThreadPinning::Cpus(cpus) => cpus.clone(),
    };
    let roles = vec![EndpointRole::Scheduler; threads as usize];
    let seats = mesh::<NoThreadMessage>(&roles, Waking::Descriptors)?;
    let plan = Arc::new(plan.clone());
    let (signs, handover) = (Arc::clone(signs), handover.clone());
    let launch_plan = LaunchPlan {
        name: "bench",
        pinning: LaunchPinning::None,
        tables: Tables::Private,
        spread: ConnectionSpread::Hash,
        listeners: Vec::new(),
        settings: SchedulerSettings {
            connections: (plan.plan.connections / threads.max(1)) as usize + 1,
            punctuality: Punctuality::Exact,
            send_rate: 0,
            ..SchedulerSettings::default()
        },
        keep: Vec::new(),
    };
    let make = move |endpoint| {
        let thread = thread_of(endpoint);
        let cpu = cpus.get(thread as usize).copied();
        if let Some(cpu) = cpu {
            sys::cpu::pin_current_thread(cpu)?;
        }
        Ok(Subscribers::new(Orders {
            plan: Arc::clone(&plan),
            thread,
            core: cpu.and_then(|cpu| u32::try_from(cpu).ok()),
            signs: Arc::clone(&signs),
            handover: handover.clone(),
        }))
    };
    Ok(launch(&launch_plan, seats, make)?)
}
