//! The ledger: what was asked of authorities, so that no limit of theirs is exceeded, not even over restarts.
//!
//! Owns the counts and the waits of all certificates. Pure: time is an argument, and `state` writes it down. It is
//! written before an authority is asked, so a server that ends at any moment has counted what it did.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::limits::{
    DUPLICATES, DUPLICATES_S, FAILED, FAILED_S, ORDERS, ORDERS_BURST, ORDERS_BURST_S, ORDERS_S,
    RETRY_AFTER_S,
};
use crate::moment::{Fraction, UtcSecond};
use crate::names::CertificateNames;
use crate::schedule::{RenewalWindow, retry_delay_s};

/// All that is remembered about the past.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OrderLedger {
    /// Orders of the last hours, the oldest first.
    orders: Vec<UtcSecond>,
    /// Failed validations of the last hour, by name.
    failed: BTreeMap<String, Vec<UtcSecond>>,
    /// Until when issuers asked to be left alone, by directory.
    held: BTreeMap<String, UtcSecond>,
    /// By the key of the names.
    certificates: BTreeMap<String, CertificateRecord>,
}

/// The record of one certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CertificateRecord {
    /// Certificates of the last week for these names.
    issued: Vec<UtcSecond>,
    /// Failures since the last success.
    pub failures: u32,
    /// When to try again.
    pub retry_at: Option<UtcSecond>,
    /// The last error, in one line.
    pub error: Option<String>,
    /// The directory of the issuer of the certificate in use.
    pub issuer: Option<String>,
    /// The answer of the authority about the certificate in use.
    pub renewal: Option<Renewal>,
}

/// The answer of an authority about the renewal of a certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Renewal {
    /// The certificate that it is about (RFC 9773 section 4.1).
    pub identifier: String,
    /// The window, if the authority gave one.
    pub window: Option<RenewalWindow>,
    /// When to ask again.
    pub ask_at: UtcSecond,
}

/// A failed attempt.
#[derive(Clone, Debug)]
pub struct Failed<'a> {
    /// The names whose validation failed.
    pub names: &'a [String],
    /// The error in one line.
    pub error: String,
    /// The jitter of the next wait.
    pub jitter: Fraction,
}

/// A limit of authorities that holds orders up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderLimit {
    /// [`ORDERS_BURST`] in [`ORDERS_BURST_S`].
    Burst,
    /// [`ORDERS`] in [`ORDERS_S`].
    Orders,
    /// [`FAILED`] in [`FAILED_S`].
    Failed,
    /// [`DUPLICATES`] in [`DUPLICATES_S`].
    Duplicates,
}

impl fmt::Display for OrderLimit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Burst => write!(out, "{ORDERS_BURST} orders in {ORDERS_BURST_S} s"),
            Self::Orders => write!(out, "{ORDERS} orders in {} hours", ORDERS_S / 3600),
            Self::Failed => write!(out, "{FAILED} failed validations of a name in an hour"),
            Self::Duplicates => {
                write!(out, "{DUPLICATES} certificates for the same names in a week")
            }
        }
    }
}

/// A limit that is reached, and until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitReached {
    /// The limit.
    pub limit: OrderLimit,
    /// The first moment at which it allows an order.
    pub until: UtcSecond,
}

impl OrderLedger {
    /// The record of some names.
    pub fn record(&self, names: &CertificateNames) -> Option<&CertificateRecord> {
        self.certificates.get(names.key())
    }

    /// The same, to be changed.
    pub fn record_mut(&mut self, names: &CertificateNames) -> &mut CertificateRecord {
        self.certificates.entry(names.key().to_owned()).or_default()
    }

    /// As it is written down.
    pub fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("its keys are texts")
    }

    /// Until when an issuer asked to be left alone.
    pub fn held_until(&self, directory: &str) -> Option<UtcSecond> {
        self.held.get(directory).copied()
    }

    /// Forgets what no limit counts any more. A moment in the future was written by a clock that was wrong: it counts
    /// as now, so that a clock that is set back neither frees an order nor holds one up for longer than its limit.
    pub fn on_time(&mut self, now: UtcSecond) {
        keep(&mut self.orders, now, ORDERS_S);
        for moments in self.failed.values_mut() {
            keep(moments, now, FAILED_S);
        }
        self.failed.retain(|_, moments| !moments.is_empty());
        let longest = now.plus(RETRY_AFTER_S);
        self.held.retain(|_, until| {
            *until = (*until).min(longest);
            *until > now
        });
        for record in self.certificates.values_mut() {
            keep(&mut record.issued, now, DUPLICATES_S);
            record.retry_at = record.retry_at.map(|at| at.min(longest));
            if let Some(renewal) = &mut record.renewal {
                renewal.ask_at = renewal.ask_at.min(longest);
            }
        }
    }

    /// Forgets certificates that are no longer configured, unless a limit still counts them.
    pub fn keep_only(&mut self, keys: &BTreeSet<&str>) {
        self.certificates
            .retain(|key, record| keys.contains(key.as_str()) || !record.issued.is_empty());
    }

    /// The first moment, from now on, at which an order for these names exceeds no limit.
    pub fn allowed_at(&self, names: &CertificateNames, now: UtcSecond) -> UtcSecond {
        self.reached(names, now).map_or(now, |reached| reached.until)
    }

    /// The limit that holds an order for these names up longest.
    pub fn reached(&self, names: &CertificateNames, now: UtcSecond) -> Option<LimitReached> {
        let reached = |limit, moments: &[UtcSecond], count, span_s| {
            free_at(moments, count, span_s).map(|until| LimitReached { limit, until })
        };
        let issued = self.record(names).map_or(&[][..], |record| &record.issued);
        let failed = names.iter().map(|name| {
            let moments = self.failed.get(&name.to_string()).map_or(&[][..], Vec::as_slice);
            reached(OrderLimit::Failed, moments, FAILED, FAILED_S)
        });
        failed
            .chain([
                reached(OrderLimit::Burst, &self.orders, ORDERS_BURST, ORDERS_BURST_S),
                reached(OrderLimit::Orders, &self.orders, ORDERS, ORDERS_S),
                reached(OrderLimit::Duplicates, issued, DUPLICATES, DUPLICATES_S),
            ])
            .flatten()
            .filter(|reached| reached.until > now)
            .max_by_key(|reached| reached.until)
    }

    /// An order is about to be made.
    pub fn on_order(&mut self, now: UtcSecond) {
        self.orders.push(now);
    }

    /// A certificate for these names is about to be asked for, so it may be issued even if its answer never arrives.
    pub fn on_finalize(&mut self, names: &CertificateNames, now: UtcSecond) {
        self.record_mut(names).issued.push(now);
    }

    /// An attempt has failed.
    pub fn on_failed(&mut self, names: &CertificateNames, failed: Failed<'_>, now: UtcSecond) {
        for name in failed.names {
            self.failed.entry(name.clone()).or_default().push(now);
        }
        let record = self.record_mut(names);
        record.failures = record.failures.saturating_add(1);
        record.retry_at = Some(now.plus(retry_delay_s(record.failures, failed.jitter)));
        record.error = Some(failed.error);
    }

    /// An authority asks to be left alone for some seconds.
    pub fn on_hold(&mut self, directory: &str, seconds: i64, now: UtcSecond) {
        let until = now.plus(seconds.clamp(0, RETRY_AFTER_S));
        self.held.insert(directory.to_owned(), until);
    }

    /// An authority has issued a certificate, which is in use from now on.
    pub fn on_issued(&mut self, names: &CertificateNames, directory: &str) {
        let record = self.record_mut(names);
        record.retry_at = None;
        record.renewal = None;
        record.issuer = Some(directory.to_owned());
    }

    /// The certificate in use is good for a while: failures before it no longer count.
    pub fn on_success(&mut self, names: &CertificateNames) {
        let record = self.record_mut(names);
        record.failures = 0;
        record.error = None;
    }
}

/// Keeps moments that are younger than the span; none of them is in the future.
fn keep(moments: &mut Vec<UtcSecond>, now: UtcSecond, span_s: i64) {
    for moment in moments.iter_mut() {
        *moment = (*moment).min(now);
    }
    moments.sort_unstable();
    moments.retain(|moment| now.since(*moment) < span_s);
}

/// When fewer than `count` of these moments, which are in order, are younger than the span.
fn free_at(moments: &[UtcSecond], count: usize, span_s: i64) -> Option<UtcSecond> {
    let oldest = moments.len().checked_sub(count)?;
    moments.get(oldest).map(|moment| moment.plus(span_s))
}
