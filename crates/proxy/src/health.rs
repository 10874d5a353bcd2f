//! Whether a server has failed, by what its requests meet.
//!
//! Owns the count of failures and the pauses. Whether a server may be paused at all is its upstream's decision, because
//! the last one never is.

use crate::limits::PAUSE_FACTOR;
use crate::rules::HealthRules;

/// How a server stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It gets requests.
    Up,
    /// It has failed, and gets none until this time.
    Paused {
        /// On the monotonic clock.
        until_ns: u64,
    },
    /// Its pause is over, and one request tries it.
    OnTrial,
}

/// Why a server stands as it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Nothing has happened since the start.
    Started,
    /// Its requests failed.
    Failures,
    /// Its answers came too late.
    Slow,
    /// A request was answered.
    Answered,
    /// It does not answer checks well.
    CheckFailed,
    /// It answers checks well again.
    CheckPassed,
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// The server has answered well.
    Passed,
    /// It has not.
    Failed,
}

/// The health of a server.
#[derive(Debug)]
pub(crate) struct Health {
    standing: Standing,
    reason: Reason,
    since_ns: u64,
    /// Failures one after the other.
    failures: u32,
    /// The same of checks.
    failed_checks: u32,
    /// The length of the last pause, in first pauses.
    factor: u32,
}

/// The consequence of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is one of few.
    Noted,
    /// The server should be paused.
    Fails,
}

impl Health {
    pub(crate) fn new(now_ns: u64) -> Self {
        let (standing, reason) = (Standing::Up, Reason::Started);
        Self { standing, reason, since_ns: now_ns, failures: 0, failed_checks: 0, factor: 1 }
    }

    pub(crate) fn standing(&self) -> Standing {
        self.standing
    }

    pub(crate) fn reason(&self) -> Reason {
        self.reason
    }

    pub(crate) fn since_ns(&self) -> u64 {
        self.since_ns
    }

    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }

    /// Whether it may get a request: it is up, or its pause is over and no request tries it.
    pub(crate) fn admits(&self, now_ns: u64) -> bool {
        match self.standing {
            Standing::Up => true,
            Standing::Paused { until_ns } => until_ns <= now_ns,
            Standing::OnTrial => false,
        }
    }

    /// It gets a request.
    pub(crate) fn on_begin(&mut self, now_ns: u64) {
        if let Standing::Paused { until_ns } = self.standing
            && until_ns <= now_ns
        {
            self.standing = Standing::OnTrial;
        }
    }

    /// A request was answered in time.
    pub(crate) fn on_answer(&mut self, now_ns: u64) {
        (self.failures, self.factor) = (0, 1);
        if self.standing != Standing::Up {
            self.standing = Standing::Up;
            (self.reason, self.since_ns) = (Reason::Answered, now_ns);
        }
    }

    /// A request was given up by its client: that says nothing, but ends a trial.
    pub(crate) fn on_abandoned(&mut self, now_ns: u64) {
        if self.standing == Standing::OnTrial {
            self.standing = Standing::Paused { until_ns: now_ns };
        }
    }

    /// A request has failed.
    pub(crate) fn on_failure(&mut self, rules: &HealthRules) -> Verdict {
        self.failures = self.failures.saturating_add(1);
        let is_trial = self.standing == Standing::OnTrial;
        if is_trial || self.standing == Standing::Up && self.failures >= rules.failures {
            Verdict::Fails
        } else {
            Verdict::Noted
        }
    }

    /// It gets no requests for a while.
    pub(crate) fn pause(&mut self, reason: Reason, rules: &HealthRules, now_ns: u64) {
        let was_trial = self.standing == Standing::OnTrial;
        self.factor = if was_trial { self.factor.saturating_mul(2).min(PAUSE_FACTOR) } else { 1 };
        let span_ns = rules.pause_ns.saturating_mul(u64::from(self.factor));
        self.standing = Standing::Paused { until_ns: now_ns.saturating_add(span_ns) };
        if !was_trial {
            self.since_ns = now_ns;
        }
        self.reason = reason;
    }

    /// A check has ended.
    pub(crate) fn on_check(&mut self, check: Check, rules: &HealthRules, now_ns: u64) -> Verdict {
        match check {
            Check::Passed => {
                self.failed_checks = 0;
                if self.reason == Reason::CheckFailed && self.standing != Standing::Up {
                    (self.standing, self.failures, self.factor) = (Standing::Up, 0, 1);
                    (self.reason, self.since_ns) = (Reason::CheckPassed, now_ns);
                }
                Verdict::Noted
            }
            Check::Failed => {
                self.failed_checks = self.failed_checks.saturating_add(1);
                let fails = self.failed_checks >= rules.failures;
                if fails && self.reason != Reason::CheckFailed {
                    Verdict::Fails
                } else {
                    Verdict::Noted
                }
            }
        }
    }

    /// It gets no requests until a check passes.
    pub(crate) fn pause_until_checked(&mut self, now_ns: u64) {
        self.standing = Standing::Paused { until_ns: u64::MAX };
        (self.reason, self.since_ns) = (Reason::CheckFailed, now_ns);
    }

    /// It goes on although it fails, because there is no other.
    pub(crate) fn stay(&mut self, now_ns: u64) {
        if self.standing != Standing::Up {
            (self.standing, self.since_ns) = (Standing::Up, now_ns);
        }
    }
}
