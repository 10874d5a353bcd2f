//! The flags of `velodrome bench conformance`. Parsing only.

use std::time::Duration;

use clap::Args;

use super::Tls;
use crate::duration::duration;
use crate::output::FormFlag;

const CONFORMANCE_EXAMPLES: &str = "Examples:
  velodrome bench conformance 127.0.0.1:8080
  velodrome bench conformance 127.0.0.1:8080 --offers file=/index.html --offers missing=/none
  velodrome bench conformance 127.0.0.1:8080 --offers file=/index.html --only range --exchanges
  velodrome bench conformance 127.0.0.1:8080 --only chunked --json
  velodrome bench conformance https://127.0.0.1:8443 -k --offers file=/index.html
  velodrome bench conformance --h2 https://127.0.0.1:8443 -k --offers file=/index.html

Which requirements can be tested depends on the capabilities of the server: file, empty-file, \
directory, missing, echo, redirect, dotfile, outside-link and precompressed are paths, body-limit \
is a number of bytes. The file is text of at least 1,000 bytes.
Exit status: 0 all tested requirements are met, 1 some are not or none was tested, 2 wrong usage.";

#[derive(Debug, Args)]
#[command(after_help = CONFORMANCE_EXAMPLES)]
pub(crate) struct Conformance {
    /// The server: HOST:PORT, or https://HOST:PORT.
    #[arg(value_name = "ADDR")]
    pub(crate) address: String,
    /// Value of the Host field [default: ADDR].
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Option<String>,
    /// Test the requirements of HTTP/2, with prior knowledge, or by ALPN for https.
    #[arg(long)]
    pub(crate) h2: bool,
    /// A capability of the server. May be repeated.
    #[arg(long, value_name = "WHAT=VALUE")]
    pub(crate) offers: Vec<String>,
    /// Test only requirements whose name contains this. May be repeated.
    #[arg(long, value_name = "PART")]
    pub(crate) only: Vec<String>,
    /// Test only requirements of this level: must, should, attack or policy. May be repeated.
    #[arg(long, value_name = "LEVEL")]
    pub(crate) level: Vec<String>,
    /// Timeout of an answer.
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = duration)]
    pub(crate) timeout: Duration,
    /// When the server gives up on slow clients [default: slow attacks are skipped].
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) slow_deadline: Option<Duration>,
    /// Number of requirements to test concurrently.
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(crate) parallel: usize,
    /// Print what was sent and received for every requirement, not only for failed ones.
    #[arg(long)]
    pub(crate) exchanges: bool,
    /// Confirm that a host outside private networks is yours.
    #[arg(long)]
    pub(crate) i_own_this_host: bool,
    #[command(flatten)]
    pub(crate) form: FormFlag,
    #[command(flatten)]
    pub(crate) tls: Tls,
}
