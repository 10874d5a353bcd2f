//! Paths that can be opened below a root, and those that cannot.

use std::fs::{self, Permissions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use sys::file::{Directory, FileKind, Obstacle, Symlinks, look_at_root};

/// A separate directory for each test, removed when dropped.
struct TempDir(PathBuf);

impl TempDir {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("velodrome-sys-file-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, content: &[u8]) {
        fs::write(self.0.join(name), content).unwrap();
    }

    /// A root below this directory, so that there is something beside it to reach for.
    fn root(&self) -> Directory {
        fs::create_dir_all(self.0.join("root/inner")).unwrap();
        Directory::open(&self.0.join("root")).unwrap()
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _gone = fs::remove_dir_all(&self.0);
    }
}

fn obstacle<T>(answer: io::Result<T>) -> Option<Obstacle> {
    answer.err().map(|error| Obstacle::of(&error))
}

#[test]
fn a_file_beneath_is_read() {
    let temp = TempDir::new();
    let root = temp.root();
    temp.write("root/inner/a.txt", b"hello");
    for relative in ["inner/a.txt", "inner/../inner/./a.txt"] {
        let file = root.open_beneath(Path::new(relative), Symlinks::Refuse).unwrap();
        let metadata = file.stat().unwrap();
        assert_eq!((metadata.kind, metadata.size), (FileKind::Regular, 5));
        assert!(metadata.modified.seconds > 1_600_000_000);
        let mut buffer = [0; 8];
        assert_eq!(file.read_at(&mut buffer, 1).unwrap(), 4);
        assert_eq!(&buffer[..4], b"ello");
        assert_eq!(file.read_at(&mut buffer, 5).unwrap(), 0, "the end");
        assert_eq!(root.look_beneath(Path::new(relative), Symlinks::Refuse).unwrap(), metadata);
    }
}

#[test]
fn nothing_above_the_root_is_found() {
    let temp = TempDir::new();
    let root = temp.root();
    temp.write("secret", b"secret");
    let absolute = temp.0.join("secret");
    symlink("../secret", temp.0.join("root/relative")).unwrap();
    symlink(&absolute, temp.0.join("root/absolute")).unwrap();
    symlink("../..", temp.0.join("root/inner/up")).unwrap();
    symlink("/proc/self/root", temp.0.join("root/magic")).unwrap();
    for relative in [
        "../secret",
        "inner/../../secret",
        absolute.to_str().unwrap(),
        "relative",
        "absolute",
        "inner/up/secret",
        "magic",
        "magic/etc/passwd",
        "..",
        "/",
    ] {
        for symlinks in [Symlinks::FollowBeneath, Symlinks::Refuse] {
            let path = Path::new(relative);
            let opened = obstacle(root.open_beneath(path, symlinks));
            assert_eq!(opened, Some(Obstacle::Outside), "{relative}");
            let looked = obstacle(root.look_beneath(path, symlinks));
            assert_eq!(looked, Some(Obstacle::Outside), "{relative}");
            assert!(root.open_cached(path, symlinks).is_err(), "{relative}");
        }
    }
}

#[test]
fn magic_links_lead_nowhere_even_beneath() {
    let root = Directory::open(Path::new("/proc/self")).unwrap();
    for relative in ["root", "root/etc/passwd", "cwd", "exe", "fd/0"] {
        let opened = obstacle(root.open_beneath(Path::new(relative), Symlinks::FollowBeneath));
        assert_eq!(opened, Some(Obstacle::Outside), "{relative}");
    }
}

#[test]
fn links_beneath_are_followed_by_policy() {
    let temp = TempDir::new();
    let root = temp.root();
    temp.write("root/inner/a.txt", b"hello");
    symlink("inner/a.txt", temp.0.join("root/file")).unwrap();
    symlink("inner", temp.0.join("root/directory")).unwrap();
    for relative in ["file", "directory/a.txt"] {
        let path = Path::new(relative);
        let file = root.open_beneath(path, Symlinks::FollowBeneath).unwrap();
        assert_eq!(file.stat().unwrap().size, 5);
        let refused = obstacle(root.open_beneath(path, Symlinks::Refuse));
        assert_eq!(refused, Some(Obstacle::Outside), "{relative}");
    }
}

#[test]
fn opening_fifo_or_device_does_not_block() {
    let temp = TempDir::new();
    let root = temp.root();
    let fifo = temp.0.join("root/fifo");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    let _listener = UnixListener::bind(temp.0.join("root/socket")).unwrap();
    for relative in ["fifo", "socket"] {
        let looked = root.look_beneath(Path::new(relative), Symlinks::Refuse).unwrap();
        assert_eq!(looked.kind, FileKind::Other, "{relative}");
    }
    let opened = root.open_beneath(Path::new("fifo"), Symlinks::Refuse).unwrap();
    assert_eq!(opened.stat().unwrap().kind, FileKind::Other);
    let opened = obstacle(root.open_beneath(Path::new("socket"), Symlinks::Refuse));
    assert_eq!(opened, Some(Obstacle::NotRegular));

    let devices = Directory::open(Path::new("/dev")).unwrap();
    let looked = devices.look_beneath(Path::new("null"), Symlinks::Refuse).unwrap();
    assert_eq!(looked.kind, FileKind::Other);
}

#[test]
fn names_that_cannot_be() {
    let temp = TempDir::new();
    let root = temp.root();
    temp.write("root/a.txt", b"hello");
    let long = "x".repeat(300);
    for relative in ["none", "a.txt/", "a.txt/b", "inner/none", "a\0b", &long] {
        let opened = obstacle(root.open_beneath(Path::new(relative), Symlinks::Refuse));
        assert_eq!(opened, Some(Obstacle::NotFound), "{relative:?}");
    }
}

#[test]
fn a_file_just_written_opens_without_waiting_and_is_hot() {
    let temp = TempDir::new();
    let root = temp.root();
    temp.write("root/a.txt", &[7; 10_000]);
    let path = Path::new("a.txt");
    // The first lookup brings the names into the kernel's cache.
    let _metadata = root.look_beneath(path, Symlinks::Refuse).unwrap();
    let file = root.open_cached(path, Symlinks::Refuse).unwrap();
    assert!(file.read_ready(0, 10_000), "its pages were written a moment ago");
    assert!(file.read_ready(0, 0), "nothing never waits");
    assert!(file.read_ready(u64::MAX, 10), "no wait where there is nothing to read");
    let mut byte = [0];
    assert_eq!(rustix::io::pread(file.as_fd(), &mut byte, 9_999).unwrap(), 1);
    assert_eq!(byte, [7]);
}

#[test]
fn names_are_read_with_a_bound_and_without_following_links() {
    let temp = TempDir::new();
    let root = temp.root();
    for number in 0..20 {
        temp.write(&format!("root/inner/file{number}"), b"x");
    }
    symlink("/etc/passwd", temp.0.join("root/inner/link")).unwrap();
    fs::create_dir(temp.0.join("root/inner/directory")).unwrap();
    let inner = root.open_beneath(Path::new("inner"), Symlinks::Refuse).unwrap();
    let names = inner.read_names(100, |left, right| left.name.cmp(&right.name)).unwrap();
    assert!(!names.cut);
    assert_eq!(names.entries.len(), 22);
    let kind = |name: &str| {
        names.entries.iter().find(|named| named.name == name).map(|named| named.metadata.kind)
    };
    assert_eq!(kind("link"), Some(FileKind::Symlink));
    assert_eq!(kind("directory"), Some(FileKind::Directory));
    assert_eq!(kind("file7"), Some(FileKind::Regular));
    assert_eq!(kind(".."), None);

    let again = root.open_beneath(Path::new("inner"), Symlinks::Refuse).unwrap();
    let cut = again.read_names(5, |left, right| left.name.cmp(&right.name)).unwrap();
    assert!(cut.cut);
    let names: Vec<_> = cut.entries.iter().map(|named| named.name.to_string_lossy()).collect();
    assert_eq!(
        names.iter().collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Vec<_>>(),
        ["directory", "file0", "file1", "file10", "file11"],
        "the first in the order, whatever the disk's is"
    );
}

/// The superuser may look into everything: this thread gives that up.
fn give_up_privileges() {
    let mut sets = capabilities(None).unwrap();
    sets.effective -= CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
    set_capabilities(None, sets).unwrap();
}

#[test]
fn names_of_a_directory_that_may_not_be_searched_are_an_error_and_not_none() {
    let temp = TempDir::new();
    let root = temp.root();
    temp.write("root/inner/file", b"x");
    let inner = root.open_beneath(Path::new("inner"), Symlinks::Refuse).unwrap();
    fs::set_permissions(temp.0.join("root/inner"), Permissions::from_mode(0o600)).unwrap();
    give_up_privileges();
    let error = inner.read_names(5, |left, right| left.name.cmp(&right.name)).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    fs::set_permissions(temp.0.join("root/inner"), Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn a_root_must_be_a_directory_and_a_replaced_one_is_told_apart() {
    let temp = TempDir::new();
    temp.write("file", b"");
    assert!(Directory::open(&temp.0.join("file")).is_err());
    assert!(Directory::open(&temp.0.join("none")).is_err());

    fs::create_dir(temp.0.join("one")).unwrap();
    fs::create_dir(temp.0.join("two")).unwrap();
    let current = temp.0.join("current");
    symlink("one", &current).unwrap();
    let root = Directory::open(&current).unwrap();
    assert_eq!(look_at_root(&current).unwrap().inode, root.stat().unwrap().inode);
    fs::remove_file(&current).unwrap();
    symlink("two", &current).unwrap();
    assert_ne!(look_at_root(&current).unwrap().inode, root.stat().unwrap().inode);
}
