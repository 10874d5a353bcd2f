//! Queries that all schedulers answer: which channels have subscribers, how many, and whether a
//! user has been disconnected.
//!
//! Owns the pending queries. Each scheduler reports its own subscribers, and the numbers are added
//! up. A query about many channels takes several rounds, because each round has to fit a turn.

use std::sync::Arc;

use ahash::HashMap;
use runtime::mailbox::Endpoint;
use runtime::service::{Command, ServiceContext};
use runtime::slots::ProcessId;

use super::Channels;
use crate::glob::Glob;
use crate::letter::Item;
use crate::limits::CHANNELS_PER_QUERY;
use crate::matcher::Matcher;
use crate::member::Members;
use crate::question::{Findings, Question};

/// The running queries.
#[derive(Debug, Default)]
pub(super) struct Surveys {
    under_way: HashMap<ProcessId, Survey>,
    /// Processes whose query has a further round, which no other scheduler's answer begins.
    going_on: Vec<ProcessId>,
}

#[derive(Debug, Default)]
struct Survey {
    number: u64,
    /// Schedulers that have not answered.
    left: usize,
    found: HashMap<Arc<str>, u64>,
    members: Members,
    /// The place from which the next round goes on.
    next: Option<usize>,
}

impl Survey {
    fn add(&mut self, findings: Findings) {
        for (name, subscribers) in findings.counts {
            *self.found.entry(name).or_default() += subscribers;
        }
        self.next = self.next.max(findings.next);
        // Only the channel's home has any.
        if findings.members.total > 0 {
            self.members = findings.members;
        }
    }
}

impl Channels {
    /// Queries all schedulers for a process. `None`: it has to wait; it is run when all have answered, and asks again.
    pub fn survey(&mut self, process: ProcessId, question: &Question) -> Option<Findings> {
        let known = self.surveys.under_way.get_mut(&process);
        let next = match known {
            Some(survey) if survey.left > 0 => return None,
            Some(survey) => match survey.next.take() {
                Some(next) => Some(next),
                None => {
                    let survey = self.surveys.under_way.remove(&process)?;
                    let counts = survey.found.into_iter().collect();
                    return Some(Findings { counts, members: survey.members, next: None });
                }
            },
            None => None,
        };
        let question = match (question, next) {
            (Question::Channels(glob, _), Some(next)) => Question::Channels(glob.clone(), next),
            _ => question.clone(),
        };
        self.ask_all(process, question)
    }

    /// Begins a round of a query. Returns its answer if this scheduler alone has it.
    fn ask_all(&mut self, process: ProcessId, question: Question) -> Option<Findings> {
        let own = self.answer(&question);
        let left = self.outgoing.len() - 1;
        if left == 0 && own.next.is_none() && !self.surveys.under_way.contains_key(&process) {
            return Some(own);
        }
        let number = self.ticket();
        let question = Arc::new(question);
        for (other, outgoing) in self.outgoing.iter_mut().enumerate() {
            if other != usize::from(self.here.0) {
                outgoing.push(Item::Ask { process, number, question: Arc::clone(&question) });
            }
        }
        let survey = self.surveys.under_way.entry(process).or_default();
        (survey.number, survey.left) = (number, left);
        survey.add(own);
        if left == 0 {
            self.surveys.going_on.push(process);
        }
        None
    }

    /// Runs the processes whose query goes on without an answer of another scheduler.
    pub(super) fn go_on_with_surveys<M>(&mut self, context: &mut ServiceContext<'_, M>) {
        for process in self.surveys.going_on.drain(..) {
            context.command(Command::Run(process));
        }
    }

    /// Finds what this scheduler has, or executes the order in the query.
    fn answer(&mut self, question: &Question) -> Findings {
        let counts = match question {
            Question::Members(name, most) => return self.find_members(name, *most),
            Question::Channels(glob, from) => return self.find_channels(glob, *from),
            Question::Subscribers(names) => {
                let count = |name: &Arc<str>| {
                    let place = self.by_name.get(name)?;
                    Some(self.channels[*place as usize].as_ref()?.subscribers() as u64)
                };
                names.iter().map(|name| (Arc::clone(name), count(name).unwrap_or(0))).collect()
            }
            Question::Dismiss(user, channel) => {
                self.dismiss(user, channel.as_ref());
                Vec::new()
            }
            Question::Patterns => self.patterns.names().map(|name| (name, 1)).collect(),
        };
        Findings { counts, ..Findings::default() }
    }

    /// The channels with subscribers here whose names match, among as many as fit a turn.
    fn find_channels(&self, glob: &Glob, from: usize) -> Findings {
        // A pattern that is too long matches nothing; whoever asks has refused it.
        let Ok(matcher) = Matcher::new(glob.as_str().as_bytes()) else {
            return Findings::default();
        };
        let some = self.channels.iter().skip(from).take(CHANNELS_PER_QUERY).flatten();
        let counts = some
            .map(|channel| (channel, channel.subscribers() as u64))
            .filter(|(channel, subscribers)| {
                *subscribers > 0 && matcher.matches(channel.name.as_bytes())
            })
            .map(|(channel, subscribers)| (Arc::clone(&channel.name), subscribers))
            .collect();
        let end = from.saturating_add(CHANNELS_PER_QUERY);
        Findings { counts, next: (end < self.channels.len()).then_some(end), ..Findings::default() }
    }

    /// The members of a channel whose home this is, and in any case the number of subscribers here.
    fn find_members(&self, name: &Arc<str>, most: usize) -> Findings {
        let place = self.by_name.get(name).copied();
        let channel = place.and_then(|place| self.channels[place as usize].as_ref());
        let Some(channel) = channel else { return Findings::default() };
        let counts = vec![(Arc::clone(name), channel.subscribers() as u64)];
        Findings { counts, members: channel.everywhere.some(most), next: None }
    }

    pub(super) fn on_ask(
        &mut self,
        from: Endpoint,
        process: ProcessId,
        number: u64,
        question: &Question,
    ) {
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
            context.command(Command::Run(process));
        }
    }

    pub(super) fn forget_survey(&mut self, process: ProcessId) {
        self.surveys.under_way.remove(&process);
    }
}
