//! Events: what happened that an operator should know. The control scheduler asks all schedulers how they are, once a
//! second.
//!
//! Owns what comes of the answers, and of what helpers and the main thread find. `judge` says what is wrong, `ring`
//! keeps it. Never asks more than one short question a second.

mod certificates;
mod judge;
#[cfg(test)]
mod judge_tests;
mod minutes;
mod moment;
mod ring;
mod watch;

use http::{Answer, Reply, Request};
use live::OperatorEvent;
use runtime::clock::Now;
use runtime::mailbox::Endpoint;

use self::certificates::Ends;
use self::moment::Moment;
use self::ring::Ring;
use self::watch::Watch;
use super::ControlPeers;
use super::facts::Phase;
use crate::events::{Trouble, Vitals};
use crate::message::{LogReport, Mailbox, ServiceContext};
use crate::profile_order::ToProfiler;
use crate::site_tls::SiteTls;

/// The events, and the watch that finds them.
#[derive(Debug)]
pub(super) struct Events {
    ring: Ring,
    watch: Watch,
    ends: Ends,
    log: LogReport,
}

impl Events {
    /// Of a server with these threads.
    pub(super) fn new(peers: &ControlPeers) -> Self {
        Self {
            ring: if peers.keeps_profile { Ring::with_profiles() } else { Ring::default() },
            watch: Watch::new(peers),
            ends: Ends::default(),
            log: LogReport::default(),
        }
    }

    /// Something was found.
    pub(super) fn add(&mut self, trouble: Trouble, now: Now) {
        let at = Moment { now_ms: now.monotonic_ms(), unix_ms: now.unix_ms() };
        self.ring.add(trouble, at);
    }

    /// A scheduler has answered.
    pub(super) fn take(
        &mut self,
        from: Endpoint,
        vitals: Box<Vitals>,
        context: &ServiceContext<'_>,
    ) {
        for trouble in self.watch.take(from, vitals) {
            self.add(trouble, context.now);
        }
    }

    /// The counts of the log writer.
    pub(super) fn look_at_log(&mut self, log: LogReport, context: &ServiceContext<'_>) {
        let before = std::mem::replace(&mut self.log, log);
        judge::of_log(before, log).into_iter().for_each(|trouble| self.add(trouble, context.now));
    }

    /// Asks the schedulers how they are, as long as they serve, and looks at the certificates.
    pub(super) fn keep_watch(
        &mut self,
        (phase, tls): (Phase, &SiteTls),
        context: &mut ServiceContext<'_>,
    ) {
        if phase != Phase::Serving {
            return;
        }
        let now_ms = context.now.monotonic_ms();
        let (mut found, in_ms) = self.watch.look(now_ms, context.mail);
        found.extend(self.ends.look(tls, now_ms, context.now.unix_seconds));
        found.into_iter().for_each(|trouble| self.add(trouble, context.now));
        context.wake_after_ms(in_ms);
    }

    /// Listeners show other certificates: they are looked at now.
    pub(super) fn look_at_certificates(&mut self) {
        self.ends = Ends::default();
    }

    /// The event for which the minute of this one was cut out of the continuous profile.
    pub(super) fn minute_of(&self, number: u64) -> Option<u64> {
        self.ring.minute_of(number)
    }

    /// Tells the profiler which minutes it is to keep.
    pub(super) fn keep_minutes(&mut self, profiler: Endpoint, mail: &mut Mailbox) {
        for cut in self.ring.take_cuts() {
            // One without room has no profile, and says so when it is asked for it.
            let _full = mail.send_part(profiler, ToProfiler::Cut(cut));
        }
    }

    /// The last events, the newest last.
    pub(super) fn last(&self) -> Vec<OperatorEvent> {
        self.ring.after(0)
    }

    /// Answers `GET /events?after=NUMBER`.
    pub(super) fn answer(&self, request: &Request<'_>, reply: &mut Reply<'_>) -> Answer {
        let query = request.query().unwrap_or("after=0");
        match query.strip_prefix("after=").and_then(|number| number.parse().ok()) {
            Some(number) => reply.json(&serde_json::json!({ "events": self.ring.after(number) })),
            None => super::problem::say("the query is `after=NUMBER`", reply),
        }
        Answer::Done
    }
}
