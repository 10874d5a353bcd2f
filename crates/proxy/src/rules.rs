//! The configured rules of an upstream.
//!
//! Owns the shape. Never decides.

/// The rules of an upstream.
#[derive(Clone, Debug, PartialEq)]
pub struct UpstreamRules {
    /// Its servers, at most [`SERVERS`](crate::limits::SERVERS).
    pub servers: Vec<ServerRules>,
    /// How one is chosen.
    pub balance: Balance,
    /// The most open requests at one server.
    pub connections: usize,
    /// How many requests may wait.
    pub line: usize,
    /// How long a request may wait, in nanoseconds.
    pub line_ns: u64,
    /// When a server has failed.
    pub health: HealthRules,
    /// How long the share of a server grows that is well again, in nanoseconds; 0: it has all of it at once.
    pub slow_start_ns: u64,
}

/// The rules of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerRules {
    /// Its part of the requests, compared with that of the others; at least 1.
    pub weight: u16,
    /// A number that stays the same when other servers come and go.
    pub identity: u64,
}

/// How a server is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Balance {
    /// Two at random, and of these the one with fewer open requests for its weight (Mitzenmacher, "The power of two
    /// choices in randomized load balancing").
    TwoChoices,
    /// In turn, as often as the weights say and evenly spread.
    RoundRobin,
    /// The one with the fewest open requests for its weight.
    Least,
    /// By the key of the request: the server with the highest number of both (rendezvous hashing), so only the keys of
    /// a server that is gone change servers.
    Hash,
}

/// When a server has failed by what its requests meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HealthRules {
    /// Failures one after the other.
    pub failures: u32,
    /// How long the first pause is, in nanoseconds.
    pub pause_ns: u64,
    /// A first byte after more than this many nanoseconds is a failure.
    pub slow_ns: Option<u64>,
}
