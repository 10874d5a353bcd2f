//! The request to end a measurement early.
//!
//! Owns the signals for that: Ctrl-C, a service manager, a closed terminal. They are waited for,
//! never handled asynchronously.

use std::io;
use std::time::Duration;

use sys::signal::{Signal, SignalSet, block, wait_timeout};

/// Whether a measurement continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continuation {
    /// It continues.
    GoOn,
    /// It ends now; what was measured so far is reported.
    End,
}

/// The signals that end a measurement, blocked.
#[derive(Debug)]
pub struct Interrupts {
    signals: SignalSet,
}

impl Interrupts {
    /// Blocks them in this thread and in those it will start.
    pub fn block() -> Interrupts {
        let signals = [Signal::Hangup, Signal::Interrupt, Signal::Terminate].into_iter().collect();
        block(&signals);
        Interrupts { signals }
    }

    /// Waits this long, or until a signal arrives.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn wait(&self, time: Duration) -> io::Result<Continuation> {
        let signal = wait_timeout(&self.signals, time)?;
        Ok(if signal.is_some() { Continuation::End } else { Continuation::GoOn })
    }
}
