//! The keeper: the program that makes checkpoints.
//!
//! Owns its snapshots, and that nothing is written after its disk has failed. Never
//! decides when to make a checkpoint.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use heed::{RoTxn, WithoutTls};

use super::record::Meta;
use super::{Checkpoints, Role};
use crate::failure::StoreFailure;
use crate::ffi::Env;
use crate::limits::CHECKPOINT_ATTEMPTS;

/// A checkpoint that is not on disk yet. Commits continue meanwhile.
pub struct Checkpoint {
    checkpoints: Arc<Checkpoints>,
    snapshot: RoTxn<'static, WithoutTls>,
    meta: Meta,
}

impl Checkpoint {
    /// Writes the checkpoint to disk and waits, also for another one that is being written. Any thread that shares the
    /// descriptor table of the one that opened the store may do this.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn wait(self) -> Result<MadeCheckpoint, StoreFailure> {
        self.checkpoints.save(self.meta)?;
        Ok(MadeCheckpoint { snapshot: self.snapshot })
    }
}

/// A checkpoint that is on disk.
pub struct MadeCheckpoint {
    snapshot: RoTxn<'static, WithoutTls>,
}

impl MadeCheckpoint {
    /// The commit that it shows.
    fn commit(&self) -> u64 {
        self.snapshot.id() as u64
    }
}

/// Makes checkpoints, and holds the snapshot of the last one.
pub(crate) struct Keeper {
    checkpoints: Arc<Checkpoints>,
    /// The snapshot of the last checkpoint.
    snapshot: Option<RoTxn<'static, WithoutTls>>,
    /// The disk failure after which nothing is written any more.
    broken: Option<StoreFailure>,
}

impl Keeper {
    /// The keeper, if this program is the one.
    pub(crate) fn of(checkpoints: &Arc<Checkpoints>) -> Option<Self> {
        let checkpoints = Arc::clone(checkpoints);
        (checkpoints.role() == Role::Keeper).then_some(Self {
            checkpoints,
            snapshot: None,
            broken: None,
        })
    }

    /// Makes the first checkpoint, before anything is written.
    pub(crate) fn begin(&mut self, map: &Env) -> Result<(), StoreFailure> {
        match (&self.broken, &self.snapshot) {
            (Some(failure), _) => Err(failure.clone()),
            (None, Some(_)) => Ok(()),
            (None, None) => self.keep(map),
        }
    }

    /// Makes a checkpoint of the last commit, and waits for it.
    pub(crate) fn keep(&mut self, map: &Env) -> Result<(), StoreFailure> {
        let next = self.next(map)?;
        self.hurry();
        let made = next.wait();
        self.end(made).map(drop)
    }

    /// Starts a checkpoint of the last commit.
    pub(crate) fn next(&self, map: &Env) -> Result<Checkpoint, StoreFailure> {
        if let Some(failure) = &self.broken {
            return Err(failure.clone());
        }
        let (snapshot, meta) = self.newest(map)?;
        self.checkpoints.is_urgent.store(false, Ordering::Relaxed);
        Ok(Checkpoint { checkpoints: Arc::clone(&self.checkpoints), snapshot, meta })
    }

    /// Removes the pauses of the running checkpoint, because somebody waits for it.
    pub(crate) fn hurry(&self) {
        self.checkpoints.is_urgent.store(true, Ordering::Relaxed);
    }

    /// Completes a checkpoint: the pages of the previous one can be reused. If the disk has failed, nothing is written
    /// any more. Returns the commit of the checkpoint.
    pub(crate) fn end(
        &mut self,
        made: Result<MadeCheckpoint, StoreFailure>,
    ) -> Result<u64, StoreFailure> {
        match made {
            Ok(made) => {
                let commit = made.commit();
                // Another one may have been begun later and completed earlier.
                if commit >= self.commit() {
                    self.snapshot = Some(made.snapshot);
                }
                Ok(commit)
            }
            Err(StoreFailure::DiskFull) => Err(StoreFailure::DiskFull),
            Err(failure) => {
                self.broken = Some(failure.clone());
                self.checkpoints.distrust()?;
                Err(failure)
            }
        }
    }

    /// Handles a log entry that could not be written. Unless the disk was full, nothing is written any more, because
    /// the state of the log is unknown. Every answered change is in it.
    pub(crate) fn on_log_failure(&mut self, failure: &StoreFailure) {
        if !matches!(failure, StoreFailure::DiskFull | StoreFailure::Full) {
            self.broken = Some(failure.clone());
        }
    }

    /// The commit of the last checkpoint; 0 if there is none.
    pub(crate) fn commit(&self) -> u64 {
        self.snapshot.as_ref().map_or(0, |snapshot| snapshot.id() as u64)
    }

    /// Removes the checkpoint of a writer that stops.
    pub(crate) fn finish(&mut self) -> Result<(), StoreFailure> {
        if let Some(failure) = &self.broken {
            return Err(failure.clone());
        }
        self.checkpoints.end()?;
        self.snapshot = None;
        Ok(())
    }

    /// Takes a snapshot of the last commit and reads its meta page.
    fn newest(&self, map: &Env) -> Result<(RoTxn<'static, WithoutTls>, Meta), StoreFailure> {
        let mut snapshot = map.clone().static_read_txn()?;
        for _ in 0..CHECKPOINT_ATTEMPTS {
            let is_its = |meta: &Meta| meta.transaction() == snapshot.id() as u64;
            let meta = Meta::of(&self.checkpoints.data)?.into_iter().flatten().find(is_its);
            let after = map.clone().static_read_txn()?;
            // The second commit after this one overwrites its meta page, but only once the first one is visible. It was
            // not visible yet after the page had been read.
            match meta {
                Some(meta) if after.id() == snapshot.id() => return Ok((snapshot, meta)),
                _ => snapshot = after,
            }
        }
        Err(StoreFailure::Storage(
            "other programs commit faster than a checkpoint is made".to_owned(),
        ))
    }
}
