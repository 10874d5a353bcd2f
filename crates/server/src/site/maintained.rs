//! The answer to clients while the site is maintained.
//!
//! Owns that answer, and who is served as ever. Never decides that it is maintained: `crate::maintenance` adds that up.

use config::route::FoundRoute;
use http::{Answer, FieldList};
use wire::http::status::Status;

use super::Site;
use super::exchange::Exchange;
use crate::maintenance::{MaintenanceSource, Switch};
use crate::message::AnswerContext;
use crate::site_data::SiteData;

impl Site {
    /// A source says whether the site is maintained.
    pub(crate) fn set_maintenance(&mut self, source: MaintenanceSource, switch: Switch) {
        self.entry.set_maintenance(source, switch);
    }

    /// Tells a client to come again if the site is maintained. `None`: its request is answered, also if maintenance
    /// begins meanwhile: a page that waits, or a write that is on its way to the store.
    pub(super) fn refuse_maintained(
        &mut self,
        found: &FoundRoute<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Option<Answer> {
        let is_begun = exchange.reply.is_begun() || exchange.place.is_service_begun();
        if is_begun || !self.entry.is_maintained_for(exchange.request, &self.data) {
            exchange.place.begin_service();
            return None;
        }
        let fields = try_later(&self.data);
        Some(self.refuse(Status::SERVICE_UNAVAILABLE, &fields, found, exchange, context))
    }
}

/// The fields that tell a client when to come again.
pub(super) fn try_later(data: &SiteData) -> FieldList {
    let seconds = data.config.maintenance.retry_after.as_secs();
    FieldList::of(&[
        ("Retry-After", &*seconds.to_string()),
        // No cache may keep it for a client that comes afterwards.
        ("Cache-Control", "no-store"),
    ])
}
