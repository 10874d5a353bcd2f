//! The subject of a trace, and the content of one step of it: plain data.

use std::sync::Arc;

use super::pattern::TracePattern;
use crate::mailbox::Endpoint;
use crate::slots::ProcessId;

/// The kind of the things that a trace is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TracedKind {
    /// Connections, by the address of their client.
    Connection,
    /// Requests, by host and path.
    Url,
    /// Requests, by the page that answers.
    Page,
    /// Requests, by the user who was let in.
    User,
    /// Messages, by their channel.
    Channel,
    /// Commands and requests, by the key of the store that they are about.
    Key,
}

impl TracedKind {
    /// All of them with their names.
    pub const ALL: [(&'static str, Self); 6] = [
        ("conn", Self::Connection),
        ("url", Self::Url),
        ("page", Self::Page),
        ("user", Self::User),
        ("channel", Self::Channel),
        ("key", Self::Key),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }
}

/// Whether steps may have what clients and pages have sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentShown {
    /// They may not.
    LeftOut,
    /// The one who asked for the trace wants it.
    Shown,
}

/// An order to one scheduler to trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceCommand {
    /// The number of the trace.
    pub number: u64,
    /// The receiver of the steps.
    pub to: Endpoint,
    /// The kind of its things.
    pub kind: TracedKind,
    /// The names of these things.
    pub pattern: TracePattern,
    /// Things that this scheduler begins to follow, per second.
    pub per_second: u32,
    /// When it ends, on the monotonic clock.
    pub until_ns: u64,
    /// The content that steps may have.
    pub content: ContentShown,
}

/// One side of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actor {
    /// The client, or the other end of the connection.
    Client,
    /// The scheduler that notes the step.
    Scheduler,
    /// Another scheduler, by its number.
    Other(u16),
    /// The page.
    Page,
    /// The store.
    Store,
    /// Another server.
    Server,
    /// The subscribers of a channel.
    Subscribers,
}

/// The meaning of a step for a span: the time that an actor spends on a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanEdge {
    /// Nothing.
    Within,
    /// A span of the actor to whom it leads begins.
    Begins,
    /// The span of the actor who makes it ends.
    Ends,
    /// The request ends.
    Last,
}

/// The action of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepAction {
    /// The actor.
    pub from: Actor,
    /// To whom.
    pub to: Actor,
    /// A word or two for it.
    pub word: &'static str,
    /// The meaning for a span.
    pub edge: SpanEdge,
}

impl StepAction {
    /// Something between two.
    pub const fn between(from: Actor, to: Actor, word: &'static str) -> Self {
        Self { from, to, word, edge: SpanEdge::Within }
    }

    /// The same, with which a span begins.
    #[must_use]
    pub const fn begins(self) -> Self {
        Self { edge: SpanEdge::Begins, ..self }
    }

    /// The same, with which a span ends.
    #[must_use]
    pub const fn ends(self) -> Self {
        Self { edge: SpanEdge::Ends, ..self }
    }

    /// The same, with which a request ends.
    #[must_use]
    pub const fn last(self) -> Self {
        Self { edge: SpanEdge::Last, ..self }
    }

    /// Something that the scheduler does by itself.
    pub const fn within(word: &'static str) -> Self {
        Self::between(Actor::Scheduler, Actor::Scheduler, word)
    }
}

/// The thing that makes a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The thing with this number of the scheduler.
    Followed(u32),
    /// A message of a channel, at this position.
    Message(Arc<str>, u64),
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedStep {
    /// The thing that makes it.
    pub subject: Subject,
    /// When, on the monotonic clock.
    pub at_ns: u64,
    /// The process, if one is meant.
    pub process: Option<ProcessId>,
    /// The action.
    pub what: StepAction,
    /// More about it, in one short line.
    pub detail: String,
}

/// The part of a trace that was left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Things that it is about, and that were not followed: too many came.
    pub subjects: u64,
    /// Steps for which there was no room.
    pub steps: u64,
}

impl LeftOut {
    /// Adds what another scheduler has left out.
    pub fn add(&mut self, other: Self) {
        self.subjects += other.subjects;
        self.steps += other.steps;
    }
}
