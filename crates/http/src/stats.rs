//! The counters of the HTTP service of one scheduler, as plain integers.

use wire::http::status::Status;

metric::counted! {
    /// Requests and what became of them.
    ///
    /// ```
    /// use http::{App, Response};
    /// use world::Stage;
    ///
    /// let app = || App::new(()).get("/", |_call| Ok(Response::text("hello")));
    /// let mut stage = Stage::new(1, || app().into_service());
    /// let client = stage.connect();
    /// stage.exchange(client, "GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n");
    /// let stats = stage.schedulers()[0].service().stats();
    /// assert_eq!((stats.requests, stats.by_class[4]), (1, 1));
    /// ```
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct HttpStats {
        /// Requests that have ended, with an answer or without.
        pub requests: u64 = Counter(Count, "http.requests", "requests"),
        /// Requests that came over HTTP/2.
        pub http2_requests: u64 = Counter(Count, "http.http2_requests", "http2_requests"),
        /// Streams of HTTP/2 that their clients reset.
        pub http2_resets: u64 = Counter(Count, "http.http2_resets", "http2_resets"),
        /// Streams reset before a whole answer.
        pub http2_refused: u64 = Counter(Count, "http.http2_refused", "http2_refused"),
        /// Connections of HTTP/2 ended for a mistake.
        pub http2_broken: u64 = Counter(Count, "http.http2_broken", "http2_broken"),
        /// Of these, those with ENHANCE_YOUR_CALM.
        pub http2_calmed: u64 = Counter(Count, "http.http2_calmed", "http2_calmed"),
        /// Replies by the first digit of their status; index 0 is unused.
        pub by_class: [u64; 6] = Elsewhere("by class"),
        /// Requests refused by the connection itself: malformed, too large, too slow.
        pub refused: u64 = Counter(Count, "http.refused", "requests_refused"),
        /// Requests that had to wait for something.
        pub waited: u64 = Counter(Count, "http.waited", "requests_waited"),
        /// Waits that ended at their deadline.
        pub waits_expired: u64 = Counter(Count, "http.waits_expired", "waits_expired"),
        /// Connections closed for want of a whole head in time.
        pub header_timeouts: u64 = Counter(Count, "http.header_timeouts", "header_timeouts"),
        /// Connections closed for want of a body in time.
        pub body_timeouts: u64 = Counter(Count, "http.body_timeouts", "body_timeouts"),
        /// Idle connections closed at the end of their keep-alive time.
        pub keep_alive_timeouts: u64 = Counter(Count, "http.keep_alive_timeouts", "keep_alive_timeouts"),
        /// PROXY headers refused.
        pub proxy_refused: u64 = Counter(Count, "http.proxy_refused", "proxy_refused"),
        /// Requests refused because fields of a trusted proxy were malformed or contradicted each other.
        pub forwarded_refused: u64 = Counter(Count, "http.forwarded_refused", "forwarded_refused"),
        /// Access log lines dropped because the writer could not follow.
        pub log_dropped_lines: u64 = Counter(Count, "http.log_lines_dropped", "log_lines_dropped"),
    }
}

impl HttpStats {
    /// Counts a reply. Returns the class of its status: 1 for `1xx` to 5 for `5xx`.
    #[inline]
    pub fn count(&mut self, status: Status) -> usize {
        let class = usize::from(status.code() / 100).min(5);
        // Counters of 64 bits need no test for overflow.
        self.requests = self.requests.wrapping_add(1);
        self.by_class[class] = self.by_class[class].wrapping_add(1);
        class
    }
}
