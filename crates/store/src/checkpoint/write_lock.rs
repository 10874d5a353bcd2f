//! The lock of a program that writes.
//!
//! LMDB has a robust mutex for that (pthread_mutexattr_setrobust(3)), but a program can wait there
//! for ever: if the kernel wakes a second program to take the mutex, that one is killed, and a third
//! one takes the mutex first, the third one wakes no other program when it unlocks. A lock of the file
//! (flock(2)) has no such gap. Owns that only one program at a time wants that mutex.

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
use crate::failure::Failure;

/// Other programs do not write as long as it lives. Writers of this program are not kept out: LMDB does that.
pub(crate) struct WriteLock(Arc<File>);

impl WriteLock {
    /// Waits until no other program writes into that file; `waits` is true while it waits.
    pub(super) fn take(data: &Arc<File>, waits: &AtomicBool) -> Result<Self, Failure> {
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
        // It fails only for a file that is not open.
        let _never = unlock(&self.0);
    }
}
