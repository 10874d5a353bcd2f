//! Sends requests, and gives up.
//!
//! Owns what a connection sends next, and what counts as failed when it cannot continue.

use super::LoadClient;
use super::connection::{LoadConnection, Phase};
use super::pending::Pending;
use super::window::Stage;
use crate::client::Context;
use crate::limits::RECONNECT_PAUSE_NS;
use crate::plan::{Lifetime, Upkeep};
use crate::tally::{FailureKind, Sending};

impl LoadClient {
    /// Sends as many requests as the connection may have in flight.
    #[inline]
    pub(super) fn fill(&mut self, connection: &mut LoadConnection, context: &mut Context<'_>) {
        let now_ns = context.now.monotonic_ns;
        let pipeline = connection.room(self.work.plan.pipeline as usize);
        let peer = self.peer_of(connection);
        let before = context.output.queued_bytes();
        while connection.in_flight() < pipeline
            && (self.pacer.is_some() || self.left_to_ask() > 0)
            && connection.phase() == Phase::Open
            && !context.output_is_full()
            // Later requests belong to no run.
            && now_ns <= self.window.end_ns
        {
            let due_ns = match &mut self.pacer {
                None => {
                    self.tally.ask();
                    now_ns
                }
                Some(pacer) => match pacer.take(peer) {
                    Some(due_ns) => due_ns,
                    None => break,
                },
            };
            self.send(connection, peer, due_ns, context);
        }
        self.send_content(connection, context);
        self.tally.bytes_out += (context.output.queued_bytes() - before) as u64;
        if connection.in_flight() > 0 {
            self.set_deadline(connection, context);
        } else {
            context.clear_deadline();
        }
        if connection.in_flight() < pipeline && !context.output_is_full() {
            self.list(connection, peer, context);
        }
    }

    /// Requests that may still be sent in this run.
    #[inline]
    pub(super) fn left_to_ask(&self) -> u64 {
        if self.stage == Stage::Counting {
            self.quota.saturating_sub(self.tally.asked)
        } else {
            u64::MAX
        }
    }

    /// Sends one request on a connection that is to be held, before anything counts: a server may defer a silent
    /// connection (TCP_DEFER_ACCEPT), and closes one that never sent a request sooner than one between requests. It
    /// counts as open once that is answered, because a connection that the kernel reports may still be in the server's
    /// queue.
    pub(super) fn greet(&mut self, connection: &mut LoadConnection, context: &mut Context<'_>) {
        let peer = self.peer_of(connection);
        self.tally.ask();
        self.send(connection, peer, context.now.monotonic_ns, context);
        self.send_content(connection, context);
        self.set_deadline(connection, context);
    }

    #[inline]
    fn send(
        &mut self,
        connection: &mut LoadConnection,
        peer: usize,
        due_ns: u64,
        context: &mut Context<'_>,
    ) {
        // Borrowed without counting, because all threads share the one reference count.
        let plan = &self.work.plan;
        let now_ns = context.now.monotonic_ns;
        let (targets, choice) = &self.work.targets[peer];
        let target = targets[choice.pick(&mut self.state)];
        let asked = &plan.targets[target as usize];
        let is_last = plan.lifetime.is_last(connection.sent());
        if is_last {
            connection.close_to_requests();
        }
        if !connection.has_streams() {
            let template = if is_last { &asked.last_request } else { &asked.request };
            template.render(&mut self.state, context.output.buffer());
        }
        let answer = asked.answer_body;
        self.tally.send(Sending { due_ns, free_ns: connection.since_ns(), sent_ns: now_ns });
        connection.count_sent();
        let key = self.state.last_key();
        let pending = Pending { due_ns, sent_ns: now_ns, target, key };
        if connection.has_streams() {
            self.send_on_stream(connection, pending, context);
        } else {
            connection.push(pending, answer);
        }
    }

    /// The deadline of the oldest request.
    #[inline]
    fn set_deadline(&self, connection: &LoadConnection, context: &mut Context<'_>) {
        let timeout_ms =
            u64::try_from(self.work.plan.timeout.as_millis()).unwrap_or(u64::MAX).max(1);
        let waited_ms = connection.oldest().map_or(0, |pending| {
            context.now.monotonic_ns.saturating_sub(pending.sent_ns) / 1_000_000
        });
        context.set_deadline_after_ms(timeout_ms.saturating_sub(waited_ms));
    }

    /// Lists a connection as free to take another request.
    fn list(&mut self, connection: &LoadConnection, peer: usize, context: &Context<'_>) {
        if connection.phase() != Phase::Open {
            return;
        }
        if let Some(pacer) = &mut self.pacer {
            pacer.list_open(peer, connection.number(), context.id);
        }
    }

    /// Counts every request in flight as failed.
    pub(super) fn fail_all(
        &mut self,
        connection: &mut LoadConnection,
        first: FailureKind,
        rest: FailureKind,
        now_ns: u64,
    ) {
        let mut kind = first;
        while let Some(pending) = connection.pop() {
            self.tally.fail_sent(kind, pending.sent_ns, now_ns);
            kind = rest;
        }
        connection.give_up();
    }

    /// No connection could be established: its request has failed.
    pub(super) fn fail_to_connect(&mut self, number: u32, begun_ns: u64, now_ns: u64) {
        self.tally.refuse(now_ns.saturating_sub(begun_ns));
        self.fail_unsent(number, FailureKind::Connect, now_ns);
    }

    /// A connection was established, and never became of use: its request has failed.
    pub(super) fn fail_opening(&mut self, connection: &mut LoadConnection, kind: FailureKind) {
        self.opened(connection.number());
        self.tally.refuse(self.now_ns.saturating_sub(connection.since_ns()));
        self.fail_unsent(connection.number(), kind, self.now_ns);
        connection.give_up();
    }

    /// The request for which a connection was opened has failed.
    pub(super) fn fail_unsent(&mut self, number: u32, kind: FailureKind, now_ns: u64) {
        let peer = self.share.way(number).peer;
        match &mut self.pacer {
            // A closed loop sends as soon as it can: a request it could not send counts as asked.
            None => self.tally.ask(),
            Some(pacer) => {
                if pacer.take(peer).is_none() {
                    return;
                }
            }
        }
        self.tally.fail(kind, now_ns);
    }

    /// There is no connection left and none will come: the due requests have failed.
    pub(super) fn fail_due(&mut self, now_ns: u64) {
        let Some(pacer) = &mut self.pacer else { return };
        for peer in 0..pacer.peers() {
            while pacer.take(peer).is_some() {
                self.tally.fail(FailureKind::Connect, now_ns);
            }
        }
    }

    pub(super) fn opened(&mut self, number: u32) {
        let peer = self.share.way(number).peer;
        if let Some(count) = self.opening.get_mut(peer) {
            *count = count.saturating_sub(1);
        }
    }

    /// The fate of the slot of a connection that has ended.
    pub(super) fn replace(&mut self, number: u32, outlook: Outlook) {
        let is_given_up = outlook != Outlook::Unopened || self.stage != Stage::Opening;
        if self.work.plan.upkeep == Upkeep::Hold && is_given_up {
            return;
        }
        let peer = self.share.way(number).peer;
        match (&mut self.pacer, self.work.plan.lifetime, outlook) {
            (Some(pacer), Lifetime::Requests(_), _) => pacer.list_closed(peer, number),
            (_, _, Outlook::Good) => self.reconnects.push(number),
            (_, _, Outlook::Bad | Outlook::Unopened) => {
                let again_ns = self.now_ns.saturating_add(RECONNECT_PAUSE_NS);
                self.tally.spent.unopened_ns += RECONNECT_PAUSE_NS;
                self.retries.push_back((again_ns, number));
            }
        }
    }
}

/// Whether the next connection in the slot of an ended one can be expected to be better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outlook {
    /// The previous one was useful.
    Good,
    /// Nothing was answered on the previous one: wait before the next.
    Bad,
    /// The previous one was never established: wait before the next.
    Unopened,
}
