//! `[maintenance]` as plain data.
//!
//! Owns the shape and the defaults. Never reads text: `maintenance` does.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use wire::network::Network;

use crate::limits::MAINTENANCE_RETRY;

/// `[maintenance]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Maintenance {
    /// The file whose presence means maintenance; `None` for none.
    pub file: Option<PathBuf>,
    /// When clients shall come again.
    pub retry_after: Duration,
    /// The networks of clients that are served as ever.
    pub allow: Vec<Network>,
}

impl Default for Maintenance {
    fn default() -> Self {
        Self { file: None, retry_after: MAINTENANCE_RETRY, allow: Vec::new() }
    }
}

impl Maintenance {
    /// Whether a client is served during maintenance.
    pub fn allows(&self, address: Option<IpAddr>) -> bool {
        address.is_some_and(|address| self.allow.iter().any(|network| network.contains(address)))
    }
}
