//! Requests to other servers: HTTP/1.1 over connections that a scheduler opens and keeps.
//!
//! Owns a fetch from its URL to its answer or failure: names, the pool of idle connections,
//! deadlines. Knows nothing of pages; the caller has its own number and takes the outcome at the
//! end of a turn. Makes no system call: a helper resolves names, and the runtime opens connections.

mod answer;
mod client;
mod events;
mod failure;
mod helper;
mod names;
mod outbound;
mod outcome;
mod pieces;
mod pool;
mod request;
mod share;
mod stream;
mod url;
mod way;

pub use answer::Answer;
pub use client::Client;
pub use failure::Failure;
pub use helper::{Looked, NameHelper};
pub use names::{Found, Question};
pub use outbound::Outbound;
pub use outcome::{FetchResult, Got, Number};
pub use request::{Asked, Owner, Wanted};
