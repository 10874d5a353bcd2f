//! Files below a root directory, as one thread holds them.
//!
//! Owns how a path is resolved: never above its root, never through a magic link, never waiting for the other end of a
//! FIFO. Never decides what may be served. [`Directory`] and [`FileHandle`] are neither `Send` nor `Sync`, because a
//! descriptor belongs to the table of the thread that opened it.

mod names;

use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::{Errno, ReadWriteFlags};

pub(crate) use names::RECORDS_SIZE;
pub use names::{DirectoryEntry, DirectoryNames, NamedFile};

/// Maximum tries of an open that a concurrent rename made ambiguous. Then the open fails with `EAGAIN`.
const RESOLVE_TRIES: usize = 16;

/// How symbolic links on the path to a file are treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Symlinks {
    /// Followed as long as they stay below the root; absolute links never do.
    #[default]
    FollowBeneath,
    /// Refused: nothing behind a link can be opened (`ELOOP`).
    Refuse,
}

/// The kind of a file, as far as it matters for serving files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// Bytes that can be served.
    Regular,
    /// A directory.
    Directory,
    /// A symbolic link that was not followed; only in [`NamedFile`].
    Symlink,
    /// A FIFO, a socket or a device, which cannot be served.
    Other,
}

/// A time of a file: seconds since 1970 and nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileTime {
    /// Seconds since 1970; negative before.
    pub seconds: i64,
    /// Nanoseconds within the second.
    pub nanoseconds: u32,
}

/// The kernel's metadata of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Metadata {
    /// Its kind.
    pub kind: FileKind,
    /// Its length in bytes.
    pub size: u64,
    /// When its content last changed, or the time set with `utimensat`.
    pub modified: FileTime,
    /// When content, mode, owner or link count last changed. It cannot be set.
    pub changed: FileTime,
    /// The inode number.
    pub inode: u64,
    /// The file system.
    pub device: u64,
    /// Permission bits.
    pub mode: u32,
}

impl Metadata {
    fn new(stat: &Stat) -> Self {
        Self {
            kind: FileKind::new(FileType::from_raw_mode(stat.st_mode)),
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified: FileTime::new(stat.st_mtime, stat.st_mtime_nsec),
            changed: FileTime::new(stat.st_ctime, stat.st_ctime_nsec),
            inode: stat.st_ino,
            device: stat.st_dev,
            mode: stat.st_mode & 0o7777,
        }
    }
}

impl FileKind {
    const fn new(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::Regular,
            FileType::Directory => Self::Directory,
            FileType::Symlink => Self::Symlink,
            _ => Self::Other,
        }
    }
}

impl FileTime {
    /// The kernel keeps nanoseconds below a thousand million; other values count as 0. Their type differs
    /// between rustix's system calls and those through libc.
    fn new(seconds: i64, nanoseconds: impl TryInto<u32>) -> Self {
        Self { seconds, nanoseconds: nanoseconds.try_into().unwrap_or(0) }
    }
}

/// Why an open or a read failed, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// There is no such file, or the name is invalid.
    NotFound,
    /// The path leaves the root, or goes through a refused link.
    Outside,
    /// The process may not read it.
    Forbidden,
    /// A socket, a device without a driver, or a directory instead of a file.
    NotRegular,
    /// It would have to wait for a disk.
    WouldWait,
    /// No descriptors or memory left.
    Exhausted,
    /// The file system reported an error.
    Storage,
}

impl Obstacle {
    /// The meaning of an error of this module.
    pub fn of(error: &io::Error) -> Self {
        match Errno::from_io_error(error) {
            Some(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG | Errno::INVAL) => {
                Self::NotFound
            }
            Some(Errno::XDEV | Errno::LOOP) => Self::Outside,
            Some(Errno::ACCESS | Errno::PERM) => Self::Forbidden,
            Some(Errno::NXIO | Errno::NODEV | Errno::ISDIR) => Self::NotRegular,
            Some(Errno::AGAIN) => Self::WouldWait,
            Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM) => Self::Exhausted,
            _ => Self::Storage,
        }
    }
}

/// A root below which files are opened. Holds an `O_PATH` descriptor.
#[derive(Debug)]
pub struct Directory {
    descriptor: OwnedFd,
    _table: PhantomData<*const ()>,
}

impl Directory {
    /// Opens the root. `path` is trusted: it comes from the configuration, not from a peer.
    ///
    /// # Errors
    /// If the path is not a directory, or the kernel refuses `openat2` (before Linux 5.6, or a seccomp filter that does
    /// not know it): without it nothing can be opened safely here.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let descriptor = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
        let directory = Self { descriptor, _table: PhantomData };
        match directory.look_beneath(Path::new("."), Symlinks::Refuse) {
            Ok(_) => Ok(directory),
            Err(error) if error.raw_os_error() == Some(Errno::NOSYS.raw_os_error()) => {
                Err(io::Error::new(
                    io::ErrorKind::Unsupported,
                    "openat2 is not available: files are served only on Linux 5.6 or later, and a \
                     container's seccomp profile has to allow it",
                ))
            }
            Err(error) => Err(error),
        }
    }

    /// The metadata of the root itself.
    ///
    /// # Errors
    /// The error of `fstat`.
    pub fn stat(&self) -> io::Result<Metadata> {
        stat(self.descriptor.as_fd())
    }

    /// The metadata of a file below the root, without opening it: devices and FIFOs do not notice.
    ///
    /// # Errors
    /// `ENOENT`, `ENOTDIR`, `EACCES`; `EXDEV` if the path leaves the root; `ELOOP` for a link that `symlinks` refuses
    /// or a magic link.
    pub fn look_beneath(&self, relative: &Path, symlinks: Symlinks) -> io::Result<Metadata> {
        let found = self.resolve(relative, OFlags::PATH, resolve_flags(symlinks))?;
        stat(found.as_fd())
    }

    /// Opens a file below the root for reading. May wait for the disk.
    ///
    /// # Errors
    /// As [`look_beneath`](Self::look_beneath); `ENXIO` for a socket.
    pub fn open_beneath(&self, relative: &Path, symlinks: Symlinks) -> io::Result<FileHandle> {
        let descriptor = self.resolve(relative, READING, resolve_flags(symlinks))?;
        Ok(FileHandle { descriptor, _table: PhantomData })
    }

    /// Opens a file below the root for reading, if no part of the path has to be read from a disk.
    ///
    /// # Errors
    /// As [`open_beneath`](Self::open_beneath), and `EAGAIN` (`WouldBlock`) if it would have to wait.
    pub fn open_cached(&self, relative: &Path, symlinks: Symlinks) -> io::Result<FileHandle> {
        let resolve = resolve_flags(symlinks) | ResolveFlags::CACHED;
        let descriptor = open_once(self.descriptor.as_fd(), relative, READING, resolve)?;
        Ok(FileHandle { descriptor, _table: PhantomData })
    }

    /// For a path with `..`, or a link containing it, any concurrent rename makes the kernel return `EAGAIN`: try
    /// again.
    fn resolve(&self, path: &Path, flags: OFlags, resolve: ResolveFlags) -> io::Result<OwnedFd> {
        let mut tries = 1;
        loop {
            match open_once(self.descriptor.as_fd(), path, flags, resolve) {
                Err(Errno::AGAIN | Errno::INTR) if tries < RESOLVE_TRIES => tries += 1,
                answer => return answer.map_err(io::Error::from),
            }
        }
    }
}

/// `O_NONBLOCK` so that opening a FIFO does not wait for a writer, `O_NOCTTY` so that a terminal does not become ours.
const READING: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

const fn resolve_flags(symlinks: Symlinks) -> ResolveFlags {
    let beneath = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);
    match symlinks {
        Symlinks::FollowBeneath => beneath,
        Symlinks::Refuse => beneath.union(ResolveFlags::NO_SYMLINKS),
    }
}

fn open_once(
    root: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
    resolve: ResolveFlags,
) -> Result<OwnedFd, Errno> {
    rustix::fs::openat2(root, path, flags | OFlags::CLOEXEC, Mode::empty(), resolve)
}

fn stat(descriptor: BorrowedFd<'_>) -> io::Result<Metadata> {
    Ok(Metadata::new(&rustix::fs::fstat(descriptor)?))
}

/// A file or directory open for reading, in this thread's descriptor table. Dropping it closes it.
#[derive(Debug)]
pub struct FileHandle {
    descriptor: OwnedFd,
    _table: PhantomData<*const ()>,
}

impl AsFd for FileHandle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl FileHandle {
    /// The current metadata of the file.
    ///
    /// # Errors
    /// The error of `fstat`.
    pub fn stat(&self) -> io::Result<Metadata> {
        stat(self.descriptor.as_fd())
    }

    /// Reads from `offset` into `buffer`; 0 is the end of the file. May wait for the disk, and may return less than
    /// fits.
    ///
    /// # Errors
    /// The error of `pread`; `EISDIR` for a directory.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        loop {
            match rustix::io::pread(&self.descriptor, &mut *buffer, offset) {
                Err(Errno::INTR) => {}
                answer => return answer.map_err(io::Error::from),
            }
        }
    }

    /// Whether the last byte of a region is in the page cache, so that sending the region will probably not wait.
    ///
    /// Also true if the file system cannot tell, or the read fails: the sender then waits, or gets the error, and
    /// does not ask forever.
    pub fn read_ready(&self, offset: u64, length: usize) -> bool {
        let Some(last) = offset.checked_add(length as u64).and_then(|end| end.checked_sub(1))
        else {
            return true;
        };
        let mut byte = [0_u8];
        let mut buffers = [io::IoSliceMut::new(&mut byte)];
        let answer =
            rustix::io::preadv2(&self.descriptor, &mut buffers, last, ReadWriteFlags::NOWAIT);
        answer != Err(Errno::AGAIN)
    }
}

/// The current metadata of the directory to which a trusted path leads, following links.
///
/// A root that was replaced, for example by a deployment that changes a link, has another inode than the [`Directory`]
/// opened before.
///
/// # Errors
/// The error of `stat`.
pub fn look_at_root(path: &Path) -> io::Result<Metadata> {
    Ok(Metadata::new(&rustix::fs::stat(path)?))
}

/// Whether this program may write a file, given by its path. Nothing is written.
///
/// # Errors
/// Why not: no permission, a read-only file system, no such file.
pub fn may_write(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::access(path, rustix::fs::Access::WRITE_OK)?)
}

/// Free space of the file system of a path, in percent of what users of it may have.
///
/// # Errors
/// The path cannot be found, or its file system has no size, as procfs.
pub fn free_percent(path: &Path) -> io::Result<f64> {
    let about = rustix::fs::statvfs(path)?;
    if about.f_blocks == 0 {
        return Err(io::ErrorKind::Unsupported.into());
    }
    Ok(100.0 * about.f_bavail as f64 / about.f_blocks as f64)
}

/// Whether this program may create files in a directory, given by its path. Nothing is created.
///
/// # Errors
/// Why not: no permission, a read-only file system, one whose files only the kernel makes, no such directory.
pub fn may_create_in(directory: &Path) -> io::Result<()> {
    if FileType::from_raw_mode(rustix::fs::stat(directory)?.st_mode) != FileType::Directory {
        return Err(Errno::NOTDIR.into());
    }
    // Procfs, sysfs, debugfs, tracefs, securityfs, cgroup, cgroup2, devpts and selinuxfs (statfs(2)), where the
    // permissions allow root to create files, and nobody can.
    let is_of_kernel = matches!(
        rustix::fs::statfs(directory)?.f_type,
        rustix::fs::PROC_SUPER_MAGIC
            | 0x6265_6572
            | 0x6462_6720
            | 0x7472_6163
            | 0x7363_6673
            | 0x0027_e0eb
            | 0x6367_7270
            | 0x1cd1
            | 0xf97c_ff8c
    );
    if is_of_kernel {
        let why = "only the kernel makes files in this file system";
        return Err(io::Error::new(io::ErrorKind::Unsupported, why));
    }
    let wanted = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
    Ok(rustix::fs::access(directory, wanted)?)
}
