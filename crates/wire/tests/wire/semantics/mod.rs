//! The semantics an answer depends on (RFC 9110): dates, targets, ranges, preconditions, codings.

mod conditional;
mod date;
mod encoding;
mod range;
mod target;
