//! The host to change, and where the journal of its changes is.
//!
//! Owns their flags, which several verbs have. Changes nothing itself.

use std::path::{Path, PathBuf};

use ::tune::Journal;
use clap::Args;

use crate::Failure;
use crate::output::FormFlag;

/// The default directory of the journal.
pub(super) const STATE: &str = "/var/lib/velodrome/tune";

/// The host that is changed, and the journal of its changes. Plain data: flags.
#[derive(Debug, Args)]
pub(crate) struct Place {
    /// The directory of the journal; relative to --root.
    #[arg(long, value_name = "DIR", default_value = STATE)]
    pub(crate) state: PathBuf,
    /// A directory with the files of another machine.
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: FormFlag,
}

impl Place {
    pub(super) fn root(&self) -> &Path {
        self.root.as_deref().unwrap_or(Path::new("/"))
    }

    /// The journal, for reading.
    pub(super) fn journal(&self) -> Result<Journal, Failure> {
        let place = directory(self.root(), &self.state);
        Journal::open(&place).map_err(|error| {
            Failure::Failed(format!("the journal in {}: {error}", place.display()))
        })
    }
}

/// The directory of the journal: below the files of another machine, otherwise relative to the working directory.
pub(super) fn directory(root: &Path, state: &Path) -> PathBuf {
    if root == Path::new("/") {
        return std::path::absolute(state).unwrap_or_else(|_| state.to_path_buf());
    }
    root.join(state.strip_prefix("/").unwrap_or(state))
}

/// The journal, for a command that changes the host.
pub(super) fn journal(root: &Path, state: &Path) -> Result<Journal, Failure> {
    let place = directory(root, state);
    Journal::open_alone(&place).map_err(|error| match error.kind() {
        std::io::ErrorKind::WouldBlock => Failure::Failed(error.to_string()),
        _ => Failure::Failed(format!("the journal in {}: {error}", place.display())),
    })
}
