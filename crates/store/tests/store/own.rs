//! Databases of the program itself: clients that are given the names cannot name them, and no change of theirs reaches
//! one.

use store::{DatabaseChange, Order, Store, StoreOptions, Sync, Value};

use crate::place::{FIRST, Place, change, put, text};

#[test]
fn a_database_of_the_program_is_not_named_and_outlives_the_deletion_of_all_others() {
    for sync in [Sync::Commit, Sync::Log] {
        let mut place = Place::new();
        place.settings.own_databases = vec![".keys".to_owned()];
        place.settings.sync = sync;
        let store = place.open();
        assert_eq!(store.databases(), ["first", "second"]);
        assert_eq!((store.own_database("first"), store.own_database(".other")), (None, None));
        let own = store.own_database(".keys").unwrap();
        let mut writer = store.writer();
        let secret = DatabaseChange::put(b"a", Value::bytes(b"secret"));
        writer.execute(&[Order::of(own, secret)], 0).pop().unwrap().unwrap();
        change(&mut writer, put("a", "seen"), 0);
        change(&mut writer, DatabaseChange::ClearAll, 0);
        assert_eq!(text(&store, "a"), None);
        let kept = |store: &Store| {
            let own = store.own_database(".keys").unwrap();
            let snapshot = store.snapshot().unwrap();
            snapshot.get(own, b"a", 0).unwrap().map(|record| record.bytes.to_vec())
        };
        assert_eq!(kept(&store).as_deref(), Some(&b"secret"[..]));
        drop((writer, store));
        // It is the same one with other databases before it, and not there for a program that does not ask for it.
        place.settings.databases.push("third".to_owned());
        assert_eq!(kept(&place.open()).as_deref(), Some(&b"secret"[..]));
        let others = StoreOptions { own_databases: Vec::new(), ..place.settings.clone() };
        let store = Store::open(&others).unwrap();
        assert_eq!((store.own_database(".keys"), store.databases().len()), (None, 3));
        assert!(store.snapshot().unwrap().get(FIRST, b"a", 0).unwrap().is_none());
    }
}
