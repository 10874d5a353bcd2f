//! An HTTP/1.1 connection: its states, and the path of a request through them.
//!
//! Owns what one connection keeps between turns, which is little: an idle one has no buffer and no
//! head. `Http` (the service) owns what all connections of a scheduler share, an exchange what is kept of a request
//! that is not answered at once. Never looks into a request beyond its framing; the application answers.

mod after;
mod body;
mod forwarded_head;
mod prior_knowledge;
mod probe;
mod proxy_header;
mod received;
mod refusal;
mod underway;

use std::net::IpAddr;
use std::rc::Rc;

use runtime::account::{TimeAccount, change_to};
use runtime::clock::milliseconds;
use runtime::service::{Context, Event, ListenerIndex, Next, Progress};
use runtime::trace;
use runtime::transport::Agreed;
use sys::socket::Peer;
use wire::http::forwarded;
use wire::http::head::{self, FieldSlots, Framing, Head};
use wire::http::status::Status;
use wire::http::url::Scheme;

use self::probe::Lead;
use self::received::Received;
use self::underway::Underway;
use crate::application::{Application, ClientInterest};
use crate::asked::{Asked, BodyRest, Way};
use crate::forwarding::Sender;
use crate::limits;
use crate::request::{Begin, Request};
use crate::shared::Http;
use crate::traced;
use runtime::arrival::Arrival;

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Waiting for the PROXY header that its listener requires.
    Proxy,
    /// Between requests: no byte of the next one has arrived.
    Idle,
    /// A head has begun; this many bytes of it contain no end.
    Head(u32),
    /// A request is not answered yet: its body arrives, or the application has to be asked again.
    Underway,
    /// The client speaks HTTP/2: see [`Connection::to_http2`].
    Http2,
    /// The last reply was sent.
    Over,
}

/// One connection between turns.
#[derive(Debug)]
pub struct Connection {
    /// The request of [`Phase::Underway`].
    underway: Option<Box<Underway>>,
    arrival: Arrival,
    listener: ListenerIndex,
    requests: u32,
    phase: Phase,
    lead: Lead,
    /// Whether its transport encrypts.
    scheme: Scheme,
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
        Some(Self {
            underway: None,
            arrival: Arrival::new(peer, context.now),
            listener,
            requests: 0,
            phase,
            lead: Lead::Unsent,
            scheme: Scheme::Http,
        })
    }

    /// Whether it is between requests.
    pub fn is_idle(&self) -> bool {
        matches!(self.phase, Phase::Idle | Phase::Over)
    }

    /// The number of requests so far.
    pub fn requests(&self) -> u32 {
        self.requests
    }

    /// Bytes of memory that the request holds that is not answered yet: its head, and what has arrived of its body.
    /// For [`runtime::service::Service::held_bytes`].
    #[inline]
    pub fn held_bytes(&self) -> usize {
        self.underway.as_ref().map_or(0, |underway| underway.held_bytes())
    }

    /// The address of the client: [`runtime::service::Service::client`]. Between requests, that of the other end.
    pub fn client(&self) -> IpAddr {
        let underway = self.underway.as_ref();
        underway.map_or(self.arrival.peer.address, |underway| underway.client())
    }

    /// The other end.
    pub fn arrival(&self) -> Arrival {
        self.arrival
    }

    /// Whether a head has begun and is incomplete.
    pub fn is_beginning(&self) -> bool {
        matches!(self.phase, Phase::Proxy | Phase::Head(_))
    }

    /// The handshake of its transport is over, which encrypts. Called from
    /// [`runtime::service::Service::on_agreed`] of its process.
    pub fn on_agreed<A: Application>(
        &mut self,
        http: &Http<A>,
        context: &mut Context<'_, A::Message>,
    ) -> Next {
        self.scheme = Scheme::Https;
        context.set_deadline_after_ms(http.settings().header_deadline_ms);
        self.after_handshake(context)
    }

    /// Handles received bytes: as many requests as they contain. Called from [`runtime::service::Service::on_input`] of
    /// its process.
    #[inline]
    pub fn on_input<A: Application>(
        &mut self,
        http: &mut Http<A>,
        input: &[u8],
        context: &mut Context<'_, A::Message>,
    ) -> Progress {
        http.begin_event(context);
        let mut slots = http.lend_slots();
        let before = self.requests;
        let progress = self.take_input(http, input, &mut slots, context);
        http.return_slots(slots);
        if self.requests != before && self.phase == Phase::Idle {
            // Once for all requests that were answered.
            self.await_request(http, context);
        }
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
                Phase::Idle | Phase::Head(_) => self.take_head(http, rest, slots, context),
                Phase::Proxy => self.take_proxy_header(http, rest),
                Phase::Underway => self.take_body(http, rest, context),
                Phase::Http2 => Progress { consumed: 0, next: Next::Changed },
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
        change_to(TimeAccount::Parse);
        match &head::parse(input, self.scheme, limits, slots) {
            Ok(Head::Complete { request, length }) => {
                change_to(TimeAccount::Handler);
                let received = Received::new(input, *length);
                if forwarded::may_be_in(&request.fields) {
                    return self.take_forwarded(http, request, received, context);
                }
                let sender = Sender::itself(self.arrival.peer);
                self.take_request(http, request, sender, received, context)
            }
            Ok(Head::Partial) => {
                if self.phase == Phase::Idle {
                    context.set_deadline_after_ms(head_deadline_ms(http, context));
                }
                self.phase = Phase::Head(u32::try_from(input.len()).unwrap_or(u32::MAX));
                NEEDS_MORE
            }
            Err(refusal) => {
                if let Some(progress) = self.take_preface(http, input, context) {
                    return progress;
                }
                self.refuse(http, refusal.status(), input, context);
                Progress { consumed: input.len(), next: Next::Linger }
            }
        }
    }

    /// Takes a request whose client is known: answers it, or waits for its body.
    #[inline(always)]
    fn take_request<A: Application>(
        &mut self,
        http: &mut Http<A>,
        request: &head::RequestHead<'_, '_>,
        sender: Sender,
        received: Received<'_>,
        context: &mut Context<'_, A::Message>,
    ) -> Progress {
        let secured = self.secured(sender, context);
        // Nothing else keeps the sender, so that it is not copied once more.
        let asked = self.asked(request, secured.as_ref(), sender, http.begin_request(context.now));
        if trace::is_on() {
            let Request { peer, begin, .. } = *asked.request();
            traced::head(context.id, request, peer, begin);
        }
        match request.framing {
            Framing::None => {
                let next = http.answer(&asked, None, context);
                self.after_answer(http, next, &asked, received.used(0), context)
            }
            Framing::Length(_) | Framing::Chunked => {
                self.begin_body(http, asked, received, context)
            }
        }
    }

    #[inline]
    fn asked<'r>(
        &self,
        head: &'r head::RequestHead<'r, 'r>,
        secured: Option<&'r Rc<Agreed>>,
        sender: Sender,
        begin: Begin,
    ) -> Asked<'r> {
        let Sender { peer, via } = sender;
        let (body, received, listener, trailers) = (&[], 0, self.listener, None);
        let request =
            Request { head, body, trailers, received, peer, via, begin, listener, secured };
        let way = Way::Connection { number: self.requests + 1 };
        Asked::new(request, way, BodyRest::Read)
    }

    /// The agreement of its transport with the client, if it encrypts. Nothing that a proxy shows is something its
    /// client has shown.
    #[inline]
    fn secured<M>(&self, sender: Sender, context: &mut Context<'_, M>) -> Option<Rc<Agreed>> {
        if self.scheme == Scheme::Http || sender.via.is_some() { None } else { context.agreed() }
    }

    /// Handles another event. Called from [`runtime::service::Service::on_event`] of its process.
    pub fn on_event<A: Application>(
        &mut self,
        http: &mut Http<A>,
        event: Event,
        context: &mut Context<'_, A::Message>,
    ) -> Next {
        http.begin_event(context);
        if self.underway.is_some()
            && let Some(next) = self.on_event_of_request(http, event, context)
        {
            return next;
        }
        match event {
            Event::PeerFinished if self.is_asking() => {
                match http.application_mut().on_peer_finished(context.id) {
                    ClientInterest::Kept => Next::Park,
                    ClientInterest::Doubted => self.probe(context),
                    ClientInterest::Lost => Next::Abort,
                }
            }
            Event::Draining if self.is_beginning() => {
                // A client that has sent a part of a head may send the rest soon.
                context.set_deadline_after_ms(head_deadline_ms(http, context));
                self.unchanged(context)
            }
            Event::Resumed | Event::Draining | Event::PeerFinished => self.unchanged(context),
            Event::OutputDrained => {
                if self.phase == Phase::Idle {
                    // The keep-alive time begins when the reply has been sent.
                    self.await_request(http, context);
                }
                self.unchanged(context)
            }
            Event::InputEnded if self.is_asking() => Next::Park,
            Event::InputEnded => Next::Finish,
            Event::DeadlineReached => self.on_deadline(http, context),
            // Cannot happen: it was accepted.
            Event::Connected | Event::ConnectFailed(_) => Next::Abort,
            Event::Overloaded => {
                self.refuse(http, Status::SERVICE_UNAVAILABLE, &[], context);
                Next::Linger
            }
        }
    }

    /// Continues as before. A connection that does not read because its output is full must not read now either: it
    /// would park again at once, be told again that the peer has ended, and so on forever.
    fn unchanged<M>(&self, context: &Context<'_, M>) -> Next {
        match self.phase {
            Phase::Http2 | Phase::Over => Next::Finish,
            Phase::Underway if self.reads_nothing() => Next::Park,
            Phase::Proxy | Phase::Idle | Phase::Head(_) | Phase::Underway => {
                if context.output_is_full() { Next::Park } else { Next::Read }
            }
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
                self.refuse(http, Status::REQUEST_TIMEOUT, &[], context);
                Next::Linger
            }
            // The deadlines of a request are its own.
            Phase::Underway => self.unchanged(context),
            Phase::Http2 | Phase::Over => Next::Finish,
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
