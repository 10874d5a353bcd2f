//! The caches of this scheduler, and what each request has to do with them.
//!
//! Owns the tables: caches by upstream, roles by process, running fetches. Never answers. `settings` makes a cache of a
//! configuration. `joining` has requests look, wait and ask, `verdict` says what the head of a server's answer means,
//! `fill` is an answer that is being received, `filling` has all of them. `changes` forgets what has changed, `outside`
//! is what is on disks, and `disk_desk` the orders for those. The rules are those of the crate `cache`. The site's side
//! is in `cached`.

mod changes;
mod disk_desk;
pub(in crate::site) mod fill;
mod filling;
mod joining;
mod outside;
pub(in crate::site) mod role;
mod settings;
pub(in crate::site) mod told;
pub(in crate::site) mod verdict;

use std::collections::VecDeque;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use ahash::HashMap;
use cache::{Cache, CacheStats, FetchId, Fetches, ForwardReason, PurgePattern, Time};
use client::{Client, ExchangeId};
use config::{CacheReport, UpstreamCache};
use runtime::clock::{Now, nanoseconds};
use runtime::mailbox::Endpoint;
use runtime::service::SchedulerCommand;
use runtime::slots::ProcessId;

use self::disk_desk::DiskDesk;
use self::fill::Fill;
use self::role::Role;
use self::settings::rules_of;
use crate::cache_order::CacheOrder;
use crate::limits::CACHE_ORDERS;
use crate::message::{ServiceContext, ToScheduler};
use crate::site::endpoints::Helpers;
use crate::site::outgoing::proxy::{Place, Proxies};

/// The caches, and the requests that have to do with them.
#[derive(Debug, Default)]
pub(crate) struct Caches {
    by_upstream: HashMap<Rc<str>, Kept>,
    roles: HashMap<ProcessId, Role>,
    fetches: Fetches<ProcessId>,
    /// The work for each fetch whose exchange belongs to no process.
    runs: HashMap<FetchId, Run>,
    by_exchange: HashMap<ExchangeId, FetchId>,
    /// Requests that have to be asked again.
    called: Vec<ProcessId>,
    /// Fetches of which more can be received.
    stirred: Vec<FetchId>,
    /// Orders for all other schedulers.
    orders: Vec<CacheOrder>,
    /// Orders that had no room yet.
    outgoing: VecDeque<(Endpoint, CacheOrder)>,
    disk: DiskDesk,
    schedulers: u16,
    now: Time,
    /// The server stops: answers are received for those that read them, not for requests to come.
    is_draining: bool,
}

/// A cache with what else is configured.
#[derive(Debug)]
struct Kept {
    cache: Cache,
    wait_ns: u64,
    report: CacheReport,
    /// Where it stores answers on a disk.
    directory: Option<Arc<Path>>,
    /// When requests have waited too long.
    line: VecDeque<(u64, ProcessId)>,
}

/// The work for a fetch.
#[derive(Debug)]
pub(in crate::site) enum Run {
    /// A validation in the background, whose head is not there.
    Asked { upstream: Rc<str>, place: Place },
    /// An answer that is being received.
    Fills(Box<Fill>),
}

impl Caches {
    /// Takes over a configuration. The stored answers of an upstream that stays are kept.
    pub(crate) fn load(&mut self, upstreams: &[config::UpstreamSettings], helpers: &Helpers) {
        let wanted = |name: &str| -> Option<&UpstreamCache> {
            let upstream = upstreams.iter().find(|upstream| upstream.name == name)?;
            upstream.cache.as_ref()
        };
        let schedulers = helpers.schedulers;
        self.schedulers = schedulers;
        self.disk.set_helper(helpers.cache_disk);
        self.by_upstream.retain(|name, _| wanted(name).is_some());
        for upstream in upstreams {
            let Some(config) = &upstream.cache else { continue };
            let rules = rules_of(config, schedulers);
            let kept = self.by_upstream.entry(upstream.name.as_str().into());
            let kept = kept.or_insert_with(|| Kept {
                cache: Cache::new(rules.clone()),
                wait_ns: 0,
                report: CacheReport::Off,
                directory: None,
                line: VecDeque::new(),
            });
            if *kept.cache.rules() != rules {
                kept.cache.set_rules(rules);
            }
            (kept.wait_ns, kept.report) = (nanoseconds(config.wait), config.report);
            kept.directory = config.disk.as_ref().map(|disk| Arc::from(&*disk.directory));
            if let (Some(directory), Some(disk)) = (&kept.directory, &config.disk) {
                let files = usize::try_from(disk.files).unwrap_or(usize::MAX);
                self.disk.limit(directory, disk.size, files);
            }
        }
    }

    /// Whether there is no cache, and no request has to do with one that there was.
    pub(in crate::site) fn is_unused(&self) -> bool {
        self.by_upstream.is_empty() && self.roles.is_empty()
    }

    /// The name and the cache of an upstream.
    fn of(&mut self, upstream: &str) -> Option<(Rc<str>, &mut Kept)> {
        self.of_with_disk(upstream).map(|(name, kept, _)| (name, kept))
    }

    /// The same, with the orders for the disks.
    fn of_with_disk(&mut self, upstream: &str) -> Option<(Rc<str>, &mut Kept, &mut DiskDesk)> {
        let name = self.by_upstream.get_key_value(upstream).map(|(name, _)| Rc::clone(name))?;
        let kept = self.by_upstream.get_mut(upstream)?;
        Some((name, kept, &mut self.disk))
    }

    /// The counters of all together.
    pub(crate) fn stats(&self) -> CacheStats {
        let mut sum = CacheStats::default();
        self.by_upstream.values().for_each(|kept| sum.add(&kept.cache.stats()));
        sum
    }

    /// The server stops: answers without a reader are no longer received.
    pub(crate) fn drain(&mut self, client: &mut Client, proxies: &mut Proxies) {
        self.is_draining = true;
        self.drop_unread(client, proxies);
    }

    /// Whether the server stops.
    pub(in crate::site) fn is_draining(&self) -> bool {
        self.is_draining
    }

    /// The time of the turn.
    pub(crate) fn set_now(&mut self, now: Now) {
        self.now = Time { unix_s: now.unix_seconds, ms: now.monotonic_ms() };
    }

    pub(in crate::site) fn now(&self) -> Time {
        self.now
    }

    /// Whether a request has to do with a cache.
    pub(crate) fn has(&self, process: ProcessId) -> bool {
        !self.roles.is_empty() && self.roles.contains_key(&process)
    }

    pub(in crate::site) fn role(&self, process: ProcessId) -> Option<&Role> {
        self.roles.get(&process)
    }

    pub(in crate::site) fn set_role(&mut self, process: ProcessId, role: Role) {
        self.roles.insert(process, role);
    }

    pub(in crate::site) fn take_role(&mut self, process: ProcessId) -> Option<Role> {
        self.roles.remove(&process)
    }

    /// Something runs for a fetch, with this exchange.
    pub(in crate::site) fn run(&mut self, fetch: FetchId, exchange: ExchangeId, run: Run) {
        self.by_exchange.insert(exchange, fetch);
        self.runs.insert(fetch, run);
    }

    pub(in crate::site) fn run_of(&mut self, fetch: FetchId) -> Option<&mut Run> {
        self.runs.get_mut(&fetch)
    }

    /// The fetches of which more can be received.
    pub(in crate::site) fn take_stirred(&mut self) -> Vec<FetchId> {
        std::mem::take(&mut self.stirred)
    }

    /// The fetch to which an exchange belongs.
    pub(in crate::site) fn fetch_of(&self, exchange: ExchangeId) -> Option<FetchId> {
        self.by_exchange.get(&exchange).copied()
    }

    /// The exchange of a fetch is over.
    pub(in crate::site) fn end_exchange(&mut self, exchange: ExchangeId) {
        self.by_exchange.remove(&exchange);
    }

    pub(in crate::site) fn end_run(&mut self, fetch: FetchId) -> Option<Run> {
        self.runs.remove(&fetch)
    }

    /// An answer that is being received, and the cache that it is for.
    pub(in crate::site) fn filling(
        &mut self,
        fetch: FetchId,
    ) -> Option<(&mut Fill, Option<&mut Cache>)> {
        let Some(Run::Fills(fill)) = self.runs.get_mut(&fetch) else { return None };
        let kept = self.by_upstream.get_mut(fill.upstream());
        Some((fill, kept.map(|kept| &mut kept.cache)))
    }

    /// The process of a request has ended, or the request was answered.
    pub(crate) fn forget(
        &mut self,
        process: ProcessId,
        client: &mut Client,
        proxies: &mut Proxies,
    ) {
        match self.roles.remove(&process) {
            Some(Role::Leads { fetch, .. }) => {
                // One of those that look again leads.
                self.end_fetch(fetch);
            }
            Some(Role::Waits { fetch, .. }) => self.fetches.leave(fetch, process),
            Some(Role::Seeks { look, .. }) => self.disk.leave(look, process),
            Some(Role::Reads { fetch, .. }) => self.stop_reading(fetch, process, client, proxies),
            Some(Role::Passes { .. } | Role::Changes { .. } | Role::Sought | Role::Opens(_))
            | None => {}
        }
    }

    /// An order for the other schedulers.
    pub(in crate::site) fn tell_others(&mut self, order: CacheOrder) {
        if self.schedulers > 1 {
            self.orders.push(order);
        }
    }

    /// Ends a turn: those that have waited too long go to a server, and all that wait for something are called.
    pub(crate) fn end_turn(&mut self, context: &mut ServiceContext<'_>) {
        let now_ns = context.now.monotonic_ns;
        self.set_now(context.now);
        let mut is_sweeping = false;
        for kept in self.by_upstream.values_mut() {
            is_sweeping |= kept.cache.sweep();
            while let Some((due_ns, process)) = kept.line.front().copied() {
                if due_ns > now_ns {
                    context.wake_at_ns(due_ns);
                    break;
                }
                kept.line.pop_front();
                let upstream = match self.roles.get(&process) {
                    Some(Role::Waits { upstream, fetch, due_ns: due, .. }) if *due == due_ns => {
                        self.fetches.leave(*fetch, process);
                        upstream
                    }
                    Some(Role::Seeks { upstream, look, due_ns: due }) if *due == due_ns => {
                        self.disk.leave(*look, process);
                        upstream
                    }
                    _ => continue,
                };
                let (upstream, why) = (Rc::clone(upstream), ForwardReason::UriMiss);
                self.roles.insert(process, Role::Passes { upstream, why });
                self.called.push(process);
            }
        }
        self.send_orders(context);
        self.disk.end_turn(context, self.now);
        if is_sweeping || !self.outgoing.is_empty() {
            context.wake_after_ms(0);
        }
        for process in self.called.drain(..) {
            context.command(SchedulerCommand::Resume(process));
        }
    }

    fn send_orders(&mut self, context: &mut ServiceContext<'_>) {
        if self.orders.is_empty() && self.outgoing.is_empty() {
            return;
        }
        let schedulers = self.schedulers;
        let others: Vec<Endpoint> =
            context.mail.schedulers().filter(|one| one.0 < schedulers).collect();
        if self.orders.len() + self.outgoing.len() > CACHE_ORDERS {
            self.outgoing.clear();
            self.orders = vec![CacheOrder::Purge(PurgePattern::everything())];
        }
        for order in self.orders.drain(..) {
            self.outgoing.extend(others.iter().map(|other| (*other, order.clone())));
        }
        while let Some((to, order)) = self.outgoing.pop_front() {
            let message = ToScheduler::Cache(Box::new(order));
            if let Err(back) = context.mail.send_part(to, message) {
                // It has no room: the order is sent in the next turn.
                if let ToScheduler::Cache(order) = back {
                    self.outgoing.push_front((to, *order));
                }
                return;
            }
        }
    }
}
