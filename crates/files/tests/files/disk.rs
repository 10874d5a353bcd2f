//! The meaning of a path on disk.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::thread;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use sys::file::Symlinks;
use wire::http::encoding::{Available, Coding};

use super::site::{LATER_MS, ROOT, Site, bytes, content, etag, known};
use files::absence::Absence;
use files::job::Errand;
use files::rules::CacheControlRule;
use files::{Disk, EntryKey, FileRules, Job, LookupResult, NamePattern, PathContent, Root, limits};

#[test]
fn a_file_has_its_bytes_and_fields() {
    let mut site = Site::new(FileRules {
        cache_control: vec![CacheControlRule {
            files: NamePattern::new("*.html"),
            value: "max-age=60".to_owned(),
        }],
        ..FileRules::default()
    });
    site.write("a/page.html", "hello");
    site.date("a/page.html", 784_111_777);
    let file = site.look_up_file("/a/page.html");
    assert_eq!(bytes(&file, Coding::Identity), b"hello");
    assert_eq!(file.last_modified, 784_111_777);
    let fields = std::str::from_utf8(file.representations[0].fields().lines()).unwrap();
    let expected = format!(
        "Content-Type: text/html; charset=utf-8\r\nContent-Length: 5\r\nAccept-Ranges: bytes\r\n\
         Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\nETag: {}\r\nCache-Control: max-age=60\r\n",
        etag(&file)
    );
    assert_eq!(fields, expected);
}

#[test]
fn nothing_is_served_from_outside_or_from_hiding() {
    let mut site = Site::new(FileRules::default());
    fs::write(site.outside("secret"), "secret").unwrap();
    site.write("a.txt", "hello");
    site.write(".git/config", "secret");
    site.write("velodrome.toml", "secret");
    site.write(".well-known/x", "shown");
    symlink("../secret", site.file("link")).unwrap();
    symlink(site.outside("secret"), site.file("absolute")).unwrap();
    symlink("/proc/self/root", site.file("magic")).unwrap();
    symlink("loop", site.file("loop")).unwrap();
    for (path, expected) in [
        ("/../secret", Absence::NotFound),
        ("/a/../../secret", Absence::NotFound),
        ("/..", Absence::NotFound),
        ("/./a.txt", Absence::NotFound),
        ("//a.txt", Absence::NotFound),
        ("//", Absence::NotFound),
        ("a.txt", Absence::NotFound),
        ("", Absence::NotFound),
        ("/a.txt\0", Absence::NotFound),
        ("/a.txt/", Absence::NotFound),
        ("/a.txt/b", Absence::NotFound),
        ("/link", Absence::Outside),
        ("/absolute", Absence::Outside),
        ("/magic", Absence::Outside),
        ("/magic/etc/passwd", Absence::Outside),
        ("/loop", Absence::Outside),
        ("/.git/config", Absence::Hidden),
        ("/.git/", Absence::Hidden),
        ("/velodrome.toml", Absence::Hidden),
        ("/none", Absence::NotFound),
        ("/", Absence::NotRegular),
    ] {
        assert_eq!(site.absence(path), Some(expected), "{path:?}");
    }
    assert_eq!(site.absence(&format!("/{}", "x".repeat(300))), Some(Absence::NotFound));
    assert_eq!(site.absence(&format!("/{}", "x/".repeat(5000))), Some(Absence::NotFound));
    assert_eq!(bytes(&site.look_up_file("/.well-known/x"), Coding::Identity), b"shown");
}

#[test]
fn special_file_is_not_opened() {
    let mut site = Site::new(FileRules::default());
    mknodat(CWD, site.file("fifo"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    let _listener = UnixListener::bind(site.file("socket")).unwrap();
    assert_eq!(site.absence("/fifo"), Some(Absence::NotRegular));
    assert_eq!(site.absence("/socket"), Some(Absence::NotRegular));

    let devices = Root { path: "/dev".into(), symlinks: Symlinks::FollowBeneath };
    site.disk = Disk::open(&[devices]).unwrap();
    for path in ["/null", "/zero", "/full", "/tty"] {
        assert_eq!(site.absence(path), Some(Absence::NotRegular), "{path}");
    }
}

#[test]
fn unreadable_file_is_missing() {
    let site = Site::new(FileRules::default());
    site.write("a.txt", "hello");
    site.write("closed/a.txt", "hello");
    let forbid = |name: &str| {
        fs::set_permissions(site.file(name), fs::Permissions::from_mode(0o000)).unwrap();
    };
    forbid("a.txt");
    forbid("closed");
    let (root, rules) = (site.root(), Arc::clone(&site.rules));
    // The superuser may read everything, so a separate thread gives up that capability.
    let absences = thread::spawn(move || {
        let mut own = capabilities(None).unwrap();
        let rights = CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
        own.effective.remove(rights);
        set_capabilities(None, own).unwrap();
        let mut disk = Disk::open(&[root]).unwrap();
        ["/a.txt", "/closed/a.txt"].map(|path| {
            let errand = Errand { known: None, wanted: Available::IDENTITY };
            let job = Job::new(EntryKey { root: ROOT, path }, &rules, errand, LATER_MS);
            match content(disk.look_up(&job)) {
                PathContent::Missing(absence) => Some(absence),
                _ => None,
            }
        })
    });
    assert_eq!(absences.join().unwrap(), [Some(Absence::Forbidden); 2]);
    fs::set_permissions(site.file("closed"), fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn links_are_a_matter_of_policy() {
    let mut site = Site::new(FileRules::default());
    site.write("a.txt", "hello");
    symlink("a.txt", site.file("link")).unwrap();
    assert_eq!(bytes(&site.look_up_file("/link"), Coding::Identity), b"hello");
    site.disk = Disk::open(&[Root { symlinks: Symlinks::Refuse, ..site.root() }]).unwrap();
    assert_eq!(site.absence("/link"), Some(Absence::Outside));
}

#[test]
fn a_time_before_1980_is_not_the_time_of_a_change() {
    let mut site = Site::new(FileRules::default());
    site.write("a.css", "a {}");
    for (seconds, expected) in [(0, 0), (1, 0), (315_532_799, 0), (315_532_800, 315_532_800)] {
        site.date("a.css", seconds);
        let file = site.look_up_file("/a.css");
        assert_eq!(file.last_modified, expected, "{seconds}");
        let has_date = file.representations[0].fields().has("last-modified");
        assert_eq!(has_date, expected != 0, "{seconds}");
    }
}

#[test]
fn a_directory_is_its_index_or_a_redirect() {
    let mut site = Site::new(FileRules {
        index: vec!["index.html".to_owned(), "index.txt".to_owned()],
        ..FileRules::default()
    });
    site.write("d/index.txt", "second");
    assert!(matches!(site.look_up("/d"), PathContent::Redirect));
    let second = site.look_up_file("/d/");
    assert_eq!(bytes(&second, Coding::Identity), b"second");
    assert!(matches!(site.look_up_with("/d/", known(&second)), LookupResult::Unchanged));
    site.write("d/index.html", "first");
    let first = content(site.look_up_with("/d/", known(&second)));
    assert!(matches!(first, PathContent::File(file) if bytes(&file, Coding::Identity) == b"first"));

    fs::create_dir(site.file("d/index.html.d")).unwrap();
    fs::remove_file(site.file("d/index.html")).unwrap();
    fs::create_dir(site.file("d/index.html")).unwrap();
    assert_eq!(
        bytes(&site.look_up_file("/d/"), Coding::Identity),
        b"second",
        "a directory is none"
    );
    assert_eq!(site.absence("/none/"), Some(Absence::NotFound));
}

#[test]
fn a_root_that_is_not_there_is_named() {
    let missing = Root { path: "/none/of/this".into(), symlinks: Symlinks::Refuse };
    let message = Disk::open(&[missing]).err().map(|error| error.to_string()).unwrap();
    assert!(message.starts_with("/none/of/this: "), "{message}");
    assert_eq!(limits::HELD_SIZE, FileRules::default().held_size);
}
