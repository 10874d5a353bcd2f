//! The messages between a coordinator and an agent.
//!
//! Owns the messages, as JSON. Times are of the agent's monotonic clock.

use serde::{Deserialize, Serialize};

/// How a connection begins, on both sides. Plain data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Greeting {
    /// The version of the protocol.
    pub(crate) protocol: u32,
    /// The version of the program.
    pub(crate) version: String,
    /// A number that was never used before.
    pub(crate) nonce: String,
    /// The agent proves that it has the key; a coordinator cannot yet.
    pub(crate) proof: Option<String>,
}

/// The coordinator proves that it has the key. Plain data.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Proof {
    pub(crate) proof: String,
}

/// The measurement that an agent makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The command line of the coordinator, word by word.
    pub words: Vec<String>,
    /// The number of the agent, from 0.
    pub generator: u32,
    /// How many agents there are.
    pub generators: u32,
    /// The mark of this run.
    pub run: u16,
}

/// A message of a coordinator.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ToAgent {
    /// Asks for the time that the agent's clock shows.
    Clock,
    /// Make ready for this.
    Prepare(Task),
    /// Begin at this time; the clocks of all agents differ from yours by so much.
    Start { begin_ns: u64, clocks: Vec<i64> },
    /// All agents together have published this many messages, by publisher.
    Published(Vec<u64>),
}

/// A message of an agent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FromAgent<T> {
    /// My clock shows this.
    Clock(u64),
    /// I am ready, with this many open connections.
    Ready(u64),
    /// I have published this many messages, by publisher.
    Published(Vec<u64>),
    /// This is what I have measured.
    Result(T),
    /// I cannot do this.
    Refused { why: String },
}
