//! A wake descriptor as the kernel keeps it (`eventfd(2)`): a counter that is readable while it is not zero.
//!
//! Owns the counter. Like the kernel's, it has a lock and a queue of waiting threads, and a wait that
//! nothing ends lasts for ever: then loom reports a deadlock.

use std::io;
use std::sync::Arc;

use loom::sync::{Condvar, Mutex};

#[derive(Debug)]
struct Counter {
    count: Mutex<u64>,
    readable: Condvar,
}

/// Makes a descriptor, as `sys::wake` does.
pub(crate) fn wake_pair() -> io::Result<(Waker, WakeSource)> {
    let counter = Arc::new(Counter { count: Mutex::new(0), readable: Condvar::new() });
    Ok((Waker { counter: Arc::clone(&counter) }, WakeSource { counter }))
}

/// The writing end.
#[derive(Clone, Debug)]
pub struct Waker {
    counter: Arc<Counter>,
}

impl Waker {
    /// Makes the source readable.
    pub fn wake(&self) {
        *self.counter.count.lock().expect("no thread panics with the lock") += 1;
        self.counter.readable.notify_all();
    }
}

/// The reading end.
#[derive(Debug)]
pub struct WakeSource {
    counter: Arc<Counter>,
}

impl WakeSource {
    /// Makes the source not readable again; returns whether it was.
    pub fn drain(&self) -> bool {
        std::mem::take(&mut *self.counter.count.lock().expect("no thread panics with the lock")) > 0
    }

    /// Blocks until the source is readable.
    pub fn wait(&self) {
        let mut count = self.counter.count.lock().expect("no thread panics with the lock");
        while *count == 0 {
            count = self.counter.readable.wait(count).expect("no thread panics with the lock");
        }
    }
}
