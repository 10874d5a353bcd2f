//! The time that Redis clients use in one turn.
//!
//! Owns which clients go on in the next turn because the time of this one is used up, and their order: the client that
//! has waited longest comes first, and one that comes later waits behind. Commands whose work a client chooses (many
//! pipelined ones, one of thousands of keys) then delay others by one slice and not by the sum of all. Never runs a
//! command.

use std::collections::BTreeMap;

use ahash::HashMap;
use metric::{Histogram, Histograms};
use runtime::service::{SchedulerCommand, ServiceContext};
use runtime::slots::ProcessId;

use crate::limits::{CALLED, SHARES, STEPS_PER_LOOK, TURN_TICKS};

/// The time that the Redis clients of a scheduler have used in this turn.
#[derive(Debug)]
pub(crate) struct Pace {
    ticks: fn() -> u64,
    /// Ticks of earlier runs in this turn.
    used: u64,
    /// When the current run began.
    begun: Option<u64>,
    /// Ticks that the current run took to read its command.
    read: u64,
    /// The client that was called from the line and is told so. Its input comes next, and is not put off again.
    granted: Option<ProcessId>,
    /// The clients that wait for a later turn, by their tickets.
    line: BTreeMap<u64, ProcessId>,
    tickets: HashMap<ProcessId, u64>,
    /// The next ticket.
    next: u64,
    /// Clients with a smaller ticket than this were resumed for this turn.
    called: u64,
    /// The times of commands, by number: until each was carried out, or handed to the writer of the store.
    times: Histograms,
}

/// Whether a client may run commands in this turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// It may.
    Open,
    /// It waits in the line, and is resumed when it may.
    Closed,
}

impl Default for Pace {
    fn default() -> Self {
        Self::by(runtime::account::tick)
    }
}

impl Pace {
    fn by(ticks: fn() -> u64) -> Self {
        Self {
            ticks,
            used: 0,
            begun: None,
            read: 0,
            granted: None,
            line: BTreeMap::new(),
            tickets: HashMap::default(),
            next: 0,
            called: 0,
            times: Histograms::default(),
        }
    }

    /// The counter by which times are measured.
    pub(crate) fn tick(&self) -> u64 {
        (self.ticks)()
    }

    /// A command of this number was carried out that had begun at this tick.
    pub(crate) fn count_time(&mut self, number: usize, begun: u64) {
        self.times.count(number, self.tick().saturating_sub(begun));
    }

    /// The times of the command of this number.
    pub(crate) fn times_of(&self, number: usize) -> Option<&Histogram> {
        self.times.of(number)
    }

    /// A client has commands. It may run them if no earlier client waits, and the time of the turn is not used
    /// up.
    pub(crate) fn enter(&mut self, process: ProcessId) -> Entry {
        let has_time = self.used < TURN_TICKS;
        let is_granted = self.granted.take() == Some(process);
        let may = match self.tickets.get(&process) {
            // The first of the line always gets on, whatever else has used the time.
            Some(ticket) => {
                let is_first = self.line.keys().next() == Some(ticket);
                *ticket < self.called && (has_time || is_first)
            }
            None => is_granted || has_time && self.line.is_empty(),
        };
        if !may {
            self.wait(process);
            return Entry::Closed;
        }
        self.forget(process);
        self.begin_run();
        Entry::Open
    }

    /// A client in the line was resumed. If it may go on, its input may, too.
    pub(crate) fn enter_again(&mut self, process: ProcessId) -> Entry {
        let entry = self.enter(process);
        self.granted = (entry == Entry::Open).then_some(process);
        entry
    }

    /// Whether the client waits in the line.
    pub(crate) fn has_in_line(&self, process: ProcessId) -> bool {
        self.tickets.contains_key(&process)
    }

    /// Measures from now on until [`end_run`](Self::end_run).
    pub(crate) fn begin_run(&mut self) {
        if self.begun.is_none() {
            self.begun = Some((self.ticks)());
        }
    }

    /// A long command was read. It is read again in each turn in which it goes on, so it may then work for as long as
    /// that took; otherwise most of its time would be spent reading.
    pub(crate) fn note_read(&mut self) {
        let now = (self.ticks)();
        self.read = now.saturating_sub(*self.begun.get_or_insert(now));
    }

    /// Whether the time of this turn is used up, or the client's share of it while others wait.
    pub(crate) fn is_over(&mut self) -> bool {
        let now = (self.ticks)();
        let run = now.saturating_sub(*self.begun.get_or_insert(now));
        if run < self.read.saturating_mul(2) {
            return false;
        }
        let share = if self.line.is_empty() { TURN_TICKS } else { TURN_TICKS / SHARES };
        run >= share || self.used + run >= TURN_TICKS
    }

    /// Whether it is used up, after so many steps that looking costs little beside them. Takes the steps that it has
    /// looked after.
    pub(crate) fn is_over_after(&mut self, steps: &mut usize) -> bool {
        if *steps < STEPS_PER_LOOK {
            return false;
        }
        *steps = 0;
        self.is_over()
    }

    /// A client's run has ended.
    pub(crate) fn end_run(&mut self) {
        if let Some(begun) = self.begun.take() {
            self.used += (self.ticks)().saturating_sub(begun);
        }
        self.read = 0;
    }

    /// The client goes on in a later turn, behind those that wait already. It keeps its place if it has one.
    pub(crate) fn wait(&mut self, process: ProcessId) {
        let (next, line) = (&mut self.next, &mut self.line);
        self.tickets.entry(process).or_insert_with(|| {
            *next += 1;
            line.insert(*next, process);
            *next
        });
    }

    /// The client runs, or has ended.
    pub(crate) fn forget(&mut self, process: ProcessId) {
        if let Some(ticket) = self.tickets.remove(&process) {
            self.line.remove(&ticket);
        }
    }

    /// Ends the turn, and resumes in the next one the clients that have waited longest.
    pub(crate) fn end_turn<M>(&mut self, context: &mut ServiceContext<'_, M>) {
        (self.used, self.granted) = (0, None);
        for (ticket, process) in self.line.iter().take(CALLED) {
            self.called = ticket + 1;
            context.command(SchedulerCommand::Resume(*process));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        static NOW: Cell<u64> = const { Cell::new(0) };
    }

    fn pass(ticks: u64) {
        NOW.set(NOW.get() + ticks);
    }

    fn process(number: u32) -> ProcessId {
        ProcessId::from_bits(u64::from(number))
    }

    /// The next turn, for which all waiting clients are called.
    fn turn(pace: &mut Pace) {
        (pace.used, pace.granted, pace.called) = (0, None, pace.next + 1);
    }

    #[test]
    fn the_clients_of_a_scheduler_share_the_time_of_a_turn() {
        let mut pace = Pace::by(|| NOW.get());
        assert!(!pace.is_over());
        pass(TURN_TICKS - 1);
        assert!(!pace.is_over());
        pace.end_run();
        // The time between two runs is that of others.
        pass(TURN_TICKS);
        assert!(!pace.is_over());
        pass(1);
        assert!(pace.is_over());
        pace.end_run();
        assert!(pace.is_over());
    }

    #[test]
    fn a_long_command_works_as_long_as_it_was_read() {
        let mut pace = Pace::by(|| NOW.get());
        pace.wait(process(2));
        turn(&mut pace);
        for reading in [TURN_TICKS / SHARES, TURN_TICKS * 2] {
            pace.begin_run();
            pass(reading);
            pace.note_read();
            pass(reading - 1);
            assert!(!pace.is_over());
            pass(1);
            assert!(pace.is_over());
            pace.end_run();
            pace.used = 0;
        }
        // The next command is a short one.
        pace.begin_run();
        pass(TURN_TICKS / SHARES);
        assert!(pace.is_over());
    }

    #[test]
    fn a_single_command_is_measured_and_later_clients_wait_in_their_order() {
        let mut pace = Pace::by(|| NOW.get());
        let [first, second, third] = [1, 2, 3].map(process);
        assert_eq!(pace.enter(first), Entry::Open);
        pass(TURN_TICKS);
        pace.end_run();
        assert_eq!([second, third, second].map(|other| pace.enter(other)), [Entry::Closed; 3]);
        // It was not called yet.
        pace.used = 0;
        assert_eq!(pace.enter(third), Entry::Closed);
        turn(&mut pace);
        // A client that comes now waits behind them, also if there is time.
        assert_eq!(pace.enter(first), Entry::Closed);
        assert_eq!(pace.enter(second), Entry::Open);
        pass(TURN_TICKS / SHARES);
        assert!(pace.is_over(), "others wait");
        pass(TURN_TICKS);
        pace.end_run();
        assert_eq!(pace.enter_again(third), Entry::Open, "the first gets on");
        assert_eq!(pace.enter(third), Entry::Open, "with its input");
        pace.end_run();
        assert_eq!([second, first].map(|other| pace.enter(other)), [Entry::Closed; 2]);
        turn(&mut pace);
        assert_eq!([second, first].map(|other| pace.enter(other)), [Entry::Open; 2]);
        pace.wait(first);
        pace.forget(first);
        assert!(!pace.has_in_line(first) && pace.line.is_empty());
    }
}
