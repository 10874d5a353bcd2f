//! The counters of the channels of one scheduler.

metric::counted! {
    /// The counts of the channels of one scheduler.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct ChannelStats {
        /// Messages published through this scheduler's channels, each once: by the scheduler that is its home.
        pub published: u64 = Counter(Count, "channels.published", "channels_published"),
        /// Messages queued for subscribers, once for each.
        pub delivered: u64 = Counter(Count, "channels.delivered", "channels_delivered"),
        /// Messages left out for subscribers that were too slow, once for each.
        pub dropped: u64 = Counter(Count, "channels.dropped", "channels_dropped"),
        /// Subscribers disconnected because they were too slow.
        pub disconnected_slow: u64 = Counter(Count, "channels.disconnected_slow", "channels_disconnected_slow"),
        /// Publishes and subscriptions that were refused.
        pub refused: u64 = Counter(Count, "channels.refused", "channels_refused"),
        /// Messages, and whole channels without subscribers, dropped from histories because there were too many.
        pub evicted: u64 = Counter(Count, "channels.evicted", "channels_evicted"),
        /// Losses of messages on their way through the cluster, or with its stream, of which subscribers were told.
        pub lost: u64 = Counter(Count, "channels.lost", "channels_lost"),
        /// Channels that this scheduler knows.
        pub channels: u64 = Gauge(Count, "channels.known", "channels_known"),
        /// Subscriptions on this scheduler.
        pub subscriptions: u64 = Gauge(Count, "channels.subscriptions", "channels_subscriptions"),
        /// Bytes of the members of channels: of those here, and of those of channels whose home this is.
        pub members_bytes: u64 = Gauge(Bytes, "channels.members_bytes", "channels_members_bytes"),
        /// Bytes of messages in histories.
        pub history_bytes: u64 = Gauge(Bytes, "channels.history_bytes", "channels_history_bytes"),
    }
}
