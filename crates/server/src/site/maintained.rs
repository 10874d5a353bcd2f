//! The answer to clients while the site is maintained.
//!
//! Owns that answer, and who is served as ever. Never decides that it is maintained: `crate::maintenance` adds that up.

use config::route::Found;
use http::{Answer, AnswerContext, FieldList};
use wire::http::status::Status;

use super::exchange::{Exchange, address_of};
use super::state::Site;
use crate::maintenance::{Source, Switch};
use crate::message::Message;

impl Site {
    /// A source says whether the site is maintained.
    pub(crate) fn set_maintenance(&mut self, source: Source, switch: Switch) {
        self.maintenance.set(source, switch);
    }

    /// Whether requests may be refused though their routes would answer them.
    pub(super) fn limits_or_maintains(&self) -> bool {
        !self.data.limits.is_empty() || self.maintenance.is_on()
    }

    /// Whether this client is told to come again. A request that something has begun to answer, a page that waits or a
    /// write that is on its way to the store, is answered.
    #[inline]
    fn is_maintained_for(&self, exchange: &Exchange<'_, '_>) -> bool {
        self.maintenance.is_on()
            && !exchange.reply.is_begun()
            && !exchange.place.is_service_begun()
            && !self.data.config.maintenance.allows(address_of(exchange.request))
    }

    /// Tells a client to come again if the site is maintained. `None`: its request is answered, also if maintenance
    /// begins meanwhile.
    pub(super) fn refuse_maintained(
        &mut self,
        found: &Found<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_, Message>,
    ) -> Option<Answer> {
        if !self.is_maintained_for(exchange) {
            exchange.place.begin_service();
            return None;
        }
        let seconds = self.data.config.maintenance.retry_after.as_secs();
        let fields = FieldList::of(&[
            ("Retry-After", &*seconds.to_string()),
            // No cache may keep it for a client that comes afterwards.
            ("Cache-Control", "no-store"),
        ]);
        Some(self.refuse(Status::SERVICE_UNAVAILABLE, &fields, found, exchange, context))
    }
}
