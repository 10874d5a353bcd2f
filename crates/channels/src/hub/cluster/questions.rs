//! Questions to other nodes, and theirs to this one.
//!
//! Owns which are under way and how many there may be. `surveys` counts what this node has, `nodes` takes members.

use std::collections::VecDeque;
use std::sync::Arc;

use ahash::HashMap;
use runtime::service::ServiceContext;

use super::super::Channels;
use crate::cluster::{ClusterAnswer, ClusterOrder, ClusterQuestion, QueryOrigin};
use crate::letter::{Asker, Item};
use crate::limits::{PRESENT_BYTES, PRESENT_QUESTIONS, QUESTIONS};
use crate::node::{ClusterNode, Remainder};
use crate::question::{Findings, SubscriberQuery};

/// The purpose of a question.
#[derive(Debug)]
enum Purpose {
    Survey(Asker, u64),
    Members,
}

/// A question about members that waits.
#[derive(Debug)]
struct Wanted {
    name: Arc<str>,
    to: Option<ClusterNode>,
    after: Option<Arc<str>>,
}

/// The questions of this scheduler, and those of other nodes.
#[derive(Debug, Default)]
pub(super) struct Questions {
    under_way: HashMap<u64, Purpose>,
    /// How many of them are about members.
    about_members: usize,
    wanted: VecDeque<Wanted>,
    /// Where the answers to surveys of other nodes go.
    origins: HashMap<u64, QueryOrigin>,
}

impl Questions {
    pub(super) fn want_members(
        &mut self,
        name: Arc<str>,
        to: Option<ClusterNode>,
        after: Option<Arc<str>>,
    ) {
        self.wanted.push_back(Wanted { name, to, after });
    }
}

impl Channels {
    /// Asks about the members that are wanted, as many questions as may be under way.
    pub(super) fn ask_for_members(&mut self) {
        while let Some(Wanted { name, to, after }) = self.next_wanted() {
            let query = self.ticket();
            let Some(cluster) = &mut self.cluster else { return };
            cluster.questions.about_members += 1;
            cluster.questions.under_way.insert(query, Purpose::Members);
            let question = ClusterQuestion::Present { name, after };
            cluster.order(ClusterOrder::Ask { query, to, question });
        }
    }

    /// The next question about members of a channel that is known here, if there may be another one.
    fn next_wanted(&mut self) -> Option<Wanted> {
        let questions = &mut self.cluster.as_mut()?.questions;
        if questions.about_members >= PRESENT_QUESTIONS {
            return None;
        }
        while let Some(wanted) = questions.wanted.pop_front() {
            if self.by_name.contains_key(&wanted.name) {
                return Some(wanted);
            }
        }
        let (node, name) = self.next_arrival()?;
        Some(Wanted { name, to: node, after: None })
    }

    /// Asks the other nodes as well. `false`: there is no cluster.
    pub(in crate::hub) fn ask_nodes(
        &mut self,
        asker: Asker,
        number: u64,
        question: &SubscriberQuery,
    ) -> bool {
        if self.cluster.is_none() {
            return false;
        }
        let query = self.ticket();
        if let Some(cluster) = &mut self.cluster {
            cluster.questions.under_way.insert(query, Purpose::Survey(asker, number));
            let question = ClusterQuestion::Subscribers(question.clone());
            cluster.order(ClusterOrder::Ask { query, to: None, question });
        }
        true
    }

    /// A node answers.
    pub(super) fn on_answered(&mut self, query: u64, node: ClusterNode, answer: ClusterAnswer) {
        let Some(cluster) = &self.cluster else { return };
        match (cluster.questions.under_way.get(&query), answer) {
            (Some(Purpose::Survey(asker, number)), ClusterAnswer::Found(findings)) => {
                self.surveys.add(*asker, *number, findings);
            }
            (Some(Purpose::Members), answer) => self.on_present(node, answer),
            _ => {}
        }
    }

    /// No more nodes answer.
    pub(super) fn on_query_over<M>(&mut self, query: u64, context: &mut ServiceContext<'_, M>) {
        let Some(cluster) = &mut self.cluster else { return };
        match cluster.questions.under_way.remove(&query) {
            Some(Purpose::Survey(asker, number)) => {
                self.on_told(asker, number, Findings::default(), context);
            }
            Some(Purpose::Members) => cluster.questions.about_members -= 1,
            None => {}
        }
    }

    /// Another node asks.
    pub(in crate::hub) fn on_asked(&mut self, from: QueryOrigin, question: ClusterQuestion) {
        match question {
            ClusterQuestion::Present { name, after } => {
                let home = self.home(&name);
                if home == self.here {
                    return self.tell_present(from, name, after);
                }
                let question = ClusterQuestion::Present { name, after };
                self.outgoing[usize::from(home.0)].push(Item::Asked { from, question });
            }
            ClusterQuestion::Subscribers(question) => {
                let number = self.ticket();
                let Some(cluster) = &mut self.cluster else { return };
                if cluster.questions.origins.len() >= QUESTIONS {
                    return;
                }
                cluster.questions.origins.insert(number, from);
                let asker = Asker::Node(number);
                if let Some(findings) = self.begin_survey(asker, number, 0, &question) {
                    self.answer_node(number, findings);
                }
            }
        }
    }

    /// All schedulers have answered a question of another node.
    pub(in crate::hub) fn answer_node(&mut self, number: u64, findings: Findings) {
        if let Some(cluster) = &mut self.cluster
            && let Some(to) = cluster.questions.origins.remove(&number)
        {
            let answer = ClusterAnswer::Found(findings);
            cluster.order(ClusterOrder::Answer { to, answer });
        }
    }

    /// Another node learns the members here of a channel whose home this is.
    fn tell_present(&mut self, to: QueryOrigin, name: Arc<str>, after: Option<Arc<str>>) {
        let place = self.by_name.get(&name).copied();
        let channel = place.and_then(|place| self.channels[place as usize].as_ref());
        let none = (Vec::new(), Remainder::None);
        let here = channel.map(|of| of.everywhere.here_after(after.as_deref(), PRESENT_BYTES));
        let (members, rest) = here.unwrap_or(none);
        if let Some(cluster) = &mut self.cluster {
            let answer = ClusterAnswer::Present { name, after, members, rest };
            cluster.order(ClusterOrder::Answer { to, answer });
        }
    }
}
