//! Waiting: poll once, perhaps poll longer, then sleep.
//!
//! Owns the steps from "nothing to do" to "an event". It sleeps through its mailbox, which makes
//! sure that no message waits for a sleeper.

use std::io;

use sys::pollset::{Pollset, WaitLimit};

use super::executor::Executor;
use super::{Punctuality, Scheduler, TurnWait};
use crate::account::{TimeAccount, change_to, skip};
use crate::service::Service;

/// Polls between two checks whether the core is shared.
const SPINS_PER_LOOK: u64 = 64;

/// The result of polling.
enum Spun {
    /// This many events, or a message.
    Found(usize),
    /// Nothing, until this time.
    InVainUntil(u64),
}

/// A wait shorter than this was no sleep: going to sleep and being woken takes longer than the call alone.
const SLEEP_MIN_NS: u64 = 3_000;

impl<P: Pollset, S: Service> Scheduler<P, S> {
    /// Waits until there is something to do, and returns the number of events. [`Self::note_sleep`] records how long it
    /// slept, with the time that the turn reads anyway.
    ///
    /// The blocking call is made at once, even after work: if an event is already there it returns immediately,
    /// and a check beforehand would add a call to every sleep.
    pub(super) fn wait(&mut self, waiting: TurnWait) -> io::Result<usize> {
        // Work after the end of the last turn may have sent something, and its receiver must not wait while this
        // scheduler polls.
        self.executor.mailbox.flush();
        let must_not_block = waiting == TurnWait::Forbidden || self.has_more_to_do();
        if must_not_block || self.executor.mailbox.has_messages() {
            return self.look();
        }
        let mut since_ns = self.executor.pollset.monotonic_ns();
        let allowance_ns = self.executor.spin.allowance_ns(since_ns);
        if allowance_ns > 0 {
            match self.spin(since_ns, allowance_ns)? {
                Spun::Found(count) => return Ok(count),
                Spun::InVainUntil(now_ns) => since_ns = now_ns,
            }
        }
        match self.executor.settings.punctuality {
            Punctuality::Usual | Punctuality::Exact => self.sleep(since_ns),
            Punctuality::Spinning => self.sleep_and_poll(since_ns),
        }
    }

    fn look(&mut self) -> io::Result<usize> {
        change_to(TimeAccount::Poll);
        self.executor.pollset.wait(WaitLimit::None)
    }

    /// Polls until an event arrives or the allowance is used up.
    fn spin(&mut self, since_ns: u64, allowance_ns: u64) -> io::Result<Spun> {
        let until_ns = since_ns + allowance_ns;
        loop {
            let count = self.executor.pollset.wait(WaitLimit::None)?;
            let now_ns = self.executor.pollset.monotonic_ns();
            let came = count > 0 || self.executor.mailbox.has_messages();
            let over = now_ns > until_ns;
            // The service is called at its alarm, which says nothing about whether polling pays.
            let called = self.is_punctual() && self.is_alarm_due(now_ns);
            if came || over || called {
                self.executor.stats.spun_ns += now_ns - since_ns;
                skip();
                if came {
                    self.executor.stats.spin_hits += 1;
                    self.executor.spin.on_hit();
                } else if over {
                    self.executor.stats.spin_misses += 1;
                    self.executor.spin.on_miss();
                }
                self.look_at_the_core(now_ns);
                return Ok(if came || called {
                    Spun::Found(count)
                } else {
                    Spun::InVainUntil(now_ns)
                });
            }
            std::hint::spin_loop();
        }
    }

    /// Sleeps until shortly before the alarm, if one is set, and polls for the rest.
    fn sleep_and_poll(&mut self, since_ns: u64) -> io::Result<usize> {
        let Some(alarm_ns) = self.alarm_ns else { return self.sleep(since_ns) };
        if alarm_ns.saturating_sub(since_ns) > self.executor.settings.spin_ns {
            return self.sleep(since_ns);
        }
        loop {
            let count = self.executor.pollset.wait(WaitLimit::None)?;
            let now_ns = self.executor.pollset.monotonic_ns();
            if count > 0 || self.executor.mailbox.has_messages() || now_ns >= alarm_ns {
                self.executor.stats.spun_ns += now_ns - since_ns;
                skip();
                return Ok(count);
            }
            std::hint::spin_loop();
        }
    }

    fn is_punctual(&self) -> bool {
        self.executor.settings.punctuality != Punctuality::Usual
    }

    fn is_alarm_due(&self, now_ns: u64) -> bool {
        self.alarm_ns.is_some_and(|alarm_ns| alarm_ns <= now_ns)
    }

    /// Checks now and then whether the kernel has given the core to another thread against our will.
    fn look_at_the_core(&mut self, now_ns: u64) {
        let spins = self.executor.stats.spin_hits + self.executor.stats.spin_misses;
        if spins.is_multiple_of(SPINS_PER_LOOK) {
            let switches = sys::accounting::involuntary_switches();
            if self.executor.spin.on_switches(switches, now_ns) {
                self.executor.stats.spin_pauses += 1;
            }
        }
    }

    fn sleep(&mut self, since_ns: u64) -> io::Result<usize> {
        let patience = self.patience();
        change_to(TimeAccount::Poll);
        let Executor { mailbox, pollset, .. } = &mut self.executor;
        match mailbox.sleep(|| pollset.wait(patience)) {
            Some(waited) => {
                self.waits_since_ns = Some(since_ns);
                waited
            }
            None => self.look(),
        }
    }

    /// Records how long the wait before this turn was. If an event was already there, it was no sleep.
    pub(super) fn note_sleep(&mut self, now_ns: u64) {
        let Some(since_ns) = self.waits_since_ns.take() else { return };
        let slept_ns = now_ns - since_ns;
        if slept_ns >= SLEEP_MIN_NS {
            self.executor.stats.sleeps += 1;
            self.executor.stats.asleep_ns += slept_ns;
            skip();
            self.executor.spin.on_sleep(slept_ns);
        }
    }

    /// The time until the next thing that is due: a deadline, a paused listener, a drain, an alarm.
    fn patience(&self) -> WaitLimit {
        let usual = self.due_without_alarm();
        match (usual, self.alarm_ns) {
            (usual, Some(alarm_ns))
                if self.is_punctual() && usual.is_none_or(|due_ns| alarm_ns <= due_ns) =>
            {
                WaitLimit::UntilExactly(self.sleep_end_ns(alarm_ns))
            }
            (None, None) => WaitLimit::Unbounded,
            (usual, alarm) => WaitLimit::Until(usual.into_iter().chain(alarm).min().unwrap_or(0)),
        }
    }

    fn due_without_alarm(&self) -> Option<u64> {
        let timer = self.wheel.next_due().map(|tick| self.executor.clock.ns_of(tick));
        let gate = self.gates.iter().filter_map(|gate| gate.reopens_ns()).min();
        let drain = self.executor.drain.as_ref().filter(|_| !self.is_finished());
        let drain = drain.map(super::drain::Drain::due_ns);
        [timer, gate, drain].into_iter().flatten().min()
    }

    /// When to end a sleep for an alarm.
    fn sleep_end_ns(&self, alarm_ns: u64) -> u64 {
        match self.executor.settings.punctuality {
            Punctuality::Usual | Punctuality::Exact => alarm_ns,
            Punctuality::Spinning => alarm_ns.saturating_sub(self.executor.settings.spin_ns),
        }
    }

    /// When this scheduler must run next if no event arrives: for the program that drives it.
    pub fn next_due_ns(&self) -> Option<u64> {
        if self.busy || self.has_more_to_do() {
            return Some(0);
        }
        self.due_without_alarm().into_iter().chain(self.alarm_ns).min()
    }
}
