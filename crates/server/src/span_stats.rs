//! A scheduler's counters of the spans that a collector gets.

metric::counted! {
    /// The counts of a scheduler of the spans for a collector.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct SpanStats {
        /// Spans that the collector has accepted.
        pub sent: u64 = Counter(Count, "spans.sent", "spans_sent"),
        /// Spans and requests that were dropped: the collector did not answer, or too many came.
        pub dropped: u64 = Counter(Count, "spans.dropped", "spans_dropped"),
    }
}
