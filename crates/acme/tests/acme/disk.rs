//! A full disk: nothing is ordered, nothing is lost, and what is in use stays in use.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use acme::AcmeEvent;
use tempfile::TempDir;

use crate::directory::{forget_window, is_empty, only_file, settings_of, with_certificate, world};
use crate::server::{Server, Told};
use crate::waiting::until;

/// A small file system in memory.
struct Mounted(TempDir);

impl Mounted {
    fn small(test: &str) -> Option<Self> {
        let place = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=128k", "tmpfs"]).arg(place.path());
        if mount.output().is_ok_and(|output| output.status.success()) {
            return Some(Self(place));
        }
        println!("SKIPPED {test}: no file system can be mounted here");
        None
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Leaves no room for another file.
    fn fill(&self) {
        fill(self.path());
    }

    fn make_room(&self) {
        fs::remove_file(self.path().join("filling")).unwrap();
    }
}

fn fill(path: &Path) {
    use std::io::Write;
    let mut file = fs::File::create(path.join("filling")).unwrap();
    while file.write_all(&[0; 512]).is_ok() {}
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _unmounted = Command::new("umount").arg("--lazy").arg(self.path()).status();
    }
}

#[test]
fn nothing_is_ordered_with_a_full_disk_and_the_old_certificate_stays() {
    let Some(disk) =
        Mounted::small("nothing_is_ordered_with_a_full_disk_and_the_old_certificate_stays")
    else {
        return;
    };
    let (fake, _) = world();
    with_certificate(&fake, disk.path());
    let content = fs::read(only_file(disk.path(), "certificates")).unwrap();
    fake.window("2020-01-01T00:00:00Z", "2020-01-02T00:00:00Z");
    forget_window(disk.path());
    disk.fill();
    let server = Server::start(settings_of(&fake, disk.path()));
    server.next(|told| matches!(told, Told::Certificate(_)).then_some(()));
    let error = server.next_event(|event| match event {
        AcmeEvent::NotStored { error } => Some(error.clone()),
        _ => None,
    });
    assert!(error.contains("space"), "{error}");
    until("an attempt", || {
        server.handle.look_now();
        server.handle.status()[0].last_error.clone()
    });
    let is_begun = |told: &Told| matches!(told, Told::Event(AcmeEvent::Ordering { .. }));
    assert!(!server.stop().iter().any(is_begun), "no order is told that does not begin");
    assert_eq!(fake.orders().len(), 1);
    assert_eq!(fs::read(only_file(disk.path(), "certificates")).unwrap(), content);
    // With room again the renewal is made.
    disk.make_room();
    let server = Server::start(settings_of(&fake, disk.path()));
    server.next_issued();
    server.stop();
    assert_eq!(fake.orders().len(), 2);
}

#[test]
fn a_certificate_that_cannot_be_written_is_used_and_got_again_after_a_restart() {
    let Some(disk) = Mounted::small(
        "a_certificate_that_cannot_be_written_is_used_and_got_again_after_a_restart",
    ) else {
        return;
    };
    let (fake, _) = world();
    let path = disk.path().to_owned();
    let full = Arc::new(AtomicBool::new(false));
    let filled = Arc::clone(&full);
    fake.before_download(move || {
        if !filled.swap(true, Ordering::Relaxed) {
            fill(&path);
        }
    });
    let server = Server::start(settings_of(&fake, disk.path()));
    let first = server.next(|told| {
        if let Told::Certificate(certificate) = told { Some(certificate) } else { None }
    });
    server.next_event(|event| matches!(event, AcmeEvent::NotStored { .. }).then_some(()));
    server.stop();
    assert!(full.load(Ordering::Relaxed) && is_empty(disk.path(), "certificates"));
    disk.make_room();
    let server = Server::start(settings_of(&fake, disk.path()));
    assert_eq!(server.next_certificate().facts.fingerprint, first.facts.fingerprint);
    server.next_issued();
    server.stop();
    assert_eq!((fake.orders().len(), fake.count("finalize")), (1, 1));
}
