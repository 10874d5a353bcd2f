//! The helpers that do blocking work for schedulers.
//!
//! Owns only the list.

use runtime::mailbox::Endpoint;

/// Who helps the schedulers.
#[derive(Clone, Debug)]
pub struct Helpers {
    /// How many schedulers there are to help, which are the first endpoints.
    pub schedulers: u16,
    /// File helpers.
    pub files: Vec<Endpoint>,
    /// Name helpers.
    pub names: Vec<Endpoint>,
    /// Upload helpers, when there is a directory for uploads.
    pub uploads: Vec<Endpoint>,
    /// The log writer, when there is an access log.
    pub log: Option<Endpoint>,
    /// The writer of the store, when there is a store.
    pub store: Option<Endpoint>,
}
