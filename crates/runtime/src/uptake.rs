//! Whether a peer reads the output that waits for it, and fast enough.
//!
//! Owns that judgement, by what the peer has acknowledged: bytes that only reached the kernel's
//! buffer are not progress. Never ends a connection.

/// Checks of a peer within the time in which it must read something: it is found idle late by at most one such part.
const LOOKS: u64 = 8;

/// The least that a peer must read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Floor {
    /// Nanoseconds within which it must read something.
    pub(crate) idle_ns: u64,
    /// Bytes per second that it must read in each such span.
    pub(crate) rate: u64,
}

/// Whether a peer keeps to the floor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    Keeps,
    Slow,
}

/// How one peer reads, since our output began to wait for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Uptake {
    /// When the last check was due: late checks do not delay the next ones.
    look_due_ns: u64,
    /// The last check at which it had read something.
    progressed_ns: u64,
    span_began_ns: u64,
    span_taken: u64,
    /// Bytes that the kernel held at the last check.
    outstanding: u64,
    /// Bytes given to the kernel since the last check.
    sent: u64,
}

impl Uptake {
    /// Starts now; the kernel holds this many bytes.
    pub(crate) fn since(now_ns: u64, outstanding: u64) -> Self {
        Self {
            look_due_ns: now_ns,
            progressed_ns: now_ns,
            span_began_ns: now_ns,
            outstanding,
            ..Self::default()
        }
    }

    /// This many bytes were given to the kernel.
    pub(crate) fn note_sent(&mut self, count: u64) {
        self.sent += count;
    }

    /// When the next check is due.
    pub(crate) fn due_ns(&self, floor: Floor) -> u64 {
        self.look_due_ns.saturating_add((floor.idle_ns / LOOKS).max(1))
    }

    /// Checks against the bytes that the kernel holds now. The peer has acknowledged everything that the kernel no
    /// longer holds.
    pub(crate) fn look(&mut self, now_ns: u64, outstanding: u64, floor: Floor) -> Judgement {
        let taken = (self.outstanding + self.sent).saturating_sub(outstanding);
        (self.outstanding, self.sent) = (outstanding, 0);
        self.look_due_ns = self.due_ns(floor);
        if self.due_ns(floor) <= now_ns {
            self.look_due_ns = now_ns;
        }
        self.span_taken += taken;
        if taken > 0 {
            self.progressed_ns = now_ns;
        } else if now_ns.saturating_sub(self.progressed_ns) >= floor.idle_ns {
            return Judgement::Slow;
        }
        let span_ns = now_ns.saturating_sub(self.span_began_ns);
        if span_ns < floor.idle_ns {
            return Judgement::Keeps;
        }
        let least = floor.rate.saturating_mul(span_ns / 1_000_000) / 1000;
        let is_slow = self.span_taken < least;
        (self.span_began_ns, self.span_taken) = (now_ns, 0);
        if is_slow { Judgement::Slow } else { Judgement::Keeps }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;
    const FLOOR: Floor = Floor { idle_ns: 32 * S, rate: 100 };

    /// Checks until the peer is found slow, and returns the number of checks.
    fn looks_until_slow(mut outstanding: impl FnMut(u64, &mut Uptake) -> u64) -> Option<u64> {
        let mut uptake = Uptake::since(S, 0);
        (1..100).find(|look| {
            let now_ns = uptake.due_ns(FLOOR);
            assert_eq!(now_ns, (1 + 4 * look) * S);
            let outstanding = outstanding(*look, &mut uptake);
            uptake.look(now_ns, outstanding, FLOOR) == Judgement::Slow
        })
    }

    #[test]
    fn a_kernel_buffer_that_grows_is_no_progress() {
        let growing = |look: u64, uptake: &mut Uptake| {
            uptake.note_sent(100_000);
            look * 100_000
        };
        assert_eq!(looks_until_slow(growing), Some(8));
    }

    #[test]
    fn a_peer_that_stops_is_slow_one_span_after_its_last_byte() {
        let stops = |look: u64, uptake: &mut Uptake| {
            uptake.note_sent(if look <= 3 { 50_000 } else { 0 });
            0
        };
        assert_eq!(looks_until_slow(stops), Some(3 + 8));
    }

    #[test]
    fn a_peer_below_the_rate_is_slow_and_one_at_it_is_not() {
        let at = |rate: u64| {
            move |_, uptake: &mut Uptake| {
                uptake.note_sent(4 * rate);
                0
            }
        };
        assert_eq!(looks_until_slow(at(99)), Some(8));
        assert_eq!(looks_until_slow(at(100)), None);
    }

    #[test]
    fn bytes_held_by_kernel_count_when_taken() {
        let mut uptake = Uptake::since(S, 400_000);
        for look in 1..=8 {
            let left = 400_000 - look * 50_000;
            assert_eq!(uptake.look((1 + 4 * look) * S, left, FLOOR), Judgement::Keeps);
        }
    }
}
