//! How old an answer is, and for how long it is fresh (RFC 9111 section 4.2).
//!
//! Owns the calculation. Never decides whether a stale answer is used.

use wire::http::date;
use wire::http::head::Fields;

use crate::answer_head::AnswerHead;
use crate::control::{Control, seconds, seconds_up_to};
use crate::limits::{HEURISTIC_MAX_S, HEURISTIC_PART, SECONDS_MAX};
use crate::rules::{CacheRules, Guessing};
use crate::time::Time;

/// Why an answer counts as fresh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Basis {
    /// It says so.
    #[default]
    Said,
    /// The rules assume it.
    Assumed,
}

/// How old an answer was when it came, and until when it is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Freshness {
    /// Seconds of age at which it stops being fresh.
    pub lifetime_s: u64,
    /// Why.
    pub basis: Basis,
    /// Its age when it was received (section 4.2.3).
    initial_age_s: u64,
    /// When it was received, or last validated.
    pub since_ms: u64,
    /// Seconds that it was stored before that, by a cache that has ended or another one.
    stored_s: u64,
    /// Whether each use needs a validation (`no-cache`).
    pub is_checked_always: bool,
    /// Seconds after its freshness during which it is used while it is validated.
    pub while_revalidate_s: u64,
    /// The same if the server fails.
    pub if_error_s: u64,
    /// Whether nobody may use it once it is stale (section 4.2.4), not even a client that says so.
    pub is_strict: bool,
}

impl Freshness {
    /// The freshness of an answer, to a request sent at `asked`. `None`: it says nothing of it, and
    /// the rules assume nothing.
    pub fn of(
        answer: &AnswerHead<'_>,
        control: &Control,
        rules: &CacheRules,
        (asked, heard): (Time, Time),
    ) -> Option<Self> {
        let AnswerHead { status, fields } = answer;
        let date = fields.first("date").and_then(date::parse).unwrap_or(heard.unix_s);
        let for_caches = AccelExpires::of(fields).and_then(|said| said.lifetime_s(heard));
        let said = for_caches.or_else(|| said_lifetime(fields, control, date));
        let (lifetime_s, basis) = match said {
            Some(lifetime) => (lifetime, Basis::Said),
            None if control.no_cache => (0, Basis::Said),
            None => (assumed_lifetime(*status, fields, rules, date)?, Basis::Assumed),
        };
        let is_strict =
            control.must_revalidate || control.proxy_revalidate || control.s_maxage.is_some();
        // An answer that says both knows what it says: the permission counts, whatever the other one implies.
        let is_forbidden = control.must_revalidate || control.proxy_revalidate || control.no_cache;
        let window = |said: Option<u64>, configured: u64| match said {
            _ if is_forbidden => 0,
            Some(said) => said,
            None if is_strict => 0,
            None => configured,
        };
        Some(Self {
            lifetime_s,
            basis,
            initial_age_s: initial_age(fields, date, asked, heard),
            since_ms: heard.ms,
            stored_s: 0,
            is_checked_always: control.no_cache,
            while_revalidate_s: window(control.stale_while_revalidate, rules.while_revalidate_s),
            if_error_s: window(control.stale_if_error, rules.if_error_s),
            is_strict: is_strict || control.no_cache,
        })
    }

    /// The same after a validation that says nothing of it.
    pub(crate) fn again(self, heard: Time) -> Self {
        Self { initial_age_s: 0, since_ms: heard.ms, stored_s: 0, ..self }
    }

    /// Its age when it was received, and the seconds since then.
    pub(crate) fn ages(&self, now: Time) -> (u64, u64) {
        (self.initial_age_s, self.resident_s(now))
    }

    /// The same with these ages, now.
    pub(crate) fn with_ages(self, (initial_age_s, stored_s): (u64, u64), now: Time) -> Self {
        Self { initial_age_s, stored_s, since_ms: now.ms, ..self }
    }

    fn resident_s(&self, now: Time) -> u64 {
        (now.ms.saturating_sub(self.since_ms) / 1000).saturating_add(self.stored_s)
    }

    /// Its age in seconds (section 4.2.3).
    pub fn age_s(&self, now: Time) -> u64 {
        self.initial_age_s.saturating_add(self.resident_s(now)).min(SECONDS_MAX)
    }

    /// Whether it is fresh.
    pub fn is_fresh(&self, now: Time) -> bool {
        self.lifetime_s > self.age_s(now)
    }

    /// Whether it is fresh for any time, without a validation for each request.
    pub(crate) fn is_ever_fresh(&self) -> bool {
        self.lifetime_s > self.initial_age_s && !self.is_checked_always
    }

    /// Seconds since it was fresh; 0 if it is.
    pub fn staleness_s(&self, now: Time) -> u64 {
        self.age_s(now).saturating_sub(self.lifetime_s)
    }

    /// Seconds of freshness that are left; below zero if it is stale (RFC 9211 section 2.4).
    pub fn ttl_s(&self, now: Time) -> i64 {
        // Neither is above 2^31.
        self.lifetime_s as i64 - self.age_s(now) as i64
    }

    /// Whether it may ever be used without asking the server.
    pub fn is_of_use(&self, now: Time) -> bool {
        let is_usable = self.is_fresh(now) && !self.is_checked_always;
        is_usable || self.staleness_s(now) < self.while_revalidate_s.max(self.if_error_s)
    }
}

/// `X-Accel-Expires`: how long the cache in front of a server keeps an answer, whatever `Cache-Control` and `Expires`
/// say to others (nginx, ngx_http_proxy_module).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccelExpires {
    /// Not at all.
    Never,
    /// For so many seconds.
    For(u64),
    /// Until this time, in seconds since 1970.
    Until(u64),
    /// It is no number: nothing is known, but that something was to be said.
    Unknown,
}

impl AccelExpires {
    /// The one of an answer with these fields.
    pub(crate) fn of(fields: &Fields<'_, '_>) -> Option<Self> {
        let line = fields.first("x-accel-expires")?;
        let (number, kind): (_, fn(u64) -> Self) = match line.strip_prefix(b"@") {
            Some(time) => (time, Self::Until),
            None => (line, Self::For),
        };
        let is_number = !number.is_empty() && number.iter().all(u8::is_ascii_digit);
        Some(match seconds_up_to(number, u64::MAX) {
            _ if !is_number => Self::Unknown,
            0 => Self::Never,
            number => kind(number),
        })
    }

    fn lifetime_s(self, heard: Time) -> Option<u64> {
        match self {
            Self::Never => Some(0),
            Self::For(seconds) => Some(seconds.min(SECONDS_MAX)),
            Self::Until(unix_s) => Some(unix_s.saturating_sub(heard.unix_s).min(SECONDS_MAX)),
            Self::Unknown => None,
        }
    }
}

/// The lifetime that an answer says (section 4.2.1).
fn said_lifetime(fields: &Fields<'_, '_>, control: &Control, date: u64) -> Option<u64> {
    if let Some(lifetime) = control.s_maxage.or(control.max_age) {
        return Some(lifetime);
    }
    let mut lines = fields.all("expires");
    let expires = lines.next()?;
    if lines.next().is_some() {
        // Two of them are as good as none, and something was to be said.
        return Some(0);
    }
    // One that is no date, such as "0", is in the past (section 5.3).
    Some(date::parse(expires).map_or(0, |expires| expires.saturating_sub(date)).min(SECONDS_MAX))
}

/// The lifetime that the rules assume (section 4.2.2).
fn assumed_lifetime(
    status: u16,
    fields: &Fields<'_, '_>,
    rules: &CacheRules,
    date: u64,
) -> Option<u64> {
    // Its server has said something: perhaps that nobody is to store it.
    if AccelExpires::of(fields) == Some(AccelExpires::Unknown) {
        return None;
    }
    let changed = match rules.guessing {
        Guessing::On => fields.first("last-modified").and_then(date::parse),
        Guessing::Off => None,
    };
    match changed.and_then(|changed| date.checked_sub(changed)) {
        Some(unchanged_s) => Some((unchanged_s / HEURISTIC_PART).min(HEURISTIC_MAX_S)),
        None if status >= 400 => rules.error_ttl_s,
        None => rules.default_ttl_s,
    }
}

/// The age of an answer when it was received (section 4.2.3).
fn initial_age(fields: &Fields<'_, '_>, date: u64, asked: Time, heard: Time) -> u64 {
    let apparent_s = heard.unix_s.saturating_sub(date);
    // Of several values the first one counts (section 5.1).
    let age = fields.first("age").and_then(|line| line.split(|byte| *byte == b',').next());
    let delay_s = heard.ms.saturating_sub(asked.ms) / 1000;
    let corrected_s = seconds(age.map(|age| age.trim_ascii())).saturating_add(delay_s);
    apparent_s.max(corrected_s).min(SECONDS_MAX)
}
