//! The question to all schedulers once a second, and who has not answered it.
//!
//! Owns the last answer of each scheduler. One that has not answered is not asked again until it does.

use runtime::mailbox::Endpoint;

use super::judge::judge;
use crate::admin::ControlPeers;
use crate::events::{Kind, Trouble, Vitals};
use crate::limits::{EVENTS_LOOK_MS, EVENTS_PATIENCE_MS};
use crate::message::{Mailbox, ToLogWriter, ToScheduler};

/// The last report of a scheduler, and how it answers.
#[derive(Debug, Default)]
struct Known {
    last: Option<Box<Vitals>>,
    /// When it was asked, if it has not answered.
    asked_ms: Option<u64>,
    is_told: bool,
}

/// The watch over all schedulers.
#[derive(Debug)]
pub(super) struct Watch {
    schedulers: Vec<Known>,
    /// The log writer, if there is one.
    log: Option<Endpoint>,
    next_ms: u64,
}

impl Watch {
    /// Over these.
    pub(super) fn new(peers: &ControlPeers) -> Self {
        let schedulers = (0..peers.schedulers).map(|_| Known::default()).collect();
        Self { schedulers, log: peers.log, next_ms: 0 }
    }

    /// Asks those that are due, and finds those that are silent. Returns in how many milliseconds there is more to do.
    pub(super) fn look(&mut self, now_ms: u64, mail: &mut Mailbox) -> (Vec<Trouble>, u64) {
        let is_due = now_ms >= self.next_ms;
        if is_due {
            self.next_ms = now_ms + EVENTS_LOOK_MS;
            if let Some(log) = self.log {
                // It is asked again with the next question.
                let _busy = mail.send_part(log, ToLogWriter::AskReport);
            }
        }
        let mut found = Vec::new();
        let mut next_ms = self.next_ms;
        for (number, known) in self.schedulers.iter_mut().enumerate() {
            if is_due && known.asked_ms.is_none() {
                known.asked_ms = Some(now_ms);
                let endpoint = Endpoint(u16::try_from(number).unwrap_or(u16::MAX));
                // One without room for the question does not answer it.
                let _silent = mail.send_part(endpoint, ToScheduler::AskVitals);
            }
            let Some(asked_ms) = known.asked_ms.filter(|_| !known.is_told) else { continue };
            let late_ms = asked_ms + EVENTS_PATIENCE_MS;
            if now_ms >= late_ms {
                known.is_told = true;
                let text = format!("it has not answered for {} ms", now_ms - asked_ms);
                found.push(Trouble::new(Kind::Silent, "", text).at(number));
            } else {
                next_ms = next_ms.min(late_ms);
            }
        }
        (found, next_ms.saturating_sub(now_ms))
    }

    /// A scheduler has answered. Returns what is wrong with it.
    pub(super) fn take(&mut self, from: Endpoint, vitals: Box<Vitals>) -> Vec<Trouble> {
        let number = usize::from(from.0);
        let Some(known) = self.schedulers.get_mut(number) else { return Vec::new() };
        (known.asked_ms, known.is_told) = (None, false);
        let before = known.last.replace(vitals);
        let now = known.last.as_deref().expect("it was just put there");
        judge(number, before.as_deref(), now)
    }
}
