//! Errors of the store, by who caused them.

use std::error::Error;
use std::fmt;
use std::io;

use crate::limits::{KEY_SIZE, VALUE_SIZE};

/// An operation failed and changed nothing. The machine or its configuration is the cause, except for `LargerThanStore`
/// and `TooMuch`, which the client caused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreFailure {
    /// The store has reached its configured size.
    Full,
    /// One order needs more than the configured size, even in an empty store.
    LargerThanStore,
    /// The file system is full.
    DiskFull,
    /// The table of readers is full.
    TooManyReaders,
    /// Another program has the store open.
    InUse,
    /// One order asked for more than the limit.
    TooMuch,
    /// This store is a replica, and only its leader may write.
    Replica,
    /// No leader was heard for so long that the order was given up. It was not executed.
    LeaderAway,
    /// The order was sent to the leader, and no answer came: it may have been executed, or may still be.
    LeaderSilent,
    /// Any other error, in the words of LMDB or of the system.
    Storage(String),
}

impl fmt::Display for StoreFailure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => out.write_str("the store is full; raise `size` in [store]"),
            Self::LargerThanStore => {
                out.write_str("that is larger than the store; raise `size` in [store]")
            }
            Self::DiskFull => out.write_str("the disk is full"),
            Self::TooManyReaders => out.write_str("too many programs read the store"),
            Self::InUse => out.write_str("another program has the store open"),
            Self::TooMuch => out.write_str("that is too much at once"),
            Self::Replica => out.write_str(
                "the store is a replica: write to its leader, or make it the leader with `velodrome store promote`",
            ),
            Self::LeaderAway => out.write_str("the leader of the store is away; nothing was written"),
            Self::LeaderSilent => out.write_str(
                "the leader of the store has not answered: the change may have been made or not",
            ),
            Self::Storage(text) => write!(out, "the store failed: {text}"),
        }
    }
}

impl Error for StoreFailure {}

impl From<heed::Error> for StoreFailure {
    fn from(error: heed::Error) -> Self {
        match error {
            heed::Error::Mdb(heed::MdbError::MapFull) => Self::Full,
            heed::Error::Mdb(heed::MdbError::ReadersFull) => Self::TooManyReaders,
            heed::Error::Io(error) => error.into(),
            heed::Error::Mdb(heed::MdbError::Corrupted | heed::MdbError::PageNotFound) => {
                Self::Storage(format!("{error}: its file is damaged; restore a backup"))
            }
            heed::Error::Mdb(heed::MdbError::Panic) => {
                Self::Storage("its disk failed during a commit; restart this program".to_owned())
            }
            other => Self::Storage(other.to_string()),
        }
    }
}

impl From<io::Error> for StoreFailure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull,
            _ => Self::Storage(error.to_string()),
        }
    }
}

/// The client asked for something impossible. The store is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// The key is empty or too long.
    KeySize,
    /// The value is too long.
    ValueSize,
    /// The value is not a 64-bit integer.
    NotANumber,
    /// The sum is not a 64-bit integer.
    Overflow,
    /// The value is not a number.
    NotAFloat,
    /// The sum is not a finite number.
    NotFinite,
    /// The key does not exist.
    NoSuchKey,
}

impl fmt::Display for Misuse {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KeySize => write!(out, "a key has 1 to {KEY_SIZE} bytes"),
            Self::ValueSize => write!(out, "a value has up to {} MiB", VALUE_SIZE >> 20),
            Self::NotANumber => out.write_str("value is not an integer or out of range"),
            Self::NotAFloat => out.write_str("value is not a valid float"),
            Self::NotFinite => out.write_str("increment would produce NaN or Infinity"),
            Self::NoSuchKey => out.write_str("no such key"),
            Self::Overflow => out.write_str("increment or decrement would overflow"),
        }
    }
}

impl Error for Misuse {}
