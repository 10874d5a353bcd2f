//! What messages do to a scheduler.
//!
//! Owns which part of it a message is for.

use std::sync::Arc;

use files::Warmed;
use files::job::Failure;
use runtime::mailbox::Endpoint;
use runtime::service::{Command, ServiceContext};

use super::Connections;
use crate::message::{Message, SchedulerReport};

impl Connections {
    pub(super) fn take_message(
        &mut self,
        from: Endpoint,
        message: Message,
        context: &mut ServiceContext<'_, Message>,
    ) {
        let site = self.http.application_mut();
        if matches!(message, Message::Found(_) | Message::Warmed(..)) {
            site.resume_postponed(context);
        }
        match message {
            Message::Found(found) => site.on_found(*found, context),
            Message::Warmed(process, Warmed::Read(_)) => site.on_warmed(process, context),
            Message::Warmed(process, Warmed::Failed(Failure::Exhausted | Failure::Storage)) => {
                context.command(Command::Close(process));
            }
            Message::Reload(data) => {
                site.on_reload(Arc::clone(&data), context);
                self.http.set_settings(Arc::clone(&data.settings));
            }
            Message::Resolved(name, found) => {
                self.client.learn(&name, found, context.now.monotonic_ns);
            }
            Message::Drain { deadline_ms, idle_grace_ms } => {
                context.command(Command::Drain { deadline_ms, idle_grace_ms });
            }
            Message::AskReport => {
                let report = self.report(context);
                // Who asks again later finds room again.
                let _asks_again = context.mail.send(from, Message::Report(report));
            }
            Message::Uploaded(report) => site.on_uploaded(*report, context),
            Message::Letter(letter) => site.on_letter(from, *letter, context),
            Message::Pages { generation, sets } => site.on_pages(generation, &sets),
            // Not for a scheduler.
            Message::LookUp(_)
            | Message::Warm(_)
            | Message::Resolve(_)
            | Message::Upload(_)
            | Message::Lines(..)
            | Message::ReopenLog
            | Message::StopLog
            | Message::Reloaded(_)
            | Message::PagesLoaded(_)
            | Message::Draining
            | Message::Report(_)
            | Message::AskLogReport
            | Message::LogReport(_) => {}
        }
    }

    fn report(&self, context: &ServiceContext<'_, Message>) -> Box<SchedulerReport> {
        let site = self.http.application();
        Box::new(SchedulerReport {
            runtime: context.stats.clone(),
            http: self.http.stats().clone(),
            cache: site.cache_stats(),
            pages: site.pages_report(),
            processes: context.processes,
            generation: site.generation(),
        })
    }
}
