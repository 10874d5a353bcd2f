//! How many requests a connection carries.
//!
//! Owns that number and nothing else.

use std::num::NonZeroU64;

/// How long a connection is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// Until the run ends or the server closes it.
    KeptAlive,
    /// For this many requests. The last one says `Connection: close`, so that the server closes.
    Requests(NonZeroU64),
}

impl Lifetime {
    /// A connection for each request.
    pub const ONE_REQUEST: Lifetime = Lifetime::Requests(NonZeroU64::MIN);

    /// Whether the request after `sent` others on its connection is the last one.
    pub fn is_last(self, sent: u64) -> bool {
        match self {
            Self::KeptAlive => false,
            Self::Requests(requests) => sent.saturating_add(1) >= requests.get(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_request_is_the_nth() {
        let three = Lifetime::Requests(NonZeroU64::new(3).unwrap());
        assert_eq!([0, 1, 2, 3].map(|sent| three.is_last(sent)), [false, false, true, true]);
        assert!(Lifetime::ONE_REQUEST.is_last(0));
        assert!(!Lifetime::KeptAlive.is_last(u64::MAX));
    }
}
