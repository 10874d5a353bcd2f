//! The flags about generators on other hosts. Parsing only.

use std::path::PathBuf;

use clap::Args;

const EXAMPLES: &str = "Examples:
  velodrome bench agent                                          on this host, for a first look
  openssl rand -hex 32 > bench.key                               once, and copied to all hosts
  velodrome bench agent --listen 0.0.0.0:7000 --key-file bench.key --i-own-this-host
  velodrome bench http http://10.0.0.1/ -c 2000 --agents 10.0.0.2:7000,10.0.0.3:7000 --key-file bench.key

An agent makes one measurement after the other until it is stopped.

Exit status: 1 failed, 2 wrong usage.";

/// The agents of a measurement.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Agents")]
pub(crate) struct Agents {
    /// Let these hosts, on which `velodrome bench agent` runs, generate the load instead of this one. They begin
    /// together, and share -c, -n and the rates.
    #[arg(long, value_name = "HOST:PORT,...", value_delimiter = ',')]
    pub(crate) agents: Vec<String>,
    /// The key that this host and its agents share.
    #[arg(long, value_name = "FILE", requires = "agents")]
    pub(crate) key_file: Option<PathBuf>,
}

/// The flags of `velodrome bench agent`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Agent {
    /// Where to wait for coordinators; beyond this host only with a key.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7000")]
    pub(crate) listen: String,
    /// The key that coordinators must have: a file with at least 32 bytes.
    #[arg(long, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
    /// Confirm that whoever has the key may generate load from this host.
    #[arg(long)]
    pub(crate) i_own_this_host: bool,
}
