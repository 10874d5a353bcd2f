//! Orders of several steps, their conditions, and what readers see in the meantime.

use store::{
    DatabaseChange, Executed, Order, OrderCondition, Query, StepOutcome, Store, StoreOperation,
    Sync,
};

use crate::place::{FIRST, Place, SECOND, change, put, text};

fn order(conditions: Vec<OrderCondition>, changes: Vec<DatabaseChange>) -> Order {
    let steps = changes.into_iter().map(|change| (FIRST, StoreOperation::Change(change))).collect();
    Order { conditions, steps }
}

fn version(store: &store::Store, key: &str) -> u64 {
    let snapshot = store.snapshot().unwrap();
    snapshot.get(FIRST, key.as_bytes(), 0).unwrap().map_or(0, |record| record.version)
}

#[test]
fn a_snapshot_stays_as_it_was() {
    let place = Place::new();
    let store = place.open();
    let mut writer = store.writer();
    change(&mut writer, put("a", "1"), 0);
    let before = store.snapshot().unwrap();
    change(&mut writer, put("a", "2"), 0);
    assert_eq!(before.get(FIRST, b"a", 0).unwrap().unwrap().bytes, b"1");
    assert!(before.get(SECOND, b"a", 0).unwrap().is_none(), "databases have keys of their own");
    drop(before);
    assert_eq!(text(&store, "a").as_deref(), Some("2"));
}

#[test]
fn an_order_reads_what_it_wrote() {
    let place = Place::new();
    let store = place.open();
    let get = StoreOperation::Query(Query::Get(b"a"[..].into()));
    let steps = vec![
        (FIRST, StoreOperation::Change(put("a", "1"))),
        (FIRST, get),
        (SECOND, StoreOperation::Query(Query::Count)),
    ];
    let done = store.writer().execute(&[Order { conditions: Vec::new(), steps }], 0).pop().unwrap();
    let Executed::Done(outcomes) = done.unwrap() else { panic!("it has no condition") };
    assert!(matches!(&outcomes[1], StepOutcome::Value(Some(entry)) if *entry.bytes == *b"1"));
    assert_eq!(outcomes[2], StepOutcome::Number(0));
}

#[test]
fn a_condition_is_about_the_version_also_within_a_commit() {
    let place = Place::new();
    let store = place.open();
    let mut writer = store.writer();
    let if_version =
        |version| vec![OrderCondition { database: FIRST, key: b"a"[..].into(), version }];
    change(&mut writer, put("a", "1"), 0);
    let seen = version(&store, "a");
    assert_ne!(seen, 0);
    // The same bytes written again are another version.
    let orders = [
        order(if_version(seen), vec![put("a", "1")]),
        order(if_version(seen), vec![put("a", "2")]),
        order(if_version(0), vec![put("a", "3")]),
        order(Vec::new(), vec![DatabaseChange::Delete(vec![b"a"[..].into()])]),
        order(if_version(0), vec![put("a", "4")]),
    ];
    let executed: Vec<bool> = writer
        .execute(&orders, 0)
        .into_iter()
        .map(|executed| executed.unwrap() != Executed::Refused)
        .collect();
    assert_eq!(executed, [true, false, false, true, true]);
    assert_eq!(text(&store, "a").as_deref(), Some("4"));
    assert!(version(&store, "a") > seen);
}

#[test]
fn a_store_is_as_it_was_when_it_is_opened_again() {
    let place = Place::new();
    let store = place.open();
    change(&mut store.writer(), put("a", "1"), 0);
    let seen = version(&store, "a");
    drop(store);
    let store = place.open();
    assert_eq!(text(&store, "a").as_deref(), Some("1"));
    change(&mut store.writer(), put("a", "2"), 0);
    assert!(version(&store, "a") > seen, "no version is used twice");
}

#[test]
fn a_store_whose_file_is_gone_is_not_begun_anew() {
    let mut place = Place::new();
    place.settings.sync = Sync::Log;
    let directory = place.settings.directory.clone();
    let store = place.open();
    change(&mut store.writer(), put("a", "1"), 0);
    drop(store);
    let data = directory.join(store::DATA_FILE);
    std::fs::remove_file(&data).unwrap();
    for of_it in ["missing", "empty", "missing and its checkpoint, too"] {
        let failure = Store::open(&place.settings).map(drop).unwrap_err().to_string();
        assert!(failure.contains("`data.mdb` in"), "{of_it}: {failure}");
        assert!(failure.contains("is missing or empty"), "{of_it}: {failure}");
        if of_it == "empty" {
            std::fs::remove_file(&data).unwrap();
            std::fs::remove_file(directory.join("checkpoint")).unwrap();
        } else {
            std::fs::write(&data, "").unwrap();
        }
    }
    for name in ["log.0", "log.1", "checkpoint"] {
        std::fs::remove_file(directory.join(name)).unwrap();
    }
    assert_eq!(text(&place.open(), "a"), None);
}
