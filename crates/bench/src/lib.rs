//! The load generator: cheaper than the server, exact about time, and honest.
//!
//! Owns the plan of a run, the clients that carry it out, what they measured, and what may be concluded from it. Never
//! imports the server: it has to be able to contradict it.

pub mod channel;
pub mod client;
pub mod compare;
pub mod host;
pub mod knee;
pub mod limits;
pub mod plan;
pub mod report;
pub mod run;
pub mod tally;
