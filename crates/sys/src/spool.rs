//! A directory in which files are written under names that nobody asks for, and then get their own.
//!
//! Owns the names and the order of calls that make a file appear whole or not at all. Every name is that of a file in the
//! directory itself; a name may be another file's tomorrow, so what is done to a file is done to the one that is meant, or to
//! none. Never decides who may name what. [`Spool`] and [`SpoolFile`] are neither `Send` nor `Sync`: a
//! descriptor belongs to the table of the thread that opened it.

use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, FlockOperation, Mode, OFlags, RawDir, RenameFlags, SeekFrom, Statx, StatxFlags,
};
use rustix::io::Errno;

/// What a file that is there already means for one that is to get its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and saving fails (`EEXIST`).
    Kept,
    /// It is replaced.
    Replaced,
}

/// Whether others hold the same directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holders {
    /// Nobody else did.
    Alone,
    /// Another process does, or the file system does not tell.
    Others,
}

/// What kept a file from being written, as far as it makes a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpoolFault {
    /// The file system, the quota or the largest size of a file is reached.
    Full,
    /// Out of descriptors or of memory.
    Exhausted,
    /// There is such a file.
    Exists,
    /// There is no such file.
    NotFound,
    /// The file of that name is not the one that is meant.
    Other,
    /// The process may not write there.
    Forbidden,
    /// The file system reported something else.
    Storage,
}

impl SpoolFault {
    /// What an error of this module means.
    #[must_use]
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

/// What is reported of a name that another file has.
const OTHER: Errno = Errno::STALE;

/// Which file it is, whatever its name. The number of a file that is gone is given to another one: the time at which it was
/// made tells them apart, where the file system knows it, but for those that are made within one tick of its clock: one that was saved, was
/// replaced and is gone by the time the other one is made, some milliseconds after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    device: (u32, u32),
    number: u64,
    made: Option<(i64, u32)>,
}

impl Identity {
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
    /// The path is no directory, or the process may not read it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let descriptor = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
        Ok(Self { descriptor, _table: PhantomData })
    }

    /// Holds the directory for as long as this lives, and says whether others do. `alone` is called, before anybody else
    /// can hold it, where nobody does.
    pub fn hold(&self, alone: impl FnOnce(&Self)) -> Holders {
        let lock = |operation| rustix::fs::flock(&self.descriptor, operation);
        let is_alone = lock(FlockOperation::NonBlockingLockExclusive).is_ok();
        if is_alone {
            alone(self);
        }
        // From now on together with whoever comes. Where there are no locks, nobody is ever alone.
        let _held = lock(FlockOperation::NonBlockingLockShared);
        if is_alone { Holders::Alone } else { Holders::Others }
    }

    /// Makes a file that only this user may read, for writing from its beginning.
    ///
    /// # Errors
    /// `EEXIST`, and what `openat` and `statx` say.
    pub fn create(&self, name: &str) -> io::Result<SpoolFile> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let mode = Mode::RUSR | Mode::WUSR;
        let name = plain(name)?;
        let descriptor = rustix::fs::openat(&self.descriptor, name, flags | OFlags::CLOEXEC, mode)?;
        match Identity::of_open(descriptor.as_fd()) {
            Ok(identity) => Ok(SpoolFile { descriptor, identity, _table: PhantomData }),
            Err(error) => {
                rustix::fs::unlinkat(&self.descriptor, name, AtFlags::empty())?;
                Err(error.into())
            }
        }
    }

    /// Reads the first bytes of a file, at most so many.
    ///
    /// # Errors
    /// `ESTALE` where another file has the name, and what `openat` and `read` say.
    pub fn read(&self, name: &str, meant: Identity, most: usize) -> io::Result<Vec<u8>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.descriptor, plain(name)?, flags, Mode::empty())?;
        meant.require(Identity::of_open(file.as_fd())?)?;
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

    /// Gives a file its name: at once, and whole. Whoever replaces it at the very moment may still have his own renamed.
    ///
    /// # Errors
    /// `EEXIST` where there is one that is kept, `ESTALE` where another file has the name `from`, and what `renameat` says.
    pub fn save(
        &self,
        from: &str,
        meant: Identity,
        to: &str,
        existing: Existing,
    ) -> io::Result<()> {
        let (from, to, directory) = (plain(from)?, plain(to)?, self.descriptor.as_fd());
        meant.require(Identity::at(directory, from)?)?;
        if existing == Existing::Replaced {
            return Ok(rustix::fs::renameat(directory, from, directory, to)?);
        }
        match rustix::fs::renameat_with(directory, from, directory, to, RenameFlags::NOREPLACE) {
            // A file system that does not know how: a link never replaces.
            Err(Errno::INVAL | Errno::NOSYS) => {
                rustix::fs::linkat(directory, from, directory, to, AtFlags::empty())?;
                Ok(rustix::fs::unlinkat(directory, from, AtFlags::empty())?)
            }
            renamed => Ok(renamed?),
        }
    }

    /// Takes a file away; one that is gone is no error.
    ///
    /// # Errors
    /// What `unlinkat` says.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.descriptor, plain(name)?, AtFlags::empty()) {
            Err(Errno::NOENT) => Ok(()),
            removed => Ok(removed?),
        }
    }

    /// The names of the directory for which this is true.
    ///
    /// # Errors
    /// What `getdents64` says.
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

/// A file that is being written. Dropped, it is closed.
#[derive(Debug)]
pub struct SpoolFile {
    descriptor: OwnedFd,
    identity: Identity,
    _table: PhantomData<*const ()>,
}

impl SpoolFile {
    /// Which file it is.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Appends all of the bytes. May wait for the disk.
    ///
    /// # Errors
    /// What `write` says; some bytes may have been written then.
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

    /// A directory of its own, gone with the test.
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
        // Within one tick of the file system's clock none is told apart.
        while make("later").made == mine.made {
            spool.remove("later").unwrap();
        }
        // Made and gone in turns: the file system may give numbers out again.
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
