//! Requests of pages to other servers.
//!
//! Owns what a page may ask for, and how much fetches may hold: the whole answers, whose share each fetch uses, and the
//! pieces that a page has asked for. The exchange itself is `client`'s.

mod asked;
mod fetcher;
mod outcome;
mod rules;
mod share;
mod times;
mod trust;

pub(crate) use asked::fields;
pub use asked::{Asked, Owner, Wanted};
pub use client::Failure;
pub use fetcher::Client;
pub(crate) use outcome::told;
pub use outcome::{Answer, FetchResult, Got, Number};
pub use trust::{Trust, TrustError};
