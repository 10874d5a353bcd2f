//! The steps of all channels of a scheduler when the cluster goes away or is back.
//!
//! Owns that a turn has a part of them only, because a scheduler may know 100,000. A channel whose part has not come
//! yet is as before, and its subscribers wait a little longer; but no message is taken for the next one before it was
//! doubted ([`Shared::returns`](crate::shared::Shared)), because what was before it may have left the stream.

use std::collections::VecDeque;

use runtime::service::ServiceContext;

use super::super::Channels;
use crate::limits::CHANNELS_PER_TURN;
use crate::shared::Sight;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Round {
    /// Subscribers of channels that were followed before this ticket wait no longer.
    Confirm { before: u64 },
    /// Messages may be missing.
    Doubt,
    /// Subscribers that have waited for a history join without it.
    GoOn,
}

impl Round {
    fn is_like(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

/// The rounds that are under way.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    /// Each with its next channel.
    under_way: VecDeque<(Round, usize)>,
}

impl Rounds {
    /// Begins a round, in place of one of its kind.
    pub(super) fn begin(&mut self, round: Round) {
        self.end(round);
        self.under_way.push_back((round, 0));
    }

    /// Begins a round, unless there is one of its kind.
    pub(super) fn begin_if_none(&mut self, round: Round) {
        if !self.under_way.iter().any(|(other, _)| other.is_like(round)) {
            self.under_way.push_back((round, 0));
        }
    }

    /// Ends a round of this kind.
    pub(super) fn end(&mut self, round: Round) {
        self.under_way.retain(|(other, _)| !other.is_like(round));
    }

    /// The next part of the first round, and whether that is its last one.
    fn next(&mut self, channels: usize) -> Option<(Round, std::ops::Range<usize>)> {
        let (round, next) = self.under_way.front_mut()?;
        let (round, first) = (*round, *next);
        let end = channels.min(first + CHANNELS_PER_TURN);
        *next = end;
        if end == channels {
            self.under_way.pop_front();
        }
        Some((round, first.min(end)..end))
    }
}

impl Channels {
    /// Goes on with a round for as long as this turn may.
    pub(super) fn run_rounds<M>(&mut self, context: &mut ServiceContext<'_, M>) {
        let count = self.channels.len();
        let Some(cluster) = &mut self.cluster else { return };
        let Some((round, places)) = cluster.rounds.next(count) else { return };
        if !cluster.rounds.under_way.is_empty() {
            context.wake_after_ms(0);
        }
        for place in places {
            self.go_through(place as u32, round, context);
        }
    }

    fn go_through<M>(&mut self, place: u32, round: Round, context: &mut ServiceContext<'_, M>) {
        match round {
            Round::Confirm { before } => {
                if self.shared_mut(place).is_some_and(|shared| shared.ticket < before) {
                    self.confirm(place, context);
                }
            }
            Round::Doubt => {
                let returns = self.returns();
                let channel = self.channels[place as usize].as_ref();
                let shared = channel.filter(|channel| channel.is_in_stream());
                let shared = shared.and_then(|channel| channel.shared.as_ref());
                if shared.is_some_and(|shared| shared.returns != returns) {
                    self.doubt(place, None);
                }
            }
            Round::GoOn => {
                if self.shared_mut(place).is_some_and(|of| of.sight == Sight::Unknown) {
                    self.go_on_without(place, context);
                }
            }
        }
    }
}
