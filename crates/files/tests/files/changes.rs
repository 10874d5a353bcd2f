//! Whether a cached result is still valid, and what is read while a file changes.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use files::absence::Absence;
use files::job::{Errand, TimeTrust};
use files::limits::UNSETTLED_COARSE_MS;
use files::rules::ListingRule;
use files::{BodySource, Disk, EntryKey, FileRules, Job, LookupResult, PathContent, Root};
use rustix::fs::CWD;
use wire::http::encoding::{Available, Coding};

use super::site::{ROOT, Site, bytes, content, etag, known, set_modified};

#[test]
fn every_change_is_seen() {
    let mut site = Site::new(FileRules::default());
    site.write("a.txt", "one");
    site.date("a.txt", 1_700_000_000);
    let first = site.look_up_file("/a.txt");
    assert_eq!(first.known.trust, TimeTrust::Settled);
    assert!(matches!(site.look_up_with("/a.txt", known(&first)), LookupResult::Unchanged));

    // Same size and same time: only the content and the time of change differ.
    site.write("a.txt", "two");
    site.date("a.txt", 1_700_000_000);
    let second = match content(site.look_up_with("/a.txt", known(&first))) {
        PathContent::File(file) => file,
        other => panic!("{other:?}"),
    };
    assert_eq!(bytes(&second, Coding::Identity), b"two");
    assert_eq!(first.last_modified, second.last_modified);
    assert_ne!(etag(&first), etag(&second));

    fs::remove_file(site.file("a.txt")).unwrap();
    let gone = content(site.look_up_with("/a.txt", known(&second)));
    assert!(matches!(gone, PathContent::Missing(Absence::NotFound)));
}

#[test]
fn entity_tags_of_large_files_differ_by_nanoseconds_and_inode() {
    let mut site = Site::new(FileRules { held_size: 10, ..FileRules::default() });
    site.write("a.bin", [1; 100]);
    site.date("a.bin", 1_700_000_000);
    let first = site.look_up_file("/a.bin");
    assert!(matches!(first.representations[0].body, BodySource::Large(_)));

    fs::write(site.outside("other"), [2; 100]).unwrap();
    set_modified(&site.outside("other"), 1_700_000_000);
    fs::rename(site.outside("other"), site.file("a.bin")).unwrap();
    let second = site.look_up_file("/a.bin");
    assert_eq!(first.last_modified, second.last_modified);
    assert_ne!(etag(&first), etag(&second), "another inode");

    site.write("a.bin", [3; 100]);
    let third = site.look_up_file("/a.bin");
    site.write("a.bin", [4; 100]);
    rustix::fs::utimensat(
        CWD,
        site.file("a.bin"),
        &rustix::fs::Timestamps {
            last_access: rustix::fs::Timespec { tv_sec: 0, tv_nsec: 0 },
            last_modification: rustix::fs::Timespec {
                tv_sec: i64::try_from(third.last_modified).unwrap(),
                tv_nsec: 1,
            },
        },
        rustix::fs::AtFlags::empty(),
    )
    .unwrap();
    let fourth = site.look_up_file("/a.bin");
    assert_eq!(third.last_modified, fourth.last_modified);
    assert_ne!(etag(&third), etag(&fourth), "another nanosecond");
}

#[test]
fn a_large_file_rewritten_in_place_with_its_old_time_has_another_entity_tag() {
    let mut site = Site::new(FileRules { held_size: 10, ..FileRules::default() });
    site.write("a.bin", [1; 100]);
    site.date("a.bin", 1_700_000_000);
    let first = site.look_up_file("/a.bin");
    let changed = |site: &Site| {
        let metadata = fs::metadata(site.file("a.bin")).unwrap();
        (metadata.ctime(), metadata.ctime_nsec())
    };
    let before = changed(&site);
    // The kernel's clock for files has ticks.
    while changed(&site) == before {
        site.write("a.bin", [2; 100]);
        site.date("a.bin", 1_700_000_000);
    }
    let second = site.look_up_file("/a.bin");
    assert_eq!(first.last_modified, second.last_modified);
    assert_ne!(etag(&first), etag(&second));
    let inode = format!("{:x}", fs::metadata(site.file("a.bin")).unwrap().ino());
    assert!(etag(&first).starts_with('"') && etag(&first).len() == 26, "{}", etag(&first));
    assert!(!etag(&first).split('-').any(|part| part.trim_matches('"') == inode));
}

#[test]
fn the_entity_tag_of_a_large_file_is_weak_until_another_change_would_show() {
    let mut site = Site::new(FileRules { held_size: 10, ..FileRules::default() });
    site.write("a.bin", [1; 100]);
    site.date("a.bin", 1_700_000_000);
    let metadata = fs::metadata(site.file("a.bin")).unwrap();
    let changed_ms = u64::try_from(metadata.ctime() * 1000 + metadata.ctime_nsec() / 1_000_000);
    let mut tag_at = |wall_ms: u64| {
        let key = EntryKey { root: ROOT, path: "/a.bin" };
        let errand = Errand { known: None, wanted: Available::IDENTITY };
        match content(site.disk.look_up(&Job::new(key, &site.rules, errand, wall_ms))) {
            PathContent::File(file) => etag(&file).to_owned(),
            other => panic!("{other:?}"),
        }
    };
    let changed_ms = changed_ms.unwrap();
    let (first, second) = (tag_at(changed_ms), tag_at(changed_ms + 1));
    assert!(first.starts_with("W/") && second.starts_with("W/"), "{first} {second}");
    assert_ne!(first, second, "what was seen between two changes of one tick is not known");
    let settled = tag_at(changed_ms + UNSETTLED_COARSE_MS + 1);
    assert!(settled.starts_with('"'), "{settled}");
    assert_eq!(tag_at(changed_ms + 100_000), settled);
}

#[test]
fn a_file_that_may_change_within_a_tick_is_read_again() {
    let mut site = Site::new(FileRules::default());
    site.write("a.txt", "one");
    let key = EntryKey { root: ROOT, path: "/a.txt" };
    let errand = Errand { known: None, wanted: Available::IDENTITY };
    // At the very time of the change.
    let now_ms = site.look_up_file("/a.txt").last_modified * 1000;
    let job = Job::new(key, &site.rules, errand, now_ms);
    let PathContent::File(first) = content(site.disk.look_up(&job)) else { panic!() };
    assert_eq!(first.known.trust, TimeTrust::Unsettled);
    let again = match content(site.look_up_with("/a.txt", known(&first))) {
        PathContent::File(file) => file,
        other => panic!("{other:?}"),
    };
    assert_eq!(etag(&again), etag(&first));
    assert!(matches!(site.look_up_with("/a.txt", known(&again)), LookupResult::Unchanged));
}

#[test]
fn new_rules_make_everything_new() {
    let mut site = Site::new(FileRules::default());
    site.write("a.txt", "one");
    let first = site.look_up_file("/a.txt");
    site.rules = Arc::new(FileRules::default());
    assert!(matches!(site.look_up_with("/a.txt", known(&first)), LookupResult::Content(_)));
}

/// Ends the writing thread when a test ends, even if it fails.
struct AtItsEnd<'d>(&'d AtomicBool);

impl Drop for AtItsEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_file_replaced_while_it_is_read_is_one_or_the_other() {
    const SIZE: usize = 30_000;
    let mut site = Site::new(FileRules::default());
    site.write("a.txt", vec![b'a'; SIZE]);
    let done = AtomicBool::new(false);
    let (target, other) = (site.file("a.txt"), site.outside("other"));
    thread::scope(|scope| {
        scope.spawn(|| {
            for letter in (b'a'..=b'z').cycle() {
                fs::write(&other, vec![letter; SIZE]).unwrap();
                fs::rename(&other, &target).unwrap();
                if done.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        let _end = AtItsEnd(&done);
        for _ in 0..300 {
            let file = site.look_up_file("/a.txt");
            let bytes = bytes(&file, Coding::Identity);
            assert_eq!(bytes.len(), SIZE);
            assert!(bytes.iter().all(|byte| *byte == bytes[0]), "a mixture");
        }
    });
}

#[test]
fn a_file_that_never_holds_still_is_served_as_it_was_read() {
    let mut site = Site::new(FileRules::default());
    site.write("log.txt", "line\n");
    let done = AtomicBool::new(false);
    let target = site.file("log.txt");
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                fs::write(&target, "line\n".repeat(5000)).unwrap();
                fs::write(&target, "line\n").unwrap();
            }
        });
        let _end = AtItsEnd(&done);
        for _ in 0..300 {
            let file = site.look_up_file("/log.txt");
            let length = bytes(&file, Coding::Identity).len();
            let fields = std::str::from_utf8(file.representations[0].fields().lines()).unwrap();
            assert!(fields.contains(&format!("Content-Length: {length}\r\n")), "{fields}");
        }
    });
}

/// Files of sysfs report 4,096 bytes and contain fewer, like a file that is truncated while it is read.
#[test]
fn a_file_shorter_than_it_says_is_served_as_it_was_read() {
    let mut site = Site::new(FileRules::default());
    let processors = Root { path: "/sys/devices/system/cpu".into(), ..site.root() };
    site.disk = Disk::open(&[processors]).unwrap();
    let file = site.look_up_file("/online");
    assert!(file.known.file.size > 100);
    assert_eq!(bytes(&file, Coding::Identity), fs::read("/sys/devices/system/cpu/online").unwrap());
    assert_eq!(file.known.trust, TimeTrust::Unsettled);
    assert!(matches!(site.look_up_with("/online", known(&file)), LookupResult::Content(_)));
}

#[test]
fn a_root_that_is_replaced_is_opened_anew() {
    let mut site = Site::new(FileRules { listing: ListingRule::On, ..FileRules::default() });
    fs::create_dir_all(site.outside("one")).unwrap();
    fs::create_dir_all(site.outside("two")).unwrap();
    fs::write(site.outside("one/a.txt"), "one").unwrap();
    fs::write(site.outside("two/a.txt"), "two").unwrap();
    let current = site.outside("current");
    symlink("one", &current).unwrap();
    site.disk = Disk::open(&[Root { path: current.clone(), ..site.root() }]).unwrap();
    assert_eq!(bytes(&site.look_up_file("/a.txt"), Coding::Identity), b"one");
    symlink("two", site.outside("next")).unwrap();
    fs::rename(site.outside("next"), &current).unwrap();
    assert_eq!(bytes(&site.look_up_file("/a.txt"), Coding::Identity), b"two");
    fs::remove_file(&current).unwrap();
    assert_eq!(site.absence("/a.txt"), Some(Absence::NotFound));
}
