//! Reads of the store by pages.
//!
//! Owns how records are passed to the engine. Never writes: pages order changes
//! (`record_orders.rs`).

use std::cell::RefCell;
use std::fmt::Display;
use std::rc::Rc;

use script::engine::{self, HostAnswer, RecordParts};
use store::{Database, PageOf, Query, StepOutcome, TurnStore, ValueKind, With};

const NO_STORE: &str =
    "there is no store: start the server with --store DIRECTORY, or configure [store]";

/// The store of this scheduler, if it has one.
#[derive(Debug, Default)]
pub struct StoreRecords {
    store: RefCell<Option<Rc<TurnStore>>>,
}

impl StoreRecords {
    /// Gives pages access to a store.
    pub fn open(&self, store: Rc<TurnStore>) {
        self.store.replace(Some(store));
    }

    /// A run goes on: it sees every commit that it may have been told of.
    pub(super) fn begin_run(&self) {
        if let Some(store) = &*self.store.borrow() {
            store.renew();
        }
    }

    /// The store, if there is one.
    pub(super) fn store(&self) -> Result<Rc<TurnStore>, String> {
        self.store.borrow().clone().ok_or_else(|| NO_STORE.to_owned())
    }

    pub(super) fn database(&self, name: &[u8]) -> Result<Database, String> {
        let store = self.store()?;
        number_of(&store, name)
    }

    /// Reads the record of a key, in the form of the engine.
    pub(crate) fn record(
        &self,
        database: &[u8],
        key: &[u8],
        now_ms: u64,
        answer: &mut HostAnswer,
    ) -> Result<(), String> {
        let store = self.store()?;
        let database = number_of(&store, database)?;
        store.note_uses(|| [(database, key)]);
        let snapshot = store.snapshot().map_err(told)?;
        if let Some(record) = snapshot.get(database, key, now_ms).map_err(told)? {
            put(answer, record.kind, record.bytes, record.version, record.expiry_ms);
        }
        Ok(())
    }

    /// Reads consecutive records, in the form of the engine.
    pub(crate) fn records(
        &self,
        wanted: engine::RecordScan<'_>,
        now_ms: u64,
        answer: &mut HostAnswer,
    ) -> Result<(), String> {
        let store = self.store()?;
        let database = number_of(&store, wanted.database)?;
        let page = Query::Page(PageOf {
            prefix: wanted.prefix.into(),
            after: wanted.after.map(Into::into),
            keys: wanted.count,
            with: match wanted.parts {
                RecordParts::Whole => With::Values,
                RecordParts::Version => With::Versions,
            },
        });
        let snapshot = store.snapshot().map_err(told)?;
        let outcome = snapshot.answer(database, &page, now_ms).map_err(told)?;
        let StepOutcome::Page(page) = outcome else { return Err("it gave no page".to_owned()) };
        match &page.next {
            Some(next) => answer.field(next, b"1"),
            None => answer.field(b"", b""),
        }
        answer.field(itoa::Buffer::new().format(snapshot.commit()).as_bytes(), b"");
        for (key, entry) in &page.keys {
            let Some(entry) = entry else { continue };
            answer.field(key, b"");
            put(answer, entry.kind, &entry.bytes, entry.version, entry.expiry_ms);
        }
        Ok(())
    }
}

fn number_of(store: &TurnStore, name: &[u8]) -> Result<Database, String> {
    let place = store.store().databases().iter().position(|known| known.as_bytes() == name);
    let number = place.and_then(|place| u8::try_from(place).ok());
    number.map(Database).ok_or_else(|| {
        format!(
            "there is no database '{}': name it in `databases` of [store]",
            String::from_utf8_lossy(name)
        )
    })
}

fn told(failure: impl Display) -> String {
    failure.to_string()
}

fn put(answer: &mut HostAnswer, kind: ValueKind, bytes: &[u8], version: u64, end_ms: Option<u64>) {
    let kind: &[u8] = match kind {
        ValueKind::Bytes => b"0",
        ValueKind::Number => b"1",
        ValueKind::Table => b"2",
    };
    answer.field(kind, bytes);
    let end = end_ms.map(|end_ms| itoa::Buffer::new().format(end_ms).to_owned());
    let mut version_text = itoa::Buffer::new();
    answer.field(version_text.format(version).as_bytes(), end.as_deref().unwrap_or("").as_bytes());
}
