//! The line of requests that wait for a place at a server.
//!
//! Owns their order: first come, first served, among those that could have a place. A request that was called has left
//! the line and asks again; until then no later one gets its place.

use std::collections::VecDeque;

use crate::tried::Tried;

/// The line is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineFull;

/// A request that waits until a time.
#[derive(Clone, Copy, Debug)]
struct Waiting<W> {
    who: W,
    due_ns: u64,
    /// The servers that it has met.
    tried: Tried,
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
    /// Whether a request was called and has not asked again.
    pub(crate) fn was_called(&self, who: W) -> bool {
        self.called.iter().any(|called| called.who == who)
    }

    /// How many requests were called and have not asked again.
    pub(crate) fn called(&self) -> usize {
        self.called.len()
    }

    /// The first one that could have a place, by the servers that it has met.
    pub(crate) fn position(&self, mut could: impl FnMut(Tried) -> bool) -> Option<usize> {
        let mut last: Option<Tried> = None;
        self.waiting.iter().position(|waiting| {
            // Most have met the same servers: none.
            let is_news = last != Some(waiting.tried);
            last = Some(waiting.tried);
            is_news && could(waiting.tried)
        })
    }

    /// Adds a request at the end, or puts one that was called back to the front.
    pub(crate) fn enter(
        &mut self,
        who: W,
        (due_ns, tried): (u64, Tried),
        most: usize,
    ) -> Result<(), LineFull> {
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
        self.waiting.push_back(Waiting { who, due_ns, tried });
        Ok(())
    }

    /// A place is free for the request at this position, which has to ask again.
    pub(crate) fn call(&mut self, position: usize) -> Option<W> {
        let called = self.waiting.remove(position)?;
        self.called.push(called);
        Some(called.who)
    }

    /// A request has its place or is over.
    pub(crate) fn leave(&mut self, who: W) {
        if let Some(place) = self.called.iter().position(|called| called.who == who) {
            self.called.swap_remove(place);
        } else if !self.waiting.is_empty() {
            self.waiting.retain(|waiting| waiting.who != who);
        }
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
