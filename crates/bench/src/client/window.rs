//! The measured time.
//!
//! Owns the boundaries of a run: warm-up, measurement, end. Never reads a clock.

/// The measured time of a run, in nanoseconds of the monotonic clock, the same for all threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasuredWindow {
    /// Sending begins.
    pub start_ns: u64,
    /// Counting begins.
    pub begin_ns: u64,
    /// Both end.
    pub end_ns: u64,
}

/// The stage a thread has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Connections are opened; the start time is not yet known.
    Opening,
    /// The thread is ready, and waits for the common start.
    Standby,
    WarmingUp,
    Counting,
    Ended,
}

impl MeasuredWindow {
    /// A window whose start is not known yet.
    pub const NEVER: MeasuredWindow =
        MeasuredWindow { start_ns: u64::MAX, begin_ns: u64::MAX, end_ns: u64::MAX };

    /// A window that begins at `start_ns`.
    pub fn new(
        start_ns: u64,
        warmup: std::time::Duration,
        duration: std::time::Duration,
    ) -> MeasuredWindow {
        let nanoseconds =
            |time: std::time::Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let begin_ns = start_ns.saturating_add(nanoseconds(warmup));
        MeasuredWindow {
            start_ns,
            begin_ns,
            end_ns: begin_ns.saturating_add(nanoseconds(duration)),
        }
    }

    pub(super) fn stage(&self, now_ns: u64) -> Stage {
        if now_ns >= self.end_ns {
            Stage::Ended
        } else if now_ns >= self.begin_ns {
            Stage::Counting
        } else {
            Stage::WarmingUp
        }
    }
}
