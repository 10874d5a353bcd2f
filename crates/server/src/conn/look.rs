//! What a scheduler answers to those who look at it: its report, and the list that they want.
//!
//! Owns the walk over its processes that is under way, if one is. `live` knows what a row says.

use std::sync::Arc;

use runtime::mailbox::Endpoint;
use runtime::service::{Command, Seen, ServiceContext};

use super::{Connections, Process};
use crate::live::{Choice, List, LongestRun, Shown, Wish, connection_row, shown_by_site, times_of};
use crate::message::{Inquiry, Message, SchedulerReport, ToControl};

/// A walk over the processes.
pub(super) struct Walk {
    /// Who wants to know.
    from: Endpoint,
    here: Endpoint,
    wish: Arc<Wish>,
    choice: Choice,
    /// The slot with which it goes on.
    next: Option<usize>,
}

impl Connections {
    /// Answers an inquiry, now or after a walk.
    pub(super) fn answer_inquiry(
        &mut self,
        from: Endpoint,
        inquiry: Inquiry,
        context: &mut ServiceContext<'_, Message>,
    ) {
        if let Inquiry::Live(wish) = &inquiry
            && wish.list == List::Connections
        {
            let (here, choice) = (context.mail.endpoint(), Choice::new(wish, "cpu_us"));
            let wish = Arc::clone(wish);
            self.walk = Some(Walk { from, here, wish, choice, next: Some(0) });
            return;
        }
        let shown = match &inquiry {
            Inquiry::Live(wish) => shown_by_site(self.http.application(), wish, context),
            Inquiry::Counters | Inquiry::NativeCode => Shown::default(),
        };
        self.send_report(from, &inquiry, shown, context);
    }

    /// At the end of a turn: a walk goes on.
    pub(super) fn go_on_walking(&mut self, context: &mut ServiceContext<'_, Message>) {
        if let Some(from) = self.walk.as_mut().and_then(|walk| walk.next.take()) {
            context.command(Command::Walk { from });
        }
    }

    /// A process of the walk.
    pub(super) fn look_at(&mut self, seen: &Seen<'_, Process>) {
        if let Some(walk) = &mut self.walk {
            walk.choice.offer(connection_row(walk.here, seen));
        }
    }

    /// So many slots were seen as a turn may.
    pub(super) fn after_walking(
        &mut self,
        next: Option<usize>,
        context: &mut ServiceContext<'_, Message>,
    ) {
        let Some(mut walk) = self.walk.take() else { return };
        if next.is_some() {
            walk.next = next;
            self.walk = Some(walk);
            context.wake_after_ms(0);
            return;
        }
        let (rows, left_out) = walk.choice.finish();
        let shown = Shown { rows, left_out, ..Shown::default() };
        self.send_report(walk.from, &Inquiry::Live(walk.wish), shown, context);
    }

    fn send_report(
        &mut self,
        to: Endpoint,
        inquiry: &Inquiry,
        mut shown: Shown,
        context: &mut ServiceContext<'_, Message>,
    ) {
        shown.times = times_of(&self.http);
        if matches!(inquiry, Inquiry::Live(_)) {
            let (ticks, kind) = context.take_longest_run();
            let us = ticks / sys::clock::ticks_per_microsecond();
            shown.longest_run = kind.map(|kind| LongestRun { us, kind });
        }
        let report = self.report(inquiry, shown, context);
        // The next query finds room again.
        let _asks_again = context.mail.send_part(to, ToControl::Report(report));
    }

    fn report(
        &self,
        inquiry: &Inquiry,
        shown: Shown,
        context: &mut ServiceContext<'_, Message>,
    ) -> Box<SchedulerReport> {
        let accounts = context.accounts();
        let site = self.http.application();
        Box::new(SchedulerReport {
            runtime: context.stats.clone(),
            accounts,
            shown,
            http: self.http.stats().clone(),
            cache: site.cache_stats(),
            upstream_caches: site.caches.stats(),
            channels: site.channel_stats(),
            store: site.store.as_ref().map_or_else(Default::default, |store| store.stats()),
            resp: site.resp.own(),
            pages: site.pages_report(),
            limits: site.limit_counts(),
            upstreams: site.proxies.report(context.now.monotonic_ns),
            handshake_failures: self.handshakes.failures().clone(),
            processes: context.processes,
            generation: site.generation(),
            native_code: match inquiry {
                Inquiry::NativeCode => site.native_code(),
                Inquiry::Counters | Inquiry::Live(_) => Vec::new(),
            },
        })
    }
}
