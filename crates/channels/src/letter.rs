//! The messages between schedulers for channels.
//!
//! Owns the closed set of it, and which of it is sent first.

use std::num::NonZeroU64;
use std::sync::Arc;

use runtime::slots::ProcessId;

use crate::cluster::{ClusterQuestion, QueryOrigin};
use crate::history::History;
use crate::member::{Member, MemberStep};
use crate::message::{Offer, Payload};
use crate::outcome::{ChannelRefusal, Published};
use crate::question::{Findings, SubscriberQuery};
use crate::ruled::RuleNumber;

/// When a message was published, in monotonic nanoseconds; `None`: it is not timed.
pub(crate) type Stamp = Option<NonZeroU64>;

/// A process that published a message and waits for its outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Publisher {
    /// The process.
    pub process: ProcessId,
    /// How it is told the result.
    pub told: PublishReceipt,
}

/// How a publisher is told the result of a message that went to another scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublishReceipt {
    /// It is parked until then; it is resumed, and asks [`Channels::outcome`](crate::Channels::outcome).
    ByResuming,
    /// By a [`Receipt`] with its own number for the message.
    ByReceipt(u64),
}

/// The result of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The publisher.
    pub publisher: Publisher,
    /// The result.
    pub result: Result<Published, ChannelRefusal>,
}

/// Where the answers to a question go, on the scheduler that asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Asker {
    /// To a process.
    Process(ProcessId),
    /// To another node, whose question has this number here.
    Node(u64),
}

/// What one scheduler sends another at once: deliveries, then perhaps everything else.
#[derive(Debug)]
pub struct ChannelLetter(pub(crate) Vec<Item>);

/// One item for another scheduler.
#[derive(Debug)]
pub(crate) enum Item {
    /// To a channel's home: a message.
    Publish {
        name: Arc<str>,
        rule: RuleNumber,
        offer: Offer,
        publisher: Option<Publisher>,
        stamp: Stamp,
    },
    /// From the home: the result of the message.
    Receipt(Receipt),
    /// To a channel's home: there are subscribers here now. The ticket distinguishes this join from an earlier one.
    /// In a cluster a subscriber may have come from another node, with a number that is not known here: the answer
    /// waits until the home has reached it.
    Join { name: Arc<str>, ticket: u64, reach: u64 },
    /// From the home: the state before the first message that follows.
    Joined { name: Arc<str>, ticket: u64, epoch: u64, history: History },
    /// From the home: messages before this state are lost, or it is another epoch.
    Renewed { name: Arc<str>, epoch: u64, history: History },
    /// To a channel's home: the number of subscribers here, and the messages that they did not get since the last one.
    /// Without subscribers, send no more messages.
    Count { name: Arc<str>, subscribers: u32, dropped: u64 },
    /// From a channel's home: a message for subscribers, and for those of these patterns.
    Deliver {
        name: Arc<str>,
        rule: RuleNumber,
        epoch: u64,
        offset: u64,
        /// The number of the message before it, or one between both.
        before: u64,
        body: Payload,
        patterns: Arc<[Arc<str>]>,
        stamp: Stamp,
    },
    /// To all schedulers: which subscribers are there?
    Ask { asker: Asker, number: u64, question: Arc<SubscriberQuery> },
    /// The answer.
    Told { asker: Asker, number: u64, findings: Findings },
    /// To a channel's home: another node asks for its members.
    Asked { from: QueryOrigin, question: ClusterQuestion },
    /// To a channel's home: a user has subscribed here, or no longer is.
    Member { name: Arc<str>, member: Member, step: MemberStep },
    /// From a channel's home, for its subscribers: a user has joined or left.
    Presence { name: Arc<str>, member: Member, step: MemberStep },
    /// To all schedulers: the number of subscribers of this pattern here. If it is new here, the ticket asks for an
    /// answer.
    Pattern { glob: Arc<str>, subscribers: u32, ticket: Option<u64> },
    /// The answer: messages will be sent from now on, or there is no room for the pattern.
    Noted { glob: Arc<str>, ticket: u64, has_room: bool },
}

impl Item {
    /// Bytes of messages and members in it.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Publish { offer, .. } => offer.body.bytes().len(),
            Self::Deliver { body, .. } => body.bytes().len(),
            Self::Joined { history, .. } | Self::Renewed { history, .. } => history.held_bytes(),
            Self::Member { member, .. } | Self::Presence { member, .. } => member.held_bytes(),
            Self::Told { findings, .. } => findings.held_bytes(),
            Self::Receipt(_)
            | Self::Join { .. }
            | Self::Count { .. }
            | Self::Ask { .. }
            | Self::Asked { .. }
            | Self::Noted { .. }
            | Self::Pattern { .. } => 0,
        }
    }

    /// Whether it is part of what subscribers get. These items are sent to all schedulers before anything else is sent
    /// to any: a publisher that has been answered may publish to another channel, whose message must not overtake this
    /// one.
    pub(crate) fn is_delivery(&self) -> bool {
        matches!(
            self,
            Self::Joined { .. }
                | Self::Renewed { .. }
                | Self::Deliver { .. }
                | Self::Presence { .. }
        )
    }
}
