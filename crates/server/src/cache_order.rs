//! The answers of upstreams that a scheduler has to forget.
//!
//! Owns the shape of the order. Never obeys it.

use cache::PurgePattern;

/// The stored answers to forget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheOrder {
    /// Everything that a pattern includes, in all caches.
    Purge(PurgePattern),
    /// The answers of one URI, because it was changed.
    Changed {
        /// The upstream.
        upstream: Box<str>,
        /// The URI, as the text of its key.
        uri: Box<str>,
    },
}
