//! The counters of a cache.
//!
//! Owns the numbers and their names. Never counts.

metric::counted! {
    /// Counters of a cache, and its size.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct CacheStats {
        /// Requests to upstreams answered from the cache.
        pub hits: u64 = Counter(Count, "cache.hits", "cache_hits"),
        /// Of these, with a stale answer.
        pub stale: u64 = Counter(Count, "cache.stale", "cache_stale_hits"),
        /// Requests that a cache had no answer for.
        pub misses: u64 = Counter(Count, "cache.misses", "cache_misses"),
        /// Stored answers that a server was asked about.
        pub validations: u64 = Counter(Count, "cache.validations", "cache_validations"),
        /// Requests that caches are not for, and those whose answers are known not to be stored.
        pub passes: u64 = Counter(Count, "cache.passes", "cache_passes"),
        /// Requests that shared the answer to another one.
        pub collapsed: u64 = Counter(Count, "cache.collapsed", "cache_collapsed"),
        /// Answers stored.
        pub stored: u64 = Counter(Count, "cache.stored", "cache_stored"),
        /// Answers that left for want of room.
        pub evictions: u64 = Counter(Count, "cache.evictions", "cache_evictions"),
        /// Requests that found an answer on the disk which was not in memory.
        pub disk_hits: u64 = Counter(Count, "cache.disk.hits", "cache_disk_hits"),
        /// Answers stored on the disk.
        pub disk_stored: u64 = Counter(Count, "cache.disk.stored", "cache_disk_stored"),
        /// Answers that were not stored on the disk, because it is full, fails or is too slow.
        pub disk_lost: u64 = Counter(Count, "cache.disk.lost", "cache_disk_lost"),
        /// Memory used by stored answers.
        pub bytes: usize = Gauge(Bytes, "cache.bytes", "cache", metric::from_size),
        /// Stored answers.
        pub objects: usize = Gauge(Count, "cache.objects", "cache_objects", metric::from_size),
    }
}

impl CacheStats {
    /// Adds those of another cache.
    pub fn add(&mut self, other: &Self) {
        self.hits += other.hits;
        self.stale += other.stale;
        self.misses += other.misses;
        self.validations += other.validations;
        self.passes += other.passes;
        self.collapsed += other.collapsed;
        self.stored += other.stored;
        self.evictions += other.evictions;
        self.disk_hits += other.disk_hits;
        self.disk_stored += other.disk_stored;
        self.disk_lost += other.disk_lost;
        self.bytes += other.bytes;
        self.objects += other.objects;
    }
}
