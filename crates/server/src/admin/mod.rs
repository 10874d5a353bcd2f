//! The admin service: status, statistics, reload and drain over the control socket; metrics over TCP.
//!
//! Owns nothing of the data plane: it runs on a control scheduler of its own and asks the schedulers by message,
//! so that it answers even when one of them does not. `round` is one such question; `metrics` and `status` write
//! what came back.

mod facts;
mod handle;
mod metrics;
mod numbers;
mod round;
mod status;

pub use facts::Facts;
pub use handle::{Admin, HasControl, Peers};
