//! The servers of an upstream, as one scheduler sees them.
//!
//! Owns which server gets a request, which servers have failed and for how long, how many requests may be repeated, and
//! the line of requests that wait for a place. Does no I/O and reads no clock: time is an argument, and whoever carries
//! a request says how it went. Knows no HTTP, no address and no connection.

mod balance;
mod budget;
mod hash;
mod health;
pub mod limits;
mod queue;
mod random;
mod rules;
mod server;
mod tried;
mod upstream;

pub use hash::hash;
pub use health::{ChecksTurned, HealthCheck, HealthReason, ServerStanding};
pub use queue::LineFull;
pub use rules::{Balance, HealthRules, ServerRules, UpstreamRules};
pub use server::{Checks, Readiness, ServerView};
pub use tried::{ServerIndex, Tried};
pub use upstream::{RequestOutcome, ServerChoice, ServerPreference, Upstream};
