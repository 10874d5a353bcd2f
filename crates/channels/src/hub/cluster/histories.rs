//! Parts of histories that were read: they become the history of their channel.
//!
//! Owns what a read adds, and which of it subscribers get. Never orders a read: `reads` does. Never decides what is
//! missing: `following` does.

use std::sync::Arc;

use runtime::service::ServiceContext;

use super::super::Channels;
use super::super::transit::Bound;
use crate::cluster::{HistoryPart, KeptMessage};
use crate::history::History;
use crate::node::Remainder;
use crate::shared::Sight;

impl Channels {
    /// A part of a history was read.
    pub(super) fn on_history<M>(
        &mut self,
        name: &str,
        read: u64,
        part: &HistoryPart,
        context: &mut ServiceContext<'_, M>,
    ) {
        let Some(place) = self.end_read(name, read) else { return };
        let Some(channel) = &mut self.channels[place as usize] else { return };
        let Some(shared) = &mut channel.shared else { return };
        if shared.sight == Sight::Unknown {
            self.draft(place, read, part, context);
        } else if channel.epoch == part.epoch {
            self.fill(place, read, part, context);
        } else {
            // Everything is read anew. Subscribers are told when that is done.
            (shared.sight, shared.draft) = (Sight::Unknown, None);
            self.want_read(place);
        }
    }

    /// The channel of a read that is under way, which ends.
    fn end_read(&mut self, name: &str, read: u64) -> Option<u32> {
        self.cluster.as_mut()?.reads.end(read);
        let place = self.by_name.get(name).copied()?;
        let shared = self.shared_mut(place)?;
        shared.read.take_if(|of| *of == read)?;
        Some(place)
    }

    /// The first messages that are known of a channel, or of its new epoch.
    fn draft<M>(
        &mut self,
        place: u32,
        read: u64,
        part: &HistoryPart,
        context: &mut ServiceContext<'_, M>,
    ) {
        let now_ms = context.now.monotonic_ms();
        let Some(channel) = &mut self.channels[place as usize] else { return };
        let rules = Arc::clone(&channel.rules);
        let Some(shared) = &mut channel.shared else { return };
        let (epoch, mut history) = match shared.draft.take() {
            None => (part.epoch, History::of_stream(part.complete_after)),
            Some((epoch, _)) if epoch != part.epoch => {
                // It was another stream in the middle. From the beginning again.
                return self.want_read(place);
            }
            Some((_, history)) if history.known() < part.complete_after => {
                (part.epoch, History::of_stream(part.complete_after))
            }
            Some(draft) => draft,
        };
        for message in &part.messages {
            if message.number > history.known() {
                let at_ms = now_ms.saturating_sub(message.age_ms);
                history.push(message.number, &message.body, at_ms, &rules.history);
            }
        }
        history.trim(now_ms, &rules.history);
        history.know(part.last);
        if part.rest == Remainder::Some {
            shared.draft = Some((epoch, history));
            return self.want_read(place);
        }
        let known = history.known();
        let new = self.adopt(place, epoch, history, now_ms);
        if self.take_read(place, new, context) {
            self.know(place, known);
            self.settle_stream(place, Some(read), context);
        }
        self.bound_histories();
    }

    /// The history of a channel was read for the first time, or that of another epoch. Returns the messages of it that
    /// subscribers are still to get.
    fn adopt(
        &mut self,
        place: u32,
        epoch: u64,
        mut history: History,
        now_ms: u64,
    ) -> Vec<KeptMessage> {
        let Some(channel) = &mut self.channels[place as usize] else { return Vec::new() };
        let Some(shared) = &mut channel.shared else { return Vec::new() };
        shared.sight = Sight::Doubtful;
        let was_told = std::mem::replace(&mut shared.is_told, true);
        // Messages that came while it was read are new to all subscribers. They may know those before, from before the
        // stream was restored.
        let first_new = shared.first_held(epoch).filter(|_| was_told);
        let new = first_new.map_or_else(Vec::new, |(number, _)| history.take_from(number, now_ms));
        self.history_bytes += history.held_bytes();
        self.history_bytes -= channel.history.held_bytes();
        (channel.epoch, channel.history) = (epoch, history);
        if was_told {
            self.tell_lost(place);
        }
        new
    }

    /// Messages behind those that are known.
    fn fill<M>(
        &mut self,
        place: u32,
        read: u64,
        part: &HistoryPart,
        context: &mut ServiceContext<'_, M>,
    ) {
        if part.complete_after > self.known_of(place) {
            self.lose(place, part.complete_after);
        }
        if !self.take_read(place, part.messages.clone(), context) {
            return;
        }
        if part.rest == Remainder::Some {
            return self.want_read(place);
        }
        self.know(place, part.last);
        self.settle_stream(place, Some(read), context);
    }

    /// Gives messages that were read to all subscribers, as far as they are new. `false`: there is no room for them
    /// now, and the rest is read later.
    fn take_read<M>(
        &mut self,
        place: u32,
        messages: Vec<KeptMessage>,
        context: &mut ServiceContext<'_, M>,
    ) -> bool {
        let Some(channel) = &self.channels[place as usize] else { return false };
        let (name, now_ms) = (Arc::clone(&channel.name), context.now.monotonic_ms());
        for KeptMessage { number, age_ms, body } in messages {
            if number <= self.known_of(place) {
                continue;
            }
            let channel = self.rulebook.find(&name);
            let message = Bound {
                channel,
                body: &body,
                number: Some(number),
                place: Some(place),
                matching: &[],
                at_ms: now_ms.saturating_sub(age_ms),
            };
            if self.accept_numbered(message).is_err() {
                self.fail_read(place, context);
                return false;
            }
        }
        true
    }

    /// There are no messages up to this number but those that are known.
    fn know(&mut self, place: u32, last: u64) {
        if let Some(channel) = &mut self.channels[place as usize] {
            channel.history.know(last);
        }
    }

    fn known_of(&self, place: u32) -> u64 {
        self.channels[place as usize].as_ref().map_or(0, |channel| channel.history.known())
    }

    /// A history could not be read: it is tried again later. Subscribers who wait for it do not wait for ever.
    pub(super) fn on_read_failed<M>(
        &mut self,
        name: &str,
        read: u64,
        context: &mut ServiceContext<'_, M>,
    ) {
        if let Some(place) = self.end_read(name, read) {
            self.fail_read(place, context);
        }
    }

    fn fail_read<M>(&mut self, place: u32, context: &mut ServiceContext<'_, M>) {
        let Some(shared) = self.shared_mut(place) else { return };
        let is_long = shared.fail();
        if is_long && shared.sight == Sight::Unknown {
            self.go_on_without(place, context);
        }
        self.want_read(place);
    }
}
