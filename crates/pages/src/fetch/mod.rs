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
pub use asked::{FetchOwner, FetchRequest, ResponseDelivery};
pub use client::ExchangeFailure;
pub use fetcher::PageFetches;
pub(crate) use outcome::told;
pub use outcome::{FetchResult, FetchedAnswer, Got, Number};
pub use trust::{FetchTrust, TrustError};
