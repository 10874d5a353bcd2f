//! Messages on their way into a stream of the cluster.
//!
//! Owns them until the cluster has answered, and how many there may be. Their publishers are told then; subscribers get
//! them when they come back from the stream, like those of all nodes.

use std::sync::Arc;

use ahash::HashMap;
use runtime::service::ServiceContext;

use super::super::Channels;
use super::super::transit::MessageOrigin;
use crate::cluster::ClusterOrder;
use crate::limits::{COMMIT_BYTES, COMMITS};
use crate::message::Offer;
use crate::outcome::{ChannelRefusal, Published};
use crate::position::Position;

/// A message without an answer.
#[derive(Debug)]
struct Commit {
    name: Arc<str>,
    key: Option<Arc<str>>,
    origin: MessageOrigin,
    bytes: usize,
}

/// The messages without an answer.
#[derive(Debug, Default)]
pub(super) struct Commits {
    under_way: HashMap<u64, Commit>,
    bytes: usize,
}

impl Commits {
    fn begin(&mut self, number: u64, commit: Commit) -> Result<(), ChannelRefusal> {
        if self.under_way.len() >= COMMITS || self.bytes >= COMMIT_BYTES {
            return Err(ChannelRefusal::Busy);
        }
        self.bytes += commit.bytes;
        self.under_way.insert(number, commit);
        Ok(())
    }

    fn end(&mut self, number: u64) -> Option<Commit> {
        let commit = self.under_way.remove(&number)?;
        self.bytes -= commit.bytes;
        Some(commit)
    }
}

impl Channels {
    /// Publishes a message into the stream of its channel.
    pub(in crate::hub) fn commit(
        &mut self,
        name: &str,
        offer: Offer,
        origin: MessageOrigin,
    ) -> Result<(), ChannelRefusal> {
        let number = self.ticket();
        let Some(cluster) = &mut self.cluster else { return Err(ChannelRefusal::Unconfirmed) };
        let name: Arc<str> = name.into();
        let bytes = size_of::<Commit>() + name.len() + offer.body.bytes().len();
        let commit = Commit { name: Arc::clone(&name), key: offer.key.clone(), origin, bytes };
        cluster.commits.begin(number, commit)?;
        cluster.order(ClusterOrder::Commit { name, offer, commit: number });
        Ok(())
    }

    /// The cluster has a message, or does not want it.
    pub(super) fn on_commit_result<M>(
        &mut self,
        commit: u64,
        result: Result<Position, ChannelRefusal>,
        context: &mut ServiceContext<'_, M>,
    ) {
        let commit = self.cluster.as_mut().and_then(|cluster| cluster.commits.end(commit));
        let Some(Commit { name, key, origin, .. }) = commit else { return };
        let receivers = self.receivers(&name);
        let result = result.map(|position| Published { position, receivers });
        if let Ok(published) = result {
            self.stats.published += 1;
            if let Some(key) = key {
                self.repeats.keep(&name, key, published, context.now.monotonic_ms());
            }
        }
        let result = self.counted(result);
        self.tell_publisher(origin, result, context);
    }

    /// The subscribers of a channel on this node, with those of patterns.
    fn receivers(&self, name: &str) -> u32 {
        let place = self.by_name.get(name).copied();
        let channel = place.and_then(|place| self.channels[place as usize].as_ref());
        let own = channel.map_or(0, |of| of.subscribers() as u32 + of.elsewhere());
        let patterns = self.patterns.matching(name, &mut 0);
        let patterns = patterns.iter().filter_map(|place| self.patterns.get(*place));
        own + patterns.map(crate::patterns::Pattern::everywhere).sum::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtime::mailbox::Endpoint;

    #[test]
    fn messages_under_way_are_bounded_by_number_and_bytes() {
        let commit = |bytes| Commit {
            name: "c".into(),
            key: None,
            origin: MessageOrigin { from: Endpoint(0), publisher: None },
            bytes,
        };
        let mut commits = Commits::default();
        for number in 0..COMMITS as u64 {
            assert_eq!(commits.begin(number, commit(1)), Ok(()));
        }
        assert_eq!(commits.begin(u64::MAX, commit(1)), Err(ChannelRefusal::Busy));
        assert!(commits.end(3).is_some() && commits.end(3).is_none());
        assert_eq!(commits.begin(u64::MAX, commit(COMMIT_BYTES)), Ok(()));
        assert!(commits.end(4).is_some());
        assert_eq!(commits.begin(1, commit(1)), Err(ChannelRefusal::Busy), "too many bytes");
        assert!(commits.end(u64::MAX).is_some());
        assert_eq!(commits.bytes, COMMITS - 2);
    }
}
