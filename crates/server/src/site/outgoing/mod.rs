//! Requests to other servers: those of pages, those that are passed on to upstreams, and the spans for a collector.
//!
//! Owns the client for all of them. `proxy` has the upstreams and the requests on their way, `caches` the answers that
//! are stored, `spans` what a collector is told. The site's side is in `proxied` and `cached`, and `tunnel` is for
//! connections whose protocol a server has changed. `operators` has what is told and asked between requests.

mod cached;
mod caches;
mod operators;
mod proxied;
mod proxy;
mod spans;
mod tunnel;

use cache::FetchId;
use config::UpstreamSettings;
use http::{FieldList, ProxiedNotes, Urgency};
use pages::Runner;
use pages::fetch::PageFetches;
use runtime::mailbox::Endpoint;
use runtime::slots::ProcessId;
use runtime::trace;

use self::caches::Caches;
use self::caches::role::Role;
use self::proxy::Proxies;
pub(crate) use self::proxy::Tunnelled;
pub(in crate::site) use self::proxy::target::target_of;
use self::spans::Spans;
use super::endpoints::Helpers;
use crate::message::{Mailbox, ServiceContext};
use crate::site_data::SiteData;
use crate::span_stats::SpanStats;

/// The requests of one scheduler to other servers.
pub(super) struct Outgoing {
    /// The helpers that look up the names of servers.
    names: Vec<Endpoint>,
    /// All exchanges with other servers, and which of them pages wait for.
    client: PageFetches,
    /// The upstreams, and the requests that are passed on to them.
    proxies: Proxies,
    /// The answers of upstreams that are stored.
    caches: Caches,
    /// The spans for a collector, if there is one.
    spans: Option<Box<Spans>>,
}

impl Outgoing {
    /// No request yet, and no upstream before `begin`.
    pub(super) fn new(data: &SiteData, helpers: &Helpers, seed: u64) -> Self {
        let mut client = PageFetches::default();
        client.set_rules(data.config.pages.fetch.clone());
        client.set_trust(&data.trust);
        let mut caches = Caches::default();
        caches.load(&data.config.upstreams, helpers);
        let spans = Spans::of(&data.config.trace).map(Box::new);
        Self { names: helpers.names.clone(), client, proxies: Proxies::new(seed), caches, spans }
    }

    /// The servers of upstreams are up from now on. Returns whether any is checked.
    pub(super) fn begin(&mut self, data: &SiteData, now_ns: u64) -> bool {
        self.proxies.load(data, now_ns);
        let is_checked = |upstream: &UpstreamSettings| upstream.check.is_some();
        data.config.upstreams.iter().any(is_checked)
    }

    /// Uses another configuration.
    pub(super) fn reload(&mut self, data: &SiteData, helpers: &Helpers, now_ns: u64) {
        self.client.set_trust(&data.trust);
        self.proxies.load(data, now_ns);
        self.caches.load(&data.config.upstreams, helpers);
    }

    /// Uses the settings that may change while the server runs.
    pub(super) fn tune(&self, data: &SiteData) {
        if self.spans.is_some() {
            trace::sample_part(data.config.trace.per_million);
        }
    }

    /// Why spans for a collector were lost since this was last asked.
    pub(super) fn take_span_loss(&mut self) -> Option<String> {
        self.spans.as_mut()?.take_loss()
    }

    /// The counters of spans for a collector.
    pub(super) fn span_stats(&self) -> SpanStats {
        self.spans.as_ref().map(|spans| spans.stats()).unwrap_or_default()
    }

    /// Whether the request of a process is passed on, or has to do with an answer that is stored.
    #[inline]
    pub(super) fn has(&self, process: ProcessId) -> bool {
        self.proxies.carries(process) || self.caches.has(process)
    }

    /// Whether the request of a process is passed on.
    pub(super) fn carries(&self, process: ProcessId) -> bool {
        self.proxies.carries(process)
    }

    /// Whether a server is asked about the request of a process.
    pub(super) fn is_question(&self, process: ProcessId) -> bool {
        self.proxies.is_question(process)
    }

    /// The notes of the access log on a request that is passed on.
    pub(super) fn account_of(&self, process: ProcessId) -> Option<ProxiedNotes> {
        self.proxies.account_of(process, None)
    }

    /// The body of a request that is passed on has arrived, and these fields behind it.
    pub(super) fn end_upload(&mut self, process: ProcessId, trailers: &FieldList, now_ns: u64) {
        self.proxies.end_upload(process, trailers, self.client.exchanges(), now_ns);
    }

    /// Whether more of a body is wanted.
    pub(super) fn urgency(&mut self, process: ProcessId) -> Urgency {
        self.proxies.urgency(process, self.client.exchanges())
    }

    /// The bytes that are held for the request of a process.
    pub(super) fn held_bytes(&self, process: ProcessId) -> usize {
        self.proxies.held_bytes(process, &self.client)
    }

    /// The process of a connection has ended.
    pub(super) fn forget(&mut self, process: ProcessId) {
        self.proxies.forget(process, self.client.exchanges());
        self.forget_cached(process);
    }

    /// A reload has given the path of a request to something that is no server: unless one has it, or it is being
    /// answered, it waits no longer. Returns whether that is so.
    pub(super) fn stop_waiting(&mut self, process: ProcessId) -> bool {
        let is_beyond = self.proxies.carries(process)
            || matches!(self.caches.role(process), Some(Role::Reads { .. }));
        if !is_beyond {
            self.forget_cached(process);
        }
        !is_beyond
    }

    /// A request has nothing to do with a cache any more.
    fn forget_cached(&mut self, process: ProcessId) {
        self.caches.forget(process, self.client.exchanges(), &mut self.proxies);
    }

    /// Receives what there is of an answer for the cache.
    fn pump(&mut self, fetch: FetchId, now_ns: u64) {
        self.caches.pump(fetch, self.client.exchanges(), &mut self.proxies, now_ns);
    }

    /// Gives pages what they have fetched.
    pub(super) fn give_fetched(&mut self, runner: &mut Runner, now_ns: u64) {
        runner.take_fetched(&mut self.client, now_ns);
    }

    /// Begins what pages fetch.
    pub(super) fn begin_fetches(&mut self, runner: &mut Runner, now_ns: u64) {
        runner.begin_fetches(&mut self.client, now_ns);
    }

    /// Looks up names; those for which no helper has room wait for the next turn.
    pub(super) fn ask_names(&mut self, mail: &mut Mailbox) {
        let questions = self.client.exchanges().questions();
        while let Some(name) = questions.pop()
            && let Some(helper) = self.names.first()
        {
            if let Err(name) = mail.send_part(*helper, name) {
                questions.push(name);
                return;
            }
            self.names.rotate_left(1);
        }
    }

    pub(super) fn end_turn(&mut self, context: &mut ServiceContext<'_>) {
        if let Some(spans) = &mut self.spans {
            spans.end_turn(self.client.exchanges(), context);
        }
        self.proxies.end_turn(&mut self.client, context);
        self.caches.end_turn(context);
    }
}
