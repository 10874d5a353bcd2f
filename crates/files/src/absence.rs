//! Why there is no file to answer with.
//!
//! Owns the two kinds: nothing for a client, and a fault on our side. Never searches for a file.

/// Why there is nothing for a client. All are answered with 404, so that clients cannot tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absence {
    /// There is no such file.
    NotFound,
    /// The rules hide it.
    Hidden,
    /// It is outside of the root, or behind a refused link.
    Outside,
    /// The server may not read it.
    Forbidden,
    /// A FIFO, a socket, a device, or a directory that is not listed.
    NotRegular,
}

/// A failure on our side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFailure {
    /// 503: no descriptors or memory left.
    Exhausted,
    /// 500: the file system reported an error.
    Storage,
}

impl FileFailure {
    /// The status to answer with.
    pub const fn status(self) -> u16 {
        match self {
            Self::Exhausted => 503,
            Self::Storage => 500,
        }
    }
}
