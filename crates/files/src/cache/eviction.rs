//! The entries that the cache forgets: for lack of room, because of too many negative results, and jobs that
//! nobody waits for.
//!
//! Owns which slot is evicted next. Never judges how old a result is and never sends a job (`cache`
//! does).

use super::{PathCache, UseMark};
use crate::entry::Sign;
use crate::limits;

// Results of the current turn are never removed by the limit on negative ones: there cannot be more than running jobs.
const _: () = assert!(limits::NEGATIVE_MAX >= limits::IN_FLIGHT_MAX);

impl PathCache {
    /// Keeps the number of negative results below its limit: the oldest is removed.
    pub(super) fn note_sign(&mut self, place: usize, sign: Sign) {
        let Some(slot) = self.slots.get_mut(place).and_then(Option::as_mut) else { return };
        match sign {
            Sign::Positive => slot.negative_serial = 0,
            Sign::Negative if slot.negative_serial != 0 => {}
            Sign::Negative => {
                self.serial += 1;
                slot.negative_serial = self.serial;
                self.negatives.push_back((place, self.serial));
            }
        }
        while self.negatives.len() > limits::NEGATIVE_MAX {
            let Some((place, serial)) = self.negatives.pop_front() else { return };
            if self.slot(place).is_some_and(|slot| slot.negative_serial == serial) {
                self.stats.evictions += 1;
                self.vacate(place);
            }
        }
    }

    /// The clock algorithm: the hand clears the mark of slots used since it last passed, and evicts unmarked slots.
    pub(super) fn make_room(&mut self, now_ms: u64) {
        // If everything is current or running, the hand stops where it began.
        let mut kept = 0;
        let mut swept = 0;
        while self.stats.bytes > self.bytes_max && kept < self.slots.len() {
            let place = self.next_place();
            let Some(slot) = self.slots.get_mut(place).and_then(Option::as_mut) else {
                kept += 1;
                continue;
            };
            swept += 1;
            if !slot.may_go(now_ms) {
                kept += 1;
            } else if slot.use_mark == UseMark::UsedSinceSwept && swept <= limits::SWEEP_MAX {
                slot.use_mark = UseMark::Unused;
                // Another round may be needed to return to it.
                kept = 0;
            } else {
                self.stats.evictions += 1;
                self.vacate(place);
                kept = 0;
            }
        }
    }

    /// Gives up jobs that no request waits for; a few at a time, because it runs when the server is busy.
    pub(super) fn drop_lost(&mut self, now_ms: u64) {
        for _ in 0..self.slots.len().min(limits::SWEEP_MAX) {
            let place = self.next_place();
            let Some(slot) = self.slot(place) else { continue };
            if slot.sent_ms.is_none() || slot.is_under_way(now_ms) {
                continue;
            }
            self.clear_sent(place);
            if !self.has_entry(Some(place)) {
                self.vacate(place);
            }
        }
    }

    fn next_place(&mut self) -> usize {
        self.hand = if self.hand + 1 < self.slots.len() { self.hand + 1 } else { 0 };
        self.hand
    }
}
