//! The table of readers of a store.

use store::{Order, SnapshotReader};

use crate::place::{FIRST, Place, put};

#[test]
fn each_snapshot_is_a_reader() {
    let place = Place::new();
    let store = place.open();
    let mut writer = store.writer();
    let mut commit = || {
        let order = Order::of(FIRST, put("a", "1"));
        writer.execute(&[order], 0).pop().unwrap().unwrap();
    };
    let own = std::process::id();
    assert_eq!(store.readers(), Ok(Vec::new()));
    let first = store.snapshot().unwrap();
    commit();
    let second = store.snapshot().unwrap();
    let mut readers = store.readers().unwrap();
    readers.sort_unstable();
    let expected =
        [first.commit(), second.commit()].map(|commit| SnapshotReader { commit, process: own });
    assert_eq!(readers, expected);
    assert!(readers[0].name().contains("/store-"), "{}", readers[0].name());
    let nobody = SnapshotReader { commit: 1, process: u32::MAX };
    assert_eq!(nobody.name(), "its name cannot be read");
    assert!(first.commit() < second.commit());
    drop((first, second));
    assert_eq!(store.readers(), Ok(Vec::new()));
}
