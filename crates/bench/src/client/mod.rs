//! The generator: a service of one scheduler whose processes are connections to the servers of a
//! plan.
//!
//! Owns what is sent when, and its outcome. Decides nothing about threads and knows no report: it
//! counts into a [`Tally`] and returns that at the end.

mod answer;
mod ask;
mod connection;
mod encrypted;
mod http2;
mod live;
mod opening;
mod pacer;
mod pending;
mod replies;
mod replying;
mod service;
mod streams;
mod waits;
mod window;

use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use runtime::mailbox::Endpoint;
use runtime::service::{Connect, SchedulerCommand};
use sys::connect::RemoteAddress;
use tls::Connector;

use crate::host::{ThreadSample, ThreadUse};
use crate::plan::{
    Lifetime, LoadAddress, LoadPlan, RequestPace, Schedule, TemplateState, ThreadShare,
    WeightedChoice,
};
use crate::tally::{Loop, Tally};

pub use connection::LoadConnection;
pub use live::{Glance, Live};
use pacer::{Pacer, Seats};
use streams::StreamRequest;
use waits::Waits;
pub use window::MeasuredWindow;
use window::Stage;

/// The data that the threads of a run share.
#[derive(Debug)]
pub struct Work {
    plan: LoadPlan,
    /// For each peer: its targets, and the choice among them.
    targets: Vec<(Vec<u32>, WeightedChoice)>,
    /// For each target its request over HTTP/2, if that is always the same.
    stream_requests: Vec<Option<StreamRequest>>,
    remotes: Vec<RemoteAddress>,
}

impl Work {
    /// Prepares a plan.
    pub fn new(plan: LoadPlan) -> Work {
        let targets = (0..plan.peers.len()).map(|peer| targets_of(&plan, peer)).collect();
        let remotes = plan.peers.iter().map(|peer| match &peer.address {
            LoadAddress::Tcp(address) => RemoteAddress::Tcp(*address),
            LoadAddress::Unix(path) => RemoteAddress::Unix(Arc::from(path.as_path())),
        });
        let stream_requests = plan.targets.iter().map(StreamRequest::of).collect();
        Work { targets, stream_requests, remotes: remotes.collect(), plan }
    }

    /// The plan.
    pub fn plan(&self) -> &LoadPlan {
        &self.plan
    }
}

fn targets_of(plan: &LoadPlan, peer: usize) -> (Vec<u32>, WeightedChoice) {
    let of_peer = || plan.targets.iter().enumerate().filter(|(_, target)| target.peer == peer);
    let weights: Vec<u32> = of_peer().map(|(_, target)| target.weight).collect();
    (of_peer().map(|(index, _)| index as u32).collect(), WeightedChoice::new(&weights))
}

/// The results that a thread hands over at the end of its run.
#[derive(Debug)]
pub struct Finished {
    /// Its measurements.
    pub tally: Tally,
    /// The use of its core while it was counted.
    pub used: ThreadUse,
    /// The length of the counted time.
    pub wall_ns: u64,
    /// When its connections were opened.
    pub opening: OpeningTimes,
}

/// When the connections of a thread were opened, in nanoseconds of the monotonic clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpeningTimes {
    /// The first connect began.
    pub begun_ns: u64,
    /// The last connection was established before counting began.
    pub last_ns: u64,
}

/// Has no values, because threads send each other no messages.
#[derive(Debug)]
pub enum NoThreadMessage {}

pub(crate) type Context<'a> = runtime::service::Context<'a, NoThreadMessage>;
pub(crate) type ServiceContext<'a> = runtime::service::ServiceContext<'a, NoThreadMessage>;

/// The generator of one thread.
#[derive(Debug)]
pub struct LoadClient {
    work: Arc<Work>,
    share: ThreadShare,
    window: MeasuredWindow,
    stage: Stage,
    state: TemplateState,
    tally: Tally,
    pacer: Option<Pacer>,
    /// How encrypted connections are made.
    connector: Option<Connector>,
    /// Connections being opened because a request waits, by peer.
    opening: Vec<usize>,
    /// Connections that were not opened yet.
    unopened: Range<u32>,
    /// Connections to reopen at once.
    reconnects: Vec<u32>,
    /// Connections to reopen later, and when; in that order, because each waits equally long.
    retries: VecDeque<(u64, u32)>,
    /// The time of the latest call.
    now_ns: u64,
    opening_times: OpeningTimes,
    /// The usage of the thread when counting began, and how much of it was polling.
    before: Option<(ThreadSample, u64)>,
    waits: Waits,
    /// The measurement of this thread, handed over when all connections are closed.
    outcome: Option<Finished>,
    /// Requests of this thread that count; then its run ends.
    quota: u64,
    ended_ns: u64,
    core: Option<u32>,
    live: Arc<Live>,
    next_live_ns: u64,
    handover: Sender<Finished>,
}

/// The orders of a thread at its start.
#[derive(Debug)]
pub struct ThreadOrders {
    /// The shared part.
    pub work: Arc<Work>,
    /// The number of the thread.
    pub thread: u32,
    /// When the run counts. `None`: it is set later, by [`Live::begin`].
    pub window: Option<MeasuredWindow>,
    /// Its core, when it is pinned.
    pub core: Option<u32>,
    /// Where it stores its progress.
    pub live: Arc<Live>,
    /// Where it sends its measurement.
    pub handover: Sender<Finished>,
}

impl LoadClient {
    /// The generator of one thread.
    pub fn new(orders: ThreadOrders) -> LoadClient {
        let ThreadOrders { work, thread, window, core, live, handover } = orders;
        let plan = work.plan();
        let start_ns = window.unwrap_or(MeasuredWindow::NEVER).start_ns;
        let share = plan.share(thread);
        let (pace, pacer) = match &plan.pace {
            RequestPace::Closed => (Loop::Closed, None),
            RequestPace::Open(rate) => {
                let schedule = Schedule::new(rate, plan.warmup, &share, plan.seed);
                let weights: Vec<u32> = plan
                    .peers
                    .iter()
                    .map(|peer| u32::try_from(peer.weight).unwrap_or(u32::MAX))
                    .collect();
                let seats = Seats { connections: share.connections, upkeep: plan.upkeep };
                (Loop::Open, Some(Pacer::new(schedule, start_ns, &weights, seats)))
            }
        };
        let duration_ns = u64::try_from(plan.duration.as_nanos()).unwrap_or(u64::MAX);
        // If connections are opened when a request is due, there are as many as that needs.
        let held = match (&pacer, plan.lifetime) {
            (Some(_), Lifetime::Requests(_)) => 0,
            _ => u64::from(share.connections),
        };
        LoadClient {
            tally: Tally::new(pace, held, duration_ns),
            state: TemplateState::new(plan.seed, thread, plan.threads),
            opening: vec![0; plan.peers.len()],
            connector: plan.connector(share.connections),
            pacer,
            share,
            window: window.unwrap_or(MeasuredWindow::NEVER),
            stage: if window.is_some() { Stage::Standby } else { Stage::Opening },
            unopened: 0..0,
            reconnects: Vec::new(),
            retries: VecDeque::new(),
            now_ns: 0,
            opening_times: OpeningTimes::default(),
            before: None,
            waits: Waits::default(),
            outcome: None,
            quota: quota(plan.count, thread, plan.threads),
            ended_ns: 0,
            core,
            live,
            next_live_ns: 0,
            handover,
            work,
        }
    }

    /// In an open loop, a connection for one or a few requests is opened when one is due.
    fn opens_when_due(&self) -> bool {
        self.pacer.is_some() && matches!(self.work.plan.lifetime, Lifetime::Requests(_))
    }

    fn connect(&self, number: u32) -> SchedulerCommand {
        let way = self.share.way(number);
        SchedulerCommand::Connect(Connect {
            to: self.work.remotes[way.peer].clone(),
            from: way.source,
            ticket: u64::from(number),
        })
    }

    fn peer_of(&self, connection: &LoadConnection) -> usize {
        if self.work.plan.peers.len() == 1 { 0 } else { self.share.way(connection.number()).peer }
    }
}

/// A thread's part of this many requests.
fn quota(count: Option<NonZeroU64>, thread: u32, threads: u32) -> u64 {
    let Some(count) = count.map(NonZeroU64::get) else { return u64::MAX };
    let (thread, threads) = (u64::from(thread), u64::from(threads.max(1)));
    count / threads + u64::from(thread < count % threads)
}

/// The endpoint of a thread.
pub fn thread_of(endpoint: Endpoint) -> u32 {
    u32::from(endpoint.0)
}
