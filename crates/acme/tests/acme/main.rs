//! The tests of certificates by themselves: the schedule, the ledger, and whole servers' worth of orders against
//! authorities.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its functions as well")]

mod certificate;
mod schedule;
