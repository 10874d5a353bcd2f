//! A test's own directory, removed when the test ends.

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

    /// An empty one in memory, if the host has such a file system: for tests that write a thousand times.
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
                // Process ids are reused: an earlier test process with this id has left it.
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

    /// Writes a file, and the directories above it; a reader sees the complete old or new file.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.join(name);
        let parent = path.parent().unwrap();
        fs::create_dir_all(parent).unwrap();
        // A separate file for every writer; hidden, because it may be in a served directory.
        let beside = parent.join(format!(".new-{}", path.file_name().unwrap().display()));
        fs::write(&beside, content).unwrap();
        fs::rename(&beside, &path).unwrap();
    }

    /// A file as text; empty if it does not exist yet.
    pub(crate) fn text(&self, name: &str) -> String {
        let bytes = fs::read(self.join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // A directory that cannot be removed is left to the cleaning of temporary files.
        let _left = fs::remove_dir_all(&self.0);
    }
}
