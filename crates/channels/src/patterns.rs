//! Subscriptions to patterns of names.
//!
//! Owns which patterns have subscribers, here and on other schedulers. Each message is compared
//! with all of them, so their number is limited.

use std::sync::Arc;

use runtime::mailbox::Endpoint;

use crate::audience::Audience;
use crate::format::Numbered;
use crate::glob::Glob;
use crate::limits::PATTERNS;

/// A pattern with subscribers on this scheduler.
#[derive(Debug)]
pub(crate) struct Pattern {
    pub(crate) glob: Glob,
    pub(crate) audiences: Vec<Audience>,
}

impl Pattern {
    fn subscribers(&self) -> usize {
        self.audiences.iter().map(Audience::len).sum()
    }
}

/// All patterns.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    own: Vec<Option<Pattern>>,
    others: Vec<(Endpoint, Glob, u32)>,
}

impl Patterns {
    /// The index of a pattern, which is added if it is new; `None`: there are too many.
    pub(crate) fn place(&mut self, glob: &str) -> Option<u32> {
        let is_it =
            |own: &Option<Pattern>| own.as_ref().is_some_and(|own| own.glob.as_str() == glob);
        let known = self.own.iter().position(is_it);
        let place = known.or_else(|| {
            let free = self.own.iter().position(Option::is_none).or_else(|| {
                let has_room = self.own.len() < PATTERNS;
                has_room.then(|| {
                    self.own.push(None);
                    self.own.len() - 1
                })
            })?;
            self.own[free] = Some(Pattern { glob: Glob::new(glob), audiences: Vec::new() });
            Some(free)
        });
        place.and_then(|place| u32::try_from(place).ok())
    }

    pub(crate) fn at(&mut self, place: u32) -> Option<&mut Pattern> {
        self.own.get_mut(place as usize)?.as_mut()
    }

    pub(crate) fn audiences(&self, place: u32) -> Option<&Vec<Audience>> {
        self.own.get(place as usize)?.as_ref().map(|pattern| &pattern.audiences)
    }

    /// Subscribers joined or left: returns the pattern and its number of subscribers. Without any it is removed.
    pub(crate) fn recount(&mut self, place: u32) -> Option<(Arc<str>, u32)> {
        let own = self.own.get_mut(place as usize)?;
        let pattern = own.as_ref()?;
        let counted = (pattern.glob.as_str().into(), pattern.subscribers() as u32);
        if counted.1 == 0 {
            *own = None;
        }
        Some(counted)
    }

    /// Another scheduler has this many subscribers of a pattern.
    pub(crate) fn note(&mut self, endpoint: Endpoint, glob: &str, subscribers: u32) {
        self.others.retain(|(other, known, _)| *other != endpoint || known.as_str() != glob);
        if subscribers > 0 {
            self.others.push((endpoint, Glob::new(glob), subscribers));
        }
    }

    /// Adds a message to the audiences of the matching patterns; returns how many subscribers they have.
    pub(crate) fn put(&mut self, message: Numbered<'_>) -> u32 {
        let mut subscribers = 0;
        for pattern in self.own.iter_mut().flatten() {
            if !pattern.glob.matches(message.channel) {
                continue;
            }
            subscribers += pattern.subscribers() as u32;
            let glob = pattern.glob.as_str();
            for audience in &mut pattern.audiences {
                audience.put(message.position.offset, |format, out| {
                    format.encode_for_pattern(glob, message, out);
                });
            }
        }
        subscribers
    }

    /// The other schedulers with matching patterns, and how many subscribers each has.
    pub(crate) fn elsewhere(&self, channel: &str) -> Vec<(Endpoint, u32)> {
        let mut found: Vec<(Endpoint, u32)> = Vec::new();
        for (endpoint, glob, subscribers) in &self.others {
            if !glob.matches(channel) {
                continue;
            }
            match found.iter_mut().find(|(known, _)| known == endpoint) {
                Some((_, sum)) => *sum += subscribers,
                None => found.push((*endpoint, *subscribers)),
            }
        }
        found
    }

    /// All patterns with subscribers here.
    pub(crate) fn own(&mut self) -> impl Iterator<Item = &mut Pattern> {
        self.own.iter_mut().flatten()
    }

    /// The texts of the patterns with subscribers here.
    pub(crate) fn names(&self) -> impl Iterator<Item = Arc<str>> {
        self.own.iter().flatten().map(|pattern| pattern.glob.as_str().into())
    }
}
