//! The question to all schedulers once a second, and who has not answered it.
//!
//! Owns the last answer of each scheduler. One that does not answer is asked again only after a while, so that
//! questions do not fill its mailbox.

use runtime::mailbox::Endpoint;

use super::judge::judge;
use crate::admin::ControlPeers;
use crate::events::{Kind, Trouble, Vitals};
use crate::limits::{EVENTS_ASK_AGAIN_MS, EVENTS_LOOK_MS, EVENTS_PATIENCE_MS};
use crate::message::{Mailbox, ToLogWriter, ToScheduler};

/// The last report of a scheduler, and how it answers.
#[derive(Debug, Default)]
struct Known {
    last: Option<Box<Vitals>>,
    /// When it was asked, if it has not answered.
    asked_ms: Option<u64>,
    /// When it is asked again although it has not answered: its mailbox or ours may have been full.
    again_ms: u64,
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
            if is_due && (known.asked_ms.is_none() || now_ms >= known.again_ms) {
                known.asked_ms.get_or_insert(now_ms);
                let endpoint = Endpoint(u16::try_from(number).unwrap_or(u16::MAX));
                // One without room for the question is asked with the next look.
                let is_asked = mail.send_part(endpoint, ToScheduler::AskVitals).is_ok();
                known.again_ms = if is_asked { now_ms + EVENTS_ASK_AGAIN_MS } else { now_ms };
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

#[cfg(test)]
mod tests {
    use runtime::limits::MAILBOX_MESSAGES;
    use runtime::mailbox::{EndpointRole, Waking, mesh};

    use super::*;
    use crate::message::Message;

    /// The mailboxes of a scheduler and of the control scheduler.
    fn two() -> [Mailbox; 2] {
        let seats = mesh(&[EndpointRole::Scheduler; 2], Waking::Driven).expect("two have room");
        let boxes: Vec<Mailbox> = seats.into_iter().map(|seat| seat.mailbox).collect();
        boxes.try_into().unwrap_or_else(|_| panic!("there are two"))
    }

    fn watch() -> Watch {
        Watch { schedulers: vec![Known::default()], log: None, next_ms: 0 }
    }

    fn is_asked(scheduler: &mut Mailbox) -> bool {
        let asks = |(_, message)| matches!(message, Message::Scheduler(ToScheduler::AskVitals));
        std::iter::from_fn(|| scheduler.take()).any(asks)
    }

    #[test]
    fn question_that_found_no_room_is_asked_again() {
        let [mut scheduler, mut control] = two();
        let mut watch = watch();
        for _ in 0..MAILBOX_MESSAGES {
            control.send(Endpoint(0), ToScheduler::GiveMemoryBack.into()).expect("there is room");
        }
        watch.look(0, &mut control);
        assert!(!is_asked(&mut scheduler));
        let (found, _) = watch.look(EVENTS_LOOK_MS, &mut control);
        assert_eq!((found.len(), is_asked(&mut scheduler)), (1, true));
    }

    #[test]
    fn scheduler_whose_answer_was_lost_is_asked_again_after_a_while() {
        let [mut scheduler, mut control] = two();
        let mut watch = watch();
        watch.look(0, &mut control);
        assert!(is_asked(&mut scheduler));
        watch.look(EVENTS_LOOK_MS, &mut control);
        assert!(!is_asked(&mut scheduler));
        watch.look(EVENTS_ASK_AGAIN_MS, &mut control);
        assert!(is_asked(&mut scheduler));
        watch.take(Endpoint(0), Box::default());
        watch.look(EVENTS_ASK_AGAIN_MS + EVENTS_LOOK_MS, &mut control);
        assert!(is_asked(&mut scheduler));
    }
}
