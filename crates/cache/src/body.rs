//! Bodies, and the memory of those that are in no table: they are being received, or were forgotten while clients still
//! read them. A body may also be elsewhere, and then uses no memory.
//!
//! Owns how much that is. Each of them gives its bytes back when the last that holds it drops it, whoever that is.

use std::cell::{Cell, OnceCell};
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;

/// Bytes of bodies outside the table of one cache.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outside(Rc<Cell<usize>>);

impl Outside {
    pub(crate) fn bytes(&self) -> usize {
        self.0.get()
    }

    fn change(&self, from: usize, to: usize) {
        self.0.set(self.0.get().saturating_sub(from).saturating_add(to));
    }
}

/// Bytes for a body that is being received: [`Cache::reserve`](crate::Cache::reserve).
#[derive(Debug)]
pub struct Reservation {
    outside: Outside,
    bytes: usize,
}

impl Reservation {
    pub(crate) fn new(outside: &Outside) -> Self {
        Self { outside: outside.clone(), bytes: 0 }
    }

    pub(crate) fn grow(&mut self, bytes: usize) {
        self.outside.change(0, bytes);
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// How many it has.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Gives back all beyond these.
    pub fn shrink_to(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.outside.change(std::mem::replace(&mut self.bytes, bytes), bytes);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

/// A body that is not in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// The name of what it is a part of. No other body ever gets it.
    pub name: Arc<str>,
    /// Where it begins there.
    pub offset: u64,
    /// Its length.
    pub length: u64,
}

/// A body.
#[derive(Debug)]
pub struct StoredBody {
    bytes: Vec<u8>,
    /// Where it is, if it is not in `bytes`.
    elsewhere: Option<Elsewhere>,
    /// Of the cache that has it or had it.
    outside: OnceCell<Outside>,
    /// The bytes that it counts for there: none while a table has it.
    counted: Cell<usize>,
}

impl StoredBody {
    /// One that counts nowhere until a cache has stored it.
    pub(crate) fn of(mut bytes: Vec<u8>) -> Self {
        bytes.shrink_to_fit();
        Self { bytes, elsewhere: None, outside: OnceCell::new(), counted: Cell::new(0) }
    }

    /// One that is not in memory.
    pub(crate) fn at(elsewhere: Elsewhere) -> Self {
        let mut body = Self::of(Vec::new());
        body.elsewhere = Some(elsewhere);
        body
    }

    /// Where it is, if not in memory.
    pub fn elsewhere(&self) -> Option<&Elsewhere> {
        self.elsewhere.as_ref()
    }

    /// Its length, wherever it is.
    pub fn length(&self) -> u64 {
        self.elsewhere.as_ref().map_or(self.bytes.len() as u64, |elsewhere| elsewhere.length)
    }

    /// One that was received. It counts what was reserved for it.
    pub(crate) fn received(bytes: Vec<u8>, reserved: &mut Reservation) -> Self {
        let body = Self::of(bytes);
        body.leave(&reserved.outside);
        reserved.shrink_to(0);
        body
    }

    /// A table has it, and counts it itself.
    pub(crate) fn enter(&self) {
        self.count(0);
    }

    /// A table has it no longer.
    pub(crate) fn leave(&self, outside: &Outside) {
        self.outside.get_or_init(|| outside.clone());
        self.count(self.bytes.len());
    }

    fn count(&self, bytes: usize) {
        if let Some(outside) = self.outside.get() {
            outside.change(self.counted.replace(bytes), bytes);
        }
    }
}

impl Drop for StoredBody {
    fn drop(&mut self) {
        self.count(0);
    }
}

impl Deref for StoredBody {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl AsRef<[u8]> for StoredBody {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
