//! The subscribers of one thread, some of which may publish.
//!
//! Owns their steps: connect, upgrade to a WebSocket, read. Uses the codec of `wire` and knows no server.

mod encrypted;
mod handshake;
mod leaving;
mod listening;
mod publisher;
mod seats;
mod settling;

use std::sync::Arc;

use runtime::RemoteAddress;
use runtime::clock::milliseconds;
use runtime::limits::CONNECTS_PER_TURN;
use runtime::service::{
    Beginning, ClockUse, CloseReason, Connect, Event, ListenerIndex, Next, Progress,
    SchedulerCommand, Service,
};
use runtime::transport::{Transport, Violation};
use sys::socket::Peer;
use tls::Connector;
use wire::websocket::{MessageReader, Opcode, write_masked};

use super::signs::Signs;
use super::tally::{Finished, Tally};
use super::{ChannelPlan, workload::Storm};
use crate::client::{Context, NoThreadMessage, ServiceContext};
use crate::host::ThreadSample;
use crate::plan::{LoadAddress, ThreadShare};
use crate::tally::HandshakeFault;
use handshake::{Positions, Requests};
use leaving::Leaving;
use publisher::Publishers;
use seats::{Presence, Seats};

/// Milliseconds between two checks of the signs while nothing happens.
const LOOK_MS: u64 = 20;

/// The orders of a thread at its start. Plain data.
pub(crate) struct Orders {
    pub(crate) plan: Arc<ChannelPlan>,
    pub(crate) thread: u32,
    pub(crate) core: Option<u32>,
    pub(crate) signs: Arc<Signs>,
    pub(crate) handover: std::sync::mpsc::Sender<Finished>,
}

/// The subscribers of a thread.
pub(super) struct Subscribers {
    orders: Orders,
    share: ThreadShare,
    remotes: Vec<RemoteAddress>,
    /// How connections are encrypted.
    connector: Option<Connector>,
    requests: Vec<Requests>,
    seats: Seats,
    publishers: Publishers,
    leaving: Leaving,
    scratch: Vec<u8>,
    tally: Tally,
    /// The number of messages already reported.
    told: u64,
    now_ns: u64,
    before: Option<(ThreadSample, u64)>,
}

/// The connection of a subscriber.
pub(super) struct Subscriber {
    /// The number of its seat.
    number: u32,
    phase: Phase,
    wording: Wording,
    reader: MessageReader,
    /// Since when it is opened, and its handshake is under way.
    begun_ns: u64,
    since_ns: u64,
    /// Why it does not become a subscriber.
    failure: Option<String>,
    /// The close code, if there was one.
    code: Option<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Connecting,
    ShakingHands,
    Asking,
    /// The WebSocket is open, and the subscription is not confirmed.
    Confirming,
    Subscribed,
}

/// The form of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wording {
    /// It is a frame.
    Frames,
    /// It is in an object, with its position.
    Objects,
}

impl Subscriber {
    fn new(number: u32, begun_ns: u64) -> Self {
        Self {
            number,
            phase: Phase::Connecting,
            wording: Wording::Frames,
            reader: MessageReader::default(),
            begun_ns,
            since_ns: 0,
            failure: None,
            code: None,
        }
    }

    fn send(&self, text: &[u8], context: &mut Context<'_>) {
        write_masked(context.output.buffer(), Opcode::Text, text, [0; 4]);
    }

    /// It will not become a subscriber; the first reason counts.
    fn fail(&mut self, why: String) {
        self.failure.get_or_insert(why);
    }

    /// Why it did not become a subscriber.
    fn failure(self) -> String {
        let usual = match self.phase {
            Phase::Confirming => "the subscription was not confirmed",
            _ => "no answer to the handshake",
        };
        self.failure.unwrap_or_else(|| usual.to_owned())
    }
}

impl Subscribers {
    pub(super) fn new(orders: Orders) -> Self {
        let ChannelPlan { plan, storm, churn_per_s, .. } = &*orders.plan;
        let share = plan.share(orders.thread);
        let remote = |peer: &crate::plan::TargetServer| match &peer.address {
            LoadAddress::Tcp(address) => RemoteAddress::Tcp(*address),
            LoadAddress::Unix(path) => RemoteAddress::Unix(path.as_path().into()),
        };
        let positions = if storm.is_some() { Positions::Wanted } else { Positions::Unused };
        let storm = storm.map(|storm: Storm| storm.share(orders.thread, plan.threads));
        let churn_per_s = churn_per_s.map(|rate| rate / f64::from(plan.threads.max(1)));
        let seed = plan.seed.wrapping_add(u64::from(orders.thread) << 32);
        Self {
            seats: Seats::new(share.connections, orders.plan.publishers()),
            remotes: plan.peers.iter().map(remote).collect(),
            connector: plan.connector(share.connections),
            requests: Requests::of(plan, positions),
            publishers: Publishers::of(&orders.plan, orders.thread),
            leaving: Leaving::new(storm, churn_per_s, seed),
            share,
            scratch: Vec::new(),
            tally: Tally::of(plan.peers.len()),
            told: 0,
            now_ns: 0,
            before: None,
            orders,
        }
    }

    fn open_some(&mut self, context: &mut ServiceContext<'_>) {
        for _ in 0..CONNECTS_PER_TURN {
            let Some(number) = self.seats.next(context.now.monotonic_ns) else { return };
            let way = self.share.way(number);
            context.command(SchedulerCommand::Connect(Connect {
                to: self.remotes[way.peer].clone(),
                from: way.source,
                ticket: u64::from(number),
            }));
        }
    }

    /// A connection did not become a subscriber.
    fn miss(&mut self, number: u32, why: String) {
        if self.orders.signs.ending().is_some() {
            return;
        }
        match self.seats.seat(number).presence() {
            Presence::Away { .. } => {
                self.tally.workload_mut().retry();
                self.seats.retry(number, self.now_ns);
            }
            Presence::New | Presence::Here(_) | Presence::Over => {
                self.seats.seat(number).set_presence(Presence::Over);
                self.tally.fail(why);
                self.orders.signs.miss_one();
            }
        }
    }

    fn begin_measuring(&mut self, context: &ServiceContext<'_>) {
        if self.before.is_none() && self.orders.signs.begin_ns() != u64::MAX {
            let sample = ThreadSample::current().ok();
            self.before = sample.map(|sample| (sample, context.now.monotonic_ns));
        }
    }
}

impl Service for Subscribers {
    type Process = Subscriber;
    type Message = NoThreadMessage;
    const KINDS: &'static [&'static str] = &["subscriber"];
    const CLOCK: ClockUse = ClockUse::PerRun;

    fn kind(_: &Subscriber) -> usize {
        0
    }

    fn is_idle(_: &Subscriber) -> bool {
        false
    }

    fn on_accept(&mut self, _: ListenerIndex, _: Peer, _: &mut Context<'_>) -> Option<Subscriber> {
        None
    }

    fn on_connect(
        &mut self,
        ticket: u64,
        begun: Result<(), std::io::ErrorKind>,
        context: &mut Context<'_>,
    ) -> Option<Subscriber> {
        self.now_ns = context.now.monotonic_ns;
        let number = u32::try_from(ticket).ok()?;
        if let Err(kind) = begun {
            self.miss(number, format!("not connected: {kind}"));
            return None;
        }
        context.set_deadline_after_ms(milliseconds(self.orders.plan.plan.timeout));
        Some(Subscriber::new(number, context.now.monotonic_ns))
    }

    fn transport(&mut self, beginning: Beginning) -> Option<Box<dyn Transport>> {
        self.transport_of(beginning)
    }

    fn on_agreed(&mut self, subscriber: &mut Subscriber, context: &mut Context<'_>) -> Next {
        self.take_agreement(subscriber, context);
        Next::Read
    }

    fn on_handshake_failed(
        &mut self,
        subscriber: &mut Subscriber,
        why: Violation,
        _: &mut Context<'_>,
    ) {
        self.fail_handshake(subscriber, why.into());
    }

    fn on_input(
        &mut self,
        subscriber: &mut Subscriber,
        input: &[u8],
        context: &mut Context<'_>,
    ) -> Progress {
        match subscriber.phase {
            Phase::Confirming | Phase::Subscribed => self.take_frames(subscriber, input, context),
            Phase::Connecting | Phase::ShakingHands | Phase::Asking => {
                let Progress { consumed, next } = self.take_head(subscriber, input, context);
                if !matches!(subscriber.phase, Phase::Confirming | Phase::Subscribed) {
                    return Progress { consumed, next };
                }
                // Data that came with the head would otherwise wait for further input.
                let frames = self.take_frames(subscriber, &input[consumed..], context);
                Progress { consumed: consumed + frames.consumed, next: frames.next }
            }
        }
    }

    fn on_event(
        &mut self,
        subscriber: &mut Subscriber,
        event: Event,
        context: &mut Context<'_>,
    ) -> Next {
        self.now_ns = context.now.monotonic_ns;
        match event {
            Event::Connected if self.is_encrypted(subscriber.number) => {
                subscriber.phase = Phase::ShakingHands;
                subscriber.since_ns = context.now.monotonic_ns;
                Next::Read
            }
            Event::Connected => {
                self.ask(subscriber, context);
                Next::Read
            }
            Event::Resumed => {
                self.publish(subscriber, context);
                Next::Read
            }
            Event::ConnectFailed(kind) => {
                subscriber.fail(format!("not connected: {kind}"));
                Next::Abort
            }
            Event::DeadlineReached if subscriber.phase == Phase::Connecting => {
                subscriber.fail("not connected: timed out".to_owned());
                Next::Abort
            }
            Event::DeadlineReached if subscriber.phase == Phase::ShakingHands => {
                self.fail_handshake(subscriber, HandshakeFault::Timeout);
                Next::Abort
            }
            Event::DeadlineReached | Event::InputEnded | Event::Overloaded => Next::Abort,
            Event::OutputDrained | Event::PeerFinished | Event::Draining => Next::Read,
        }
    }

    fn on_close(&mut self, mut subscriber: Subscriber, reason: CloseReason) {
        let number = subscriber.number;
        if subscriber.phase == Phase::ShakingHands {
            self.fail_handshake(&mut subscriber, HandshakeFault::Cut);
        }
        if subscriber.phase != Phase::Subscribed {
            return self.miss(number, subscriber.failure());
        }
        if self.orders.signs.ending().is_some() {
            return;
        }
        let seat = self.seats.seat(number);
        if matches!(seat.presence(), Presence::Away { .. }) {
            return self.seats.reopen(number);
        }
        seat.set_presence(Presence::Over);
        let kind = match subscriber.code {
            Some(code) => format!("close code {code}"),
            None => format!("{reason:?}").to_lowercase(),
        };
        self.tally.lose(kind);
    }

    fn on_start(&mut self, context: &mut ServiceContext<'_>) {
        context.wake_after_ms(0);
    }

    fn on_turn_end(&mut self, context: &mut ServiceContext<'_>) {
        self.now_ns = context.now.monotonic_ns;
        if self.orders.signs.ending().is_some() {
            context.command(SchedulerCommand::Drain { deadline_ms: 0, idle_grace_ms: 0 });
            return;
        }
        let leaves_ns = self.leave(context);
        self.open_some(context);
        self.begin_measuring(context);
        let news = self.tally.received() - self.told;
        if news > 0 {
            self.orders.signs.receive(news);
            self.told = self.tally.received();
        }
        context.wake_after_ms(LOOK_MS);
        for due_ns in [leaves_ns, self.seats.due_ns()].into_iter().flatten() {
            context.wake_at_ns(due_ns.max(self.now_ns + 1));
        }
        if let Some((seat, due_ns)) = self.due() {
            if due_ns <= self.now_ns
                && let Presence::Here(publisher) = self.seats.seat(seat).presence()
            {
                context.command(SchedulerCommand::Run(publisher));
            }
            context.wake_at_ns(due_ns.max(self.now_ns + 1));
        }
    }

    fn on_stop(&mut self, context: &mut ServiceContext<'_>) {
        let now = ThreadSample::current().ok();
        let used = self.before.zip(now).map(|((before, since_ns), now)| {
            now.since(&before, self.orders.core, 0, context.now.monotonic_ns - since_ns)
        });
        self.settle_all();
        let tally = std::mem::take(&mut self.tally);
        // If the run was given up, there is no receiver.
        let _sent = self.orders.handover.send(Finished { tally, used });
    }
}
