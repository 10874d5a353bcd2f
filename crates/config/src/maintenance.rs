//! `[maintenance]`: what clients get while the site is maintained.
//!
//! Owns the keys of that section. Never knows whether it is being maintained: `velodrome ctl set` and the presence of a
//! file say so.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use wire::network::{Network, NetworkError};

use super::Problems;
use super::key::{SectionKeys, section};
use super::section::Section;
use super::value::{borrowed_text, cannot_be};
use crate::limits::{MAINTENANCE_RETRY, RETRY_AFTER};

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
    #[must_use]
    pub fn allows(&self, address: Option<IpAddr>) -> bool {
        address.is_some_and(|address| self.allow.iter().any(|network| network.contains(address)))
    }
}

pub(super) static MAINTENANCE: SectionKeys = section! {
    "[maintenance]";
    "file": path(maintenance.file, "path of a file"), "none", Reload,
        "While this file is there, requests are answered with 503, within a second of its coming and going. `velodrome ctl set maintenance on` does the same without a file, until `off` or the end of the server. The page is that of 503 in `[error_pages]`. WebSockets that are open stay open, Redis clients are served.";
    "retry_after": duration(maintenance.retry_after, RETRY_AFTER), default, Live,
        "The `Retry-After` of these answers, in whole seconds.";
    "allow": apart("list of networks"), "none", Reload,
        "Networks of clients that are served as ever: `[\"10.0.0.0/8\"]`.";
};

/// The networks of `allow`.
pub(super) fn allow(section: &Section<'_>, problems: &mut Problems) -> Vec<Network> {
    let networks = section.list("allow", problems, |item| {
        let text = borrowed_text(item, "a network in quotes such as \"10.0.0.0/8\"")?;
        text.parse().map_err(|error: NetworkError| cannot_be(item, text, &error.to_string()))
    });
    networks.unwrap_or_default()
}
