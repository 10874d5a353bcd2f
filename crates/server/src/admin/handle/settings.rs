//! `GET /settings` and `POST /settings`: what an operator may change, and the change.
//!
//! Owns that all schedulers get a change, and that whoever has asked for it hears when they have it.

use http::{Answer, Reply, Request};
use runtime::diagnostic;
use serde_json::json;
use wire::http::status::Status;

use super::Admin;
use crate::admin::problem;
use crate::admin::settings::{Change, log_as};
use crate::maintenance::MaintenanceSource;
use crate::message::{AnswerContext, Inquiry, ToScheduler};

impl Admin {
    /// Carries out `NAME VALUE`. The answer waits until all schedulers have it.
    pub(super) fn set(
        &mut self,
        request: &Request<'_>,
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        let words = str::from_utf8(request.body).unwrap_or_default();
        let (name, value) = words.split_once(' ').unwrap_or((words, ""));
        if let Some(place) = self.setting.iter().position(|process| *process == context.id) {
            self.setting.swap_remove(place);
            let value = self.settings.value(name, self.maintenance);
            let silent = self.round.schedulers().iter().filter(|report| report.is_none()).count();
            reply.json(&json!({ "name": name, "value": value, "silent_schedulers": silent }));
            return Answer::Done;
        }
        let change = match self.settings.change(name, value) {
            Ok(change) => change,
            Err(text) => {
                problem::say(&text, reply);
                return Answer::Done;
            }
        };
        if !self.tell(&change, context) {
            // Those before it have it; asked again, all have it.
            reply.empty(Status::SERVICE_UNAVAILABLE);
            return Answer::Done;
        }
        self.note(name, &change, context);
        // A report that is asked for now comes behind the change.
        self.round.forget();
        self.setting.push(context.id);
        self.has_answers(&Inquiry::Counters, context);
        Answer::Wait
    }

    fn tell(&self, change: &Change, context: &mut AnswerContext<'_>) -> bool {
        self.peers.endpoints().all(|endpoint| {
            let message = match change {
                Change::Data(data) => ToScheduler::Tune(data.clone()),
                Change::Maintenance(switch) => {
                    ToScheduler::Maintenance(MaintenanceSource::Operator, *switch)
                }
            };
            context.mail.send_part(endpoint, message).is_ok()
        })
    }

    /// Makes the event, whose line is written with the level before or after the change, whichever is more.
    fn note(&mut self, name: &str, change: &Change, context: &AnswerContext<'_>) {
        if let Change::Maintenance(switch) = change {
            self.maintenance.set(MaintenanceSource::Operator, *switch);
        }
        let value = self.settings.value(name, self.maintenance);
        let event = self.settings.event(name, &value);
        let level = self.settings.level();
        if !diagnostic::is_written(level) {
            diagnostic::set_least(level);
        }
        self.events.add(event, context.now);
        if let Change::Data(data) = change {
            log_as(data);
        }
    }
}
