//! The part of a report about each agent.

use std::fmt::{self, Write};

use serde::{Deserialize, Serialize};

use super::figures::{count, duration};

/// The fate of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentState {
    /// It measured its part, and trusts it.
    Valid,
    /// It measured its part, and does not trust it.
    Invalid,
    /// It was lost before it gave its result.
    Lost,
}

/// An agent of a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentReport {
    /// Its address.
    pub address: String,
    /// How much its monotonic clock shows more than that of the coordinator.
    pub clock_offset_ns: i64,
    /// The most by which that may be wrong: half of the shortest round trip.
    pub clock_error_ns: u64,
    /// Its part of what was measured: requests that were answered, or messages that were received.
    pub done: u64,
    /// The fate of the agent.
    pub state: AgentState,
    /// Why it is not valid.
    pub reasons: Vec<String>,
}

impl AgentReport {
    /// Why a result with this agent cannot be trusted, if so.
    pub fn why_not(&self) -> Option<String> {
        let (address, why) = (&self.address, self.reasons.join("; "));
        match self.state {
            AgentState::Valid => None,
            AgentState::Invalid => Some(format!("agent {address}: {why}")),
            AgentState::Lost => {
                Some(format!("agent {address} was lost, and with it its part of the load: {why}"))
            }
        }
    }
}

/// Writes a line for each agent.
///
/// # Errors
/// If `out` accepts no text.
pub(crate) fn write_agents(agents: &[AgentReport], out: &mut impl Write) -> fmt::Result {
    for (agent, at) in agents.iter().zip(0..) {
        let state = match agent.state {
            AgentState::Valid => "valid",
            AgentState::Invalid => "invalid",
            AgentState::Lost => "lost",
        };
        writeln!(
            out,
            "{:<12}{}: {state}, {} done, its clock known to {}",
            if at == 0 { "agents" } else { "" },
            agent.address,
            count(agent.done),
            duration(agent.clock_error_ns as f64)
        )?;
    }
    Ok(())
}
