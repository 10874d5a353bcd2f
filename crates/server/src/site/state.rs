//! The site as its scheduler sees it: what is set when it starts, and what is counted.
//!
//! Owns nothing but which component is meant. Never answers a request.

use std::cell::RefMut;
use std::rc::Rc;
use std::sync::Arc;

use channels::{ChannelStats, Channels};
use files::cache::PathCacheStats;
use local::{Local, StoreClient};
use pages::{AtWork, PageSet, PagesReport};
use runtime::mailbox::Endpoint;
use script::engine::NativeCode;
use store::{Store, TurnStore};

use super::Site;
use crate::events::Vitals;
use crate::limits;
use crate::site_tls::SiteTls;
use crate::span_stats::SpanStats;

impl Site {
    /// Uses other certificates, and answers authorities by them.
    pub(crate) fn set_tls(&mut self, tls: &Arc<SiteTls>) {
        self.entry.set_tls(tls);
    }

    /// The writer of the access log.
    pub(crate) fn log_writer(&self) -> Option<Endpoint> {
        self.helpers.log
    }

    /// The counters of the file cache.
    pub(crate) fn cache_stats(&self) -> PathCacheStats {
        self.files.stats()
    }

    /// Joins the other schedulers: channels span all of them. The seed is the same on each.
    pub fn join_schedulers(&mut self, here: Endpoint, seed: u64) {
        let rulebook = Arc::clone(&self.data.rulebook);
        self.local.set_channels(Channels::new(here, self.helpers.schedulers, seed, rulebook));
        self.entry.join(&self.data, seed);
    }

    /// The number of schedulers, and the helpers that look up names.
    pub(crate) fn seats_and_names(&self) -> (u16, Vec<Endpoint>) {
        (self.helpers.schedulers, self.helpers.names.clone())
    }

    /// The channels of this scheduler.
    pub(crate) fn channels(&self) -> RefMut<'_, Channels> {
        self.local.channels()
    }

    /// The store client of this scheduler, if there is a store.
    pub(crate) fn store(&self) -> Option<RefMut<'_, StoreClient>> {
        self.local.store()
    }

    /// The store and the channels, for the other protocols of this scheduler.
    pub(crate) fn share_local(&self) -> Rc<Local> {
        Rc::clone(&self.local)
    }

    /// Adds the store.
    pub fn open_store(&mut self, store: Store) {
        if let Some(writer) = self.helpers.store {
            let rules = Arc::clone(&self.data.database_rules);
            let store = Rc::new(TurnStore::new(store));
            self.local.open_store(StoreClient::new(store, writer, rules));
        }
        self.show_store();
    }

    /// Lets pages use the store.
    fn show_store(&mut self) {
        let store = self.local.store();
        self.pages.show_store(store.as_ref().map(|store| store.turn_store()));
    }

    /// Runs these pages from now on.
    pub(super) fn load_pages(&mut self, sets: &[Arc<PageSet>]) {
        let store = self.local.store();
        self.pages.load(sets, &self.data, store.as_ref().map(|store| store.turn_store()));
    }

    /// Sets where this scheduler shows other threads which page it runs.
    pub fn show_at_work(&mut self, at_work: Arc<AtWork>) {
        self.pages.show_at_work(at_work);
    }

    /// Why spans for a collector were lost since this was last asked.
    pub(crate) fn take_span_loss(&mut self) -> Option<String> {
        self.outgoing.take_span_loss()
    }

    /// The counters of spans for a collector.
    pub(crate) fn span_stats(&self) -> SpanStats {
        self.outgoing.span_stats()
    }

    /// The counters of channels.
    pub fn channel_stats(&self) -> ChannelStats {
        self.local.channels().stats()
    }

    /// The counters of pages; `None` if there are none.
    pub(crate) fn pages_report(&self) -> Option<PagesReport> {
        self.pages.runner().map(|runner| runner.report())
    }

    /// How pages are.
    pub(crate) fn vitals_of_pages(&mut self) -> Vitals {
        let Some(runner) = self.pages.runner_mut() else { return Vitals::default() };
        let (remarks, remarks_left_out) = runner.take_remarks();
        let page_memory = runner.held_of_memory();
        let is_short = page_memory.into_iter().any(Vitals::is_memory_short);
        let allocating =
            if is_short { runner.most_allocating(limits::PAGES_NAMED) } else { Vec::new() };
        Vitals { remarks, remarks_left_out, page_memory, allocating, ..Vitals::default() }
    }

    /// All native code of pages.
    pub(crate) fn native_code(&self) -> Vec<NativeCode> {
        self.pages.runner().map_or_else(Vec::new, |runner| runner.native_code())
    }

    /// A number that no other scheduler has, nor the same one after another start.
    pub(crate) fn number(&self) -> u64 {
        self.pages.number()
    }

    /// The number of the current configuration, from 1.
    pub(crate) fn generation(&self) -> u64 {
        self.data.generation
    }
}
