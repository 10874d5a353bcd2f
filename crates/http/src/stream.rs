//! A request on a stream, which another process carries: its states, and what they mean for the stream.
//!
//! Owns the front of a stream, as `connection` owns that of HTTP/1: it gets the head as a value, the bytes of the
//! body as input and their end as an event, and ends with its answer. Its output is a head block
//! ([`HeadBlock`](crate::HeadBlock)) and the body. Never frames a byte and never sees the connection.

use std::any::Any;
use std::net::IpAddr;
use std::rc::Rc;

use runtime::service::{CloseReason, Context, Event, ListenerIndex, Next, Progress};
use runtime::trace;
use runtime::transport::Agreed;
use sys::socket::Peer;
use wire::http::fields::FieldList;
use wire::http::forwarded::{self, MalformedForwarded};
use wire::http::head::{self, Framing};
use wire::http::kept::KeptHead;
use wire::http::refusal::Refusal;
use wire::http::status::Status;

use super::application::Application;
use super::asked::{Asked, BodyRest, Way};
use super::exchange::{BodyPlan, Exchange, Step};
use super::forwarding::Sender;
use super::limits;
use super::refused::Refused;
use super::request::Request;
use super::shared::Http;
use super::traced;

/// The process of one request that came on a stream.
///
/// Its service calls [`begin`](Self::begin) when the process starts, and then passes input and events on, as to a
/// [`Connection`](crate::Connection).
#[derive(Debug)]
pub struct Stream(State);

#[derive(Debug)]
enum State {
    /// The request has come, and nothing was done yet.
    New(Box<Opening>),
    /// The same, and it is refused.
    Refused(Box<RefusedOpening>),
    /// The request is not answered yet.
    Underway(Box<Exchange>),
    /// The answer is complete.
    Over,
}

/// A request that has just come.
#[derive(Debug)]
struct Opening {
    head: KeptHead,
    peer: Peer,
    listener: ListenerIndex,
    secured: Option<Rc<Agreed>>,
}

/// A request that breaks a rule, so that it has no head.
#[derive(Debug)]
struct RefusedOpening {
    status: Status,
    peer: Peer,
    /// The part of it that the log shows.
    seen: Box<[u8]>,
}

// As small as a connection: each slot of a service has room for either.
const _: () = assert!(size_of::<Stream>() <= 16);

impl Stream {
    /// The request of the client at `peer`, over a connection of this listener. `secured` is what the transport of the
    /// connection agreed on, if it encrypts.
    pub fn new(
        head: KeptHead,
        peer: Peer,
        listener: ListenerIndex,
        secured: Option<Rc<Agreed>>,
    ) -> Self {
        Self(State::New(Box::new(Opening { head, peer, listener, secured })))
    }

    /// A request of the client at `peer` that is answered with this refusal. The log shows the first bytes of `seen`.
    pub fn refused(refusal: Refusal, seen: &[u8], peer: Peer) -> Self {
        let seen = seen.get(..limits::LOG_REFUSED_BYTES).unwrap_or(seen).into();
        Self(State::Refused(Box::new(RefusedOpening { status: refusal.status(), peer, seen })))
    }

    /// This stream as an opening for the runtime: [`runtime::streams::Streams::open`].
    #[must_use]
    pub fn into_opening(self) -> Box<dyn Any> {
        match self.0 {
            State::New(opening) => opening,
            State::Refused(opening) => opening,
            state @ (State::Underway(_) | State::Over) => Box::new(Self(state)),
        }
    }

    /// The stream of such an opening: [`runtime::service::Service::on_carry`].
    pub fn of_opening(opening: Box<dyn Any>) -> Option<Self> {
        let opening = match opening.downcast() {
            Ok(opening) => return Some(Self(State::New(opening))),
            Err(opening) => opening,
        };
        opening.downcast().ok().map(|opening| Self(State::Refused(opening)))
    }

    /// Begins to answer. Returns what the process does next.
    pub fn begin<A: Application>(
        &mut self,
        http: &mut Http<A>,
        context: &mut Context<'_, A::Message>,
    ) -> Next {
        http.begin_event(context);
        http.stats_mut().http2_requests += 1;
        let opening = match std::mem::replace(&mut self.0, State::Over) {
            State::New(opening) => opening,
            State::Refused(opening) => {
                let RefusedOpening { status, peer, ref seen } = *opening;
                http.refuse(Refused::values(status, peer, seen), context);
                return Next::Finish;
            }
            State::Underway(_) | State::Over => return Next::Abort,
        };
        let head = opening.head.request();
        if !forwarded::may_be_in(&head.fields)
            || !head.fields.iter().any(|(name, _)| forwarded::concerns_proxies(name))
        {
            let sender = Sender::itself(opening.peer);
            return self.begin_of(&opening, &head, sender, http, context);
        }
        let mut room = http.lend_slots_that_stay();
        let read = http.settings().trusted.read(&head, opening.peer, &mut room);
        let next = match &read {
            Ok((head, sender)) => self.begin_of(&opening, head, *sender, http, context),
            Err(MalformedForwarded) => {
                http.note_malformed_forwarding(opening.peer, context.now);
                refuse(Status::BAD_REQUEST, &opening, http, context)
            }
        };
        http.return_slots_that_stay(room);
        next
    }

    /// Begins to answer a request whose client is known.
    fn begin_of<A: Application>(
        &mut self,
        opening: &Opening,
        head: &head::RequestHead<'_, '_>,
        sender: Sender,
        http: &mut Http<A>,
        context: &mut Context<'_, A::Message>,
    ) -> Next {
        let Sender { peer, via } = sender;
        // The certificate of a proxy is not the certificate of its client.
        let secured = opening.secured.as_ref().filter(|_| via.is_none());
        let listener = opening.listener;
        let begin = http.begin_request(context.now);
        if trace::is_on() {
            traced::head(context.id, head, peer, begin);
        }
        let (body, received, trailers): (&[u8], u64, _) = (&[], 0, None);
        let request =
            Request { head, body, trailers, received, peer, via, begin, listener, secured };
        let asked = Asked::new(request, Way::Stream, BodyRest::Read);
        let plan = match head.framing {
            Framing::None => BodyPlan::Leave,
            Framing::Length(_) | Framing::Chunked => http.plan_body(&asked, context),
        };
        match plan {
            BodyPlan::Leave => {
                let next = http.answer_out_of_line(&asked, None, context);
                if next == Next::Park {
                    let mut exchange = Box::new(Exchange::new(&asked, context));
                    exchange.begin_unanswered(http, &asked, context);
                    self.0 = State::Underway(exchange);
                }
                end_of_stream(next)
            }
            BodyPlan::TooLarge => {
                let (status, way) = (Status::CONTENT_TOO_LARGE, asked.way());
                http.refuse(Refused::asked(status, way, asked.request()), context);
                Next::Finish
            }
            BodyPlan::Discard { .. }
            | BodyPlan::Collect { .. }
            | BodyPlan::Admit { .. }
            | BodyPlan::HandOver { .. } => {
                let (exchange, step) = Exchange::with_body(http, &asked, plan, &[], context);
                self.0 = State::Underway(Box::new(exchange));
                self.after_step(http, step, context)
            }
        }
    }

    /// Takes bytes of the body. Called from [`runtime::service::Service::on_input`] of its process.
    pub fn on_input<A: Application>(
        &mut self,
        http: &mut Http<A>,
        input: &[u8],
        context: &mut Context<'_, A::Message>,
    ) -> Progress {
        http.begin_event(context);
        let State::Underway(exchange) = &mut self.0 else {
            return Progress { consumed: input.len(), next: Next::Finish };
        };
        if exchange.reads_nothing() {
            return Progress { consumed: 0, next: Next::Park };
        }
        exchange.count_received(input.len());
        let mut step = exchange.take(http, input, context);
        if step == Step::More {
            step = exchange.expect_more(http, context);
        }
        Progress { consumed: input.len(), next: self.after_step(http, step, context) }
    }

    /// Handles another event. Called from [`runtime::service::Service::on_event`] of its process.
    pub fn on_event<A: Application>(
        &mut self,
        http: &mut Http<A>,
        event: Event,
        context: &mut Context<'_, A::Message>,
    ) -> Next {
        match event {
            Event::Connected => return self.begin(http, context),
            Event::Overloaded => match std::mem::replace(&mut self.0, State::Over) {
                State::New(opening) => {
                    return refuse(Status::SERVICE_UNAVAILABLE, &opening, http, context);
                }
                state => self.0 = state,
            },
            _ => {}
        }
        http.begin_event(context);
        let State::Underway(exchange) = &mut self.0 else { return Next::Finish };
        let step = match event {
            // The client has ended its body, which may be empty.
            Event::InputEnded if !exchange.reads_nothing() => {
                let with_end = context.take_with_end().and_then(|it| it.downcast().ok());
                let trailers = with_end.map_or_else(FieldList::new, |trailers| *trailers);
                Some(exchange.end_body(http, trailers, context))
            }
            // Cannot happen: a stream connects to nothing.
            Event::ConnectFailed(_) => return Next::Abort,
            event => exchange.on_event(http, event, context),
        };
        let step = match step {
            // The application has ended its pause.
            Some(Step::More) => Some(exchange.expect_more(http, context)),
            step => step,
        };
        match step {
            Some(step) => self.after_step(http, step, context),
            None if exchange.reads_nothing() || context.output_is_full() => Next::Park,
            None => Next::Read,
        }
    }

    /// Bytes of memory that the request holds: [`runtime::service::Service::held_bytes`].
    pub fn held_bytes(&self) -> usize {
        match &self.0 {
            State::New(opening) => opening.head.held_bytes(),
            State::Refused(opening) => opening.seen.len(),
            State::Underway(exchange) => exchange.held_bytes(),
            State::Over => 0,
        }
    }

    /// The address of the client, while its request is not answered: [`runtime::service::Service::client`].
    pub fn client(&self) -> Option<IpAddr> {
        match &self.0 {
            State::New(opening) => Some(opening.peer.address),
            State::Refused(opening) => Some(opening.peer.address),
            State::Underway(exchange) => Some(exchange.client()),
            State::Over => None,
        }
    }

    /// The process has ended: [`runtime::service::Service::on_close`].
    pub fn on_close<A: Application>(self, http: &mut Http<A>, reason: CloseReason) {
        match self.0 {
            State::Underway(exchange) => exchange.on_close(http, reason),
            State::New(_) | State::Refused(_) | State::Over => http.on_panic(reason),
        }
    }

    fn after_step<A: Application>(
        &mut self,
        http: &mut Http<A>,
        step: Step,
        context: &mut Context<'_, A::Message>,
    ) -> Next {
        match step {
            Step::More => Next::Read,
            Step::Wait => Next::Park,
            Step::Refuse(status) => match std::mem::replace(&mut self.0, State::Over) {
                State::Underway(exchange) => end_of_stream(exchange.end(http, status, context)),
                State::New(_) | State::Refused(_) | State::Over => Next::Abort,
            },
            Step::Over(next) => {
                self.0 = State::Over;
                end_of_stream(next)
            }
        }
    }
}

/// Refuses a request that was not begun.
fn refuse<A: Application>(
    status: Status,
    opening: &Opening,
    http: &mut Http<A>,
    context: &mut Context<'_, A::Message>,
) -> Next {
    let (head, begin) = (opening.head.request(), http.begin_request(context.now));
    let Opening { peer, listener, ref secured, .. } = *opening;
    let (via, secured) = (None, secured.as_ref());
    let (head, body, received, trailers): (_, &[u8], u64, _) = (&head, &[], 0, None);
    let request = Request { head, body, trailers, received, peer, via, begin, listener, secured };
    http.refuse(Refused::unasked(status, Way::Stream, &request), context);
    Next::Finish
}

/// The step after an answer on a stream, which carries no other request.
fn end_of_stream(next: Next) -> Next {
    match next {
        Next::Read | Next::Again | Next::Collect | Next::Finish | Next::Linger => Next::Finish,
        Next::Park | Next::Changed | Next::Abort => next,
    }
}
