//! The command line, with help and examples. Parsing only.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::builder::RangedU64ValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use config::ListenerAddress;
use server::limits::SCHEDULERS_MAX;

use crate::bench::flags::Bench;
use crate::cluster_demo::{self, Cluster};
use crate::ctl::{self, Ctl};
use crate::profile::{self, Profile};
use crate::store::{self, Store};
use crate::top::{self, Top};
use crate::tune::{self, Tune};

/// An application server for Linux, with a load generator, a profiler and a host tuner.
#[derive(Debug, Parser)]
#[command(name = "velodrome", version, max_term_width = 100)]
pub(crate) struct Flags {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Serve a directory.
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(Serve),
    /// Validate the configuration, pages and modules without serving. The top level of app modules runs, as at a start.
    #[command(after_help = CHECK_EXAMPLES)]
    Check(Check),
    /// Talk to a running server over its control socket.
    #[command(after_help = ctl::EXAMPLES)]
    Ctl(Ctl),
    /// Try a cluster of servers on this machine.
    #[command(after_help = cluster_demo::EXAMPLES)]
    Cluster(Cluster),
    /// Measure servers under load.
    Bench(Bench),
    /// Import, export, copy and check a store, also while a server has it open.
    #[command(after_help = store::EXAMPLES)]
    Store(Store),
    /// Watch a running server: schedulers, requests, connections, pages, channels, as they are now.
    #[command(after_help = top::EXAMPLES)]
    Top(Top),
    /// Find what on this host costs a server performance, and change it.
    #[command(after_help = tune::EXAMPLES)]
    Tune(Tune),
    /// Show where the time of a running program goes, as a table and a flame graph.
    #[command(after_help = profile::EXAMPLES)]
    Profile(Profile),
}

const SERVE_EXAMPLES: &str = "Examples:
  velodrome serve                              serve the current directory at http://127.0.0.1:8080
  velodrome serve site --listen 0.0.0.0:80     serve another directory on all addresses
  velodrome serve --config /etc/velodrome.toml
  velodrome serve site --dev                   show errors of pages in the browser

Signals: TERM and INT drain and exit, QUIT writes a dump first, HUP reloads the configuration, USR1 reopens the access log.
Exit status: 0 drained, 1 failed, 2 wrong usage.";

const CHECK_EXAMPLES: &str = "Examples:
  velodrome check site                         check site/velodrome.toml and the pages of site
  velodrome check site --explain /img/logo.png which route matches this path, and why?
  velodrome check site --explain /a --host example.org --method POST
  velodrome check site --explain '/a?b=1' --header 'X-Beta: yes' --address 192.0.2.7 --https
  velodrome check --defaults > velodrome.toml   every setting with its documentation, all commented out
  velodrome check --from-nginx /etc/nginx/nginx.conf > velodrome.toml
  velodrome check --from-caddy /etc/caddy/Caddyfile > velodrome.toml
  velodrome check --definitions > velodrome.d.lua   for the Lua language server of an editor

Exit status: 0 valid, 1 invalid, 2 wrong usage.";

fn schedulers() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=SCHEDULERS_MAX)
}

/// The flags that `serve` and `check` have in common.
#[derive(Debug, Args)]
pub(crate) struct Source {
    /// The directory to serve.
    #[arg(default_value = ".", value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// The configuration file [default: velodrome.toml in DIR, if it exists].
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// The table of open files that a scheduler uses.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Tables {
    /// A separate one per scheduler.
    Private,
    /// The one of the process.
    Shared,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) source: Source,
    /// Listen here instead of the configured addresses: ADDRESS:PORT, unix:PATH, systemd or systemd:NAME. May be
    /// repeated [default: 127.0.0.1:8080].
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Vec<String>,
    /// Also listen here for Redis clients, which use channels and the store. May be repeated.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen_resp: Vec<String>,
    /// Encrypt the HTTP listeners that have no certificate with one made at the start: for a first look and for tests,
    /// because browsers warn of it.
    #[arg(long)]
    pub(crate) tls_self_signed: bool,
    /// Keep a key/value store in this directory, for pages and for Redis clients at --listen-resp.
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
    /// The number of schedulers [default: one per CPU that affinity and cgroup quota allow].
    #[arg(long, value_name = "N", value_parser = schedulers())]
    pub(crate) schedulers: Option<usize>,
    /// Do not bind schedulers to CPUs.
    #[arg(long, overrides_with = "pin")]
    pub(crate) no_pin: bool,
    /// Bind schedulers to CPUs; overrides an earlier --no-pin.
    #[arg(long, overrides_with = "no_pin")]
    pub(crate) pin: bool,
    /// How long a scheduler polls before it sleeps: 50us, or 0 to turn polling off.
    #[arg(long, value_name = "TIME")]
    pub(crate) spin: Option<String>,
    /// How long the kernel polls the network device for a waiting scheduler before it sleeps: 50us (Linux 6.9).
    #[arg(long, value_name = "TIME")]
    pub(crate) busy_poll: Option<String>,
    /// Keep samples of what the server does for this long, for `velodrome ctl profile`: 15m, or 0 for none.
    #[arg(long, value_name = "TIME")]
    pub(crate) profile_ring: Option<String>,
    /// Whether each scheduler has its own table of open files.
    #[arg(long, value_name = "WHOSE")]
    pub(crate) descriptor_tables: Option<Tables>,
    /// Assign a new connection to the scheduler of the core that received it.
    #[arg(long)]
    pub(crate) reuseport_cpu: bool,
    /// How long the kernel holds a new connection until its first byte arrives: 1s, or 0s to turn it off.
    #[arg(long, value_name = "TIME")]
    pub(crate) defer_accept: Option<String>,
    /// For development: show errors of pages, with their source, in the browser. Not for public servers.
    #[arg(long)]
    pub(crate) dev: bool,
    /// Path of the control socket [default: named after the port, in /run/velodrome for root].
    #[arg(long, value_name = "PATH")]
    pub(crate) admin_socket: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) source: Source,
    /// Show step by step which route matches a path.
    #[arg(long, value_name = "PATH")]
    pub(crate) explain: Option<String>,
    /// The host of the request to explain.
    #[arg(long, value_name = "NAME", requires = "explain")]
    pub(crate) host: Option<String>,
    /// Print a velodrome.toml with every setting, its documentation and its default, all commented out.
    #[arg(long, conflicts_with_all = ["explain", "definitions"])]
    pub(crate) defaults: bool,
    /// Print the configuration that does the same as this nginx.conf.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["explain", "definitions", "defaults"])]
    pub(crate) from_nginx: Option<PathBuf>,
    /// Print the configuration that does the same as this Caddyfile.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["explain", "definitions", "defaults", "from_nginx"])]
    pub(crate) from_caddy: Option<PathBuf>,
    /// Print the definitions of what pages may use, for the Lua language server of an editor.
    #[arg(long, conflicts_with = "explain")]
    pub(crate) definitions: bool,
    /// The method of the request to explain.
    #[arg(long, value_name = "METHOD", default_value = "GET", requires = "explain")]
    pub(crate) method: String,
    /// A field of the request to explain; may be repeated.
    #[arg(long, value_name = "NAME: VALUE", requires = "explain")]
    pub(crate) header: Vec<String>,
    /// The client's address in the request to explain.
    #[arg(long, value_name = "ADDRESS", requires = "explain")]
    pub(crate) address: Option<IpAddr>,
    /// The address of the listener through which the request to explain comes.
    #[arg(long, value_name = "ADDRESS", requires = "explain")]
    pub(crate) listener: Option<ListenerAddress>,
    /// The request to explain comes over an encrypted connection.
    #[arg(long, requires = "explain")]
    pub(crate) https: bool,
}
