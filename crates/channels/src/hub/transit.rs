//! A message on its way through its home.
//!
//! Owns what is known of it: where it comes from, then where it goes.

use std::sync::Arc;

use runtime::mailbox::Endpoint;

use crate::letter::{Publisher, Stamp};
use crate::message::{Offer, Payload};
use crate::ruled::{RuleNumber, Ruled};

/// Where a message comes from. Plain data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageOrigin {
    /// The scheduler of its publisher.
    pub(crate) from: Endpoint,
    pub(crate) publisher: Option<Publisher>,
}

/// A message on its way to its subscribers. Plain data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound<'m> {
    pub(crate) channel: Ruled<'m>,
    pub(crate) body: &'m Payload,
    /// Its number in a stream; otherwise it gets the next one.
    pub(crate) number: Option<u64>,
    /// The channel, if it is known here.
    pub(crate) place: Option<u32>,
    /// The patterns whose subscribers get it.
    pub(crate) matching: &'m [u32],
    /// When it was published.
    pub(crate) at_ms: u64,
}

/// A message on its way to its channel. Plain data.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) name: Arc<str>,
    pub(crate) rule: RuleNumber,
    pub(crate) offer: Offer,
    pub(crate) origin: MessageOrigin,
    pub(crate) stamp: Stamp,
}

impl Incoming {
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.name.len() + self.offer.body.bytes().len()
    }
}
