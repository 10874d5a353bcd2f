//! The command line: what may be said, with help and examples. Parsing only.

use std::path::PathBuf;

use clap::builder::RangedU64ValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use server::limits::SCHEDULERS_MAX;

use crate::bench::flags::Bench;
use crate::ctl::{self, Ctl};
use crate::profile::{self, Profile};
use crate::store::{self, Store};
use crate::tune::{self, Tune};

/// An application server that takes one Linux machine to its network limit and shows what stands in the way.
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
    /// Validate configuration and pages, and say what they mean. Of app modules the outermost level runs, as it does at a start; nothing is served.
    #[command(after_help = CHECK_EXAMPLES)]
    Check(Check),
    /// Talk to a running server over its control socket.
    #[command(after_help = ctl::EXAMPLES)]
    Ctl(Ctl),
    /// Load servers and judge them.
    Bench(Bench),
    /// Work on a store: fill it, read it, copy it. A server may have it open.
    #[command(after_help = store::EXAMPLES)]
    Store(Store),
    /// Say what this host costs a server, and what would mend it.
    #[command(after_help = tune::EXAMPLES)]
    Tune(Tune),
    /// Say where the time of a running program goes, and draw it.
    #[command(after_help = profile::EXAMPLES)]
    Profile(Profile),
}

const SERVE_EXAMPLES: &str = "Examples:
  velodrome serve                              serve the current directory at http://127.0.0.1:8080
  velodrome serve site --listen 0.0.0.0:80     serve another one to everybody
  velodrome serve --config /etc/velodrome.toml
  velodrome serve site --dev                   show the errors of pages in the browser

Signals: TERM, INT and QUIT drain and exit, HUP reads the configuration again, USR1 reopens the access log.
Exit status: 0 drained, 1 failed, 2 wrong use.";

const CHECK_EXAMPLES: &str = "Examples:
  velodrome check site                         are site/velodrome.toml and the pages of site right?
  velodrome check site --explain /img/logo.png which rule does this path meet, and why?
  velodrome check site --explain /a --host example.org --method POST
  velodrome check --defaults > velodrome.toml   every key with its documentation, all commented out
  velodrome check --definitions > velodrome.d.lua   for the Lua language server of an editor

Exit status: 0 right, 1 wrong, 2 wrong use.";

fn schedulers() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=SCHEDULERS_MAX)
}

/// What `serve` and `check` have in common.
#[derive(Debug, Args)]
pub(crate) struct Source {
    /// The directory to serve.
    #[arg(default_value = ".", value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// The configuration file [default: velodrome.toml in DIR, when it is there].
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// Whose table of open files a scheduler uses.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Tables {
    /// Its own.
    Private,
    /// The process's.
    Shared,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) source: Source,
    /// Listen here instead of what is configured: ADDRESS:PORT, unix:PATH, systemd or systemd:NAME. May be repeated
    /// [default: 127.0.0.1:8080].
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Vec<String>,
    /// Listen here as well, for clients of Redis: they publish to channels and subscribe to them. May be repeated.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen_resp: Vec<String>,
    /// Keep a key/value store in this directory, which clients of Redis read and write at --listen-resp.
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
    /// How many schedulers [default: one for each CPU that affinity and cgroup quota allow].
    #[arg(long, value_name = "N", value_parser = schedulers())]
    pub(crate) schedulers: Option<usize>,
    /// Do not bind schedulers to CPUs.
    #[arg(long, overrides_with = "pin")]
    pub(crate) no_pin: bool,
    /// Bind schedulers to CPUs, also where --no-pin was said before.
    #[arg(long, overrides_with = "no_pin")]
    pub(crate) pin: bool,
    /// How long a scheduler polls before it sleeps: 50us, or 0 for never.
    #[arg(long, value_name = "TIME")]
    pub(crate) spin: Option<String>,
    /// How long a scheduler that waits polls the network device before it sleeps: 50us (Linux 6.9).
    #[arg(long, value_name = "TIME")]
    pub(crate) busy_poll: Option<String>,
    /// Whether each scheduler has a table of open files of its own.
    #[arg(long, value_name = "WHOSE")]
    pub(crate) descriptor_tables: Option<Tables>,
    /// Give a new connection to the scheduler of the core that received it.
    #[arg(long)]
    pub(crate) reuseport_cpu: bool,
    /// How long the kernel keeps a new connection until its first byte: 1s; 0s for not at all.
    #[arg(long, value_name = "TIME")]
    pub(crate) defer_accept: Option<String>,
    /// For development: a page that fails shows why in the browser, with its source. Not for servers that others reach.
    #[arg(long)]
    pub(crate) dev: bool,
    /// Where the control socket is made [default: a socket named after the port, below /run/velodrome for root].
    #[arg(long, value_name = "PATH")]
    pub(crate) admin_socket: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) source: Source,
    /// Say which rule a path meets, step by step.
    #[arg(long, value_name = "PATH")]
    pub(crate) explain: Option<String>,
    /// The host of the request to explain.
    #[arg(long, value_name = "NAME", requires = "explain")]
    pub(crate) host: Option<String>,
    /// Print a velodrome.toml with every key, its documentation and its default, all commented out.
    #[arg(long, conflicts_with_all = ["explain", "definitions"])]
    pub(crate) defaults: bool,
    /// Print what pages may use, for the Lua language server of an editor.
    #[arg(long, conflicts_with = "explain")]
    pub(crate) definitions: bool,
    /// The method of the request to explain.
    #[arg(long, value_name = "METHOD", default_value = "GET", requires = "explain")]
    pub(crate) method: String,
}
