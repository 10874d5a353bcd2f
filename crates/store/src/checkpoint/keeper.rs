//! The keeper: the program that makes checkpoints.
//!
//! Owns which snapshots it holds, and that nothing is written after its disk has failed. Never
//! decides when to make one.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use heed::{Env, RoTxn, WithoutTls};

use super::record::Meta;
use super::{Checkpoints, Role};
use crate::failure::Failure;
use crate::limits::CHECKPOINT_ATTEMPTS;

/// A checkpoint that has to be waited for. Commits go on meanwhile.
pub struct Checkpoint {
    checkpoints: Arc<Checkpoints>,
    snapshot: RoTxn<'static, WithoutTls>,
    meta: Meta,
}

impl Checkpoint {
    /// Waits until the disk has it: on any thread with the descriptors of the one that opened the store, and for one checkpoint at a time.
    ///
    /// # Errors
    /// What the disk says.
    pub fn wait(self) -> Result<MadeCheckpoint, Failure> {
        self.checkpoints.save(self.meta)?;
        Ok(MadeCheckpoint { snapshot: self.snapshot })
    }
}

/// A checkpoint that the disk has.
pub struct MadeCheckpoint {
    snapshot: RoTxn<'static, WithoutTls>,
}

/// Makes checkpoints.
pub(crate) struct Keeper {
    checkpoints: Arc<Checkpoints>,
    /// A snapshot of the last one.
    snapshot: Option<RoTxn<'static, WithoutTls>>,
    /// Why nothing is written any more: the disk failed.
    broken: Option<Failure>,
}

impl Keeper {
    /// The keeper of these, if this program is.
    pub(crate) fn of(checkpoints: &Arc<Checkpoints>) -> Option<Self> {
        let checkpoints = Arc::clone(checkpoints);
        (checkpoints.role() == Role::Keeper).then_some(Self {
            checkpoints,
            snapshot: None,
            broken: None,
        })
    }

    /// Makes the first checkpoint, before anything is written.
    pub(crate) fn begin(&mut self, map: &Env<WithoutTls>) -> Result<(), Failure> {
        match (&self.broken, &self.snapshot) {
            (Some(failure), _) => Err(failure.clone()),
            (None, Some(_)) => Ok(()),
            (None, None) => self.keep(map),
        }
    }

    /// Makes the last commit a checkpoint.
    pub(crate) fn keep(&mut self, map: &Env<WithoutTls>) -> Result<(), Failure> {
        let next = self.next(map)?;
        self.hurry();
        let made = next.wait();
        self.end(made)
    }

    /// The checkpoint of the last commit.
    pub(crate) fn next(&self, map: &Env<WithoutTls>) -> Result<Checkpoint, Failure> {
        if let Some(failure) = &self.broken {
            return Err(failure.clone());
        }
        let (snapshot, meta) = self.newest(map)?;
        self.checkpoints.is_urgent.store(false, Ordering::Relaxed);
        Ok(Checkpoint { checkpoints: Arc::clone(&self.checkpoints), snapshot, meta })
    }

    /// The checkpoint that is under way is waited for.
    pub(crate) fn hurry(&self) {
        self.checkpoints.is_urgent.store(true, Ordering::Relaxed);
    }

    /// That checkpoint counts: pages of the one before may be written over. After a failure of the disk nothing is written any more.
    pub(crate) fn end(&mut self, made: Result<MadeCheckpoint, Failure>) -> Result<(), Failure> {
        match made {
            Ok(made) => {
                self.snapshot = Some(made.snapshot);
                Ok(())
            }
            Err(Failure::DiskFull) => Err(Failure::DiskFull),
            Err(failure) => {
                self.broken = Some(failure.clone());
                self.checkpoints.distrust()?;
                Err(failure)
            }
        }
    }

    /// An entry of the log was not written: unless a disk is full, nothing is written any more, because nobody knows what the log has. All that was answered is in it.
    pub(crate) fn on_log_failure(&mut self, failure: &Failure) {
        if !matches!(failure, Failure::DiskFull | Failure::Full) {
            self.broken = Some(failure.clone());
        }
    }

    /// The commit that the checkpoint is of; 0 where there is none.
    pub(crate) fn commit(&self) -> u64 {
        self.snapshot.as_ref().map_or(0, |snapshot| snapshot.id() as u64)
    }

    /// Nothing is written any more.
    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        if let Some(failure) = &self.broken {
            return Err(failure.clone());
        }
        self.checkpoints.end()?;
        self.snapshot = None;
        Ok(())
    }

    /// A snapshot of the last commit, and its tree.
    fn newest(&self, map: &Env<WithoutTls>) -> Result<(RoTxn<'static, WithoutTls>, Meta), Failure> {
        let mut snapshot = map.clone().static_read_txn()?;
        for _ in 0..CHECKPOINT_ATTEMPTS {
            let is_its = |meta: &Meta| meta.transaction() == snapshot.id() as u64;
            let meta = Meta::of(&self.checkpoints.data)?.into_iter().flatten().find(is_its);
            let after = map.clone().static_read_txn()?;
            // The second commit after this one writes over its meta page, but not before the first one is the last: it was not while the page was read.
            match meta {
                Some(meta) if after.id() == snapshot.id() => return Ok((snapshot, meta)),
                _ => snapshot = after,
            }
        }
        Err(Failure::Storage("other programs commit faster than a checkpoint is made".to_owned()))
    }
}
