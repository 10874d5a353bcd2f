//! The time for which a carrier has held back the input of a stream.
//!
//! Owns the sum. Never decides that input is held back: the carrier does.

/// Whether the carrier of a stream lets its peer send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputHold {
    /// The peer may send.
    Open,
    /// The peer may not, so that nobody can blame it for sending nothing.
    HeldBack,
}

/// How long the input of one stream was held back so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HeldBack {
    /// Since when it is, on the monotonic clock.
    since_ns: Option<u64>,
    /// Before that.
    before_ns: u64,
}

impl HeldBack {
    /// From now on it is, or is not.
    pub(crate) fn set(&mut self, hold: InputHold, now_ns: u64) {
        match hold {
            InputHold::HeldBack => {
                self.since_ns.get_or_insert(now_ns);
            }
            InputHold::Open => {
                *self = Self { since_ns: None, before_ns: self.sum_ns(now_ns) };
            }
        }
    }

    /// The sum until now.
    pub(crate) fn sum_ns(&self, now_ns: u64) -> u64 {
        let current_ns = self.since_ns.map_or(0, |since_ns| now_ns.saturating_sub(since_ns));
        self.before_ns + current_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_add_up_and_saying_it_twice_changes_nothing() {
        let mut held = HeldBack::default();
        held.set(InputHold::Open, 10);
        assert_eq!(held.sum_ns(20), 0);
        held.set(InputHold::HeldBack, 20);
        held.set(InputHold::HeldBack, 30);
        assert_eq!(held.sum_ns(35), 15);
        held.set(InputHold::Open, 40);
        held.set(InputHold::HeldBack, 100);
        assert_eq!(held.sum_ns(101), 21);
    }
}
