//! Queries that all schedulers answer: which channels have subscribers, how many, and whether a
//! user has been disconnected.
//!
//! Owns the pending queries, of processes here and of other nodes. Each scheduler reports its own subscribers, and the
//! numbers are added up. In a cluster the other nodes are asked as well (`hub/cluster`).

use std::sync::Arc;

use ahash::HashMap;
use runtime::mailbox::Endpoint;
use runtime::service::{SchedulerCommand, ServiceContext};
use runtime::slots::ProcessId;

use super::Channels;
use crate::letter::{Asker, Item};
use crate::member::Members;
use crate::question::{Findings, SubscriberQuery};

/// The running queries.
#[derive(Debug, Default)]
pub(super) struct Surveys {
    under_way: HashMap<Asker, Survey>,
}

impl Surveys {
    /// Whether somebody still waits for the answers to this query.
    pub(super) fn has(&self, asker: Asker, number: u64) -> bool {
        self.under_way.get(&asker).is_some_and(|survey| survey.number == number)
    }

    /// A node answers this query.
    pub(super) fn add(&mut self, asker: Asker, number: u64, findings: Findings) {
        let survey = self.under_way.get_mut(&asker).filter(|survey| survey.number == number);
        if let Some(survey) = survey {
            survey.add(findings);
        }
    }
}

#[derive(Debug)]
struct Survey {
    number: u64,
    /// Schedulers that have not answered, and the cluster.
    left: usize,
    found: HashMap<Arc<str>, u64>,
    members: Members,
}

impl Survey {
    fn add(&mut self, findings: Findings) {
        for (name, subscribers) in findings.counts {
            *self.found.entry(name).or_default() += subscribers;
        }
        // The channel's home knows them; in a cluster, on each node that follows the channel.
        if findings.members.total > self.members.total {
            self.members = findings.members;
        }
    }

    fn into_findings(self) -> Findings {
        Findings { counts: self.found.into_iter().collect(), members: self.members }
    }
}

impl Channels {
    /// Queries all schedulers for a process. `None`: it has to wait; it is run when all have answered, and asks again.
    pub fn survey(&mut self, process: ProcessId, question: &SubscriberQuery) -> Option<Findings> {
        let asker = Asker::Process(process);
        if let Some(survey) = self.surveys.under_way.get(&asker) {
            if survey.left > 0 {
                return None;
            }
            return self.surveys.under_way.remove(&asker).map(Survey::into_findings);
        }
        let number = self.ticket();
        let nodes = usize::from(self.ask_nodes(asker, number, question));
        self.begin_survey(asker, number, nodes, question)
    }

    /// Asks all schedulers. `None`: they have to answer first, and so many others.
    pub(super) fn begin_survey(
        &mut self,
        asker: Asker,
        number: u64,
        others: usize,
        question: &SubscriberQuery,
    ) -> Option<Findings> {
        let mut left = self.outgoing.len() - 1 + others;
        let own = match question {
            SubscriberQuery::Channels(glob) => {
                self.begin_search(self.here, asker, number, glob);
                left += 1;
                Findings::default()
            }
            question => self.answer(question),
        };
        if left == 0 {
            return Some(own);
        }
        let question = Arc::new(question.clone());
        for (other, outgoing) in self.outgoing.iter_mut().enumerate() {
            if other != usize::from(self.here.0) {
                outgoing.push(Item::Ask { asker, number, question: Arc::clone(&question) });
            }
        }
        let (found, members) = (HashMap::default(), Members::default());
        let mut survey = Survey { number, left, found, members };
        survey.add(own);
        self.surveys.under_way.insert(asker, survey);
        None
    }

    /// Finds what this scheduler has, or executes the order in the query.
    fn answer(&mut self, question: &SubscriberQuery) -> Findings {
        let counts = match question {
            SubscriberQuery::Members(of) => return self.find_members(of.name(), of.most()),
            // A search answers it.
            SubscriberQuery::Channels(_) => Vec::new(),
            SubscriberQuery::Subscribers(names) => {
                let count = |name: &Arc<str>| {
                    let place = self.by_name.get(name)?;
                    Some(self.channels[*place as usize].as_ref()?.subscribers() as u64)
                };
                names.iter().map(|name| (Arc::clone(name), count(name).unwrap_or(0))).collect()
            }
            SubscriberQuery::Dismiss(user, channel) => {
                self.dismiss(user, channel.as_ref());
                Vec::new()
            }
            SubscriberQuery::Patterns => self.patterns.names().map(|name| (name, 1)).collect(),
        };
        Findings { counts, members: Members::default() }
    }

    /// The members of a channel whose home this is, and in any case the number of subscribers here.
    fn find_members(&self, name: &Arc<str>, most: usize) -> Findings {
        let place = self.by_name.get(name).copied();
        let channel = place.and_then(|place| self.channels[place as usize].as_ref());
        let Some(channel) = channel else { return Findings::default() };
        let counts = vec![(Arc::clone(name), channel.subscribers() as u64)];
        Findings { counts, members: channel.everywhere.some(most) }
    }

    pub(super) fn on_ask(
        &mut self,
        from: Endpoint,
        asker: Asker,
        number: u64,
        question: &SubscriberQuery,
    ) {
        if let SubscriberQuery::Channels(glob) = question {
            return self.begin_search(from, asker, number, glob);
        }
        let findings = self.answer(question);
        self.outgoing[usize::from(from.0)].push(Item::Told { asker, number, findings });
    }

    pub(super) fn on_told<M>(
        &mut self,
        asker: Asker,
        number: u64,
        findings: Findings,
        context: &mut ServiceContext<'_, M>,
    ) {
        let survey = self.surveys.under_way.get_mut(&asker);
        // A query whose process has ended was removed.
        let Some(survey) = survey.filter(|survey| survey.number == number) else { return };
        survey.add(findings);
        survey.left -= 1;
        if survey.left > 0 {
            return;
        }
        match asker {
            // A socket is not parked while it waits.
            Asker::Process(process) => context.command(SchedulerCommand::Run(process)),
            Asker::Node(number) => {
                let survey = self.surveys.under_way.remove(&asker);
                if let Some(survey) = survey {
                    self.answer_node(number, survey.into_findings());
                }
            }
        }
    }

    pub(super) fn forget_survey(&mut self, process: ProcessId) {
        self.surveys.under_way.remove(&Asker::Process(process));
    }
}
