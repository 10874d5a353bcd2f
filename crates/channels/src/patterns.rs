//! Subscriptions to patterns of names, on all schedulers.
//!
//! Owns which patterns have subscribers, here and elsewhere, and an index of them by the literal
//! bytes they begin with. A message is compared only with patterns that begin like its channel. One
//! comparison with all of them together is bounded, so a message never holds up a turn.

use std::sync::Arc;

use ahash::HashMap;
use runtime::mailbox::Endpoint;

use crate::audience::Audience;
use crate::format::Numbered;
use crate::limits::{NAME_SIZE, PATTERN_STEPS, PATTERNS};
use crate::matcher::ChannelMatcher;

/// Whether all schedulers know that a pattern has subscribers here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// It has none here, or they have not been told yet.
    No,
    /// They were told under this number; so many have not answered.
    Told { ticket: u64, left: usize },
    /// They know it.
    Yes,
    /// One of them has no room for it.
    NoRoom,
}

#[derive(Debug)]
pub(crate) struct Pattern {
    pub(crate) text: Arc<str>,
    matcher: ChannelMatcher,
    pub(crate) audiences: Vec<Audience>,
    pub(crate) known: Known,
    /// The other schedulers with subscribers, and how many.
    elsewhere: Vec<(Endpoint, u32)>,
    is_recounted: bool,
}

impl Pattern {
    pub(crate) fn subscribers(&self) -> u32 {
        self.audiences.iter().map(Audience::len).sum::<usize>() as u32
    }

    /// Subscribers on all schedulers.
    pub(crate) fn everywhere(&self) -> u32 {
        self.subscribers() + self.elsewhere.iter().map(|(_, subscribers)| subscribers).sum::<u32>()
    }

    /// Subscribers on other schedulers.
    pub(crate) fn elsewhere(&self) -> &[(Endpoint, u32)] {
        &self.elsewhere
    }

    /// Adds a message to its audiences.
    pub(crate) fn put(&mut self, order: u32, message: Numbered<'_>) {
        let text = &self.text;
        for audience in &mut self.audiences {
            audience.put(order, message.position.offset, |format, out| {
                format.encode_for_pattern(text, message, out);
            });
        }
    }
}

/// All patterns.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    all: Vec<Option<Pattern>>,
    free: Vec<u32>,
    by_text: HashMap<Arc<str>, u32>,
    /// The patterns that begin with these bytes.
    by_prefix: HashMap<Box<[u8]>, Vec<u32>>,
    /// How many prefixes have each length.
    lengths: Vec<u32>,
    /// The steps of a comparison with all of them.
    most_steps: usize,
    recounted: Vec<u32>,
}

impl Patterns {
    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_text.is_empty()
    }

    /// The index of a pattern, which is added if it is new; `None`: there is no room.
    pub(crate) fn place(&mut self, text: &str) -> Option<u32> {
        if let Some(place) = self.by_text.get(text) {
            return Some(*place);
        }
        if self.by_text.len() >= PATTERNS {
            return None;
        }
        let matcher = ChannelMatcher::new(text.as_bytes());
        let most_steps = self.most_steps + matcher.most_steps();
        if most_steps > PATTERN_STEPS {
            return None;
        }
        self.most_steps = most_steps;
        let place = match self.free.pop() {
            Some(free) => free,
            None => {
                self.all.push(None);
                u32::try_from(self.all.len() - 1).ok()?
            }
        };
        let prefix = matcher.prefix();
        self.lengths.resize(NAME_SIZE + 1, 0);
        let those = self.by_prefix.entry(prefix.into()).or_insert_with(|| {
            self.lengths[prefix.len()] += 1;
            Vec::new()
        });
        those.push(place);
        let text: Arc<str> = text.into();
        self.by_text.insert(Arc::clone(&text), place);
        self.all[place as usize] = Some(Pattern {
            text,
            matcher,
            audiences: Vec::new(),
            known: Known::No,
            elsewhere: Vec::new(),
            is_recounted: false,
        });
        Some(place)
    }

    pub(crate) fn at(&mut self, place: u32) -> Option<&mut Pattern> {
        self.all.get_mut(place as usize)?.as_mut()
    }

    pub(crate) fn get(&self, place: u32) -> Option<&Pattern> {
        self.all.get(place as usize)?.as_ref()
    }

    pub(crate) fn find(&self, text: &str) -> Option<u32> {
        self.by_text.get(text).copied()
    }

    /// The patterns that a name fits. Adds the steps that this took.
    pub(crate) fn matching(&self, name: &str, steps: &mut usize) -> Vec<u32> {
        let name = name.as_bytes();
        let mut found = Vec::new();
        if self.by_text.is_empty() {
            return found;
        }
        for length in 0..=name.len() {
            if self.lengths.get(length).is_none_or(|prefixes| *prefixes == 0) {
                continue;
            }
            *steps += 1;
            let those = self.by_prefix.get(&name[..length]).into_iter().flatten();
            found.extend(those.copied().filter(|place| {
                self.get(*place).is_some_and(|pattern| pattern.matcher.accepts(name, steps))
            }));
        }
        found
    }

    /// Subscribers of a pattern joined or left here.
    pub(crate) fn recount(&mut self, place: u32) {
        if let Some(pattern) = self.at(place)
            && !std::mem::replace(&mut pattern.is_recounted, true)
        {
            self.recounted.push(place);
        }
    }

    /// Those that were recounted since the last call.
    pub(crate) fn take_recounted(&mut self) -> Vec<u32> {
        let recounted = std::mem::take(&mut self.recounted);
        for place in &recounted {
            if let Some(pattern) = self.at(*place) {
                pattern.is_recounted = false;
            }
        }
        recounted
    }

    /// Another scheduler has this many subscribers of a pattern. `false`: there is no room for it.
    pub(crate) fn note(&mut self, endpoint: Endpoint, text: &str, subscribers: u32) -> bool {
        let known = self.find(text);
        let place = if subscribers > 0 { self.place(text) } else { known };
        let Some(place) = place else { return subscribers == 0 };
        if let Some(pattern) = self.at(place) {
            pattern.elsewhere.retain(|(other, _)| *other != endpoint);
            if subscribers > 0 {
                pattern.elsewhere.push((endpoint, subscribers));
            }
        }
        self.forget_unused(place);
        true
    }

    /// Removes a pattern without subscribers.
    pub(crate) fn forget_unused(&mut self, place: u32) {
        let Some(pattern) = self.get(place) else { return };
        if pattern.subscribers() > 0 || !pattern.elsewhere.is_empty() || pattern.is_recounted {
            return;
        }
        let Some(pattern) = self.all[place as usize].take() else { return };
        self.most_steps -= pattern.matcher.most_steps();
        self.by_text.remove(&pattern.text);
        let prefix = pattern.matcher.prefix();
        if let Some(those) = self.by_prefix.get_mut(prefix) {
            those.retain(|other| *other != place);
            if those.is_empty() {
                self.by_prefix.remove(prefix);
                self.lengths[prefix.len()] -= 1;
            }
        }
        self.free.push(place);
    }

    /// The texts of the patterns with subscribers here.
    pub(crate) fn names(&self) -> impl Iterator<Item = Arc<str>> {
        let own = self.all.iter().flatten().filter(|pattern| pattern.subscribers() > 0);
        own.map(|pattern| Arc::clone(&pattern.text))
    }
}
