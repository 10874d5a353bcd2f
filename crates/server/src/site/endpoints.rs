//! The helpers that do blocking work for schedulers.
//!
//! Owns only the list.

use runtime::mailbox::Endpoint;

/// The helpers of the schedulers.
#[derive(Clone, Debug)]
pub struct Helpers {
    /// The number of schedulers, which are the first endpoints.
    pub schedulers: u16,
    /// File helpers.
    pub files: Vec<Endpoint>,
    /// The password helper.
    pub passwords: Option<Endpoint>,
    /// Name helpers.
    pub names: Vec<Endpoint>,
    /// Upload helpers, if there is an upload directory.
    pub uploads: Vec<Endpoint>,
    /// The log writer, if there is an access log.
    pub log: Option<Endpoint>,
    /// The disks of caches, if any has one.
    pub cache_disk: Option<Endpoint>,
    /// The writer of the store, if there is a store.
    pub store: Option<Endpoint>,
}

impl Helpers {
    /// File helpers alone: nothing is logged, looked up, uploaded or stored.
    pub fn of_files(schedulers: u16, files: Vec<Endpoint>) -> Self {
        Self {
            schedulers,
            files,
            passwords: None,
            names: Vec::new(),
            uploads: Vec::new(),
            log: None,
            cache_disk: None,
            store: None,
        }
    }
}
