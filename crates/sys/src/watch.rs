//! Directories watched for changes of the names in them (inotify(7)).
//!
//! Owns the descriptor, and the kinds of changes it reports. Never watches below the given directories, and never
//! waits.

use std::ffi::OsStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
use rustix::fs::inotify::{Event, remove_watch};
use rustix::io::Errno;

use crate::limits::WATCH_READ_BYTES;

/// A watched directory. The kernel numbers them in ascending order: the number of a removed one is not reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WatchId(i32);

/// A change to a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameChange<'a> {
    /// A file with that name was created, removed, written and closed, or its permissions changed.
    File(&'a OsStr),
    /// The same for a directory.
    Directory(&'a OsStr),
    /// The watched directory itself was moved or removed.
    Itself,
    /// The directory is no longer watched, because it was removed or given up.
    Ended,
    /// There were more changes than the kernel can queue: some were lost.
    Lost,
}

/// Watched directories.
#[derive(Debug)]
pub struct Watch {
    descriptor: OwnedFd,
}

impl Watch {
    /// Watches nothing yet.
    ///
    /// # Errors
    /// The kernel's, if this user has too many watches, or there are no descriptors.
    pub fn new() -> io::Result<Self> {
        let descriptor = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        Ok(Self { descriptor })
    }

    /// The descriptor that becomes readable when there are changes to read.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// Watches a directory. One that is already watched keeps its number, and none of its changes is missed.
    ///
    /// # Errors
    /// The kernel's: it is not a directory, may not be read, or there is no room for another (ENOSPC:
    /// `fs.inotify.max_user_watches`).
    pub fn add(&self, directory: &Path) -> io::Result<WatchId> {
        let of_names = WatchFlags::CREATE
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::MOVE
            | WatchFlags::DELETE
            | WatchFlags::ATTRIB;
        let of_itself = WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF;
        // Without MASK_ADD, the kernel removes the mask of a directory that is already watched before it sets the same
        // one again, and loses changes in between.
        let flags = of_names | of_itself | WatchFlags::ONLYDIR | WatchFlags::MASK_ADD;
        Ok(WatchId(add_watch(&self.descriptor, directory, flags)?))
    }

    /// Stops watching a directory. A removed one is not watched anyway.
    pub fn remove(&self, id: WatchId) {
        let _gone_already = remove_watch(&self.descriptor, id.0);
    }

    /// Reports all changes since the last call, without waiting, each with its directory. Lost changes have no
    /// watched directory.
    ///
    /// # Errors
    /// The kernel's; none is known.
    pub fn read(&self, mut tell: impl FnMut(WatchId, NameChange<'_>)) -> io::Result<()> {
        let mut buffer = [MaybeUninit::uninit(); WATCH_READ_BYTES];
        let mut reader = Reader::new(&self.descriptor, &mut buffer);
        loop {
            match reader.next() {
                Ok(event) => {
                    if let Some(change) = change_of(&event) {
                        tell(WatchId(event.wd()), change);
                    }
                }
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn change_of<'a>(event: &'a Event<'_>) -> Option<NameChange<'a>> {
    let flags = event.events();
    if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
        return Some(NameChange::Lost);
    }
    if flags.contains(ReadFlags::IGNORED) {
        return Some(NameChange::Ended);
    }
    if flags.intersects(ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF | ReadFlags::UNMOUNT) {
        return Some(NameChange::Itself);
    }
    // An event without a name concerns the directory's own attributes.
    let name = OsStr::from_bytes(event.file_name()?.to_bytes());
    let is_directory = flags.contains(ReadFlags::ISDIR);
    Some(if is_directory { NameChange::Directory(name) } else { NameChange::File(name) })
}

// Miri does not support inotify.
#[cfg(test)]
#[cfg(not(miri))]
mod tests {
    use std::fs;
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;

    /// Renames while another thread only watches: once one in a thousand was missed.
    const MOVES: usize = 20_000;

    fn told(watch: &Watch) -> Vec<String> {
        let mut all = Vec::new();
        watch
            .read(|_, change| {
                all.push(match change {
                    NameChange::File(name) => format!("file {}", name.display()),
                    NameChange::Directory(name) => format!("directory {}", name.display()),
                    NameChange::Itself => "itself".to_owned(),
                    NameChange::Ended => "ended".to_owned(),
                    NameChange::Lost => "lost".to_owned(),
                });
            })
            .unwrap();
        all.dedup();
        all
    }

    /// The directory of a test, removed with it.
    struct TestDirectory(PathBuf);

    impl TestDirectory {
        fn new(name: &str) -> Self {
            let place =
                std::env::temp_dir().join(format!("velodrome-{name}-{}", std::process::id()));
            // An earlier process with the same number may have left one.
            let _ = fs::remove_dir_all(&place);
            fs::create_dir_all(&place).unwrap();
            Self(place)
        }
    }

    impl Drop for TestDirectory {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn changes_of_names_are_told_once_and_reading_is_no_change() {
        let place = TestDirectory::new("watch-names");
        let watch = Watch::new().unwrap();
        let id = watch.add(&place.0).unwrap();
        assert_eq!(watch.add(&place.0).unwrap(), id);
        assert_eq!(told(&watch), [""; 0]);
        fs::write(place.0.join("a"), "one").unwrap();
        assert_eq!(told(&watch), ["file a"]);
        assert_eq!(fs::read(place.0.join("a")).unwrap(), b"one");
        assert_eq!(told(&watch), [""; 0]);
        fs::create_dir(place.0.join("b")).unwrap();
        fs::rename(place.0.join("a"), place.0.join("c")).unwrap();
        fs::remove_file(place.0.join("c")).unwrap();
        assert_eq!(told(&watch), ["directory b", "file a", "file c"]);
    }

    #[test]
    fn no_change_is_missed_while_a_directory_is_watched_once_more() {
        let place = TestDirectory::new("watch-again");
        let watch = Watch::new().unwrap();
        watch.add(&place.0).unwrap();
        let [one, other] = ["one", "other"].map(|name| place.0.join(name));
        fs::write(&one, "").unwrap();
        assert_eq!(told(&watch), ["file one"]);
        let is_over = AtomicBool::new(false);
        let missed = thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    watch.add(&place.0).unwrap();
                }
            });
            let moves = [(&one, &other), (&other, &one)].into_iter().cycle();
            // Reported by the time the kernel says that it was moved.
            let missed = moves
                .take(MOVES)
                .filter(|(from, to)| {
                    fs::rename(from, to).unwrap();
                    told(&watch).len() != 2
                })
                .count();
            is_over.store(true, Ordering::Relaxed);
            missed
        });
        assert_eq!(missed, 0, "of {MOVES}");
    }

    #[test]
    fn the_end_of_a_directory_is_told() {
        let place = TestDirectory::new("watch-end");
        let watch = Watch::new().unwrap();
        let inner = place.0.join("inner");
        fs::create_dir(&inner).unwrap();
        watch.add(&inner).unwrap();
        fs::remove_dir(&inner).unwrap();
        assert_eq!(told(&watch), ["itself", "ended"]);
        let id = watch.add(&place.0).unwrap();
        watch.remove(id);
        fs::write(place.0.join("a"), "one").unwrap();
        assert_eq!(told(&watch), ["ended"]);
        assert!(watch.add(&place.0.join("a")).is_err(), "a file is no directory");
    }
}
