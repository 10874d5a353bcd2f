//! A directory in which files are written under temporary names, and then get permanent ones.
//!
//! Owns the names and the order of calls that make a file appear completely or not at all. Every name is that of a file
//! in the directory itself. A name may belong to another file tomorrow, so an operation applies to the intended file,
//! or to none. Never decides which names are allowed. [`Spool`] and [`SpoolFile`] are neither `Send` nor `Sync`,
//! because a descriptor belongs to the table of the thread that opened it.

use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, FlockOperation, Mode, OFlags, RawDir, RenameFlags, SeekFrom, Statx, StatxFlags,
};
use rustix::io::Errno;

/// The treatment of an existing file of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Keep it: saving fails (`EEXIST`).
    Kept,
    /// Replace it.
    Replaced,
}

/// Whether other processes hold the same directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holders {
    /// None did.
    Alone,
    /// Another process does, or the file system does not tell.
    Others,
}

/// Why a file was not written, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpoolFault {
    /// The file system, the quota or the maximum file size is full.
    Full,
    /// No descriptors or memory left.
    Exhausted,
    /// The file exists already.
    Exists,
    /// There is no such file.
    NotFound,
    /// The file with that name is not the intended one.
    Other,
    /// The process may not write there.
    Forbidden,
    /// The file system reported something else.
    Storage,
}

impl SpoolFault {
    /// The meaning of an error of this module.
    pub fn of(error: &io::Error) -> Self {
        match Errno::from_io_error(error) {
            Some(Errno::NOSPC | Errno::DQUOT | Errno::FBIG) => Self::Full,
            Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM) => Self::Exhausted,
            Some(Errno::EXIST | Errno::ISDIR) => Self::Exists,
            Some(Errno::NOENT) => Self::NotFound,
            Some(OTHER) => Self::Other,
            Some(Errno::ACCESS | Errno::PERM | Errno::ROFS) => Self::Forbidden,
            _ => Self::Storage,
        }
    }
}

/// The error for a name that another file has.
const OTHER: Errno = Errno::STALE;

/// Identifies a file, whatever its name. The inode number of a deleted file is reused: the time of creation tells the
/// files apart, if the file system records it, except for files created within one tick of its clock, that is, if the
/// first one was saved, replaced and deleted within a few milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileIdentity {
    device: (u32, u32),
    number: u64,
    made: Option<(i64, u32)>,
}

impl FileIdentity {
    fn at(directory: BorrowedFd<'_>, name: &str) -> Result<Self, Errno> {
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH;
        let asked = StatxFlags::INO | StatxFlags::BTIME;
        rustix::fs::statx(directory, name, flags, asked).map(|told| Self::of(&told))
    }

    fn of_open(file: BorrowedFd<'_>) -> Result<Self, Errno> {
        Self::at(file, "")
    }

    fn of(told: &Statx) -> Self {
        let knows_time = told.stx_mask & StatxFlags::BTIME.bits() != 0;
        Self {
            device: (told.stx_dev_major, told.stx_dev_minor),
            number: told.stx_ino,
            made: knows_time.then_some((told.stx_btime.tv_sec, told.stx_btime.tv_nsec)),
        }
    }

    fn require(self, found: Self) -> Result<(), Errno> {
        if found == self { Ok(()) } else { Err(OTHER) }
    }
}

/// Such a directory.
#[derive(Debug)]
pub struct Spool {
    descriptor: OwnedFd,
    _table: PhantomData<*const ()>,
}

impl Spool {
    /// Opens it. `path` is trusted: it comes from the configuration, not from a peer.
    ///
    /// # Errors
    /// If the path is not a directory, or the process may not read it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let descriptor = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
        Ok(Self { descriptor, _table: PhantomData })
    }

    /// Holds the directory as long as this lives, and returns whether others do. If none does, `alone` is called before
    /// any other process can hold it.
    pub fn hold(&self, alone: impl FnOnce(&Self)) -> Holders {
        let lock = |operation| rustix::fs::flock(&self.descriptor, operation);
        let is_alone = lock(FlockOperation::NonBlockingLockExclusive).is_ok();
        if is_alone {
            alone(self);
        }
        // From now on shared with later processes. Without locks, no process is ever alone.
        let _held = lock(FlockOperation::NonBlockingLockShared);
        if is_alone { Holders::Alone } else { Holders::Others }
    }

    /// Creates a file that only this user may read, to be written from its beginning.
    ///
    /// # Errors
    /// `EEXIST`, and what `openat` and `statx` say.
    pub fn create(&self, name: &str) -> io::Result<SpoolFile> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let mode = Mode::RUSR | Mode::WUSR;
        let name = plain(name)?;
        let descriptor = rustix::fs::openat(&self.descriptor, name, flags | OFlags::CLOEXEC, mode)?;
        match FileIdentity::of_open(descriptor.as_fd()) {
            Ok(identity) => Ok(SpoolFile { descriptor, identity, _table: PhantomData }),
            Err(error) => {
                rustix::fs::unlinkat(&self.descriptor, name, AtFlags::empty())?;
                Err(error.into())
            }
        }
    }

    /// Opens an existing file to write over its beginning. Whatever has the name, if that is no regular file, is not
    /// waited for.
    ///
    /// # Errors
    /// `ELOOP` for a link, and what `openat` and `statx` say.
    pub fn reopen(&self, name: &str) -> io::Result<SpoolFile> {
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let descriptor = rustix::fs::openat(&self.descriptor, plain(name)?, flags, Mode::empty())?;
        let identity = FileIdentity::of_open(descriptor.as_fd())?;
        Ok(SpoolFile { descriptor, identity, _table: PhantomData })
    }

    /// Reads the first bytes of a file, up to this many.
    ///
    /// # Errors
    /// `ESTALE` if another file has the name, and what `openat` and `read` return.
    pub fn read(&self, name: &str, meant: FileIdentity, most: usize) -> io::Result<Vec<u8>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.descriptor, plain(name)?, flags, Mode::empty())?;
        meant.require(FileIdentity::of_open(file.as_fd())?)?;
        let size = rustix::fs::fstat(&file)?.st_size;
        let size = usize::try_from(size).unwrap_or(usize::MAX).min(most);
        let mut bytes = vec![0; size];
        let mut filled = 0;
        while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match rustix::io::read(&file, rest) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }

    /// Gives a file its permanent name, atomically. A file that replaces it at that very moment may be renamed instead.
    ///
    /// # Errors
    /// `EEXIST` if an existing one is kept, `ESTALE` if another file has the name `from`, and what `renameat` returns.
    pub fn save(
        &self,
        from: &str,
        meant: FileIdentity,
        to: &str,
        existing: Existing,
    ) -> io::Result<()> {
        let (from, to, directory) = (plain(from)?, plain(to)?, self.descriptor.as_fd());
        meant.require(FileIdentity::at(directory, from)?)?;
        if existing == Existing::Replaced {
            return Ok(rustix::fs::renameat(directory, from, directory, to)?);
        }
        match rustix::fs::renameat_with(directory, from, directory, to, RenameFlags::NOREPLACE) {
            // The file system does not support it; a hard link never replaces.
            Err(Errno::INVAL | Errno::NOSYS) => {
                rustix::fs::linkat(directory, from, directory, to, AtFlags::empty())?;
                Ok(rustix::fs::unlinkat(directory, from, AtFlags::empty())?)
            }
            renamed => Ok(renamed?),
        }
    }

    /// Removes a file. A missing file is not an error.
    ///
    /// # Errors
    /// The error of `unlinkat`.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.descriptor, plain(name)?, AtFlags::empty()) {
            Err(Errno::NOENT) => Ok(()),
            removed => Ok(removed?),
        }
    }

    /// The names in the directory for which this is true.
    ///
    /// # Errors
    /// The error of `getdents64`.
    pub fn names(&self, wanted: impl Fn(&str) -> bool) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        rustix::fs::seek(&self.descriptor, SeekFrom::Start(0))?;
        let mut records = vec![std::mem::MaybeUninit::uninit(); crate::file::RECORDS_SIZE];
        let mut records = RawDir::new(&self.descriptor, &mut records);
        while let Some(record) = records.next() {
            let record = record?;
            if let Ok(name) = record.file_name().to_str()
                && wanted(name)
            {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }
}

/// The name of a file in the directory itself.
fn plain(name: &str) -> Result<&str, Errno> {
    let is_plain = !matches!(name, "" | "." | "..") && !name.contains('/');
    if is_plain { Ok(name) } else { Err(Errno::INVAL) }
}

/// A file that is being written. Dropping it closes it.
#[derive(Debug)]
pub struct SpoolFile {
    descriptor: OwnedFd,
    identity: FileIdentity,
    _table: PhantomData<*const ()>,
}

impl SpoolFile {
    /// Its identity.
    pub fn identity(&self) -> FileIdentity {
        self.identity
    }

    /// Waits until what was written is on the disk.
    ///
    /// # Errors
    /// The error of `fdatasync`.
    pub fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fdatasync(&self.descriptor)?)
    }

    /// Appends all of the bytes. May wait for the disk.
    ///
    /// # Errors
    /// The error of `write`; some bytes may have been written.
    pub fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            match rustix::io::write(&self.descriptor, rest) {
                Ok(0) => return Err(Errno::NOSPC.into()),
                Ok(count) => rest = rest.get(count..).unwrap_or_default(),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[cfg(not(miri))]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::*;

    /// A separate directory, removed at the end of the test.
    struct TestDirectory(PathBuf);

    impl TestDirectory {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("spool-{name}-{}", std::process::id()));
            fs::create_dir(&path).unwrap();
            Self(path)
        }

        fn text(&self, name: &str) -> String {
            fs::read_to_string(self.0.join(name)).unwrap()
        }
    }

    impl Drop for TestDirectory {
        fn drop(&mut self) {
            let _gone = fs::remove_dir_all(&self.0);
        }
    }

    fn fault(done: io::Result<()>) -> SpoolFault {
        SpoolFault::of(&done.unwrap_err())
    }

    #[test]
    fn a_file_appears_when_it_is_saved() {
        let place = TestDirectory::new("saved");
        let spool = Spool::open(&place.0).unwrap();
        let [one, two] = [("a.part", "one"), ("b.part", "two")].map(|(part, text)| {
            let file = spool.create(part).unwrap();
            file.append(&text.as_bytes()[..1]).unwrap();
            file.append(&text.as_bytes()[1..]).unwrap();
            file.identity()
        });
        assert_eq!(fault(spool.create("a.part").map(drop)), SpoolFault::Exists);
        let mode = fs::metadata(place.0.join("a.part")).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o600);
        spool.save("a.part", one, "a", Existing::Kept).unwrap();
        assert_eq!(fault(spool.save("b.part", two, "a", Existing::Kept)), SpoolFault::Exists);
        assert_eq!(place.text("a"), "one");
        spool.save("b.part", two, "a", Existing::Replaced).unwrap();
        assert_eq!(
            (place.text("a").as_str(), spool.read("a", two, 9).unwrap()),
            ("two", b"two".to_vec())
        );
        assert_eq!(spool.read("a", two, 2).unwrap(), b"tw");
        for _ in 0..2 {
            assert_eq!(spool.names(|name| name.len() == 1 && name != ".").unwrap(), ["a"]);
        }
        spool.remove("a").unwrap();
        spool.remove("a").unwrap();
        assert_eq!(fault(spool.save("a", two, "b", Existing::Kept)), SpoolFault::NotFound);
    }

    #[test]
    fn a_file_whose_name_is_anothers_is_neither_read_nor_moved() {
        let place = TestDirectory::new("others");
        let spool = Spool::open(&place.0).unwrap();
        let make = |part: &str| {
            let file = spool.create(part).unwrap();
            file.append(part.as_bytes()).unwrap();
            file.identity()
        };
        let mine = make("mine");
        spool.save("mine", mine, "a", Existing::Kept).unwrap();
        // Files created within one tick of the file system's clock are not distinguished.
        while make("later").made == mine.made {
            spool.remove("later").unwrap();
        }
        // Created and removed repeatedly: the file system may reuse inode numbers.
        for round in 0..50 {
            let part = format!("theirs-{round}");
            let theirs = make(&part);
            spool.save(&part, theirs, "a", Existing::Replaced).unwrap();
            assert_eq!(fault(spool.save("a", mine, "b", Existing::Kept)), SpoolFault::Other);
            assert_eq!(fault(spool.read("a", mine, 9).map(drop)), SpoolFault::Other);
            assert_eq!(place.text("a"), part);
        }
    }

    #[test]
    fn a_name_leads_nowhere_else() {
        let place = TestDirectory::new("names");
        let spool = Spool::open(&place.0).unwrap();
        fs::create_dir(place.0.join("below")).unwrap();
        let a = spool.create("a").unwrap().identity();
        for name in ["", ".", "..", "below/b", "../b", "/b"] {
            assert!(spool.create(name).is_err(), "{name}");
            assert!(spool.save("a", a, name, Existing::Replaced).is_err(), "{name}");
            assert!(spool.read(name, a, 1).is_err() && spool.remove(name).is_err(), "{name}");
        }
        assert_eq!(fault(spool.save("a", a, "below", Existing::Replaced)), SpoolFault::Exists);
        std::os::unix::fs::symlink("a", place.0.join("link")).unwrap();
        assert!(spool.read("link", a, 1).is_err() && spool.create("link").is_err());
    }

    #[test]
    fn only_the_first_holder_is_alone() {
        let place = TestDirectory::new("held");
        let (one, other) = (Spool::open(&place.0).unwrap(), Spool::open(&place.0).unwrap());
        let mut swept = 0;
        assert_eq!(one.hold(|_| swept += 1), Holders::Alone);
        assert_eq!(other.hold(|_| swept += 1), Holders::Others);
        drop(one);
        let third = Spool::open(&place.0).unwrap();
        assert_eq!(third.hold(|_| swept += 1), Holders::Others);
        drop((other, third));
        assert_eq!(Spool::open(&place.0).unwrap().hold(|_| swept += 1), Holders::Alone);
        assert_eq!(swept, 2);
    }
}
