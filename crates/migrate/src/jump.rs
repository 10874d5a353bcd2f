//! Paths that only a rewrite can lead to.
//!
//! Owns where they are, and the routes that refuse them from outside. A place that answers for another path than that
//! of the request is a rewrite to such a path, right before the route that takes it.

use crate::matcher::Matcher;
use crate::route::{Action, Route};

/// Where all of these places are.
const JUMPS: &str = "/.velodrome";

/// The place with the next number.
pub(crate) fn place(jumps: &mut usize) -> String {
    *jumps += 1;
    format!("{JUMPS}/{jumps}")
}

/// With a route that no request comes past to where rewrites lead, first and behind each rewrite that could lead there.
pub(crate) fn guarded(routes: Vec<Route>, jumps: usize) -> Vec<Route> {
    if jumps == 0 {
        return routes;
    }
    let jump = Matcher::Prefix(JUMPS.to_owned());
    let guard = || {
        Route::new(jump.clone(), Action::status(404))
            .with_note("Only the rewrites below lead behind this path.")
    };
    let mut all = vec![guard()];
    for route in routes {
        let leads_there = |to: &str| {
            !to.starts_with(JUMPS)
                && jump.may_meet(&Matcher::Glob(format!(
                    "{}*",
                    to.split('$').next().unwrap_or_default()
                )))
        };
        let is_risky = route.rewrites_to().is_some_and(leads_there);
        all.push(route);
        if is_risky {
            all.push(guard());
        }
    }
    all
}
