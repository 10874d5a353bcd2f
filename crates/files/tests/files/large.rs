//! Files that are sent from a descriptor: opened by the scheduler, warmed by a helper.

use std::fs;
use std::rc::Rc;

use files::absence::FileFailure;
use files::{
    BodySource, FileRules, Large, LargeOpen, OpenWait, RootIndex, Roots, Warm, Warmed, limits,
};

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
        BodySource::Large(large) => large.clone(),
        BodySource::Memory(_) => panic!("it is not large"),
    }
}

#[test]
fn the_file_that_was_looked_up_is_opened() {
    let (site, large) = large_site();
    let mut roots = Roots::open(&[site.root()]).unwrap();
    for patience in [OpenWait::None, OpenWait::Warmed] {
        let LargeOpen::Ready(handle) = roots.open_large(ROOT, &large, patience, 0) else {
            panic!()
        };
        let mut byte = [0];
        assert_eq!(handle.read_at(&mut byte, 999).unwrap(), 1);
        assert_eq!(byte, [1]);
    }
}

#[test]
fn another_file_is_not_sent_in_its_place() {
    let (mut site, large) = large_site();
    let mut roots = Roots::open(&[site.root()]).unwrap();
    let mut open = |large: &Large| roots.open_large(ROOT, large, OpenWait::Warmed, 0);

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
    assert!(matches!(
        roots.open_large(RootIndex(9), &large, OpenWait::None, 0),
        LargeOpen::Changed
    ));
}

#[test]
fn a_file_that_is_asked_for_again_is_opened_once_and_closed_when_nobody_asks() {
    let (mut site, large) = large_site();
    let mut roots = Roots::open(&[site.root()]).unwrap();
    let open = |roots: &mut Roots, large: &Large, now_ms| match roots.open_large(
        ROOT,
        large,
        OpenWait::Warmed,
        now_ms,
    ) {
        LargeOpen::Ready(file) => Some(file),
        _ => None,
    };
    let kept = open(&mut roots, &large, 0).unwrap();
    assert!(Rc::ptr_eq(&kept, &open(&mut roots, &large, 600).unwrap()));
    assert_eq!(roots.close_unused(1_000), Some(1_600));
    assert!(Rc::ptr_eq(&kept, &open(&mut roots, &large, 1_500).unwrap()));
    assert_eq!(roots.close_unused(2_499), Some(2_500));
    assert_eq!((roots.close_unused(2_500), Rc::strong_count(&kept)), (None, 1));

    let kept = open(&mut roots, &large, 3_000).unwrap();
    fs::write(site.outside("other"), [2; 1000]).unwrap();
    fs::rename(site.outside("other"), site.file("a.bin")).unwrap();
    assert!(open(&mut roots, &large, 3_001).is_none(), "it is another file by now");
    assert_eq!(Rc::strong_count(&kept), 1, "the old one is not kept");
    let large = look_up(&mut site);
    assert!(!Rc::ptr_eq(&kept, &open(&mut roots, &large, 3_002).unwrap()));
}

#[test]
fn so_many_descriptors_are_kept_and_no_more() {
    let mut site = Site::new(FileRules { held_size: 10, ..FileRules::default() });
    let mut roots = Roots::open(&[site.root()]).unwrap();
    let opened: Vec<_> = (0..=limits::HANDLES_MAX)
        .map(|number| {
            let name = format!("{number}.bin");
            site.write(&name, [1; 1000]);
            let file = site.look_up_file(&format!("/{name}"));
            let BodySource::Large(large) = &file.representations[0].body else { panic!() };
            match roots.open_large(ROOT, large, OpenWait::Warmed, 0) {
                LargeOpen::Ready(file) => file,
                other => panic!("{other:?}"),
            }
        })
        .collect();
    let kept = opened.iter().filter(|file| Rc::strong_count(file) == 2).count();
    assert_eq!((kept, opened.len()), (limits::HANDLES_MAX, limits::HANDLES_MAX + 1));
}

#[test]
fn a_replaced_root_is_followed() {
    let (mut site, _) = large_site();
    let mut roots = Roots::open(&[site.root()]).unwrap();
    fs::rename(site.root().path, site.outside("old")).unwrap();
    site.write("a.bin", [2; 1000]);
    let large = look_up(&mut site);
    let opened = roots.open_large(ROOT, &large, OpenWait::Warmed, 0);
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
    assert_eq!(site.disk.warm(&warm(0, 1)), Warmed::Failed(FileFailure::Storage));
}
