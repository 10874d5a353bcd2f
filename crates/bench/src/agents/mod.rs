//! Generators on several hosts that make one measurement.
//!
//! Owns their protocol, the agreement on a start, and the merging of what they measured. Never makes a plan: the
//! command line does, on every host.

mod report;

pub use report::{AgentReport, AgentState, write_agents};
