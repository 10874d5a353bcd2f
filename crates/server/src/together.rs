//! Programs that run together: all end when one ends, or when this one is told to, or is killed.
//!
//! Owns the waiting, on the only thread of a command. Ends only those that it has started or was given.

use std::io;
use std::process::{Child, Command};
use std::time::Duration;

use sys::signal::{self, Signal, SignalSet};

/// Time between two looks at the programs.
const LOOK: Duration = Duration::from_millis(100);

/// Looks while programs end, before they are killed: 10 s.
const LOOKS_AT_END: u32 = 100;

/// A program with its name.
#[derive(Debug)]
pub struct Companion {
    /// The name, for people.
    pub name: String,
    /// The program.
    pub child: Child,
}

/// Programs that end together, also if this value is dropped.
#[derive(Debug)]
pub struct Companions {
    told: SignalSet,
    running: Vec<Companion>,
}

/// Why all have ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parting {
    /// This program was told to end.
    Told,
    /// A program has ended by itself: its name, and how.
    Ended(String, String),
}

impl Companions {
    /// None so far. From now on this process waits for signals that would end it.
    pub fn new() -> Self {
        // A terminal that is closed says it with a hang-up.
        let told = [Signal::Hangup, Signal::Interrupt, Signal::Quit, Signal::Terminate];
        let told: SignalSet = told.into_iter().collect();
        signal::block(&told);
        Self { told, running: Vec::new() }
    }

    /// Starts a program.
    ///
    /// # Errors
    /// The kernel's.
    pub fn start(&mut self, name: &str, command: &mut Command) -> io::Result<()> {
        let child = signal::end_with_parent(signal::unblock_in(command)).spawn()?;
        self.running.push(Companion { name: name.to_owned(), child });
        Ok(())
    }

    /// Waits until this finds something. An error: why all have ended meanwhile.
    ///
    /// # Errors
    /// The reason.
    pub fn wait_for<T>(&mut self, mut find: impl FnMut() -> Option<T>) -> Result<T, Parting> {
        loop {
            if let Some(found) = find() {
                return Ok(found);
            }
            if let Some(parting) = self.look() {
                return Err(parting);
            }
        }
    }

    /// Waits for the end.
    #[must_use]
    pub fn wait(mut self) -> Parting {
        loop {
            if let Some(parting) = self.look() {
                self.end();
                return parting;
            }
        }
    }

    /// Waits a moment; returns why all should end, if they should.
    fn look(&mut self) -> Option<Parting> {
        if matches!(signal::wait_timeout(&self.told, LOOK), Ok(Some(_))) {
            return Some(Parting::Told);
        }
        self.running.iter_mut().find_map(|one| {
            let status = one.child.try_wait().ok()??;
            Some(Parting::Ended(one.name.clone(), status.to_string()))
        })
    }

    /// Ends those that run, the last one that was started first.
    fn end(&mut self) {
        for one in self.running.iter_mut().rev() {
            if matches!(one.child.try_wait(), Ok(None)) {
                let _told = signal::send(one.child.id(), Signal::Terminate);
            }
        }
        for mut one in self.running.drain(..).rev() {
            let is_over = (0..LOOKS_AT_END).any(|_| {
                let is_over = matches!(one.child.try_wait(), Ok(Some(_)));
                if !is_over {
                    // Not on a scheduler: a command has one thread.
                    std::thread::sleep(LOOK);
                }
                is_over
            });
            if !is_over {
                let _killed = one.child.kill();
                let _ended = one.child.wait();
            }
        }
    }
}

impl Default for Companions {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Companions {
    fn drop(&mut self) {
        self.end();
    }
}
