//! How commits become durable that have not waited for the disk.
//!
//! Owns the calls. Never decides when a checkpoint is made: `checkpoint` has them, and the program its times.

use super::Writer;
use crate::checkpoint::{Checkpoint, MadeCheckpoint};
use crate::failure::StoreFailure;
use crate::limits::CHECKPOINT_GROWTH;
use crate::log::Log;
use crate::room::file_size;

impl Writer {
    /// Makes all commits durable: after a power failure the store returns to this state or a later one.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn sync(&mut self) -> Result<(), StoreFailure> {
        match &mut self.keeper {
            Some(keeper) => {
                self.checkpoint_size = file_size(&self.map);
                let checkpoint = keeper.next(&self.map)?;
                keeper.hurry();
                self.turn_log();
                self.end_checkpoint(checkpoint.wait())
            }
            None => Ok(self.map.force_sync()?),
        }
    }

    /// Starts what [`Writer::sync`] does, so that another thread can wait for it. `None` if there is nothing to do.
    ///
    /// # Errors
    /// If the table of readers is full.
    pub fn begin_checkpoint(&mut self) -> Result<Option<Checkpoint>, StoreFailure> {
        if !self.is_unsynced() {
            return Ok(None);
        }
        self.checkpoint_size = file_size(&self.map);
        self.is_full = false;
        let next = self.keeper.as_ref().map(|keeper| keeper.next(&self.map)).transpose()?;
        self.turn_log();
        Ok(next)
    }

    /// A checkpoint of all current log entries starts.
    fn turn_log(&mut self) {
        if let Some(log) = &mut self.log {
            log.turn();
        }
    }

    /// Speeds up a running checkpoint by skipping its pauses, because the caller waits for it.
    pub fn hurry(&self) {
        if let Some(keeper) = &self.keeper {
            keeper.hurry();
        }
    }

    /// Completes a checkpoint, or takes the reason why it failed. After any failure except a full disk nothing is
    /// written any more, because the kernel may show data that the disk does not have. The store returns to its last
    /// checkpoint when it is opened again.
    ///
    /// # Errors
    /// The failure that it was given.
    pub fn end_checkpoint(
        &mut self,
        made: Result<MadeCheckpoint, StoreFailure>,
    ) -> Result<(), StoreFailure> {
        let Some(keeper) = &mut self.keeper else { return Ok(()) };
        let commit = keeper.end(made)?;
        if let Some(log) = &mut self.log {
            log.keep_up(commit);
        }
        Ok(())
    }

    /// Whether a checkpoint should start now, because the file, the log or the store's free space requires it.
    pub fn wants_checkpoint(&self) -> bool {
        let growth = file_size(&self.map).saturating_sub(self.checkpoint_size);
        let is_long = self.log.as_ref().is_some_and(Log::is_long);
        self.is_unsynced() && (self.is_full || is_long || growth >= CHECKPOINT_GROWTH)
    }

    /// Whether there are commits of any program that [`Writer::sync`] would make durable.
    pub fn is_unsynced(&self) -> bool {
        self.keeper.as_ref().is_some_and(|keeper| keeper.commit() < self.last_commit())
    }

    /// [`Writer::sync`] for a writer that stops: the file needs no checkpoint afterwards, and can be copied.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn finish(&mut self) -> Result<(), StoreFailure> {
        match &mut self.keeper {
            Some(keeper) => {
                keeper.finish()?;
                self.log.as_mut().map_or(Ok(()), Log::clear)
            }
            None => Ok(self.map.force_sync()?),
        }
    }

    /// Frees the snapshots of programs that ended without doing so. Returns how many. If another program makes the
    /// checkpoints, this is left to it: that program may be killed at any time, and its snapshot must not be freed
    /// before its checkpoint is removed.
    ///
    /// # Errors
    /// If the lock file cannot be read.
    pub fn free_dead_readers(&self) -> Result<usize, StoreFailure> {
        if self.checkpoints.settle()? {
            return Ok(0);
        }
        Ok(self.map.clear_stale_readers()?)
    }
}
