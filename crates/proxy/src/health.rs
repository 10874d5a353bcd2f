//! Whether a server has failed, by what its requests meet.
//!
//! Owns the count of failures and the pauses. Whether a server may be paused at all is its upstream's decision, because
//! the last one never is.

use crate::limits::PAUSE_FACTOR;
use crate::rules::HealthRules;

/// How a server stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerStanding {
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
pub enum HealthReason {
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

/// What the checks of a server say from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChecksTurned {
    /// So many in a row have failed that it counts, whether or not it still gets requests.
    Fail,
    /// One has passed after that.
    Pass,
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HealthCheck {
    /// The server has answered well.
    Passed,
    /// It has not.
    Failed,
}

/// The health of a server.
#[derive(Clone, Debug)]
pub(crate) struct Health {
    standing: ServerStanding,
    reason: HealthReason,
    since_ns: u64,
    /// Failures one after the other, without the head of an answer between them.
    failures: u32,
    /// Answers that broke off one after the other, without a whole one between them.
    cuts: u32,
    /// The same of checks.
    failed_checks: u32,
    /// The length of the last pause, in first pauses; 0 if a whole answer came since.
    factor: u32,
    /// Until when one request tries it; then another one may.
    trial_ends_ns: u64,
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
        let (standing, reason) = (ServerStanding::Up, HealthReason::Started);
        Self {
            standing,
            reason,
            since_ns: now_ns,
            failures: 0,
            cuts: 0,
            failed_checks: 0,
            factor: 0,
            trial_ends_ns: 0,
        }
    }

    pub(crate) fn standing(&self) -> ServerStanding {
        self.standing
    }

    pub(crate) fn reason(&self) -> HealthReason {
        self.reason
    }

    pub(crate) fn since_ns(&self) -> u64 {
        self.since_ns
    }

    fn failures(&self) -> u32 {
        self.failures.max(self.cuts)
    }

    /// Whether it fails: it gets no requests, or would get none if it were not the last.
    pub(crate) fn is_failing(&self, rules: &HealthRules) -> bool {
        let most = self.failures().max(self.failed_checks);
        self.standing != ServerStanding::Up || most >= rules.failures
    }

    /// Whether it may get a request: it is up, or its pause is over and no request tries it.
    pub(crate) fn admits(&self, now_ns: u64) -> bool {
        self.admits_from_ns() <= now_ns
    }

    /// From when on it may get a request.
    pub(crate) fn admits_from_ns(&self) -> u64 {
        match self.standing {
            ServerStanding::Up => 0,
            ServerStanding::Paused { until_ns } => until_ns,
            ServerStanding::OnTrial => self.trial_ends_ns,
        }
    }

    /// It gets a request. One that tries it and is never answered does not keep it out for longer than a pause.
    pub(crate) fn on_begin(&mut self, rules: &HealthRules, now_ns: u64) {
        if self.standing != ServerStanding::Up && self.admits(now_ns) {
            self.standing = ServerStanding::OnTrial;
            self.trial_ends_ns = now_ns.saturating_add(self.pause_ns(rules));
        }
    }

    /// The length of a pause.
    fn pause_ns(&self, rules: &HealthRules) -> u64 {
        rules.pause_ns.saturating_mul(u64::from(self.factor.max(1)))
    }

    /// The head of an answer has come in time: the server is there. Whether the answer is whole is seen at its end,
    /// which may be hours later.
    pub(crate) fn on_head(&mut self, now_ns: u64) {
        self.failures = 0;
        if self.standing == ServerStanding::OnTrial {
            self.standing = ServerStanding::Up;
            (self.reason, self.since_ns) = (HealthReason::Answered, now_ns);
        }
    }

    /// A request was answered in time. That does not end a pause that a check began: a program that shuts down fails
    /// its checks and finishes its requests.
    pub(crate) fn on_answer(&mut self, now_ns: u64) {
        (self.failures, self.cuts, self.factor) = (0, 0, 0);
        if self.standing != ServerStanding::Up && !self.awaits_check() {
            self.standing = ServerStanding::Up;
            (self.reason, self.since_ns) = (HealthReason::Answered, now_ns);
        }
    }

    /// A request was given up by its client: that says nothing, but ends a trial.
    pub(crate) fn on_abandoned(&mut self, now_ns: u64) {
        if self.standing == ServerStanding::OnTrial {
            self.standing = ServerStanding::Paused { until_ns: now_ns };
        }
    }

    /// A request has failed.
    pub(crate) fn on_failure(&mut self, rules: &HealthRules) -> Verdict {
        self.failures = self.failures.saturating_add(1);
        self.verdict(rules)
    }

    /// An answer broke off.
    pub(crate) fn on_cut(&mut self, rules: &HealthRules) -> Verdict {
        self.cuts = self.cuts.saturating_add(1);
        self.verdict(rules)
    }

    fn verdict(&self, rules: &HealthRules) -> Verdict {
        let is_trial = self.standing == ServerStanding::OnTrial;
        if is_trial || self.standing == ServerStanding::Up && self.failures() >= rules.failures {
            Verdict::Fails
        } else {
            Verdict::Noted
        }
    }

    /// It gets no requests for a while.
    pub(crate) fn pause(&mut self, reason: HealthReason, rules: &HealthRules, now_ns: u64) {
        let was_trial = self.standing == ServerStanding::OnTrial;
        self.factor = self.factor.saturating_mul(2).clamp(1, PAUSE_FACTOR);
        let until_ns = now_ns.saturating_add(self.pause_ns(rules));
        self.standing = ServerStanding::Paused { until_ns };
        if !was_trial {
            self.since_ns = now_ns;
        }
        self.reason = reason;
    }

    /// A check has ended.
    pub(crate) fn on_check(
        &mut self,
        check: HealthCheck,
        rules: &HealthRules,
        now_ns: u64,
    ) -> Verdict {
        match check {
            HealthCheck::Passed => {
                self.failed_checks = 0;
                if self.reason == HealthReason::CheckFailed && self.standing != ServerStanding::Up {
                    (self.standing, self.factor) = (ServerStanding::Up, 0);
                    (self.failures, self.cuts) = (0, 0);
                    (self.reason, self.since_ns) = (HealthReason::CheckPassed, now_ns);
                }
                Verdict::Noted
            }
            HealthCheck::Failed => {
                self.failed_checks = self.failed_checks.saturating_add(1);
                if self.fails_checks(rules) && self.reason != HealthReason::CheckFailed {
                    Verdict::Fails
                } else {
                    Verdict::Noted
                }
            }
        }
    }

    /// Whether so many checks in a row have failed that it counts.
    pub(crate) fn fails_checks(&self, rules: &HealthRules) -> bool {
        self.failed_checks >= rules.failures
    }

    /// It gets no requests until a check passes.
    pub(crate) fn pause_until_checked(&mut self, now_ns: u64) {
        self.standing = ServerStanding::Paused { until_ns: u64::MAX };
        (self.reason, self.since_ns) = (HealthReason::CheckFailed, now_ns);
    }

    /// Whether nothing but a check ends its pause.
    pub(crate) fn awaits_check(&self) -> bool {
        self.standing == ServerStanding::Paused { until_ns: u64::MAX }
    }

    /// It goes on although it fails, because there is no other.
    pub(crate) fn stay(&mut self, now_ns: u64) {
        if self.standing != ServerStanding::Up {
            (self.standing, self.since_ns) = (ServerStanding::Up, now_ns);
        }
    }
}
