//! The turns of lists of keys.
//!
//! Owns that a scheduler answers one list in a turn, and the order of those that wait. Only the first of
//! them is resumed, because a resumed request is checked again from its beginning. Never reads a key.

use std::collections::VecDeque;

use runtime::slots::ProcessId;

/// The lists of a scheduler.
#[derive(Debug, Default)]
pub(crate) struct ListTurns {
    /// Whether one was answered in this turn.
    has_answered: bool,
    waiting: VecDeque<ProcessId>,
}

impl ListTurns {
    /// Whether a process may answer its list in this turn; otherwise it is resumed when its turn comes.
    pub(crate) fn may(&mut self, process: ProcessId) -> bool {
        let is_late = std::mem::replace(&mut self.has_answered, true);
        if is_late && !self.waiting.contains(&process) {
            self.waiting.push_back(process);
        }
        !is_late
    }

    /// Ends the turn. Returns the process to resume: it may have ended, and then the next one follows a turn later.
    pub(crate) fn end_turn(&mut self) -> Option<ProcessId> {
        self.has_answered = false;
        self.waiting.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_list_is_answered_in_a_turn_and_the_others_follow_in_their_order() {
        let [first, second, third] = [1, 2, 3].map(ProcessId::from_bits);
        let mut lists = ListTurns::default();
        assert!(lists.may(first));
        assert!(!lists.may(second) && !lists.may(third) && !lists.may(second));
        assert_eq!(lists.end_turn(), Some(second));
        assert!(lists.may(second) && !lists.may(first));
        assert_eq!(lists.end_turn(), Some(third));
        assert_eq!(lists.end_turn(), Some(first));
        assert_eq!(lists.end_turn(), None);
    }
}
