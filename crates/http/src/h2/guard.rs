//! The budget of a client for frames without being of use.
//!
//! Owns the budgets of a connection for frames that are cheap to send: control frames, and streams that end without an
//! answer. Never looks into a frame.

use wire::h2::{ControlBudget, TooManyFrames};

use crate::limits::{H2_RESETS, H2_RESETS_PER_SECOND};

/// A budget is used up: the connection ends with ENHANCE_YOUR_CALM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooBusy;

/// The budgets of one connection.
#[derive(Debug)]
pub(super) struct Guard {
    control: ControlBudget,
    resets: u32,
}

impl Guard {
    pub(super) fn new() -> Self {
        Self { control: ControlBudget::default(), resets: H2_RESETS }
    }

    /// It is this second of the monotonic clock.
    pub(super) fn on_time(&mut self, second: u64) {
        let resets = self.control.on_time(second).saturating_mul(H2_RESETS_PER_SECOND);
        self.resets = self.resets.saturating_add(resets).min(H2_RESETS);
    }

    /// A frame came that does nothing for a request.
    pub(super) fn on_control(&mut self) -> Result<(), TooBusy> {
        self.control.on_frame().map_err(|TooManyFrames| TooBusy)
    }

    /// A stream has ended without its answer, by the client or by its fault (CVE-2023-44487, CVE-2025-8671).
    pub(super) fn on_reset(&mut self) -> Result<(), TooBusy> {
        self.resets = self.resets.checked_sub(1).ok_or(TooBusy)?;
        Ok(())
    }

    /// A stream has ended with its answer.
    pub(super) fn on_answer(&mut self) {
        self.resets = (self.resets + 1).min(H2_RESETS);
        self.control.on_answer();
    }

    /// Bytes of a body were sent or received: they need frames that open windows.
    pub(super) fn on_body(&mut self, bytes: usize) {
        self.control.on_body(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resets_are_paid_with_answers_and_time() {
        let mut guard = Guard::new();
        for _ in 0..10 * H2_RESETS {
            guard.on_answer();
            assert_eq!(guard.on_reset(), Ok(()));
        }
        let use_up = |guard: &mut Guard| (0..).take_while(|_| guard.on_reset().is_ok()).count();
        assert_eq!(use_up(&mut guard) + 1, H2_RESETS as usize);
        guard.on_time(3);
        assert_eq!(use_up(&mut guard), 3 * H2_RESETS_PER_SECOND as usize);
    }
}
