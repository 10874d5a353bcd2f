//! The subscriber that publishes.
//!
//! Owns when a message is due.

use std::sync::atomic::Ordering;

use runtime::service::Context;
use wire::websocket::{Opcode, write_masked};

use super::super::{ChannelPace, message};
use super::Subscribers;
use crate::client::NoThreadMessage;

impl Subscribers {
    /// Publishes the messages that are due.
    pub(super) fn publish(&mut self, context: &mut Context<'_, NoThreadMessage>) {
        let signs = &self.orders.signs;
        let now_ns = context.now.monotonic_ns;
        let begin_ns = signs.begin_ns.load(Ordering::Acquire);
        if now_ns < begin_ns || now_ns >= signs.end_ns.load(Ordering::Relaxed) {
            return;
        }
        let plan = &self.orders.plan;
        let mut published = self.tally.published;
        let mut send = |due_ns: u64| {
            let text = message::write(due_ns, published, plan.size);
            write_masked(context.output.buffer(), Opcode::Text, text.as_bytes(), [0; 4]);
            published += 1;
            published < plan.messages
        };
        if self.tally.published < plan.messages {
            match plan.pace {
                ChannelPace::AtOnce(count) if self.tally.has_all() => {
                    for _ in 0..count {
                        if !send(now_ns) {
                            break;
                        }
                    }
                }
                ChannelPace::AtOnce(_) => {}
                ChannelPace::Rate(rate) => {
                    let interval_ns = (1e9 / rate) as u64;
                    if self.next_due_ns == u64::MAX {
                        self.next_due_ns = begin_ns;
                    }
                    while self.next_due_ns <= now_ns {
                        let due_ns = self.next_due_ns;
                        self.next_due_ns += interval_ns.max(1);
                        if !send(due_ns) {
                            break;
                        }
                    }
                }
            }
        }
        self.tally.published = published;
        signs.published.store(published, Ordering::Relaxed);
    }

    /// When the publisher should run next, if at all.
    pub(super) fn due_ns(&self) -> Option<u64> {
        let signs = &self.orders.signs;
        let begin_ns = signs.begin_ns.load(Ordering::Acquire);
        if begin_ns == u64::MAX || self.tally.published >= self.orders.plan.messages {
            return None;
        }
        match self.orders.plan.pace {
            ChannelPace::Rate(_) if self.next_due_ns != u64::MAX => Some(self.next_due_ns),
            ChannelPace::AtOnce(_) if !self.tally.has_all() => None,
            _ => Some(begin_ns),
        }
    }
}
