//! The budget of a client for frames without being of use.
//!
//! Owns the budgets of a connection for frames that are cheap to send: control frames, and streams that end without an
//! answer. Never looks into a frame.

use crate::limits::{
    H2_CALM_BYTES, H2_CONTROL_FRAMES, H2_CONTROL_FRAMES_PER_SECOND, H2_RESETS, H2_RESETS_PER_SECOND,
};

/// A budget is used up: the connection ends with ENHANCE_YOUR_CALM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooBusy;

/// The budgets of one connection.
#[derive(Debug)]
pub(super) struct Guard {
    control: u32,
    resets: u32,
    /// When time was counted last.
    second: u64,
    /// Bytes of bodies that have not earned a frame yet.
    bytes: usize,
}

impl Guard {
    pub(super) fn new() -> Self {
        Self { control: H2_CONTROL_FRAMES, resets: H2_RESETS, second: 0, bytes: 0 }
    }

    /// It is this second of the monotonic clock.
    pub(super) fn on_time(&mut self, second: u64) {
        let passed = u32::try_from(second.saturating_sub(self.second)).unwrap_or(u32::MAX);
        if passed == 0 {
            return;
        }
        self.second = second;
        let control = passed.saturating_mul(H2_CONTROL_FRAMES_PER_SECOND);
        self.control = self.control.saturating_add(control).min(H2_CONTROL_FRAMES);
        let resets = passed.saturating_mul(H2_RESETS_PER_SECOND);
        self.resets = self.resets.saturating_add(resets).min(H2_RESETS);
    }

    /// A frame came that does nothing for a request.
    pub(super) fn on_control(&mut self) -> Result<(), TooBusy> {
        self.control = self.control.checked_sub(1).ok_or(TooBusy)?;
        Ok(())
    }

    /// A stream has ended without its answer, by the client or by its fault (CVE-2023-44487, CVE-2025-8671).
    pub(super) fn on_reset(&mut self) -> Result<(), TooBusy> {
        self.resets = self.resets.checked_sub(1).ok_or(TooBusy)?;
        Ok(())
    }

    /// A stream has ended with its answer.
    pub(super) fn on_answer(&mut self) {
        self.resets = (self.resets + 1).min(H2_RESETS);
        self.control = (self.control + 1).min(H2_CONTROL_FRAMES);
    }

    /// Bytes of a body were sent or received: they need frames that open windows.
    pub(super) fn on_body(&mut self, bytes: usize) {
        self.bytes += bytes;
        let earned = u32::try_from(self.bytes / H2_CALM_BYTES).unwrap_or(u32::MAX);
        self.bytes %= H2_CALM_BYTES;
        self.control = self.control.saturating_add(earned).min(H2_CONTROL_FRAMES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_frames_are_paid_with_time_and_bodies() {
        let mut guard = Guard::new();
        guard.on_time(10);
        let use_up = |guard: &mut Guard| (0..).take_while(|_| guard.on_control().is_ok()).count();
        assert_eq!(use_up(&mut guard), H2_CONTROL_FRAMES as usize);
        guard.on_time(11);
        assert_eq!(use_up(&mut guard), H2_CONTROL_FRAMES_PER_SECOND as usize);
        for _ in 0..10 {
            guard.on_body(H2_CALM_BYTES / 2);
        }
        assert_eq!(use_up(&mut guard), 5);
        guard.on_time(u64::MAX);
        assert_eq!(use_up(&mut guard), H2_CONTROL_FRAMES as usize);
    }

    #[test]
    fn resets_are_paid_with_answers() {
        let mut guard = Guard::new();
        for _ in 0..10 * H2_RESETS {
            guard.on_answer();
            assert_eq!(guard.on_reset(), Ok(()));
        }
        let left = (0..).take_while(|_| guard.on_reset().is_ok()).count();
        assert_eq!(left + 1, H2_RESETS as usize);
    }
}
