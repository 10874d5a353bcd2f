//! Share-nothing schedulers and the processes bound to them.
//!
//! A scheduler is a thread with its own pollset, listeners, timers, buffers and counters; a process belongs to
//! one scheduler for life. Owns the turn and everything in it. Never knows what bytes mean: that is the
//! [`Service`](service::Service) it is given.

pub mod account;
pub mod alarms;
pub mod arrival;
mod began;
pub mod calendar;
mod carriage;
pub mod clock;
mod close_reason;
pub mod diagnostic;
mod extras;
pub mod fan;
mod group;
mod held_back;
pub mod helper;
mod inbox;
mod incoming;
pub mod launch;
mod layer;
mod lent;
pub mod limits;
pub mod mailbox;
mod outbox;
pub mod outlet;
pub mod output;
pub mod panic;
pub mod patience;
pub mod post;
mod posted;
mod process;
pub mod pulse;
mod sampler;
pub mod scheduler;
pub mod serve;
pub mod service;
pub mod slots;
mod spin;
pub mod stats;
mod stream;
pub mod streams;
mod threads;
pub mod timer;
pub mod trace;
pub mod transport;
mod uptake;
pub mod watch;

pub use sys::connect::RemoteAddress;
pub use sys::pollset::{ListenOptions, Silence, Speaks};
pub use sys::socket::{ListenAddress, Peer};
