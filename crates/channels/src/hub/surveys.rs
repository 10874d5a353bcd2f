//! Queries that all schedulers answer: which channels have subscribers, how many, and whether a
//! user has been disconnected.
//!
//! Owns the pending queries. Each scheduler reports its own subscribers, and the numbers are added
//! up.

use std::sync::Arc;

use ahash::HashMap;
use runtime::mailbox::Endpoint;
use runtime::service::{SchedulerCommand, ServiceContext};
use runtime::slots::ProcessId;

use super::Channels;
use crate::letter::Item;
use crate::member::Members;
use crate::question::{Findings, SubscriberQuery};

/// The running queries.
#[derive(Debug, Default)]
pub(super) struct Surveys {
    under_way: HashMap<ProcessId, Survey>,
}

impl Surveys {
    /// Whether a process still waits for the answers to this query.
    pub(super) fn has(&self, process: ProcessId, number: u64) -> bool {
        self.under_way.get(&process).is_some_and(|survey| survey.number == number)
    }
}

#[derive(Debug)]
struct Survey {
    number: u64,
    /// Schedulers that have not answered.
    left: usize,
    found: HashMap<Arc<str>, u64>,
    members: Members,
}

impl Survey {
    fn add(&mut self, findings: Findings) {
        for (name, subscribers) in findings.counts {
            *self.found.entry(name).or_default() += subscribers;
        }
        // Only the channel's home has any.
        if findings.members.total > 0 {
            self.members = findings.members;
        }
    }
}

impl Channels {
    /// Queries all schedulers for a process. `None`: it has to wait; it is run when all have answered, and asks again.
    pub fn survey(&mut self, process: ProcessId, question: &SubscriberQuery) -> Option<Findings> {
        if let Some(survey) = self.surveys.under_way.get(&process) {
            if survey.left > 0 {
                return None;
            }
            let survey = self.surveys.under_way.remove(&process)?;
            let counts = survey.found.into_iter().collect();
            return Some(Findings { counts, members: survey.members });
        }
        let number = self.ticket();
        let mut left = self.outgoing.len() - 1;
        let own = match question {
            SubscriberQuery::Channels(glob) => {
                self.begin_search(self.here, process, number, glob);
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
                outgoing.push(Item::Ask { process, number, question: Arc::clone(&question) });
            }
        }
        let (found, members) = (HashMap::default(), Members::default());
        let mut survey = Survey { number, left, found, members };
        survey.add(own);
        self.surveys.under_way.insert(process, survey);
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
        process: ProcessId,
        number: u64,
        question: &SubscriberQuery,
    ) {
        if let SubscriberQuery::Channels(glob) = question {
            return self.begin_search(from, process, number, glob);
        }
        let findings = self.answer(question);
        self.outgoing[usize::from(from.0)].push(Item::Told { process, number, findings });
    }

    pub(super) fn on_told<M>(
        &mut self,
        process: ProcessId,
        number: u64,
        findings: Findings,
        context: &mut ServiceContext<'_, M>,
    ) {
        let survey = self.surveys.under_way.get_mut(&process);
        // A query whose process has ended was removed.
        let Some(survey) = survey.filter(|survey| survey.number == number) else { return };
        survey.add(findings);
        survey.left -= 1;
        if survey.left == 0 {
            // A socket is not parked while it waits.
            context.command(SchedulerCommand::Run(process));
        }
    }

    pub(super) fn forget_survey(&mut self, process: ProcessId) {
        self.surveys.under_way.remove(&process);
    }
}
