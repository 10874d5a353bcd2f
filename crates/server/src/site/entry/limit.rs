//! The limits of clients, applied to each request before anything answers it.
//!
//! Owns which limits count a request, by which key, and the refusal. `quota` counts.

use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use config::route::FoundRoute;
use config::{LimitRule, QuotaKey};
use http::{Answer, FieldList, Method, Reply, Request, Unanswered};
use quota::{Limit, LimitCounts, Limiter, QuotaDecision, QuotaPace, RemoteUses, Rule};
use runtime::service::SchedulerCommand;
use runtime::slots::ProcessId;
use wire::http::status::Status;

use super::EntryChecks;
use super::metered::{Charge, Owed};
use crate::limits::UNTOLD_AGAIN_MS;
use crate::message::{AnswerContext, ServiceContext};
use crate::site::Site;
use crate::site::exchange::Exchange;
use crate::site::route::AnswerPlace;
use crate::site::stage::Stage;
use crate::site_data::SiteData;

/// The verdict of the limits on a request.
#[derive(Debug)]
pub(in crate::site) enum Metering {
    /// It may go on.
    LetIn,
    /// It is resumed later.
    Delayed,
    /// It is refused with these fields.
    Refused(FieldList),
}

impl Site {
    /// Counts a request, and refuses or delays it if a limit says so. `None`: it may go on.
    #[inline]
    pub(in crate::site) fn meter(
        &mut self,
        path: &str,
        stage: Stage,
        found: &FoundRoute<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Option<Answer> {
        if self.data.limits.is_empty() {
            return None;
        }
        if self.entry.is_delayed(context.id) {
            return Some(Answer::Wait);
        }
        if exchange.place.is_metered(stage) || exchange.reply.is_begun() {
            return None;
        }
        let counted = (exchange.request, &mut *exchange.place);
        match self.entry.count_use(path, stage, counted, &self.data, context) {
            Metering::LetIn => None,
            Metering::Delayed => Some(Answer::Wait),
            Metering::Refused(fields) => {
                let status = Status::TOO_MANY_REQUESTS;
                Some(self.refuse(status, &fields, found, exchange, context))
            }
        }
    }

    /// Another scheduler tells what was used there.
    pub(crate) fn on_used(&mut self, news: &RemoteUses, context: &ServiceContext<'_>) {
        self.entry.learn_used(news, context.now.monotonic_ns);
    }

    /// The counters of each limit.
    pub(crate) fn limit_counts(&self) -> Vec<LimitCounts> {
        self.entry.count_limits()
    }
}

impl EntryChecks {
    /// Applies all limits of a stage. A request that one of them refuses is counted by none.
    #[inline(never)]
    pub(in crate::site) fn count_use(
        &mut self,
        path: &str,
        stage: Stage,
        (request, place): (&Request<'_>, &mut AnswerPlace),
        data: &SiteData,
        context: &AnswerContext<'_>,
    ) -> Metering {
        if data.limits.is_empty() {
            return Metering::LetIn;
        }
        place.note_metered(stage);
        let of_stage = |quota: &&LimitRule| {
            stage_of(quota) == Some(stage) && counts(quota, path, request.method())
        };
        let quotas = || data.config.quotas.iter().enumerate().filter(|(_, quota)| of_stage(quota));
        let now_ns = context.now.monotonic_ns;
        if quotas().nth(1).is_some() {
            for (limit, quota) in quotas() {
                let key = self.key_of(limit, quota, path, (request, place));
                let mut limiter = self.limiter.borrow_mut();
                if let QuotaDecision::Refused(wait) = limiter.look(limit, key, now_ns) {
                    limiter.count_refusal(limit, wait);
                    return Metering::Refused(fields_of_refusal(limit, wait, data));
                }
            }
        }
        let mut longest = Duration::ZERO;
        for (limit, quota) in quotas() {
            let key = self.key_of(limit, quota, path, (request, place));
            let outcome = self.limiter.borrow_mut().take(limit, key, now_ns);
            match outcome {
                QuotaDecision::Allowed => self.charge_later(limit, key, context.id, data),
                QuotaDecision::After(wait) => longest = longest.max(wait),
                QuotaDecision::Refused(wait) => {
                    return Metering::Refused(fields_of_refusal(limit, wait, data));
                }
            }
        }
        self.delay(longest, context)
    }

    /// Lets a request wait.
    fn delay(&mut self, time: Duration, context: &AnswerContext<'_>) -> Metering {
        if time.is_zero() {
            return Metering::LetIn;
        }
        let wait_ms = u64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
        let due_ms = context.now.monotonic_ms().saturating_add(wait_ms);
        if self.metered.delay(context.id, due_ms) {
            return Metering::Delayed;
        }
        Metering::Refused(FieldList::of(&[("Retry-After", "1")]))
    }

    /// Bytes and open requests are counted when a request ends.
    fn charge_later(&mut self, limit: usize, key: u64, process: ProcessId, data: &SiteData) {
        let Some(Limit { name, rule, .. }) = data.limits.get(limit) else { return };
        let charge = match rule {
            Rule::Open(_) => Charge::Close(Arc::clone(name), key),
            Rule::Amounts(_) => {
                Charge::Spend { limit, generation: data.generation, key, counted: 0 }
            }
            Rule::Uses(_) => return,
        };
        self.metered.charge(process, charge);
    }

    fn key_of(
        &self,
        limit: usize,
        quota: &LimitRule,
        path: &str,
        (request, place): (&Request<'_>, &AnswerPlace),
    ) -> u64 {
        let limiter = self.limiter.borrow();
        let by_address = || limiter.key(limit, ("address", network_of(request.peer.address)));
        match &quota.by {
            QuotaKey::Address | QuotaKey::Pages => by_address(),
            // A request without a user, such as one with an API key, counts for its address.
            QuotaKey::User => match place.user() {
                Some(user) => limiter.key(limit, ("user", user)),
                None => by_address(),
            },
            QuotaKey::Path => limiter.key(limit, ("path", path)),
            QuotaKey::Field(name) => match request.field(name) {
                Some(value) => limiter.key(limit, ("value", value)),
                None => by_address(),
            },
            QuotaKey::Cookie(name) => match cookie_of(request, name) {
                Some(value) => limiter.key(limit, ("value", value)),
                None => by_address(),
            },
        }
    }

    /// The application was asked about a request: counts the bytes that have come, and those of its answer.
    pub(in crate::site) fn count_answer(
        &mut self,
        request: &Request<'_>,
        reply: &Reply<'_>,
        data: &SiteData,
        context: &AnswerContext<'_>,
    ) {
        if self.metered.is_empty() {
            return;
        }
        let sent = if request.method() == Method::Head { 0 } else { reply.body_bytes() };
        let bytes = request.received.saturating_add(sent);
        for owed in self.metered.use_bytes(context.id, bytes) {
            spend(&mut self.limiter.borrow_mut(), owed, data, context.now.monotonic_ns);
        }
    }

    /// A request ends without an answer, or without the end of one, of which so many bytes were sent. What it has used
    /// is counted all the same.
    pub(in crate::site) fn count_unanswered(
        &mut self,
        request: &Request<'_>,
        unanswered: &Unanswered<'_>,
    ) {
        if !self.metered.is_empty() {
            let bytes = request.received.saturating_add(unanswered.sent);
            self.metered.owe_bytes(unanswered.id, bytes);
        }
    }

    /// A request has ended.
    #[inline]
    pub(in crate::site) fn end_metered(&mut self, process: ProcessId) {
        if self.metered.is_empty() {
            return;
        }
        for charge in self.metered.end(process) {
            if let Charge::Close(limit, key) = charge {
                self.limiter.borrow_mut().close(&limit, key);
            }
        }
    }

    /// At the end of a turn: requests go on whose delay is over, and the other schedulers are told what was used.
    pub(in crate::site) fn end_turn(&mut self, data: &SiteData, context: &mut ServiceContext<'_>) {
        if data.limits.is_empty() && self.metered.is_empty() && self.telling.is_empty() {
            return;
        }
        loop {
            match self.metered.take_due(context.now.monotonic_ms()) {
                Ok(process) => context.command(SchedulerCommand::Resume(process)),
                Err(Some(milliseconds)) => {
                    context.wake_after_ms(milliseconds);
                    break;
                }
                Err(None) => break,
            }
        }
        for owed in self.metered.take_owed() {
            let mut limiter = self.limiter.borrow_mut();
            spend(&mut limiter, owed, data, context.now.monotonic_ns);
        }
        let news = self.limiter.borrow_mut().take_news();
        self.telling.tell(news, self.schedulers, context.mail);
        if !self.telling.is_empty() {
            context.wake_after_ms(UNTOLD_AGAIN_MS);
        }
    }

    /// Another scheduler tells what was used there.
    fn learn_used(&mut self, news: &RemoteUses, now_ns: u64) {
        self.limiter.borrow_mut().learn(news, now_ns);
    }

    /// The counters of each limit.
    fn count_limits(&self) -> Vec<LimitCounts> {
        self.limiter.borrow().counts()
    }

    /// Whether a limit still delays a request.
    pub(in crate::site) fn is_delayed(&self, process: ProcessId) -> bool {
        self.metered.is_delayed(process)
    }

    /// Applies other limits from now on; what was used stays counted.
    pub(in crate::site) fn set_limits(&mut self, data: &SiteData, now_ns: u64) {
        self.limiter.borrow_mut().set_limits(Arc::clone(&data.limits), now_ns);
    }
}

/// The limits of a configuration, nothing of which is used.
pub(super) fn new_limiter(data: &SiteData, schedulers: u16, seed: u64) -> Rc<RefCell<Limiter>> {
    let keys = usize::try_from(data.config.limits.limit_keys).unwrap_or(usize::MAX);
    let mut limiter = Limiter::new(keys, usize::from(schedulers), seed);
    limiter.set_limits(Arc::clone(&data.limits), 0);
    Rc::new(RefCell::new(limiter))
}

fn fields_of_refusal(limit: usize, wait: Duration, data: &SiteData) -> FieldList {
    let limit = data.limits.get(limit);
    limit.map_or_else(FieldList::new, |limit| fields_of(limit, wait))
}

/// Counts bytes, if the limit is one of this configuration.
fn spend(limiter: &mut Limiter, owed: Owed, data: &SiteData, now_ns: u64) {
    if owed.generation == data.generation {
        limiter.spend(owed.limit, owed.key, owed.bytes, now_ns);
    }
}

/// When a limit is applied; `None`: only pages use it.
fn stage_of(quota: &LimitRule) -> Option<Stage> {
    match quota.by {
        QuotaKey::Pages => None,
        QuotaKey::User => Some(Stage::User),
        QuotaKey::Address | QuotaKey::Path | QuotaKey::Field(_) | QuotaKey::Cookie(_) => {
            Some(Stage::Client)
        }
    }
}

/// Whether a limit counts such a request.
fn counts(quota: &LimitRule, path: &str, method: Method) -> bool {
    // GET includes HEAD, as in routes.
    let meant = if method == Method::Head { Method::Get } else { method };
    let is_one =
        quota.methods.is_empty() || [method, meant].iter().any(|one| quota.methods.contains(one));
    is_one && quota.fits(path)
}

/// A client of IPv6 has a network of 2^64 addresses (RFC 6177).
fn network_of(address: IpAddr) -> u64 {
    match address.to_canonical() {
        IpAddr::V4(address) => u64::from(address.to_bits()),
        // No network of clients begins with 64 zeros.
        IpAddr::V6(address) => (address.to_bits() >> 64) as u64,
    }
}

/// The value of the first cookie with this name (RFC 6265, 5.4).
fn cookie_of<'r>(request: &Request<'r>, name: &str) -> Option<&'r [u8]> {
    let pairs = request.head.fields.all("cookie").flat_map(|line| line.split(|byte| *byte == b';'));
    pairs.map(|pair| pair.trim_ascii()).find_map(|pair| {
        let (known, value) = pair.split_at_checked(name.len())?;
        let value = value.strip_prefix(b"=")?;
        (known == name.as_bytes()).then_some(value)
    })
}

/// The fields of a refusal: `Retry-After` (RFC 9110, 10.2.3), and those of draft-ietf-httpapi-ratelimit-headers-10.
fn fields_of(limit: &Limit, wait: Duration) -> FieldList {
    let seconds = |time: Duration| time.as_nanos().div_ceil(1_000_000_000).max(1);
    let wait = seconds(wait);
    let name = &limit.name;
    let refilled =
        |pace: &QuotaPace| seconds(Duration::from_nanos(pace.nanoseconds_of(pace.burst)));
    let policy = match &limit.rule {
        Rule::Uses(pace) => format!("\"{name}\";q={};w={}", pace.burst, refilled(pace)),
        Rule::Amounts(pace) => {
            format!("\"{name}\";q={};qu=\"content-bytes\";w={}", pace.burst, refilled(pace))
        }
        Rule::Open(most) => format!("\"{name}\";q={most};qu=\"concurrent-requests\""),
    };
    let state = format!("\"{name}\";r=0;t={wait}");
    FieldList::of(&[
        ("Retry-After", &*wait.to_string()),
        ("RateLimit-Policy", &*policy),
        ("RateLimit", &*state),
    ])
}
