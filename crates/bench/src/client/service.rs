//! The generator as a service: the scheduler's events, and its work at the end of a turn.
//!
//! Owns the phases of a run: connecting, counting, the end.

use std::io;

use runtime::clock::Now;
use runtime::service::{
    Beginning, ClockUse, CloseReason, Event, ListenerIndex, Next, Progress, SchedulerCommand,
    Service,
};
use runtime::transport::{Transport, Violation};
use sys::socket::Peer;

use super::ask::Outlook;
use super::connection::{LoadConnection, Phase};
use super::live::Glance;
use super::pacer::{Pacer, Taker};
use super::waits::Waits;
use super::window::Stage;
use super::{Finished, LoadClient, MeasuredWindow, NoThreadMessage};
use crate::client::{Context, ServiceContext};
use crate::host::{ThreadSample, ThreadUse};
use crate::limits::LIVE_NS;
use crate::plan::{Lifetime, Upkeep};
use crate::tally::{FailureKind, HandshakeFault, Opening, Tally};

impl LoadClient {
    /// The connections are established, and the start time is known.
    fn begin(&mut self, start_ns: u64) {
        let plan = &self.work.plan;
        self.window = MeasuredWindow::new(start_ns, plan.warmup, plan.duration);
        self.stage = Stage::WarmingUp;
        self.tally.warm_up(start_ns);
        if let Some(pacer) = &mut self.pacer {
            pacer.start(start_ns);
        }
    }

    fn count(&mut self, context: &mut ServiceContext<'_>) {
        let opening = match self.work.plan.lifetime {
            Lifetime::KeptAlive => Opening::Kept,
            Lifetime::Requests(_) => Opening::Cleared,
        };
        self.tally.begin(self.window.begin_ns, opening);
        self.tally.unsent_start = self.pacer.as_ref().map_or(0, Pacer::waiting);
        self.before = ThreadSample::current().ok().map(|sample| (sample, context.stats.spun_ns));
        if let Some((sample, _)) = self.before {
            self.waits = Waits::since(self.now_ns, sample.wait_ns);
        }
        self.stage = Stage::Counting;
    }

    /// Ends the counting and the scheduler. Each connection adds its unanswered requests when it is closed; after the
    /// last one the measurement is handed over.
    fn end(&mut self, now: Now, context: &mut ServiceContext<'_>) {
        let end_ns = now.monotonic_ns.min(self.window.end_ns);
        let wall_ns = end_ns.saturating_sub(self.window.begin_ns);
        let used = match (self.before.take(), ThreadSample::current()) {
            (Some((before, spun_ns)), Ok(sample)) => {
                let spun_ns = context.stats.spun_ns - spun_ns;
                self.waits.look(now.monotonic_ns, sample.wait_ns);
                let used = sample.since(&before, self.core, spun_ns, wall_ns);
                ThreadUse { longest_wait_ns: self.waits.longest_ns(), ..used }
            }
            _ => ThreadUse { core: self.core, wall_ns, ..ThreadUse::default() },
        };
        let left = self.left_to_ask();
        if let Some(pacer) = &mut self.pacer {
            self.tally.asked += pacer.advance_to_end(end_ns, left, &mut self.state);
            self.tally.unsent_end = pacer.waiting();
            pacer.abandon(|due_ns| self.tally.leave(due_ns, end_ns));
        }
        let nothing = Tally::new(self.tally.pace(), 0, 0);
        let tally = std::mem::replace(&mut self.tally, nothing);
        let opening = self.opening_times;
        self.outcome = Some(Finished { tally, used, wall_ns, opening });
        self.ended_ns = end_ns;
        self.stage = Stage::Ended;
        self.live.finish();
        context.command(SchedulerCommand::Drain { deadline_ms: 0, idle_grace_ms: 0 });
    }

    /// Assigns connections to the waiting requests.
    fn call_takers(&mut self, now_ns: u64, context: &mut ServiceContext<'_>) {
        let left = self.left_to_ask();
        let Some(pacer) = &mut self.pacer else { return };
        self.tally.asked += pacer.advance(now_ns, left, &mut self.state);
        let mut numbers = Vec::new();
        pacer.call(&self.opening, |taker| match taker {
            Taker::Open(id) => context.command(SchedulerCommand::Run(id)),
            Taker::Closed(number) => numbers.push(number),
        });
        if self.work.plan.upkeep == Upkeep::Hold && self.tally.open_now == 0 {
            self.fail_due(now_ns);
        }
        for number in numbers {
            let peer = self.share.way(number).peer;
            if let Some(count) = self.opening.get_mut(peer) {
                *count += 1;
            }
            context.command(self.connect(number));
        }
    }

    fn tell_live(&mut self, now_ns: u64) {
        if now_ns >= self.next_live_ns {
            self.next_live_ns = now_ns + LIVE_NS;
            if self.stage == Stage::Counting
                && let Ok(sample) = ThreadSample::current()
            {
                self.waits.look(now_ns, sample.wait_ns);
            }
            self.live.tell(Glance {
                answered: self.tally.answered,
                failed: self.tally.failed.total(),
                open: self.tally.open_now,
                p99_ns: self.tally.seconds().recent_quantile_ns(now_ns, 0.99),
                opened: self.tally.connections.opened,
                tried: self.tally.connections.opened + self.tally.connections.refused,
            });
        }
    }

    /// When the next thing is due that no event announces.
    fn next_ns(&self) -> u64 {
        let border = match self.stage {
            Stage::Opening => u64::MAX,
            Stage::Standby => self.window.start_ns,
            Stage::WarmingUp => self.window.begin_ns,
            Stage::Counting | Stage::Ended => self.window.end_ns,
        };
        let due = self.pacer.as_ref().filter(|_| self.left_to_ask() > 0);
        let pacer = due.map_or(u64::MAX, Pacer::next_ns);
        let retry = self.retries.front().map_or(u64::MAX, |(due_ns, _)| *due_ns);
        border.min(pacer).min(retry).min(self.next_live_ns)
    }
}

impl Service for LoadClient {
    type Process = LoadConnection;
    type Message = NoThreadMessage;

    const KINDS: &'static [&'static str] = &["client"];
    const CLOCK: ClockUse = ClockUse::PerRun;

    fn kind(_process: &LoadConnection) -> usize {
        0
    }

    fn is_idle(_process: &LoadConnection) -> bool {
        // No connection is closed to make room for another.
        false
    }

    fn on_accept(
        &mut self,
        _listener: ListenerIndex,
        _peer: Peer,
        _context: &mut Context<'_>,
    ) -> Option<LoadConnection> {
        None
    }

    fn on_start(&mut self, context: &mut ServiceContext<'_>) {
        let now_ns = context.now.monotonic_ns;
        if self.stage == Stage::Opening {
            self.begin_opening(now_ns);
            self.open_some(context);
        }
        context.wake_at_ns(self.window.start_ns.min(now_ns + LIVE_NS));
    }

    fn on_connect(
        &mut self,
        ticket: u64,
        begun: Result<(), io::ErrorKind>,
        context: &mut Context<'_>,
    ) -> Option<LoadConnection> {
        let number = u32::try_from(ticket).unwrap_or(u32::MAX);
        let now_ns = context.now.monotonic_ns;
        self.now_ns = now_ns;
        if self.stage == Stage::Ended {
            return None;
        }
        if begun.is_err() {
            self.opened(number);
            self.fail_to_connect(number, now_ns, now_ns);
            self.replace(number, Outlook::Unopened);
            return None;
        }
        let timeout_ms = u64::try_from(self.work.plan.timeout.as_millis()).unwrap_or(u64::MAX);
        context.set_deadline_after_ms(timeout_ms.max(1));
        Some(LoadConnection::new(number, now_ns))
    }

    fn transport(&mut self, beginning: Beginning) -> Option<Box<dyn Transport>> {
        match beginning {
            Beginning::Connecting { ticket } => self.transport_of(ticket),
            Beginning::Accepted { .. } => None,
        }
    }

    fn on_agreed(&mut self, process: &mut LoadConnection, context: &mut Context<'_>) -> Next {
        self.now_ns = context.now.monotonic_ns;
        if let Some(agreed) = context.agreed() {
            if self.is_multiplexed() && agreed.protocol.as_deref() != Some(b"h2") {
                self.fail_handshake(process, HandshakeFault::NothingInCommon);
                return Next::Abort;
            }
            self.tally.agree(&agreed, self.now_ns.saturating_sub(process.since_ns()));
            self.begin_use(process, context);
        }
        Next::Read
    }

    fn on_handshake_failed(
        &mut self,
        process: &mut LoadConnection,
        why: Violation,
        context: &mut Context<'_>,
    ) {
        self.now_ns = context.now.monotonic_ns;
        self.fail_handshake(process, why.into());
    }

    #[inline]
    fn on_input(
        &mut self,
        process: &mut LoadConnection,
        input: &[u8],
        context: &mut Context<'_>,
    ) -> Progress {
        self.now_ns = context.now.monotonic_ns;
        self.take_input(process, input, context)
    }

    fn on_event(
        &mut self,
        process: &mut LoadConnection,
        event: Event,
        context: &mut Context<'_>,
    ) -> Next {
        let now_ns = context.now.monotonic_ns;
        self.now_ns = now_ns;
        match event {
            Event::Connected => {
                self.tally.connected(now_ns.saturating_sub(process.since_ns()));
                if self.is_encrypted(process.number()) {
                    process.begin_handshake(now_ns);
                } else {
                    self.begin_use(process, context);
                }
                Next::Read
            }
            Event::ConnectFailed(_) => {
                self.opened(process.number());
                self.fail_to_connect(process.number(), process.since_ns(), now_ns);
                Next::Abort
            }
            // Only the first message of the handshake may have waited for room.
            Event::OutputDrained
                if matches!(process.phase(), Phase::ShakingHands | Phase::AwaitingSettings) =>
            {
                Next::Read
            }
            Event::Resumed | Event::OutputDrained => {
                self.fill(process, context);
                Next::Read
            }
            Event::InputEnded => self.take_end(process, now_ns),
            Event::DeadlineReached if process.phase() == Phase::Connecting => {
                self.opened(process.number());
                self.fail_to_connect(process.number(), process.since_ns(), now_ns);
                Next::Abort
            }
            Event::DeadlineReached if process.phase() == Phase::ShakingHands => {
                self.fail_handshake(process, HandshakeFault::Timeout);
                Next::Abort
            }
            Event::DeadlineReached if process.phase() == Phase::AwaitingSettings => {
                self.fail_opening(process, FailureKind::Timeout);
                Next::Abort
            }
            Event::DeadlineReached if self.expire_streams(process, context) => {
                self.fill(process, context);
                Next::Read
            }
            Event::DeadlineReached => {
                self.fail_all(process, FailureKind::Timeout, FailureKind::Timeout, now_ns);
                Next::Abort
            }
            _ => Next::Read,
        }
    }

    fn on_close(&mut self, mut process: LoadConnection, reason: CloseReason) {
        if self.stage == Stage::Ended {
            if let Some(outcome) = &mut self.outcome {
                while let Some(pending) = process.pop() {
                    outcome.tally.leave(pending.due_ns, self.ended_ns);
                    let since_ns = pending.sent_ns.max(self.window.begin_ns);
                    outcome.tally.spent.left_ns += self.ended_ns.saturating_sub(since_ns);
                }
            }
            return;
        }
        if process.phase() == Phase::ShakingHands {
            self.fail_handshake(&mut process, HandshakeFault::Cut);
        }
        if process.phase() == Phase::AwaitingSettings {
            self.fail_opening(&mut process, FailureKind::Reset);
        }
        let first = match reason {
            // The server did not read our request.
            CloseReason::SlowReader => FailureKind::Timeout,
            // A line without an end.
            CloseReason::InboxFull => FailureKind::Garbage,
            _ => FailureKind::Reset,
        };
        let was_open = process.stands();
        self.fail_all(&mut process, first, FailureKind::Reset, self.now_ns);
        if was_open {
            self.tally.close();
        } else if process.sent() > 0 {
            // The request sent at its opening was not answered.
            self.tally.refuse(0);
        }
        if let Some(pacer) = &mut self.pacer {
            pacer.unlist(process.number());
        }
        let outlook = match (was_open, process.has_answered()) {
            (_, true) => Outlook::Good,
            (true, false) => Outlook::Bad,
            (false, false) => Outlook::Unopened,
        };
        self.replace(process.number(), outlook);
    }

    fn on_turn_end(&mut self, context: &mut ServiceContext<'_>) {
        let now_ns = context.now.monotonic_ns;
        self.now_ns = now_ns;
        if self.stage == Stage::Ended {
            return;
        }
        if self.stage == Stage::Opening
            && let Some(start_ns) = self.live.start_ns()
        {
            self.begin(start_ns);
        }
        if self.stage == Stage::Standby && now_ns >= self.window.start_ns {
            self.stage = Stage::WarmingUp;
            self.tally.warm_up(self.window.start_ns);
            self.begin_opening(now_ns);
        }
        self.open_some(context);
        let stage = self.window.stage(now_ns);
        if self.stage == Stage::WarmingUp && stage != Stage::WarmingUp {
            self.count(context);
        }
        let has_asked_all = self.left_to_ask() == 0 && self.tally.in_flight() == 0;
        if stage == Stage::Ended || has_asked_all || self.live.is_stopped() {
            self.end(context.now, context);
            return;
        }
        self.reconnect_due(now_ns, context);
        self.call_takers(now_ns, context);
        self.tell_live(now_ns);
        context.wake_at_ns(self.next_ns());
    }

    fn on_stop(&mut self, _context: &mut ServiceContext<'_>) {
        if let Some(outcome) = self.outcome.take() {
            // If the run was given up, there is no receiver.
            let _given_up = self.handover.send(outcome);
        }
    }
}
