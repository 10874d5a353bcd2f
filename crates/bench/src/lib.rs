//! The load generator: cheaper than the server, exact about time, and honest.
//!
//! Owns the plan of a run, the clients that execute it, their measurements, and the conclusions.
//! Never imports the server, because it must be able to contradict it.

pub mod agents;
pub mod channel;
pub mod client;
pub mod compare;
pub mod host;
pub mod knee;
pub mod limits;
pub mod own_writes;
pub mod plan;
pub mod report;
pub mod run;
pub mod tally;
