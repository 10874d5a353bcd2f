//! The subscribers of one thread, one of which may publish.
//!
//! Owns their steps: connect, upgrade to a WebSocket, read. Uses the codec of `wire` and knows no server.

mod encrypted;
mod publisher;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use runtime::RemoteAddress;
use runtime::clock::milliseconds;
use runtime::limits::CONNECTS_PER_TURN;
use runtime::service::{
    Beginning, ClockUse, CloseReason, Connect, Context, Event, ListenerIndex, Next, Progress,
    SchedulerCommand, Service, ServiceContext,
};
use runtime::slots::ProcessId;
use runtime::transport::{Transport, Violation};
use sys::socket::Peer;
use tls::Connector;
use wire::websocket::{
    MessageLimits, MessageReader, Opcode, PeerRole, ReadStep, accept_token, write_masked,
};

use super::tally::{Finished, Tally};
use super::{ChannelPlan, Signs, message};
use crate::client::NoThreadMessage;
use crate::host::ThreadSample;
use crate::plan::{LoadAddress, ThreadShare};
use crate::tally::HandshakeFault;

/// The key of every handshake. It need not be fresh (RFC 6455 section 10.3 is about caches).
const KEY: &[u8] = b"dGhlIHNhbXBsZSBub25jZQ==";

/// Bytes of the head that answers a handshake. Beyond: an error.
const HEAD_BYTES: usize = 8 * 1024;

/// The limits of what a server may send; the user chose the server.
const LIMITS: MessageLimits =
    MessageLimits { frame: 1 << 24, message: 1 << 24, fragments: u16::MAX };

/// Milliseconds between two checks of the signs while nothing happens.
const LOOK_MS: u64 = 20;

/// What a thread is told at its start.
pub(super) struct Orders {
    pub(super) plan: Arc<ChannelPlan>,
    pub(super) thread: u32,
    pub(super) core: Option<u32>,
    pub(super) signs: Arc<Signs>,
    pub(super) handover: std::sync::mpsc::Sender<Finished>,
}

/// The subscribers of a thread.
pub(super) struct Subscribers {
    orders: Orders,
    share: ThreadShare,
    remotes: Vec<RemoteAddress>,
    /// How connections are encrypted.
    connector: Option<Connector>,
    request: Vec<u8>,
    unopened: Range<u32>,
    scratch: Vec<u8>,
    tally: Tally,
    /// What was already reported.
    told: u64,
    publisher: Option<ProcessId>,
    next_due_ns: u64,
    before: Option<(ThreadSample, u64)>,
}

pub(super) struct Subscriber {
    phase: Phase,
    reader: MessageReader,
    received: u64,
    /// Since when its handshake is under way.
    since_ns: u64,
    /// The number after that of the latest message.
    next: u64,
    /// The close code, if there was one.
    code: Option<u16>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Connecting,
    ShakingHands,
    Asking,
    Subscribed,
}

impl Subscribers {
    pub(super) fn new(orders: Orders) -> Self {
        let plan = &orders.plan.plan;
        let share = plan.share(orders.thread);
        let remote = |peer: &crate::plan::TargetServer| match &peer.address {
            LoadAddress::Tcp(address) => RemoteAddress::Tcp(*address),
            LoadAddress::Unix(path) => RemoteAddress::Unix(path.as_path().into()),
        };
        let url = plan.targets.first().map(|target| target.url.clone());
        let (path, host) =
            url.map_or_else(Default::default, |url| (url.path_and_query.clone(), url.host_field()));
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {}\r\n\r\n",
            String::from_utf8_lossy(KEY)
        );
        Self {
            unopened: 0..share.connections,
            remotes: plan.peers.iter().map(remote).collect(),
            connector: plan.connector(share.connections),
            share,
            request: request.into_bytes(),
            scratch: Vec::new(),
            tally: Tally::default(),
            told: 0,
            publisher: None,
            next_due_ns: u64::MAX,
            before: None,
            orders,
        }
    }

    fn open_some(&mut self, context: &mut ServiceContext<'_, NoThreadMessage>) {
        for _ in 0..CONNECTS_PER_TURN {
            let Some(number) = self.unopened.next() else { return };
            let way = self.share.way(number);
            context.command(SchedulerCommand::Connect(Connect {
                to: self.remotes[way.peer].clone(),
                from: way.source,
                ticket: u64::from(number),
            }));
        }
    }

    fn fail(&mut self, kind: &str) {
        *self.tally.failed.entry(kind.to_owned()).or_default() += 1;
        self.orders.signs.tried.fetch_add(1, Ordering::Relaxed);
    }

    /// Asks for a WebSocket.
    fn ask(&mut self, subscriber: &mut Subscriber, context: &mut Context<'_, NoThreadMessage>) {
        subscriber.phase = Phase::Asking;
        context.output.put(&self.request);
    }

    /// The answer to the handshake.
    fn take_head(
        &mut self,
        subscriber: &mut Subscriber,
        input: &[u8],
        context: &mut Context<'_, NoThreadMessage>,
    ) -> Progress {
        let Some(end) = input.windows(4).position(|end| end == b"\r\n\r\n") else {
            let next = if input.len() > HEAD_BYTES { Next::Abort } else { Next::Read };
            return Progress { consumed: 0, next };
        };
        let head = String::from_utf8_lossy(&input[..end]).into_owned();
        let token = accept_token(KEY);
        let accepts = head.contains(&*String::from_utf8_lossy(&token));
        if !head.starts_with("HTTP/1.1 101") || !accepts {
            let status = head.lines().next().unwrap_or_default();
            subscriber.phase = Phase::Connecting;
            self.fail(&format!("answered `{}`", status.chars().take(60).collect::<String>()));
            return Progress { consumed: input.len(), next: Next::Abort };
        }
        subscriber.phase = Phase::Subscribed;
        context.clear_deadline();
        self.tally.opened += 1;
        let signs = &self.orders.signs;
        signs.open.fetch_add(1, Ordering::Relaxed);
        signs.tried.fetch_add(1, Ordering::Relaxed);
        if self.orders.thread == 0 && self.publisher.is_none() {
            self.publisher = Some(context.id);
        }
        Progress { consumed: end + 4, next: Next::Read }
    }

    fn take_frames(
        &mut self,
        subscriber: &mut Subscriber,
        input: &[u8],
        context: &mut Context<'_, NoThreadMessage>,
    ) -> Progress {
        let mut scratch = std::mem::take(&mut self.scratch);
        let mut consumed = 0;
        let next = loop {
            let step =
                subscriber.reader.next(PeerRole::Client, &LIMITS, &input[consumed..], &mut scratch);
            let Ok((used, step)) = step else { break Next::Abort };
            consumed += used;
            match step {
                ReadStep::NeedMore => break Next::Read,
                ReadStep::Pong => {}
                ReadStep::Ping(payload) => {
                    write_masked(context.output.buffer(), Opcode::Pong, payload, [0; 4]);
                }
                ReadStep::Close(code) => {
                    subscriber.code = code.map(wire::websocket::CloseCode::number);
                    break Next::Finish;
                }
                ReadStep::Message(_, bytes) => {
                    let Some((due_ns, number)) = message::read(bytes) else { continue };
                    if number < subscriber.next {
                        self.tally.disordered += 1;
                    }
                    subscriber.next = number + 1;
                    subscriber.received += 1;
                    self.tally.receive(number, due_ns, context.now.monotonic_ns);
                }
            }
        };
        self.scratch = scratch;
        Progress { consumed, next }
    }

    fn begin_measuring(&mut self, context: &ServiceContext<'_, NoThreadMessage>) {
        if self.before.is_none() && self.orders.signs.begin_ns.load(Ordering::Acquire) != u64::MAX {
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

    fn on_accept(
        &mut self,
        _: ListenerIndex,
        _: Peer,
        _: &mut Context<'_, NoThreadMessage>,
    ) -> Option<Subscriber> {
        None
    }

    fn on_connect(
        &mut self,
        _ticket: u64,
        begun: Result<(), std::io::ErrorKind>,
        context: &mut Context<'_, NoThreadMessage>,
    ) -> Option<Subscriber> {
        if let Err(kind) = begun {
            self.fail(&format!("not connected: {kind}"));
            return None;
        }
        context.set_deadline_after_ms(milliseconds(self.orders.plan.plan.timeout));
        Some(Subscriber {
            phase: Phase::Connecting,
            reader: MessageReader::default(),
            received: 0,
            since_ns: 0,
            next: 0,
            code: None,
        })
    }

    fn transport(&mut self, beginning: Beginning) -> Option<Box<dyn Transport>> {
        self.transport_of(beginning)
    }

    fn on_agreed(
        &mut self,
        subscriber: &mut Subscriber,
        context: &mut Context<'_, NoThreadMessage>,
    ) -> Next {
        self.take_agreement(subscriber, context);
        Next::Read
    }

    fn on_handshake_failed(
        &mut self,
        subscriber: &mut Subscriber,
        why: Violation,
        _: &mut Context<'_, NoThreadMessage>,
    ) {
        self.fail_handshake(subscriber, why.into());
    }

    fn on_input(
        &mut self,
        subscriber: &mut Subscriber,
        input: &[u8],
        context: &mut Context<'_, NoThreadMessage>,
    ) -> Progress {
        match subscriber.phase {
            Phase::Subscribed => self.take_frames(subscriber, input, context),
            Phase::Connecting | Phase::ShakingHands | Phase::Asking => {
                self.take_head(subscriber, input, context)
            }
        }
    }

    fn on_event(
        &mut self,
        subscriber: &mut Subscriber,
        event: Event,
        context: &mut Context<'_, NoThreadMessage>,
    ) -> Next {
        match event {
            Event::Connected if self.connector.is_some() => {
                subscriber.phase = Phase::ShakingHands;
                subscriber.since_ns = context.now.monotonic_ns;
                Next::Read
            }
            Event::Connected => {
                self.ask(subscriber, context);
                Next::Read
            }
            Event::Resumed => {
                self.publish(context);
                Next::Read
            }
            Event::ConnectFailed(kind) => {
                self.fail(&format!("not connected: {kind}"));
                Next::Abort
            }
            Event::DeadlineReached if subscriber.phase == Phase::Connecting => {
                self.fail("not connected: timed out");
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
        match subscriber.phase {
            Phase::Asking => self.fail("no answer to the handshake"),
            Phase::ShakingHands => self.fail_handshake(&mut subscriber, HandshakeFault::Cut),
            Phase::Connecting => {}
            Phase::Subscribed => {
                self.tally.end(subscriber.received);
                if self.orders.signs.over.load(Ordering::Acquire) == 0 {
                    let kind = match subscriber.code {
                        Some(code) => format!("close code {code}"),
                        None => format!("{reason:?}").to_lowercase(),
                    };
                    *self.tally.ended.entry(kind).or_default() += 1;
                }
            }
        }
    }

    fn on_start(&mut self, context: &mut ServiceContext<'_, NoThreadMessage>) {
        context.wake_after_ms(0);
    }

    fn on_turn_end(&mut self, context: &mut ServiceContext<'_, NoThreadMessage>) {
        if self.unopened.start < self.unopened.end {
            self.open_some(context);
            context.wake_after_ms(0);
        }
        self.begin_measuring(context);
        let news = self.tally.received - self.told;
        if news > 0 {
            self.orders.signs.received.fetch_add(news, Ordering::Relaxed);
            self.told = self.tally.received;
        }
        if self.orders.signs.over.load(Ordering::Acquire) != 0 {
            context.command(SchedulerCommand::Drain { deadline_ms: 0, idle_grace_ms: 0 });
            return;
        }
        context.wake_after_ms(LOOK_MS);
        if let (Some(publisher), Some(due_ns)) = (self.publisher, self.due_ns()) {
            if due_ns <= context.now.monotonic_ns {
                context.command(SchedulerCommand::Run(publisher));
            }
            context.wake_at_ns(due_ns.max(context.now.monotonic_ns + 1));
        }
    }

    fn on_stop(&mut self, context: &mut ServiceContext<'_, NoThreadMessage>) {
        let now = ThreadSample::current().ok();
        let used = self.before.zip(now).map(|((before, since_ns), now)| {
            now.since(&before, self.orders.core, 0, context.now.monotonic_ns - since_ns)
        });
        let tally = std::mem::take(&mut self.tally);
        // If the run was given up, there is no receiver.
        let _sent = self.orders.handover.send(Finished { tally, used });
    }
}
