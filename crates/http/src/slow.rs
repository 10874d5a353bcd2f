//! Requests that took long, as the settings say ([`Settings::slow_ns`](crate::Settings::slow_ns)).
//!
//! Owns what the application is told of one, and when it is told. Never writes a line.

use runtime::account::nanoseconds_of;
use runtime::clock::Now;
use runtime::slots::ProcessId;
use wire::http::status::Status;

use super::application::Application;
use super::notes::Notes;
use super::request::Request;
use super::shared::Http;

/// A request that took long. Its answer has been written.
#[derive(Debug)]
pub struct Slow<'r> {
    /// The process of its connection.
    pub process: ProcessId,
    /// The status of its answer.
    pub status: Status,
    /// When its head was complete, on the monotonic clock.
    pub began_ns: u64,
    /// Nanoseconds from then until the end of its answer was written.
    pub took_ns: u64,
    /// What the application noted on it.
    pub notes: &'r Notes,
}

impl<A: Application> Http<A> {
    /// Counts the time of a request that is answered now, and tells the application of it if it was long.
    #[inline]
    pub(super) fn count_time(
        &mut self,
        request: &Request<'_>,
        process: ProcessId,
        status: Status,
        now: Now,
    ) {
        let began_ns = request.begin.began_ns;
        let ticks = self.times.count(status, self.notes.timed_as, began_ns, now);
        let Some(slow_ns) = self.settings.slow_ns else { return };
        let took_ns = nanoseconds_of(ticks);
        if took_ns >= slow_ns {
            let slow = Slow { process, status, began_ns, took_ns, notes: &self.notes };
            self.application.on_slow(request, &slow);
        }
    }
}
