//! The time of each request, as it is answered.
//!
//! Owns that it is counted, and that the application is told of a long one.

use runtime::account::nanoseconds_of;
use runtime::clock::Now;
use runtime::slots::ProcessId;
use wire::http::status::Status;

use super::application::Application;
use super::request::Request;
use super::shared::Http;
use super::slow::SlowRequest;

impl<A: Application> Http<A> {
    /// Counts the time of a request that is answered now, and tells the application of it if it was long.
    #[inline]
    pub(super) fn count_time(
        &mut self,
        request: &Request<'_>,
        process: ProcessId,
        status: Status,
        class: usize,
        now: Now,
    ) {
        let began_ns = request.begin.began_ns();
        let ticks = self.times.count(class, self.notes.timed_as, began_ns, now);
        let Some(slow_ns) = self.settings.slow_ns else { return };
        let took_ns = nanoseconds_of(ticks);
        if took_ns >= slow_ns {
            let slow = SlowRequest { process, status, began_ns, took_ns, notes: &self.notes };
            self.application.on_slow(request, &slow);
        }
    }
}
