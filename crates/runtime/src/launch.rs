//! Launch: from a plan to running schedulers, each on its own thread, core and descriptor table.
//!
//! Owns the order of opening. Descriptor tables are separated first, then listeners are opened in
//! core order, one scheduler after the other. No scheduler turns before all are ready, so that the
//! caller can drop privileges.

use std::convert::Infallible;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use sys::cpu::{CpuFacts, pin_current_thread, scheduler_count_default};
use sys::pollset::ListenOptions;
use sys::pollset::epoll::Epoll;
use sys::socket::{ListenAddress, Listener};
use sys::wake::Waker;

use crate::account;
use crate::diagnostic::{self, Level};
use crate::mailbox::{Endpoint, MailboxSeat};
use crate::pulse::Pulse;
use crate::scheduler::{Punctuality, Scheduler, SchedulerSettings, TurnWait};
use crate::service::Service;
use crate::stats::Stats;

/// Whether each scheduler is bound to a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pinning {
    /// Scheduler n runs on the n-th allowed CPU, if there is one for each.
    EachToItsCpu,
    /// The kernel chooses.
    None,
}

/// Whether each scheduler gets a descriptor table of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tables {
    /// Yes. If the kernel refuses, the shared table is used.
    Private,
    /// No.
    Shared,
}

/// How connections are spread over the schedulers' listeners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionSpread {
    /// By a hash of the connection, the kernel's default.
    Hash,
    /// By the CPU that received it (`SO_ATTACH_REUSEPORT_CBPF`).
    ReceivingCpu,
}

/// The plan of a launch.
#[derive(Clone, Debug)]
pub struct LaunchPlan {
    /// Thread names begin with this. The kernel shows at most 11 bytes of it.
    pub name: &'static str,
    /// Whether schedulers are bound to CPUs.
    pub pinning: Pinning,
    /// Whether schedulers have descriptor tables of their own.
    pub tables: Tables,
    /// How connections are spread.
    pub spread: ConnectionSpread,
    /// Listeners, in order. Each scheduler opens all of them; only the first scheduler opens a Unix socket. Empty for a
    /// service that only connects.
    pub listeners: Vec<ListenOptions>,
    /// Settings of each scheduler.
    pub settings: SchedulerSettings,
    /// Inherited descriptors that stay open besides the standard ones.
    pub keep: Vec<RawFd>,
}

/// The number of schedulers that the affinity mask and the cgroup quota of this process allow.
///
/// # Errors
/// If the kernel does not say.
pub fn schedulers_by_default() -> io::Result<usize> {
    Ok(scheduler_count_default(&CpuFacts::read()?).get())
}

/// Why a launch failed. Nothing is left running.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// A thread could not be started.
    #[error("a scheduler cannot be started: {0}")]
    Thread(io::Error),
    /// A pollset could not be opened.
    #[error("a scheduler cannot open its pollset: {0}")]
    Pollset(io::Error),
    /// The kernel cannot busy-poll the network device for one pollset.
    #[error("busy_poll needs Linux 6.9 or later: {0}")]
    BusyPoll(io::Error),
    /// The service of a scheduler could not be made.
    #[error("a scheduler cannot be set up: {0}")]
    Service(io::Error),
    /// A listener could not be opened.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// Its address.
        address: ListenAddress,
        /// The error of the kernel.
        error: io::Error,
    },
}

/// The report of a scheduler when its listeners are open.
struct Prepared {
    addresses: Vec<ListenAddress>,
    private_table: bool,
    cpu: Option<usize>,
    pulse: Arc<Pulse>,
}

/// Schedulers that are ready, and run once told to.
pub struct Launched {
    threads: Vec<JoinHandle<io::Result<Stats>>>,
    start: Vec<Sender<()>>,
    /// Carries no messages: it closes when the last scheduler has ended.
    ended: Receiver<Infallible>,
    /// The pulse of each scheduler.
    pub pulses: Vec<Arc<Pulse>>,
    /// The addresses they listen on, with the ports that the kernel chose.
    pub addresses: Vec<ListenAddress>,
    /// Whether each scheduler has a descriptor table of its own.
    pub private_tables: bool,
    /// The CPU of each scheduler, if pinned.
    pub cpus: Vec<Option<usize>>,
}

impl Launched {
    /// Starts the schedulers.
    pub fn start(&mut self) {
        for start in self.start.drain(..) {
            // A scheduler that has already ended is found when it is joined.
            let _gone = start.send(());
        }
    }

    /// Waits until every scheduler has ended, at most this long. `false`: at least one still runs.
    pub fn wait(&self, most: Duration) -> bool {
        matches!(self.ended.recv_timeout(most), Err(RecvTimeoutError::Disconnected))
    }

    /// Waits until every scheduler has ended.
    ///
    /// # Errors
    /// The first pollset that failed. A scheduler does not panic, because panics of handlers are caught.
    pub fn join(self) -> io::Result<Vec<Stats>> {
        drop(self.start);
        let join = |thread: JoinHandle<io::Result<Stats>>| {
            thread.join().unwrap_or_else(|_| Err(io::Error::other("a scheduler panicked")))
        };
        self.threads.into_iter().map(join).collect()
    }
}

/// Launches one scheduler for each seat. `make` makes the service of each, on its thread.
///
/// # Errors
/// If a thread, pollset or listener cannot be had. Everything that was started is stopped.
pub fn launch<S, F>(
    plan: &LaunchPlan,
    seats: Vec<MailboxSeat<S::Message>>,
    make: F,
) -> Result<Launched, LaunchError>
where
    S: Service,
    S::Message: 'static,
    F: Fn(Endpoint) -> io::Result<S> + Send + Sync + 'static,
{
    let make = Arc::new(make);
    let cpus = cpus_of(plan.pinning, seats.len());
    let (lives, ended) = channel();
    let mut launched = Launched {
        threads: Vec::new(),
        start: Vec::new(),
        ended,
        pulses: Vec::new(),
        addresses: Vec::new(),
        private_tables: true,
        cpus: Vec::new(),
    };
    let left = Arc::new(AtomicUsize::new(seats.len()));
    let mut plan = plan.clone();
    for (number, seat) in seats.into_iter().enumerate() {
        let (report, reported) = channel();
        let (start, started) = channel();
        let seat_plan = SeatPlan { plan: plan.clone(), number, cpu: cpus[number] };
        let busy = Busy { left: Arc::clone(&left), wakers: seat.mailbox.wakers().collect() };
        let (make, lives) = (Arc::clone(&make), lives.clone());
        let thread = std::thread::Builder::new()
            .name(format!("{}-{number}", plan.name))
            .spawn(move || {
                let _lives = lives;
                run::<S, F>(&seat_plan, seat, busy, &make, &report, &started)
            })
            .map_err(LaunchError::Thread)?;
        let standing = match reported.recv() {
            Ok(Ok(standing)) => standing,
            Ok(Err(error)) => return Err(error),
            Err(_) => return Err(LaunchError::Thread(io::Error::other("it ended at once"))),
        };
        launched.threads.push(thread);
        launched.start.push(start);
        launched.private_tables &= standing.private_table;
        launched.cpus.push(standing.cpu);
        launched.pulses.push(standing.pulse);
        if number == 0 {
            // The first scheduler has checked that no other program listens there; the others join its listeners. A
            // port that was requested as 0 is the same on every scheduler.
            for (options, address) in plan.listeners.iter_mut().zip(&standing.addresses) {
                if let Some(address) = options.address.tcp().and(address.tcp()) {
                    options.address = ListenAddress::TcpBeside(address);
                }
            }
            launched.addresses = standing.addresses;
        }
    }
    Ok(launched)
}

fn cpus_of(pinning: Pinning, schedulers: usize) -> Vec<Option<usize>> {
    let facts = CpuFacts::read().ok().filter(|_| pinning == Pinning::EachToItsCpu);
    let allowed: Vec<usize> = facts.map_or_else(Vec::new, |facts| facts.allowed.iter().collect());
    if allowed.len() < schedulers {
        return vec![None; schedulers];
    }
    allowed.into_iter().take(schedulers).map(Some).collect()
}

struct SeatPlan {
    plan: LaunchPlan,
    number: usize,
    cpu: Option<usize>,
}

fn run<S, F>(
    seat_plan: &SeatPlan,
    seat: MailboxSeat<S::Message>,
    busy: Busy,
    make: &F,
    report: &Sender<Result<Prepared, LaunchError>>,
    started: &Receiver<()>,
) -> io::Result<Stats>
where
    S: Service,
    F: Fn(Endpoint) -> io::Result<S>,
{
    let (mut scheduler, standing) = match open_scheduler(seat_plan, seat, make) {
        Ok(stood) => stood,
        Err(error) => {
            let _launcher_waits = report.send(Err(error));
            return Ok(Stats::default());
        }
    };
    if report.send(Ok(standing)).is_err() || started.recv().is_err() {
        // The launch failed on another scheduler: this one never ran.
        return Ok(Stats::default());
    }
    scheduler.pulse().begin_thread();
    account::begin_thread();
    // A drained scheduler keeps running until all are drained, because requests on other schedulers may still ask it
    // something.
    let left = Arc::clone(&busy.left);
    let mut busy = Some(busy);
    loop {
        if scheduler.is_finished() {
            drop(busy.take());
        }
        if left.load(SeqCst) == 0 {
            break;
        }
        scheduler.turn(TurnWait::Allowed)?;
    }
    scheduler.stop();
    Ok(scheduler.stats().clone())
}

/// Marks a scheduler that is not yet drained. When the last one is dropped, for whatever reason, it wakes the others.
struct Busy {
    left: Arc<AtomicUsize>,
    wakers: Vec<Waker>,
}

impl Drop for Busy {
    fn drop(&mut self) {
        if self.left.fetch_sub(1, SeqCst) == 1 {
            self.wakers.iter().for_each(Waker::wake);
        }
    }
}

fn open_scheduler<S: Service, F: Fn(Endpoint) -> io::Result<S>>(
    seat_plan: &SeatPlan,
    seat: MailboxSeat<S::Message>,
    make: &F,
) -> Result<(Scheduler<Epoll, S>, Prepared), LaunchError> {
    let SeatPlan { plan, number, cpu } = seat_plan;
    let cpu = cpu.filter(|cpu| pin_current_thread(*cpu).is_ok());
    let private_table = plan.tables == Tables::Private && part_table(plan, &seat);
    if plan.settings.punctuality != Punctuality::Usual {
        // If this is refused, alarms are about 50 us late.
        let _as_late_as_usual = sys::thread::set_timer_slack_ns(NonZeroU64::MIN);
    }
    let pollset = Epoll::new(seat.wake).map_err(LaunchError::Pollset)?;
    if plan.settings.busy_poll_us > 0 {
        pollset.poll_devices(plan.settings.busy_poll_us).map_err(LaunchError::BusyPoll)?;
    }
    let service = make(seat.mailbox.endpoint()).map_err(LaunchError::Service)?;
    let mut scheduler = Scheduler::new(pollset, service, seat.mailbox, plan.settings);
    let mut addresses = Vec::new();
    for options in &plan.listeners {
        if *number > 0 && matches!(options.address, ListenAddress::Unix(_)) {
            continue;
        }
        let opened = scheduler.listen(options).and_then(|listener| {
            // Once for each reuseport group. The second listener creates the group.
            if plan.spread == ConnectionSpread::ReceivingCpu
                && *number == 1
                && is_tcp(&options.address)
            {
                listener.attach_reuseport_by_cpu()?;
            }
            local_address(listener, &options.address)
        });
        let refused = |error| LaunchError::Listen { address: options.address.clone(), error };
        addresses.push(opened.map_err(refused)?);
    }
    let pulse = scheduler.pulse();
    Ok((scheduler, Prepared { addresses, private_table, cpu, pulse }))
}

fn is_tcp(address: &ListenAddress) -> bool {
    address.tcp().is_some()
}

fn local_address(listener: &Listener, asked: &ListenAddress) -> io::Result<ListenAddress> {
    if is_tcp(asked) { listener.local_address() } else { Ok(asked.clone()) }
}

/// Gives this thread a descriptor table of its own and closes what was copied into it. `false`: refused, so the shared
/// table is used.
fn part_table<M: Send>(plan: &LaunchPlan, seat: &MailboxSeat<M>) -> bool {
    let Ok(table) = sys::thread::part_descriptor_table() else { return false };
    let wakers = seat.mailbox.wakers();
    let mut keep: Vec<RawFd> = wakers.map(|waker| waker.as_raw_fd()).collect();
    keep.extend(&plan.keep);
    if let Err(error) = table.close_all_except(&keep) {
        diagnostic::write(
            Level::Warn,
            format_args!("inherited descriptors stay open in a scheduler's table: {error}"),
        );
    }
    true
}
