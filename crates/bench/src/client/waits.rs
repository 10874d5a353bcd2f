//! How long a generator thread waited for its core without a break.
//!
//! Owns the sum over consecutive samples. Reads nothing: the scheduler's counters are arguments.

/// Waiting for a core, sample by sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Waits {
    looked_ns: u64,
    waited_ns: u64,
    stretch_ns: u64,
    longest_ns: u64,
}

impl Waits {
    /// Starts now; the thread has waited this long in total.
    pub(super) fn since(now_ns: u64, waited_ns: u64) -> Self {
        Self { looked_ns: now_ns, waited_ns, ..Self::default() }
    }

    /// Takes another sample. Consecutive waits form one stretch if the thread hardly ran in between.
    pub(super) fn look(&mut self, now_ns: u64, waited_ns: u64) {
        let passed_ns = now_ns.saturating_sub(self.looked_ns);
        let more_ns = waited_ns.saturating_sub(self.waited_ns);
        (self.looked_ns, self.waited_ns) = (now_ns, waited_ns);
        self.stretch_ns += more_ns;
        self.longest_ns = self.longest_ns.max(self.stretch_ns);
        if more_ns < passed_ns - passed_ns / 4 {
            self.stretch_ns = 0;
        }
    }

    /// The longest stretch.
    pub(super) fn longest_ns(&self) -> u64 {
        self.longest_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_without_running_belong_together_and_others_do_not() {
        let mut waits = Waits::since(1_000, 500);
        waits.look(1_100, 530);
        waits.look(1_200, 560);
        assert_eq!(waits.longest_ns(), 30, "it ran in between");
        waits.look(1_300, 660);
        waits.look(1_700, 1_060);
        waits.look(1_800, 1_070);
        assert_eq!(waits.longest_ns(), 100 + 400 + 10);
        waits.look(1_900, 1_070);
        assert_eq!(waits.longest_ns(), 510);
    }
}
