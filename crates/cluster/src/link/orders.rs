//! The orders of the channels of a scheduler to a link.
//!
//! Owns which operation an order becomes, connected or not. Never hears an answer.

use std::sync::Arc;

use channels::{
    ChannelRefusal, ClusterNews, ClusterNode, ClusterOrder, ClusterQuestion, Keeping, Member,
    MemberStep,
};

use super::{LinkEvent, NatsLink};
use crate::commits::CommitOrigin;
use crate::confirmations::Awaited;
use crate::following;
use crate::leases::LeaseHolder;
use crate::limits::STORE_MESSAGE_BYTES;
use crate::mail::StoreMail;
use crate::plan::StreamPlan;
use crate::reads::{ReadResult, Wish};
use crate::speech::{Request, Said};
use crate::{body, questions};

impl NatsLink {
    /// Takes an order.
    pub fn order(&mut self, order: ClusterOrder, now_ms: u64) {
        match order {
            ClusterOrder::Announce { name, body } => {
                let mut payload = Vec::with_capacity(body.bytes().len() + 1);
                body::put_message(&body, &mut payload);
                if self.is_up() && payload.len() > self.info.max_payload {
                    let most = self.info.max_payload;
                    self.complain(format!(
                        "NATS takes messages of {most} bytes, and one of the channel {name} is longer: it reaches \
                         only the subscribers of this server. Raise its `max_payload`, or lower `message_size`"
                    ));
                }
                let said = self.tell(&self.subjects.announced(&name), &payload);
                self.stats.announced += u64::from(said == Said::Yes);
            }
            ClusterOrder::Commit { name, offer, commit } => {
                let until_ms = now_ms + self.plan.publish_wait_ms;
                let of = (commit, self.subjects.shard(&name));
                if !self.commits.add(of, name, offer, until_ms) {
                    let result = Err(ChannelRefusal::Busy);
                    self.news.push(ClusterNews::CommitResult { commit, result });
                }
            }
            ClusterOrder::Follow { name, keeping } => {
                let speech = is_followed_now(self).then_some(&mut self.speech);
                self.following.follow(Arc::clone(&name), keeping, speech, &self.subjects);
                if keeping == Keeping::Nothing && self.is_up() {
                    self.confirmations.expect(Awaited::Channel(name), self.speech.next_ping());
                }
            }
            ClusterOrder::Unfollow { name, keeping } => {
                if self.following.keeping(&name) == Some(keeping) {
                    let speech = is_followed_now(self).then_some(&mut self.speech);
                    self.following.unfollow(&name, speech);
                    self.confirmations.forget(&Awaited::Channel(name));
                }
            }
            ClusterOrder::FollowAll => {
                let speech = is_followed_now(self).then_some(&mut self.speech);
                self.following.follow_all(speech, &self.subjects);
                if self.is_up() {
                    self.confirmations.expect(Awaited::All, self.speech.next_ping());
                }
            }
            ClusterOrder::UnfollowAll => {
                let speech = is_followed_now(self).then_some(&mut self.speech);
                self.following.unfollow_all(speech);
                self.confirmations.forget(&Awaited::All);
            }
            ClusterOrder::Read { name, read, after, at_most } => {
                if self.is_up() {
                    let is_known = self.following.is_interrupted(&name);
                    let mark = self.streams.at_loss(self.subjects.shard(&name));
                    let known_until = mark.filter(|_| is_known);
                    self.reads.add(Wish { name, read, after, at_most, known_until });
                } else {
                    self.report_reads([ReadResult::Failed { name, read }]);
                }
            }
            ClusterOrder::Member { name, member, step } => self.tell_member(&name, &member, step),
            ClusterOrder::Ask { query, to, question } => self.ask(query, to, &question, now_ms),
            ClusterOrder::Answer { to, answer } => {
                let payload = questions::answer(self.plan.node, &answer);
                let _said = self.tell(&to.0, &payload);
            }
        }
    }

    /// Takes mail of the node's store that belongs together. While it is not connected, the mail is lost.
    pub fn post(&mut self, mail: Vec<StoreMail>) {
        if self.is_up() {
            self.mail.add(mail, &mut self.stats);
        } else {
            self.stats.mail_dropped += mail.len() as u64;
        }
    }

    /// This link carries the mail of the node's store, which has this number. Before the first connection.
    pub fn carry_mail(&mut self, store: u64) {
        self.following.follow_mail(store);
    }

    /// From now on this link wants these leases, and no others.
    pub fn want_leases(&mut self, names: &[String], now_ms: u64) {
        self.leases.want(names, &mut self.speech, &self.subjects, now_ms);
    }

    /// Channels need streams that keep at least what this plan wants.
    pub fn keep(&mut self, wanted: &StreamPlan) {
        self.streams.keep(wanted);
        self.nodes.keep(self.streams.plan());
    }

    /// Which of all nodes may do what the name stands for, now.
    pub fn lease_holder(&self, name: &str, now_ms: u64) -> LeaseHolder {
        self.leases.holder(name, now_ms)
    }

    pub(super) fn send_mail(&mut self) {
        let max = self.info.max_payload;
        if !self.mail.send(&mut self.speech, &self.subjects, max, &mut self.stats) {
            return;
        }
        self.complain(format!(
            "NATS takes messages of {max} bytes, and stores with a `role` send those of {STORE_MESSAGE_BYTES}: raise \
             its `max_payload`"
        ));
    }

    /// Tells an operator of a problem, once while it stays the same.
    pub(super) fn complain(&mut self, problem: String) {
        if self.problem.as_ref() != Some(&problem) {
            self.events.push(LinkEvent::Problem(problem.clone()));
            self.problem = Some(problem);
        }
    }

    /// Publishes what nobody answers, and counts what could not be.
    pub(super) fn tell(&mut self, subject: &str, payload: &[u8]) -> Said {
        let is_too_long = payload.len() > self.info.max_payload;
        let said = if self.is_up() && !is_too_long {
            self.speech.publish(subject, payload)
        } else {
            Said::NoRoom
        };
        self.stats.dropped += u64::from(said == Said::NoRoom);
        said
    }

    /// All orders of a turn were given: sends what may be sent.
    pub fn end_orders(&mut self, now_ms: u64) {
        self.go_on(now_ms);
    }

    /// Members are told where the messages of their channel are, so that they need no subscription of their own.
    fn tell_member(&mut self, name: &str, member: &Member, step: MemberStep) {
        let mut payload = Vec::new();
        body::put_member(self.plan.node, member, step, &mut payload);
        let both = [Keeping::History, Keeping::Nothing];
        let known = self.following.keeping(name);
        for keeping in both.into_iter().filter(|one| known.is_none_or(|known| known == *one)) {
            let _said = self.tell(&following::subject(&self.subjects, name, keeping), &payload);
        }
    }

    fn ask(
        &mut self,
        query: u64,
        to: Option<ClusterNode>,
        question: &ClusterQuestion,
        now_ms: u64,
    ) {
        let asked: Vec<ClusterNode> =
            self.nodes.nodes().filter(|node| to.is_none_or(|to| to == *node)).collect();
        let payload = questions::question(self.plan.node, question);
        let is_too_long = payload.len() > self.info.max_payload;
        if !self.is_up() || is_too_long || asked.is_empty() || !self.questions.have_room() {
            self.news.push(ClusterNews::QueryOver { query });
            return;
        }
        let subject = match to {
            Some(node) => self.subjects.questions_to(node.0),
            None => self.subjects.questions(),
        };
        let request = self.speech.request(&subject, b"", &payload, Request::Question(query));
        self.questions.add(query, request, asked, now_ms);
    }

    /// Sends the commits that may be sent, and refuses those that the server would not take.
    pub(super) fn send_commits(&mut self, now_ms: u64) {
        let origin = CommitOrigin { node: self.plan.node, link: self.seat.number };
        let with = (&mut self.speech, self.info.max_payload);
        let is_known = |shard| self.streams.is_known(shard);
        for commit in self.commits.send(with, &self.subjects, origin, is_known, now_ms) {
            let result = Err(ChannelRefusal::TooLarge);
            self.news.push(ClusterNews::CommitResult { commit, result });
        }
    }

    /// Answers the commits that have waited too long.
    pub(super) fn refuse_late(&mut self, now_ms: u64) {
        for commit in self.commits.take_late(&mut self.speech, now_ms) {
            self.stats.unconfirmed += 1;
            let result = Err(ChannelRefusal::Unconfirmed);
            self.news.push(ClusterNews::CommitResult { commit, result });
        }
    }
}

/// Whether subscriptions go to the server at once; before the handshake they are made with all others.
fn is_followed_now(link: &NatsLink) -> bool {
    link.has_subscribed()
}
