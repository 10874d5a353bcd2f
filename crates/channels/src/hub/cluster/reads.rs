//! Which histories are read from the cluster, and how many at once.
//!
//! Owns the queue of channels that want it, and those that wait for a later try. Never merges: `following` does.

use std::collections::VecDeque;

use ahash::HashSet;

use super::super::Channels;
use super::Contact;
use crate::cluster::{ClusterOrder, Keeping};
use crate::history::History;
use crate::limits::{READ_MESSAGES, READS};
use crate::shared::Sight;

/// The reads of a scheduler.
#[derive(Debug, Default)]
pub(super) struct Reads {
    under_way: HashSet<u64>,
    /// Channels that are read next.
    queue: VecDeque<u32>,
    /// Channels that are read after a while.
    later: Vec<u32>,
}

impl Reads {
    pub(super) fn end(&mut self, read: u64) {
        self.under_way.remove(&read);
    }

    /// Those that waited for a later try are next.
    pub(super) fn retry(&mut self) {
        self.queue.extend(self.later.drain(..));
    }
}

impl Channels {
    /// The history of a channel will be read: at once, or after a while if that was tried before.
    pub(in crate::hub) fn want_read(&mut self, place: u32) {
        let Some(cluster) = &mut self.cluster else { return };
        let channel = self.channels[place as usize].as_mut();
        let Some(shared) = channel.and_then(|channel| channel.shared.as_mut()) else { return };
        if shared.keeping == Keeping::Nothing {
            return;
        }
        if shared.read.is_some() || std::mem::replace(&mut shared.is_queued, true) {
            return;
        }
        if shared.draft.is_some() {
            // The messages that were read so far take memory.
            cluster.reads.queue.push_front(place);
        } else if shared.take_urgency() {
            cluster.reads.queue.push_back(place);
        } else {
            cluster.reads.later.push(place);
        }
    }

    /// Orders reads, as many as may be under way.
    pub(super) fn begin_reads(&mut self) {
        let Some(cluster) = &mut self.cluster else { return };
        while cluster.contact == Contact::Back
            && cluster.reads.under_way.len() < READS
            && let Some(place) = cluster.reads.queue.pop_front()
        {
            // The place may belong to another channel now.
            let Some(channel) = self.channels[place as usize].as_mut() else { continue };
            let Some(shared) = &mut channel.shared else { continue };
            if !std::mem::take(&mut shared.is_queued) || shared.read.is_some() {
                continue;
            }
            self.tickets += 1;
            let read = self.tickets;
            shared.begin_read(read);
            shared.returns = cluster.returns;
            cluster.reads.under_way.insert(read);
            let after = match shared.sight {
                Sight::Unknown => shared.draft.as_ref().map_or(0, |(_, of)| History::known(of)),
                Sight::Doubtful | Sight::Whole => channel.history.known(),
            };
            let name = channel.name.clone();
            cluster.order(ClusterOrder::Read { name, read, after, at_most: READ_MESSAGES });
        }
    }
}
