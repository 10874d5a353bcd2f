//! One query to all schedulers, and the answers so far.

use runtime::mailbox::Endpoint;

use crate::disk_order::DiskReport;
use crate::message::{Inquiry, LogReport, SchedulerReport};
use crate::store_writer_stats::StoreWriterStats;

/// Milliseconds for which answers may be reused.
pub(super) const GOOD_FOR_MS: u64 = 50;

/// Milliseconds after which a query ends without the missing answers.
pub(super) const PATIENCE_MS: u64 = 1000;

/// The answers to one query.
#[derive(Debug, Default)]
pub(super) struct Round {
    /// One for each scheduler, in order; `None` if it has not answered.
    pub(super) reports: Vec<Option<SchedulerReport>>,
    pub(super) log: Option<LogReport>,
    pub(super) disk: Option<DiskReport>,
    /// The last numbers of the store's writer, which sends them unasked.
    pub(super) store: Option<StoreWriterStats>,
    question: Option<Inquiry>,
    asked_ms: Option<u64>,
    closed_ms: Option<u64>,
    expects: Expected,
}

impl Round {
    /// Whether the answers may be reused now. All answers contain the counters.
    pub(super) fn is_good(&self, question: &Inquiry, now_ms: u64) -> bool {
        let is_new =
            self.closed_ms.is_some_and(|closed_ms| now_ms.saturating_sub(closed_ms) <= GOOD_FOR_MS);
        is_new && (*question == Inquiry::Counters || self.question.as_ref() == Some(question))
    }

    /// Forgets the answers: what they say is not so any more.
    pub(super) fn forget(&mut self) {
        *self = Self { store: self.store, ..Self::default() };
    }

    /// Whether a query is in progress.
    pub(super) fn is_open(&self) -> bool {
        self.asked_ms.is_some() && self.closed_ms.is_none()
    }

    /// Starts a query of this many schedulers.
    pub(super) fn ask(
        &mut self,
        question: Inquiry,
        schedulers: usize,
        expects: Expected,
        now_ms: u64,
    ) {
        *self = Self {
            reports: vec![None; schedulers],
            log: None,
            disk: None,
            store: self.store,
            question: Some(question),
            asked_ms: Some(now_ms),
            closed_ms: None,
            expects,
        };
    }

    /// A scheduler answered.
    pub(super) fn add(&mut self, from: Endpoint, report: SchedulerReport) {
        if let Some(place) = self.reports.get_mut(usize::from(from.0)) {
            *place = Some(report);
        }
    }

    /// Ends the query if all answers have arrived or the time is over. Returns whether it ended now.
    pub(super) fn close_if_due(&mut self, now_ms: u64) -> bool {
        let Some(asked_ms) = self.asked_ms.filter(|_| self.closed_ms.is_none()) else {
            return false;
        };
        let complete = self.reports.iter().all(Option::is_some)
            && (self.log.is_some() || !self.expects.log)
            && (self.disk.is_some() || !self.expects.disk);
        if complete || now_ms >= asked_ms + PATIENCE_MS {
            self.closed_ms = Some(now_ms);
            return true;
        }
        false
    }
}

/// The others that were queried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Expected {
    /// The log writer.
    pub(super) log: bool,
    /// The disks of caches.
    pub(super) disk: bool,
}
