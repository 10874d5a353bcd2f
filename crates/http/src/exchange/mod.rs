//! One request and its answer across turns, whatever carries them: it waits, its answer is sent in parts, its body
//! arrives.
//!
//! Owns what is kept of a request between two calls of the application, and the deadlines of both sides. `intake` has
//! the body, `ended` an end before the last call. Knows neither the framing of a message nor a socket: a
//! [`Connection`](crate::Connection) of HTTP/1 and a [`Stream`](crate::Stream) feed it, and do what its steps say.

mod ended;
mod intake;
mod plan;

use std::any::Any;
use std::net::IpAddr;
use std::rc::Rc;

use runtime::service::{Context, Event, ListenerIndex, Next};
use runtime::slots::ProcessId;
use runtime::transport::Agreed;
use sys::socket::Peer;
use wire::http::head;
use wire::http::kept::KeptHead;
use wire::http::status::Status;

use crate::application::Application;
use crate::asked::{Asked, BodyRest, Way};
use crate::begun::Begun;
use crate::request::{Begin, Request};
use crate::shared::Http;
use crate::waiting::{Patience, Urgency};
use intake::Intaken;
pub(super) use plan::BodyPlan;

/// One request that is not answered yet.
#[derive(Debug)]
pub(super) struct Exchange {
    process: ProcessId,
    peer: Peer,
    via: Option<Peer>,
    begin: Begin,
    listener: ListenerIndex,
    secured: Option<Rc<Agreed>>,
    head: KeptHead,
    way: Way,
    rest: BodyRest,
    state: State,
    body: Intaken,
    /// The part of its answer that was sent, if it is sent in parts.
    begun: Option<Begun>,
    /// The value that the application keeps with it: its route, and its place in the answer.
    kept: Option<Box<dyn Any>>,
}

/// The event that has to come before the application is asked (again).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The body arrives and is kept until it is complete.
    Collecting,
    /// The body arrives and is not kept.
    Discarding,
    /// The application has not said whether the body may come, which is kept then.
    Admitting {
        /// Since when, on the monotonic clock.
        since_ns: u64,
    },
    /// The body arrives and goes to the application.
    HandingOver,
    /// The application wants no more of the body for now.
    Paused {
        /// Since when, on the monotonic clock.
        since_ns: u64,
    },
    /// The application resumes the process.
    Waiting,
    /// The client takes the part of the answer that was sent.
    Sending,
    /// Nothing: the answer is complete.
    Over,
}

/// The next step of its carrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Passes more of the body.
    More,
    /// Reads nothing until an event.
    Wait,
    /// Refuses the request with this status: [`Exchange::end`].
    Refuse(Status),
    /// Drops the exchange: its answer is complete, or will not be. What that means for a connection is said as after
    /// [`Http::answer`](crate::Http).
    Over(Next),
}

impl Exchange {
    /// A request for which the application was not asked yet.
    #[inline]
    pub(super) fn new<M>(asked: &Asked<'_>, context: &Context<'_, M>) -> Self {
        let request = asked.request();
        Self {
            process: context.id,
            peer: request.peer,
            via: request.via,
            begin: request.begin,
            listener: request.listener,
            secured: request.secured.cloned(),
            head: KeptHead::of(request.head),
            way: asked.way(),
            rest: asked.rest(),
            state: State::Waiting,
            body: Intaken::new(context.now),
            begun: None,
            kept: None,
        }
    }

    /// Goes on with a new one that the application has not answered completely: it waits, or has written a part.
    pub(super) fn begin_unanswered<A: Application>(
        &mut self,
        http: &mut Http<A>,
        asked: &Asked<'_>,
        context: &mut Context<'_, A::Message>,
    ) {
        self.body.keep(asked.request());
        self.wait_for_next_call(http, context);
    }

    /// Asks the application for the answer, or for more of it.
    pub(super) fn ask<A: Application>(
        &mut self,
        http: &mut Http<A>,
        context: &mut Context<'_, A::Message>,
    ) -> Step {
        http.lend_kept(self.kept.take());
        let head = self.head.request();
        let asked = Asked::new(self.request(&head), self.way, self.rest);
        match http.answer_out_of_line(&asked, self.begun, context) {
            Next::Park => {
                self.wait_for_next_call(http, context);
                Step::Wait
            }
            next => {
                self.state = State::Over;
                Step::Over(next)
            }
        }
    }

    /// The request, with this head, which is its own.
    fn request<'a>(&'a self, head: &'a head::RequestHead<'a, 'a>) -> Request<'a> {
        let (peer, via, begin, listener) = (self.peer, self.via, self.begin, self.listener);
        let (secured, body) = (self.secured.as_ref(), self.body.kept());
        let (received, trailers) = (self.body.content(), self.body.trailers());
        Request { head, body, trailers, received, peer, via, begin, listener, secured }
    }

    /// After a part, the application is asked again when the part has been sent, or in the next turn if there was
    /// nothing to send.
    fn wait_for_next_call<A: Application>(
        &mut self,
        http: &mut Http<A>,
        context: &mut Context<'_, A::Message>,
    ) {
        self.kept = http.take_kept();
        let begun = http.take_begun();
        let has_part = begun.is_some();
        self.begun = begun.or(self.begun);
        self.wait(http, context);
        if has_part && context.output.is_empty() {
            http.note_taken(context.id);
        } else if has_part {
            self.state = State::Sending;
        }
    }

    fn wait<A: Application>(&mut self, http: &Http<A>, context: &mut Context<'_, A::Message>) {
        self.state = State::Waiting;
        self.be_patient(http, context);
    }

    /// Sets the deadline of the application.
    fn be_patient<A: Application>(&self, http: &Http<A>, context: &mut Context<'_, A::Message>) {
        match http.application().patience(self.process) {
            Patience::Settings => context.set_deadline_after_ms(http.settings().answer_deadline_ms),
            Patience::Endless => context.clear_deadline(),
        }
    }

    /// Handles an event that may continue it. `None`: it goes on as before.
    pub(super) fn on_event<A: Application>(
        &mut self,
        http: &mut Http<A>,
        event: Event,
        context: &mut Context<'_, A::Message>,
    ) -> Option<Step> {
        match (event, self.state) {
            (Event::Resumed, State::Waiting) => Some(self.ask(http, context)),
            (Event::Resumed, State::Admitting { .. }) => Some(self.resume_admission(http, context)),
            // There may be an answer before the end of the body.
            (Event::Resumed, State::HandingOver | State::Paused { .. }) => {
                Some(self.resume_body(http, context))
            }
            (Event::OutputDrained, State::HandingOver | State::Paused { .. })
                if self.begun.is_some() =>
            {
                Some(self.resume_body(http, context))
            }
            (Event::Resumed, State::Sending) => {
                let is_cut = http.application_mut().urgency(self.process) == Urgency::Cut;
                is_cut.then_some(Step::Refuse(Status::GATEWAY_TIMEOUT))
            }
            (Event::OutputDrained, State::Sending) => {
                self.wait(http, context);
                http.note_taken(context.id);
                Some(Step::Wait)
            }
            (
                Event::DeadlineReached,
                State::Discarding | State::Collecting | State::HandingOver,
            ) => Some(self.expect_late(http, context)),
            (
                Event::DeadlineReached,
                State::Admitting { .. } | State::Paused { .. } | State::Waiting | State::Sending,
            ) => {
                http.stats_mut().waits_expired += 1;
                Some(Step::Refuse(Status::GATEWAY_TIMEOUT))
            }
            (Event::Overloaded, _) => Some(Step::Refuse(Status::SERVICE_UNAVAILABLE)),
            _ => None,
        }
    }

    /// Bytes of memory that it holds: the head and what is kept of the body.
    pub(super) fn held_bytes(&self) -> usize {
        self.head.held_bytes() + self.body.held_bytes()
    }

    /// The address of the client.
    pub(super) fn client(&self) -> IpAddr {
        self.peer.address
    }

    /// Whether the application has to be asked again, and nothing is read until then.
    pub(super) fn is_asking(&self) -> bool {
        self.is_waiting() || self.state == State::Sending
    }

    /// Whether no part of the answer is awaited to be sent, and the application will resume the process.
    pub(super) fn is_waiting(&self) -> bool {
        matches!(self.state, State::Waiting | State::Admitting { .. } | State::Paused { .. })
    }

    /// Whether its carrier reads nothing.
    pub(super) fn reads_nothing(&self) -> bool {
        !matches!(self.state, State::Discarding | State::Collecting | State::HandingOver)
    }

    /// Whether the rest of the body is left unread, so that nothing after it can be a request.
    pub(super) fn leaves_rest(&self) -> bool {
        self.rest == BodyRest::Unread
    }

    /// Bytes that may be sent while it waits: see [`Begun::idle_bytes`]. `None` if its answer was not begun.
    pub(super) fn idle_bytes(&self) -> Option<&'static [u8]> {
        self.begun.map(|begun| begun.idle_bytes())
    }
}
