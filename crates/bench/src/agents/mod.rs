//! Generators on several hosts that make one measurement.
//!
//! Owns their protocol, and the agreement on a start. Never makes a plan: the command line does, on every host.

mod agent;
mod error;
mod key;
mod line;
mod team;
mod words;

pub use agent::{Agent, AgentSession};
pub use error::AgentError;
pub use key::AgentKey;
pub use line::CoordinatorPulse;
pub use team::{MemberError, Team};
pub use words::Task;
