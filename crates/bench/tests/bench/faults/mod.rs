//! Goal: whatever a server does, the generator ends in time, never panics, and counts each request once and as the
//! right kind. Method: servers that do one thing wrong each, and runs of a few hundred milliseconds.

mod answers;
pub(crate) mod generator;
mod hold;
mod loops;
mod refusals;
pub(crate) mod server;
mod stall;
