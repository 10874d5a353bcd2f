//! How a scheduler is: its answer to the question of the control scheduler, once a second.
//!
//! Owns what is asked for it. Nothing here grows with the number of connections or pages.

use runtime::mailbox::Endpoint;
use runtime::service::Service;

use super::Connections;
use crate::events::Vitals;
use crate::message::{ServiceContext, ToControl};

impl Connections {
    pub(super) fn send_vitals(&mut self, to: Endpoint, context: &mut ServiceContext<'_>) {
        let vitals = Box::new(self.vitals(context));
        // It is told as silent, and asked again later.
        let _silent = context.mail.send_part(to, ToControl::Vitals(vitals));
    }

    fn vitals(&mut self, context: &mut ServiceContext<'_>) -> Vitals {
        let remarkable = context.take_remarkable();
        let kinds = <Self as Service>::KINDS;
        let longest_kind = remarkable.kind.and_then(|kind| kinds.get(kind)).copied();
        let lost_lines = self.http.stats().log_dropped_lines;
        let errors = self.http.stats().by_class[5];
        let erring = self.http.application().erring_routes(self.http.times());
        let store = self.store_stats();
        let cluster = self.link_report(context.now.monotonic_ms());
        let mut channels = self.local.channels();
        let site = self.http.application_mut();
        let of_pages = site.vitals_of_pages();
        Vitals {
            now_ns: context.now.monotonic_ns,
            cpu_ns: sys::accounting::thread_cpu_ns(),
            runtime: context.stats.clone(),
            remarkable,
            longest_kind: longest_kind.unwrap_or("none"),
            processes: context.processes,
            bounds: self.bounds,
            lost_lines,
            lost_spans: site.span_stats().dropped,
            span_loss: site.take_span_loss(),
            errors,
            erring,
            channels: channels.stats(),
            slow: channels.take_slow(),
            store,
            cluster,
            limits: site.limit_counts(),
            upstreams: site.upstreams_report(context.now.monotonic_ns),
            ..of_pages
        }
    }
}
