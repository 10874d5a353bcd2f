//! Sizes, and stores that are full.

use store::limits::{KEY_SIZE, ORDER_WORK_SIZE, VALUE_SIZE};
use store::{
    DatabaseChange, Executed, Expiry, ExpiryOnly, LoadFailure, LoadedRow, Misuse, Order,
    StepOutcome, Store, StoreFailure, StoreOperation, Sync, Value,
};

use crate::place::{FIRST, Place, change, put, text};

/// Bytes of a small store.
const SMALL: u64 = 1024 * 1024;

#[test]
fn keys_and_values_of_another_size_are_refused() {
    let place = Place::new();
    let store = place.open();
    let mut writer = store.writer();
    for (length, outcome) in [
        (0, StepOutcome::Misuse(Misuse::KeySize)),
        (KEY_SIZE, StepOutcome::Put(true, None)),
        (KEY_SIZE + 1, StepOutcome::Misuse(Misuse::KeySize)),
    ] {
        let key = "k".repeat(length);
        assert_eq!(change(&mut writer, put(&key, "1"), 0), outcome, "{length}");
        assert_eq!(text(&store, &key).is_some(), length == KEY_SIZE);
    }
    let value = |length: usize| DatabaseChange::put(b"v", Value::bytes(&vec![7; length]));
    assert_eq!(change(&mut writer, value(VALUE_SIZE), 0), StepOutcome::Put(true, None));
    assert_eq!(
        change(&mut writer, value(VALUE_SIZE + 1), 0),
        StepOutcome::Misuse(Misuse::ValueSize)
    );
    let more = DatabaseChange::Append(b"v"[..].into(), b"x"[..].into());
    assert_eq!(change(&mut writer, more, 0), StepOutcome::Misuse(Misuse::ValueSize));
}

#[test]
fn a_full_store_can_be_read_and_emptied() {
    let mut place = Place::new();
    place.settings.size = Some(SMALL);
    place.settings.sync = Sync::Never;
    let store = place.open();
    let mut writer = store.writer();
    let mut put_one =
        |key: &str| writer.execute(&[Order::of(FIRST, put(key, &"x".repeat(1_000)))], 0).remove(0);
    let mut number = 0;
    while put_one(&number.to_string()).is_ok() {
        number += 1;
    }
    assert!((500..1_000).contains(&number), "{number}");
    assert_eq!(put_one("0"), Err(StoreFailure::Full));
    let delete = |key: usize| DatabaseChange::Delete(vec![key.to_string().into_bytes().into()]);
    let orders = [Order::of(FIRST, put("a", "1")), Order::of(FIRST, delete(0))];
    let done = Ok(Executed::Done(vec![StepOutcome::Number(1)]));
    assert_eq!(writer.execute(&orders, 0), [Err(StoreFailure::Full), done]);
    assert_eq!((text(&store, "0"), text(&store, "a")), (None, None));
    for number in 1..number {
        assert_eq!(change(&mut writer, delete(number), 0), StepOutcome::Number(1));
    }
    assert_eq!(change(&mut writer, put("a", "3"), 0), StepOutcome::Put(true, None));
    assert!(store.usage().file_bytes < 2 * SMALL, "{:?}", store.usage());
}

#[test]
fn a_write_is_bounded_before_the_file_grows() {
    let mut place = Place::new();
    place.settings.size = Some(SMALL);
    place.settings.sync = Sync::Never;
    let store = place.open();
    let mut writer = store.writer();
    change(&mut writer, DatabaseChange::put(b"v", Value::bytes(&vec![7; 100_000])), 0);
    let large = |length: usize| Value::bytes(&vec![7; length]);
    let append = || {
        (
            FIRST,
            StoreOperation::Change(DatabaseChange::Append(b"v"[..].into(), vec![7; 10_000].into())),
        )
    };
    let all = |pairs: u8| {
        let pairs = (0..pairs).map(|key| (Box::from([key]), vec![7; 100_000].into()));
        DatabaseChange::PutAll { pairs: pairs.collect(), only: store::Only::Always }
    };
    let order = |steps| Order { conditions: Vec::new(), steps };
    let orders = [
        Order::of(FIRST, DatabaseChange::put(b"a", large(VALUE_SIZE))),
        Order::of(FIRST, DatabaseChange::Append(b"v"[..].into(), vec![7; 900_000].into())),
        Order::of(FIRST, all(10)),
        order(
            (0..10)
                .map(|key| {
                    (FIRST, StoreOperation::Change(DatabaseChange::put(&[key], large(100_000))))
                })
                .collect(),
        ),
        // Each step writes the value again, and its old pages are not reused in the same transaction.
        order(std::iter::repeat_with(append).take(10).collect()),
    ];
    // The steps of the last one fit, one by one.
    let refused: Vec<_> = [true, true, true, true, false]
        .map(|is_larger| {
            Err(if is_larger { StoreFailure::LargerThanStore } else { StoreFailure::Full })
        })
        .into();
    assert_eq!(writer.execute(&orders, 0), refused);
    for (order, refused) in orders.into_iter().zip(refused) {
        assert_eq!(writer.execute(&[order], 0), [refused]);
    }
    let rows = (0..20).map(|key| {
        let (key, value) = (vec![key].into(), Value::bytes(&[7; 100_000]));
        Ok::<_, ()>(LoadedRow { key, value, expiry_ms: None })
    });
    let loaded = writer.load(FIRST, rows);
    assert!(matches!(loaded, Err(LoadFailure::Store(StoreFailure::Full))), "{loaded:?}");
    assert_eq!(
        change(&mut writer, DatabaseChange::put(b"b", large(300_000)), 0),
        StepOutcome::Put(true, None)
    );
    assert!(store.usage().file_bytes <= SMALL, "{:?}", store.usage());
}

#[test]
fn orders_that_fit_one_by_one_are_not_refused_because_they_come_together() {
    let mut place = Place::new();
    place.settings.size = Some(SMALL);
    place.settings.sync = Sync::Never;
    let store = place.open();
    let mut writer = store.writer();
    let value = Value::bytes(&[7; 100_000]);
    // Together they write four times as much as fits, each over the one before.
    let orders: Vec<_> =
        (0..40).map(|_| Order::of(FIRST, DatabaseChange::put(b"v", value.clone()))).collect();
    let done = Ok(Executed::Done(vec![StepOutcome::Put(true, None)]));
    assert_eq!(writer.execute(&orders, 0), vec![done; 40]);
    assert!(store.usage().file_bytes <= SMALL, "{:?}", store.usage());
}

#[test]
fn another_program_keeps_to_the_size_that_the_server_gave() {
    let mut place = Place::new();
    (place.settings.size, place.settings.sync) = (Some(SMALL), Sync::Never);
    drop(place.open());
    place.settings.size = None;
    let store = place.open();
    assert_eq!(store.usage().size, SMALL);
    let large = Order::of(FIRST, DatabaseChange::put(b"v", Value::bytes(&vec![7; VALUE_SIZE])));
    assert_eq!(store.writer().execute(&[large], 0), [Err(StoreFailure::LargerThanStore)]);
}

#[test]
fn a_place_beyond_the_longest_value_is_an_error_of_its_order_alone() {
    let mut place = Place::new();
    place.settings.sync = Sync::Never;
    let store = place.open();
    let overwrite =
        |at: usize, bytes: &[u8]| DatabaseChange::Overwrite(b"v"[..].into(), at, bytes.into());
    let both = vec![(FIRST, StoreOperation::Change(overwrite(i64::MAX as usize, b"x"))); 2];
    let orders = [
        Order::of(FIRST, put("a", "1")),
        Order { conditions: Vec::new(), steps: both },
        Order::of(FIRST, overwrite(usize::MAX, b"x")),
        Order::of(FIRST, overwrite(VALUE_SIZE, b"x")),
        Order::of(FIRST, overwrite(VALUE_SIZE - 1, b"x")),
        // As in Redis, which writes nothing then.
        Order::of(FIRST, overwrite(usize::MAX, b"")),
        Order::of(FIRST, put("b", "1")),
    ];
    let done = |outcome: StepOutcome, count| Ok(Executed::Done(vec![outcome; count]));
    let (misuse, length) = (StepOutcome::Misuse(Misuse::ValueSize), StepOutcome::Number(16 << 20));
    let (put, long) = (StepOutcome::Put(true, None), misuse);
    let expected = [
        done(put.clone(), 1),
        done(long.clone(), 2),
        done(long.clone(), 1),
        done(long, 1),
        done(length.clone(), 1),
        done(length, 1),
        done(put, 1),
    ];
    assert_eq!(store.writer().execute(&orders, 0), expected);
}

#[test]
fn failing_write_in_batch_fails_alone() {
    let mut place = Place::new();
    place.settings.size = Some(SMALL);
    place.settings.sync = Sync::Never;
    let store = place.open();
    let large = Value::bytes(&vec![0; VALUE_SIZE]);
    let steps = (0..17)
        .map(|key| (FIRST, StoreOperation::Change(DatabaseChange::put(&[key], large.clone()))));
    let orders = [
        Order::of(FIRST, put("a", "1")),
        Order { conditions: Vec::new(), steps: steps.collect() },
        Order::of(FIRST, put("b", "2")),
    ];
    let executed = store.writer().execute(&orders, 0);
    let done = Ok(Executed::Done(vec![StepOutcome::Put(true, None)]));
    assert_eq!(executed, [done.clone(), Err(StoreFailure::LargerThanStore), done]);
    assert_eq!(text(&store, "b").as_deref(), Some("2"));
    assert_eq!(text(&store, "\0"), None);
}

#[test]
fn names_that_are_none_are_refused() {
    for name in ["", "a/b", "a b", &"x".repeat(65)] {
        let mut place = Place::new();
        std::fs::create_dir_all(&place.settings.directory).unwrap();
        place.settings.databases = vec![name.to_owned()];
        let failure = Store::open(&place.settings).map(drop).unwrap_err();
        assert!(failure.to_string().contains("is not a database name"), "{failure}");
    }
}

#[test]
fn an_order_that_copies_too_much_is_not_done_at_all() {
    let mut place = Place::new();
    place.settings.sync = Sync::Never;
    let store = place.open();
    let mut writer = store.writer();
    change(&mut writer, DatabaseChange::put(b"v", Value::bytes(&vec![7; VALUE_SIZE])), 0);
    let expire = |time: u64| {
        let (expiry, only) = (Expiry::At(time), ExpiryOnly::Always);
        (
            FIRST,
            StoreOperation::Change(DatabaseChange::Expire { key: b"v"[..].into(), expiry, only }),
        )
    };
    let mut steps = vec![(FIRST, StoreOperation::Change(put("a", "1")))];
    steps.extend((1_000..1_006).map(expire));
    let too_much = Order { conditions: Vec::new(), steps };
    assert!(store.snapshot().unwrap().work(&too_much).unwrap() > ORDER_WORK_SIZE);
    let orders = [Order::of(FIRST, put("b", "1")), too_much, Order::of(FIRST, put("c", "1"))];
    let done = Ok(Executed::Done(vec![StepOutcome::Put(true, None)]));
    assert_eq!(writer.execute(&orders, 0), [done.clone(), Err(StoreFailure::TooMuch), done]);
    let found = ["a", "b", "c"].map(|key| text(&store, key).is_some());
    assert_eq!(found, [false, true, true]);
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.get(FIRST, b"v", 0).unwrap().unwrap().expiry_ms, None);
}
