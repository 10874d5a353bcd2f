//! A head that announces a body.
//!
//! Owns the way to the exchange that takes the body, and the two shorter ways: a body that is never read, and one
//! that is whole already. Never interprets body bytes.

use runtime::service::{Context, Next, Progress};
use wire::http::body::{BodyDecoder, BodyLimits};
use wire::http::head::Framing;
use wire::http::status::Status;

use super::received::Received;
use super::underway::Underway;
use super::{Connection, Phase};
use crate::application::Application;
use crate::asked::Asked;
use crate::exchange::{BodyPlan, Exchange};
use crate::refused::Refused;
use crate::shared::Http;

impl Connection {
    /// Decides how the body is handled, then reads it.
    pub(super) fn begin_body<A: Application>(
        &mut self,
        http: &mut Http<A>,
        asked: Asked<'_>,
        received: Received<'_>,
        context: &mut Context<'_, A::Message>,
    ) -> Progress {
        let (available, body) = (received.available(), received.rest());
        let framing = asked.head().framing;
        let plan = http.plan_body(&asked, context);
        let limits = BodyLimits { body_size: plan.refused_above(), ..http.settings().body };
        let decoder = match (plan, BodyDecoder::new(framing, &limits)) {
            (BodyPlan::Leave, _) => {
                // It is never read, so the connection closes.
                let asked = asked.unread();
                let next = http.answer_out_of_line(&asked, None, context);
                if next == Next::Park {
                    self.keep_unanswered(http, &asked, context);
                    return Progress { consumed: received.used(0).consumed, next };
                }
                return self.after_unread(next, available);
            }
            (
                BodyPlan::Discard { .. }
                | BodyPlan::Collect { .. }
                | BodyPlan::Admit { .. }
                | BodyPlan::HandOver { .. },
                Ok(decoder),
            ) => decoder,
            (_, refused) => {
                let status = refused.err().map_or(Status::CONTENT_TOO_LARGE, |why| why.status());
                self.phase = Phase::Over;
                http.refuse(Refused::asked(status, asked.way(), asked.request()), context);
                return Progress { consumed: available, next: Next::Linger };
            }
        };
        let is_short = matches!(plan, BodyPlan::Collect { .. } | BodyPlan::Discard { .. });
        if is_short && let Some(body) = whole_body(framing, body) {
            let asked = match plan {
                BodyPlan::Discard { .. } => asked.with_discarded(body.len()),
                _ => asked.with_body(body),
            };
            let next = http.answer(&asked, None, context);
            return self.after_answer(http, next, &asked, received.used(body.len()), context);
        }
        let (exchange, step) = Exchange::with_body(http, &asked, plan, body, context);
        self.underway = Some(Underway::new(exchange, Some(decoder)));
        self.phase = Phase::Underway;
        if self.reads_nothing() {
            return self.after_step(http, step, received.used(0), context);
        }
        // An empty body has ended before any byte arrives.
        let step = self.take_body(http, body, context);
        Progress { consumed: received.used(step.consumed).consumed, ..step }
    }
}

/// The body, if all of it is in the input already. It is lent without a copy.
fn whole_body(framing: Framing, input: &[u8]) -> Option<&[u8]> {
    match framing {
        Framing::Length(size) => input.get(..usize::try_from(size).ok()?),
        Framing::None | Framing::Chunked => None,
    }
}
