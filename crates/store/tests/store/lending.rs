//! Values that are lent for longer than a turn.

use store::limits::{LENT_SNAPSHOTS, LENT_TIME_MS, LENT_TOGETHER_MS};
use store::{
    DatabaseChange, Executed, LentValue, Misuse, Order, StepOutcome, Store, StoreFailure,
    StoreOptions, TurnStore, Writer,
};

use crate::place::{FIRST, Place, put};

fn lend(turn: &TurnStore, key: &str, now_ms: u64) -> Option<LentValue> {
    let snapshot = turn.snapshot().unwrap();
    let version = snapshot.get(FIRST, key.as_bytes(), 0).unwrap().unwrap().version;
    turn.lend(FIRST, key.as_bytes(), version, now_ms).unwrap()
}

fn write(writer: &mut Writer, key: &str, bytes: &str) -> Result<(), StoreFailure> {
    writer.execute(&[Order::of(FIRST, put(key, bytes))], 0).pop().unwrap().map(drop)
}

fn open(place: &Place) -> (TurnStore, Writer) {
    let store: Store = place.open();
    let writer = store.writer();
    (TurnStore::new(store), writer)
}

#[test]
fn a_value_that_is_lent_stays_as_it_was() {
    let place = Place::new();
    let (turn, mut writer) = open(&place);
    write(&mut writer, "a", "first").unwrap();
    let lent = lend(&turn, "a", 0).unwrap();
    for number in 0..200 {
        turn.end_turn(number);
        write(&mut writer, "a", &format!("{number}").repeat(1_000)).unwrap();
        write(&mut writer, &format!("{number}"), "x").unwrap();
        assert_eq!(lent.as_ref(), b"first");
    }
    let now = turn.snapshot().unwrap().get(FIRST, b"a", 0).unwrap().unwrap().bytes.to_vec();
    assert_eq!(now, "199".repeat(1_000).as_bytes());
    assert_eq!(turn.lent(), 1);
    let size = turn.store().usage().file_bytes;
    drop(lent);
    assert_eq!(turn.lent(), 0);
    turn.end_turn(300);
    // The memory that was kept for it is used again.
    for number in 0..200 {
        turn.end_turn(number);
        write(&mut writer, "a", &format!("{number}").repeat(1_000)).unwrap();
    }
    assert_eq!(turn.store().usage().file_bytes, size);
}

#[test]
fn loans_share_a_snapshot_while_their_values_are_as_they_were() {
    let place = Place::new();
    let (turn, mut writer) = open(&place);
    for key in ["a", "b"] {
        write(&mut writer, key, "first").unwrap();
    }
    let mut lent = vec![lend(&turn, "a", 0).unwrap()];
    turn.end_turn(0);
    write(&mut writer, "c", "other").unwrap();
    lent.push(lend(&turn, "b", 1).unwrap());
    assert_eq!(turn.lent(), 1);
    // A value that was written later is in another page.
    write(&mut writer, "b", "second").unwrap();
    turn.end_turn(1);
    lent.push(lend(&turn, "b", 2).unwrap());
    assert_eq!(turn.lent(), 2);
    turn.end_turn(2);
    lent.push(lend(&turn, "a", 2 + LENT_TOGETHER_MS).unwrap());
    assert_eq!(turn.lent(), 3);
    let told: Vec<&[u8]> = lent.iter().map(AsRef::as_ref).collect();
    assert_eq!(told, [b"first" as &[u8], b"first", b"second", b"first"]);
}

#[test]
fn a_thread_lends_from_so_many_snapshots_and_no_more() {
    let place = Place::new();
    let (turn, mut writer) = open(&place);
    let mut lent = Vec::new();
    for number in 0..LENT_SNAPSHOTS {
        write(&mut writer, "a", &format!("{number}")).unwrap();
        turn.end_turn(0);
        lent.push(lend(&turn, "a", 0).unwrap());
    }
    write(&mut writer, "a", "one more").unwrap();
    turn.end_turn(0);
    assert!(lend(&turn, "a", 0).is_none());
    // The reader slots of other programs are free nevertheless.
    let snapshots: Vec<_> = (0..10).map(|_| turn.store().snapshot().unwrap()).collect();
    drop(snapshots);
    for (number, value) in lent.iter().enumerate() {
        assert_eq!(value.as_ref(), format!("{number}").as_bytes());
    }
    lent.pop();
    assert!(lend(&turn, "a", 0).is_some());
}

#[test]
fn loans_go_on_after_an_order_that_never_fits() {
    let place = Place::new();
    let settings = StoreOptions { size: Some(1 << 20), ..place.settings.clone() };
    let store = Store::open(&settings).unwrap();
    let (mut writer, turn) = (store.writer(), TurnStore::new(store));
    write(&mut writer, "a", "first").unwrap();
    let lent = lend(&turn, "a", 0).unwrap();
    let refused = write(&mut writer, "b", &"x".repeat(1 << 20));
    assert_eq!(refused, Err(StoreFailure::LargerThanStore));
    let far = DatabaseChange::Overwrite(b"b"[..].into(), usize::MAX, b"x"[..].into());
    let executed = writer.execute(&[Order::of(FIRST, far)], 0).pop().unwrap();
    assert_eq!(executed, Ok(Executed::Done(vec![StepOutcome::Misuse(Misuse::ValueSize)])));
    turn.end_turn(0);
    assert_eq!(lent.as_ref(), b"first");
}

#[test]
fn loans_end_by_their_age_and_when_the_store_is_full() {
    let place = Place::new();
    let settings = StoreOptions { size: Some(1 << 20), ..place.settings.clone() };
    let store = Store::open(&settings).unwrap();
    let (mut writer, turn) = (store.writer(), TurnStore::new(store));
    write(&mut writer, "a", "first").unwrap();
    let old = lend(&turn, "a", 0).unwrap();
    turn.end_turn(0);
    let young = lend(&turn, "a", LENT_TOGETHER_MS).unwrap();
    turn.end_turn(LENT_TIME_MS - 1);
    assert_eq!((old.as_ref(), young.as_ref()), (&b"first"[..], &b"first"[..]));
    turn.end_turn(LENT_TIME_MS);
    assert_eq!((old.as_ref(), young.as_ref()), (&b""[..], &b"first"[..]));
    // The same key repeatedly: a lent value makes the file grow, and nothing else does.
    let large = "x".repeat(10_000);
    let mut times = 0;
    while young.as_ref() == b"first" {
        write(&mut writer, "b", &large).unwrap();
        turn.end_turn(LENT_TIME_MS);
        times += 1;
        assert!(times < 1_000, "{:?} {}", turn.store().usage(), turn.lent());
    }
    assert!(times > 10, "{times}");
    assert_eq!(young.as_ref(), b"");
    drop((old, young));
    for _ in 0..1_000 {
        write(&mut writer, "b", &large).unwrap();
    }
    let usage = turn.store().usage();
    assert!(usage.file_bytes < 2 * usage.size, "{usage:?}");
    assert_eq!(lend(&turn, "a", LENT_TIME_MS).unwrap().as_ref(), b"first");
}
