//! The body of a request: where its bytes go.
//!
//! Owns the limit of a body, how long it may take, and the pauses of an application that gets it in pieces: then its
//! carrier reads nothing, so the sender is slowed down, and at most the rest of one receive is kept. Never interprets
//! body bytes, and knows no framing.

use runtime::clock::Now;
use runtime::service::Context;
use wire::http::fields::FieldList;
use wire::http::head::Framing;
use wire::http::status::Status;

use super::{BodyPlan, Exchange, State, Step};
use crate::application::{Application, Intake};
use crate::asked::{Asked, BodyRest};
use crate::request::Request;
use crate::shared::Http;
use crate::waiting::Urgency;

/// The part of a body that has arrived.
#[derive(Debug)]
pub(super) struct Intaken {
    /// The bytes that are kept.
    bytes: Vec<u8>,
    /// Bytes that the application keeps of those that were handed over to it.
    handed: usize,
    /// When it began to arrive; a pause of the application does not count.
    began_ns: u64,
    /// For how long its carrier had held it back when the deadline was set.
    held_back_ns: u64,
    /// Bytes received, with their framing.
    received: u64,
    /// Bytes of content.
    content: u64,
    limit: u64,
    invitation: Invitation,
    trailers: FieldList,
}

/// Whether the client waits for `100 Continue`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Invitation {
    /// No, or it has got it.
    None,
    /// It does, and gets it when its body is wanted.
    Due,
}

impl Intaken {
    pub(super) fn new(now: Now) -> Self {
        let began_ns = now.monotonic_ns;
        let invitation = Invitation::None;
        Self {
            bytes: Vec::new(),
            handed: 0,
            began_ns,
            held_back_ns: 0,
            received: 0,
            content: 0,
            limit: 0,
            invitation,
            trailers: FieldList::new(),
        }
    }

    pub(super) fn kept(&self) -> &[u8] {
        &self.bytes
    }

    /// The fields behind it, if there are any.
    pub(super) fn trailers(&self) -> Option<&FieldList> {
        Some(&self.trailers).filter(|trailers| !trailers.is_empty())
    }

    /// Bytes of memory that hold it.
    pub(super) fn held_bytes(&self) -> usize {
        self.bytes.capacity() + self.handed + self.trailers.cost()
    }

    /// Keeps a piece of a body of at most this length. The memory grows with what has arrived, and not beyond that
    /// length.
    fn add(&mut self, piece: &[u8], most: usize) {
        let (held, needed) = (self.bytes.capacity(), self.bytes.len() + piece.len());
        if needed > held {
            // By half: what is not filled is the client's for nothing.
            let grown = held.saturating_add(held / 2).min(most).max(needed);
            self.bytes.reserve_exact(grown - self.bytes.len());
        }
        self.bytes.extend_from_slice(piece);
    }

    /// Keeps the body of a request as far as it is known.
    pub(super) fn keep(&mut self, request: &Request<'_>) {
        self.bytes = request.body.to_vec();
        self.content = request.received;
    }

    /// Bytes of content that have come.
    pub(super) fn content(&self) -> u64 {
        self.content
    }

    /// A pause since this time was not the sender's, so it does not count as slowness.
    fn forgive(&mut self, since_ns: u64, now: Now) {
        let pause_ns = now.monotonic_ns.saturating_sub(since_ns);
        self.began_ns = self.began_ns.saturating_add(pause_ns);
    }

    /// Whether it arrives more slowly than the minimum rate, after the time for a pause. So long it could not come.
    fn is_too_slow(&self, now_ns: u64, held_back_ns: u64, (idle_ms, rate): (u64, u64)) -> bool {
        let elapsed_ns = now_ns.saturating_sub(self.began_ns).saturating_sub(held_back_ns);
        let elapsed_ms = elapsed_ns / 1_000_000;
        elapsed_ms > idle_ms && self.received < rate.saturating_mul(elapsed_ms) / 1000
    }
}

impl Exchange {
    /// A request whose body is taken as planned. `arrived` is what has already come of it, perhaps with its framing.
    pub(crate) fn with_body<A: Application>(
        http: &mut Http<A>,
        asked: &Asked<'_>,
        plan: BodyPlan,
        arrived: &[u8],
        context: &mut Context<'_, A::Message>,
    ) -> (Self, Step) {
        let mut exchange = Self::new(asked, context);
        exchange.body.limit = plan.limit();
        exchange.state = match plan {
            BodyPlan::Discard { .. } => State::Discarding,
            _ => State::Collecting,
        };
        let request = asked.request();
        let intake = http.ask(context, |application, context| match plan {
            BodyPlan::HandOver { .. } => application.begin_body(request, context),
            BodyPlan::Admit { .. } => application.admit_body(request, context),
            BodyPlan::Discard { .. }
            | BodyPlan::Collect { .. }
            | BodyPlan::Leave
            | BodyPlan::TooLarge => Intake::More,
        });
        if matches!(plan, BodyPlan::HandOver { .. }) {
            exchange.state = State::HandingOver;
            exchange.body.handed = http.application().kept_of_body(exchange.process);
        }
        exchange.kept = http.take_kept();
        if asked.head().expects_continue && arrived.is_empty() {
            exchange.body.invitation = Invitation::Due;
        }
        context.set_deadline_after_ms(http.settings().body_idle_ms);
        let step = exchange.after_intake(http, intake, context);
        (exchange, step)
    }

    /// Takes a piece of the body.
    pub(crate) fn take<A: Application>(
        &mut self,
        http: &mut Http<A>,
        piece: &[u8],
        context: &mut Context<'_, A::Message>,
    ) -> Step {
        self.body.content = self.body.content.saturating_add(piece.len() as u64);
        let is_longer = self.body.content > self.body.limit;
        match self.state {
            State::Discarding if is_longer => {
                self.rest = BodyRest::Unread;
                self.ask(http, context)
            }
            State::Discarding => Step::More,
            _ if is_longer => Step::Refuse(Status::CONTENT_TOO_LARGE),
            State::Collecting => {
                let length = match self.head.request().framing {
                    Framing::Length(length) => length,
                    Framing::None | Framing::Chunked => self.body.limit,
                };
                self.body.add(piece, usize::try_from(length).unwrap_or(usize::MAX));
                Step::More
            }
            _ => self.hand_over(http, piece, context),
        }
    }

    fn hand_over<A: Application>(
        &mut self,
        http: &mut Http<A>,
        piece: &[u8],
        context: &mut Context<'_, A::Message>,
    ) -> Step {
        http.lend_kept(self.kept.take());
        let intake = http.ask(context, |application, context| application.on_body(piece, context));
        self.body.handed = http.application().kept_of_body(self.process);
        self.kept = http.take_kept();
        let step = self.after_intake(http, intake, context);
        if matches!(self.state, State::HandingOver | State::Paused { .. }) {
            return self.answer_early(http, step, context);
        }
        step
    }

    /// Asks for the answer before the end of the body, if the application wants that, and the client has taken the part
    /// before. Otherwise the step is the one of the body.
    fn answer_early<A: Application>(
        &mut self,
        http: &mut Http<A>,
        of_body: Step,
        context: &mut Context<'_, A::Message>,
    ) -> Step {
        match http.application_mut().urgency(self.process) {
            Urgency::Nothing => return of_body,
            Urgency::Cut => return Step::Refuse(Status::GATEWAY_TIMEOUT),
            Urgency::Answer if self.begun.is_some() && context.queued_bytes() > 0 => {
                return of_body;
            }
            Urgency::Answer => {}
        }
        // The rest of the body may stay unread, so nothing after it can be a request.
        self.rest = BodyRest::Unread;
        let state = self.state;
        let step = self.ask(http, context);
        if step != Step::Wait {
            return step;
        }
        if self.state == State::Sending {
            // A process that reads is not told when its output was sent at once.
            http.note_written(context.id);
        }
        self.state = state;
        of_body
    }

    fn after_intake<A: Application>(
        &mut self,
        http: &mut Http<A>,
        intake: Intake,
        context: &mut Context<'_, A::Message>,
    ) -> Step {
        match intake {
            Intake::More => {
                if let State::Admitting { since_ns } = self.state {
                    self.body.forgive(since_ns, context.now);
                    self.state = State::Collecting;
                }
                if std::mem::replace(&mut self.body.invitation, Invitation::None) == Invitation::Due
                {
                    http.invite(self.way.last_encoder(), context.output);
                }
                Step::More
            }
            Intake::Pause => {
                let since_ns = context.now.monotonic_ns;
                let paused = match self.state {
                    State::Collecting => State::Admitting { since_ns },
                    State::Admitting { .. } | State::Paused { .. } => return Step::Wait,
                    _ => State::Paused { since_ns },
                };
                self.state = paused;
                // This time is not the sender's fault, so the deadline for an answer applies.
                self.be_patient(http, context);
                Step::Wait
            }
            Intake::Enough => {
                // The rest is left unread, and the connection ends with the answer.
                self.rest = BodyRest::Unread;
                self.ask(http, context)
            }
        }
    }

    /// The process was resumed: asks whether the body may come now.
    pub(super) fn resume_admission<A: Application>(
        &mut self,
        http: &mut Http<A>,
        context: &mut Context<'_, A::Message>,
    ) -> Step {
        http.lend_kept(self.kept.take());
        let head = self.head.request();
        let request = &self.request(&head);
        let intake =
            http.ask(context, |application, context| application.admit_body(request, context));
        self.kept = http.take_kept();
        self.after_intake(http, intake, context)
    }

    /// The process was resumed: asks whether the application wants more, or has its answer already.
    pub(super) fn resume_body<A: Application>(
        &mut self,
        http: &mut Http<A>,
        context: &mut Context<'_, A::Message>,
    ) -> Step {
        let step = self.hand_over(http, &[], context);
        if let (Step::More, State::Paused { since_ns }) = (step, self.state) {
            self.body.forgive(since_ns, context.now);
            self.state = State::HandingOver;
        }
        step
    }

    /// Counts bytes that were received for the body, whether they were content or framing.
    pub(crate) fn count_received(&mut self, bytes: usize) {
        self.body.received += bytes as u64;
    }

    /// More of the body has to come: it may take a while, but not arrive too slowly.
    pub(crate) fn expect_more<A: Application>(
        &mut self,
        http: &mut Http<A>,
        context: &mut Context<'_, A::Message>,
    ) -> Step {
        let (idle_ms, rate) = (http.settings().body_idle_ms, http.settings().body_rate);
        let held_back_ns = context.held_back_ns();
        if self.body.is_too_slow(context.now.monotonic_ns, held_back_ns, (idle_ms, rate)) {
            http.stats_mut().body_timeouts += 1;
            return Step::Refuse(Status::REQUEST_TIMEOUT);
        }
        self.body.held_back_ns = held_back_ns;
        context.set_deadline_after_ms(idle_ms);
        Step::More
    }

    /// Nothing has come for long. A client that could not send meanwhile is given the time again.
    pub(super) fn expect_late<A: Application>(
        &mut self,
        http: &mut Http<A>,
        context: &mut Context<'_, A::Message>,
    ) -> Step {
        let held_back_ns = context.held_back_ns();
        if std::mem::replace(&mut self.body.held_back_ns, held_back_ns) < held_back_ns {
            context.set_deadline_after_ms(http.settings().body_idle_ms);
            return Step::More;
        }
        http.stats_mut().body_timeouts += 1;
        Step::Refuse(Status::REQUEST_TIMEOUT)
    }

    /// The body is complete, and these fields came behind it.
    pub(crate) fn end_body<A: Application>(
        &mut self,
        http: &mut Http<A>,
        trailers: FieldList,
        context: &mut Context<'_, A::Message>,
    ) -> Step {
        if !trailers.is_empty() {
            self.body.trailers = trailers;
        }
        match self.head.request().framing {
            // RFC 9113 section 8.1.1; where a codec finds the end by the length, they are equal.
            Framing::Length(length) if length != self.body.content => {
                Step::Refuse(Status::BAD_REQUEST)
            }
            Framing::None | Framing::Length(_) | Framing::Chunked => self.ask_at_end(http, context),
        }
    }

    fn ask_at_end<A: Application>(
        &mut self,
        http: &mut Http<A>,
        context: &mut Context<'_, A::Message>,
    ) -> Step {
        if self.state == State::HandingOver {
            http.lend_kept(self.kept.take());
            let trailers = &self.body.trailers;
            http.ask(context, |application, context| application.on_body_end(trailers, context));
            self.kept = http.take_kept();
        }
        if self.begun.is_some() && context.queued_bytes() > 0 {
            self.wait(http, context);
            self.state = State::Sending;
            return Step::Wait;
        }
        self.ask(http, context)
    }
}
