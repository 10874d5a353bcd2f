//! The node of a store: its role, and when that ends.
//!
//! Owns the terms: whoever hears of a later one leads no more. `leading` has what a leader does, `following` what a
//! replica does.

use super::comers::OrdersCome;
use super::events::{
    DoneOrders, PromoteRefused, Promoted, ReplicationEvent, ReplicationStatus, ReplicatorOptions,
    StoreRole,
};
use super::following::Following;
use super::hand_over::HandOverState;
use super::leading::{self, Leading};
use super::post::{Post, ReplicationMoment, ReplicationNews, ReplicationOrder};
use crate::failure::StoreFailure;
use crate::order::Order;
use crate::replication::{
    Assembly, LeaderTerm, ReplicationPeer, StorePosition, Talk, TalkHead, TalkUnread,
};
use crate::writer::Writer;

#[derive(Debug)]
enum Part {
    Leader(Leading),
    Replica(Box<Following>),
}

/// The node of a store.
#[derive(Debug)]
pub struct Replicator {
    post: Post,
    part: Part,
    come: OrdersCome,
    assembly: Assembly,
    names: Vec<String>,
    wait_ms: u64,
    done: Vec<DoneOrders>,
    /// The end of the last attempt to lead, until it is taken.
    promoted: Option<Result<Promoted, PromoteRefused>>,
    events: Vec<ReplicationEvent>,
    /// A node with another history that was reported.
    stranger: Option<ReplicationPeer>,
    /// The version of another encoding that was reported.
    other_version: Option<u8>,
}

impl Replicator {
    /// The node of a store, whose writer joins its history.
    ///
    /// # Errors
    /// If the store has records of its own and no history, and is to be a replica; or if it fails.
    pub fn new(writer: &mut Writer, options: ReplicatorOptions) -> Result<Self, StoreFailure> {
        writer.join()?;
        let standing = writer.standing()?.clone();
        let mut position = writer.position()?;
        let is_new = position.is_none() && standing.heard == LeaderTerm::default();
        if is_new && options.role == StoreRole::Leader {
            writer.found(options.origin, options.me.0)?;
            position = writer.position()?;
        } else if is_new && !writer.is_empty()? {
            return Err(StoreFailure::Storage(
                "it has records of its own, and a replica has those of its leader: give it an empty directory"
                    .to_owned(),
            ));
        }
        let mut post = Post::new(options.me, writer.standing()?.heard);
        post.join(position);
        let part = if writer.standing()?.leads {
            // Nobody leads in place of one that begins a history.
            Part::Leader(if is_new { Leading::default() } else { Leading::again() })
        } else {
            Part::Replica(Box::new(Following::new(position)))
        };
        Ok(Self {
            post,
            part,
            come: OrdersCome::default(),
            assembly: Assembly::default(),
            names: writer.names().to_vec(),
            wait_ms: options.wait_ms,
            done: Vec::new(),
            promoted: None,
            events: Vec::new(),
            stranger: None,
            other_version: None,
        })
    }

    /// The role of the store now.
    pub fn role(&self) -> StoreRole {
        match self.part {
            Part::Leader(_) => StoreRole::Leader,
            Part::Replica(_) => StoreRole::Replica,
        }
    }

    /// Takes orders of clients. [`take_done`](Self::take_done) gives their results, those of one number together.
    pub fn order(&mut self, number: u64, orders: Vec<Order>, now: ReplicationMoment) {
        match &mut self.part {
            Part::Leader(leading) => leading.order(number, orders),
            Part::Replica(following) => following.order(number, orders, now.ms + self.wait_ms),
        }
    }

    /// Takes news of the transport.
    ///
    /// # Errors
    /// If the store fails.
    pub fn hear(
        &mut self,
        writer: &mut Writer,
        news: ReplicationNews,
        now: ReplicationMoment,
    ) -> Result<(), StoreFailure> {
        match news {
            ReplicationNews::Heard(part) => {
                let whole = self.assembly.take(&part);
                match whole.map(|whole| Talk::decode(&whole)) {
                    Some(Ok((head, talk))) => self.on_talk(writer, head, talk, now)?,
                    Some(Err(TalkUnread::OtherVersion(version))) => self.tell_version(version),
                    // A damaged message is missing, and is asked for.
                    Some(Err(TalkUnread::Damaged)) | None => {}
                }
            }
            ReplicationNews::Away => {
                if let Part::Replica(following) = &mut self.part {
                    following.lose_leader();
                }
            }
            ReplicationNews::Back => match &mut self.part {
                Part::Leader(leading) => leading.come_back(now.ms),
                Part::Replica(following) => following.ask_soon(),
            },
        }
        Ok(())
    }

    /// Says once that a node of another version is there. Nothing is done for it.
    fn tell_version(&mut self, version: u8) {
        if self.other_version.replace(version) != Some(version) {
            self.events.push(ReplicationEvent::OtherVersion(version));
        }
    }

    fn on_talk(
        &mut self,
        writer: &mut Writer,
        head: TalkHead,
        talk: Talk,
        now: ReplicationMoment,
    ) -> Result<(), StoreFailure> {
        let own = self.post.head();
        if head.from == own.from || head.to.is_some_and(|to| to != own.from) {
            return Ok(());
        }
        if head.origin != own.origin && head.origin != 0 && own.origin != 0 {
            if self.stranger.replace(head.from) != Some(head.from) {
                self.events.push(ReplicationEvent::OtherHistory(head.from));
            }
            return Ok(());
        }
        // Whatever the term: what was not begun is not begun later.
        if let (Part::Replica(following), Talk::Done { order, bytes, .. }) = (&mut self.part, &talk)
        {
            following.hear_refusal((head.from, *order), bytes);
        }
        if head.heard > own.heard {
            self.on_later_term(writer, head.heard, now)?;
        } else if head.heard < own.heard && talk != Talk::Hello {
            self.post.tell(head.from, &Talk::Hello);
        }
        let is_of_now = head.heard == self.post.head().heard;
        match &mut self.part {
            Part::Leader(leading) => {
                let of_orders = (&*self.names, &mut self.come);
                leading.on_talk(writer, &mut self.post, (head.from, talk), of_orders, now)
            }
            Part::Replica(_) if let Talk::Orders { order, .. } = talk => {
                if self.come.is_new(head.from, order) {
                    leading::refuse(&mut self.post, head.from, order);
                }
                Ok(())
            }
            Part::Replica(following) if is_of_now => {
                following.on_talk(writer, &mut self.post, (head, talk), &mut self.events, now);
                Ok(())
            }
            Part::Replica(_) => Ok(()),
        }
    }

    fn on_later_term(
        &mut self,
        writer: &mut Writer,
        term: LeaderTerm,
        now: ReplicationMoment,
    ) -> Result<(), StoreFailure> {
        writer.hear(term)?;
        self.post.hear(term);
        match &mut self.part {
            Part::Leader(leading) => {
                let own = leading.end(&mut self.post);
                self.events.push(match leading.hands_over() {
                    true => ReplicationEvent::HandedOver(term),
                    false => ReplicationEvent::Fenced(term),
                });
                let mut following = Following::new(writer.position()?);
                for (number, orders) in own {
                    following.order(number, orders, now.ms + self.wait_ms);
                }
                self.part = Part::Replica(Box::new(following));
            }
            Part::Replica(following) => {
                if following.look_at_hand_over(now.ms).is_some() {
                    self.promoted = Some(Err(PromoteRefused::OtherTerm(term)));
                }
                following.end_term(now.ms);
            }
        }
        Ok(())
    }

    /// Does what is due: executes orders, applies records, asks again. Returns the milliseconds until something else is
    /// due.
    ///
    /// # Errors
    /// If the store fails.
    pub fn turn(
        &mut self,
        writer: &mut Writer,
        now: ReplicationMoment,
    ) -> Result<u64, StoreFailure> {
        match &mut self.part {
            Part::Leader(leading) => leading.turn(writer, &mut self.post, &mut self.done, now),
            Part::Replica(following) => {
                let of_orders = (&*self.names, &mut self.done);
                let rest_ms =
                    following.turn(writer, &mut self.post, of_orders, &mut self.events, now)?;
                let Some(state) = following.look_at_hand_over(now.ms) else { return Ok(rest_ms) };
                self.promoted = Some(match state {
                    HandOverState::Waiting(until_ms) => return Ok(rest_ms.min(until_ms)),
                    HandOverState::Complete(number) => self.lead(writer, now, Some(number)),
                    HandOverState::Incomplete(number) => Err(PromoteRefused::Incomplete(number)),
                    HandOverState::Unanswered => Err(PromoteRefused::Unanswered),
                    HandOverState::Silent => self.lead(writer, now, None),
                });
                Ok(0)
            }
        }
    }

    /// Begins to make this store the leader: one that it hears is asked to stop first.
    /// [`take_promoted`](Self::take_promoted) gives the end of it.
    pub fn promote(&mut self, writer: &mut Writer, now: ReplicationMoment) {
        let promoted = match &mut self.part {
            Part::Leader(_) => Err(PromoteRefused::Leads),
            Part::Replica(following) if following.position().is_none() => {
                Err(PromoteRefused::HasNothing)
            }
            Part::Replica(following) => match following.leader() {
                Some(leader) => {
                    following.begin_hand_over(leader, &mut self.post, now.ms);
                    return;
                }
                None => self.lead(writer, now, None),
            },
        };
        self.promoted = Some(promoted);
    }

    /// Makes this store the leader.
    fn lead(
        &mut self,
        writer: &mut Writer,
        now: ReplicationMoment,
        handed_over: Option<u64>,
    ) -> Result<Promoted, PromoteRefused> {
        let Part::Replica(following) = &mut self.part else { return Err(PromoteRefused::Leads) };
        following.settle(writer, &mut self.events).map_err(PromoteRefused::Store)?;
        let term = writer.promote(self.post.head().from.0, now.unix_ms);
        let term = term.map_err(PromoteRefused::Store)?;
        writer.clock().reset();
        self.post.hear(term);
        let mut leading = Leading::default();
        for (number, orders) in following.give_up(&mut self.done) {
            leading.order(number, orders);
        }
        self.part = Part::Leader(leading);
        Ok(Promoted { term, handed_over })
    }

    /// Takes the end of an attempt to lead.
    pub fn take_promoted(&mut self) -> Option<Result<Promoted, PromoteRefused>> {
        self.promoted.take()
    }

    /// Takes what the transport has to carry.
    pub fn take_orders(&mut self) -> Vec<ReplicationOrder> {
        self.post.take()
    }

    /// Takes the results of orders.
    pub fn take_done(&mut self) -> Vec<DoneOrders> {
        std::mem::take(&mut self.done)
    }

    /// Takes what a person should know.
    pub fn take_events(&mut self) -> Vec<ReplicationEvent> {
        std::mem::take(&mut self.events)
    }

    /// The report of the node on itself.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn status(&self, writer: &mut Writer) -> Result<ReplicationStatus, StoreFailure> {
        let number = writer.position()?.map_or(0, |StorePosition { number, .. }| number);
        let (leader_number, hears_leader) = match &self.part {
            Part::Leader(_) => (number, true),
            Part::Replica(following) => (following.leader_number(), following.leader().is_some()),
        };
        let (role, term) = (self.role(), self.post.head().heard);
        Ok(ReplicationStatus { role, term, number, leader_number, hears_leader })
    }
}
