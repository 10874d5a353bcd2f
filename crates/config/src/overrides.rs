//! The configuration given on the command line.
//!
//! Owns the shape. `read` gives it precedence over the file.

use std::path::PathBuf;
use std::time::Duration;

use super::{Address, DescriptorTables, PageErrors, Steering};

/// What the command line says; each goes before the file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Overrides {
    /// The listeners of HTTP, in place of all of the file's; empty leaves those.
    pub listen: Vec<Address>,
    /// Listeners of RESP, beside the others.
    pub listen_resp: Vec<Address>,
    /// The directory of the store, in the place of the file's.
    pub store: Option<PathBuf>,
    /// The number of schedulers.
    pub schedulers: Option<usize>,
    /// Whether schedulers are bound to cores.
    pub pin: Option<bool>,
    /// How long a scheduler polls before it sleeps.
    pub spin: Option<Duration>,
    /// How long a scheduler that waits polls the network device.
    pub busy_poll: Option<Duration>,
    /// Whose descriptor table a scheduler uses.
    pub descriptor_tables: Option<DescriptorTables>,
    /// How the kernel spreads new connections.
    pub steering: Option<Steering>,
    /// How long the kernel keeps a connection without a byte, in whole seconds; for each TCP listener.
    pub defer_accept: Option<Duration>,
    /// The directory to serve as the default host's root.
    pub root: Option<PathBuf>,
    /// The directory of the command: the default host's root where the file names none.
    pub directory: Option<PathBuf>,
    /// The path of the control socket.
    pub admin_socket: Option<PathBuf>,
    /// What a client sees of a page that failed.
    pub page_errors: PageErrors,
}
