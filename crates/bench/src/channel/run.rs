//! The order of a run: open subscribers, publish messages, wait for the last ones.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use runtime::launch::{ConnectionSpread, LaunchPlan, Pinning as LaunchPinning, Tables, launch};
use runtime::mailbox::{EndpointRole, Waking, mesh};
use runtime::scheduler::{Punctuality, SchedulerSettings};
use sys::clock::{monotonic_ns, realtime};

use super::client::{Orders, Subscribers};
use super::conductor::{Conductor, Start};
use super::outcome::{ChannelOutcome, ServerFigures, StormFigures};
use super::signs::{Ending, Signs};
use super::tally::{Finished, Tally};
use super::{ChannelMoment, ChannelPlan};
use crate::client::{NoThreadMessage, thread_of};
use crate::host::{CpuTimes, ServerSample, ServerUse, ThreadUse, resident_bytes};
use crate::limits::{
    CHANNEL_PATIENCE_NS, END_GRACE_NS, END_GRACE_PER_CONNECTION_NS, LIVE_NS, STORM_LOOK_NS,
};
use crate::plan::ThreadPinning;
use crate::report::EncryptionReport;
use crate::run::{Continuation, Interrupts, RunError, servers};

/// Executes a plan. `look` gets the progress ten times per second. INT and TERM end it early.
///
/// # Errors
/// If the threads cannot be set up, or the conductor fails.
pub fn run(
    plan: &ChannelPlan,
    conductor: &mut dyn Conductor,
    mut look: impl FnMut(&ChannelMoment) -> Continuation,
) -> Result<ChannelOutcome, RunError> {
    let (begun_unix_s, _) = realtime();
    let servers = servers(&plan.plan);
    let memory = || servers.iter().filter_map(|pid| resident_bytes(*pid)).sum::<u64>();
    let memory_before = memory();
    let signs = Arc::new(Signs::new(plan.publishers()));
    let (handover, outcomes) = channel();
    let mut watch = Watch {
        plan,
        interrupts: Interrupts::block(),
        signs: &signs,
        servers: &servers,
        look: &mut look,
        storm: None,
    };
    let mut launched = stand(plan, &signs, &handover)?;
    launched.start();
    let mut wish = watch.open()?;
    let opened = watch.moment().open;
    let memory_open = memory();
    let cpus_before = CpuTimes::read().ok();
    let before = ServerSample::read(&servers);
    if wish == Continuation::GoOn {
        wish = watch.publish(conductor, opened, &before)?;
    }
    let (after, cpus_after) = (ServerSample::read(&servers), CpuTimes::read().ok());
    let storm = watch.storm.take().map(|storm| storm.figures(signs.storm_ns()));
    let is_whole = wish == Continuation::GoOn;
    signs.end(if is_whole { Ending::Whole } else { Ending::Early });
    let (tally, used) = gather(plan, &outcomes)?;
    launched.join()?;
    let grown = memory_open.checked_sub(memory_before).filter(|_| memory_before > 0);
    Ok(ChannelOutcome {
        begun_unix_s,
        wanted: u64::from(plan.plan.connections),
        tls: tally.handshakes().map(EncryptionReport::of),
        tally,
        busy: used.iter().map(ThreadUse::busy).fold(0.0, f64::max),
        server: ServerUse::between(&before, &after)
            .map(|server| ServerFigures::of(server, &used, grown)),
        steal_share: cpus_before.zip(cpus_after).and_then(|(then, now)| now.steal_since(&then)),
        storm,
        is_whole,
    })
}

/// The one that watches the threads.
struct Watch<'r> {
    plan: &'r ChannelPlan,
    interrupts: Interrupts,
    signs: &'r Signs,
    servers: &'r [u32],
    look: &'r mut dyn FnMut(&ChannelMoment) -> Continuation,
    storm: Option<StormWatch>,
}

impl Watch<'_> {
    fn moment(&self) -> ChannelMoment {
        self.signs.moment(u64::from(self.plan.plan.connections))
    }

    /// Waits until something is over, or for a signal to end early.
    fn until(
        &mut self,
        step_ns: u64,
        mut is_over: impl FnMut(&mut Self, &ChannelMoment) -> bool,
    ) -> Result<Continuation, RunError> {
        let mut looked_ns = 0;
        loop {
            let (moment, now_ns) = (self.moment(), monotonic_ns());
            if now_ns.saturating_sub(looked_ns) >= LIVE_NS {
                looked_ns = now_ns;
                if (self.look)(&moment) == Continuation::End {
                    return Ok(Continuation::End);
                }
            }
            if is_over(self, &moment) {
                return Ok(Continuation::GoOn);
            }
            if self.interrupts.wait(Duration::from_nanos(step_ns))? == Continuation::End {
                return Ok(Continuation::End);
            }
        }
    }

    /// Waits until all subscribers are open, or could not be opened.
    fn open(&mut self) -> Result<Continuation, RunError> {
        self.until(LIVE_NS, |watch, moment| {
            moment.open >= moment.wanted || watch.signs.tried() >= moment.wanted
        })
    }

    /// Publishes, and waits until everything has arrived or nothing more arrives.
    fn publish(
        &mut self,
        conductor: &mut dyn Conductor,
        opened: u64,
        before: &ServerSample,
    ) -> Result<Continuation, RunError> {
        let Start { begin_ns, clocks } = conductor.start(opened)?;
        self.signs.begin(begin_ns, self.plan.plan.duration, clocks);
        self.storm = self.plan.storm.map(|storm| StormWatch {
            due_ns: begin_ns.saturating_add(nanoseconds(storm.after)),
            begin: (before.clone(), begin_ns),
            cut: None,
            back: None,
        });
        let step_ns = if self.storm.is_some() { STORM_LOOK_NS } else { LIVE_NS };
        let wish = self.until(step_ns, |watch, moment| {
            watch.look_at_storm();
            let is_published =
                moment.published >= watch.plan.messages || monotonic_ns() >= watch.signs.end_ns();
            opened == 0 || is_published && watch.storm.as_ref().is_none_or(StormWatch::is_over)
        })?;
        if wish == Continuation::End {
            return Ok(wish);
        }
        let all = conductor.published(self.signs.published())?;
        for (publisher, messages) in all.into_iter().enumerate() {
            self.signs.publish(publisher, messages);
        }
        let mut latest = (0, monotonic_ns());
        self.until(LIVE_NS, |_, moment| {
            let now_ns = monotonic_ns();
            if moment.received > latest.0 {
                latest = (moment.received, now_ns);
            }
            let is_quiet = now_ns.saturating_sub(latest.1) > CHANNEL_PATIENCE_NS;
            is_quiet || moment.received >= moment.published.saturating_mul(opened)
        })
    }

    fn look_at_storm(&mut self) {
        let (signs, servers) = (self.signs, self.servers);
        let threads = u64::from(self.plan.plan.threads);
        let Some(storm) = &mut self.storm else { return };
        let now_ns = monotonic_ns();
        if storm.cut.is_none() && now_ns >= storm.due_ns {
            storm.cut = Some((ServerSample::read(servers), now_ns));
            signs.storm(now_ns);
        } else if storm.cut.is_some() && storm.back.is_none() && signs.are_back(threads) {
            storm.back = Some((ServerSample::read(servers), now_ns));
        }
    }
}

/// A storm while it is watched.
struct StormWatch {
    due_ns: u64,
    /// The server when publishing began, when connections were cut, and when all were back.
    begin: (ServerSample, u64),
    cut: Option<(ServerSample, u64)>,
    back: Option<(ServerSample, u64)>,
}

impl StormWatch {
    /// Whether all are back, or there was time enough.
    fn is_over(&self) -> bool {
        let patience_ns = self.due_ns.saturating_add(crate::limits::STORM_PATIENCE_NS);
        self.back.is_some() || monotonic_ns() > patience_ns
    }

    fn figures(self, all_back_ns: u64) -> StormFigures {
        let between = |(before, since_ns): &(ServerSample, u64),
                       (after, at_ns): &(ServerSample, u64)| {
            let used = ServerUse::between(before, after)?;
            Some((used.cpu_ns, at_ns.saturating_sub(*since_ns)))
        };
        let (Some(cut), Some(back)) = (&self.cut, &self.back) else {
            return StormFigures::new(None, None);
        };
        let during = between(cut, back);
        // The cost of the deliveries that go on meanwhile, by the time before.
        let usual = between(&self.begin, cut);
        let server_cpu_ns =
            during.zip(usual).map(|((cpu_ns, length_ns), (usual_ns, before_ns))| {
                let usual_ns = usual_ns as f64 * length_ns as f64 / before_ns.max(1) as f64;
                cpu_ns.saturating_sub(usual_ns as u64)
            });
        StormFigures::new(Some(all_back_ns), server_cpu_ns)
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The messages and the CPU time of all threads, once they have ended.
fn gather(
    plan: &ChannelPlan,
    outcomes: &Receiver<Finished>,
) -> Result<(Tally, Vec<ThreadUse>), RunError> {
    let (mut tally, mut used) = (Tally::of(plan.plan.peers.len()), Vec::new());
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
