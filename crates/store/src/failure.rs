//! Errors of the store, by who caused them.

use std::io;

use crate::limits::{KEY_SIZE, VALUE_SIZE};

/// An operation failed and changed nothing. The machine or its configuration is the cause, except for `LargerThanStore`
/// and `TooMuch`, which the client caused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreFailure {
    /// The store has reached its configured size.
    #[error("the store is full; raise `size` in [store]")]
    Full,
    /// One order needs more than the configured size, even in an empty store.
    #[error("that is larger than the store; raise `size` in [store]")]
    LargerThanStore,
    /// The file system is full.
    #[error("the disk is full")]
    DiskFull,
    /// The table of readers is full.
    #[error("too many programs read the store")]
    TooManyReaders,
    /// Another program has the store open.
    #[error("another program has the store open")]
    InUse,
    /// One order asked for more than the limit.
    #[error("that is too much at once")]
    TooMuch,
    /// This store is a replica, and only its leader may write.
    #[error(
        "the store is a replica: write to its leader, or make it the leader with `velodrome store promote`"
    )]
    Replica,
    /// No leader was heard for so long that the order was given up. It was not executed.
    #[error("the leader of the store is away; nothing was written")]
    LeaderAway,
    /// The order was sent to the leader, and no answer came: it may have been executed, or may still be.
    #[error("the leader of the store has not answered: the change may have been made or not")]
    LeaderSilent,
    /// Any other error, in the words of LMDB or of the system.
    #[error("the store failed: {0}")]
    Storage(String),
}

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misuse {
    /// The key is empty or too long.
    #[error("a key has 1 to {KEY_SIZE} bytes")]
    KeySize,
    /// The value is too long.
    #[error(
        "a value has up to {} MiB",
        VALUE_SIZE >> 20
    )]
    ValueSize,
    /// The value is not a 64-bit integer.
    #[error("value is not an integer or out of range")]
    NotANumber,
    /// The sum is not a 64-bit integer.
    #[error("increment or decrement would overflow")]
    Overflow,
    /// The value is not a number.
    #[error("value is not a valid float")]
    NotAFloat,
    /// The sum is not a finite number.
    #[error("increment would produce NaN or Infinity")]
    NotFinite,
    /// The key does not exist.
    #[error("no such key")]
    NoSuchKey,
}
