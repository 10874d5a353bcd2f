//! The admin service: status, statistics, reload and drain over the control socket, and with a
//! key over TCP; metrics over TCP.
//!
//! Owns nothing of the data plane. It runs on its own control scheduler and queries the schedulers
//! by message, so it answers even if one of them does not. `round` is one such query; `metrics` and
//! `status` format the result.

mod certificates;
mod dashboard;
mod durations;
mod events;
mod exposition;
mod facts;
mod gate;
mod handle;
mod joined;
mod lists;
mod live;
mod memory;
mod metrics;
mod numbers;
mod problem;
mod profiling;
mod round;
mod settings;
mod status;
mod tracing;
mod wish;

pub use facts::StartFacts;
pub use gate::{AddressReach, Entrance, Gate};
pub use handle::{Admin, ControlPeers};
