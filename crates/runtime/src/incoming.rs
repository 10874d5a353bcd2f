//! The messages of one sender, and how they are merged with those of others.
//!
//! Owns one ring and its oldest message. [`Mailbox`](crate::mailbox::Mailbox) chooses among the
//! senders.
//!
//! Every message carries a stamp, a number that grows with each sending in the mesh, and the
//! receiver takes the smallest stamp first. The rings are looked at one after the other, so a
//! message can be seen while another, which was sent before it into a ring that was empty a moment
//! ago, is not. Therefore a message is taken only after another look into all rings: whatever was
//! sent before it was visible by then. Such messages are called sure. A turn with messages costs two
//! more looks, however many messages there are.

use crate::threads::Consumer;

/// A message with the number of its sending.
pub(crate) struct Stamped<M> {
    pub(crate) stamp: u64,
    pub(crate) message: M,
}

/// The ring from one sender.
pub(crate) struct Incoming<M> {
    ring: Consumer<Stamped<M>>,
    /// The oldest message that was seen.
    first: Option<Stamped<M>>,
    /// How many messages, from the oldest on, were seen before the last look.
    sure: usize,
}

impl<M: Send> Incoming<M> {
    pub(crate) fn new(ring: Consumer<Stamped<M>>) -> Self {
        Self { ring, first: None, sure: 0 }
    }

    /// Looks for messages. Those that were seen before are sure now. Returns how many wait.
    pub(crate) fn look(&mut self) -> usize {
        let held = usize::from(self.first.is_some());
        self.sure = held + self.ring.seen();
        held + self.ring.look()
    }

    /// The stamp of the oldest message that was seen.
    pub(crate) fn stamp(&mut self) -> Option<u64> {
        if self.first.is_none() {
            self.first = self.ring.pop_seen();
        }
        self.first.as_ref().map(|first| first.stamp)
    }

    /// Takes the oldest message, if it is sure.
    pub(crate) fn take_sure(&mut self) -> Option<M> {
        self.sure = self.sure.checked_sub(1)?;
        self.first.take().map(|first| first.message)
    }

    /// Whether a message waits.
    pub(crate) fn has_messages(&self) -> bool {
        self.first.is_some() || !self.ring.is_empty()
    }
}
