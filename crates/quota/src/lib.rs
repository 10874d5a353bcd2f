//! Limits by key: how often, how much and how many at once.
//!
//! Owns what each key has used, in a table of fixed size for each limit, and what the schedulers of a server tell each
//! other of it.
//! Knows no request and no address; a key is a number. Time is an argument.

mod limiter;
pub mod limits;
mod meter;
mod pace;
mod rule;
mod table;
mod untold;

pub use limiter::{Limit, LimitCounts, Limiter, RemoteUses};
pub use meter::{Meter, Uses};
pub use pace::{QuotaDecision, QuotaPace};
pub use rule::Rule;
pub use table::KeyTable;
pub use untold::Untold;
