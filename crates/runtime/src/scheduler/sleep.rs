//! Waiting: look, perhaps look a little longer, then sleep.
//!
//! Owns the way from "nothing to do" to "something came". Before it sleeps it raises its mark and looks at the
//! mailboxes once more, so that no message is left lying with a sleeper.

use std::io;

use sys::pollset::{Patience, Pollset};

use super::{Scheduler, Waiting};
use crate::service::Service;

/// Spins between two looks at whether the core is shared.
const SPINS_PER_LOOK: u64 = 64;

/// What a spin came to.
enum Spun {
    /// So many events, or a message.
    Found(usize),
    /// Nothing, until this time.
    InVainUntil(u64),
}

/// A wait shorter than this found something: going to sleep and being woken takes longer than the call alone.
const SLEEP_MIN_NS: u64 = 3_000;

impl<P: Pollset, S: Service> Scheduler<P, S> {
    /// Waits until there is something to do; returns how many events came. What it slept is noted by
    /// [`Self::note_sleep`], with the time that the turn reads anyway.
    ///
    /// After work, too, the call that may block is made at once: when something is there already it returns at once,
    /// and a look beforehand would be one more call for every sleep.
    pub(super) fn wait(&mut self, waiting: Waiting) -> io::Result<usize> {
        let must_not_block = waiting == Waiting::Forbidden || !self.run_queue.is_empty();
        if must_not_block || self.mailbox.has_messages() {
            return self.look();
        }
        let idle_since_ns = self.pollset.monotonic_ns();
        let allowance_ns = self.spin.allowance_ns(idle_since_ns);
        if allowance_ns == 0 {
            return self.sleep(idle_since_ns);
        }
        match self.spin(idle_since_ns, allowance_ns)? {
            Spun::Found(count) => Ok(count),
            Spun::InVainUntil(now_ns) => self.sleep(now_ns),
        }
    }

    fn look(&mut self) -> io::Result<usize> {
        let count = self.pollset.wait(Patience::None)?;
        self.sampler.lap(&mut self.stats.sampled.poll_ticks);
        Ok(count)
    }

    /// Polls until something comes or the allowance is used up.
    fn spin(&mut self, since_ns: u64, allowance_ns: u64) -> io::Result<Spun> {
        loop {
            let count = self.pollset.wait(Patience::None)?;
            let now_ns = self.pollset.monotonic_ns();
            let came = count > 0 || self.mailbox.has_messages();
            let over = now_ns - since_ns > allowance_ns;
            if came || over {
                self.stats.spun_ns += now_ns - since_ns;
                if came {
                    self.stats.spin_hits += 1;
                    self.spin.on_hit();
                } else {
                    self.stats.spin_misses += 1;
                    self.spin.on_miss();
                }
                self.look_at_the_core(now_ns);
                return Ok(if came { Spun::Found(count) } else { Spun::InVainUntil(now_ns) });
            }
            std::hint::spin_loop();
        }
    }

    /// Now and then: has the kernel given the core to somebody else against our will?
    fn look_at_the_core(&mut self, now_ns: u64) {
        let spins = self.stats.spin_hits + self.stats.spin_misses;
        if spins.is_multiple_of(SPINS_PER_LOOK) {
            let switches = sys::accounting::involuntary_switches();
            if self.spin.on_switches(switches, now_ns) {
                self.stats.spin_pauses += 1;
            }
        }
    }

    fn sleep(&mut self, since_ns: u64) -> io::Result<usize> {
        if !self.mailbox.prepare_to_sleep() {
            return self.look();
        }
        let patience = self.patience();
        let waited = self.pollset.wait(patience);
        self.mailbox.wake_up();
        self.waits_since_ns = Some(since_ns);
        waited
    }

    /// Notes how long the wait before this turn was. Where something was there already nobody slept.
    pub(super) fn note_sleep(&mut self, now_ns: u64) {
        let Some(since_ns) = self.waits_since_ns.take() else { return };
        let slept_ns = now_ns - since_ns;
        if slept_ns >= SLEEP_MIN_NS {
            self.stats.sleeps += 1;
            self.stats.asleep_ns += slept_ns;
            self.spin.on_sleep(slept_ns);
        }
    }

    /// Until the next thing that has a time: a deadline, a paused listener, a drain.
    fn patience(&self) -> Patience {
        let timer = self.wheel.next_due().map(|tick| self.clock.ns_of(tick));
        let gate = self.gates.iter().filter_map(|gate| gate.reopens_ns()).min();
        let drain = self.drain.as_ref().map(super::drain::Drain::due_ns);
        match [timer, gate, drain, self.alarm_ns].into_iter().flatten().min() {
            Some(due_ns) => Patience::Until(due_ns),
            None => Patience::Unbounded,
        }
    }

    /// When this scheduler has to be turned next if nothing comes: for whoever drives it.
    pub fn next_due_ns(&self) -> Option<u64> {
        if self.busy || !self.run_queue.is_empty() {
            return Some(0);
        }
        match self.patience() {
            Patience::Until(due_ns) => Some(due_ns),
            Patience::None | Patience::Unbounded => None,
        }
    }
}
