//! The state of the host on a ladder: which of its steps are applied now.
//!
//! Owns that everything applied by the ladder is reverted when it ends, also after an error. Only
//! `apply` writes.

use std::io;
use std::path::{Path, PathBuf};

use super::{Rung, RungChange};
use crate::apply::{Done, Which, apply, revert};
use crate::journal::Journal;

/// The steps that are applied now.
#[derive(Debug)]
pub struct HostState {
    root: PathBuf,
    /// `None` if no step changes the host.
    journal: Option<Journal>,
    applied: Vec<&'static str>,
}

impl HostState {
    /// The host as it is; without a journal it is not changed.
    pub fn new(root: &Path, journal: Option<Journal>) -> Self {
        Self { root: root.to_owned(), journal, applied: Vec::new() }
    }

    /// Applies these steps and reverts all others. Returns why a step cannot be applied.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub fn set<'a>(
        &mut self,
        rungs: impl IntoIterator<Item = &'a Rung>,
    ) -> io::Result<Result<(), String>> {
        let steps: Vec<_> = rungs
            .into_iter()
            .filter_map(|rung| match &rung.what {
                RungChange::Host(step) => Some(step),
                RungChange::Words(_) => None,
            })
            .collect();
        while let Some(at) =
            self.applied.iter().rposition(|id| steps.iter().all(|step| step.check.id != *id))
        {
            self.put_back(self.applied[at])?;
            self.applied.remove(at);
        }
        for step in steps {
            if self.applied.contains(&step.check.id) {
                continue;
            }
            let Some(journal) = &mut self.journal else {
                return Ok(Err("there is no journal".to_owned()));
            };
            self.applied.push(step.check.id);
            for (path, done) in apply(&self.root, step, journal)? {
                if let Done::Refused(why) = done {
                    return Ok(Err(format!("{path}: {why}")));
                }
            }
        }
        Ok(Ok(()))
    }

    /// Leaves the applied steps in force: for `status` and `revert`.
    pub fn keep(mut self) {
        self.applied.clear();
    }

    fn put_back(&mut self, check: &str) -> io::Result<()> {
        let Some(journal) = &mut self.journal else { return Ok(()) };
        for (entry, done) in revert(&self.root, Which::Check(check), journal)? {
            let why = match done {
                Done::Refused(why) => why,
                // If another program writes the same file, the measurement would not show the effect of the step.
                Done::Theirs(value) => format!("another program has changed it to {value}"),
                _ => continue,
            };
            return Err(io::Error::other(format!("{}: {why}", entry.change.path)));
        }
        Ok(())
    }
}

impl Drop for HostState {
    fn drop(&mut self) {
        while let Some(check) = self.applied.pop() {
            // A change that cannot be reverted stays in the journal, for `revert`.
            let _put_back = self.put_back(check);
        }
    }
}
