//! A message on its way through its home.
//!
//! Owns what is known of it: where it comes from, then where it goes.

use std::sync::Arc;

use runtime::mailbox::Endpoint;

use crate::letter::{Publisher, Stamp};
use crate::message::{Offer, Payload};
use crate::ruled::{RuleNumber, Ruled};

/// Where a message comes from.
#[derive(Clone, Copy, Debug)]
pub(super) struct MessageOrigin {
    /// The scheduler of its publisher.
    pub(super) from: Endpoint,
    pub(super) publisher: Option<Publisher>,
}

/// A message on its way to its subscribers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound<'m> {
    pub(super) channel: Ruled<'m>,
    pub(super) body: &'m Payload,
    /// Its number in a stream; otherwise it gets the next one.
    pub(super) number: Option<u64>,
    /// The channel, if it is known here.
    pub(super) place: Option<u32>,
    /// The patterns whose subscribers get it.
    pub(super) matching: &'m [u32],
    /// When it was published.
    pub(super) at_ms: u64,
}

/// A message on its way to its channel.
#[derive(Debug)]
pub(super) struct Incoming {
    pub(super) name: Arc<str>,
    pub(super) rule: RuleNumber,
    pub(super) offer: Offer,
    pub(super) origin: MessageOrigin,
    pub(super) stamp: Stamp,
}

impl Incoming {
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.name.len() + self.offer.body.bytes().len()
    }
}
