//! The tests of certificates by themselves: the schedule, the ledger, and whole servers' worth of orders against
//! authorities.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its functions as well")]
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "tests play authorities and schedulers on threads of their own, and measure how long an end \
              takes"
)]
#![expect(clippy::print_stdout, reason = "what is skipped has to be seen")]

mod directory;
mod disk;
mod fake;
mod orders;
mod pebble;
mod schedule;
mod server;
mod unreachable;
mod waiting;
mod waits;
mod wrongs;
