//! The flags of encrypted connections, with the names that curl and h2load give them. Parsing only.

use std::path::PathBuf;

use clap::Args;

/// Encryption.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "TLS")]
pub(crate) struct Tls {
    /// Accept any certificate of the server; the report says so.
    #[arg(short = 'k', long, conflicts_with = "cacert")]
    pub(crate) insecure: bool,
    /// A PEM file with the authorities that may have issued the server's certificate [default: those of the system].
    #[arg(long, value_name = "FILE")]
    pub(crate) cacert: Option<PathBuf>,
    /// A PEM file with a certificate and its chain, for a server that asks for one.
    #[arg(long, value_name = "FILE")]
    pub(crate) cert: Option<PathBuf>,
    /// A PEM file with its key [default: the file of --cert].
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(crate) key: Option<PathBuf>,
    /// The server name to ask for and to check [default: the host of the URL].
    #[arg(long, value_name = "NAME")]
    pub(crate) sni: Option<String>,
}
