//! The known state of the server: its figures, those to compare with, and whether it answers.
//!
//! Owns pausing, freezing, the comparison with a minute ago, and what a silent or new server means for them. Reads no
//! clock.

use std::time::Duration;

use live::ServerSnapshot;

use crate::ask::{AskError, SnapshotRequest};
use crate::figures::{Figures, TakenSnapshot};
use crate::harmless::clean_snapshot;
use crate::history::History;
use crate::number::age;

/// How long an answer may take before the screen says so.
const SILENCE: Duration = Duration::from_secs(2);

/// With what is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Against {
    #[default]
    Nothing,
    /// With the oldest answers that are kept.
    MinuteAgo,
    /// With the figures at a key press.
    Frozen,
}

/// Whether the screen goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Pace {
    #[default]
    Running,
    Paused,
}

/// The known state of the server.
#[derive(Default)]
pub(crate) struct Watch {
    history: History,
    now: Option<Figures>,
    then: Option<Figures>,
    against: Against,
    pace: Pace,
    /// Since when an answer is waited for.
    asked: Option<Duration>,
    /// Since when there is no server, and why.
    lost: Option<(Duration, String)>,
}

impl Watch {
    /// The figures that are shown.
    pub(crate) fn now(&self) -> Option<&Figures> {
        self.now.as_ref()
    }

    /// The figures to compare with.
    pub(crate) fn then(&self) -> Option<&Figures> {
        self.then.as_ref()
    }

    pub(crate) fn asked(&mut self, at: Duration) {
        self.asked = Some(at);
    }

    /// Takes an answer of so many bytes. Returns what an operator should hear.
    pub(crate) fn answered(
        &mut self,
        wanted: SnapshotRequest,
        mut snapshot: ServerSnapshot,
        bytes: usize,
        at: Duration,
    ) -> Option<String> {
        self.asked = None;
        clean_snapshot(&mut snapshot);
        let was_lost = self.lost.take();
        let server = &snapshot.server;
        let before = self.history.latest().map(|moment| &moment.snapshot.server);
        let of_another = before
            .filter(|before| (before.process, before.started) != (server.process, server.started))
            .map(|before| before.process);
        let news = match (of_another, was_lost) {
            (Some(old), _) => Some(format!(
                "the server was started again: process {old} is now {}",
                server.process
            )),
            (None, Some((since, _))) => {
                let silent = age(at.saturating_sub(since).as_secs());
                Some(format!("the server answers again, after {silent}"))
            }
            (None, None) => None,
        };
        if of_another.is_some() {
            // Its counters begin at 0: nothing can be compared.
            self.history.clear();
            self.against = Against::Nothing;
            self.then = None;
        }
        self.history.add(TakenSnapshot { wanted, snapshot }, at, bytes);
        if self.pace == Pace::Running || of_another.is_some() {
            self.look();
        }
        news
    }

    pub(crate) fn failed(&mut self, trouble: &AskError, at: Duration) {
        // The silence began when it was asked.
        let since = self.asked.take().unwrap_or(at);
        let since = self.lost.take().map_or(since, |(since, _)| since);
        self.lost = Some((since, trouble.to_string()));
    }

    fn look(&mut self) {
        self.now = self.history.newest().map(|(before, now)| Figures::between(before, now));
        if self.against == Against::MinuteAgo {
            self.then = self.history.oldest().map(|(before, now)| Figures::between(before, now));
        }
    }

    pub(crate) fn pause(&mut self) {
        self.pace = match self.pace {
            Pace::Running => Pace::Paused,
            Pace::Paused => Pace::Running,
        };
        self.look_if_running();
    }

    fn look_if_running(&mut self) {
        if self.pace == Pace::Running {
            self.look();
        }
    }

    /// Begins a comparison, or ends it if it is under way.
    pub(crate) fn compare(&mut self, wanted: Against) {
        self.then = None;
        self.against = if self.against == wanted { Against::Nothing } else { wanted };
        if self.against == Against::Frozen {
            self.then.clone_from(&self.now);
        }
        if self.against == Against::MinuteAgo {
            self.then = self.history.oldest().map(|(before, now)| Figures::between(before, now));
        }
    }

    /// The state in some words; empty if there is nothing special.
    pub(crate) fn state(&self) -> String {
        let ago = |then: &Figures| {
            age(self.now.as_ref().map_or(0, |now| now.at_ms.saturating_sub(then.at_ms)) / 1_000)
        };
        let compared = match (self.against, &self.then) {
            (Against::Nothing, _) => String::new(),
            (_, Some(then)) => format!("changes in {}", ago(then)),
            (_, None) => "no earlier answer yet".to_owned(),
        };
        match self.pace {
            Pace::Running => compared,
            Pace::Paused if compared.is_empty() => "paused".to_owned(),
            Pace::Paused => format!("paused, {compared}"),
        }
    }

    /// The problem with the way to the server, if there is one.
    pub(crate) fn trouble(&self, at: Duration) -> Option<String> {
        if let Some((since, why)) = &self.lost {
            let silent = age(at.saturating_sub(*since).as_secs());
            return Some(format!("no server since {silent}: {why}"));
        }
        let silent = at.saturating_sub(self.asked?);
        (silent >= SILENCE).then(|| format!("no answer since {}", age(silent.as_secs())))
    }
}
