//! A log that lines are appended to: a file, a FIFO, or a standard stream of the process.
//!
//! Owns that neither opening nor writing waits for a reader. Regular files may wait for their disk.
//! Never decides what happens to bytes for which there is no room.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::credentials::User;
use crate::limits::LOG_PIECE_BYTES;

/// Never waits for the reader of a FIFO, and no terminal becomes that of the process.
const APPENDING: OFlags = OFlags::WRONLY
    .union(OFlags::APPEND)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// The permissions of a new file, less the umask of the process.
const NEW: Mode = Mode::from_raw_mode(0o666);

/// The possible cause of a wait in a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Only the disk.
    Regular,
    /// A reader: a pipe, a FIFO, a socket or a terminal.
    Stream,
}

/// An open log.
#[derive(Debug)]
pub struct LogFile {
    descriptor: OwnedFd,
    kind: Kind,
}

impl LogFile {
    /// Opens a file for appending, and creates it if it is missing. A FIFO must have a reader.
    ///
    /// # Errors
    /// The error of `open`, or one that says that nobody reads a FIFO.
    pub fn open(path: &Path) -> io::Result<Self> {
        match rustix::fs::openat(CWD, path, APPENDING | OFlags::CREATE, NEW) {
            Ok(descriptor) => Self::of(descriptor),
            Err(Errno::NXIO) if is_fifo(path) => Err(io::Error::new(
                io::ErrorKind::NotConnected,
                "it is a FIFO that nobody reads; start its reader first",
            )),
            Err(error) => Err(error.into()),
        }
    }

    /// Creates a missing file for a user who may not create files in its directory. A file that exists stays as it is.
    ///
    /// # Errors
    /// The error of `open` or `fchown`.
    pub fn create_for(owner: &User, path: &Path) -> io::Result<()> {
        match rustix::fs::openat(CWD, path, APPENDING | OFlags::CREATE | OFlags::EXCL, NEW) {
            Ok(descriptor) => owner.own(&descriptor),
            Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The standard output of this process.
    ///
    /// # Errors
    /// If there is no descriptor left.
    pub fn standard_output() -> io::Result<Self> {
        Self::of(rustix::io::fcntl_dupfd_cloexec(io::stdout(), 3)?)
    }

    /// The standard error of this process.
    ///
    /// # Errors
    /// If there is no descriptor left.
    pub fn standard_error() -> io::Result<Self> {
        Self::of(rustix::io::fcntl_dupfd_cloexec(io::stderr(), 3)?)
    }

    fn of(descriptor: OwnedFd) -> io::Result<Self> {
        let kind = match FileType::from_raw_mode(rustix::fs::fstat(&descriptor)?.st_mode) {
            FileType::RegularFile => Kind::Regular,
            _ => Kind::Stream,
        };
        Ok(Self { descriptor, kind })
    }

    /// Writes the first of these bytes, as whole lines if possible, and returns how many; 0 if there is no room now.
    ///
    /// # Errors
    /// The error of `write`.
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let piece = match self.kind {
            Kind::Regular => bytes,
            Kind::Stream if self.wait_for_room(Duration::ZERO) => piece_of(bytes),
            Kind::Stream => return Ok(0),
        };
        loop {
            match rustix::io::write(&self.descriptor, piece) {
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(0),
                written => return Ok(written?),
            }
        }
    }

    /// Waits at most this long for room. Also true if a write would fail.
    pub fn wait_for_room(&self, most: Duration) -> bool {
        let mut polled = [PollFd::new(&self.descriptor, PollFlags::OUT)];
        let most = Timespec::try_from(most).unwrap_or(Timespec { tv_sec: 0, tv_nsec: 0 });
        loop {
            match poll(&mut polled, Some(&most)) {
                Err(Errno::INTR) => {}
                ready => return ready.is_ok_and(|count| count > 0),
            }
        }
    }
}

/// Whole lines that a pipe takes at once; of a longer line, as much as it takes.
fn piece_of(bytes: &[u8]) -> &[u8] {
    let most = bytes.get(..LOG_PIECE_BYTES).unwrap_or(bytes);
    let end = most.iter().rposition(|byte| *byte == b'\n').map_or(most.len(), |last| last + 1);
    most.get(..end).unwrap_or(most)
}

fn is_fifo(path: &Path) -> bool {
    let stat = rustix::fs::stat(path);
    stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Fifo)
}

#[cfg(test)]
#[cfg(not(miri))]
#[expect(clippy::disallowed_types, reason = "a test holds the other end of its FIFO")]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::OpenOptionsExt;

    use super::*;

    /// A FIFO of this test, removed at the end.
    struct Fifo(std::path::PathBuf);

    impl Fifo {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("log-{name}-{}", std::process::id()));
            let made = rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0);
            made.unwrap();
            Self(path)
        }

        fn reader(&self) -> std::fs::File {
            let flags = OFlags::NONBLOCK.bits().cast_signed();
            std::fs::OpenOptions::new().read(true).custom_flags(flags).open(&self.0).unwrap()
        }
    }

    impl Drop for Fifo {
        fn drop(&mut self) {
            let _gone = std::fs::remove_file(&self.0);
        }
    }

    #[test]
    fn a_fifo_without_a_reader_is_an_error_and_with_one_is_never_waited_for() {
        let fifo = Fifo::new("fifo");
        let refused = LogFile::open(&fifo.0).unwrap_err();
        assert!(refused.to_string().contains("nobody reads"), "{refused}");
        let mut reader = fifo.reader();
        let log = LogFile::open(&fifo.0).unwrap();
        let line = [&[b'x'; 99][..], b"\n"].concat();
        let lines = line.repeat(100);
        let mut written = 0;
        loop {
            match log.write(&lines).unwrap() {
                0 => break,
                count => {
                    assert_eq!(count % 100, 0, "whole lines");
                    written += count;
                }
            }
        }
        assert!(written > LOG_PIECE_BYTES, "{written}");
        assert!(!log.wait_for_room(Duration::ZERO));
        let mut all = vec![0; written];
        reader.read_exact(&mut all).unwrap();
        assert!(log.wait_for_room(Duration::ZERO));
        assert_ne!(log.write(&lines).unwrap(), 0);
        drop(reader);
        assert_eq!(log.write(&lines).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
