//! The `Cache-Status` of an answer.
//!
//! Owns the value of `Cache-Status` (RFC 9211) of one answer. Never writes it.

use std::rc::Rc;

use cache::{AnswerKey, CacheOutcome, CacheStatus, ForwardReason};
use config::CacheReport;

/// The name of this cache in that field.
const NAME: &str = "velodrome";

/// The information for the client.
#[derive(Clone, Debug)]
pub(in crate::site) struct Told {
    outcome: CacheOutcome,
    report: CacheReport,
    key: Option<Rc<str>>,
}

impl Told {
    pub(in crate::site) fn of(outcome: CacheOutcome, report: CacheReport, key: &AnswerKey) -> Self {
        let key = (report == CacheReport::Full).then(|| Rc::clone(key.text()));
        Self { outcome, report, key }
    }

    /// The same without a key.
    pub(in crate::site) fn without_key(outcome: CacheOutcome, report: CacheReport) -> Self {
        Self { outcome, report, key: None }
    }

    /// Another request has asked a server.
    pub(in crate::site) fn collapsed(
        why: ForwardReason,
        report: CacheReport,
        key: &AnswerKey,
    ) -> Self {
        let (status, is_stored, is_collapsed) = (None, false, true);
        Self::of(CacheOutcome::Forwarded { why, status, is_stored, is_collapsed }, report, key)
    }

    /// The client wanted none to be asked.
    pub(in crate::site) fn unwanted(report: CacheReport, key: &AnswerKey) -> Self {
        Self::of(CacheOutcome::Refused, report, key)
    }

    /// Whether the answer was stored, and no server was asked.
    pub(in crate::site) fn is_hit(&self) -> bool {
        matches!(self.outcome, CacheOutcome::Hit)
    }

    /// Whether a server has just made the answer for this request.
    pub(in crate::site) fn is_first_hand(&self) -> bool {
        matches!(self.outcome, CacheOutcome::Forwarded { status: None, is_collapsed: false, .. })
    }

    /// The value of the field, if there is to be one.
    pub(in crate::site) fn text(&self, ttl_s: Option<i64>) -> Option<String> {
        let report = CacheStatus { outcome: self.outcome, ttl_s, key: self.key.as_deref() };
        (self.report != CacheReport::Off).then(|| report.text(NAME))
    }
}

/// The stored answer was used.
pub(in crate::site) fn told_hit(report: CacheReport, key: &AnswerKey) -> Told {
    Told::of(CacheOutcome::Hit, report, key)
}
