//! The pieces of native code of one engine.
//!
//! Owns the list and the counts. `native` fills them.

use std::cell::{Cell, RefCell};
use std::ffi::c_int;

/// A piece of native code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeCode {
    /// Its first address.
    pub address: u64,
    /// Its length.
    pub bytes: u64,
    /// Where it begins: `index.page.html:12`, or a part of the library.
    pub place: String,
}

/// Kept values of the compiler's library. Plain data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Describe {
    /// The function that describes an instruction (`jit.util.funcinfo`).
    pub(crate) function: c_int,
    /// The field of a description that has the place.
    pub(crate) field: c_int,
}

/// The work of the compiler so far. Plain data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::engine) struct Traces {
    /// Pieces of native code.
    pub(crate) made: u64,
    /// Attempts that it aborted.
    pub(crate) aborted: u64,
}

/// The pieces of native code of one engine.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    counts: Cell<Traces>,
    describe: Cell<Option<Describe>>,
    /// The place at which each piece begins, by its number.
    begins: RefCell<Vec<String>>,
    /// The list being made.
    listed: RefCell<Vec<NativeCode>>,
}

impl Pieces {
    /// The work of the compiler so far.
    pub(super) fn counts(&self) -> Traces {
        self.counts.get()
    }

    /// The compiler has ended its work on a piece: an event of it says how.
    pub(super) fn end(&self, event: Option<&[u8]>) {
        let Traces { made, aborted } = self.counts.get();
        match event {
            Some(b"stop") => self.counts.set(Traces { made: made + 1, aborted }),
            Some(b"abort") => self.counts.set(Traces { made, aborted: aborted + 1 }),
            _ => {}
        }
    }

    /// How an instruction is described, once that is known.
    pub(super) fn describe(&self) -> Option<Describe> {
        self.describe.get()
    }

    /// Sets how an instruction is described.
    pub(super) fn describe_by(&self, describe: Describe) {
        self.describe.set(Some(describe));
    }

    /// Records the place at which a piece begins.
    pub(super) fn begin(&self, number: usize, place: String) {
        let mut begins = self.begins.borrow_mut();
        if begins.len() <= number {
            begins.resize(number + 1, String::new());
        }
        begins[number] = place;
    }

    /// Adds a piece at this address to the list.
    pub(super) fn list(&self, number: usize, address: u64, bytes: u64) {
        let begins = self.begins.borrow();
        let place = begins.get(number).filter(|place| !place.is_empty());
        let place = place.map_or_else(|| "[native code]".to_owned(), Clone::clone);
        self.listed.borrow_mut().push(NativeCode { address, bytes, place });
    }

    /// Takes the list.
    pub(super) fn take(&self) -> Vec<NativeCode> {
        self.listed.take()
    }
}
