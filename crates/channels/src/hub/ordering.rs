//! The messages of a turn are queued for their subscribers, in the order in which they came.
//!
//! Owns that order across channels and patterns. A channel's messages are joined to one piece for
//! all its subscribers. A subscriber of several of them, whose messages came alternately, gets these
//! pieces cut, so that it sees the same order as everybody else; the others are not affected.

use std::collections::BTreeMap;
use std::rc::Rc;

use ahash::{HashMap, HashSet};
use runtime::account::{TimeAccount, exactly};
use runtime::post::Refused;
use runtime::service::{SchedulerCommand, ServiceContext};
use runtime::slots::ProcessId;

use super::{Channels, Subscribed};
use crate::audience::{Audience, Part};
use crate::limits::BEHIND;
use crate::rules::SlowPolicy;
use crate::seat::{Receiver, Slowed};

/// An audience with messages of this turn.
#[derive(Clone, Copy, Debug)]
struct Pending {
    of: Subscribed,
    audience: u8,
    /// The places of its first and its last message in the turn.
    first: u32,
    last: u32,
}

/// Messages in a row from one audience, by its number among those that are merged.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    audience: usize,
    part: Part,
}

/// A stretch with its bytes, which processes share.
#[derive(Debug)]
struct Piece {
    stretch: Stretch,
    bytes: Rc<[u8]>,
}

/// The audiences of a process among those that are merged, and from which of their bytes on.
type Begins = Vec<(usize, u32)>;

impl Channels {
    /// Queues the messages of the turn; `noted` are the channels that may have some.
    pub(super) fn send_turn<M>(&mut self, noted: &[u32], context: &mut ServiceContext<'_, M>) {
        let pending = self.pending(noted);
        if !pending.is_empty() {
            exactly(TimeAccount::Publish, || self.send_pending(&pending, context));
        }
    }

    fn send_pending<M>(&mut self, pending: &[Pending], context: &mut ServiceContext<'_, M>) {
        let mut rest = pending;
        while let Some(first) = rest.first() {
            // Those whose messages came between each other's.
            let mut last = first.last;
            let apart = rest.iter().position(|other| {
                let is_apart = other.first > last;
                last = last.max(other.last);
                is_apart
            });
            let (together, behind) = rest.split_at(apart.unwrap_or(rest.len()));
            self.send_together(together, context);
            rest = behind;
        }
        self.order = 0;
    }

    /// The audiences with messages, by their first.
    fn pending(&mut self, noted: &[u32]) -> Vec<Pending> {
        let patterns = std::mem::take(&mut self.noted_patterns);
        let channels = noted.iter().map(|place| Subscribed::Channel(*place));
        let mut pending = Vec::new();
        for of in channels.chain(patterns.into_iter().map(Subscribed::Pattern)) {
            for (audience, those) in self.audiences(of).iter().enumerate() {
                if let Some((first, last)) = those.span() {
                    pending.push(Pending { of, audience: audience as u8, first, last });
                }
            }
        }
        pending.sort_by_key(|pending| (pending.first, pending.of));
        pending
    }

    pub(super) fn audiences(&self, of: Subscribed) -> &[Audience] {
        let audiences = match of {
            Subscribed::Channel(place) => {
                self.channels[place as usize].as_ref().map(|channel| &channel.audiences)
            }
            Subscribed::Pattern(place) => {
                self.patterns.get(place).map(|pattern| &pattern.audiences)
            }
        };
        audiences.map_or(&[], |audiences| audiences)
    }

    fn audience(&self, pending: &Pending) -> Option<&Audience> {
        self.audiences(pending.of).get(usize::from(pending.audience))
    }

    fn audience_mut(&mut self, pending: &Pending) -> Option<&mut Audience> {
        let audiences = match pending.of {
            Subscribed::Channel(place) => &mut self.channels[place as usize].as_mut()?.audiences,
            Subscribed::Pattern(place) => &mut self.patterns.at(place)?.audiences,
        };
        audiences.get_mut(usize::from(pending.audience))
    }

    fn send_together<M>(&mut self, together: &[Pending], context: &mut ServiceContext<'_, M>) {
        // No process is twice in the audiences of one channel.
        let is_one = together
            .iter()
            .all(|pending| Some(pending.of) == together.first().map(|first| first.of));
        let shared = if is_one { HashSet::default() } else { self.shared(together) };
        for pending in together {
            let bound = self.bound(pending.of);
            let Some(audience) = self.audience(pending) else { continue };
            let (delivered, slowed) = audience.send(context, bound, &shared);
            self.stats.delivered += delivered;
            for slowed in slowed {
                self.slow_down(pending, &slowed, context);
            }
        }
        if !shared.is_empty() {
            self.send_in_order(together, &shared, context);
        }
        for pending in together {
            if let Some(audience) = self.audience_mut(pending) {
                audience.end_turn();
            }
        }
    }

    /// Bytes that may wait for a subscriber.
    fn bound(&self, of: Subscribed) -> usize {
        let bytes = match of {
            Subscribed::Channel(place) => {
                self.channels[place as usize].as_ref().map_or(BEHIND, |of| of.rules.behind)
            }
            Subscribed::Pattern(_) => BEHIND,
        };
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    /// The processes that are in more than one of these audiences.
    fn shared(&self, together: &[Pending]) -> HashSet<ProcessId> {
        let mut audiences: Vec<&Audience> =
            together.iter().filter_map(|pending| self.audience(pending)).collect();
        audiences.sort_by_key(|audience| audience.len());
        let largest = audiences.pop();
        let (mut seen, mut shared) = (HashSet::default(), HashSet::default());
        for process in audiences.iter().flat_map(|audience| audience.processes()) {
            if !seen.insert(process) {
                shared.insert(process);
            }
        }
        // Most subscribers are here, and need no place in a table.
        let twice = largest.into_iter().flat_map(Audience::processes);
        shared.extend(twice.filter(|process| seen.contains(process)));
        shared
    }

    /// Queues messages for processes that are in more than one audience.
    fn send_in_order<M>(
        &mut self,
        together: &[Pending],
        shared: &HashSet<ProcessId>,
        context: &mut ServiceContext<'_, M>,
    ) {
        let mut receivers: BTreeMap<ProcessId, Vec<(usize, Receiver)>> = BTreeMap::new();
        for (number, pending) in together.iter().enumerate() {
            let those = self.audience(pending).into_iter().flat_map(Audience::receivers);
            for receiver in those.filter(|receiver| shared.contains(&receiver.process)) {
                receivers.entry(receiver.process).or_default().push((number, receiver));
            }
        }
        // Many processes have the same subscriptions, and then get the same pieces.
        let mut known: HashMap<Begins, Vec<Piece>> = HashMap::default();
        for own in receivers.into_values() {
            let key: Begins = own.iter().map(|(number, of)| (*number, of.from)).collect();
            let pieces = known.entry(key).or_insert_with_key(|key| self.pieces(together, key));
            let mut refused = Vec::new();
            for Piece { stretch: Stretch { audience, part }, bytes } in pieces.iter() {
                let (audience, part) = (*audience, *part);
                // In ascending order, as they were collected.
                let found = own.binary_search_by_key(&audience, |(number, _)| *number).ok();
                let found = found.map(|at| own[at]);
                let Some((_, receiver)) = found.filter(|_| !refused.contains(&audience)) else {
                    continue;
                };
                let bound = self.bound(together[audience].of);
                match context.queue(receiver.process, bytes, bound) {
                    Ok(()) => self.stats.delivered += u64::from(part.after - part.before),
                    Err(Refused::Gone) => {}
                    Err(Refused::Behind) => {
                        refused.push(audience);
                        let slowed = self.audience(&together[audience]);
                        let slowed = slowed.map(|of| of.slowed(receiver, part.before));
                        if let Some(slowed) = slowed {
                            self.slow_down(&together[audience], &slowed, context);
                        }
                    }
                }
            }
        }
    }

    /// The messages of some of these audiences, each from one of its bytes on, merged in their order.
    fn pieces(&self, together: &[Pending], of: &[(usize, u32)]) -> Vec<Piece> {
        let mut all: Vec<Stretch> = Vec::new();
        for (audience, from) in of.iter().copied() {
            let parts = self.audience(&together[audience]).into_iter().flat_map(Audience::parts);
            let own = parts.filter(|part| part.begin >= from);
            all.extend(own.map(|part| Stretch { audience, part }));
        }
        // A client that subscribes to a channel and to a pattern gets a message of the channel first, as in Redis.
        all.sort_by_key(|stretch| (stretch.part.order, together[stretch.audience].of));
        let mut joined: Vec<Stretch> = Vec::new();
        for stretch in all {
            match joined.last_mut() {
                Some(last) if last.audience == stretch.audience => {
                    last.part.end = stretch.part.end;
                    last.part.after = stretch.part.after;
                }
                _ => joined.push(stretch),
            }
        }
        let cut = |stretch: Stretch| {
            let bytes = self
                .audience(&together[stretch.audience])
                .map(|audience| audience.cut(stretch.part.begin, stretch.part.end));
            bytes.map(|bytes| Piece { stretch, bytes })
        };
        joined.into_iter().filter_map(cut).collect()
    }

    /// A subscriber is too slow: it is disconnected, or gets nothing until it has read what waits for it.
    fn slow_down<M>(
        &mut self,
        pending: &Pending,
        slowed: &Slowed,
        context: &mut ServiceContext<'_, M>,
    ) {
        let slow = match pending.of {
            Subscribed::Channel(place) => self.channels[place as usize]
                .as_ref()
                .map_or(SlowPolicy::Disconnect, |of| of.rules.slow),
            Subscribed::Pattern(_) => SlowPolicy::Disconnect,
        };
        self.note_slow(pending.of);
        let Some(audience) = self.audience_mut(pending) else { return };
        match (slow, pending.of) {
            (SlowPolicy::DropOldest | SlowPolicy::Latest, Subscribed::Channel(place)) => {
                audience.fall_behind(slowed);
                self.behind += 1;
                self.fallen.push((place, pending.audience, slowed.seat));
            }
            _ => {
                audience.end(slowed.seat);
                if let Subscribed::Channel(place) = pending.of
                    && let Some(channel) = &mut self.channels[place as usize]
                {
                    channel.dropped += u64::from(slowed.messages);
                }
                self.stats.dropped += u64::from(slowed.messages);
                self.stats.disconnected_slow += 1;
                context.command(SchedulerCommand::Run(slowed.process));
            }
        }
    }
}
