//! What a scheduler has to forget of the answers of upstreams.
//!
//! Owns the shape of the order. Never obeys it.

use cache::PurgePattern;

/// What a scheduler has to forget.
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
