//! The lines of a trace: its beginning, its steps, and what was left out of it.
//!
//! Owns the shape of `POST /trace`, whose answer has one of these lines of JSON for each.

use serde::{Deserialize, Serialize};

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub enum TraceLine {
    /// The first: the trace has begun.
    Begun(TraceBegun),
    /// A step of something that is traced.
    Step(TraceStep),
    /// The last: the trace has ended.
    Ended(TraceEnded),
}

/// The things that are traced.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceBegun {
    /// Kind of the things: `url`, `channel` ...
    pub what: String,
    /// The pattern of their names.
    pub pattern: String,
    /// Things per second, over all schedulers.
    pub most_per_second: u32,
    /// How long it lasts.
    pub seconds: u64,
    /// When it began, in milliseconds since 1970.
    pub at_ms: u64,
    /// The number of schedulers.
    pub schedulers: usize,
}

/// A step of something that is traced.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceStep {
    /// The thing that makes it: `SCHEDULER-NUMBER` for a request or a connection, `CHANNEL#POSITION` for a message.
    pub of: String,
    /// Nanoseconds since the trace began.
    pub at_ns: u64,
    /// The scheduler that notes it.
    pub scheduler: usize,
    /// The party that does it: `client`, `scheduler N`, `page`, `store`, `server` or `subscribers`.
    pub from: String,
    /// To whom.
    pub to: String,
    /// The action.
    pub what: String,
    /// More about it, in one short line.
    pub detail: String,
    /// The id of its process, as `GET /info` takes it; empty if none is meant.
    pub process: String,
}

/// The end of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceEnded {
    /// Steps in the lines before.
    pub steps: u64,
    /// Requests, connections and messages of this name that were not followed, because more came than the rate allows.
    pub left_out: u64,
    /// Steps for which there was no room.
    pub steps_left_out: u64,
    /// Schedulers that have not said what they have left out.
    pub silent: Vec<usize>,
}
