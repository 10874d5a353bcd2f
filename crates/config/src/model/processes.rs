//! `[[process]]` as plain data.
//!
//! Owns the shape and the defaults. Never reads text: `processes` does.

use std::time::Duration;

use crate::problem::TextPosition;

/// One `[[process]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteProcess {
    /// The app module that it runs.
    pub module: String,
    /// When it starts.
    pub begins: ProcessBegin,
    /// On how many servers of a cluster it runs.
    pub reach: ProcessReach,
    /// Its place in the file.
    pub place: TextPosition,
}

/// On how many servers of a cluster a process of a site runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ProcessReach {
    /// On each.
    #[default]
    Server,
    /// On one of them at a time.
    Cluster,
}

/// When a process of a site starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessBegin {
    /// With the server.
    AtStart,
    /// This long after the server's start or the reload that added it, and then repeatedly.
    Every(Duration),
    /// Each day.
    Daily {
        /// Minutes since midnight.
        minute: u16,
        /// The name of its time zone; `None` for the server's.
        zone: Option<String>,
    },
}
