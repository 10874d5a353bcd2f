//! The semantics an answer depends on (RFC 9110): dates, targets, ranges, preconditions, codings.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod conditional;
mod date;
mod encoding;
mod range;
mod target;
