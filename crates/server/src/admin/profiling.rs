//! Profiles that somebody asks for: `POST /profile`.
//!
//! Owns the words of the query, and who waits for which answer. The profiler makes the profiles.

use http::{Answer, Reply, Request};
use live::Profile;
use runtime::mailbox::Endpoint;
use runtime::slots::ProcessId;
use wire::http::status::Status;

use super::problem;
use crate::limits::{PROFILE_RING_MAX, PROFILE_SECONDS_MAX, PROFILES_ASKED};
use crate::message::Mailbox;
use crate::profile_order::{NoProfile, ProfileAsk, ProfileWish, Profiled, ToProfiler};

#[derive(Debug)]
struct Waiting {
    process: ProcessId,
    /// The number of its question.
    number: u64,
    answer: Option<Result<Profile, NoProfile>>,
}

/// Those that wait.
#[derive(Debug, Default)]
pub(super) struct Profiling {
    /// The number of the last question.
    number: u64,
    waiting: Vec<Waiting>,
}

/// The wish in a query; otherwise what is wrong with it.
pub(super) fn wish_of(request: &Request<'_>) -> Result<ProfileWish, String> {
    let query = request.query().unwrap_or_default();
    let (name, value) = query.split_once('=').unwrap_or((query, ""));
    let number = value.parse::<u64>().ok();
    let within = |most: u64| {
        let wrong = || format!("`{name}={value}` is not 1 to {most} seconds");
        number.filter(|number| (1..=most).contains(number)).ok_or_else(wrong)
    };
    match name {
        "last" => within(PROFILE_RING_MAX.as_secs()).map(ProfileWish::Last),
        "seconds" => within(PROFILE_SECONDS_MAX).map(ProfileWish::Seconds),
        "event" => number
            .map(ProfileWish::Event)
            .ok_or_else(|| format!("`{value}` is no number of an event")),
        _ => Err("the query is `last=SECONDS`, `event=NUMBER` or `seconds=SECONDS`".to_owned()),
    }
}

impl Profiling {
    pub(super) fn is_asked_by(&self, process: ProcessId) -> bool {
        self.waiting.iter().any(|waiting| waiting.process == process)
    }

    /// Asks the profiler.
    pub(super) fn ask(
        &mut self,
        (wish, code): (ProfileWish, String),
        (process, profiler): (ProcessId, Endpoint),
        mail: &mut Mailbox,
        reply: &mut Reply<'_>,
    ) -> Answer {
        self.number += 1;
        let number = self.number;
        let ask = ToProfiler::Ask(Box::new(ProfileAsk { number, wish, code }));
        if self.waiting.len() >= PROFILES_ASKED || mail.send_part(profiler, ask).is_err() {
            let busy = "other profiles are asked for: ask again in some seconds";
            problem::say_with(Status::SERVICE_UNAVAILABLE, busy, reply);
            return Answer::Done;
        }
        self.waiting.push(Waiting { process, number, answer: None });
        Answer::Wait
    }

    /// The profiler has answered. Returns the process that waits for it.
    pub(super) fn take(&mut self, profiled: Profiled) -> Option<ProcessId> {
        let mut all = self.waiting.iter_mut();
        let waiting = all.find(|waiting| waiting.number == profiled.number)?;
        waiting.answer = Some(profiled.answer);
        Some(waiting.process)
    }

    /// Answers a process that has asked, if the answer is there.
    pub(super) fn answer(&mut self, process: ProcessId, reply: &mut Reply<'_>) -> Answer {
        let is_ready = |waiting: &Waiting| waiting.process == process && waiting.answer.is_some();
        let Some(place) = self.waiting.iter().position(is_ready) else { return Answer::Wait };
        match self.waiting.swap_remove(place).answer {
            Some(Ok(profile)) => reply.json(&profile),
            Some(Err(why)) => refuse(&why, reply),
            None => return Answer::Wait,
        }
        Answer::Done
    }

    /// The connection of a process has ended.
    pub(super) fn on_gone(&mut self, process: ProcessId) {
        self.waiting.retain(|waiting| waiting.process != process);
    }
}

/// Says why there is no profile.
pub(super) fn refuse(why: &NoProfile, reply: &mut Reply<'_>) {
    problem::say_with(Status::CONFLICT, &why.to_string(), reply);
}
