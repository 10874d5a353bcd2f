//! Generators on several hosts that make one measurement.
//!
//! Owns their protocol, and the agreement on a start. Never makes a plan: the command line does, on every host.

mod agent;
mod error;
mod key;
mod line;
mod report;
mod team;
mod words;

pub use agent::{Agent, Session};
pub use error::AgentError;
pub use key::AgentKey;
pub use line::Pulse;
pub use report::{AgentReport, AgentState, write_agents};
pub use team::{MemberError, Team};
pub use words::Task;
