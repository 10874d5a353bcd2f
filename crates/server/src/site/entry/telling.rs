//! The uses of limits by clients, on their way to the other schedulers.
//!
//! Owns what a scheduler is still to be told whose mailbox was full: it is told in order, and nothing that was opened
//! or closed is left out. Never counts.

use std::sync::Arc;

use quota::{RemoteUses, Untold};
use runtime::mailbox::Endpoint;

use crate::message::Mailbox;

/// The other schedulers that could not be told of everything.
#[derive(Debug, Default)]
pub(super) struct Telling(Vec<(Endpoint, Backlog)>);

/// The uses of which one of them is still to be told.
#[derive(Debug, Default)]
struct Backlog {
    /// First.
    next: Option<Arc<RemoteUses>>,
    /// And then.
    later: Untold,
}

impl Telling {
    /// Whether all were told of everything.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Tells the other schedulers, of which there are so many with this one, what was used since the last time.
    pub(super) fn tell(&mut self, news: RemoteUses, schedulers: u16, mail: &mut Mailbox) {
        if news.is_empty() && self.is_empty() {
            return;
        }
        let news = Arc::new(news);
        let others: Vec<_> = mail.schedulers().filter(|one| one.0 < schedulers).collect();
        for other in others {
            if let Some((_, backlog)) = self.0.iter_mut().find(|(one, _)| *one == other) {
                backlog.later.add(&news);
                backlog.send(other, mail);
            } else if !news.is_empty()
                && let Err(news) = mail.send_part(other, Arc::clone(&news))
            {
                self.0.push((other, Backlog { next: Some(news), later: Untold::default() }));
            }
        }
        self.0.retain(|(_, backlog)| backlog.next.is_some());
    }
}

impl Backlog {
    fn send(&mut self, to: Endpoint, mail: &mut Mailbox) {
        while let Some(part) = self.take() {
            if let Err(part) = mail.send_part(to, part) {
                self.next = Some(part);
                return;
            }
        }
    }

    fn take(&mut self) -> Option<Arc<RemoteUses>> {
        let is_more = !self.later.is_empty();
        self.next.take().or_else(|| is_more.then(|| Arc::new(self.later.take())))
    }
}

#[cfg(test)]
mod tests {
    use quota::{Limit, Limiter, QuotaDecision, Rule};
    use runtime::limits::MAILBOX_MESSAGES;
    use runtime::mailbox::{EndpointRole, Waking, mesh};

    use super::*;
    use crate::message::{Message, ToScheduler};

    fn limiter() -> Limiter {
        let open = Limit { name: "open".into(), rule: Rule::Open(1), patience: Default::default() };
        let mut limiter = Limiter::new(16, 2, 7);
        limiter.set_limits(Arc::from([open]), 0);
        limiter
    }

    #[test]
    fn uses_that_find_no_room_are_told_once_there_is_some() {
        let seats = mesh::<Message>(&[EndpointRole::Scheduler; 2], Waking::Driven).expect("a mesh");
        let mut mails = seats.into_iter().map(|seat| seat.mailbox);
        let (mut mail, mut other) = (mails.next().expect("one"), mails.next().expect("another"));
        let (mut here, mut there) = (limiter(), limiter());
        let key = here.key(0, 1_u64);
        let mut telling = Telling::default();
        // The last one that finds room is an opening.
        for _ in 0..MAILBOX_MESSAGES / 2 {
            assert_eq!(here.take(0, key, 0), QuotaDecision::Allowed);
            telling.tell(here.take_news(), 2, &mut mail);
            here.close("open", key);
            telling.tell(here.take_news(), 2, &mut mail);
        }
        assert!(telling.is_empty());
        let mut learn = |most: usize, there: &mut Limiter| {
            for (_, message) in std::iter::from_fn(|| other.take()).take(most) {
                let Message::Scheduler(ToScheduler::Used(news)) = message else {
                    panic!("another")
                };
                there.learn(&news, 0);
            }
        };
        learn(1, &mut there);
        assert_eq!(here.take(0, key, 0), QuotaDecision::Allowed);
        telling.tell(here.take_news(), 2, &mut mail);
        here.close("open", key);
        telling.tell(here.take_news(), 2, &mut mail);
        assert!(!telling.is_empty(), "the mailbox is full");
        telling.tell(here.take_news(), 2, &mut mail);
        learn(MAILBOX_MESSAGES, &mut there);
        telling.tell(here.take_news(), 2, &mut mail);
        assert!(telling.is_empty());
        learn(MAILBOX_MESSAGES, &mut there);
        assert_eq!(there.take(0, key, 0), QuotaDecision::Allowed);
    }
}
