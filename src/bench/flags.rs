//! The flags of `velodrome bench`: what may be said, with help and examples. Parsing only.

mod channel;
mod store;

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use bench::plan::{Ramp, StatusSet};
use clap::{Args, Subcommand, ValueEnum};

use super::timing::{RateFlag, time};
pub(crate) use channel::Channel;
pub(crate) use store::Store;

/// The load generator.
#[derive(Debug, Args)]
pub(crate) struct Bench {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Load a server with requests and say how it answered, and whether the answer is to be trusted.
    Http(Box<Http>),
    /// Open many connections, hold them, and say what they cost.
    Hold(Box<Hold>),
    /// Open subscribers of a channel, publish messages, and say how they arrive.
    Channel(Box<Channel>),
    /// Read and write keys of a store (Velodrome's, Redis, memcached), check the values, and say how it answered.
    Store(Box<Store>),
    /// Say whether two results, servers or commands differ.
    Compare(Box<Compare>),
    /// Find the highest rate at which a server keeps its response times.
    Knee(Box<Knee>),
    /// Try a server against the requirements of HTTP/1.1, one by one.
    Conformance(Conformance),
}

const HTTP_EXAMPLES: &str = "Examples:
  velodrome bench http http://127.0.0.1:8080/            256 connections, as fast as answers come
  velodrome bench http http://127.0.0.1:8080/ --rate 50k 50,000 requests a second, whatever is answered
  velodrome bench http http://127.0.0.1:8080/ --rate 1k:50k -d 60s
  velodrome bench http http://127.0.0.1:8080/ --rate 0:5k@30s,5k@60s
  velodrome bench http http://127.0.0.1:8080/ --close    a connection for each request
  velodrome bench http '127.0.0.1:8080/{{key:zipf:1000:1.1}}' 127.0.0.1:8080/ --weight 9,1
  velodrome bench http unix:/run/server.sock:/ --method POST --body '{\"id\": {{counter}}}'
  velodrome bench http http://127.0.0.1:8080/ --runs 5 --html report.html
  velodrome bench http http://127.0.0.1:8080/ --rate 5k --fail-if 'p99>5ms' --fail-if 'failed>1%'

Templates, in paths, values of headers and --body:
  {{counter}}                 the number of the request
  {{random:1..1000}}          a number, both ends included
  {{key:uniform:N}}           one of N keys, 0 to N-1
  {{key:zipf:N:S}}            the k-th in proportion to k^-S
  {{key:hot:N:HOT:SHARE}}     a SHARE (0 to 1) of all requests for the first HOT keys
  {{same}}                    the number before it once more
  With `,8` before the braces close the number has 8 digits: {{counter,8}}.

Exit status: 0 done, 1 failed, 2 wrong use, 3 the result is not valid, 5 a condition of --fail-if is met.";

const HOLD_EXAMPLES: &str = "Examples:
  velodrome bench hold 127.0.0.1:8080 -c 15000
  velodrome bench hold http://127.0.0.1:8080/ -c 200000 --server-pid 4711
  velodrome bench hold http://10.0.0.2/ -c 100000 --source 10.0.0.3,10.0.0.4,10.0.0.5,10.0.0.6

Exit status: 0 done, 1 failed, 2 wrong use, 3 the result is not valid.";

const KNEE_EXAMPLES: &str = "Examples:
  velodrome bench knee http://127.0.0.1:8080/ --slo p99=5ms
  velodrome bench knee http://127.0.0.1:8080/ --slo p99=5ms --slo p99.9=20ms --rate 10k:200k -d 5s
  velodrome bench knee http://127.0.0.1:8080/ --slo p99=5ms --html knee.html

Exit status: 0 done, 1 failed, 2 wrong use, 3 the result is not valid.";

const COMPARE_EXAMPLES: &str = "Examples:
  velodrome bench compare before.json after.json
  velodrome bench compare http://127.0.0.1:8080/ http://127.0.0.1:8081/ --rounds 10 -d 5s
  velodrome bench compare 'velodrome bench http 127.0.0.1:8080 --json' './other-way --json'

Exit status: 0 done, 1 failed, 2 wrong use, 3 a result is not valid, 4 B is significantly worse.";

const CONFORMANCE_EXAMPLES: &str = "Examples:
  velodrome bench conformance 127.0.0.1:8080
  velodrome bench conformance 127.0.0.1:8080 --offers file=/index.html --offers missing=/none
  velodrome bench conformance 127.0.0.1:8080 --offers file=/index.html --only range --exchanges
  velodrome bench conformance 127.0.0.1:8080 --only chunked --json

What a server offers decides which requirements can be tried: file, empty-file, directory, missing, echo, redirect,
dotfile, outside-link, precompressed are paths, body-limit is a number of bytes. The file is text of at least
1,000 bytes.
Exit status: 0 all requirements that were tried are met, 1 some are not or none was tried, 2 wrong use.";

/// How requests arrive at a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArrivalsFlag {
    /// At equal distances.
    Constant,
    /// At random, as independent people ask.
    Poisson,
}

#[derive(Debug, Args)]
#[command(after_help = HTTP_EXAMPLES)]
pub(crate) struct Http {
    /// What to ask for: http://HOST:PORT/PATH, HOST:PORT or unix:SOCKET:/PATH. May be several.
    #[arg(required_unless_present = "urls_file", value_name = "URL")]
    pub(crate) urls: Vec<String>,
    /// A file with more of them, a line each, `#` before a remark.
    #[arg(long, value_name = "FILE")]
    pub(crate) urls_file: Option<PathBuf>,
    /// The measurement has failed (exit status 5) under this condition: 'p99>5ms', 'failed>1%', 'rate<10k'. May be repeated.
    #[arg(long, value_name = "CONDITION", help_heading = "Output")]
    pub(crate) fail_if: Vec<String>,
    /// Write the response times as a percentile distribution (.hgrm), as HdrHistogram's tools do.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) hgrm: Option<PathBuf>,
    /// Write the series of the run as CSV.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) csv: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) load: Load,
    /// Requests per second, due whether or not others are answered; A:B goes from A to B, and stages have times of their
    /// own: 0:5k@30s,5k@60s [default: as fast as answers come].
    #[arg(
        long,
        value_name = "R[:B][@TIME,...]",
        allow_negative_numbers = true,
        help_heading = "Load"
    )]
    pub(crate) rate: Option<RateFlag>,
    /// End after N requests, at the latest when -d is over [then 1h when left out].
    #[arg(short = 'n', long, value_name = "N", help_heading = "Load")]
    pub(crate) requests: Option<std::num::NonZeroU64>,
    /// How requests follow each other at that rate.
    #[arg(
        long,
        value_name = "HOW",
        default_value = "constant",
        requires = "rate",
        help_heading = "Load"
    )]
    pub(crate) arrivals: ArrivalsFlag,
    #[command(flatten)]
    pub(crate) place: Surroundings,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// How much is asked, and what.
#[derive(Debug, Args)]
pub(crate) struct Load {
    /// Connections.
    #[arg(
        short,
        long,
        value_name = "N",
        default_value_t = 256,
        allow_negative_numbers = true,
        help_heading = "Load"
    )]
    pub(crate) connections: u32,
    /// How long is measured: 10s, 500ms, 2m; a number alone is seconds.
    /// [default: 10s]
    #[arg(short, long, value_name = "TIME", value_parser = time, help_heading = "Load")]
    pub(crate) duration: Option<Duration>,
    /// How long is asked before that, uncounted.
    #[arg(
        long,
        value_name = "TIME",
        default_value = "2s",
        value_parser = time,
        help_heading = "Load"
    )]
    pub(crate) warmup: Duration,
    /// How often all of it is done; the median is shown, and the spread.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Load")]
    pub(crate) runs: u32,
    /// A connection for each request.
    #[arg(long, conflicts_with = "requests_per_connection", help_heading = "Load")]
    pub(crate) close: bool,
    /// A new connection after N requests.
    #[arg(long, value_name = "N", help_heading = "Load")]
    pub(crate) requests_per_connection: Option<std::num::NonZeroU64>,
    /// Requests on their way at one time over one connection.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Load")]
    pub(crate) pipeline: u32,
    /// How often each URL is asked for, beside the others: one number for each, in order.
    #[arg(long, value_name = "N,...", value_delimiter = ',', help_heading = "Load")]
    pub(crate) weight: Vec<u32>,
    /// Where random numbers come from: the same seed asks for the same things.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Load")]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) asking: Asking,
    #[command(flatten)]
    pub(crate) expecting: Expecting,
}

/// The request.
#[derive(Debug, Args)]
#[command(next_help_heading = "Request")]
pub(crate) struct Asking {
    /// The method [default: GET, POST with a body].
    #[arg(short, long, visible_short_alias = 'X', value_name = "METHOD")]
    pub(crate) method: Option<String>,
    /// A header field. May be repeated.
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,
    /// The body, perhaps with templates.
    #[arg(long, visible_alias = "data", value_name = "TEXT", conflicts_with = "body_file")]
    pub(crate) body: Option<String>,
    /// A file that is sent as it is.
    #[arg(long, value_name = "FILE")]
    pub(crate) body_file: Option<PathBuf>,
}

/// What is right in an answer.
#[derive(Debug, Args)]
#[command(next_help_heading = "Check of each answer")]
pub(crate) struct Expecting {
    /// The statuses that are right: 200, 2xx, 200-204, several with commas [default: 2xx,3xx].
    #[arg(long, value_name = "LIST")]
    pub(crate) expect_status: Option<StatusSet>,
    /// The length of the body.
    #[arg(long, value_name = "BYTES")]
    pub(crate) expect_length: Option<u64>,
    /// The body.
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["expect_body_file", "expect_sha256"])]
    pub(crate) expect_body: Option<String>,
    /// A file that the body is equal to.
    #[arg(long, value_name = "FILE", conflicts_with = "expect_sha256")]
    pub(crate) expect_body_file: Option<PathBuf>,
    /// The SHA-256 hash of the body.
    #[arg(long, value_name = "HEX")]
    pub(crate) expect_sha256: Option<String>,
}

/// From where, and whereto.
#[derive(Debug, Args)]
#[command(next_help_heading = "Place")]
pub(crate) struct Surroundings {
    /// Threads [default: one for each CPU, or for half of them when the server is on this host].
    #[arg(short, long, value_name = "N")]
    pub(crate) threads: Option<u32>,
    /// Give each thread a CPU: the last ones, or those named.
    #[arg(long, value_name = "CPU,...", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) pin: Option<String>,
    /// The longest wait for a connection or an answer.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = time)]
    pub(crate) timeout: Duration,
    /// Addresses to connect from, in turn [default: on this host as many of 127.0.0.0/8 as are needed].
    #[arg(long, value_name = "ADDR,...", value_delimiter = ',')]
    pub(crate) source: Vec<IpAddr>,
    /// The server's process, when it is on this host: its CPU time and memory are measured.
    #[arg(long, value_name = "PID")]
    pub(crate) server_pid: Option<u32>,
    /// Load a host outside this one and private networks: it is yours.
    #[arg(long)]
    pub(crate) i_own_this_host: bool,
}

/// How a result is shown of which there is no page.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Form {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// How a report is shown.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Output {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a page with plots.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = HOLD_EXAMPLES)]
pub(crate) struct Hold {
    /// Where: http://HOST:PORT/PATH, HOST:PORT or unix:SOCKET:/PATH.
    #[arg(value_name = "URL|ADDR")]
    pub(crate) url: String,
    /// Connections.
    #[arg(short, long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) connections: u32,
    /// How long they are held once they stand.
    #[arg(short, long, value_name = "TIME", default_value = "60s", value_parser = time)]
    pub(crate) duration: Duration,
    /// Requests per second over all of them [default: each connection is asked once a minute].
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    pub(crate) rate: Option<Ramp>,
    #[command(flatten)]
    pub(crate) place: Surroundings,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
#[command(after_help = KNEE_EXAMPLES)]
pub(crate) struct Knee {
    /// What to ask for. May be several.
    #[arg(required = true, value_name = "URL")]
    pub(crate) urls: Vec<String>,
    /// What is to hold: p50, p90, p95, p99, p99.9, p99.99 or max, and a response time. May be repeated.
    #[arg(long, required = true, value_name = "p99=5ms")]
    pub(crate) slo: Vec<String>,
    /// The lowest and the highest rate that are tried.
    #[arg(long, value_name = "A:B", help_heading = "Load")]
    pub(crate) rate: Option<Ramp>,
    #[command(flatten)]
    pub(crate) load: Load,
    #[command(flatten)]
    pub(crate) place: Surroundings,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
#[command(after_help = COMPARE_EXAMPLES)]
pub(crate) struct Compare {
    /// A result file, a URL, or a command that prints a result as JSON.
    #[arg(value_name = "A")]
    pub(crate) first: String,
    /// What it is compared with, of the same kind.
    #[arg(value_name = "B")]
    pub(crate) second: String,
    /// How often URLs or commands are run in turn.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) rounds: u32,
    /// Requests per second, due whether or not others are answered, as `bench http` takes them [default: as fast as
    /// answers come].
    #[arg(
        long,
        value_name = "R[:B][@TIME,...]",
        allow_negative_numbers = true,
        help_heading = "Load"
    )]
    pub(crate) rate: Option<RateFlag>,
    /// Run A against itself first: how much this host's own noise is.
    #[arg(long)]
    pub(crate) aa: bool,
    #[command(flatten)]
    pub(crate) load: Load,
    #[command(flatten)]
    pub(crate) place: Surroundings,
    #[command(flatten)]
    pub(crate) form: Form,
}

#[derive(Debug, Args)]
#[command(after_help = CONFORMANCE_EXAMPLES)]
pub(crate) struct Conformance {
    /// The server: HOST:PORT.
    #[arg(value_name = "ADDR")]
    pub(crate) address: String,
    /// What goes into Host [default: ADDR].
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Option<String>,
    /// What the server offers. May be repeated.
    #[arg(long, value_name = "WHAT=VALUE")]
    pub(crate) offers: Vec<String>,
    /// Only requirements whose name contains this. May be repeated.
    #[arg(long, value_name = "PART")]
    pub(crate) only: Vec<String>,
    /// Only requirements of this level: must, should, attack or policy. May be repeated.
    #[arg(long, value_name = "LEVEL")]
    pub(crate) level: Vec<String>,
    /// The longest wait for an answer.
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = time)]
    pub(crate) timeout: Duration,
    /// When the server gives up on slow clients [default: attacks by slowness are not tried].
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) slow_deadline: Option<Duration>,
    /// How many requirements are tried at one time.
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(crate) parallel: usize,
    /// Print what was sent and received for every requirement, not for those alone that are not met.
    #[arg(long)]
    pub(crate) exchanges: bool,
    /// Load a host outside this one and private networks: it is yours.
    #[arg(long)]
    pub(crate) i_own_this_host: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
