//! `[[limit]]` as plain data.
//!
//! Owns the shape and the defaults. Never reads text: `quotas` does.

use std::time::Duration;

use wire::http::method::Method;

use crate::glob::PathGlob;

/// One `[[limit]]`.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitRule {
    /// Its name, for pages, metrics and fields of answers.
    pub name: String,
    /// The key that tells clients apart; each client has the limit for itself.
    pub by: QuotaKey,
    /// The measure that is limited.
    pub measure: Measure,
    /// How long a request may wait instead of being refused.
    pub delay: Duration,
    /// The paths whose requests count; empty for all.
    pub paths: Vec<PathGlob>,
    /// The methods whose requests count; empty for all.
    pub methods: Vec<Method>,
}

impl LimitRule {
    /// Whether requests for this path count.
    pub fn fits(&self, path: &str) -> bool {
        self.paths.is_empty() || self.paths.iter().any(|glob| glob.is_match(path))
    }
}

/// The key of a client, as `by` has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuotaKey {
    /// The address; of IPv6 its first 64 bits.
    Address,
    /// The user whom `access` has let in; those without one share theirs.
    User,
    /// The path, for all clients together.
    Path,
    /// The value of a header field, whose name is in lower case. Those without one are told apart by address.
    Field(String),
    /// The value of a cookie. Those without one are told apart by address.
    Cookie(String),
    /// A key that pages name; no request counts by itself.
    Pages,
}

/// The measure that is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Requests.
    Requests(LimitRate),
    /// Bytes of bodies in both directions.
    Bytes(LimitRate),
    /// Requests that are not answered yet.
    Open(u64),
}

/// So many in a time, and so many at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitRate {
    /// How many are given back in `window`.
    pub units: u64,
    /// The time of the rate.
    pub window: Duration,
    /// How many at once, if that is configured.
    pub configured_burst: Option<u64>,
}
