//! The lock of a program that writes.
//!
//! LMDB uses a robust mutex (pthread_mutexattr_setrobust(3)), but a program can wait for it
//! for ever: if the kernel wakes a second program to take the mutex, that program is killed, and a third
//! one takes the mutex first, then unlocking it wakes nobody. A file lock
//! (flock(2)) has no such gap. Owns that only one program at a time waits for the mutex.

#![expect(
    clippy::disallowed_types,
    reason = "the file stays in the table of the thread that opens the store"
)]

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, retry_on_intr};

use super::unlock;
use crate::failure::StoreFailure;

/// Keeps other programs from writing until it is dropped. Threads of this program are kept out by LMDB's mutex only.
pub(crate) struct WriteLock(Arc<File>);

impl WriteLock {
    /// Waits until no other program writes; `waits` is true meanwhile.
    pub(super) fn take(data: &Arc<File>, waits: &AtomicBool) -> Result<Self, StoreFailure> {
        let mut locked = flock(data, FlockOperation::NonBlockingLockExclusive);
        if locked == Err(Errno::WOULDBLOCK) {
            waits.store(true, Ordering::Relaxed);
            locked = retry_on_intr(|| flock(data, FlockOperation::LockExclusive));
            waits.store(false, Ordering::Relaxed);
        }
        locked.map_err(io::Error::from)?;
        Ok(Self(Arc::clone(data)))
    }
}

impl Drop for WriteLock {
    fn drop(&mut self) {
        // Unlocking fails only for a closed file.
        let _never = unlock(&self.0);
    }
}
