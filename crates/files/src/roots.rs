//! The roots of the server, as one thread has them open.
//!
//! Owns the descriptors of the roots and notices when a root was replaced. Created on the thread
//! that uses it: on every helper, and on every scheduler for the large files it sends.

use std::io;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use sys::file::{Directory, FileHandle, FileKind, Metadata, Obstacle, look_at_root};

use super::absence::{Absence, FileFailure};
use super::handles::Handles;
use super::representation::Large;
use super::rules::{Root, RootIndex};

/// All roots, open. Neither `Send` nor `Sync`.
#[derive(Debug)]
pub struct Roots {
    roots: Vec<OpenRoot>,
    handles: Handles,
}

#[derive(Debug)]
pub(crate) struct OpenRoot {
    root: Root,
    directory: Directory,
    identity: Identity,
}

/// Two directories with the same identity are one.
type Identity = (u64, u64);

const fn identity(metadata: &Metadata) -> Identity {
    (metadata.device, metadata.inode)
}

impl Roots {
    /// Opens all roots.
    ///
    /// # Errors
    /// If a root cannot be opened; the message names it.
    pub fn open(roots: &[Root]) -> io::Result<Self> {
        let roots = roots.iter().map(|root| {
            OpenRoot::open(root).map_err(|error| {
                io::Error::new(error.kind(), format!("{}: {error}", root.path.display()))
            })
        });
        Ok(Self { roots: roots.collect::<io::Result<_>>()?, handles: Handles::default() })
    }

    /// The current root: a deployment that replaces the directory is noticed here.
    pub(crate) fn current(&mut self, index: RootIndex) -> Result<&OpenRoot, Refusal> {
        let place = self.roots.get_mut(usize::from(index.0)).ok_or(Absence::NotFound)?;
        let now = look_at_root(&place.root.path).map_err(|error| classify(&error))?;
        if identity(&now) != place.identity {
            *place = OpenRoot::open(&place.root).map_err(|error| classify(&error))?;
        }
        Ok(place)
    }

    /// Opens a large file on a scheduler, to be sent from its descriptor, and compares it with the lookup.
    pub fn open_large(
        &mut self,
        index: RootIndex,
        large: &Large,
        patience: OpenWait,
        now_ms: u64,
    ) -> LargeOpen {
        if let Some(file) = self.handles.get(index, large, now_ms) {
            return LargeOpen::Ready(file);
        }
        let opened = self.open_anew(index, large, patience);
        if let LargeOpen::Ready(file) = &opened {
            self.handles.keep(index, large, file, now_ms);
        }
        opened
    }

    /// Closes large files that were not used recently. Returns when to call again.
    pub fn close_unused(&mut self, now_ms: u64) -> Option<u64> {
        self.handles.give_up_unused(now_ms)
    }

    /// Opens a file on a scheduler whose name and size are those of one content for ever.
    pub fn open_named(
        &mut self,
        index: RootIndex,
        relative: &str,
        size: u64,
        patience: OpenWait,
    ) -> NamedOpen {
        let Some(place) = self.roots.get(usize::from(index.0)) else { return NamedOpen::Gone };
        let opened = place.open_file(relative, patience);
        match opened.and_then(|handle| handle.stat().map(|metadata| (handle, metadata))) {
            Ok((handle, found)) if found.kind == FileKind::Regular && found.size == size => {
                NamedOpen::Ready(Rc::new(handle))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => NamedOpen::Cold,
            Ok(_) | Err(_) => NamedOpen::Gone,
        }
    }

    fn open_anew(&mut self, index: RootIndex, large: &Large, patience: OpenWait) -> LargeOpen {
        let first = self.try_large(index, large, patience);
        if !matches!(first, LargeOpen::Changed) || self.current(index).is_err() {
            return first;
        }
        // The root may have been replaced: then `current` has opened the new one.
        self.try_large(index, large, patience)
    }

    fn try_large(&self, index: RootIndex, large: &Large, patience: OpenWait) -> LargeOpen {
        let Some(place) = self.roots.get(usize::from(index.0)) else { return LargeOpen::Changed };
        let opened = place.open_file(&large.relative, patience);
        match opened.and_then(|handle| handle.stat().map(|metadata| (handle, metadata))) {
            Ok((handle, metadata)) => compare(handle, &metadata, &large.metadata),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => LargeOpen::Cold,
            Err(error) => match classify(&error) {
                Refusal::Absent(_) => LargeOpen::Changed,
                Refusal::Failed(failure) => LargeOpen::Failed(failure),
            },
        }
    }
}

fn compare(handle: FileHandle, now: &Metadata, then: &Metadata) -> LargeOpen {
    let handle = Rc::new(handle);
    if now == then {
        return LargeOpen::Ready(handle);
    }
    let same = now.kind == FileKind::Regular && identity(now) == identity(then);
    if same && now.size >= then.size { LargeOpen::Written(handle) } else { LargeOpen::Changed }
}

/// Whether an open may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenWait {
    /// No: it fails with [`LargeOpen::Cold`] if the path is not in the kernel's cache.
    None,
    /// A helper has just warmed the file, so the path was cached a moment ago: open it even if that waits.
    Warmed,
}

/// The result of opening a large file.
#[derive(Debug)]
pub enum LargeOpen {
    /// The file that was looked up.
    Ready(Rc<FileHandle>),
    /// The same file and not shorter, but written to since. Expire the path and run the request again; if this happens
    /// a second time, send this one, because a growing log always differs from the lookup.
    Written(Rc<FileHandle>),
    /// Another file, or none. Expire the path and run the request again.
    Changed,
    /// Opening it would wait for a disk. Send a [`Warm`](super::Warm), then try with [`OpenWait::Warmed`].
    Cold,
    /// A failure on our side.
    Failed(FileFailure),
}

/// The result of opening a file by its name and size.
#[derive(Debug)]
pub enum NamedOpen {
    /// The file.
    Ready(Rc<FileHandle>),
    /// As [`LargeOpen::Cold`].
    Cold,
    /// It is not there, or cannot be opened.
    Gone,
}

impl OpenRoot {
    /// Opens a file on a scheduler.
    fn open_file(&self, relative: &str, patience: OpenWait) -> io::Result<FileHandle> {
        let relative = Path::new(relative);
        match patience {
            OpenWait::None => self.directory.open_cached(relative, self.root.symlinks),
            OpenWait::Warmed => self.directory.open_beneath(relative, self.root.symlinks),
        }
    }

    fn open(root: &Root) -> io::Result<Self> {
        let directory = Directory::open(&root.path)?;
        let identity = identity(&directory.stat()?);
        Ok(Self { root: root.clone(), directory, identity })
    }

    /// Looks up a file below the root. Anything except regular files and directories is not for clients.
    pub(crate) fn look(&self, relative: &str) -> Result<Metadata, Refusal> {
        self.directory
            .look_beneath(path_of(relative), self.root.symlinks)
            .map_err(|error| classify(&error))
    }

    /// Opens a file below the root for reading.
    pub(crate) fn read(&self, relative: &str) -> Result<FileHandle, Refusal> {
        self.directory
            .open_beneath(path_of(relative), self.root.symlinks)
            .map_err(|error| classify(&error))
    }
}

/// The root itself has the empty name.
fn path_of(relative: &str) -> &Path {
    Path::new(if relative.is_empty() { "." } else { relative })
}

/// Why a path has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// There is nothing for the client.
    Absent(Absence),
    /// A failure on our side.
    Failed(FileFailure),
}

impl From<Absence> for Refusal {
    fn from(absence: Absence) -> Self {
        Self::Absent(absence)
    }
}

/// The meaning of a kernel error. Most failed lookups are caused by the client's path.
pub(crate) fn classify(error: &io::Error) -> Refusal {
    match Obstacle::of(error) {
        Obstacle::NotFound => Refusal::Absent(Absence::NotFound),
        Obstacle::Outside => Refusal::Absent(Absence::Outside),
        Obstacle::Forbidden => Refusal::Absent(Absence::Forbidden),
        Obstacle::NotRegular => Refusal::Absent(Absence::NotRegular),
        // A helper may wait; EAGAIN after all tries means endless renames.
        Obstacle::WouldWait | Obstacle::Exhausted => Refusal::Failed(FileFailure::Exhausted),
        Obstacle::Storage => Refusal::Failed(FileFailure::Storage),
    }
}

/// A path below the root, for a [`Large`].
pub(crate) fn with_extension(relative: &str, extension: &str) -> Arc<str> {
    let mut path = String::with_capacity(relative.len() + extension.len());
    path.push_str(relative);
    path.push_str(extension);
    path.into()
}
