//! The flags of `velodrome bench store`.

use std::num::NonZeroUsize;
use std::time::Duration;

use clap::Args;

use super::{Agents, ArrivalsFlag, Output, Surroundings};
use crate::bench::timing::RateFlag;
use crate::duration::duration;

const EXAMPLES: &str = "Examples:
  velodrome bench store 127.0.0.1:6379 --fill            write a million keys, then read at random
  velodrome bench store 127.0.0.1:6379 --sets 10 --dist zipf:0.99 -c 1000
  velodrome bench store 127.0.0.1:6379 --rate 100k --pipeline 16
  velodrome bench store rediss://127.0.0.1:6380 --cacert ca.pem
  velodrome bench store 10.0.0.1:6379 10.0.0.2:6379 --sets 10 --own-writes     two nodes: does a client find its writes?
  velodrome bench store 10.0.0.1:6379 10.0.0.2:6379 --sets 10 --write-to 1     the second one is a replica
  velodrome bench store 10.0.0.1:6379 --agents 10.0.0.2:7000,10.0.0.3:7000 --key-file bench.key
  velodrome bench store memcached://127.0.0.1:11211 --fill --keys 10000 --value 1000

A key is `key:` and twelve digits, as in redis-benchmark. Its value begins with these digits, and every value that is read
is checked. Missing keys are counted.

Exit status: 0 done, 1 failed, 2 wrong usage, 3 the result is not valid.";

#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Store {
    /// The store: HOST:PORT or redis://HOST:PORT, rediss://HOST:PORT (over TLS), or memcached://HOST:PORT. With several
    /// addresses, requests are spread over them.
    #[arg(required = true, value_name = "ADDR")]
    pub(crate) addresses: Vec<String>,
    /// Write at the N-th address only [default: at all of them].
    #[arg(long, value_name = "N", help_heading = "Keys")]
    pub(crate) write_to: Option<NonZeroUsize>,
    /// Check that a client that writes at one address finds that at once at the others (over plain connections to
    /// stores that speak Redis' protocol).
    #[arg(long, conflicts_with_all = ["agents", "encrypted"], help_heading = "Keys")]
    pub(crate) own_writes: bool,
    /// Encrypt connections, as with rediss://.
    #[arg(long = "tls", help_heading = "TLS")]
    pub(crate) encrypted: bool,
    /// Number of keys.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, help_heading = "Keys")]
    pub(crate) keys: u64,
    /// Distribution of keys: uniform, zipf:S (the k-th in proportion to k^-S) or hot:N:SHARE (a SHARE, 0 to 1, of all
    /// requests for the first N).
    #[arg(long, value_name = "HOW", default_value = "uniform", help_heading = "Keys")]
    pub(crate) dist: String,
    /// Size of each value in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 100, help_heading = "Keys")]
    pub(crate) value: usize,
    /// Percentage of requests that write.
    #[arg(long, value_name = "PERCENT", default_value_t = 0, help_heading = "Keys")]
    pub(crate) sets: u32,
    /// First write every key once, unmeasured.
    #[arg(long, help_heading = "Keys")]
    pub(crate) fill: bool,
    /// Accept any value, for keys written by another program.
    #[arg(long, conflicts_with = "fill", help_heading = "Keys")]
    pub(crate) unchecked: bool,
    /// Connections.
    #[arg(
        short,
        long,
        value_name = "N",
        default_value_t = 50,
        allow_negative_numbers = true,
        help_heading = "Load"
    )]
    pub(crate) connections: u32,
    /// Open all connections first and hold them for the whole run; one that ends is not replaced.
    #[arg(long, requires = "rate", conflicts_with = "agents", help_heading = "Load")]
    pub(crate) hold: bool,
    /// Duration of a run: 10s, 500ms, 2m; a plain number is seconds.
    #[arg(short, long, value_name = "TIME", default_value = "10s", value_parser = duration, help_heading = "Load")]
    pub(crate) duration: Duration,
    /// Time before each run that is not measured.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration, help_heading = "Load")]
    pub(crate) warmup: Duration,
    /// Number of runs; the result is their median and spread.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Load")]
    pub(crate) runs: u32,
    /// End after N requests, or when -d is over.
    #[arg(short = 'n', long, value_name = "N", help_heading = "Load")]
    pub(crate) requests: Option<std::num::NonZeroU64>,
    /// Requests in flight per connection.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Load")]
    pub(crate) pipeline: u32,
    /// Requests per second, sent on schedule, as in `bench http` [default: as fast as answers arrive].
    #[arg(
        long,
        value_name = "R[:B][@TIME,...]",
        allow_negative_numbers = true,
        help_heading = "Load"
    )]
    pub(crate) rate: Option<RateFlag>,
    /// How requests are spaced at that rate.
    #[arg(
        long,
        value_name = "HOW",
        default_value = "constant",
        requires = "rate",
        help_heading = "Load"
    )]
    pub(crate) arrivals: ArrivalsFlag,
    /// Seed of random numbers: the same seed requests the same keys.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Load")]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) place: Surroundings,
    #[command(flatten)]
    pub(crate) agents: Agents,
    #[command(flatten)]
    pub(crate) output: Output,
}
