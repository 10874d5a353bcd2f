//! The host of a run, lent for a resume; and the way back of what it answered.
//!
//! Never holds a cell while it pushes: a push may raise.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;

use crate::engine::ffi::inside::Inside;
use crate::engine::host::{HostAnswer, PageHost};
use crate::engine::keys::Keys;

/// A host without its lifetime.
type HostPart = NonNull<dyn PageHost>;

/// The host of the current run, and its last answer.
#[derive(Default)]
pub(super) struct CurrentHost {
    part: Cell<Option<HostPart>>,
    /// The panic of a host, until the run has returned.
    panic: RefCell<Option<Box<dyn Any + Send>>>,
    /// The last answer; kept to reuse its memory.
    answer: RefCell<HostAnswer>,
    /// The keys that sign cookies.
    keys: RefCell<Keys>,
    /// Allocations, any of which may raise, while a cell was held.
    #[cfg(test)]
    held: Cell<u32>,
}

impl CurrentHost {
    /// Lends a host for the time of some work, also if that panics. No Lua error passes here: the work is a protected
    /// call.
    pub(super) fn lend<T>(&self, host: &mut dyn PageHost, work: impl FnOnce() -> T) -> T {
        // The lifetime is erased for the duration of this call, after which the pointer is removed.
        let host: *mut (dyn PageHost + '_) = host;
        // SAFETY: the two types differ in the lifetime only.
        let host = unsafe {
            std::mem::transmute::<*mut (dyn PageHost + '_), *mut (dyn PageHost + 'static)>(host)
        };
        self.part.set(HostPart::new(host));
        let _lent = Lent(&self.part);
        work()
    }

    /// Calls the host; `None` if there is none, or it panicked (the panic continues when the run has returned).
    pub(super) fn call<T>(&self, work: impl FnOnce(&mut dyn PageHost) -> T) -> Option<T> {
        // Taken, so that there is no second reference to it meanwhile.
        let mut part = self.part.take()?;
        // SAFETY: the pointer is set for the time of a resume only, from a reference that lives longer, and is nowhere
        // else now.
        let host = unsafe { part.as_mut() };
        let result = catch_unwind(AssertUnwindSafe(|| work(host)));
        self.part.set(Some(part));
        match result {
            Ok(result) => Some(result),
            Err(panic) => {
                *self.panic.borrow_mut() = Some(panic);
                None
            }
        }
    }

    /// Continues the panic of a host, if there was one.
    pub(super) fn go_on_panicking(&self) {
        if let Some(panic) = self.panic.take() {
            resume_unwind(panic);
        }
    }

    /// Has the host write an answer.
    pub(super) fn ask<T>(
        &self,
        work: impl FnOnce(&mut dyn PageHost, &mut HostAnswer) -> T,
    ) -> Option<T> {
        let mut answer = self.answer.borrow_mut();
        answer.clear();
        self.call(|host| work(host, &mut answer))
    }

    /// Makes a text the last answer, from where it is pushed when nothing is left that has a destructor.
    pub(super) fn set_answer(&self, text: &[u8]) {
        self.answer.borrow_mut().text(text);
    }

    /// Looks at the last answer.
    pub(super) fn answered<T>(&self, look: impl FnOnce(&HostAnswer) -> T) -> T {
        look(&self.answer.borrow())
    }

    /// Pushes bytes of the last answer.
    pub(super) fn push(&self, inside: Inside, part: impl FnOnce(&HostAnswer) -> &[u8]) {
        let bytes: *const [u8] = part(&self.answer.borrow());
        // SAFETY: they lie in the answer or are constant. It changes only in native functions, and none runs while Lua
        // copies the bytes.
        inside.push_bytes(unsafe { &*bytes });
    }

    /// The name of the run's site.
    pub(super) fn site(&self) -> Vec<u8> {
        let mut site = Vec::new();
        self.call(|host| host.site(&mut site));
        site
    }

    /// Works with the keys and the name of the run's site.
    pub(super) fn with_keys<T>(&self, work: impl FnOnce(&Keys, &[u8]) -> T) -> T {
        let site = self.site();
        work(&self.keys.borrow(), &site)
    }

    pub(super) fn set_keys(&self, keys: Keys) {
        self.keys.replace(keys);
    }

    /// Whether a cell is held.
    #[cfg(test)]
    pub(super) fn is_held(&self) -> bool {
        self.answer.try_borrow_mut().is_err()
            || self.keys.try_borrow_mut().is_err()
            || self.panic.try_borrow_mut().is_err()
    }

    #[cfg(test)]
    pub(super) fn note_allocation(&self) {
        self.held.update(|held| held + u32::from(self.is_held()));
    }

    #[cfg(test)]
    pub(super) fn take_held(&self) -> u32 {
        self.held.take()
    }
}

/// Ends the loan of a host.
struct Lent<'context>(&'context Cell<Option<HostPart>>);

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.0.set(None);
    }
}
