//! The line of requests that wait for a place at a server.
//!
//! Owns their order: first come, first served. A request that was called has left the line and asks again; until then
//! no later one gets its place.

use std::collections::VecDeque;

/// The line is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineFull;

/// A request that waits until a time.
#[derive(Clone, Copy, Debug)]
struct Waiting<W> {
    who: W,
    due_ns: u64,
}

/// The line.
#[derive(Debug)]
pub(crate) struct Queue<W> {
    waiting: VecDeque<Waiting<W>>,
    /// Requests that were called and have not asked again.
    called: Vec<Waiting<W>>,
}

impl<W> Default for Queue<W> {
    fn default() -> Self {
        Self { waiting: VecDeque::new(), called: Vec::new() }
    }
}

impl<W: Copy + Eq> Queue<W> {
    /// Whether a request may have a place now, as far as the line is concerned.
    pub(crate) fn lets(&self, who: W) -> bool {
        self.waiting.is_empty() && self.called.is_empty() || self.was_called(who)
    }

    fn was_called(&self, who: W) -> bool {
        self.called.iter().any(|called| called.who == who)
    }

    /// Adds a request at the end, or puts one that was called back to the front.
    pub(crate) fn enter(&mut self, who: W, due_ns: u64, most: usize) -> Result<(), LineFull> {
        if let Some(place) = self.called.iter().position(|called| called.who == who) {
            let back = self.called.swap_remove(place);
            self.waiting.push_front(back);
            return Ok(());
        }
        if self.waiting.iter().any(|waiting| waiting.who == who) {
            return Ok(());
        }
        if self.waiting.len() + self.called.len() >= most {
            return Err(LineFull);
        }
        self.waiting.push_back(Waiting { who, due_ns });
        Ok(())
    }

    /// A place is free: the first request, which has to ask again.
    pub(crate) fn call(&mut self) -> Option<W> {
        let first = self.waiting.pop_front()?;
        self.called.push(first);
        Some(first.who)
    }

    /// A request has its place or is over. Returns whether it was called.
    pub(crate) fn leave(&mut self, who: W) -> bool {
        if let Some(place) = self.called.iter().position(|called| called.who == who) {
            self.called.swap_remove(place);
            return true;
        }
        if !self.waiting.is_empty() {
            self.waiting.retain(|waiting| waiting.who != who);
        }
        false
    }

    /// Removes the first request if it has waited too long.
    pub(crate) fn take_late(&mut self, now_ns: u64) -> Option<W> {
        let is_late = self.waiting.front().is_some_and(|first| first.due_ns <= now_ns);
        if is_late { self.waiting.pop_front().map(|first| first.who) } else { None }
    }

    /// When the first request has waited too long.
    pub(crate) fn due_ns(&self) -> Option<u64> {
        self.waiting.front().map(|first| first.due_ns)
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len() + self.called.len()
    }
}
