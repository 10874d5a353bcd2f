//! The files of a host.
//!
//! Owns that everything is read through one directory, `/` or the copy of another machine, that
//! nothing is ever written, and the list of what was read, which a copy needs. A missing or
//! unreadable file is a result, not an error.

#![expect(clippy::disallowed_types, reason = "a command has one descriptor table")]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use crate::limits::{FILE_SIZE, MAPPINGS};
use crate::settings;

/// Bytes that most files have at most.
const USUAL_LENGTH: usize = 4096;

/// The bit of `CAP_NET_ADMIN` (capabilities(7)).
const NET_ADMIN: u32 = 12;

/// The result of reading a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    Text(String),
    Absent,
    /// Reading it is not permitted.
    Denied,
}

/// A file, link or directory that a check has read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Text(String),
    /// The last component of a link's target.
    Link(String),
    Directory,
    /// A file whose existence was asked for, not its text.
    File,
}

/// The files below a directory.
#[derive(Debug)]
pub struct HostFiles {
    root: PathBuf,
    seen: RefCell<BTreeMap<String, Seen>>,
    /// The answers that the kernel provides only by query, by the path under which they are read.
    answers: BTreeMap<String, String>,
    /// The `/sys` of another network namespace, for the files of its devices.
    devices: Option<OwnedFd>,
}

/// The files of devices, which belong to a network namespace.
const OF_DEVICES: &str = "/sys/class/net";

impl HostFiles {
    /// The files below this directory.
    pub fn below(root: &Path) -> Self {
        let (seen, answers) = (RefCell::default(), BTreeMap::new());
        Self { root: root.to_path_buf(), seen, answers, devices: None }
    }

    /// The files of this host, with the devices of the network namespace of the calling thread, whatever is mounted; or
    /// those below another directory.
    pub fn here(root: &Path) -> Self {
        let mut files = Self::below(root);
        if files.are_live()
            && files.has_kernel_sys()
            && let Ok(sys) = sys::namespace::devices()
        {
            files.read_devices_from(sys);
        }
        files
    }

    /// Whether `/sys` is the kernel's: somebody may have mounted other files there, which are meant then.
    fn has_kernel_sys(&self) -> bool {
        let mounts = self.text("/proc/self/mounts").unwrap_or_default();
        let kind = |line: &str| {
            let mut words = line.split(' ').skip(1);
            (words.next() == Some("/sys")).then(|| words.next() == Some("sysfs"))
        };
        mounts.lines().filter_map(kind).next_back().unwrap_or(false)
    }

    /// Reads the files of devices from this `/sys` from now on.
    pub(crate) fn read_devices_from(&mut self, sys: OwnedFd) {
        self.devices = Some(sys);
    }

    /// Adds the kernel's answers, which are read as files.
    pub(crate) fn add_answers(&mut self, answers: BTreeMap<String, String>) {
        self.answers.extend(answers);
    }

    /// Everything that checks have read so far, by path; without paths that do not exist.
    pub(crate) fn seen(&self) -> BTreeMap<String, Seen> {
        self.seen.borrow().clone()
    }

    /// Records what was read; a text replaces the mere existence of a file.
    fn note(&self, path: &str, seen: Seen) {
        let mut all = self.seen.borrow_mut();
        if matches!(seen, Seen::Text(_) | Seen::Link(_)) || !all.contains_key(path) {
            all.insert(path.to_owned(), seen);
        }
    }

    /// Where a file is found.
    pub(crate) fn place(&self, path: &str) -> PathBuf {
        if let Some(sys) = &self.devices
            && path.starts_with(OF_DEVICES)
        {
            let below = path.strip_prefix("/sys/").unwrap_or(path);
            return Path::new("/proc/self/fd").join(sys.as_raw_fd().to_string()).join(below);
        }
        self.root.join(path.trim_start_matches('/'))
    }

    /// Whether these are the files of this host, whose kernel can be asked.
    pub(crate) fn are_live(&self) -> bool {
        self.root == Path::new("/")
    }

    /// Reads a file, without the white space at its end.
    pub(crate) fn look(&self, path: &str) -> Look {
        let answer = match self.answers.get(path) {
            Some(text) => Some(text.clone()),
            None if self.are_live() => settings::read(path),
            None => None,
        };
        if let Some(text) = answer {
            self.note(path, Seen::Text(text.clone()));
            return Look::Text(text.trim_end().to_owned());
        }
        // The kernel does not tell the length of its files: with less room they would be read in small parts.
        let mut bytes = Vec::with_capacity(USUAL_LENGTH);
        let read = File::open(self.place(path))
            .and_then(|file| file.take(FILE_SIZE).read_to_end(&mut bytes));
        match read {
            Ok(_) => {
                // A comment that is not UTF-8 does not hide the rest of a file.
                let text = String::from_utf8_lossy(&bytes);
                self.note(path, Seen::Text(text.clone().into_owned()));
                Look::Text(text.trim_end().to_owned())
            }
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Look::Denied,
            Err(_) => Look::Absent,
        }
    }

    /// The text of a file, if it exists and may be read.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        match self.look(path) {
            Look::Text(text) => Some(text),
            Look::Absent | Look::Denied => None,
        }
    }

    /// The number of lines of a file, which may be longer than what is read of others. Its text is not recorded: a copy
    /// has the number alone.
    pub(crate) fn lines_of(&self, path: &str) -> Option<u64> {
        let counted = format!("/velodrome/lines{path}");
        if !self.are_live() {
            return self.number(&counted);
        }
        let (mut file, mut count) = (File::open(self.place(path)).ok()?.take(MAPPINGS), 0);
        let mut bytes = vec![0; 64 << 10];
        loop {
            match file.read(&mut bytes).ok()? {
                0 => break,
                length => {
                    count += bytes[..length].iter().filter(|byte| **byte == b'\n').count() as u64
                }
            }
        }
        self.note(&counted, Seen::Text(count.to_string()));
        Some(count)
    }

    /// The integer that a file contains.
    pub(crate) fn number(&self, path: &str) -> Option<u64> {
        self.text(path)?.trim().parse().ok()
    }

    /// A sysctl, by its name with dots.
    pub(crate) fn sysctl(&self, name: &str) -> Option<u64> {
        self.number(&format!("/proc/sys/{}", name.replace('.', "/")))
    }

    /// Whether this file or directory exists.
    pub(crate) fn has(&self, path: &str) -> bool {
        let there = self.place(path);
        match there.metadata() {
            Ok(found) => {
                self.note(path, if found.is_dir() { Seen::Directory } else { Seen::File });
                true
            }
            Err(_) => false,
        }
    }

    pub(crate) fn is_directory(&self, path: &str) -> bool {
        self.place(path).is_dir()
    }

    /// The names in a directory, sorted.
    pub(crate) fn names(&self, path: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.place(path)) else { return Vec::new() };
        self.note(path, Seen::Directory);
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok()?;
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let seen = if is_directory { Seen::Directory } else { Seen::File };
            self.note(&format!("{path}/{name}"), seen);
            Some(name)
        };
        let mut names: Vec<String> = entries.filter_map(name).collect();
        names.sort_unstable();
        names
    }

    /// The reason why this program cannot write a file of this host; `None` for the files of another host.
    pub(crate) fn hindrance(&self, path: &str) -> Option<String> {
        if !self.are_live() {
            return None;
        }
        if settings::is_setting(path) {
            let status = self.text("/proc/self/status")?;
            let held = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
            let held = u64::from_str_radix(held.trim(), 16).ok()?;
            let why = "it takes the capability CAP_NET_ADMIN: try as root";
            return (held >> NET_ADMIN & 1 == 0).then(|| why.to_owned());
        }
        let why = match sys::file::may_write(&self.place(path)).err()?.kind() {
            ErrorKind::ReadOnlyFilesystem => {
                "it is mounted read-only, as in a container: it is for the host to write"
            }
            ErrorKind::PermissionDenied => "it is not yours to write: try as root",
            _ => "it is not there",
        };
        Some(why.to_owned())
    }

    /// The last component of a link's target.
    pub(crate) fn link(&self, path: &str) -> Option<String> {
        let target = std::fs::read_link(self.place(path)).ok()?;
        let name = target.file_name()?.to_str()?.to_owned();
        self.note(path, Seen::Link(name.clone()));
        Some(name)
    }
}
