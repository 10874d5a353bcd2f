//! The end of a turn: what is done, and in which order.
//!
//! Owns what subscribers that fell behind get, and which channels are forgotten. `ordering` queues the messages.

use runtime::service::{SchedulerCommand, ServiceContext};

use super::Channels;
use crate::channel::{Channel, Place};
use crate::format::Numbered;
use crate::letter::{ChannelLetter, Item};
use crate::limits::SWEEP_MS;
use crate::position::Position;
use crate::rules::SlowPolicy;
use crate::seat::Missed;

impl Channels {
    /// Ends a turn.
    pub fn end_turn<M>(&mut self, context: &mut ServiceContext<'_, M>)
    where
        M: From<Box<ChannelLetter>> + TryInto<Box<ChannelLetter>> + Send,
    {
        self.run_backlog(context);
        let noted = std::mem::take(&mut self.noted);
        self.send_turn(&noted, context);
        self.lags.end_turn();
        for place in noted {
            self.settle(place, context);
        }
        self.run_searches(context);
        self.run_dismissed(context);
        if self.cluster.is_some() {
            self.run_cluster(context);
        }
        self.catch_up(context);
        self.sweep(context);
        self.polls.resume_put_off(context);
        self.send_letters(context);
        self.refill_backlog(context);
    }

    /// The rest of a turn for a channel.
    fn settle<M>(&mut self, place: u32, context: &mut ServiceContext<'_, M>) {
        let Some(channel) = &mut self.channels[place as usize] else { return };
        channel.is_noted = false;
        if std::mem::take(&mut channel.has_news) {
            for process in std::mem::take(&mut channel.waiting) {
                self.polls.resume(process);
                context.command(SchedulerCommand::Resume(process));
            }
        }
        self.tell_count(place);
        self.forget_unused(place, context.now.monotonic_ms());
    }

    /// Tells a channel's home how many subscribers are here.
    fn tell_count(&mut self, place: u32) {
        let Some(channel) = &mut self.channels[place as usize] else { return };
        if !std::mem::take(&mut channel.is_recounted) {
            return;
        }
        let subscribers = channel.subscribers() as u32;
        if let Place::Elsewhere { home, .. } = channel.place {
            // The home remembers them when this scheduler has forgotten the channel.
            let (name, dropped) = (channel.name.clone(), std::mem::take(&mut channel.dropped));
            self.outgoing[usize::from(home.0)].push(Item::Count { name, subscribers, dropped });
        }
    }

    /// Removes a channel that is no longer needed.
    fn forget_unused(&mut self, place: u32, now_ms: u64) {
        let channel = self.channels[place as usize].as_mut();
        if channel.is_some_and(|channel| channel.is_unused(now_ms)) {
            self.forget_channel(place);
        }
    }

    /// Removes a channel with its history.
    pub(super) fn forget_channel(&mut self, place: u32) {
        if let Some(channel) = self.channels[place as usize].take() {
            self.unfollow(&channel);
            self.history_bytes -= channel.history.held_bytes();
            self.forget_members(&channel);
            self.by_name.remove(&channel.name);
            self.free.push(place);
        }
    }

    /// Gives subscribers that fell behind, and have read what waited for them, what the history still has.
    fn catch_up<M>(&mut self, context: &mut ServiceContext<'_, M>) {
        for (place, audience, seat) in std::mem::take(&mut self.drained) {
            let Some(channel) = &mut self.channels[place as usize] else { continue };
            let Some(format) = channel.audiences.get(usize::from(audience)).map(|of| of.format)
            else {
                continue;
            };
            let behind = channel.audiences[usize::from(audience)].behind(seat);
            let Some((process, missed)) = behind else { continue };
            let mut written = Vec::new();
            let (delivered, dropped) = write_missed(channel, format, missed, &mut written);
            let bound = usize::try_from(channel.rules.behind).unwrap_or(usize::MAX);
            if !written.is_empty() && context.queue(process, &written.into(), bound).is_err() {
                // Something waits for its peer. Its process reports when that has been sent.
                continue;
            }
            self.stats.delivered += delivered;
            self.stats.dropped += dropped;
            channel.dropped += dropped;
            channel.audiences[usize::from(audience)].catch_up(seat, process);
            self.behind -= 1;
        }
        if !self.fallen.is_empty() {
            // All that waited may be sent at the end of this turn, and then no process is told.
            self.drained.append(&mut self.fallen);
            context.wake_after_ms(1);
        }
    }

    /// Drops messages that are too old, from time to time.
    fn sweep<M>(&mut self, context: &mut ServiceContext<'_, M>) {
        let now_ms = context.now.monotonic_ms();
        if now_ms >= self.next_sweep_ms {
            self.next_sweep_ms = now_ms + SWEEP_MS;
            self.with_history = 0;
            self.repeats.forget_old(now_ms);
            self.rates.forget_old(now_ms);
            self.polls.expire(now_ms, context);
            self.sweep_cluster(context);
            for place in 0..self.channels.len() {
                let Some(channel) = &mut self.channels[place] else { continue };
                self.with_history += usize::from(channel.rules.history.keeps());
                let before = channel.history.held_bytes();
                channel.history.trim(now_ms, &channel.rules.history);
                self.history_bytes -= before - channel.history.held_bytes();
                self.forget_unused(place as u32, now_ms);
            }
        }
        if self.with_history > 0 || self.history_bytes > 0 || !self.polls.is_empty() {
            context.wake_after_ms(self.next_sweep_ms.saturating_sub(now_ms));
        }
    }
}

/// Writes what a subscriber missed; returns how many messages, and how many are left out, as far as they are known.
fn write_missed(
    channel: &Channel,
    format: crate::Format,
    Missed { first, is_lost }: Missed,
    out: &mut Vec<u8>,
) -> (u64, u64) {
    let history = &channel.history;
    let begin = match channel.rules.slow {
        SlowPolicy::Latest => history.before_last(1),
        SlowPolicy::DropOldest | SlowPolicy::Disconnect => {
            history.after_within(channel.rules.behind)
        }
    };
    let after = first.saturating_sub(1).max(begin);
    let is_cut = history.complete_after() >= first
        || history.count_from(first) > history.count_from(after.saturating_add(1));
    // Numbers with gaps do not tell it that something is missing.
    if is_lost || is_cut && !history.is_dense() && channel.rules.slow != SlowPolicy::Latest {
        let offset = after.max(history.complete_after());
        let position = Position { epoch: channel.epoch, offset };
        format.write_subscribed(&channel.name, position, Some(false), out);
    }
    let (messages, _) = history.since(after);
    let missed = history.count_from(first);
    let mut written = 0;
    for (offset, body) in messages {
        let position = Position { epoch: channel.epoch, offset };
        format.encode(Numbered { channel: &channel.name, position, has_history: true, body }, out);
        written += 1;
    }
    (written, missed - written)
}
