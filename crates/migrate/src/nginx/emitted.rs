//! Routes of a location, before it is known whether their rewrites lead where those of nginx do.
//!
//! Owns the route and where it leads. Never decides where it may stand.

use crate::route::Route;

/// A route, and where it leads if it is a rewrite.
#[derive(Debug, Clone)]
pub(super) struct Emitted {
    route: Route,
    leads: Leads,
    /// The comment on it, if it cannot be printed.
    told: String,
}

/// Where a rewrite leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leads {
    /// It is none, or to the routes after it.
    On,
    /// To the choice of a location.
    Last,
    /// To the next route that is no rewrite.
    Jump,
}

impl Emitted {
    pub(super) fn new(route: Route, leads: Leads, told: String) -> Self {
        Self { route, leads, told }
    }

    pub(super) fn plain(route: Route) -> Self {
        Self::new(route, Leads::On, String::new())
    }

    pub(super) fn route(&self) -> &Route {
        &self.route
    }

    pub(super) fn leads(&self) -> Leads {
        self.leads
    }

    pub(super) fn into_route(self) -> Route {
        self.route
    }

    pub(super) fn close(&mut self) {
        let why = format!("{} where it stands", self.told);
        self.route = self.route.clone().into_closed(&why);
        self.leads = Leads::On;
    }
}
