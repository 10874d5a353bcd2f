//! The flags of `velodrome bench`, with help and examples. Parsing only.

mod agents;
mod channel;
mod conformance;
mod store;
mod tls;

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use bench::plan::{Ramp, StatusSet};
use clap::{Args, Subcommand, ValueEnum};

use super::timing::RateFlag;
use crate::duration::duration;
use crate::output::FormFlag;
pub(crate) use agents::{Agent, Agents};
pub(crate) use channel::{Channel, OrderFlag};
pub(crate) use conformance::Conformance;
pub(crate) use store::Store;
pub(crate) use tls::Tls;

/// The load generator.
#[derive(Debug, Args)]
pub(crate) struct Bench {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Send requests and report rates, times and errors, and whether the result can be trusted.
    Http(Box<Http>),
    /// Open many connections, hold them, and report what they cost.
    Hold(Box<Hold>),
    /// Subscribe to a channel, publish messages, and report their delivery.
    Channel(Box<Channel>),
    /// Read and write keys of a store (Velodrome, Redis, memcached), check the values, and report rates and times.
    Store(Box<Store>),
    /// Test whether two results, servers or commands differ significantly.
    Compare(Box<Compare>),
    /// Find the highest rate at which a server meets response time objectives.
    Knee(Box<Knee>),
    /// Test a server against the requirements of HTTP/1.1.
    Conformance(Box<Conformance>),
    /// Generate load for a measurement that another host coordinates.
    Agent(Agent),
}

const HTTP_EXAMPLES: &str = "Examples:
  velodrome bench http http://127.0.0.1:8080/            256 connections, as fast as answers arrive
  velodrome bench http http://127.0.0.1:8080/ --rate 50k 50,000 requests per second, on schedule
  velodrome bench http http://127.0.0.1:8080/ --rate 1k:50k -d 60s
  velodrome bench http http://127.0.0.1:8080/ --rate 0:5k@30s,5k@60s
  velodrome bench http http://127.0.0.1:8080/ --close    a new connection for each request
  velodrome bench http https://127.0.0.1:8443/ -k        over TLS, without a check of the certificate
  velodrome bench http https://example.org/ --cacert ca.pem --close               full handshakes
  velodrome bench http https://example.org/ --cacert ca.pem --close --tls-resume  resumed ones, as of browsers
  velodrome bench http '127.0.0.1:8080/{{key:zipf:1000:1.1}}' 127.0.0.1:8080/ --weight 9,1
  velodrome bench http https://127.0.0.1:8443/ -k --h2 -c 16 -m 100              HTTP/2: 100 streams a connection
  velodrome bench http http://127.0.0.1:8080/ --h2 --rate 50k                    HTTP/2 with prior knowledge
  velodrome bench http unix:/run/server.sock:/ --method POST --body '{\"id\": {{counter}}}'
  velodrome bench http http://127.0.0.1:8080/ --runs 5 --html report.html
  velodrome bench http http://10.0.0.1/ -c 2000 --agents 10.0.0.2:7000,10.0.0.3:7000 --key-file bench.key
  velodrome bench http http://127.0.0.1:8080/ --rate 5k --fail-if 'p99>5ms' --fail-if 'failed>1%'

Templates, for paths, header values and --body:
  {{counter}}                 the number of the request
  {{random:1..1000}}          a random number from 1 to 1000
  {{key:uniform:N}}           one of N keys, 0 to N-1
  {{key:zipf:N:S}}            the k-th in proportion to k^-S
  {{key:hot:N:HOT:SHARE}}     a SHARE (0 to 1) of all requests for the first HOT keys
  {{same}}                    the previous number again
  `,8` pads the number to 8 digits: {{counter,8}}.

Exit status: 0 done, 1 failed, 2 wrong usage, 3 the result is not valid, 5 a condition of --fail-if is met.";

const HOLD_EXAMPLES: &str = "Examples:
  velodrome bench hold 127.0.0.1:8080 -c 15000
  velodrome bench hold http://127.0.0.1:8080/ -c 200000 --server-pid 4711
  velodrome bench hold https://127.0.0.1:8443 -k -c 15000
  velodrome bench hold http://10.0.0.2/ -c 100000 --source 10.0.0.3,10.0.0.4,10.0.0.5,10.0.0.6

Exit status: 0 done, 1 failed, 2 wrong usage, 3 the result is not valid.";

const KNEE_EXAMPLES: &str = "Examples:
  velodrome bench knee http://127.0.0.1:8080/ --slo p99=5ms
  velodrome bench knee http://127.0.0.1:8080/ --slo p99=5ms --slo p99.9=20ms --rate 10k:200k -d 5s
  velodrome bench knee http://127.0.0.1:8080/ --slo p99=5ms --html knee.html

Exit status: 0 done, 1 failed, 2 wrong usage, 3 the result is not valid.";

const COMPARE_EXAMPLES: &str = "Examples:
  velodrome bench compare before.json after.json
  velodrome bench compare http://127.0.0.1:8080/ http://127.0.0.1:8081/ --rounds 10 -d 5s
  velodrome bench compare http://127.0.0.1:8080/ https://127.0.0.1:8443/ -k    what does TLS cost?
  velodrome bench compare 'velodrome bench http 127.0.0.1:8080 --json' './other-way --json'

Exit status: 0 done, 1 failed, 2 wrong usage, 3 a result is not valid, 4 B is significantly worse.";

/// How requests arrive at a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArrivalsFlag {
    /// At equal intervals.
    Constant,
    /// At random, like requests of independent users.
    Poisson,
}

#[derive(Debug, Args)]
#[command(after_help = HTTP_EXAMPLES)]
pub(crate) struct Http {
    /// The URLs to request: http://HOST:PORT/PATH, https://HOST:PORT/PATH, HOST:PORT or unix:SOCKET:/PATH.
    #[arg(required_unless_present = "urls_file", value_name = "URL")]
    pub(crate) urls: Vec<String>,
    /// A file with more URLs, one per line; `#` starts a comment.
    #[arg(long, value_name = "FILE")]
    pub(crate) urls_file: Option<PathBuf>,
    /// Fail the measurement (exit status 5) on this condition: 'p99>5ms', 'failed>1%', 'rate<10k'. May be repeated.
    #[arg(long, value_name = "CONDITION", help_heading = "Output")]
    pub(crate) fail_if: Vec<String>,
    /// Write the response times as a percentile distribution (.hgrm), in the format of HdrHistogram's tools.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) hgrm: Option<PathBuf>,
    /// Write the time series of the run as CSV.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) csv: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) load: Load,
    /// Requests per second, sent on schedule whether or not others are answered; A:B ramps from A to B, and stages have
    /// their own durations: 0:5k@30s,5k@60s [default: as fast as answers arrive].
    #[arg(
        long,
        value_name = "R[:B][@TIME,...]",
        allow_negative_numbers = true,
        help_heading = "Load"
    )]
    pub(crate) rate: Option<RateFlag>,
    /// End after N requests, or when -d is over [without -d: after 1h].
    #[arg(short = 'n', long, value_name = "N", help_heading = "Load")]
    pub(crate) requests: Option<std::num::NonZeroU64>,
    /// How requests are spaced at that rate.
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
    pub(crate) agents: Agents,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// The load.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct Load {
    /// Connections.
    #[arg(short, long, value_name = "N", default_value_t = 256, allow_negative_numbers = true)]
    pub(crate) connections: u32,
    /// Duration of a run: 10s, 500ms, 2m; a plain number is seconds.
    /// [default: 10s; 2s in `tune ladder`]
    #[arg(short, long, value_name = "TIME", value_parser = duration)]
    pub(crate) duration: Option<Duration>,
    /// Time before each run that is not measured.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration)]
    pub(crate) warmup: Duration,
    /// Number of runs; the result is their median and spread.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) runs: u32,
    /// Use a new connection for each request.
    #[arg(long, conflicts_with = "requests_per_connection")]
    pub(crate) close: bool,
    /// Use a new connection after N requests.
    #[arg(long, value_name = "N")]
    pub(crate) requests_per_connection: Option<std::num::NonZeroU64>,
    /// Requests in flight per connection.
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "h2")]
    pub(crate) pipeline: u32,
    /// Speak HTTP/2: agreed on by ALPN with https://, with prior knowledge otherwise.
    #[arg(long)]
    pub(crate) h2: bool,
    /// Requests in flight per connection over HTTP/2, each on a stream of its own [default: 100].
    #[arg(short = 'm', long, value_name = "N", requires = "h2")]
    pub(crate) streams: Option<u32>,
    /// Relative frequency of each URL: one number per URL, in order.
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    pub(crate) weight: Vec<u32>,
    /// Seed of random numbers: the same seed sends the same requests.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) asking: Asking,
    #[command(flatten)]
    pub(crate) expecting: Expecting,
}

/// The request.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Request")]
pub(crate) struct Asking {
    /// The method [default: GET, POST with a body].
    #[arg(short = 'X', long, value_name = "METHOD")]
    pub(crate) method: Option<String>,
    /// A header field. May be repeated.
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,
    /// The body; may contain templates.
    #[arg(long, visible_alias = "data", value_name = "TEXT", conflicts_with = "body_file")]
    pub(crate) body: Option<String>,
    /// A file to send as the body, unchanged.
    #[arg(long, value_name = "FILE")]
    pub(crate) body_file: Option<PathBuf>,
}

/// The expected answer.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Check of each answer")]
pub(crate) struct Expecting {
    /// Expected statuses: 200, 2xx, 200-204, separated by commas [default: 2xx,3xx].
    #[arg(long, value_name = "LIST")]
    pub(crate) expect_status: Option<StatusSet>,
    /// Expected length of the body.
    #[arg(long, value_name = "BYTES")]
    pub(crate) expect_length: Option<u64>,
    /// Expected body.
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["expect_body_file", "expect_sha256"])]
    pub(crate) expect_body: Option<String>,
    /// A file with the expected body.
    #[arg(long, value_name = "FILE", conflicts_with = "expect_sha256")]
    pub(crate) expect_body_file: Option<PathBuf>,
    /// Expected SHA-256 hash of the body.
    #[arg(long, value_name = "HEX")]
    pub(crate) expect_sha256: Option<String>,
}

/// Source and destination.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Place")]
pub(crate) struct Surroundings {
    /// Threads [default: one per CPU, or half as many if the server is on this host].
    #[arg(short, long, value_name = "N")]
    pub(crate) threads: Option<u32>,
    /// Bind each thread to a CPU: the last ones, or those given.
    #[arg(long, value_name = "CPU,...", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) pin: Option<String>,
    /// Timeout of a connect and of an answer.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration)]
    pub(crate) timeout: Duration,
    /// Source addresses, used in turn [default: to this host, as many of 127.0.0.0/8 as needed].
    #[arg(long, value_name = "ADDR,...", value_delimiter = ',')]
    pub(crate) source: Vec<IpAddr>,
    /// The server's process on this host, to measure its CPU time and memory.
    #[arg(long, value_name = "PID")]
    pub(crate) server_pid: Option<u32>,
    /// Confirm that a host outside private networks is yours.
    #[arg(long)]
    pub(crate) i_own_this_host: bool,
    /// Resume TLS sessions on new connections, as browsers do [default: a full handshake on each].
    #[arg(long, help_heading = "TLS")]
    pub(crate) tls_resume: bool,
    #[command(flatten)]
    pub(crate) tls: Tls,
}

/// Output of a report.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Output {
    #[command(flatten)]
    pub(crate) form: FormFlag,
    /// Write an HTML page with plots.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = HOLD_EXAMPLES)]
pub(crate) struct Hold {
    /// The server: http://HOST:PORT/PATH, https://HOST:PORT/PATH, HOST:PORT or unix:SOCKET:/PATH.
    #[arg(value_name = "URL|ADDR")]
    pub(crate) url: String,
    /// Connections.
    #[arg(short, long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) connections: u32,
    /// How long to hold the established connections.
    #[arg(short, long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub(crate) duration: Duration,
    /// Requests per second over all connections [default: one per connection and minute].
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
    /// The URLs to request.
    #[arg(required = true, value_name = "URL")]
    pub(crate) urls: Vec<String>,
    /// An objective: p50, p90, p95, p99, p99.9, p99.99 or max, and a response time. May be repeated.
    #[arg(long, required = true, value_name = "p99=5ms")]
    pub(crate) slo: Vec<String>,
    /// The lowest and the highest rate to try.
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
    /// The other side, of the same kind.
    #[arg(value_name = "B")]
    pub(crate) second: String,
    /// Number of alternating runs of URLs or commands.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) rounds: u32,
    /// Requests per second, sent on schedule, as in `bench http` [default: as fast as
    /// answers arrive].
    #[arg(
        long,
        value_name = "R[:B][@TIME,...]",
        allow_negative_numbers = true,
        help_heading = "Load"
    )]
    pub(crate) rate: Option<RateFlag>,
    /// First compare A with itself, to measure the noise of this host.
    #[arg(long)]
    pub(crate) aa: bool,
    #[command(flatten)]
    pub(crate) load: Load,
    #[command(flatten)]
    pub(crate) place: Surroundings,
    #[command(flatten, next_help_heading = "Output")]
    pub(crate) form: FormFlag,
}
