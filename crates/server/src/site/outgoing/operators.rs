//! The news of the scheduler for the requests to other servers, and the reports on them for operators.
//!
//! Owns which part of them a message is for. Never answers a request.

use cache::CacheStats;
use client::ClientStats;
use client::{Client, FoundAddresses, NameLookup};
use metric::Histogram;

use crate::cache_order::CacheOrder;
use crate::message::ServiceContext;
use crate::site::Site;
use crate::upstream_report::{UpstreamOrder, UpstreamReport};

impl Site {
    /// The exchanges of which an outgoing connection carries one.
    pub(crate) fn exchanges(&mut self) -> &mut Client {
        self.outgoing.client.exchanges()
    }

    /// Divides this many connections among the exchanges; fetches of pages get a part.
    pub(crate) fn set_connections(&mut self, connections: usize) {
        self.outgoing.client.set_connections(connections);
    }

    /// Begins the connections of exchanges, at the very end of a turn.
    pub(crate) fn begin_connections(&mut self, context: &mut ServiceContext<'_>) {
        self.outgoing.client.end_turn(context);
    }

    /// A helper has looked a name up.
    pub(crate) fn learn_name(&mut self, name: &NameLookup, found: FoundAddresses, now_ns: u64) {
        self.outgoing.client.exchanges().learn(name, found, now_ns);
    }

    /// The server stops: answers without a reader are no longer received.
    pub(crate) fn drain_caches(&mut self) {
        let outgoing = &mut self.outgoing;
        outgoing.caches.drain(outgoing.client.exchanges(), &mut outgoing.proxies);
    }

    /// An operator wants something of a server of an upstream.
    pub(crate) fn obey_for_upstream(&mut self, order: &UpstreamOrder, now_ns: u64) {
        self.outgoing.proxies.obey(order, now_ns);
    }

    /// An operator, or another scheduler, wants stored answers to be forgotten.
    pub(crate) fn obey_for_caches(&mut self, order: &CacheOrder) {
        let outgoing = &mut self.outgoing;
        outgoing.caches.obey(order, outgoing.client.exchanges(), &mut outgoing.proxies);
    }

    /// The state of the upstreams.
    pub(crate) fn upstreams_report(&self, now_ns: u64) -> Vec<UpstreamReport> {
        self.outgoing.proxies.report(now_ns)
    }

    /// The counters of the caches of upstreams.
    pub(crate) fn upstream_cache_stats(&self) -> CacheStats {
        self.outgoing.caches.stats()
    }

    /// The counters of connections to other servers.
    pub(crate) fn client_stats(&self) -> ClientStats {
        self.outgoing.client.stats()
    }

    /// The upstreams, and how long their servers took for the heads of answers.
    pub(crate) fn upstream_times(&self) -> impl Iterator<Item = (&str, &Histogram)> {
        self.outgoing.proxies.times()
    }

    /// The origins from which pages fetch, and how long they took.
    pub(crate) fn fetch_times(&self) -> impl Iterator<Item = (String, &Histogram)> {
        self.outgoing.client.times()
    }
}
