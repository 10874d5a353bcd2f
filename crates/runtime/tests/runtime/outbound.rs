//! Launched schedulers that connect to one another over loopback, and alarms on real clocks.
//!
//! Tests what needs a kernel: an echo service and callers without listeners, on threads with descriptor
//! tables of their own; that the clock is read when it should be; that alarms fire at their time and not before.

use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::{Sender, channel};

use runtime::launch::{ConnectionSpread, LaunchPlan, Launched, Pinning, Tables, launch};
use runtime::mailbox::{Endpoint, EndpointRole, Mailbox, Waking, mesh};
use runtime::scheduler::{Punctuality, SchedulerSettings};
use runtime::service::{
    ClockUse, CloseReason, Connect, Context, Event, ListenerIndex, Next, Progress,
    SchedulerCommand, Service, ServiceContext,
};
use runtime::slots::ProcessId;
use runtime::stats::Stats;
use sys::connect::RemoteAddress;
use sys::pollset::{ListenOptions, Silence, Speaks};
use sys::socket::{ListenAddress, Peer};

pub(crate) const STOP: SchedulerCommand =
    SchedulerCommand::Drain { deadline_ms: 0, idle_grace_ms: 0 };

/// A message that stops the scheduler.
pub(crate) struct Stop;

pub(crate) fn plan(listeners: Vec<ListenOptions>, punctuality: Punctuality) -> LaunchPlan {
    LaunchPlan {
        name: "test",
        pinning: Pinning::None,
        tables: Tables::Private,
        spread: ConnectionSpread::Hash,
        listeners,
        settings: SchedulerSettings {
            connections: 1000,
            punctuality,
            ..SchedulerSettings::default()
        },
        keep: Vec::new(),
    }
}

/// Echoes.
struct Echo;

impl Service for Echo {
    type Process = ();
    type Message = Stop;

    const KINDS: &'static [&'static str] = &["echo"];

    fn kind((): &()) -> usize {
        0
    }

    fn is_idle((): &()) -> bool {
        true
    }

    fn on_accept(&mut self, _: ListenerIndex, _: Peer, _: &mut Context<'_, Stop>) -> Option<()> {
        Some(())
    }

    fn on_input(&mut self, (): &mut (), input: &[u8], context: &mut Context<'_, Stop>) -> Progress {
        context.output.put(input);
        Progress { consumed: input.len(), next: Next::Read }
    }

    fn on_event(&mut self, (): &mut (), event: Event, _: &mut Context<'_, Stop>) -> Next {
        if event == Event::InputEnded { Next::Finish } else { Next::Read }
    }

    fn on_message(&mut self, _: Endpoint, _: Stop, context: &mut ServiceContext<'_, Stop>) {
        context.command(STOP);
    }
}

/// An echo service on its own thread, and the mailbox that stops it.
fn launch_echo() -> (Launched, SocketAddr, Mailbox<Stop>) {
    let address = ListenAddress::Tcp(SocketAddr::from(([0, 0, 0, 0], 0)));
    let options =
        ListenOptions { address, backlog: 1000, first: Speaks::Either, silent: Silence::Trusted };
    let mut seats =
        mesh(&[EndpointRole::Scheduler, EndpointRole::Helper], Waking::Descriptors).unwrap();
    let mailbox = seats.pop().unwrap().mailbox;
    let plan = plan(vec![options], Punctuality::Usual);
    let mut launched = launch(&plan, seats, |_| Ok(Echo)).unwrap();
    launched.start();
    let port = launched.addresses[0].tcp().unwrap().port();
    (launched, SocketAddr::from(([127, 0, 0, 1], port)), mailbox)
}

const CALLS: u64 = 60;
const ROUNDS: u64 = 20;

/// The counts of a caller when it stops.
#[derive(Default)]
struct Counted {
    connected: u64,
    answers: u64,
    not_begun: u64,
    stopped: u64,
    lost: u64,
    /// Runs that got a later time than the one before the request.
    later: u64,
    runs: u64,
}

/// Sends this many requests over each of its connections, one per run, and then stops its scheduler.
struct Caller {
    to: SocketAddr,
    counted: Counted,
    to_run: Vec<ProcessId>,
    asked_ns: u64,
    end: Sender<Counted>,
}

struct Call {
    rounds: u64,
}

impl Service for Caller {
    type Process = Call;
    type Message = Stop;

    const KINDS: &'static [&'static str] = &["call"];
    const CLOCK: ClockUse = ClockUse::PerRun;

    fn kind(_: &Call) -> usize {
        0
    }

    fn is_idle(_: &Call) -> bool {
        true
    }

    fn on_start(&mut self, context: &mut ServiceContext<'_, Stop>) {
        for ticket in 0..CALLS {
            let from = IpAddr::from([127, 0, 1, 1 + (ticket % 9) as u8]);
            let to = RemoteAddress::Tcp(self.to);
            context.command(SchedulerCommand::Connect(Connect { to, from: Some(from), ticket }));
        }
    }

    fn on_connect(
        &mut self,
        _ticket: u64,
        begun: Result<(), std::io::ErrorKind>,
        context: &mut Context<'_, Stop>,
    ) -> Option<Call> {
        self.counted.not_begun += u64::from(begun.is_err());
        context.set_deadline_after_ms(60_000);
        Some(Call { rounds: 0 })
    }

    fn on_accept(&mut self, _: ListenerIndex, _: Peer, _: &mut Context<'_, Stop>) -> Option<Call> {
        None
    }

    fn on_input(
        &mut self,
        call: &mut Call,
        input: &[u8],
        context: &mut Context<'_, Stop>,
    ) -> Progress {
        if input.len() < 8 {
            return Progress { consumed: 0, next: Next::Read };
        }
        assert_eq!(input, call.rounds.to_le_bytes());
        self.counted.answers += 1;
        call.rounds += 1;
        if call.rounds < ROUNDS {
            self.to_run.push(context.id);
        }
        Progress { consumed: 8, next: Next::Read }
    }

    fn on_event(&mut self, call: &mut Call, event: Event, context: &mut Context<'_, Stop>) -> Next {
        match event {
            Event::Connected => self.counted.connected += 1,
            Event::Resumed => {
                self.counted.runs += 1;
                self.counted.later += u64::from(context.now.monotonic_ns > self.asked_ns);
            }
            Event::Draining => return Next::Read,
            _ => return Next::Finish,
        }
        context.output.put(&call.rounds.to_le_bytes());
        Next::Read
    }

    fn on_close(&mut self, _: Call, reason: CloseReason) {
        match reason {
            CloseReason::Stopped => self.counted.stopped += 1,
            _ => self.counted.lost += 1,
        }
    }

    fn on_turn_end(&mut self, context: &mut ServiceContext<'_, Stop>) {
        self.asked_ns = context.now.monotonic_ns;
        for id in self.to_run.drain(..) {
            context.command(SchedulerCommand::Run(id));
        }
        if self.counted.answers == CALLS * ROUNDS || self.counted.lost > 0 {
            context.command(STOP);
        }
    }

    fn on_stop(&mut self, _: &mut ServiceContext<'_, Stop>) {
        self.end.send(std::mem::take(&mut self.counted)).unwrap();
    }
}

#[test]
fn callers_without_listeners_reach_a_service_and_stop_by_themselves() {
    let (echo, to, mut mailbox) = launch_echo();
    let (end, ended) = channel();
    let seats = mesh(&[EndpointRole::Scheduler; 2], Waking::Descriptors).unwrap();
    let make = move |_| {
        let counted = Counted::default();
        Ok(Caller { to, counted, to_run: Vec::new(), asked_ns: 0, end: end.clone() })
    };
    let mut callers = launch(&plan(Vec::new(), Punctuality::Spinning), seats, make).unwrap();
    assert!(callers.addresses.is_empty());
    callers.start();
    let stats = callers.join().unwrap();
    for stats in &stats {
        assert_eq!((stats.connects, stats.connects_failed), (CALLS, 0));
        assert_eq!(stats.sends, CALLS * ROUNDS, "one send for each question");
        assert_eq!(stats.accepts, 0);
    }
    for _ in 0..2 {
        let counted = ended.recv().unwrap();
        assert_eq!((counted.connected, counted.not_begun, counted.lost), (CALLS, 0, 0));
        assert_eq!(counted.answers, CALLS * ROUNDS);
        assert_eq!(counted.stopped, CALLS, "connections stand until the stop");
        assert_eq!(counted.runs, CALLS * (ROUNDS - 1));
        assert_eq!(counted.later, counted.runs, "the clock is read before every run");
    }
    mailbox.send(Endpoint(0), Stop).map_err(drop).unwrap();
    mailbox.flush();
    let echoed = echo.join().unwrap();
    assert_eq!(echoed.iter().map(|stats| stats.accepts).sum::<u64>(), 2 * CALLS);
}

/// Alarms that are set in any case.
const SOME: usize = 20;

/// Sets an alarm repeatedly, this many nanoseconds apart, and records how late each was; until one is punctual.
struct Clockwork {
    period_ns: u64,
    punctual_ns: u64,
    calls: usize,
    due_ns: u64,
    late_ns: Vec<u64>,
    end: Sender<Vec<u64>>,
}

impl Service for Clockwork {
    type Process = ();
    type Message = Stop;

    const KINDS: &'static [&'static str] = &["none"];
    const CLOCK: ClockUse = ClockUse::PerRun;

    fn kind((): &()) -> usize {
        0
    }

    fn is_idle((): &()) -> bool {
        true
    }

    fn on_start(&mut self, context: &mut ServiceContext<'_, Stop>) {
        self.due_ns = context.now.monotonic_ns + self.period_ns;
        context.wake_at_ns(self.due_ns);
    }

    fn on_accept(&mut self, _: ListenerIndex, _: Peer, _: &mut Context<'_, Stop>) -> Option<()> {
        None
    }

    fn on_input(&mut self, (): &mut (), _: &[u8], _: &mut Context<'_, Stop>) -> Progress {
        Progress { consumed: 0, next: Next::Abort }
    }

    fn on_event(&mut self, (): &mut (), _: Event, _: &mut Context<'_, Stop>) -> Next {
        Next::Abort
    }

    fn on_turn_end(&mut self, context: &mut ServiceContext<'_, Stop>) {
        let now_ns = context.now.monotonic_ns;
        if now_ns >= self.due_ns {
            self.late_ns.push(now_ns - self.due_ns);
            self.due_ns = now_ns + self.period_ns;
        }
        context.wake_at_ns(self.due_ns);
        // One of the first may be punctual by chance.
        let is_enough = self.late_ns.len() >= self.calls.min(SOME);
        let is_punctual = self.late_ns.last().is_some_and(|late_ns| *late_ns < self.punctual_ns);
        if is_enough && is_punctual || self.late_ns.len() >= self.calls {
            context.command(STOP);
        }
    }

    fn on_stop(&mut self, _: &mut ServiceContext<'_, Stop>) {
        self.end.send(std::mem::take(&mut self.late_ns)).unwrap();
    }
}

/// Sets alarms until one is punctual, that is less late than this, but at most so many. How late the best was, with the
/// scheduler's counters.
fn lateness_ns(
    punctuality: Punctuality,
    [period_ns, punctual_ns]: [u64; 2],
    calls: usize,
) -> (u64, Stats) {
    let (end, ended) = channel();
    let seats = mesh(&[EndpointRole::Scheduler], Waking::Descriptors).unwrap();
    let make = move |_| {
        let (late_ns, end) = (Vec::new(), end.clone());
        Ok(Clockwork { period_ns, punctual_ns, calls, due_ns: 0, late_ns, end })
    };
    let mut launched = launch(&plan(Vec::new(), punctuality), seats, make).unwrap();
    launched.start();
    let stats = launched.join().unwrap().remove(0);
    (ended.recv().unwrap().into_iter().min().unwrap(), stats)
}

/// 300 us between two alarms: in milliseconds each is 700 us late. A loaded machine delays most, so many are tried:
/// half a minute.
#[test]
fn alarms_are_as_exact_as_they_are_to_be() {
    const MANY: usize = 50_000;
    let (exact_ns, _) = lateness_ns(Punctuality::Exact, [300_000, 300_000], MANY);
    assert!(exact_ns < 300_000, "{exact_ns} ns");
    let (spinning_ns, stats) = lateness_ns(Punctuality::Spinning, [300_000, 20_000], MANY);
    assert!(spinning_ns < 20_000, "{spinning_ns} ns");
    assert!(stats.spun_ns > 0);
}

/// Of some tries, because a loaded machine delays a sleep, and spinning counts while others use the core.
#[test]
fn an_alarm_that_is_far_off_is_slept_for() {
    for punctuality in [Punctuality::Usual, Punctuality::Exact, Punctuality::Spinning] {
        let is_slept_for = (0..100).any(|_| {
            let (_, stats) = lateness_ns(punctuality, [100_000_000, 0], 2);
            assert!(stats.turns < 60, "{punctuality:?}: {} turns", stats.turns);
            stats.asleep_ns > 190_000_000 && stats.spun_ns < 10_000_000
        });
        assert!(is_slept_for, "{punctuality:?}");
    }
}
