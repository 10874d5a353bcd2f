//! An HTTP/1.1 connection: its states, and the path of a request through them.
//!
//! Owns what one connection keeps between turns, which is little: an idle one has no buffer and no
//! head. `Http` (the service) owns what all connections of a scheduler share. Never looks into a
//! request beyond its framing; the application answers.

mod asking;
mod body;
mod handover;
mod probe;
mod refusal;

use runtime::clock::milliseconds;
use runtime::service::{Context, Event, ListenerIndex, Next, Progress};
use sys::socket::Peer;
use wire::http::head::{self, FieldSlots, Framing, Head};
use wire::http::status::Status;
use wire::proxy::{self, Parsed, Source};

use self::probe::Lead;
use crate::answering::Asked;
use crate::application::{Application, Interest};
use crate::limits;
use crate::pending::Pending;
use crate::request::Request;
use crate::shared::Http;

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Waiting for the PROXY header that its listener requires.
    Proxy,
    /// Between requests: no byte of the next one has arrived.
    Idle,
    /// A head has begun; this many bytes of it contain no end.
    Head(u32),
    /// A body is arriving.
    Body,
    /// The application has to be asked again.
    Waiting,
    /// A part of an answer is being sent. Then the application has to be asked again.
    Sending,
    /// The last reply was sent.
    Over,
}

/// One connection between turns.
#[derive(Debug)]
pub struct Connection {
    pending: Option<Box<Pending>>,
    peer: Peer,
    listener: ListenerIndex,
    requests: u32,
    phase: Phase,
    lead: Lead,
}

// An idle connection costs its slot and nothing else. The whole slot is checked where the runtime's part is known.
const _: () = assert!(size_of::<Connection>() <= 48);

/// More bytes are needed.
const NEEDS_MORE: Progress = Progress { consumed: 0, next: Next::Read };

impl Connection {
    /// A connection that was just accepted through this listener. `None`: close it at once.
    pub fn new<A: Application>(
        http: &Http<A>,
        listener: ListenerIndex,
        peer: Peer,
        context: &mut Context<'_, A::Message>,
    ) -> Option<Self> {
        let phase = match http.proxy_rules(listener) {
            [] => Phase::Idle,
            networks if networks.iter().any(|network| network.contains(peer.address)) => {
                Phase::Proxy
            }
            _ => return None,
        };
        context.set_deadline_after_ms(http.settings().header_deadline_ms);
        Some(Self { pending: None, peer, listener, requests: 0, phase, lead: Lead::Unsent })
    }

    /// Whether it is between requests.
    pub fn is_idle(&self) -> bool {
        matches!(self.phase, Phase::Idle | Phase::Over)
    }

    /// Whether a head has begun and is incomplete.
    pub fn is_beginning(&self) -> bool {
        matches!(self.phase, Phase::Proxy | Phase::Head(_))
    }

    /// Handles received bytes: as many requests as they contain. Called from [`runtime::service::Service::on_input`] of its process.
    #[inline]
    pub fn on_input<A: Application>(
        &mut self,
        http: &mut Http<A>,
        input: &[u8],
        context: &mut Context<'_, A::Message>,
    ) -> Progress {
        http.begin_event(context);
        let mut slots = http.lend_slots();
        let progress = self.take_input(http, input, &mut slots, context);
        http.return_slots(slots);
        progress
    }

    fn take_input<A: Application>(
        &mut self,
        http: &mut Http<A>,
        input: &[u8],
        slots: &mut FieldSlots,
        context: &mut Context<'_, A::Message>,
    ) -> Progress {
        let mut consumed = 0;
        while consumed < input.len() {
            if context.output_is_full() {
                return Progress { consumed, next: Next::Park };
            }
            let rest = &input[consumed..];
            let step = match self.phase {
                Phase::Proxy => self.take_proxy_header(http, rest),
                Phase::Idle | Phase::Head(_) => self.take_head(http, rest, slots, context),
                Phase::Body => self.take_body(http, rest, context),
                Phase::Waiting | Phase::Sending => Progress { consumed: 0, next: Next::Park },
                Phase::Over => Progress { consumed: 0, next: Next::Linger },
            };
            consumed += step.consumed;
            if step.next != Next::Read {
                return Progress { consumed, next: step.next };
            }
            if step.consumed == 0 {
                // More bytes are needed.
                break;
            }
        }
        Progress { consumed, next: Next::Read }
    }

    fn take_proxy_header<A: Application>(&mut self, http: &mut Http<A>, input: &[u8]) -> Progress {
        match proxy::parse(input) {
            Ok(Parsed::Partial) => NEEDS_MORE,
            Ok(Parsed::Complete { length, source }) => {
                if let Source::Inet { source, .. } = source {
                    self.peer = Peer { address: source.ip().to_canonical(), port: source.port() };
                }
                self.phase = Phase::Idle;
                Progress { consumed: length, next: Next::Read }
            }
            Err(_) => {
                http.stats_mut().proxy_refused += 1;
                Progress { consumed: input.len(), next: Next::Abort }
            }
        }
    }

    #[inline]
    fn take_head<A: Application>(
        &mut self,
        http: &mut Http<A>,
        input: &[u8],
        slots: &mut FieldSlots,
        context: &mut Context<'_, A::Message>,
    ) -> Progress {
        let limits = &http.settings().head;
        if let Phase::Head(seen) = self.phase {
            // A head that arrives in small pieces is not parsed again for each of them.
            let fresh = input.get(seen as usize..).unwrap_or_default();
            if input.len() < limits.head_size && !head::may_complete(fresh) {
                self.phase = Phase::Head(u32::try_from(input.len()).unwrap_or(u32::MAX));
                return NEEDS_MORE;
            }
        }
        // Used in place, because moving a parsed head out would copy it.
        match &head::parse(input, limits, slots) {
            Ok(Head::Complete { request, length }) => match request.framing {
                Framing::None => {
                    let head = &input[..*length];
                    let next = http.answer(&self.asked(request, &[]), head, context);
                    self.after_answer(http, next, head, *length, input.len(), context)
                }
                Framing::Length(_) | Framing::Chunked => {
                    self.begin_body(http, request, input, *length, context)
                }
            },
            Ok(Head::Partial) => {
                if self.phase == Phase::Idle {
                    context.set_deadline_after_ms(head_deadline_ms(http, context));
                }
                self.phase = Phase::Head(u32::try_from(input.len()).unwrap_or(u32::MAX));
                NEEDS_MORE
            }
            Err(refusal) => self.refuse(http, refusal.status(), input, input.len(), context),
        }
    }

    #[inline]
    fn asked<'r>(&self, head: &'r head::Request<'r, 'r>, body: &'r [u8]) -> Asked<'r> {
        let request = Request { head, body, peer: self.peer, listener: self.listener };
        Asked { request, number: self.requests + 1 }
    }

    /// What follows an answer: the next request, the end, or a wait.
    #[inline(always)]
    fn after_answer<A: Application>(
        &mut self,
        http: &mut Http<A>,
        next: Next,
        head: &[u8],
        consumed: usize,
        available: usize,
        context: &mut Context<'_, A::Message>,
    ) -> Progress {
        if next == Next::Read {
            self.requests += 1;
            self.become_idle(http, context);
            return Progress { consumed, next };
        }
        self.after_last_answer(http, next, head, (consumed, available), context)
    }

    /// What follows an answer after which no request is read, or not now.
    fn after_last_answer<A: Application>(
        &mut self,
        http: &mut Http<A>,
        next: Next,
        head: &[u8],
        (consumed, available): (usize, usize),
        context: &mut Context<'_, A::Message>,
    ) -> Progress {
        match next {
            Next::Read | Next::Collect => Progress { consumed, next },
            Next::Finish => {
                self.phase = Phase::Over;
                // If bytes stayed unread, closing would send a reset, and the reply could be lost.
                let next = if consumed < available { Next::Linger } else { next };
                Progress { consumed, next }
            }
            Next::Changed => {
                self.phase = Phase::Over;
                Progress { consumed, next }
            }
            Next::Park => {
                let pending = Pending::new(head, context.id, context.now);
                self.ask_later(Box::new(pending), http, context);
                Progress { consumed, next }
            }
            Next::Linger | Next::Abort => {
                self.phase = Phase::Over;
                Progress { consumed: available, next }
            }
        }
    }

    #[inline]
    fn become_idle<A: Application>(
        &mut self,
        http: &Http<A>,
        context: &mut Context<'_, A::Message>,
    ) {
        self.phase = Phase::Idle;
        if context.is_draining() {
            // Its last answer did not announce the end. The next one can, if it is requested soon.
            context.set_deadline_after_ms(milliseconds(limits::DRAIN_IDLE_GRACE));
            return;
        }
        match http.settings().keep_alive_ms {
            Some(milliseconds) => context.set_deadline_after_ms(milliseconds),
            None => context.clear_deadline(),
        }
    }

    /// Handles another event. Called from [`runtime::service::Service::on_event`] of its process.
    pub fn on_event<A: Application>(
        &mut self,
        http: &mut Http<A>,
        event: Event,
        context: &mut Context<'_, A::Message>,
    ) -> Next {
        http.begin_event(context);
        match event {
            Event::Resumed if self.phase == Phase::Waiting => {
                self.ask_pending(http, 0, 0, context).next
            }
            Event::Resumed if self.is_paused() => self.resume_body(http, context),
            Event::PeerFinished if self.is_asking() => {
                match http.application_mut().on_peer_finished(context.id) {
                    Interest::Kept => Next::Park,
                    Interest::Doubted => self.probe(context),
                    Interest::Lost => Next::Abort,
                }
            }
            Event::Draining if self.is_beginning() => {
                // A client that has sent a part of a head may send the rest soon.
                context.set_deadline_after_ms(head_deadline_ms(http, context));
                self.unchanged(context)
            }
            Event::Resumed | Event::Draining | Event::PeerFinished => self.unchanged(context),
            Event::OutputDrained if self.phase == Phase::Sending => {
                self.wait(http, context);
                http.note_taken(context.id);
                Next::Park
            }
            Event::OutputDrained => {
                if self.phase == Phase::Idle {
                    // The keep-alive time begins when the reply has been sent.
                    self.become_idle(http, context);
                }
                self.unchanged(context)
            }
            Event::InputEnded if self.is_asking() => Next::Park,
            Event::InputEnded => Next::Finish,
            Event::DeadlineReached => self.on_deadline(http, context),
            // Cannot happen: it was accepted.
            Event::Connected | Event::ConnectFailed(_) => Next::Abort,
            Event::Overloaded => {
                self.leave(http);
                let _last = self.refuse(http, Status::SERVICE_UNAVAILABLE, &[], 0, context);
                Next::Linger
            }
        }
    }

    /// Continues as before. A connection that does not read because its output is full must not read now either: it would park
    /// again at once, be told again that the peer has ended, and so on forever.
    fn unchanged<M>(&self, context: &Context<'_, M>) -> Next {
        match self.phase {
            Phase::Waiting | Phase::Sending => Next::Park,
            Phase::Proxy | Phase::Idle | Phase::Head(_) | Phase::Body
                if context.output_is_full() =>
            {
                Next::Park
            }
            Phase::Body if self.is_paused() => Next::Park,
            Phase::Over => Next::Finish,
            Phase::Proxy | Phase::Idle | Phase::Head(_) | Phase::Body => Next::Read,
        }
    }

    fn on_deadline<A: Application>(
        &mut self,
        http: &mut Http<A>,
        context: &mut Context<'_, A::Message>,
    ) -> Next {
        match self.phase {
            Phase::Idle if self.requests > 0 => {
                http.stats_mut().keep_alive_timeouts += 1;
                Next::Finish
            }
            Phase::Idle | Phase::Proxy => {
                http.stats_mut().header_timeouts += 1;
                Next::Finish
            }
            Phase::Head(_) => {
                http.stats_mut().header_timeouts += 1;
                self.time_out(http, Status::REQUEST_TIMEOUT, context)
            }
            Phase::Body if self.is_paused() => {
                http.stats_mut().waits_expired += 1;
                self.time_out(http, Status::GATEWAY_TIMEOUT, context)
            }
            Phase::Body => {
                http.stats_mut().body_timeouts += 1;
                self.time_out(http, Status::REQUEST_TIMEOUT, context)
            }
            Phase::Waiting | Phase::Sending => {
                http.stats_mut().waits_expired += 1;
                self.give_up(http, Status::GATEWAY_TIMEOUT, 0, context).next
            }
            Phase::Over => Next::Finish,
        }
    }
}

/// Milliseconds for a head: fewer during a drain, which would otherwise last longer.
fn head_deadline_ms<A: Application>(http: &Http<A>, context: &Context<'_, A::Message>) -> u64 {
    let usual_ms = http.settings().header_deadline_ms;
    if context.is_draining() {
        usual_ms.min(milliseconds(limits::DRAIN_HEADER_DEADLINE))
    } else {
        usual_ms
    }
}
