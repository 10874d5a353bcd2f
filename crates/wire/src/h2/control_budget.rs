//! The budget of a peer for frames that are of no use to a request.
//!
//! Owns how many frames that are cheap to send (SETTINGS, PING, WINDOW_UPDATE, empty DATA ...) may come, and how a peer
//! earns more of them. Never looks into a frame and reads no clock.

use crate::limits::{H2_CALM_BYTES, H2_CONTROL_FRAMES, H2_CONTROL_FRAMES_PER_SECOND};

/// The budget is used up: the connection ends with ENHANCE_YOUR_CALM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyFrames;

/// The budget of one connection for control frames.
#[derive(Debug)]
pub struct ControlBudget {
    frames: u32,
    /// When time was counted last.
    second: u64,
    /// Bytes of bodies that have not earned a frame yet.
    bytes: usize,
}

impl Default for ControlBudget {
    fn default() -> Self {
        Self { frames: H2_CONTROL_FRAMES, second: 0, bytes: 0 }
    }
}

impl ControlBudget {
    /// It is this second of a monotonic clock. Returns how many seconds have passed since it was told last.
    pub fn on_time(&mut self, second: u64) -> u32 {
        let passed = u32::try_from(second.saturating_sub(self.second)).unwrap_or(u32::MAX);
        if passed > 0 {
            self.second = second;
            self.earn(passed.saturating_mul(H2_CONTROL_FRAMES_PER_SECOND));
        }
        passed
    }

    /// A frame came that does nothing for a request.
    ///
    /// # Errors
    /// If there were too many.
    pub fn on_frame(&mut self) -> Result<(), TooManyFrames> {
        self.frames = self.frames.checked_sub(1).ok_or(TooManyFrames)?;
        Ok(())
    }

    /// A request has its answer.
    pub fn on_answer(&mut self) {
        self.earn(1);
    }

    /// Bytes of a body were sent or received: they need frames that open windows.
    pub fn on_body(&mut self, bytes: usize) {
        self.bytes += bytes;
        let earned = u32::try_from(self.bytes / H2_CALM_BYTES).unwrap_or(u32::MAX);
        self.bytes %= H2_CALM_BYTES;
        self.earn(earned);
    }

    fn earn(&mut self, frames: u32) {
        self.frames = self.frames.saturating_add(frames).min(H2_CONTROL_FRAMES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_frames_are_paid_with_time_and_bodies() {
        let mut budget = ControlBudget::default();
        budget.on_time(10);
        let use_up =
            |budget: &mut ControlBudget| (0..).take_while(|_| budget.on_frame().is_ok()).count();
        assert_eq!(use_up(&mut budget), H2_CONTROL_FRAMES as usize);
        assert_eq!((budget.on_time(11), budget.on_time(11)), (1, 0));
        assert_eq!(use_up(&mut budget), H2_CONTROL_FRAMES_PER_SECOND as usize);
        for _ in 0..10 {
            budget.on_body(H2_CALM_BYTES / 2);
        }
        assert_eq!(use_up(&mut budget), 5);
        budget.on_answer();
        assert_eq!(use_up(&mut budget), 1);
        budget.on_time(u64::MAX);
        assert_eq!(use_up(&mut budget), H2_CONTROL_FRAMES as usize);
    }
}
