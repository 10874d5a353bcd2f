//! The counters of the link of one scheduler.

metric::counted! {
    /// The counts of the link of one scheduler.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct LinkStats {
        /// Whether the scheduler is connected to NATS: 1 or 0.
        pub connected: u64 = Gauge(Count, "cluster.connected", "cluster_connected"),
        /// Connections to NATS that were established.
        pub connections: u64 = Counter(Count, "cluster.connections", "cluster_connections"),
        /// Attempts to connect that failed.
        pub failures: u64 = Counter(Count, "cluster.failures", "cluster_connect_failures"),
        /// Messages that were announced to other nodes.
        pub announced: u64 = Counter(Count, "cluster.announced", "cluster_announced"),
        /// Messages that streams have added for this node.
        pub committed: u64 = Counter(Count, "cluster.committed", "cluster_committed"),
        /// Messages whose publishers were told that they are not confirmed.
        pub unconfirmed: u64 = Counter(Count, "cluster.unconfirmed", "cluster_unconfirmed"),
        /// Messages of channels that came from NATS.
        pub received: u64 = Counter(Count, "cluster.received", "cluster_received"),
        /// Messages of other nodes that could not be read.
        pub unreadable: u64 = Counter(Count, "cluster.unreadable", "cluster_unreadable"),
        /// Announcements and notices of members that were not sent, because NATS was away or took too little.
        pub dropped: u64 = Counter(Count, "cluster.dropped", "cluster_dropped"),
        /// Parts of messages that the node's store has sent to others.
        pub mail_sent: u64 = Counter(Count, "cluster.mail_sent", "cluster_store_messages_sent"),
        /// Those that came from the stores of other nodes.
        pub mail_received: u64 = Counter(Count, "cluster.mail_received", "cluster_store_messages_received"),
        /// Those of the node's store that were not sent, because NATS was away or took too little.
        pub mail_dropped: u64 = Counter(Count, "cluster.mail_dropped", "cluster_store_messages_dropped"),
        /// Parts of histories that were read.
        pub reads: u64 = Counter(Count, "cluster.reads", "cluster_reads"),
        /// Reads of histories that failed, and were made again.
        pub failed_reads: u64 = Counter(Count, "cluster.failed_reads", "cluster_reads_failed"),
        /// Messages that wait to be added to a stream.
        pub committing: u64 = Gauge(Count, "cluster.committing", "cluster_committing"),
        /// Histories that are being read, or wait for it.
        pub reading: u64 = Gauge(Count, "cluster.reading", "cluster_reading"),
        /// Channels that are followed.
        pub following: u64 = Gauge(Count, "cluster.following", "cluster_following"),
    }
}
