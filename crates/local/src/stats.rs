//! A scheduler's counters of its orders to the store.

metric::counted! {
    /// A scheduler's counts of its orders to the store.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct StoreStats {
        /// Orders sent to the writer of the store: changes, transactions and scans. Reads need none.
        pub orders: u64 = Counter(Count, "store.orders", "store_orders"),
        /// Messages of orders that the writer has answered; each is a part of one commit.
        pub messages: u64 = Counter(Count, "store.messages", "store_messages"),
        /// Orders that failed: the store or the disk was full, or an order asked for too much.
        pub failed: u64 = Counter(Count, "store.failed", "store_failed"),
        /// Times that a connection waited because too much was under way to the writer.
        pub waited: u64 = Counter(Count, "store.waited", "store_waited"),
        /// Bytes of orders that the writer has not answered, with the values that they copy.
        pub under_way: u64 = Gauge(Bytes, "store.under_way_bytes", "store_under_way"),
        /// Bytes of transactions that clients put together, and of keys that they watch.
        pub kept: u64 = Gauge(Bytes, "store.kept_bytes", "store_kept"),
        /// Bytes of large replies that were copied and that their clients have not taken.
        pub held: u64 = Gauge(Bytes, "store.held_bytes", "store_held"),
        /// Snapshots from which large values are sent; while there are some, the file grows by what is written.
        pub lent: u64 = Gauge(Count, "store.lent_snapshots", "store_lent_snapshots"),
    }
}
