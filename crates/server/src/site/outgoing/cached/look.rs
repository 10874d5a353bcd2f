//! A request for something that is perhaps stored.
//!
//! Owns which requests a cache is for, their keys, and what follows from what is stored. Never receives an answer.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::rc::Rc;

use cache::{AnswerKey, CacheLookup, ForwardReason, Join, Object, Sharing, Uri};
use config::route::FoundRoute;
use config::{ProxyRoute, RouteAction};
use files::roots::OpenWait;
use http::{Answer, FieldList, Method, Request};
use wire::http::head::Framing;
use wire::http::status::Status;

use crate::message::AnswerContext;
use crate::site::Site;
use crate::site::exchange::Exchange;
use crate::site::outgoing::caches::role::{Opening, Role, Share};
use crate::site::outgoing::caches::told::{Told, told_hit};
use crate::site::outgoing::proxy::hop::{HopFields, begins_like};
use crate::site::outgoing::proxy::request_head::goes_round;
use crate::site::outgoing::proxy::target::target_of;

/// Fields by which programs have a request mean another one. Its answer is for nobody else.
const STEERING: [&str; 5] = [
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-original-url",
    "x-rewrite-url",
];

/// The part of a cache in a request.
enum Part {
    /// It may have the answer.
    Answers,
    /// It has to forget some.
    Forgets,
    /// None.
    None,
}

impl Site {
    /// Answers a request that a server of an upstream answers, perhaps with what is stored.
    pub(in crate::site) fn answer_upstream(
        &mut self,
        found: &FoundRoute<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        if !exchange.place.is_proxied() && goes_round(exchange.request) {
            let (status, none) = (Status::LOOP_DETECTED, FieldList::new());
            return self.refuse(status, &none, found, exchange, context);
        }
        if self.outgoing.caches.is_unused() {
            return self.answer_proxied(found, exchange, context);
        }
        let process = context.id;
        self.outgoing.caches.set_now(context.now);
        let handed_on = exchange.place.handed_on();
        let route = match (&handed_on, &found.action) {
            (Some(handed_on), _) => Some(handed_on.route()),
            (None, Ok(RouteAction::Proxy(route))) => Some(&**route),
            (None, _) => None,
        };
        // A request that a server has already was not asked for by a fetch, unless it has a role.
        let is_late = exchange.reply.is_begun()
            || self.outgoing.proxies.carries(process)
                && matches!(part_of(exchange.request), Part::Answers);
        let answer = match (self.outgoing.caches.role(process), route) {
            (Some(Role::Reads { .. }), _) => Some(self.read_fetch(found, route, exchange, context)),
            (Some(Role::Waits { .. }), Some(route)) => {
                self.look_up(found, route, exchange, context)
            }
            (Some(Role::Seeks { .. } | Role::Sought), Some(route)) => {
                self.look_up(found, route, exchange, context)
            }
            (Some(Role::Opens(_)), Some(route)) => {
                self.show_opened((found, route), exchange, context)
            }
            (None, Some(route)) if !is_late => self.begin_cached(found, route, exchange, context),
            _ => None,
        };
        let answer = answer.unwrap_or_else(|| self.answer_proxied(found, exchange, context));
        if matches!(answer, Answer::Done | Answer::Cut | Answer::Drop | Answer::Upgrade) {
            self.outgoing.forget_cached(process);
        }
        answer
    }

    fn begin_cached(
        &mut self,
        found: &FoundRoute<'_>,
        route: &ProxyRoute,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Option<Answer> {
        let (upstream, parts) = self.outgoing.caches.keyed(&route.upstream)?;
        match part_of(exchange.request) {
            // Answers that a change makes stale are stale for all routes.
            Part::Forgets => {
                let key = key_of(exchange.request, found, route, parts);
                // A module may have another resource changed than the one that its client has named.
                let target = exchange.place.handed_on().and_then(|on| on.target(exchange.request));
                let other = target.and_then(|target| key.referred(&target));
                let keys = std::iter::once(key).chain(other).collect();
                self.outgoing.caches.set_role(context.id, Role::Changes { upstream, keys });
                None
            }
            // The fields about the user that a server was given by `forward_auth` are in no key: the answer is for this
            // user.
            Part::Answers if route.cached && exchange.place.given_fields().is_none() => {
                self.look_up(found, route, exchange, context)
            }
            Part::Answers | Part::None => {
                if route.cached {
                    self.outgoing.caches.pass(context.id, upstream);
                }
                None
            }
        }
    }

    /// Looks for an answer. `None`: a server is asked.
    pub(super) fn look_up(
        &mut self,
        found: &FoundRoute<'_>,
        route: &ProxyRoute,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Option<Answer> {
        let process = context.id;
        let (waited, is_sought) = self.outgoing.caches.resume(process);
        let (upstream, parts) = self.outgoing.caches.keyed(&route.upstream)?;
        let request = exchange.request;
        let key = key_of(request, found, route, parts);
        let (looked, report) = self.outgoing.caches.look(&upstream, &key, &request.head.fields)?;
        if let CacheLookup::Fresh(object)
        | CacheLookup::WhileValidated(object)
        | CacheLookup::Validated(object) = &looked
            && route.intercept_errors.contains(&object.status())
        {
            // Another route may show it; here the site's page takes its place once a server has said it.
            let passes = Role::Passes { upstream, why: ForwardReason::Bypass };
            self.outgoing.caches.set_role(process, passes);
            return None;
        }
        let (copy, now_ns) = (|| copy_of(request), context.now.monotonic_ns);
        let sought = (&upstream, &key, &looked);
        if !is_sought && self.outgoing.caches.seek(process, sought, copy, now_ns) {
            exchange.place.pass_on();
            return Some(Answer::Wait);
        }
        let is_old = matches!(looked, CacheLookup::WhileValidated(_));
        match looked {
            CacheLookup::Fresh(object) | CacheLookup::WhileValidated(object)
                if has_come(&object, waited) =>
            {
                self.outgoing.caches.note_collapsed(&upstream);
                let told = Told::collapsed(ForwardReason::UriMiss, report, &key);
                let opening = Opening { upstream, key, object, told };
                self.show_stored((opening, OpenWait::None), (found, route), exchange, context)
            }
            CacheLookup::Fresh(object) | CacheLookup::WhileValidated(object) => {
                if is_old {
                    self.validate_behind(&key, &object, (found, route), exchange, context);
                }
                let told = told_hit(report, &key);
                let opening = Opening { upstream, key, object, told };
                self.show_stored((opening, OpenWait::None), (found, route), exchange, context)
            }
            CacheLookup::Unwanted => {
                Some(self.show_nothing(&Told::unwanted(report, &key), exchange))
            }
            CacheLookup::Pass => {
                self.lead(Rc::clone(&upstream), (key, None), Sharing::Alone, exchange, context)
            }
            CacheLookup::Missing(why) => {
                self.join(upstream, (key, None, why), waited, (found, route), exchange, context)
            }
            // It is to be validated for each request: nobody waits for another one any more.
            CacheLookup::Validated(object) if has_come(&object, waited) => {
                self.lead(upstream, (key, Some(object)), Sharing::Alone, exchange, context)
            }
            CacheLookup::Validated(object) => {
                let wanted = (key, Some(object), ForwardReason::Stale);
                self.join(upstream, wanted, waited, (found, route), exchange, context)
            }
        }
    }

    /// A request asks a server, or waits for one that does.
    fn join(
        &mut self,
        upstream: Rc<str>,
        (key, validated, why): (AnswerKey, Option<Rc<Object>>, ForwardReason),
        waited: Option<(u64, u64)>,
        (found, route): (&FoundRoute<'_>, &ProxyRoute),
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Option<Answer> {
        let process = context.id;
        if !asks_for_whole(exchange.request) {
            self.outgoing.caches.set_role(process, Role::Passes { upstream, why });
            return None;
        }
        let fields = &exchange.request.head.fields;
        match self.outgoing.caches.join(&upstream, &key, fields, process)? {
            Join::Lead => self.lead(upstream, (key, validated), Sharing::Shared, exchange, context),
            Join::Alone => self.lead(upstream, (key, validated), Sharing::Alone, exchange, context),
            Join::Read(fetch)
                if self.outgoing.caches.filling(fetch).is_some_and(|(fill, _)| {
                    route.intercept_errors.contains(&fill.object().status())
                }) =>
            {
                self.outgoing
                    .caches
                    .set_role(process, Role::Passes { upstream, why: ForwardReason::Bypass });
                None
            }
            Join::Read(fetch) => {
                exchange.place.pass_on();
                self.outgoing.caches.note_collapsed(&upstream);
                let role = Role::Reads { fetch, sent: 0, why, share: Share::Another };
                self.outgoing.caches.set_role(process, role);
                Some(self.read_fetch(found, Some(route), exchange, context))
            }
            Join::Wait(fetch) => {
                exchange.place.pass_on();
                let now_ns = context.now.monotonic_ns;
                self.outgoing.caches.wait_for(process, (upstream, fetch), waited, now_ns);
                Some(Answer::Wait)
            }
        }
    }

    /// A request asks a server. One that wants only a part does so for itself, and its answer is not stored.
    fn lead(
        &mut self,
        upstream: Rc<str>,
        (key, validated): (AnswerKey, Option<Rc<Object>>),
        sharing: Sharing,
        exchange: &Exchange<'_, '_>,
        context: &AnswerContext<'_>,
    ) -> Option<Answer> {
        let why = match (&validated, sharing) {
            (Some(_), _) => ForwardReason::Stale,
            (None, Sharing::Shared) => ForwardReason::UriMiss,
            (None, Sharing::Alone) => ForwardReason::Bypass,
        };
        let is_plain = asks_for_whole(exchange.request)
            && (sharing == Sharing::Shared || !is_conditional(exchange.request));
        if !is_plain {
            self.outgoing.caches.set_role(context.id, Role::Passes { upstream, why });
            return None;
        }
        let request = copy_of(exchange.request);
        let fetch = self.outgoing.caches.begin_fetch(key, request, validated, sharing);
        self.outgoing.caches.set_role(context.id, Role::Leads { upstream, fetch, why });
        None
    }
}

pub(super) fn copy_of(request: &Request<'_>) -> FieldList {
    let mut copy = FieldList::new();
    for (name, value) in request.head.fields.iter() {
        // It fits, because the head did.
        let _fits = copy.add_as_spelt(name, value);
    }
    copy
}

/// The part of a cache in a request.
fn part_of(request: &Request<'_>) -> Part {
    let head = request.head;
    match request.method() {
        Method::Post | Method::Put | Method::Patch | Method::Delete => Part::Forgets,
        Method::Options => Part::None,
        Method::Get | Method::Head => {
            let is_plain = head.framing == Framing::None && head.upgrade.is_none();
            let fields = &head.fields;
            let is_for_server = fields.has("if-match") || fields.has("if-unmodified-since");
            let steers = |name: &str| {
                STEERING.iter().any(|one| name.len() == one.len() && begins_like(name, one))
            };
            let is_steered = fields.iter().any(|(name, _)| steers(name));
            // By what the server does not get it cannot tell two requests apart that differ in it.
            let is_less = HopFields::of(fields).names_others(fields);
            let is_for_cache = is_plain && !is_for_server && !is_steered && !is_less;
            if is_for_cache { Part::Answers } else { Part::None }
        }
    }
}

/// Whether the answer to a request is a whole one: what is received for it can be stored.
fn asks_for_whole(request: &Request<'_>) -> bool {
    request.method() == Method::Get && !request.head.fields.has("range")
}

fn is_conditional(request: &Request<'_>) -> bool {
    let fields = &request.head.fields;
    fields.has("if-none-match") || fields.has("if-modified-since")
}

/// The key of a request: of everything that the server gets of it, apart from fields.
pub(super) fn key_of(
    request: &Request<'_>,
    found: &FoundRoute<'_>,
    route: &ProxyRoute,
    parts: cache::KeyParts,
) -> AnswerKey {
    let target = target_of(request.path(), request.query(), &found.path, 0);
    let host = request.host().unwrap_or_default();
    let uri =
        Uri { scheme: request.scheme(), host, target: &target, way: way_of(request, found, route) };
    AnswerKey::new(&uri, parts)
}

/// A number of what is done with a request on its way to the server: two routes may do different things with one path.
fn way_of(request: &Request<'_>, found: &FoundRoute<'_>, route: &ProxyRoute) -> u64 {
    let edits = &route.request_headers;
    let set: Vec<(&str, &str)> =
        edits.set.iter().map(|header| (&*header.name, &*header.value)).collect();
    // Made of the configuration alone, and the same after a restart, which finds what is on a disk.
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    let is_secured = request.secured.is_some();
    let edited = (set, &edits.variable, &edits.remove);
    hasher.hash_one((&*route.upstream, found.rest, edited, is_secured))
}

/// Whether an answer came while the request waited for it.
fn has_come(object: &Object, waited: Option<(u64, u64)>) -> bool {
    waited.is_some_and(|(since_ms, _)| object.freshness().since_ms >= since_ms)
}
