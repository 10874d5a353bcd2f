//! The caches of a configuration.
//!
//! Owns the translation, and the part of the memory that one scheduler gets.

use std::time::Duration;

use cache::{CacheRules, Guessing, KeyParts, RequestDirectives, SetCookie};

use crate::limits::CACHE_OBJECT_PART;

/// The rules of a cache on one of so many schedulers.
pub(super) fn rules_of(config: &config::UpstreamCache, schedulers: u16) -> CacheRules {
    let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    let memory = size(config.memory) / usize::from(schedulers.max(1));
    let seconds = |duration: Duration| duration.as_secs();
    CacheRules {
        memory,
        object: size(config.object).min(memory / CACHE_OBJECT_PART),
        object_outside: config.disk.as_ref().map_or(0, |disk| size(disk.object)),
        key: KeyParts { scheme: config.key.scheme, host: config.key.host, query: config.key.query },
        default_ttl_s: config.default_ttl.map(seconds),
        error_ttl_s: config.error_ttl.map(seconds).filter(|seconds| *seconds > 0),
        guessing: if config.heuristic { Guessing::On } else { Guessing::Off },
        while_revalidate_s: seconds(config.stale_while_revalidate),
        if_error_s: seconds(config.stale_if_error),
        set_cookie: if config.remove_set_cookie { SetCookie::Remove } else { SetCookie::Refuse },
        directives: match config.obey_requests {
            true => RequestDirectives::Obeyed,
            false => RequestDirectives::Ignored,
        },
    }
}
