//! A WebSocket of a client: a subscriber that may publish.
//!
//! Owns its session: incoming frames, closes and pings. `plain` publishes messages as they are, `orders` has the JSON
//! orders, `endings` the reasons that end subscriptions, `pace` when it reads on. Channel messages are queued past the
//! session and never touch it.

mod endings;
mod orders;
mod pace;
mod plain;
mod talk;

use channels::{ChannelRefusal, Format, KeptRight, Subscriber, SubscriberQuery, Subscription};
use runtime::arrival::Arrival;
use runtime::service::{Event, Next, Progress, SchedulerCommand};
use runtime::slots::ProcessId;
use wire::websocket::{
    CloseCode, Extension, MessageKind, MessageLimits, MessageReader, Opcode, PeerRole, ReadStep,
    write_close, write_control, write_frame,
};

use self::endings::{EXPIRED, TOO_SLOW};
use self::pace::After;
use super::lease::Lease;
use crate::limits::{INFLATED_PER_TURN, PING_TIMEOUT_MS};
use crate::message::{Context, ServiceContext};
use crate::site::Site;

/// State that all WebSockets of a scheduler share.
#[derive(Debug, Default)]
pub(super) struct Sockets {
    /// The buffer in which payload is unmasked.
    scratch: Vec<u8>,
    /// Bytes of messages in this turn that were, or may have been, compressed.
    inflated_bytes: usize,
    /// Sockets that continue in the next turn.
    resting: Vec<ProcessId>,
}

impl Sockets {
    pub(super) fn end_turn(&mut self, context: &mut ServiceContext<'_>) {
        self.inflated_bytes = 0;
        for process in self.resting.drain(..) {
            context.command(SchedulerCommand::Resume(process));
        }
    }
}

/// A WebSocket.
#[derive(Debug)]
pub struct WebSocket {
    reader: MessageReader,
    speaks: Speaks,
    subscriptions: Vec<Subscription>,
    /// Whether the client was pinged since it has sent something.
    is_pinged: bool,
    lease: Lease,
    // Boxed because few sockets have it, and there may be a million sockets.
    asked: Option<Box<Asked>>,
    /// A message of the client about which a module is being asked.
    held: Option<Box<Held>>,
    /// Its process, for modules that talk with the client.
    process: ProcessId,
    /// The close code of its end, as far as it is known (RFC 6455, section 7.1.5).
    end: u16,
}

/// A message of the client.
#[derive(Debug)]
struct Held {
    kind: MessageKind,
    bytes: Box<[u8]>,
}

/// The list of members that a client has requested.
#[derive(Debug)]
struct Asked {
    process: ProcessId,
    channel: Box<str>,
    query: SubscriberQuery,
    /// The number of the order.
    id: Option<u64>,
}

/// The format of its messages.
#[derive(Debug)]
enum Speaks {
    /// Messages of this channel, as they were published.
    Plain(Box<str>),
    /// JSON objects; contains the names of its subscriptions, in order.
    Json(Vec<Box<str>>),
    /// Messages of a module; contains the names of its subscriptions, in order.
    Talk(Vec<Box<str>>),
}

/// The codes of a connection that ended without a close frame, and of a close frame without a code (RFC 6455, section
/// 7.4.1).
const LOST: u16 = 1006;
const NO_CODE: u16 = 1005;

impl WebSocket {
    /// A socket with JSON objects.
    pub(super) fn json(
        right: Option<KeptRight>,
        client: (Lease, Extension),
        site: &mut Site,
        context: &mut Context<'_>,
    ) -> Result<Self, ChannelRefusal> {
        let mut socket = Self::new(Speaks::Json(Vec::new()), client, context);
        if let Some(right) = right {
            socket.begin(&right, site, context)?;
            socket.speaks = Speaks::Json(vec![right.name().into()]);
        }
        Ok(socket)
    }

    /// Subscribes to the channel that the request named.
    fn begin(
        &mut self,
        right: &KeptRight,
        site: &mut Site,
        context: &mut Context<'_>,
    ) -> Result<(), ChannelRefusal> {
        let subscriber = Subscriber { process: context.id, format: self.format() };
        let (mut channels, out) = (site.channels(), context.output.buffer());
        let subscription = channels.subscribe(&right.to_subscribe(), subscriber, None, out)?;
        self.subscriptions.push(subscription);
        Ok(())
    }

    fn new(
        speaks: Speaks,
        (lease, extension): (Lease, Extension),
        context: &mut Context<'_>,
    ) -> Self {
        context.set_deadline_after_ms(lease.quiet_ms(context.now));
        Self {
            reader: MessageReader::new(extension),
            speaks,
            subscriptions: Vec::new(),
            is_pinged: false,
            lease,
            asked: None,
            held: None,
            process: context.id,
            end: LOST,
        }
    }

    /// The format in which it gets messages of channels.
    fn format(&self) -> Format {
        match (&self.speaks, self.reader.extension()) {
            (Speaks::Json(_), Extension::None) => Format::WebSocketJson,
            (Speaks::Json(_), Extension::Deflate) => Format::WebSocketJsonDeflated,
            (Speaks::Plain(_) | Speaks::Talk(_), Extension::None) => Format::WebSocket,
            (Speaks::Plain(_) | Speaks::Talk(_), Extension::Deflate) => Format::WebSocketDeflated,
        }
    }

    pub(super) fn on_input(
        &mut self,
        sockets: &mut Sockets,
        site: &mut Site,
        input: &[u8],
        context: &mut Context<'_>,
    ) -> Progress {
        self.is_pinged = false;
        context.set_deadline_after_ms(self.lease.quiet_ms(context.now));
        if self.is_busy(site) {
            return Progress { consumed: 0, next: Next::Park };
        }
        let mut scratch = std::mem::take(&mut sockets.scratch);
        let progress = self.take_frames(sockets, site, (input, &mut scratch), context);
        sockets.scratch = scratch;
        progress
    }

    /// Bytes of memory that hold input: an incomplete message, or one about which a module is being asked.
    pub(super) fn held_bytes(&self) -> usize {
        self.reader.held_bytes() + self.held.as_ref().map_or(0, |held| held.bytes.len())
    }

    pub(super) fn arrival(&self) -> Arrival {
        self.lease.arrival()
    }

    fn take_frames(
        &mut self,
        sockets: &mut Sockets,
        site: &mut Site,
        (input, scratch): (&[u8], &mut Vec<u8>),
        context: &mut Context<'_>,
    ) -> Progress {
        let limits = MessageLimits::default();
        let mut consumed = 0;
        loop {
            if context.output_is_full() {
                return Progress { consumed, next: Next::Park };
            }
            if sockets.inflated_bytes > INFLATED_PER_TURN && consumed < input.len() {
                // A few compressed bytes may expand to a megabyte.
                sockets.resting.push(context.id);
                return Progress { consumed, next: Next::Park };
            }
            let step = self.reader.next(PeerRole::Server, &limits, &input[consumed..], scratch);
            let (used, step) = match step {
                Ok(step) => step,
                Err(failure) => {
                    self.end = failure.code().number();
                    let next = close(failure.code(), failure.reason(), context);
                    return Progress { consumed: input.len(), next };
                }
            };
            consumed += used;
            let after = match step {
                ReadStep::NeedMore => return Progress { consumed, next: Next::Read },
                ReadStep::Pong => After::More,
                ReadStep::Ping(payload) => {
                    write_control(context.output.buffer(), Opcode::Pong, payload);
                    After::More
                }
                ReadStep::Close(code) => {
                    self.end = code.map_or(NO_CODE, CloseCode::number);
                    write_close(context.output.buffer(), code, "");
                    return Progress { consumed: input.len(), next: Next::Finish };
                }
                ReadStep::Message(kind, bytes) => {
                    if self.reader.extension() == Extension::Deflate {
                        sockets.inflated_bytes += bytes.len();
                    }
                    let after = self.on_message(kind, bytes, site, context);
                    if matches!(after, After::Wait) {
                        self.held = Some(Box::new(Held { kind, bytes: bytes.into() }));
                    }
                    after
                }
            };
            match after {
                After::More => {}
                After::Wait | After::Busy => return Progress { consumed, next: Next::Park },
                after => {
                    return Progress { consumed: input.len(), next: self.next(after, context) };
                }
            }
        }
    }

    pub(super) fn on_event(
        &mut self,
        site: &mut Site,
        event: Event,
        context: &mut Context<'_>,
    ) -> Next {
        match event {
            Event::InputEnded => Next::Finish,
            Event::OutputDrained => {
                site.channels().on_drained(&self.subscriptions);
                self.take_held(site, context)
            }
            Event::Resumed => self.on_resumed(site, context),
            Event::DeadlineReached if self.is_pinged => {
                close(CloseCode::GOING_AWAY, "no answer to a ping", context)
            }
            Event::DeadlineReached => {
                if self.lease.end_if_over(context.now)
                    && let After::Close(code, reason) = self.lose(EXPIRED, site, context)
                {
                    return self.next(After::Close(code, reason), context);
                }
                self.is_pinged = true;
                context.set_deadline_after_ms(PING_TIMEOUT_MS);
                write_control(context.output.buffer(), Opcode::Ping, b"");
                self.unchanged(site, context)
            }
            Event::Draining => {
                self.end = CloseCode::GOING_AWAY.number();
                close(CloseCode::GOING_AWAY, "the server stops", context)
            }
            Event::Overloaded => {
                self.end = CloseCode::TRY_AGAIN_LATER.number();
                self.reader = MessageReader::new(self.reader.extension());
                close(CloseCode::TRY_AGAIN_LATER, "no memory", context)
            }
            // The client can neither close the WebSocket nor answer a close (RFC 6455, section 7.1.1), so the module's
            // answer is not needed.
            Event::PeerFinished if self.is_busy(site) => Next::Finish,
            Event::PeerFinished => self.unchanged(site, context),
            Event::Connected | Event::ConnectFailed(_) => Next::Abort,
        }
    }

    pub(super) fn on_close(mut self, site: &mut Site) {
        if let Some(asked) = &self.asked {
            site.channels().forget(asked.process);
        }
        if self.held.is_some() {
            site.forget_question(self.process);
        }
        if matches!(self.speaks, Speaks::Talk(_)) {
            site.end_talk(self.process, self.end, "");
        }
        self.leave_all(site);
    }

    /// Something has arrived for the process from another part of the server.
    fn on_resumed(&mut self, site: &mut Site, context: &mut Context<'_>) -> Next {
        if site.channels().is_too_slow(&self.subscriptions) {
            return self.next(After::Close(TOO_SLOW, "too slow for the channel"), context);
        }
        let dismissal = site.channels().take_dismissal(context.id);
        if let Some(dismissal) = dismissal
            && let After::Close(code, why) = self.leave(&dismissal, site, context)
        {
            return self.next(After::Close(code, why), context);
        }
        self.tell_members(site, context);
        self.take_held(site, context)
    }

    /// Handles a message of the client.
    fn on_message(
        &mut self,
        kind: MessageKind,
        bytes: &[u8],
        site: &mut Site,
        context: &mut Context<'_>,
    ) -> After {
        match &self.speaks {
            Speaks::Plain(name) => self.publish_plain(name, (kind, bytes), site, context),
            Speaks::Json(_) if kind == MessageKind::Binary => {
                After::Close(CloseCode::UNSUPPORTED, "orders are text")
            }
            Speaks::Json(_) => self.obey(bytes, site, context),
            Speaks::Talk(_) => self.hand_message(kind, bytes, site, context),
        }
    }
}

/// Sends a close frame. The client answers it and ends the connection; its input until then is discarded.
pub(super) fn close(code: CloseCode, reason: &str, context: &mut Context<'_>) -> Next {
    write_close(context.output.buffer(), Some(code), reason);
    Next::Linger
}

/// Sends an object to the client.
fn tell(text: &str, context: &mut Context<'_>) {
    write_frame(context.output.buffer(), Opcode::Text, text.as_bytes());
}

/// The frame that tells a publisher the result of a message that went to another scheduler.
pub(super) fn receipt(number: u64, result: Result<channels::Published, ChannelRefusal>) -> Vec<u8> {
    let mut out = Vec::new();
    write_frame(&mut out, Opcode::Text, orders::published(number, result).as_bytes());
    out
}
