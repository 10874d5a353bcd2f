//! The work of a replica: it applies the records of its leader in order, and asks for those that it has missed.
//!
//! Owns what it knows of its leader. Never writes anything that no leader has sent.

use std::sync::Arc;

use super::events::{DoneOrders, ReplicationEvent};
use super::forwards::Forwards;
use super::hand_over::{HandOver, HandOverState};
use super::post::{Post, ReplicationMoment};
use super::taking::Taking;
use crate::failure::StoreFailure;
use crate::limits::{APPLIED_SIZE, ASK_AGAIN_MS, BEHIND_MS, LEADER_AWAY_MS, REFUSED_MS};
use crate::order::Order;
use crate::replication::{
    ClockWatch, CommitRecord, ReplicationPeer, StorePosition, Talk, TalkHead, Unfollowed,
    decode_results, move_result,
};
use crate::writer::{NotApplied, Writer};

/// The leader, as it was last heard.
#[derive(Clone, Copy, Debug)]
struct KnownLeader {
    peer: ReplicationPeer,
    heard_ms: u64,
    position: StorePosition,
}

#[derive(Debug, Default)]
pub(super) struct Following {
    forwards: Forwards,
    leader: Option<KnownLeader>,
    /// Where the store is.
    position: Option<StorePosition>,
    /// Records that follow it.
    pending: Vec<Arc<[u8]>>,
    /// After those records.
    ahead: Option<StorePosition>,
    /// Whether records are missing.
    lacks: bool,
    /// The question that is not answered.
    ask: Option<u64>,
    /// When the last question was asked.
    asked_ms: u64,
    /// Whether the last thing that the leader sent could not be applied.
    is_refused: bool,
    taking: Option<Taking>,
    /// Since when the store is not where its leader is.
    behind_since: Option<u64>,
    is_behind_told: bool,
    clock: ClockWatch,
    /// The question to the leader to stop.
    hand_over: Option<HandOver>,
}

impl Following {
    pub(super) fn new(position: Option<StorePosition>) -> Self {
        Self { position, ahead: position, ..Self::default() }
    }

    pub(super) fn position(&self) -> Option<StorePosition> {
        self.position
    }

    pub(super) fn leader(&self) -> Option<ReplicationPeer> {
        self.leader.map(|leader| leader.peer)
    }

    pub(super) fn leader_number(&self) -> u64 {
        self.leader.map_or(0, |leader| leader.position.number)
    }

    pub(super) fn lose_leader(&mut self) {
        self.leader = None;
        self.ask = None;
    }

    /// Another leader begins: what the last one has answered may never be in its history.
    pub(super) fn end_term(&mut self, now_ms: u64) {
        self.lose_leader();
        self.hand_over = None;
        // Pieces of two histories would make neither.
        self.taking = None;
        self.forwards.end_term(now_ms);
    }

    /// A node has answered an order, perhaps that it was not begun there.
    pub(super) fn hear_refusal(&mut self, of: (ReplicationPeer, u64), bytes: &[u8]) {
        if decode_results(bytes).is_ok_and(|results| results == [Err(StoreFailure::LeaderAway)]) {
            self.forwards.on_refused(of);
        }
    }

    /// Applies what is there, before the store leads.
    pub(super) fn settle(
        &mut self,
        writer: &mut Writer,
        events: &mut Vec<ReplicationEvent>,
    ) -> Result<(), StoreFailure> {
        self.taking = None;
        self.apply(writer, events)
    }

    /// The messages that were sent while the transport was away are missing.
    pub(super) fn ask_soon(&mut self) {
        (self.lacks, self.ask) = (true, None);
    }

    pub(super) fn on_talk(
        &mut self,
        writer: &mut Writer,
        post: &mut Post,
        heard: (TalkHead, Talk),
        events: &mut Vec<ReplicationEvent>,
        now: ReplicationMoment,
    ) {
        if let Err(failure) = self.take(writer, post, heard, events, now) {
            self.refuse(failure.into(), events);
        }
    }

    /// Something of the leader could not be applied, or kept: it is asked for again.
    fn refuse(&mut self, why: NotApplied, events: &mut Vec<ReplicationEvent>) {
        (self.lacks, self.is_refused) = (true, true);
        events.push(ReplicationEvent::NotApplied(why));
    }

    fn take(
        &mut self,
        writer: &mut Writer,
        post: &mut Post,
        (head, talk): (TalkHead, Talk),
        events: &mut Vec<ReplicationEvent>,
        now: ReplicationMoment,
    ) -> Result<(), StoreFailure> {
        match talk {
            Talk::Lead { position, time_ms } => {
                self.on_leader(head.from, position, now.ms);
                self.clock.note(writer.clock(), time_ms, now.unix_ms);
            }
            Talk::Records { answer, last, records } => {
                self.on_leader(head.from, last, now.ms);
                let asked = self.ask == Some(answer);
                if asked {
                    (self.ask, self.lacks) = (None, false);
                }
                for record in records {
                    self.on_record(writer, record)?;
                }
                let base = self.base().map_or(0, |position| position.number);
                self.lacks |= asked && base < last.number;
            }
            Talk::Take { ask, shared } if self.ask == Some(ask) => {
                self.ask = None;
                if let Some(leader) = self.leader() {
                    self.begin_snapshot(writer, post, (leader, shared), (events, now))?;
                }
            }
            Talk::Piece { load, cursor, piece } => {
                if let Some(taking) = &mut self.taking {
                    taking.on_piece(post, (load, &cursor), piece, now.ms)?;
                }
            }
            Talk::HandedOver { ask, position } => {
                self.on_leader(head.from, position, now.ms);
                if let Some(hand_over) = &mut self.hand_over {
                    hand_over.on_answer(head.from, ask, position);
                }
            }
            Talk::Done { order, at, bytes } => {
                if let Ok(mut results) = decode_results(&bytes) {
                    let ahead = writer.clock().ahead();
                    for executed in results.iter_mut().flatten() {
                        move_result(executed, -ahead);
                    }
                    self.forwards.on_done((head.from, order), at, results);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// After the last record that is there, in the store or on its way into it.
    fn base(&self) -> Option<StorePosition> {
        match &self.taking {
            Some(taking) => taking.follows(),
            None => self.ahead,
        }
    }

    fn on_leader(&mut self, peer: ReplicationPeer, position: StorePosition, heard_ms: u64) {
        let is_new = self.leader.is_none_or(|leader| leader.peer != peer);
        if is_new {
            (self.ask, self.is_refused) = (None, false);
            self.forwards.on_new_leader(peer);
            self.clock = ClockWatch::default();
            // Its snapshot has other cursors, and perhaps another end.
            self.taking.take_if(|taking| taking.leader() != peer);
        }
        self.leader = Some(KnownLeader { peer, heard_ms, position });
        let is_there = self
            .base()
            .is_some_and(|base| base.number == position.number && base.hash == position.hash);
        self.lacks |= is_new || (!is_there && self.taking.is_none());
    }

    fn on_record(&mut self, writer: &mut Writer, bytes: Arc<[u8]>) -> Result<(), StoreFailure> {
        let Ok(record) = CommitRecord::decode(&bytes) else {
            self.lacks = true;
            return Ok(());
        };
        let followed = match (&mut self.taking, self.ahead) {
            (Some(taking), _) => taking.add(&record, &bytes)?,
            (None, Some(ahead)) => record.after(&ahead).map(|next| {
                self.ahead = Some(next);
                self.pending.push(Arc::clone(&bytes));
            }),
            (None, None) => Err(Unfollowed::Behind),
        };
        match followed {
            Ok(()) | Err(Unfollowed::Fenced) => {}
            Err(Unfollowed::Known) => {
                let known = writer.hash_at(record.number);
                self.lacks |=
                    self.taking.is_none() && known.is_some_and(|hash| hash != record.hash);
            }
            Err(Unfollowed::Behind | Unfollowed::Broken) => self.lacks = true,
        }
        Ok(())
    }

    fn begin_snapshot(
        &mut self,
        writer: &mut Writer,
        post: &mut Post,
        (leader, shared): (ReplicationPeer, u64),
        (events, now): (&mut Vec<ReplicationEvent>, ReplicationMoment),
    ) -> Result<(), StoreFailure> {
        self.drop_pending();
        let number = self.position.map_or(0, |position| position.number);
        // Records that are set aside already are not set aside again for another attempt.
        if self.taking.is_none()
            && number > shared
            && let Some(aside) = writer.set_aside(shared)?
        {
            events.push(ReplicationEvent::SetAside(aside));
        }
        // The file of one that was begun is removed before the next one has its own.
        self.taking = None;
        self.taking = Some(Taking::begin(&writer.directory(), post, leader, now.ms)?);
        events.push(ReplicationEvent::SnapshotBegun(number));
        Ok(())
    }

    fn drop_pending(&mut self) {
        self.pending.clear();
        self.ahead = self.position;
    }

    /// Takes orders of clients, which may wait that long.
    pub(super) fn order(&mut self, number: u64, orders: Vec<Order>, until_ms: u64) {
        self.forwards.add(number, orders, until_ms);
    }

    /// This store leads: fails the orders that have no answer, and returns those that the last leader has not got.
    pub(super) fn give_up(&mut self, done: &mut Vec<DoneOrders>) -> Vec<(u64, Vec<Order>)> {
        self.forwards.give_up(done)
    }

    /// Asks the leader to stop. From now on it gets no orders.
    pub(super) fn begin_hand_over(
        &mut self,
        leader: ReplicationPeer,
        post: &mut Post,
        now_ms: u64,
    ) {
        self.hand_over.get_or_insert_with(|| HandOver::begin(leader, post, now_ms));
    }

    /// How far the hand-over is, and its end once.
    pub(super) fn look_at_hand_over(&mut self, now_ms: u64) -> Option<HandOverState> {
        let position = self.position.unwrap_or_default();
        let heard_ms = self.leader.map(|leader| leader.heard_ms);
        let state = self.hand_over.as_ref()?.state(&position, heard_ms, now_ms);
        self.hand_over.take_if(|_| !matches!(state, HandOverState::Waiting(_)));
        Some(state)
    }

    pub(super) fn turn(
        &mut self,
        writer: &mut Writer,
        post: &mut Post,
        (names, done): (&[String], &mut Vec<DoneOrders>),
        events: &mut Vec<ReplicationEvent>,
        now: ReplicationMoment,
    ) -> Result<u64, StoreFailure> {
        self.leader.take_if(|leader| now.ms >= leader.heard_ms + LEADER_AWAY_MS);
        self.apply(writer, events)?;
        self.finish_snapshot(writer, post, events)?;
        if let Some(taking) = &mut self.taking {
            taking.turn(post, now.ms);
            self.lacks |= taking.lacks_records();
        }
        self.ask(writer, post, now.ms)?;
        self.watch_lag(events, now.ms);
        let wait = self.forwards.until_ms().map_or(u64::MAX, |until| until.saturating_sub(now.ms));
        let leader = self.leader().filter(|_| self.hand_over.is_none());
        let position = self.position.unwrap_or_default();
        self.forwards.turn(writer, (post, leader), (names, done), (&position, now));
        Ok(wait.min(ASK_AGAIN_MS))
    }

    fn apply(
        &mut self,
        writer: &mut Writer,
        events: &mut Vec<ReplicationEvent>,
    ) -> Result<(), StoreFailure> {
        while !self.pending.is_empty() {
            let mut size = 0;
            let mut is_within = |record: &Arc<[u8]>| {
                let fits = size < APPLIED_SIZE;
                size += record.len();
                fits
            };
            let count = self.pending.iter().take_while(|record| is_within(record)).count();
            let records: Vec<_> = self.pending.drain(..count).collect();
            if let Err(failure) = writer.apply(&records) {
                self.position = writer.position()?;
                self.drop_pending();
                self.refuse(failure, events);
                return Ok(());
            }
            (self.position, self.is_refused) = (writer.position()?, false);
        }
        Ok(())
    }

    fn finish_snapshot(
        &mut self,
        writer: &mut Writer,
        post: &mut Post,
        events: &mut Vec<ReplicationEvent>,
    ) -> Result<(), StoreFailure> {
        let Some(taking) = &mut self.taking else { return Ok(()) };
        let Some((spool, end)) = taking.whole() else { return Ok(()) };
        let replaced = writer.replace(spool, &end);
        self.taking = None;
        self.position = writer.position()?;
        self.drop_pending();
        post.join(self.position);
        match replaced {
            Ok(()) => {
                (self.lacks, self.is_refused) = (true, false);
                events.push(ReplicationEvent::SnapshotTaken(end.position.number));
            }
            Err(failure) => self.refuse(failure, events),
        }
        Ok(())
    }

    fn ask(
        &mut self,
        writer: &mut Writer,
        post: &mut Post,
        now_ms: u64,
    ) -> Result<(), StoreFailure> {
        let pause_ms = match self.ask {
            _ if self.is_refused => REFUSED_MS,
            Some(_) => ASK_AGAIN_MS,
            None => 0,
        };
        let is_due = now_ms >= self.asked_ms + pause_ms;
        let Some(leader) = self.leader().filter(|_| self.lacks && is_due) else { return Ok(()) };
        if self.taking.as_ref().is_some_and(|taking| taking.follows().is_none()) {
            return Ok(());
        }
        let (ask, position) = (post.next_number(), self.base());
        (self.ask, self.asked_ms) = (Some(ask), now_ms);
        // In a snapshot that is not whole the terms are those of the leader.
        let starts =
            if self.taking.is_some() { Vec::new() } else { writer.standing()?.starts.clone() };
        post.tell(leader, &Talk::Ask { ask, position, starts });
        Ok(())
    }

    fn watch_lag(&mut self, events: &mut Vec<ReplicationEvent>, now_ms: u64) {
        let number = self.position.map_or(0, |position| position.number);
        let leader = self.leader.map(|leader| leader.position.number);
        if leader.is_some_and(|leader| number >= leader) && self.position.is_some() {
            (self.behind_since, self.is_behind_told) = (None, false);
            return;
        }
        let since = *self.behind_since.get_or_insert(now_ms);
        if !self.is_behind_told && now_ms >= since + BEHIND_MS {
            self.is_behind_told = true;
            events.push(ReplicationEvent::Behind(number, leader));
        }
    }
}
