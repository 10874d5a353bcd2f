//! `Cache-Status` (RFC 9211): what the cache did, for the client and for who looks for an error.
//!
//! Owns the text. Never decides.

use std::fmt::Write as _;

/// The action of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheOutcome {
    /// It has answered by itself.
    Hit,
    /// A server was asked (section 2.2).
    Forwarded {
        /// Why.
        why: ForwardReason,
        /// The status of its answer, if that is not the one which the client gets.
        status: Option<u16>,
        /// Whether its answer was stored.
        is_stored: bool,
        /// Whether it was asked for another request too (section 2.6).
        is_collapsed: bool,
    },
    /// Neither: the client wanted no server to be asked.
    Refused,
}

/// Why a server was asked (RFC 9211 section 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardReason {
    /// The cache is not for such requests.
    Bypass,
    /// The method.
    Method,
    /// Nothing is stored for this URI.
    UriMiss,
    /// Something is stored, but for other fields.
    VaryMiss,
    /// The stored answer is stale.
    Stale,
    /// The request wanted it.
    Request,
}

impl ForwardReason {
    /// The word of the RFC.
    pub fn word(self) -> &'static str {
        match self {
            Self::Bypass => "bypass",
            Self::Method => "method",
            Self::UriMiss => "uri-miss",
            Self::VaryMiss => "vary-miss",
            Self::Stale => "stale",
            Self::Request => "request",
        }
    }
}

/// One member of the field.
#[derive(Clone, Copy, Debug)]
pub struct CacheStatus<'r> {
    /// The action of the cache.
    pub outcome: CacheOutcome,
    /// Seconds of freshness that are left of what it has answered with.
    pub ttl_s: Option<i64>,
    /// The key, if it is told.
    pub key: Option<&'r str>,
}

impl CacheStatus<'_> {
    /// The member, for this cache (section 2).
    pub fn text(&self, cache: &str) -> String {
        let mut text = String::with_capacity(64);
        text.push_str(cache);
        match self.outcome {
            CacheOutcome::Hit => text.push_str("; hit"),
            CacheOutcome::Refused => text.push_str("; detail=only-if-cached"),
            CacheOutcome::Forwarded { why, status, is_stored, is_collapsed } => {
                // A String takes everything.
                let _written = write!(text, "; fwd={}", why.word());
                if let Some(status) = status {
                    let _written = write!(text, "; fwd-status={status}");
                }
                text.push_str(if is_stored { "; stored" } else { "" });
                text.push_str(if is_collapsed { "; collapsed" } else { "" });
            }
        }
        if let Some(ttl_s) = self.ttl_s {
            let _written = write!(text, "; ttl={ttl_s}");
        }
        if let Some(key) = self.key {
            text.push_str("; key=\"");
            // RFC 8941 section 3.3.3: visible ASCII, with these two escaped.
            for letter in key.chars().filter(|letter| (' '..='~').contains(letter)) {
                text.push_str(if matches!(letter, '"' | '\\') { "\\" } else { "" });
                text.push(letter);
            }
            text.push('"');
        }
        text
    }
}
