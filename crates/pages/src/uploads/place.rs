//! The upload directory, as one helper has it open.
//!
//! Owns when it is opened: with the first order, in the descriptor table of the helper's thread,
//! and again if it was deleted and created again. Never decides what is written there.

use std::io;
use std::path::{Path, PathBuf};

use sys::spool::{Spool, SpoolFault, SpoolFile};

/// The directory.
pub(super) struct UploadPlace {
    directory: PathBuf,
    spool: Option<Spool>,
}

impl UploadPlace {
    pub(super) fn new(directory: PathBuf) -> Self {
        Self { directory, spool: None }
    }

    /// Its path.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The directory as it was last opened.
    pub(super) fn spool(&mut self) -> io::Result<&Spool> {
        match &mut self.spool {
            Some(spool) => Ok(spool),
            none => Ok(none.insert(Spool::open(&self.directory)?)),
        }
    }

    /// Creates a file; if the directory was deleted, in the one that is there now.
    pub(super) fn create(&mut self, name: &str) -> Result<SpoolFile, SpoolFault> {
        let created = self.spool().and_then(|spool| spool.create(name));
        let created = match created.map_err(|error| SpoolFault::of(&error)) {
            Err(SpoolFault::NotFound) => self.create_anew(name),
            created => return created,
        };
        created.map_err(|error| SpoolFault::of(&error))
    }

    fn create_anew(&mut self, name: &str) -> io::Result<SpoolFile> {
        let spool = Spool::open(&self.directory)?;
        let file = spool.create(name)?;
        // Locked like the first one from the start, so that no other server removes its files.
        let _whoever_else_does = spool.hold(|_| ());
        self.spool = Some(spool);
        Ok(file)
    }
}

#[cfg(test)]
#[cfg(not(miri))]
mod tests {
    use std::fs;

    use sys::spool::Holders;

    use super::*;

    #[test]
    fn a_directory_that_was_made_anew_is_used() {
        let own = format!("uploads-place-{}", std::process::id());
        let directory = std::env::temp_dir().join(own);
        fs::create_dir(&directory).unwrap();
        let mut place = UploadPlace::new(directory.clone());
        let _open = place.create("a").unwrap();
        fs::remove_dir_all(&directory).unwrap();
        assert_eq!(place.create("b").map(drop), Err(SpoolFault::NotFound));
        fs::create_dir(&directory).unwrap();
        let made = ["c", "d"].map(|name| place.create(name).map(drop));
        assert_eq!(made, [Ok(()), Ok(())]);
        let holders = Spool::open(&directory).unwrap().hold(|_| ());
        let mut names = place.spool().unwrap().names(|name| !name.starts_with('.')).unwrap();
        fs::remove_dir_all(&directory).unwrap();
        names.sort();
        assert_eq!((names, holders), (vec!["c".to_owned(), "d".to_owned()], Holders::Others));
    }
}
