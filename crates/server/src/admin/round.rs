//! One query to all schedulers, and the answers so far.

use runtime::mailbox::Endpoint;

use super::ControlPeers;
use super::numbers::{Number, of_disks, of_store_writer};
use crate::disk_order::DiskReport;
use crate::message::{
    Inquiry, LogReport, Mailbox, Question, SchedulerReport, ToCacheDisk, ToLogWriter, ToScheduler,
};
use crate::store_writer_stats::StoreWriterStats;

/// Milliseconds for which answers may be reused.
pub(super) const GOOD_FOR_MS: u64 = 50;

/// Milliseconds after which a query ends without the missing answers.
pub(super) const PATIENCE_MS: u64 = 1000;

/// The answers to one query.
#[derive(Debug, Default)]
pub(super) struct Round {
    /// One for each scheduler, in order; `None` if it has not answered.
    reports: Vec<Option<SchedulerReport>>,
    log: Option<LogReport>,
    disk: Option<DiskReport>,
    /// The last numbers of the store's writer, which sends them unasked.
    store: Option<StoreWriterStats>,
    question: Option<Inquiry>,
    /// The number of that question: answers to earlier ones come from schedulers that were stuck.
    number: u64,
    asked_ms: Option<u64>,
    closed_ms: Option<u64>,
    expects_log: bool,
    expects_disk: bool,
}

impl Round {
    /// One for each scheduler, in order; `None` if it has not answered.
    pub(super) fn schedulers(&self) -> &[Option<SchedulerReport>] {
        &self.reports
    }

    /// Those that have answered, with their numbers.
    pub(super) fn numbered(&self) -> impl Iterator<Item = (usize, &SchedulerReport)> {
        let numbered = self.reports.iter().enumerate();
        numbered.filter_map(|(number, report)| Some((number, report.as_ref()?)))
    }

    /// Those that have answered.
    pub(super) fn answered(&self) -> impl Iterator<Item = &SchedulerReport> {
        self.reports.iter().flatten()
    }

    pub(super) fn log(&self) -> Option<LogReport> {
        self.log
    }

    pub(super) fn store_writer(&self) -> Option<&StoreWriterStats> {
        self.store.as_ref()
    }

    /// The numbers of the disks of caches.
    pub(super) fn of_disks(&self) -> Vec<Number> {
        self.disk.as_ref().map(of_disks).unwrap_or_default()
    }

    /// The numbers that are not those of a scheduler.
    pub(super) fn of_helpers(&self) -> impl Iterator<Item = Number> {
        let of_store = self.store.as_ref().map(of_store_writer).unwrap_or_default();
        self.of_disks().into_iter().chain(of_store)
    }
    /// Whether the answers may be reused now. All answers contain the counters.
    pub(super) fn is_good(&self, question: &Inquiry, now_ms: u64) -> bool {
        let is_new =
            self.closed_ms.is_some_and(|closed_ms| now_ms.saturating_sub(closed_ms) <= GOOD_FOR_MS);
        is_new && (*question == Inquiry::Counters || self.question.as_ref() == Some(question))
    }

    /// Forgets the answers: what they say is not so any more.
    pub(super) fn forget(&mut self) {
        *self = Self { store: self.store, number: self.number, ..Self::default() };
    }

    /// Whether a query is in progress.
    pub(super) fn is_open(&self) -> bool {
        self.asked_ms.is_some() && self.closed_ms.is_none()
    }

    /// Starts a query of these.
    pub(super) fn ask(
        &mut self,
        inquiry: Inquiry,
        peers: &ControlPeers,
        now_ms: u64,
        mail: &mut Mailbox,
    ) {
        let question = Question { number: self.number + 1, inquiry };
        for endpoint in peers.endpoints() {
            // A scheduler with a full mailbox is stuck; it is reported as not answering.
            let _not_answering = mail.send_part(endpoint, ToScheduler::AskReport(question.clone()));
        }
        if let Some(log) = peers.log {
            let _not_answering = mail.send_part(log, ToLogWriter::AskReport);
        }
        if let Some(disk) = peers.cache_disk {
            let _not_answering = mail.send_part(disk, ToCacheDisk::AskReport);
        }
        *self = Self {
            reports: vec![None; peers.schedulers],
            log: None,
            disk: None,
            store: self.store,
            question: Some(question.inquiry),
            number: question.number,
            asked_ms: Some(now_ms),
            closed_ms: None,
            expects_log: peers.log.is_some(),
            expects_disk: peers.cache_disk.is_some(),
        };
    }

    /// A scheduler answered this question, or an earlier one.
    pub(super) fn add(&mut self, from: Endpoint, report: SchedulerReport) {
        let place = self.reports.get_mut(usize::from(from.0));
        if let Some(place) = place.filter(|_| report.question == self.number) {
            *place = Some(report);
        }
    }

    /// The log writer answered.
    pub(super) fn add_log(&mut self, report: LogReport) {
        self.log = Some(report);
    }

    /// The disks of caches answered.
    pub(super) fn add_disk(&mut self, report: DiskReport) {
        self.disk = Some(report);
    }

    /// The writer of the store has sent its numbers.
    pub(super) fn add_store_writer(&mut self, stats: StoreWriterStats) {
        self.store = Some(stats);
    }

    /// Ends the query if all answers have arrived or the time is over. Returns whether it ended now.
    pub(super) fn close_if_due(&mut self, now_ms: u64) -> bool {
        let Some(asked_ms) = self.asked_ms.filter(|_| self.closed_ms.is_none()) else {
            return false;
        };
        let complete = self.reports.iter().all(Option::is_some)
            && (self.log.is_some() || !self.expects_log)
            && (self.disk.is_some() || !self.expects_disk);
        if complete || now_ms >= asked_ms + PATIENCE_MS {
            self.closed_ms = Some(now_ms);
            return true;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use runtime::mailbox::{EndpointRole, Waking, mesh};

    use super::*;

    #[test]
    fn late_answer_to_an_earlier_question_is_not_one_to_this_question() {
        let peers = ControlPeers {
            schedulers: 1,
            log: None,
            cache_disk: None,
            store: None,
            profiler: Endpoint(1),
            keeps_profile: false,
        };
        let seats = mesh(&[EndpointRole::Scheduler; 2], Waking::Driven).expect("two have room");
        let mut mail = seats.into_iter().next_back().expect("there are two").mailbox;
        let mut round = Round::default();
        round.ask(Inquiry::Counters, &peers, 0, &mut mail);
        assert!(round.close_if_due(PATIENCE_MS), "it was asked in vain");
        round.forget();
        round.ask(Inquiry::Info("c-0-1".into()), &peers, PATIENCE_MS, &mut mail);
        let answer = |question| SchedulerReport { question, ..SchedulerReport::default() };
        round.add(Endpoint(0), answer(1));
        assert!(!round.close_if_due(PATIENCE_MS), "its answer is still to come");
        round.add(Endpoint(0), answer(2));
        assert!(round.close_if_due(PATIENCE_MS));
        assert_eq!(round.answered().count(), 1);
    }
}
