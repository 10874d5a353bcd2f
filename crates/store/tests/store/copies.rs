//! Copies of a store.

use std::collections::BTreeSet;

use store::{Order, Store, StoreFailure, StoreOptions, Writer};

use crate::place::{FIRST, Place, put, text};

fn version(store: &Store, key: &str) -> u64 {
    store.snapshot().unwrap().get(FIRST, key.as_bytes(), 0).unwrap().unwrap().version
}

fn write(writer: &mut Writer, key: &str) {
    writer.execute(&[Order::of(FIRST, put(key, key))], 0).pop().unwrap().unwrap();
}

#[test]
fn a_copy_never_uses_a_version_again() {
    let (place, target) = (Place::new(), Place::new());
    let store = place.open();
    let mut writer = store.writer();
    let mut versions = BTreeSet::new();
    for number in 0..20 {
        write(&mut writer, "a");
        assert!(versions.insert(version(&store, "a")), "{number}");
    }
    store.copy_to(&target.settings.directory).unwrap();
    let copy = target.open();
    assert_eq!(version(&copy, "a"), version(&store, "a"));
    let mut writer = copy.writer();
    for number in 0..40 {
        write(&mut writer, "a");
        assert!(versions.insert(version(&copy, "a")), "{number}");
    }
    // And a copy of the copy.
    let last = Place::new();
    copy.copy_to(&last.settings.directory).unwrap();
    let copy = last.open();
    let mut writer = copy.writer();
    for number in 0..80 {
        write(&mut writer, "a");
        assert!(versions.insert(version(&copy, "a")), "{number}");
    }
    let refused = copy.copy_to(&target.settings.directory);
    let there = target.settings.directory.join(store::DATA_FILE);
    assert_eq!(
        refused,
        Err(StoreFailure::Storage(format!("`{}` is there already", there.display())))
    );
    let mut names: Vec<_> = std::fs::read_dir(&last.settings.directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.ends_with(".mdb"))
        .collect();
    names.sort();
    assert_eq!(names, ["checkpoint", "reserve"], "nothing is left of a draft");
}

/// A store of three values and much free space.
fn loose(settings: &StoreOptions) -> u64 {
    let store = Store::open(settings).unwrap();
    let mut writer = store.writer();
    for number in 0..500 {
        write(&mut writer, &format!("{number}").repeat(100));
    }
    let orders: Vec<Order> = (0..497)
        .map(|number| {
            let key = format!("{number}").repeat(100).into_bytes().into();
            Order::of(FIRST, store::DatabaseChange::Delete(vec![key]))
        })
        .collect();
    for executed in writer.execute(&orders, 0) {
        executed.unwrap();
    }
    version(&store, &"499".repeat(100))
}

#[test]
fn a_store_that_nobody_has_open_is_made_small() {
    let place = Place::new();
    let known = loose(&place.settings);
    let (before, after) = store::compact(&place.settings.directory).unwrap();
    assert!(after * 4 < before, "{before} {after}");
    let store = place.open();
    for number in 497..500 {
        let key = format!("{number}").repeat(100);
        assert_eq!(text(&store, &key), Some(key));
    }
    let key = "499".repeat(100);
    assert_eq!(version(&store, &key), known);
    let mut writer = store.writer();
    write(&mut writer, &key);
    assert!(version(&store, &key) > known);
    assert_eq!(writer.check(FIRST), Ok(Ok(3)));
    drop((store, writer));
    // Again: it cannot become smaller.
    let (before, after) = store::compact(&place.settings.directory).unwrap();
    assert!(after <= before, "{before} {after}");
    let nothing = Place::new();
    std::fs::create_dir_all(&nothing.settings.directory).unwrap();
    assert!(store::compact(&nothing.settings.directory).is_err());
}
