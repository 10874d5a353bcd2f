//! A directory with a store; removed when dropped.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use store::{
    Database, DatabaseChange, Executed, Order, Query, SnapshotCursor, StepOutcome, Store,
    StoreOperation, StoreOptions, Value, Writer,
};

pub(crate) const FIRST: Database = Database(0);
pub(crate) const SECOND: Database = Database(1);

pub(crate) struct Place {
    pub(crate) settings: StoreOptions,
}

impl Place {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("velodrome-store-{}-{number}", std::process::id());
        let directory: PathBuf = std::env::temp_dir().join(name);
        let databases = vec!["first".to_owned(), "second".to_owned()];
        Self { settings: StoreOptions { databases, ..StoreOptions::new(&directory) } }
    }

    pub(crate) fn open(&self) -> Store {
        Store::open(&self.settings).unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.settings.directory).unwrap();
    }
}

pub(crate) fn put(key: &str, bytes: &str) -> DatabaseChange {
    DatabaseChange::put(key.as_bytes(), Value::bytes(bytes.as_bytes()))
}

/// Executes one step alone.
pub(crate) fn run(writer: &mut Writer, step: StoreOperation, now_ms: u64) -> StepOutcome {
    let order = Order { conditions: Vec::new(), steps: vec![(FIRST, step)] };
    match writer.execute(&[order], now_ms).pop().unwrap().unwrap() {
        Executed::Done(mut outcomes) => outcomes.pop().unwrap(),
        Executed::Refused => panic!("it has no condition"),
    }
}

pub(crate) fn change(writer: &mut Writer, change: DatabaseChange, now_ms: u64) -> StepOutcome {
    run(writer, StoreOperation::Change(change), now_ms)
}

pub(crate) fn ask(store: &Store, query: &Query, now_ms: u64) -> StepOutcome {
    store.snapshot().unwrap().answer(FIRST, query, now_ms).unwrap()
}

pub(crate) fn text(store: &Store, key: &str) -> Option<String> {
    let snapshot = store.snapshot().unwrap();
    let record = snapshot.get(FIRST, key.as_bytes(), 0).unwrap();
    record.map(|record| String::from_utf8_lossy(record.bytes).into_owned())
}

/// Everything in a store.
pub(crate) fn everything(writer: &mut Writer) -> Vec<u8> {
    let (mut cursor, mut all) = (Some(SnapshotCursor::default()), Vec::new());
    while let Some(next) = cursor {
        let piece = writer.piece(&next).unwrap();
        all.extend(piece.changes);
        cursor = piece.next;
    }
    all
}
