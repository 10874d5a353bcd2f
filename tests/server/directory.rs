//! A directory of a test's own, gone when the test ends.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A temporary directory.
#[derive(Debug)]
pub(crate) struct Directory(PathBuf);

impl Directory {
    /// An empty one.
    pub(crate) fn new() -> Self {
        Self::below(&std::env::temp_dir())
    }

    /// An empty one that no disk has to keep, where the host has such a place: for who writes a thousand times.
    pub(crate) fn in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() { Self::below(memory) } else { Self::new() }
    }

    fn below(place: &Path) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = place.join(format!("velodrome-test-{}-{number}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => return Self(path),
                // Process numbers come again: an earlier test process of this number has left it.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => panic!("{}: {error}", path.display()),
            }
        }
    }

    /// Itself.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// A path in it.
    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file, with the directories above it; whoever reads it sees the old or the new one, whole.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.join(name);
        let parent = path.parent().unwrap();
        fs::create_dir_all(parent).unwrap();
        // A file of its own for every writer; hidden, as it may be in a served directory.
        let beside = parent.join(format!(".new-{}", path.file_name().unwrap().display()));
        fs::write(&beside, content).unwrap();
        fs::rename(&beside, &path).unwrap();
    }

    /// A file of it as text; empty when it is not there yet.
    pub(crate) fn text(&self, name: &str) -> String {
        let bytes = fs::read(self.join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // What cannot be removed is left to whoever cleans temporary files.
        let _left = fs::remove_dir_all(&self.0);
    }
}
