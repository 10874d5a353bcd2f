//! A stale answer that was used is validated, apart from the request that has used it (RFC 5861 section 3).
//!
//! Owns these exchanges until their heads are there. There is one for each stored answer, it goes to one server, and it
//! does not wait for a place: the stale answer is still there.

use std::rc::Rc;

use cache::{AnswerKey, FetchId, Object, Sharing};
use client::{ExchangeId, ExchangeNews};
use config::ProxyRoute;
use config::route::FoundRoute;
use proxy::RequestOutcome;
use runtime::clock::Now;

use super::asking::parcel_of;
use super::look::copy_of;
use crate::disk_order::DiskAnswer;
use crate::message::{AnswerContext, ServiceContext};
use crate::site::Site;
use crate::site::exchange::Exchange;
use crate::site::outgoing::caches::Run;
use crate::site::outgoing::caches::fill::Source;
use crate::site::outgoing::caches::verdict::{Verdict, Wanted};
use crate::site::outgoing::proxy::introduction;
use crate::site::outgoing::proxy::request_head::target_of_request;

impl Site {
    /// The disks of caches have answered.
    pub(crate) fn hear_disk(&mut self, answers: Vec<DiskAnswer>, now: Now) {
        self.outgoing.caches.set_now(now);
        let (client, proxies) = (self.outgoing.client.exchanges(), &mut self.outgoing.proxies);
        self.outgoing.caches.hear_disk(answers, client, proxies, now.monotonic_ns);
    }

    /// Validates a stored answer, unless it is being validated.
    pub(super) fn validate_behind(
        &mut self,
        key: &AnswerKey,
        object: &Rc<Object>,
        (found, route): (&FoundRoute<'_>, &ProxyRoute),
        exchange: &Exchange<'_, '_>,
        context: &AnswerContext<'_>,
    ) {
        if !self.outgoing.caches.may_validate(key) {
            return;
        }
        let (request, upstream) = (exchange.request, &route.upstream);
        let target = target_of_request(request, (&found.path, found.rest));
        let wanted = Wanted { key, validated: Some(object) };
        let Ok(parcel) = parcel_of(request, &target, route, wanted) else { return };
        let Some(wish) = self.outgoing.proxies.wish_of(upstream, request, &found.path) else {
            return;
        };
        let from = introduction::client_of(request, &self.data);
        let begun = self.outgoing.proxies.send_apart(
            context.id,
            wish,
            (parcel, &from),
            self.outgoing.client.exchanges(),
            context.now.monotonic_ns,
        );
        let Some((place, exchange_id)) = begun else { return };
        let (request, validated) = (copy_of(request), Some(Rc::clone(object)));
        let fetch =
            self.outgoing.caches.begin_fetch(key.clone(), request, validated, Sharing::Shared);
        let upstream = route.upstream.as_str().into();
        self.outgoing.caches.run(fetch, exchange_id, Run::Asked { upstream, place });
    }

    /// Servers have answered checks and fetches that belong to no process.
    pub(in crate::site) fn hear_servers(&mut self, context: &ServiceContext<'_>) {
        let now_ns = context.now.monotonic_ns;
        let others = self.outgoing.proxies.hear_checks(&mut self.outgoing.client, now_ns);
        let stirred = self.outgoing.caches.take_stirred();
        if others.is_empty() && stirred.is_empty() {
            return;
        }
        self.outgoing.caches.set_now(context.now);
        for fetch in stirred {
            self.outgoing.pump(fetch, now_ns);
        }
        for exchange in others {
            if let Some(spans) = self.outgoing.spans.as_mut().filter(|spans| spans.has(exchange)) {
                spans.hear(self.outgoing.client.exchanges(), now_ns);
                continue;
            }
            let Some(fetch) = self.outgoing.caches.fetch_of(exchange) else { continue };
            match self.outgoing.caches.run_of(fetch) {
                Some(Run::Asked { .. }) => self.hear_validation(fetch, exchange, now_ns),
                Some(Run::Fills(_)) => self.outgoing.pump(fetch, now_ns),
                None => {}
            }
        }
    }

    fn hear_validation(&mut self, fetch: FetchId, exchange: ExchangeId, now_ns: u64) {
        let Some(Run::Asked { upstream, place, .. }) = self.outgoing.caches.run_of(fetch) else {
            return;
        };
        let (upstream, mut place) = (Rc::clone(upstream), *place);
        let head = loop {
            match self.outgoing.client.exchanges().next(exchange, 0, now_ns) {
                None => return,
                Some(ExchangeNews::Head(head)) => break head,
                Some(ExchangeNews::Failed(failure)) => {
                    let what = |address: &str| failure.in_log(address);
                    self.outgoing.proxies.note_at(place, (RequestOutcome::Failed, &what), now_ns);
                    // It is not asked again at once, if the stale answer may be used as long.
                    let _stale = self.outgoing.caches.stale_of(&upstream, fetch);
                    return self.end_validation(fetch, exchange);
                }
                Some(_) => {}
            }
        };
        self.outgoing.proxies.note_head_apart(&mut place, now_ns);
        match self.outgoing.caches.judge_head(&upstream, fetch, &head) {
            Verdict::Stored(terms) => {
                self.outgoing.caches.begin_fill(
                    &upstream,
                    fetch,
                    *terms,
                    (&head, Source { exchange, place }),
                );
                return self.outgoing.pump(fetch, now_ns);
            }
            Verdict::Unchanged(_) | Verdict::ForOne(_) => self.drop_answer(exchange, now_ns),
            Verdict::Mismatch | Verdict::Stale(_) | Verdict::Unstored => {
                self.outgoing.client.exchanges().cancel(exchange);
            }
        }
        self.outgoing.proxies.end(place, now_ns);
        self.end_validation(fetch, exchange);
    }

    fn end_validation(&mut self, fetch: FetchId, exchange: ExchangeId) {
        self.outgoing.caches.end_exchange(exchange);
        self.outgoing.caches.end_run(fetch);
        self.outgoing.caches.end_fetch(fetch);
    }
}
