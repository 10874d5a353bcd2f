//! The flags of `velodrome bench store`.

use std::time::Duration;

use clap::Args;

use super::{ArrivalsFlag, Output, Surroundings};
use crate::bench::timing::{RateFlag, time};

const EXAMPLES: &str = "Examples:
  velodrome bench store 127.0.0.1:6379 --fill            a million keys are written, then read at random
  velodrome bench store 127.0.0.1:6379 --sets 10 --dist zipf:0.99 -c 1000
  velodrome bench store 127.0.0.1:6379 --rate 100k --pipeline 16
  velodrome bench store memcached://127.0.0.1:11211 --fill --keys 10000 --value 1000

A key is `key:` and twelve digits, as redis-benchmark has them; its value begins with these digits, and each value that is read is held against
that. Keys that are not there are counted.

Exit status: 0 done, 1 failed, 2 wrong use, 3 the result is not valid.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Store {
    /// The store: HOST:PORT or redis://HOST:PORT, or memcached://HOST:PORT.
    #[arg(value_name = "ADDR")]
    pub(crate) address: String,
    /// How many keys there are.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, help_heading = "Keys")]
    pub(crate) keys: u64,
    /// Which of them are asked for: uniform, zipf:S (the k-th in proportion to k^-S) or hot:N:SHARE (a SHARE, 0 to 1, of all requests for the first N).
    #[arg(long, value_name = "HOW", default_value = "uniform", help_heading = "Keys")]
    pub(crate) dist: String,
    /// Bytes of each value.
    #[arg(long, value_name = "BYTES", default_value_t = 100, help_heading = "Keys")]
    pub(crate) value: usize,
    /// Percent of the requests that write.
    #[arg(long, value_name = "PERCENT", default_value_t = 0, help_heading = "Keys")]
    pub(crate) sets: u32,
    /// Write every key first, once; that is not measured.
    #[arg(long, help_heading = "Keys")]
    pub(crate) fill: bool,
    /// Take any value for right: of keys that something else has written.
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
    /// Open all connections first and hold them through the run; one that ends is not opened again.
    #[arg(long, requires = "rate", help_heading = "Load")]
    pub(crate) hold: bool,
    /// How long is measured: 10s, 500ms, 2m; a number alone is seconds.
    #[arg(short, long, value_name = "TIME", default_value = "10s", value_parser = time, help_heading = "Load")]
    pub(crate) duration: Duration,
    /// How long is asked before that, uncounted.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = time, help_heading = "Load")]
    pub(crate) warmup: Duration,
    /// How often all of it is done; the median is shown, and the spread.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Load")]
    pub(crate) runs: u32,
    /// End after N requests, at the latest when -d is over.
    #[arg(short = 'n', long, value_name = "N", help_heading = "Load")]
    pub(crate) requests: Option<std::num::NonZeroU64>,
    /// Requests on their way at one time over one connection.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Load")]
    pub(crate) pipeline: u32,
    /// Requests per second, due whether or not others are answered, as `bench http` takes them [default: as fast as answers come].
    #[arg(
        long,
        value_name = "R[:B][@TIME,...]",
        allow_negative_numbers = true,
        help_heading = "Load"
    )]
    pub(crate) rate: Option<RateFlag>,
    /// How requests follow each other at that rate.
    #[arg(
        long,
        value_name = "HOW",
        default_value = "constant",
        requires = "rate",
        help_heading = "Load"
    )]
    pub(crate) arrivals: ArrivalsFlag,
    /// Where random numbers come from: the same seed asks for the same keys.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Load")]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) place: Surroundings,
    #[command(flatten)]
    pub(crate) output: Output,
}
