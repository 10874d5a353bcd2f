//! The request of a connection that is not answered at once.
//!
//! Owns the exchange and the decoder of its body, and what the steps of the exchange mean for the connection. Never
//! decides a step.

use std::net::IpAddr;

use runtime::service::{CloseReason, Context, Event, Next, Progress};
use wire::http::body::{BodyDecoder, BodyPiece};
use wire::http::refusal::Refusal;
use wire::http::trailers::read_trailers;

use super::received::InputUse;
use super::{Connection, Phase};
use crate::application::Application;
use crate::asked::Asked;
use crate::exchange::{Exchange, Step};
use crate::shared::Http;

/// An exchange over HTTP/1.
#[derive(Debug)]
pub(super) struct Underway {
    exchange: Exchange,
    /// The decoder of the body; `None` once it is complete.
    decoder: Option<BodyDecoder>,
    /// The lines behind it, as far as they have come.
    trailers: Vec<u8>,
}

impl Underway {
    #[inline]
    pub(super) fn new(exchange: Exchange, decoder: Option<BodyDecoder>) -> Box<Self> {
        Box::new(Self { exchange, decoder, trailers: Vec::new() })
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.exchange.held_bytes() + self.trailers.capacity()
    }

    /// The address of the client.
    pub(super) fn client(&self) -> IpAddr {
        self.exchange.client()
    }

    /// Decodes the next piece of the body.
    fn next_piece<'b>(
        &mut self,
        input: &'b [u8],
        consumed: &mut usize,
    ) -> Result<BodyPiece<'b>, Refusal> {
        let Self { decoder: Some(decoder), trailers, .. } = self else {
            return Ok(BodyPiece::End);
        };
        let rest = input.get(*consumed..).unwrap_or_default();
        let (count, piece) = decoder.next_with(rest, |byte| {
            // Most have no line but the empty one.
            if !trailers.is_empty() || !matches!(byte, b'\r' | b'\n') {
                trailers.push(byte);
            }
        })?;
        *consumed += count;
        Ok(piece)
    }

    /// Passes the body on, until the exchange wants no more or the input ends. Returns the bytes it consumed.
    fn pass_body<A: Application>(
        &mut self,
        http: &mut Http<A>,
        input: &[u8],
        context: &mut Context<'_, A::Message>,
    ) -> (usize, Step) {
        let mut consumed = 0;
        loop {
            match self.next_piece(input, &mut consumed) {
                Ok(BodyPiece::Data(data)) => {
                    let step = self.exchange.take(http, data, context);
                    if step != Step::More {
                        self.exchange.count_received(consumed);
                        return (consumed, step);
                    }
                }
                Ok(BodyPiece::NeedMore) => {
                    self.exchange.count_received(consumed);
                    return (consumed, self.exchange.expect_more(http, context));
                }
                Ok(BodyPiece::End) => {
                    self.decoder = None;
                    let lines = std::mem::take(&mut self.trailers);
                    let step = match read_trailers(&lines, http.settings().head.field_count) {
                        Ok(trailers) => self.exchange.end_body(http, trailers, context),
                        Err(reason) => Step::Refuse(reason.status()),
                    };
                    return (consumed, step);
                }
                Err(refusal) => return (consumed, Step::Refuse(refusal.status())),
            }
        }
    }
}

impl Connection {
    /// Keeps a request that was asked about and is not answered.
    pub(super) fn keep_unanswered<A: Application>(
        &mut self,
        http: &mut Http<A>,
        asked: &Asked<'_>,
        context: &mut Context<'_, A::Message>,
    ) {
        let underway = self.underway.insert(Underway::new(Exchange::new(asked, context), None));
        underway.exchange.begin_unanswered(http, asked, context);
        self.phase = Phase::Underway;
    }

    /// Takes bytes of a body.
    pub(super) fn take_body<A: Application>(
        &mut self,
        http: &mut Http<A>,
        input: &[u8],
        context: &mut Context<'_, A::Message>,
    ) -> Progress {
        let Some(underway) = &mut self.underway else {
            return Progress { consumed: 0, next: Next::Abort };
        };
        if underway.exchange.reads_nothing() {
            return Progress { consumed: 0, next: Next::Park };
        }
        let start = context.output.buffer().len();
        let (consumed, step) = underway.pass_body(http, input, context);
        let progress =
            self.after_step(http, step, InputUse { consumed, available: input.len() }, context);
        self.omit_lead(start, context);
        progress
    }

    /// An event for the request. `None`: it is one for the connection.
    pub(super) fn on_event_of_request<A: Application>(
        &mut self,
        http: &mut Http<A>,
        event: Event,
        context: &mut Context<'_, A::Message>,
    ) -> Option<Next> {
        let start = context.output.buffer().len();
        let underway = self.underway.as_mut()?;
        let mut step = underway.exchange.on_event(http, event, context)?;
        if step == Step::More {
            // A body that was paused at its end is complete.
            (_, step) = underway.pass_body(http, &[], context);
        }
        let next = self.after_step(http, step, InputUse::NONE, context).next;
        if self.phase == Phase::Idle {
            self.await_request(http, context);
        }
        self.omit_lead(start, context);
        Some(next)
    }

    /// Does what a step of the exchange says.
    pub(super) fn after_step<A: Application>(
        &mut self,
        http: &mut Http<A>,
        step: Step,
        used: InputUse,
        context: &mut Context<'_, A::Message>,
    ) -> Progress {
        let InputUse { consumed, available } = used;
        match step {
            Step::More => Progress { consumed, next: Next::Read },
            Step::Wait => Progress { consumed, next: Next::Park },
            Step::Refuse(status) => {
                self.phase = Phase::Over;
                let Some(underway) = self.underway.take() else {
                    return Progress { consumed: available, next: Next::Abort };
                };
                let next = underway.exchange.end(http, status, context);
                Progress { consumed: available, next }
            }
            Step::Over(next) => {
                let ended = self.underway.take();
                if ended.is_some_and(|underway| underway.exchange.leaves_rest()) {
                    return self.after_unread(next, available);
                }
                match next {
                    Next::Read => self.after_complete_answer(consumed),
                    next => self.after_last_answer(next, used),
                }
            }
        }
    }

    /// The step after an answer to a request whose body stays unread: the bytes after its head are never taken for
    /// a request. A request with such a body is not upgraded.
    pub(super) fn after_unread(&mut self, next: Next, available: usize) -> Progress {
        self.phase = Phase::Over;
        let next = if next == Next::Abort { next } else { Next::Linger };
        Progress { consumed: available, next }
    }

    /// Whether the application has to be asked again.
    pub(super) fn is_asking(&self) -> bool {
        self.underway.as_ref().is_some_and(|underway| underway.exchange.is_asking())
    }

    /// Whether the request reads nothing for now.
    pub(super) fn reads_nothing(&self) -> bool {
        self.underway.as_ref().is_some_and(|underway| underway.exchange.reads_nothing())
    }

    /// The exchange, if it waits for the application and nothing is being sent.
    pub(super) fn waiting(&self) -> Option<&Exchange> {
        self.underway.as_ref().map(|underway| &underway.exchange).filter(|one| one.is_waiting())
    }

    /// The connection's process has ended: [`runtime::service::Service::on_close`].
    pub fn on_close<A: Application>(self, http: &mut Http<A>, reason: CloseReason) {
        match self.underway {
            Some(underway) => underway.exchange.on_close(http, reason),
            None => http.on_panic(reason),
        }
    }
}
