//! Where the state is kept, as seen by the control thread: a directory, or the store of the server.
//!
//! Owns what both have to keep. Knows neither.

use std::fmt;
use std::io;

/// Something that keeps records by name. It is called on the control thread, and on the one that starts it, and may
/// block.
pub trait RecordKeeper: Send + fmt::Debug {
    /// The content of a record, or its first bytes if it has more than so many; `None` if it is not there.
    ///
    /// # Errors
    /// If that cannot be found out.
    fn read(&self, name: &str, most: u64) -> io::Result<Option<Vec<u8>>>;

    /// Whether a record is there.
    ///
    /// # Errors
    /// If that cannot be found out.
    fn has(&self, name: &str) -> io::Result<bool>;

    /// Replaces a record. Whatever happens, the whole old content or the whole new content is there afterwards.
    ///
    /// # Errors
    /// If there is no room for it, for example.
    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()>;

    /// Removes a record if it is there.
    ///
    /// # Errors
    /// If it is still there.
    fn remove(&self, name: &str) -> io::Result<()>;
}
