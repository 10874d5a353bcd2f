//! The configuration given on the command line.
//!
//! Owns the shape. `read` gives it precedence over the file.

use std::path::PathBuf;
use std::time::Duration;

use crate::address::ListenerAddress;
use crate::model::config::{DescriptorTables, Steering};
use crate::model::page_choices::PageErrors;

/// Settings of the command line, which take precedence over the file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Overrides {
    /// The HTTP listeners, which replace all of the file's; empty keeps those.
    pub listen: Vec<ListenerAddress>,
    /// RESP listeners, in addition to the others.
    pub listen_resp: Vec<ListenerAddress>,
    /// The directory of the store, which replaces the file's.
    pub store: Option<PathBuf>,
    /// The number of schedulers.
    pub schedulers: Option<usize>,
    /// Whether schedulers are bound to cores.
    pub pin: Option<bool>,
    /// How long a scheduler polls before it sleeps.
    pub spin: Option<Duration>,
    /// How long a waiting scheduler busy-polls the network device.
    pub busy_poll: Option<Duration>,
    /// How far back the samples of the server itself reach.
    pub profile_ring: Option<Duration>,
    /// Which descriptor table a scheduler uses.
    pub descriptor_tables: Option<DescriptorTables>,
    /// How the kernel distributes new connections.
    pub steering: Option<Steering>,
    /// How long the kernel defers a connection without a byte, in whole seconds; for each TCP listener.
    pub defer_accept: Option<Duration>,
    /// The root of the default host.
    pub root: Option<PathBuf>,
    /// The directory argument: the root of the default host unless the file names one.
    pub directory: Option<PathBuf>,
    /// The path of the control socket.
    pub admin_socket: Option<PathBuf>,
    /// The details that a client sees when a page fails.
    pub page_errors: PageErrors,
    /// The certificates of listeners without `tls`.
    pub certificates: CertificatesOverride,
}

/// The certificates of listeners without `tls`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CertificatesOverride {
    /// None: these listeners are plain.
    #[default]
    None,
    /// One that is made at the start and has signed itself, for TCP listeners of HTTP.
    SelfSigned,
}
