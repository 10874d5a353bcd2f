//! How long messages take, from the call that publishes them until they are queued for the subscribers of a scheduler.
//!
//! Owns a histogram for each section of the rules, and the messages of this turn that are timed: one of
//! [`MESSAGES_PER_SAMPLE`] is, also on its way through other schedulers. The others cost one addition.

use std::num::NonZeroU64;

use metric::{Histogram, Histograms};
use runtime::account::{moment_ns, ticks_of};

use super::Channels;
use crate::letter::Stamp;
use crate::limits::MESSAGES_PER_SAMPLE;
use crate::ruled::Ruled;

/// The times of one scheduler.
#[derive(Debug, Default)]
pub(super) struct Lags {
    count: u32,
    /// Of the message that is distributed now.
    of_current: Stamp,
    /// The section of each message that is timed and is queued at the end of this turn, and when it was published.
    timed: Vec<(usize, u64)>,
    /// By the number of the section; 0: channels without rules.
    times: Histograms,
}

impl Lags {
    /// A message is published now.
    pub(super) fn stamp(&mut self) -> Stamp {
        let number = self.count;
        self.count = number.wrapping_add(1);
        if !number.is_multiple_of(MESSAGES_PER_SAMPLE) {
            return None;
        }
        NonZeroU64::new(moment_ns())
    }

    /// A message with this stamp is distributed from now on.
    pub(super) fn begin(&mut self, stamp: Stamp) {
        self.of_current = stamp;
    }

    /// The stamp of the message that is distributed, for other schedulers.
    pub(super) fn current(&self) -> Stamp {
        self.of_current
    }

    /// The same, once: its time is counted here.
    fn take_current(&mut self) -> Stamp {
        self.of_current.take()
    }

    /// The messages of this turn are queued.
    pub(super) fn end_turn(&mut self) {
        if self.timed.is_empty() {
            return;
        }
        let now_ns = moment_ns();
        for (section, published_ns) in self.timed.drain(..) {
            self.times.count(section, ticks_of(now_ns.saturating_sub(published_ns)));
        }
    }

    /// The numbers of sections mean others from now on.
    pub(super) fn forget(&mut self) {
        self.times.clear();
        self.timed.clear();
    }
}

impl Channels {
    /// The current message is for the subscribers of this channel and of these patterns.
    pub(super) fn note_lag(&mut self, ruled: Ruled<'_>, place: Option<u32>, patterns: &[u32]) {
        let Some(published) = self.lags.take_current() else { return };
        let channel = place.and_then(|place| self.channels[place as usize].as_ref());
        let has_some = |place: &u32| {
            self.patterns.get(*place).is_some_and(|pattern| pattern.subscribers() > 0)
        };
        if channel.is_some_and(|channel| channel.subscribers() > 0) || patterns.iter().any(has_some)
        {
            self.lags.timed.push((ruled.rule().section(), published.get()));
        }
    }

    /// The times of messages by the pattern of their rules; an empty one: channels without rules. In ticks of
    /// [`runtime::account::ticks_since`].
    pub fn lags(&self) -> impl Iterator<Item = (&str, &Histogram)> {
        let patterns = std::iter::once("").chain(self.rulebook.patterns());
        let numbered = patterns.enumerate();
        numbered.filter_map(|(number, pattern)| Some((pattern, self.lags.times.of(number)?)))
    }
}
