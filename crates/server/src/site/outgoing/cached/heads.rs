//! The head of a server's answer to a request that a cache has to do with.
//!
//! Owns what follows from it: it is stored, it confirms what is stored, it is passed on. Also what follows if there is
//! none. The decisions are those of the crate `cache`.

use std::rc::Rc;

use cache::{CacheOutcome, FetchId, ForwardReason, Object};
use client::{ExchangeId, ResponseHead};
use config::route::FoundRoute;
use config::{ProxyRoute, RouteAction};
use files::roots::OpenWait;
use http::Answer;
use runtime::slots::ProcessId;

use super::opening::OpenBody;
use crate::site::Site;
use crate::site::exchange::Exchange;
use crate::site::outgoing::caches::fill::Source;
use crate::site::outgoing::caches::role::{Role, Share};
use crate::site::outgoing::caches::told::Told;
use crate::site::outgoing::caches::verdict::Verdict;
use crate::site::outgoing::proxy::carried::Refused;

/// The use of the head of an answer.
pub(in crate::site) enum Headed {
    /// The client gets it, with this report.
    Passed(Option<String>),
    /// The client has an answer, or gets the rest of it from the cache.
    Answered(Answer),
    /// The request is sent again.
    Again,
    /// The answer was cut at once: there is none.
    Failed,
}

/// The verdict of a server on a stored answer that a client gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    /// It has not changed.
    Unchanged,
    /// The same, with fields that are for this client alone.
    ForOne,
    /// It has failed, perhaps with this status.
    Failed(Option<u16>),
}

impl Said {
    fn status(self) -> Option<u16> {
        match self {
            Self::Unchanged | Self::ForOne => Some(304),
            Self::Failed(status) => status,
        }
    }
}

impl Site {
    /// The head of a server's answer is there.
    pub(in crate::site) fn cache_head(
        &mut self,
        process: ProcessId,
        (exchange_id, head, route): (ExchangeId, &ResponseHead, Option<&ProxyRoute>),
        exchange: &mut Exchange<'_, '_>,
        now_ns: u64,
    ) -> Headed {
        match self.outgoing.caches.take_role(process) {
            Some(Role::Leads { upstream, fetch, why }) => {
                let role = Role::Leads { upstream, fetch, why };
                self.lead_on(process, role, (exchange_id, head, route), exchange, now_ns)
            }
            Some(Role::Changes { upstream, keys }) => {
                let (client, proxies) =
                    (self.outgoing.client.exchanges(), &mut self.outgoing.proxies);
                self.outgoing.caches.note_change((&upstream, keys), head, client, proxies);
                Headed::Passed(self.passed(&upstream, ForwardReason::Method))
            }
            Some(Role::Passes { upstream, why }) => Headed::Passed(self.passed(&upstream, why)),
            Some(
                Role::Waits { .. }
                | Role::Seeks { .. }
                | Role::Sought
                | Role::Opens(_)
                | Role::Reads { .. },
            )
            | None => Headed::Passed(None),
        }
    }

    /// The report of an answer that is passed on.
    fn passed(&mut self, upstream: &str, why: ForwardReason) -> Option<String> {
        let report = self.outgoing.caches.report_of(upstream);
        let outcome =
            CacheOutcome::Forwarded { why, status: None, is_stored: false, is_collapsed: false };
        // Only what is stored has a key that is worth telling.
        Told::without_key(outcome, report).text(None)
    }

    fn lead_on(
        &mut self,
        process: ProcessId,
        role: Role,
        (exchange_id, head, route): (ExchangeId, &ResponseHead, Option<&ProxyRoute>),
        exchange: &mut Exchange<'_, '_>,
        now_ns: u64,
    ) -> Headed {
        let Role::Leads { upstream, fetch, why } = &role else { return Headed::Passed(None) };
        let (upstream, fetch, why) = (Rc::clone(upstream), *fetch, *why);
        let (object, said) = match self.outgoing.caches.judge_head(&upstream, fetch, head) {
            Verdict::Unchanged(object) => (object, Said::Unchanged),
            Verdict::ForOne(object) => (object, Said::ForOne),
            Verdict::Stale(object) => (object, Said::Failed(Some(head.status))),
            Verdict::Mismatch => {
                return self.ask_again(process, (exchange_id, fetch), role, now_ns);
            }
            Verdict::Stored(terms) => {
                self.note_passed_on(process, exchange, now_ns);
                let Some(place) = self.outgoing.proxies.remove(process) else {
                    return Headed::Passed(None);
                };
                self.outgoing.client.exchanges().hand_over(exchange_id);
                let source = Source { exchange: exchange_id, place };
                self.outgoing.caches.begin_fill(&upstream, fetch, *terms, (head, source));
                let role = Role::Reads { fetch, sent: 0, why, share: Share::Own };
                self.outgoing.caches.set_role(process, role);
                exchange.place.pass_on();
                let answer = self.read_now(process, route, exchange, now_ns);
                return answer.map_or(Headed::Failed, Headed::Answered);
            }
            Verdict::Unstored => return self.pass_unstored((&upstream, why), fetch),
        };
        let Some(body) = self.opened_now(&upstream, &object, exchange) else {
            // The file of its body has gone meanwhile.
            return match said {
                Said::Failed(_) => self.pass_unstored((&upstream, why), fetch),
                Said::Unchanged | Said::ForOne => {
                    self.ask_again(process, (exchange_id, fetch), role, now_ns)
                }
            };
        };
        match said {
            Said::Failed(_) => self.outgoing.client.exchanges().cancel(exchange_id),
            Said::Unchanged | Said::ForOne => self.drop_answer(exchange_id, now_ns),
        }
        self.end_proxied(process, exchange, now_ns);
        self.end_shared((&upstream, fetch), (&object, &body), (why, said), route, exchange)
    }

    /// A request is sent again without conditions.
    fn ask_again(
        &mut self,
        process: ProcessId,
        (exchange_id, fetch): (ExchangeId, FetchId),
        role: Role,
        now_ns: u64,
    ) -> Headed {
        self.outgoing.client.exchanges().cancel(exchange_id);
        self.outgoing.proxies.recall(process, now_ns);
        self.outgoing.caches.repeat_fetch(fetch);
        self.outgoing.caches.set_role(process, role);
        Headed::Again
    }

    fn pass_unstored(&mut self, (upstream, why): (&str, ForwardReason), fetch: FetchId) -> Headed {
        self.outgoing.caches.release_fetch(fetch);
        Headed::Passed(self.passed(upstream, why))
    }

    /// The body of an answer, if it can be sent at once.
    fn opened_now(
        &mut self,
        upstream: &str,
        object: &Object,
        exchange: &Exchange<'_, '_>,
    ) -> Option<OpenBody> {
        if !exchange.reply.sends_body() {
            return Some(OpenBody::Held);
        }
        self.open_body(upstream, object, OpenWait::None).ok()
    }

    /// A fetch has ended with something that was stored before: its client gets that. Those that wait look for it too,
    /// unless it is for this client alone.
    fn end_shared(
        &mut self,
        (upstream, fetch): (&str, FetchId),
        (object, body): (&Object, &OpenBody),
        (why, said): (ForwardReason, Said),
        route: Option<&ProxyRoute>,
        exchange: &mut Exchange<'_, '_>,
    ) -> Headed {
        let key = match said {
            Said::ForOne => self.outgoing.caches.release_fetch(fetch),
            Said::Unchanged | Said::Failed(_) => self.outgoing.caches.end_fetch(fetch),
        };
        let Some(key) = key else { return Headed::Passed(None) };
        let (status, is_stored) = (said.status(), said == Said::Unchanged);
        let outcome = CacheOutcome::Forwarded { why, status, is_stored, is_collapsed: false };
        let told = Told::of(outcome, self.outgoing.caches.report_of(upstream), &key);
        Headed::Answered(self.show(object, body, route, &told, exchange))
    }

    /// A request has no answer of a server. Returns the stale one that its client gets instead, if it does.
    pub(in crate::site) fn cache_refusal(
        &mut self,
        process: ProcessId,
        found: &FoundRoute<'_>,
        refused: Refused,
        exchange: &mut Exchange<'_, '_>,
    ) -> Option<Answer> {
        let Role::Leads { upstream, fetch, why } = self.outgoing.caches.take_role(process)? else {
            return None;
        };
        let object = match refused {
            Refused::Busy | Refused::Failed | Refused::TooLate => {
                self.outgoing.caches.stale_of(&upstream, fetch)
            }
            Refused::Request => None,
        };
        let body = object.as_ref().and_then(|object| self.opened_now(&upstream, object, exchange));
        if let (Some(object), Some(body), Ok(RouteAction::Proxy(route))) =
            (object, body, &found.action)
        {
            let (ended, why) = ((&*upstream, fetch), (why, Said::Failed(None)));
            let headed = self.end_shared(ended, (&object, &body), why, Some(route), exchange);
            return match headed {
                Headed::Answered(answer) => Some(answer),
                Headed::Passed(_) | Headed::Again | Headed::Failed => None,
            };
        }
        self.outgoing.caches.release_fetch(fetch);
        None
    }
}
