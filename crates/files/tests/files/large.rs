//! Files that are sent from a descriptor: opened by the scheduler, warmed by a helper.

use std::fs;

use files::absence::Failure;
use files::{Body, FileRules, Large, LargeOpen, Patience, RootIndex, Roots, Warm, Warmed, limits};

use super::site::{ROOT, Site};

fn large_site() -> (Site, Large) {
    let mut site = Site::new(FileRules { held_size: 10, ..FileRules::default() });
    site.write("a.bin", [1; 1000]);
    let large = look_up(&mut site);
    (site, large)
}

fn look_up(site: &mut Site) -> Large {
    let file = site.look_up_file("/a.bin");
    match &file.representations[0].body {
        Body::Large(large) => large.clone(),
        Body::Memory(_) => panic!("it is not large"),
    }
}

#[test]
fn the_file_that_was_looked_up_is_opened() {
    let (site, large) = large_site();
    let mut roots = Roots::open(&[site.root()]).unwrap();
    for patience in [Patience::None, Patience::Warmed] {
        let LargeOpen::Ready(handle) = roots.open_large(ROOT, &large, patience) else { panic!() };
        let mut byte = [0];
        assert_eq!(handle.read_at(&mut byte, 999).unwrap(), 1);
        assert_eq!(byte, [1]);
    }
}

#[test]
fn another_file_is_not_sent_in_its_place() {
    let (mut site, large) = large_site();
    let mut roots = Roots::open(&[site.root()]).unwrap();
    let mut open = |large: &Large| roots.open_large(ROOT, large, Patience::Warmed);

    fs::write(site.outside("other"), [2; 1000]).unwrap();
    fs::rename(site.outside("other"), site.file("a.bin")).unwrap();
    assert!(matches!(open(&large), LargeOpen::Changed), "another inode");

    let large = look_up(&mut site);
    fs::write(site.file("a.bin"), [3; 2000]).unwrap();
    assert!(matches!(open(&large), LargeOpen::Written(_)), "it has grown");
    fs::write(site.file("a.bin"), [3; 500]).unwrap();
    assert!(matches!(open(&large), LargeOpen::Changed), "it is shorter");
    fs::remove_file(site.file("a.bin")).unwrap();
    assert!(matches!(open(&large), LargeOpen::Changed), "it is gone");
    assert!(matches!(roots.open_large(RootIndex(9), &large, Patience::None), LargeOpen::Changed));
}

#[test]
fn a_replaced_root_is_followed() {
    let (mut site, _) = large_site();
    let mut roots = Roots::open(&[site.root()]).unwrap();
    fs::rename(site.root().path, site.outside("old")).unwrap();
    site.write("a.bin", [2; 1000]);
    let large = look_up(&mut site);
    let opened = roots.open_large(ROOT, &large, Patience::Warmed);
    assert!(matches!(opened, LargeOpen::Ready(_)), "{opened:?}");
}

#[test]
fn a_region_is_warmed_to_its_end_and_no_further() {
    let (mut site, large) = large_site();
    let warm =
        |offset, length| Warm { root: ROOT, relative: large.relative.clone(), offset, length };
    for (offset, length, expected) in [
        (0, 1000, 1000),
        (100, 200, 200),
        (900, 200, 100),
        (1000, 1, 0),
        (5, 0, 0),
        (0, u64::MAX, 1000),
    ] {
        assert_eq!(site.disk.warm(&warm(offset, length)), Warmed::Read(expected), "{offset}");
    }
    fs::write(site.file("a.bin"), vec![0; 9 << 20]).unwrap();
    let bounded = Warmed::Read(limits::WARM_SIZE_MAX);
    assert_eq!(site.disk.warm(&warm(0, u64::MAX)), bounded);
    fs::remove_file(site.file("a.bin")).unwrap();
    assert_eq!(site.disk.warm(&warm(0, 1)), Warmed::Failed(Failure::Storage));
}
