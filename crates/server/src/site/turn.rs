//! The work of pages at the end of a turn.
//!
//! Owns the order: first pages that received something continue, then their new requests are
//! started.

use actors::LeaseStanding;
use channels::{ChannelRefusal, Channels, Offer, PublishRight, Published, Publisher};
use pages::{Publication, Runner};
use runtime::diagnostic::Level;

use super::Site;
use super::script;
use crate::message::ServiceContext;

impl Site {
    /// The leases of what one server of a cluster has at a time: background processes, names of pages' processes.
    pub(crate) fn leases(&self) -> impl Iterator<Item = &str> {
        self.pages.runner().into_iter().flat_map(Runner::leases)
    }

    /// The cluster says who holds these.
    pub(crate) fn hear_leases(&mut self, standing: impl Fn(&str) -> LeaseStanding, now_ns: u64) {
        if let Some(runner) = self.pages.runner_mut() {
            runner.hear_leases(standing, now_ns);
        }
    }

    /// Continues pages, and what they fetch.
    pub(super) fn end_turn_of_pages(&mut self, context: &mut ServiceContext<'_>) {
        let Some(runner) = self.pages.runner_mut() else { return };
        let now_ns = context.now.monotonic_ns;
        self.outgoing.give_fetched(runner, now_ns);
        runner.wake(context);
        let failures = runner.take_failures();
        self.outgoing.begin_fetches(runner, now_ns);
        for (page, error) in failures {
            self.tell_at(Level::Error, &page, &script::told(&error));
        }
    }

    /// Delivers channel messages to pages that wait for them, and executes the channel operations of pages.
    pub(super) fn hear_channels(&mut self, context: &mut ServiceContext<'_>) {
        if self.pages.hear_channels(&mut self.local.channels()) {
            context.wake_after_ms(0);
        }
    }

    /// Publishes a message of a client, after those that pages have published earlier in this turn: a client that got a
    /// page's answer may publish next, and subscribers see both in that order.
    ///
    /// # Errors
    /// The refusal of the channel.
    pub(crate) fn publish_in_order(
        &mut self,
        right: &PublishRight<'_>,
        offer: impl Into<Offer>,
        publisher: Option<Publisher>,
        now_ms: u64,
    ) -> Result<Option<Published>, ChannelRefusal> {
        let mut channels = self.local.channels();
        self.publish_of_pages(&mut channels, now_ms);
        channels.publish(right, offer, publisher, now_ms)
    }

    /// Publishes what pages have published.
    pub(crate) fn publish_of_pages(&self, channels: &mut Channels, now_ms: u64) {
        let Some(runner) = self.pages.runner() else { return };
        for Publication { right, body } in runner.publications().take() {
            // The page was told about errors that it can fix. The rest (no room) is counted.
            let _refused = channels.publish(&right.to_publish(), body, None, now_ms);
        }
    }

    /// Tells pages the results of their orders to the store.
    pub(super) fn tell_pages_of_orders(&mut self) {
        let (Some(runner), Some(mut store)) = (self.pages.runner_mut(), self.local.store()) else {
            return;
        };
        for (number, executed) in store.take_for_pages() {
            runner.tell_executed(number, executed);
        }
    }

    /// The store has a new commit.
    pub(crate) fn on_committed(&mut self, now_ms: u64) {
        if let Some(mut store) = self.local.store() {
            store.note_committed(now_ms);
        }
        if let Some(runner) = self.pages.runner_mut() {
            runner.tell_committed();
        }
    }

    /// Sends the orders of pages, and ends the turn of the store.
    pub(super) fn order_for_pages(&mut self, context: &mut ServiceContext<'_>) {
        let Some(mut store) = self.local.store() else { return };
        let orders = self.pages.runner_mut().map(|runner| runner.take_record_orders());
        for (number, order) in orders.unwrap_or_default() {
            store.order_of_page(number, order);
        }
        if let Some(known) = self.pages.runner().and_then(|runner| runner.awaits_commit()) {
            store.ask_for_commit(known, context);
        }
        store.end_turn(context);
        if store.has_for_pages() {
            context.wake_after_ms(0);
        }
    }
}
