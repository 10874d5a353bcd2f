//! HTTP/2 as the generator speaks it (RFC 9113): many requests at once on one connection.
//!
//! Owns the connection of a client. Its windows for the server are so large that the server never waits for one. Never
//! counts an outcome in another way than HTTP/1.1 does.

mod answers;
mod asks;
mod frames;
mod request;

pub(super) use request::StreamRequest;
