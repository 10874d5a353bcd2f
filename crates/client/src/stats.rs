//! The counters of the client of one scheduler.
//!
//! Owns the numbers and their names. Never counts.

metric::counted! {
    /// The counts of the client of one scheduler.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct ClientStats {
        /// Idle connections to other servers, kept for the next request.
        pub idle: usize = Gauge(Count, "outgoing.idle", "outgoing_idle", metric::from_size),
        /// Open connections of HTTP/2 to other servers.
        pub http2_connections: usize = Gauge(Count, "outgoing.http2_connections", "outgoing_http2_connections", metric::from_size),
        /// Requests that are under way on them.
        pub http2_streams: usize = Gauge(Count, "outgoing.http2_streams", "outgoing_http2_streams", metric::from_size),
        /// Requests begun on them, repetitions included.
        pub http2_requests: u64 = Counter(Count, "outgoing.http2_requests", "outgoing_http2_requests"),
        /// Requests that other servers ended with RST_STREAM.
        pub http2_resets: u64 = Counter(Count, "outgoing.http2_resets", "outgoing_http2_resets"),
        /// GOAWAY of other servers.
        pub http2_goaways: u64 = Counter(Count, "outgoing.http2_goaways", "outgoing_http2_goaways"),
        /// Requests sent again because a server had not begun them.
        pub http2_repeats: u64 = Counter(Count, "outgoing.http2_repeats", "outgoing_http2_repeats"),
        /// Connections ended because a server broke the rules of HTTP/2.
        pub http2_broken: u64 = Counter(Count, "outgoing.http2_broken", "outgoing_http2_broken"),
    }
}
