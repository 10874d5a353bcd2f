//! `[store]` and `[[database]]` as plain data.
//!
//! Owns the shape and the defaults. Never reads text: `store` does.

use std::path::PathBuf;
use std::time::Duration;

use crate::limits;

/// `[store]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreSettings {
    /// Its directory; `None`: there is no store.
    pub path: Option<PathBuf>,
    /// The names of databases, beside the numbers 0 to 15.
    pub databases: Vec<String>,
    /// Maximum size of its file in bytes.
    pub size: u64,
    /// When a write is on the disk.
    pub sync: StoreSync,
    /// The time between two writes to the disk, if writes do not wait for it.
    pub sync_interval: Duration,
    /// Whether it leads other stores or follows one; `None`: it is alone.
    pub role: Option<StoreDuty>,
}

/// The duty of a store to stores of other servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreDuty {
    /// They follow it.
    Leader,
    /// It follows one of them.
    Replica,
}

/// When a write is on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreSync {
    /// Before the write is answered.
    Commit,
    /// Before the write is answered, in a log.
    Log,
    /// Within an interval.
    Interval,
    /// When the kernel decides.
    None,
}

/// One `[[database]]`: the access of clients to a database.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DatabaseRules {
    /// Its name or number.
    pub name: String,
    /// The clients that may read.
    pub read: DatabaseAccess,
    /// The clients that may write.
    pub write: DatabaseAccess,
    /// Whether HTTP clients can reach it.
    pub http: bool,
}

/// The access of clients to a database.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DatabaseAccess {
    /// Every client.
    #[default]
    Open,
    /// Clients with a token that names the database.
    Token,
    /// Clients that show a key of the server.
    Key,
    /// No client.
    None,
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self {
            path: None,
            databases: Vec::new(),
            size: limits::STORE_SIZE,
            sync: StoreSync::Commit,
            sync_interval: limits::STORE_SYNC_INTERVAL,
            role: None,
        }
    }
}

impl StoreSettings {
    /// The names of all databases in the order of their numbers: 0 to 15 first.
    pub fn all_databases(&self) -> Vec<String> {
        let numbers = (0..limits::STORE_NUMBERED).map(|number| number.to_string());
        numbers.chain(self.databases.iter().cloned()).collect()
    }
}
