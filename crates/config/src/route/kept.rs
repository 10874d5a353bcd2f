//! A route on its own, for a request that waits.
//!
//! Owns what a lookup found beyond the table itself, so that the same answer can be given again without a lookup.
//! Valid only for the table it came from.

use std::borrow::Cow;

use super::{FoundRoute, RouteRefusal, RouteTable, RuleId};
use crate::host_id::HostId;

/// The result of [`RouteTable::find`]. [`RouteTable::recall`] returns it again.
#[derive(Debug, Clone)]
pub struct KeptRoute {
    host: HostId,
    rule: RuleId,
    refusal: Option<RouteRefusal>,
    /// `None`: that of the request.
    path: Option<Box<str>>,
    rest: usize,
    location: Box<str>,
}

impl FoundRoute<'_> {
    /// Keeps the route of a request with this path.
    pub fn keep(self, path: &str) -> KeptRoute {
        KeptRoute {
            host: self.host,
            rule: self.rule,
            refusal: self.action.err(),
            path: (self.path != path).then(|| self.path.into()),
            rest: self.rest,
            location: self.location.into(),
        }
    }
}

impl RouteTable {
    /// The route that this table has found before, for a request with the same path.
    pub fn recall<'a>(&'a self, kept: &'a KeptRoute, path: &'a str) -> FoundRoute<'a> {
        if let Some(refusal) = &kept.refusal {
            return self.not_taken(kept.host, kept.rule, refusal.clone());
        }
        let to = Cow::Borrowed(kept.path.as_deref().unwrap_or(path));
        let location = Cow::Borrowed(&*kept.location);
        let found = self.found(kept.host, kept.rule, (to, kept.rest, location));
        self.or_built_in(found, path)
    }
}
