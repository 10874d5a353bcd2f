//! Work of a client over several turns, which one client of a scheduler does at a time.
//!
//! Owns whose work that is, and who comes next. That bounds the memory and the snapshots that unfinished work keeps.

use std::collections::VecDeque;

use runtime::slots::ProcessId;

/// The unfinished work of one client, and the clients that wait to begin theirs, in their order.
#[derive(Debug)]
pub(crate) struct Exclusive<T> {
    /// The client whose work takes several turns. It has none yet when it was just called.
    current: Option<(ProcessId, Option<T>)>,
    waiting: VecDeque<ProcessId>,
    /// The client to be resumed in the next turn.
    called: Option<ProcessId>,
}

/// Whether work is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    Yes,
    No,
}

impl<T> Default for Exclusive<T> {
    fn default() -> Self {
        Self { current: None, waiting: VecDeque::new(), called: None }
    }
}

impl<T> Exclusive<T> {
    /// Whether no other client has unfinished work. Otherwise the client waits, and is resumed when it can begin.
    pub(crate) fn is_free_for(&mut self, process: ProcessId) -> bool {
        let is_free = self.current.as_ref().is_none_or(|(owner, _)| *owner == process);
        if !is_free && !self.waiting.contains(&process) {
            self.waiting.push_back(process);
        }
        is_free
    }

    /// Takes the unfinished work of a client.
    pub(crate) fn take(&mut self, process: ProcessId) -> Option<T> {
        let own = self.current.as_mut().filter(|(owner, _)| *owner == process);
        own.and_then(|(_, work)| work.take())
    }

    /// Keeps work until the next turn. If another client has some, it is dropped, and its client is resumed when it can
    /// begin again.
    pub(crate) fn keep(&mut self, process: ProcessId, work: T) -> Kept {
        if !self.is_free_for(process) {
            return Kept::No;
        }
        self.current = Some((process, Some(work)));
        Kept::Yes
    }

    /// Resumes a client in the next turn, whose work was kept.
    pub(crate) fn call(&mut self, process: ProcessId) {
        self.called = Some(process);
    }

    /// A client's command is done, or the client has ended: calls the next one.
    pub(crate) fn end(&mut self, process: ProcessId) {
        if self.current.as_ref().is_some_and(|(owner, _)| *owner == process) {
            self.called = self.waiting.pop_front();
            self.current = self.called.map(|next| (next, None));
        } else if !self.waiting.is_empty() {
            self.waiting.retain(|other| *other != process);
        }
    }

    /// Takes the client to be resumed.
    pub(crate) fn take_called(&mut self) -> Option<ProcessId> {
        self.called.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_client_works_at_a_time_and_the_others_follow_in_their_order() {
        let [first, second, third] = [1, 2, 3].map(ProcessId::from_bits);
        let mut work = Exclusive::default();
        assert_eq!(
            [work.keep(first, 1), work.keep(second, 2), work.keep(third, 3)],
            [Kept::Yes, Kept::No, Kept::No]
        );
        assert_eq!(
            (work.take(first), work.take(second), work.take_called()),
            (Some(1), None, None)
        );
        // One that has closed is not called, and one that was called keeps its place before it has begun.
        work.end(second);
        work.end(first);
        assert_eq!(
            (work.take_called(), work.is_free_for(first), work.take(third)),
            (Some(third), false, None)
        );
        work.end(third);
        assert_eq!((work.take_called(), work.keep(first, 4)), (Some(first), Kept::Yes));
        work.call(first);
        assert_eq!(work.take_called(), Some(first));
    }
}
