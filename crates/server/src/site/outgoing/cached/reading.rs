//! A client that gets an answer while the cache receives it.
//!
//! Owns its head and the order of its parts, as fast as this client takes them.

use std::rc::Rc;

use cache::{CacheOutcome, FetchId, ForwardReason, Selection};
use config::ProxyRoute;
use config::route::FoundRoute;
use http::Answer;
use runtime::slots::ProcessId;

use super::shown::{selection_of, write_head};
use crate::message::AnswerContext;
use crate::site::Site;
use crate::site::exchange::Exchange;
use crate::site::outgoing::caches::fill::Progress;
use crate::site::outgoing::caches::role::{Role, Share};
use crate::site::outgoing::caches::told::Told;
use crate::site::outgoing::proxy::carried::Refused;

/// The part that follows the head of an answer.
enum Begun {
    /// Its body.
    Body,
    /// Nothing: the client has it already, or wants no body.
    Over,
    /// Nothing was written, because the answer was cut before.
    Cut,
}

impl Site {
    /// Answers with what there is of an answer, or as a server that does not answer.
    pub(super) fn read_fetch(
        &mut self,
        found: &FoundRoute<'_>,
        route: Option<&ProxyRoute>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        let process = context.id;
        let answer = self
            .read_now(process, route, exchange, context.now.monotonic_ns)
            .unwrap_or_else(|| self.refuse_proxied(Refused::Failed, found, exchange, context));
        if matches!(answer, Answer::Done | Answer::Cut) {
            self.outgoing.forget_cached(process);
        }
        answer
    }

    /// The same, without an end to what the request has to do with the cache. `None`: the answer was cut, and the
    /// client has nothing of it yet.
    pub(super) fn read_now(
        &mut self,
        process: ProcessId,
        route: Option<&ProxyRoute>,
        exchange: &mut Exchange<'_, '_>,
        now_ns: u64,
    ) -> Option<Answer> {
        let Some(Role::Reads { fetch, sent, why, share }) =
            self.outgoing.caches.role(process).cloned()
        else {
            return cut(exchange);
        };
        // From now on it is one of its readers.
        if let Some((fill, _)) = self.outgoing.caches.filling(fetch) {
            fill.note_sent(process, sent);
        }
        self.outgoing.pump(fetch, now_ns);
        let was_begun = exchange.reply.is_begun();
        if !was_begun {
            match self.begin_reading(fetch, (why, share), route, exchange) {
                Begun::Body => {}
                Begun::Over => return Some(Answer::Done),
                Begun::Cut => return cut(exchange),
            }
        }
        let Some((fill, _)) = self.outgoing.caches.filling(fetch) else { return cut(exchange) };
        let (part, has_more) = fill.part(sent);
        let (is_empty, progress, sent) = (part.is_empty(), fill.progress(), sent + part.len());
        exchange.reply.part(part);
        fill.note_sent(process, sent);
        self.outgoing.caches.set_role(process, Role::Reads { fetch, sent, why, share });
        Some(match progress {
            Progress::Whole if !has_more => Answer::Done,
            Progress::Cut if !has_more => Answer::Cut,
            _ if is_empty && was_begun => Answer::Wait,
            _ => Answer::Part,
        })
    }

    /// Writes the head for one of its readers.
    fn begin_reading(
        &mut self,
        fetch: FetchId,
        (why, share): (ForwardReason, Share),
        route: Option<&ProxyRoute>,
        exchange: &mut Exchange<'_, '_>,
    ) -> Begun {
        let now = self.outgoing.caches.now();
        let key = self.outgoing.caches.key_of(fetch).cloned();
        let Some((fill, _)) = self.outgoing.caches.filling(fetch) else { return Begun::Cut };
        if fill.progress() == Progress::Cut {
            return Begun::Cut;
        }
        let (object, length) = (Rc::clone(fill.object()), fill.length());
        let upstream: Rc<str> = fill.upstream().into();
        let report = self.outgoing.caches.report_of(&upstream);
        let (is_stored, is_collapsed) = (share == Share::Own, share == Share::Another);
        let outcome = CacheOutcome::Forwarded { why, status: None, is_stored, is_collapsed };
        let told = match key {
            Some(key) => Told::of(outcome, report, &key),
            None => Told::without_key(outcome, report),
        };
        let selection = selection_of(&object, None, exchange, now);
        write_head(&object, (selection, length), (&told, now), route, exchange);
        exchange.reply.end_head();
        let is_over = selection == Selection::NotModified || !exchange.reply.sends_body();
        if is_over { Begun::Over } else { Begun::Body }
    }
}

/// There is no rest. `None`: the client has nothing yet.
fn cut(exchange: &Exchange<'_, '_>) -> Option<Answer> {
    exchange.reply.is_begun().then_some(Answer::Cut)
}
