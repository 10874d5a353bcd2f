//! How a scheduler handles its messages.
//!
//! Owns which part of the scheduler a message is for.

use std::sync::Arc;

use acme::Confirmation;
use files::Warmed;
use files::absence::FileFailure;
use runtime::mailbox::Endpoint;
use runtime::service::SchedulerCommand;

use super::{Connections, traced};
use crate::events::SchedulerBounds;
use crate::message::{ServiceContext, ToScheduler};
use crate::site_data::{SiteData, patience};

impl Connections {
    pub(super) fn take_message(
        &mut self,
        from: Endpoint,
        message: ToScheduler,
        context: &mut ServiceContext<'_>,
    ) {
        let site = self.http.application_mut();
        if matches!(message, ToScheduler::Found(_) | ToScheduler::Warmed(..)) {
            site.resume_postponed(context);
        }
        match message {
            ToScheduler::Found(found) => site.on_found(*found, context),
            ToScheduler::Warmed(process, warmed) => match warmed {
                Warmed::Read(_) => site.on_warmed(process, context),
                Warmed::Failed(FileFailure::Exhausted | FileFailure::Storage) => {
                    context.command(SchedulerCommand::Close(process));
                }
            },
            ToScheduler::Password(checked) => {
                site.on_password(checked, context);
            }
            ToScheduler::Used(news) => site.on_used(&news, context),
            ToScheduler::Reload(data) => {
                site.on_reload(Arc::clone(&data), context);
                self.load(&data, context);
            }
            ToScheduler::Tune(data) => {
                if site.on_tuned(Arc::clone(&data), context.now.monotonic_ns) {
                    self.tune(&data, context);
                }
            }
            ToScheduler::Certificates(tls, confirmations) => {
                self.set_tls(&tls);
                confirmations.into_iter().for_each(Confirmation::in_force);
            }
            ToScheduler::Resolved((name, found)) => {
                self.cluster.iter_mut().for_each(|link| link.learn(&name, &found, context));
                site.learn_name(&name, found, context.now.monotonic_ns);
            }
            ToScheduler::Drain { deadline_ms, idle_grace_ms } => {
                site.channels().end_polls(context);
                site.drain_caches();
                context.command(SchedulerCommand::Drain { deadline_ms, idle_grace_ms });
            }
            ToScheduler::AskReport(question) => self.answer_question(from, question, context),
            ToScheduler::AskVitals => self.send_vitals(from, context),
            ToScheduler::Uploaded(report) => site.on_uploaded(*report, context),
            ToScheduler::Letter(letter) => site.on_letter(from, *letter, context),
            ToScheduler::Channels(letter) => site.channels().on_letter(from, *letter, context),
            ToScheduler::Stored(stored) => {
                let _alone = site.store().map(|mut store| store.on_stored(*stored, context));
            }
            ToScheduler::Committed => site.on_committed(context.now.monotonic_ms()),
            ToScheduler::Replication(post) => self.post_store_mail(*post),
            ToScheduler::Maintenance(source, switch) => site.set_maintenance(source, switch),
            ToScheduler::Upstream(order) => {
                site.obey_for_upstream(&order, context.now.monotonic_ns);
            }
            ToScheduler::Cache(order) => site.obey_for_caches(&order),
            ToScheduler::Trace(order) => traced::obey(*order, context),
            ToScheduler::CacheDisk(answers) => site.hear_disk(*answers, context.now),
            ToScheduler::GiveMemoryBack => {
                context.command(SchedulerCommand::GiveMemoryBack);
            }
            ToScheduler::Pages { generation, sets } => site.on_pages(generation, &sets),
        }
    }

    /// Hands a configuration to those who keep parts of it, other than the site.
    fn load(&mut self, data: &Arc<SiteData>, context: &mut ServiceContext<'_>) {
        self.tune(data, context);
        // The numbers of routes mean others.
        self.http.forget_times();
        self.set_tls(&data.tls);
        if let (Some(link), Some(setup)) = (&mut self.cluster, &data.cluster) {
            link.keep(setup);
        }
    }

    /// Hands settings to those who keep them, other than the site.
    fn tune(&mut self, data: &Arc<SiteData>, context: &mut ServiceContext<'_>) {
        self.http.set_settings(Arc::clone(&data.settings));
        self.handshakes.set_most(data.config.limits.handshakes_per_address);
        context.command(SchedulerCommand::SetPatience(patience(&data.config.limits)));
        if let Some(share) = self.share {
            let connections = share.of(&data.config);
            self.set_bounds(SchedulerBounds { connections, ..self.bounds }, share);
            context.command(SchedulerCommand::SetConnections(connections));
        }
    }
}
