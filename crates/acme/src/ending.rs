//! The end of the control thread: asked for by the server, noticed in every wait.
//!
//! Owns the mark, and the waits that it ends early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::clock::Deadline;

/// Whether the control thread has to end. Clones are the same mark.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ending(Arc<AtomicBool>);

/// The server ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended;

impl Ending {
    /// Asks for the end. The thread has to be unparked after this.
    pub(crate) fn ask(&self) {
        self.0.store(true, Ordering::Release);
    }

    pub(crate) fn check(&self) -> Result<(), Ended> {
        if self.0.load(Ordering::Acquire) { Err(Ended) } else { Ok(()) }
    }

    /// Waits on the control thread.
    pub(crate) fn wait(&self, span: Duration) -> Result<(), Ended> {
        let deadline = Deadline::after(span);
        while let Some(left) = deadline.left() {
            self.check()?;
            thread::park_timeout(left);
        }
        self.check()
    }

    /// Waits on the control thread, or until it is unparked.
    pub(crate) fn wait_or_woken(&self, span: Duration) -> Result<(), Ended> {
        self.check()?;
        thread::park_timeout(span);
        self.check()
    }
}
