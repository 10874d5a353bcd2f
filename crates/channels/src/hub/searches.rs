//! Searches among all channels of a scheduler, a part in each turn.
//!
//! Owns how much of them a turn does: there may be very many channels, and a client chooses the
//! pattern.

use std::collections::VecDeque;
use std::sync::Arc;

use runtime::mailbox::Endpoint;
use runtime::service::ServiceContext;

use super::Channels;
use crate::glob::ChannelGlob;
use crate::letter::{Asker, Item};
use crate::limits::SEARCH_STEPS_PER_TURN;
use crate::matcher::ChannelMatcher;
use crate::question::Findings;

/// A search for channels with subscribers whose names match.
#[derive(Debug)]
struct Search {
    /// Where the results go, on this scheduler, and the number of the query.
    from: Endpoint,
    asker: Asker,
    number: u64,
    matcher: ChannelMatcher,
    /// The place in the table where it goes on.
    next: usize,
    found: Vec<(Arc<str>, u64)>,
}

/// The searches, in order.
#[derive(Debug, Default)]
pub(super) struct Searches(VecDeque<Search>);

impl Channels {
    pub(super) fn begin_search(
        &mut self,
        from: Endpoint,
        asker: Asker,
        number: u64,
        glob: &ChannelGlob,
    ) {
        let (matcher, next, found) = (ChannelMatcher::new(glob.as_str().as_bytes()), 0, Vec::new());
        self.searches.0.push_back(Search { from, asker, number, matcher, next, found });
    }

    /// Goes on with the oldest searches for as long as this turn may.
    pub(super) fn run_searches<M>(&mut self, context: &mut ServiceContext<'_, M>) {
        let mut steps = 0;
        while let Some(search) = self.searches.0.front_mut() {
            if search.from == self.here && !self.surveys.has(search.asker, search.number) {
                // The client that asked has closed.
                self.searches.0.pop_front();
                continue;
            }
            while steps < SEARCH_STEPS_PER_TURN
                && let Some(channel) = self.channels.get(search.next)
            {
                search.next += 1;
                steps += 1;
                let Some(channel) = channel else { continue };
                let subscribers = channel.subscribers() as u64;
                if subscribers > 0 && search.matcher.accepts(channel.name.as_bytes(), &mut steps) {
                    search.found.push((Arc::clone(&channel.name), subscribers));
                }
            }
            if search.next < self.channels.len() {
                context.wake_after_ms(0);
                return;
            }
            let Some(search) = self.searches.0.pop_front() else { return };
            let Search { from, asker, number, found, .. } = search;
            let findings = Findings { counts: found, ..Findings::default() };
            if from == self.here {
                self.on_told(asker, number, findings, context);
            } else {
                self.outgoing[usize::from(from.0)].push(Item::Told { asker, number, findings });
            }
        }
    }
}
