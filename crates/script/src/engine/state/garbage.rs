//! Garbage collection apart from what LuaJIT does itself, including what dropped handles left.
//!
//! Owns when it begins and how much is done at a time: at most one cycle runs, in steps at the ends
//! of turns, and none begins before there may be something to find. Never runs a page, and never
//! ends a run: it reports when memory is short.

use crate::engine::state::EngineState;
use crate::limits;

impl EngineState {
    /// Does one step; returns the ticks that it used.
    pub(super) fn collect_step(&mut self) -> u32 {
        let (is_cycle_over, ticks) = self.lua.collect_some();
        if is_cycle_over && self.collection.note_cycle() {
            self.end_collection();
        }
        ticks
    }

    /// Begins a collection if little memory is left and some of what is used may be garbage: half of what was free at
    /// the end of the last one was allocated since, or was held by runs that have ended.
    fn collect_if_due(&mut self) {
        let (used, whole) = (self.lua.memory().used(), self.lua.memory().whole());
        let (left, ended) = (self.collection.left(), self.bin.borrow().held());
        let worth = match self.collection.is_refused() {
            false => whole.saturating_sub(left) / limits::COLLECTED_AGAIN_PART,
            true => whole / limits::COLLECTED_REFUSED_PART,
        };
        let is_worth_it = used >= left.saturating_add(worth) || ended >= worth as u64;
        let is_due = used > whole / limits::COLLECTED_PART && is_worth_it;
        if is_due && !self.collection.is_underway() {
            self.collection.begin();
            self.lua.set_collector_pace(limits::COLLECTOR_PACE_SHORT);
            // After this first step, every allocation does some of the work.
            self.collect_step();
        }
    }

    /// Does some of the current collection, for the end of a turn: more if less memory is free. Returns whether there
    /// is more to do.
    pub fn clear_away(&mut self) -> bool {
        self.sweep();
        self.collect_if_due();
        let steps = match self.room() {
            Room::Ample => 1,
            Room::Little => limits::COLLECTOR_STEPS_LITTLE,
            Room::Least => limits::COLLECTOR_STEPS_LEAST,
        };
        for _ in 0..steps {
            if !self.collection.is_underway() {
                break;
            }
            self.collect_step();
        }
        self.collection.is_underway()
    }

    fn end_collection(&mut self) {
        self.lua.set_collector_pace(limits::COLLECTOR_PACE);
        let (left, whole) = (self.lua.memory().used(), self.lua.memory().whole());
        let mut missing = 0;
        if self.room() != Room::Ample {
            let free = whole / limits::ROOM_LITTLE_PART + whole / limits::ROOM_MORE_PART;
            missing = (left + free).saturating_sub(whole) as u64;
        } else if self.collection.is_refused() && left > whole / limits::COLLECTED_PART {
            // There is room, but not enough for what was requested: the run that holds the most has to be ended.
            missing = 1;
        }
        self.bin.borrow_mut().note_collected();
        self.collection.end(left, missing);
    }

    /// A run was refused memory. A collection follows; if it frees too little, the run that holds the most is ended.
    pub(super) fn note_refused(&mut self) {
        self.collection.note_refused();
        self.collect_if_due();
    }

    /// Bytes that runs must free to make room for others: all garbage was collected, and memory is still short.
    /// Reported once for each collection.
    pub fn take_shortage(&mut self) -> Option<u64> {
        self.collection.take_missing()
    }

    /// Whether there is room for another process, which may live long and grow: not if memory may soon be short, even
    /// if only garbage fills it.
    pub(super) fn has_room_for_more(&self) -> bool {
        self.lua.memory().used() < self.lua.memory().whole() / 8 * limits::SPAWNED_EIGHTHS
    }

    /// Bytes of memory that were left after the last collection of garbage.
    pub fn memory_left(&self) -> usize {
        self.collection.left()
    }

    fn room(&self) -> Room {
        let (used, whole) = (self.lua.memory().used(), self.lua.memory().whole());
        match whole.saturating_sub(used) {
            free if free < whole / limits::ROOM_LEAST_PART => Room::Least,
            free if free < whole / limits::ROOM_LITTLE_PART => Room::Little,
            _ => Room::Ample,
        }
    }

    /// Collects all garbage now, which takes time: for when there is nothing else to do.
    pub fn collect_garbage(&mut self) {
        while !self.bin.borrow().is_empty() {
            self.sweep();
        }
        self.lua.collect();
        self.end_collection();
    }

    /// Whether a full collection may find garbage: something was allocated since the last one.
    pub(super) fn may_have_garbage(&self) -> bool {
        self.lua.memory().used() != self.collection.left() || self.bin.borrow().held() > 0
    }

    /// Removes what dropped handles left, a limited amount at a time.
    pub(super) fn sweep(&mut self) {
        if self.bin.borrow().is_empty() {
            return;
        }
        self.bin.borrow_mut().release_some(&mut self.lua);
    }
}

/// How much memory is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    /// Enough.
    Ample,
    /// No more than is reserved for runs that hold little.
    Little,
    /// Hardly any.
    Least,
}
