//! A directory with files to be served, and a disk that serves them.

use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use sys::file::Symlinks;
use wire::http::encoding::{Accepted, Available, Coding};

use files::absence::Absence;
use files::job::{Errand, FileContent};
use files::{
    BodySource, CachedEntry, Disk, EntryKey, FileRules, Job, LookupResult, PathCache, PathContent,
    PathLookup, Representation, Root, RootIndex,
};

pub(crate) const ROOT: RootIndex = RootIndex(0);

/// Long enough after every file of a test that time stamps can be trusted: the year 2096.
pub(crate) const LATER_MS: u64 = 4_000_000_000_000;

/// A site in its own directory, which is deleted when it is dropped.
pub(crate) struct Site {
    path: PathBuf,
    pub(crate) rules: Arc<FileRules>,
    pub(crate) disk: Disk,
}

impl Site {
    pub(crate) fn new(rules: FileRules) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("velodrome-files-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(path.join("root")).unwrap();
        let disk = Disk::open(&[root_of(&path)]).unwrap();
        Self { path, rules: Arc::new(rules), disk }
    }

    pub(crate) fn root(&self) -> Root {
        root_of(&self.path)
    }

    /// A path beside the root.
    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub(crate) fn file(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join("root").join(name)
    }

    pub(crate) fn write(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let file = self.file(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
    }

    /// Sets the modification time, in seconds since 1970.
    pub(crate) fn date(&self, name: &str, seconds: u64) {
        set_modified(&self.file(name), seconds);
    }

    pub(crate) fn look_up(&mut self, path: &str) -> PathContent {
        content(self.look_up_with(path, Errand { known: None, wanted: Available::IDENTITY }))
    }

    pub(crate) fn look_up_with(&mut self, path: &str, errand: Errand) -> LookupResult {
        let key = EntryKey { root: ROOT, path };
        self.disk.look_up(&Job::new(key, &self.rules, errand, LATER_MS))
    }

    pub(crate) fn look_up_file(&mut self, path: &str) -> FileContent {
        match self.look_up(path) {
            PathContent::File(file) => file,
            other => panic!("{path}: {other:?}"),
        }
    }

    pub(crate) fn absence(&mut self, path: &str) -> Option<Absence> {
        match self.look_up(path) {
            PathContent::Missing(absence) => Some(absence),
            _ => None,
        }
    }

    /// The cache entry of a scheduler after a client with these codings requested the path.
    pub(crate) fn entry(&mut self, path: &str, accept_encoding: &str) -> Rc<CachedEntry> {
        let mut cache = PathCache::new(1 << 30);
        let key = EntryKey { root: ROOT, path };
        let accepted = accepts(accept_encoding);
        let errand = match cache.look(key, &accepted, 5_000) {
            PathLookup::Missing(errand) => errand,
            other => panic!("{other:?}"),
        };
        let found = self.disk.look_up(&Job::new(key, &self.rules, errand, LATER_MS));
        cache.insert(key, found, 5_001);
        match cache.look(key, &accepted, 5_001) {
            PathLookup::Fresh(entry) => entry,
            other => panic!("{other:?}"),
        }
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _gone = fs::remove_dir_all(&self.path);
    }
}

fn root_of(path: &Path) -> Root {
    Root { path: path.join("root"), symlinks: Symlinks::FollowBeneath }
}

#[expect(clippy::disallowed_types, reason = "only a file can be given a time")]
pub(crate) fn set_modified(file: &Path, seconds: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    fs::File::options().write(true).open(file).unwrap().set_modified(time).unwrap();
}

pub(crate) fn content(found: LookupResult) -> PathContent {
    match found {
        LookupResult::Content(content) => content,
        LookupResult::Unchanged => panic!("unchanged"),
    }
}

/// The errand of a cache that knows this file.
pub(crate) fn known(file: &FileContent) -> Errand {
    Errand { known: Some(Arc::clone(&file.known)), wanted: file.known.tried }
}

pub(crate) fn accepts(accept_encoding: &str) -> Accepted {
    let mut accepted = Accepted::default();
    accepted.read_line(accept_encoding.as_bytes());
    accepted
}

pub(crate) fn bytes(file: &FileContent, coding: Coding) -> &[u8] {
    memory(file.representation(coding).unwrap())
}

pub(crate) fn memory(representation: &Representation) -> &[u8] {
    match &representation.body {
        BodySource::Memory(bytes) => bytes,
        BodySource::Large(large) => panic!("{large:?} is not in memory"),
    }
}

pub(crate) fn etag(file: &FileContent) -> &str {
    &file.representation(Coding::Identity).unwrap().etag
}
