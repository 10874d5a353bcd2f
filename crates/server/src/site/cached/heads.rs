//! The head of a server's answer to a request that a cache has to do with.
//!
//! Owns what follows from it: it is stored, it confirms what is stored, it is passed on. Also what follows if there is
//! none. The decisions are those of the crate `cache`.

use std::rc::Rc;

use cache::{Forwarded, Object, Outcome};
use client::{ExchangeId, Head};
use config::route::Found;
use config::{ProxyRoute, RouteAction};
use http::Answer;
use runtime::slots::ProcessId;

use super::shown::Told;
use crate::site::caches::desk::{Role, Share};
use crate::site::caches::fill::Source;
use crate::site::caches::verdict::Verdict;
use crate::site::exchange::Exchange;
use crate::site::proxy::carried::{Refused, Stage};
use crate::site::state::Site;

/// What becomes of the head of an answer.
pub(in crate::site) enum Headed {
    /// The client gets it, with this report.
    Passed(Option<String>),
    /// The client has an answer, or gets the rest of it from the cache.
    Answered(Answer),
    /// The request is sent again.
    Again,
}

/// What a server has said of a stored answer that a client gets.
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
        (exchange_id, head, route): (ExchangeId, &Head, Option<&ProxyRoute>),
        exchange: &mut Exchange<'_, '_>,
        now_ns: u64,
    ) -> Headed {
        match self.caches.take_role(process) {
            Some(Role::Leads { upstream, fetch, why }) => {
                let role = Role::Leads { upstream, fetch, why };
                self.lead_on(process, role, (exchange_id, head, route), exchange, now_ns)
            }
            Some(Role::Changes { upstream, keys }) => {
                let (client, proxies) = (self.client.exchanges(), &mut self.proxies);
                self.caches.note_change((&upstream, keys), head, client, proxies);
                Headed::Passed(self.passed(&upstream, Forwarded::Method))
            }
            Some(Role::Passes { upstream, why }) => Headed::Passed(self.passed(&upstream, why)),
            Some(Role::Waits { .. } | Role::Reads { .. }) | None => Headed::Passed(None),
        }
    }

    /// The report of an answer that is passed on.
    fn passed(&mut self, upstream: &str, why: Forwarded) -> Option<String> {
        let report = self.caches.of(upstream)?.1.report;
        let outcome =
            Outcome::Forwarded { why, status: None, is_stored: false, is_collapsed: false };
        // Only what is stored has a key that is worth telling.
        Told::without_key(outcome, report).text(None)
    }

    fn lead_on(
        &mut self,
        process: ProcessId,
        role: Role,
        (exchange_id, head, route): (ExchangeId, &Head, Option<&ProxyRoute>),
        exchange: &mut Exchange<'_, '_>,
        now_ns: u64,
    ) -> Headed {
        let Role::Leads { upstream, fetch, why } = &role else { return Headed::Passed(None) };
        let (upstream, fetch, why) = (Rc::clone(upstream), *fetch, *why);
        match self.caches.judge_head(&upstream, fetch, head) {
            Verdict::Unchanged(object) => {
                self.drop_answer(exchange_id, now_ns);
                self.give_place_back(process, exchange, now_ns);
                self.end_shared(&upstream, fetch, (&object, why, Said::Unchanged), route, exchange)
            }
            Verdict::ForOne(object) => {
                self.drop_answer(exchange_id, now_ns);
                self.give_place_back(process, exchange, now_ns);
                self.end_shared(&upstream, fetch, (&object, why, Said::ForOne), route, exchange)
            }
            Verdict::Stale(object) => {
                self.client.exchanges().cancel(exchange_id);
                self.give_place_back(process, exchange, now_ns);
                let told = (&*object, why, Said::Failed(Some(head.status)));
                self.end_shared(&upstream, fetch, told, route, exchange)
            }
            Verdict::Mismatch => {
                self.client.exchanges().cancel(exchange_id);
                if let (_, Some(carried)) = self.proxies.parts(process) {
                    carried.exchange = None;
                    carried.stage = Stage::InLine;
                    let place = carried.place.take();
                    place.into_iter().for_each(|place| self.proxies.end(place, now_ns));
                }
                self.caches.fetches.forget_validated(fetch);
                self.caches.set_role(process, role);
                Headed::Again
            }
            Verdict::Stored(terms) => {
                self.note_passed_on(process, exchange, now_ns);
                let place = self.proxies.remove(process).and_then(|carried| carried.place);
                let Some(place) = place else { return Headed::Passed(None) };
                self.client.exchanges().hand_over(exchange_id);
                self.caches.begin_fill(
                    &upstream,
                    fetch,
                    *terms,
                    (head, Source { exchange: exchange_id, place }),
                );
                let role = Role::Reads { fetch, sent: 0, why, share: Share::Own };
                self.caches.set_role(process, role);
                exchange.place.pass_on();
                Headed::Answered(self.read_now(process, route, exchange, now_ns))
            }
            Verdict::Unstored => {
                let waiters = self.caches.fetches.end(fetch).map(|fetched| fetched.waiters);
                self.caches.release(waiters.unwrap_or_default());
                Headed::Passed(self.passed(&upstream, why))
            }
        }
    }

    /// A fetch has ended with something that was stored before: its client gets that. Those that wait look for it too,
    /// unless it is for this client alone.
    fn end_shared(
        &mut self,
        upstream: &str,
        fetch: cache::FetchId,
        (object, why, said): (&Object, Forwarded, Said),
        route: Option<&ProxyRoute>,
        exchange: &mut Exchange<'_, '_>,
    ) -> Headed {
        let (Some(fetched), Some(route)) = (self.caches.fetches.end(fetch), route) else {
            return Headed::Passed(None);
        };
        match said {
            Said::ForOne => self.caches.release(fetched.waiters),
            Said::Unchanged | Said::Failed(_) => self.caches.call(fetched.waiters),
        }
        let (status, is_stored) = (said.status(), said == Said::Unchanged);
        let outcome = Outcome::Forwarded { why, status, is_stored, is_collapsed: false };
        let report = self.caches.of(upstream).map(|(_, kept)| kept.report);
        let told = Told::of(outcome, report.unwrap_or(config::CacheReport::Off), &fetched.key);
        Headed::Answered(self.show(object, route, &told, exchange))
    }

    /// A request has no answer of a server. Returns the stale one that its client gets instead, if it does.
    pub(in crate::site) fn cache_refusal(
        &mut self,
        process: ProcessId,
        found: &Found<'_>,
        refused: Refused,
        exchange: &mut Exchange<'_, '_>,
    ) -> Option<Answer> {
        let Role::Leads { upstream, fetch, why } = self.caches.take_role(process)? else {
            return None;
        };
        let object = match refused {
            Refused::Busy | Refused::Failed | Refused::TooLate => {
                self.caches.stale_of(&upstream, fetch)
            }
            Refused::Request => None,
        };
        if let (Some(object), Ok(RouteAction::Proxy(route))) = (object, &found.action) {
            let told = (&*object, why, Said::Failed(None));
            let headed = self.end_shared(&upstream, fetch, told, Some(route), exchange);
            return match headed {
                Headed::Answered(answer) => Some(answer),
                Headed::Passed(_) | Headed::Again => None,
            };
        }
        let waiters = self.caches.fetches.end(fetch).map(|fetched| fetched.waiters);
        self.caches.release(waiters.unwrap_or_default());
        None
    }

    fn give_place_back(
        &mut self,
        process: ProcessId,
        exchange: &mut Exchange<'_, '_>,
        now_ns: u64,
    ) {
        self.note_passed_on(process, exchange, now_ns);
        let place = self.proxies.remove(process).and_then(|carried| carried.place);
        place.into_iter().for_each(|place| self.proxies.end(place, now_ns));
    }
}
