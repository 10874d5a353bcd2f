//! The orders of a channel's home to a cluster, and the news that it hears.
//!
//! Owns the boundary between the channels of one scheduler and whatever connects it with other nodes: plain data in
//! both directions. Never knows how a node is reached. The caller passes on each [`ClusterOrder`] in order, and reports
//! each [`ClusterNews`] in the order in which it came.
//!
//! Numbers of a channel with a history grow, but have gaps. That nothing is missing is proved by the number of the
//! message before: of each message that is reported, and of the first one of each part of a history that is read.

use std::sync::Arc;

use crate::member::{Member, MemberStep};
use crate::message::{Offer, Payload};
use crate::node::{ClusterNode, Remainder};
use crate::outcome::ChannelRefusal;
use crate::position::Position;
use crate::question::{Findings, SubscriberQuery};

/// The messages of a channel that the cluster keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeping {
    /// The last ones: each has a number of its stream, and every node sees one order.
    History,
    /// Nothing: a message goes once to the nodes that follow the channel.
    Nothing,
}

/// The origin of a question of another node, to which the answer goes. Opaque to channels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryOrigin(pub Arc<str>);

/// A question to other nodes. Each node that is alive takes it on one of its schedulers, any of them.
#[derive(Clone, Debug)]
pub enum ClusterQuestion {
    /// About the subscribers of all schedulers of a node, or an order for them.
    Subscribers(SubscriberQuery),
    /// The members of this channel on the node itself, sorted by name: those after this one, as many as fit into an
    /// answer.
    Present {
        /// The channel.
        name: Arc<str>,
        /// The last user that is known; `None` for the beginning.
        after: Option<Arc<str>>,
    },
}

/// The answer of one node.
#[derive(Clone, Debug)]
pub enum ClusterAnswer {
    /// About its subscribers.
    Found(Findings),
    /// The members of a channel on this node.
    Present {
        /// The channel.
        name: Arc<str>,
        /// The last user that the question named.
        after: Option<Arc<str>>,
        /// The members after that one.
        members: Vec<Member>,
        /// Whether there are more.
        rest: Remainder,
    },
}

/// A message in a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptMessage {
    /// Its number in the stream.
    pub number: u64,
    /// Milliseconds since it was published.
    pub age_ms: u64,
    /// The message.
    pub body: Payload,
}

/// A part of a history that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryPart {
    /// The epoch of the stream.
    pub epoch: u64,
    /// No message of the channel with a number above this one is missing in front of the first message, or, without
    /// any, up to `last`. It is at least the number after which was read if nothing was lost. Below or equal to that
    /// number: nothing is missing between. Above: what was between may be lost.
    pub complete_after: u64,
    /// The messages, in order.
    pub messages: Vec<KeptMessage>,
    /// All messages of the channel up to this number are among these: the number of the last message if there is a
    /// rest, otherwise the last number of the whole stream when it was read, whichever channel it belongs to.
    pub last: u64,
    /// Whether there are more messages behind them.
    pub rest: Remainder,
}

/// An order of a scheduler's channels to the cluster.
#[derive(Clone, Debug)]
pub enum ClusterOrder {
    /// Sends a message of a channel without history to the nodes that follow it; its subscribers here have it.
    /// While the cluster is away it is dropped.
    Announce {
        /// The channel.
        name: Arc<str>,
        /// The message.
        body: Payload,
    },
    /// Adds a message to a channel with a history. Exactly one [`ClusterNews::CommitResult`] answers it, also if the
    /// cluster is away for long. The same key of the same channel is added once.
    Commit {
        /// The channel.
        name: Arc<str>,
        /// The message.
        offer: Offer,
        /// The number of the result; used once.
        commit: u64,
    },
    /// Reports messages of this channel from now on, also again after the cluster was away. Without history,
    /// [`ClusterNews::Followed`] says when that is in force, unless [`ClusterNews::Away`] comes first.
    Follow {
        /// The channel.
        name: Arc<str>,
        /// The messages of it that the cluster keeps.
        keeping: Keeping,
    },
    /// No longer.
    Unfollow {
        /// The channel.
        name: Arc<str>,
        /// As it was followed.
        keeping: Keeping,
    },
    /// Reads the history of a channel. One [`ClusterNews::History`] or [`ClusterNews::ReadFailed`] answers it. What is
    /// read contains every message that was added before a preceding `Follow` of the channel took effect.
    Read {
        /// The channel.
        name: Arc<str>,
        /// The number of the answer; used once.
        read: u64,
        /// The messages above this number.
        after: u64,
        /// How many at most; the rest is read behind the last of them.
        at_most: u32,
    },
    /// Reports the messages of all channels, once each even if they are followed as well: there are patterns.
    /// [`ClusterNews::FollowedAll`] says when that is in force, unless [`ClusterNews::Away`] comes first.
    FollowAll,
    /// No longer.
    UnfollowAll,
    /// A user's first subscription on this node begins, or its last ends. For the nodes that follow the channel.
    Member {
        /// The channel.
        name: Arc<str>,
        /// The user.
        member: Member,
        /// Which of both.
        step: MemberStep,
    },
    /// Asks other nodes. Each answer is one [`ClusterNews::Answered`], and one [`ClusterNews::QueryOver`] follows, at
    /// once if the cluster is away, and after a second at the latest.
    Ask {
        /// The number of the answers; used once.
        query: u64,
        /// One node, or `None` for all.
        to: Option<ClusterNode>,
        /// The question.
        question: ClusterQuestion,
    },
    /// Answers a question.
    Answer {
        /// Its origin.
        to: QueryOrigin,
        /// The answer.
        answer: ClusterAnswer,
    },
}

/// News of the cluster for a scheduler's channels.
#[derive(Clone, Debug)]
pub enum ClusterNews {
    /// Another node published a message of a channel without history.
    Announced {
        /// The channel.
        name: Arc<str>,
        /// The message.
        body: Payload,
    },
    /// A channel without history is followed: what other nodes publish from now on is reported.
    Followed {
        /// The channel.
        name: Arc<str>,
    },
    /// All channels are followed.
    FollowedAll,
    /// A message was added to a channel with a history, by this or another node.
    Committed {
        /// The channel.
        name: Arc<str>,
        /// The epoch of the stream and the number of the message. An epoch never has two messages with one number.
        position: Position,
        /// The number of the channel's message before it, if the stream still had one then; otherwise 0.
        before: u64,
        /// The message.
        body: Payload,
    },
    /// The result of a commit: its position, or that of the first message with its key.
    CommitResult {
        /// Its number.
        commit: u64,
        /// The result. [`ChannelRefusal::Unconfirmed`]: it may be added later, or not.
        result: Result<Position, ChannelRefusal>,
    },
    /// A part of a history.
    History {
        /// The channel.
        name: Arc<str>,
        /// The number of the order.
        read: u64,
        /// The part.
        part: HistoryPart,
    },
    /// A history could not be read. It is asked for again later.
    ReadFailed {
        /// The channel.
        name: Arc<str>,
        /// The number of the order.
        read: u64,
    },
    /// A user's first subscription on another node began, or its last ended.
    Member {
        /// That node.
        node: ClusterNode,
        /// The channel.
        name: Arc<str>,
        /// The user.
        member: Member,
        /// Which of both.
        step: MemberStep,
    },
    /// A node came, or came back: what it reported of its members before may have been missed.
    NodeCame {
        /// The node.
        node: ClusterNode,
    },
    /// A node has ended: its members have left.
    NodeGone {
        /// The node.
        node: ClusterNode,
    },
    /// Another node asks. The answer is [`ClusterOrder::Answer`].
    Asked {
        /// Where the answer goes.
        from: QueryOrigin,
        /// The question.
        question: ClusterQuestion,
    },
    /// A node answers.
    Answered {
        /// The number of the question.
        query: u64,
        /// The node.
        node: ClusterNode,
        /// The answer.
        answer: ClusterAnswer,
    },
    /// No more answers come.
    QueryOver {
        /// The number of the question.
        query: u64,
    },
    /// The cluster cannot be reached, so messages may be missed from now on.
    Away,
    /// It can be reached, and what was followed is followed again. At the start it is away.
    Back,
}
