//! How long requests took, from the turn in which the head of a request was complete until its answer was written.
//!
//! Owns a histogram for each route and class of status, and for each page. A request whose client leaves before its
//! answer is in none. What a route or page is, the application says ([`TimedAs`]).

use metric::{Histogram, Histograms};
use runtime::account::ticks_since;
use runtime::clock::Now;

use super::notes::TimedAs;

/// Classes of status: `1xx` to `5xx`, and one for others.
const CLASSES: usize = 6;

/// The times of requests, in ticks of [`sys::clock::tick_counter`]: what converts them is whoever shows them.
#[derive(Clone, Debug, Default)]
pub struct RequestTimes {
    /// Of each route, by class.
    routes: Histograms,
    pages: Histograms,
}

impl RequestTimes {
    /// Counts a request that is answered now with this class of status, and whose head was complete at this time on the
    /// monotonic clock. Returns how long it took, in ticks.
    #[inline]
    pub(super) fn count(&mut self, class: usize, route: u16, began_ns: u64, now: Now) -> u64 {
        let ticks = ticks_since(now.monotonic_ns.saturating_sub(began_ns));
        self.routes.count(usize::from(route) * CLASSES + class, ticks);
        ticks
    }

    /// Counts the ticks of a request that a page has answered, if one has.
    pub(super) fn count_page(&mut self, timed_as: TimedAs, ticks: u64) {
        if timed_as.page != 0 {
            self.pages.count(usize::from(timed_as.page), ticks);
        }
    }

    /// The times of a route by class of status: 1 for `1xx` to 5 for `5xx`.
    pub fn of_route(&self, route: u16, class: usize) -> Option<&Histogram> {
        self.routes.of(usize::from(route) * CLASSES + class)
    }

    /// The times of a page.
    pub fn of_page(&self, page: u16) -> Option<&Histogram> {
        self.pages.of(usize::from(page))
    }
}
