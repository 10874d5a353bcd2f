//! The upstreams of this scheduler.
//!
//! Owns what a configuration becomes here: the servers as places to connect to, and their state. An upstream that a
//! reload does not change keeps its state; of one that it changes, each server keeps its own; one that it removes stays
//! until its last request is over.

use std::sync::Arc;

use ahash::HashMap;
use client::{ForwardTarget, OriginHost, OriginTransport, ServerOrigin};
use config::{HashBy, ServerAddress, UpstreamVersion};
use http::Request;
use metric::Histogram;
use proxy::{
    Checks, HealthRules, ServerIndex, ServerPreference, ServerRules, Upstream, UpstreamRules,
};
use runtime::account::ticks_since;
use runtime::clock::nanoseconds;
use runtime::diagnostic::{self, Level};
use tls::Connector;

use super::log_gate::LogGate;
use super::same_servers::SameServers;
use super::schedule::Schedule;
use super::{Live, sticky};
use crate::site_data::SiteData;
use crate::upstream_report::{ServerReport, UpstreamOrder, UpstreamReport};

/// The number of an upstream on this scheduler, never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::site) struct UpstreamId(u64);

/// All of them.
#[derive(Debug, Default)]
pub(in crate::site) struct Upstreams {
    live: HashMap<UpstreamId, Live>,
    by_name: HashMap<Box<str>, UpstreamId>,
    last: u64,
}

/// A reload has put an upstream in the place of another one.
#[derive(Debug)]
pub(in crate::site) struct Succession {
    pub(in crate::site) former: UpstreamId,
    pub(in crate::site) current: UpstreamId,
    pub(in crate::site) servers: SameServers,
}

impl Upstreams {
    /// Takes over a configuration. Returns which upstreams are in the place of others; those that nobody needs any more
    /// are there until [`forget_unused`](Self::forget_unused).
    pub(in crate::site) fn load(
        &mut self,
        data: &SiteData,
        seed: u64,
        now_ns: u64,
    ) -> Vec<Succession> {
        let (mut by_name, mut successions) = (HashMap::default(), Vec::new());
        for (place, config) in data.config.upstreams.iter().enumerate() {
            let connector = data.upstream_tls.of(place);
            let known = self.by_name.get(&*config.name).copied();
            let same = known.filter(|id| self.live.get(id).is_some_and(|live| live.is_of(config)));
            let id = same.unwrap_or_else(|| {
                self.last += 1;
                UpstreamId(self.last)
            });
            let endpoints = endpoints_of(config, connector);
            match self.live.get_mut(&id) {
                Some(live) => live.endpoints = endpoints,
                None => {
                    let seed = seed ^ id.0;
                    let mut servers = Upstream::new(rules_of(config), seed, now_ns);
                    let former = known.and_then(|id| Some((id, self.live.get_mut(&id)?)));
                    if let Some((former, before)) = former {
                        let is_checked = config.check.is_some();
                        let checks = if is_checked { Checks::Made } else { Checks::None };
                        servers.inherit(&before.servers, checks);
                        let rules = (before.servers.rules(), servers.rules());
                        let same = SameServers::of(&rules.0.servers, &rules.1.servers);
                        servers.take_line(&mut before.servers, |met| same.among(met));
                        successions.push(Succession { former, current: id, servers: same });
                    }
                    let schedule = Schedule::new(config.servers.len());
                    let (config, gate) = (config.clone(), LogGate::default());
                    let (is_former, times) = (false, None);
                    let mut live =
                        Live { config, servers, gate, schedule, endpoints, is_former, times };
                    if let Some(before) = known.and_then(|id| self.live.get(&id)) {
                        live.warm_up_beside(before, now_ns);
                    }
                    self.live.insert(id, live);
                }
            }
            by_name.insert(config.name.as_str().into(), id);
        }
        self.by_name = by_name;
        successions
    }

    /// A request counts at a server of another upstream from now on.
    pub(super) fn move_place(
        &mut self,
        (from, former): (UpstreamId, ServerIndex),
        (to, server): (UpstreamId, ServerIndex),
    ) {
        if let Some(live) = self.live.get_mut(&from) {
            live.servers.release(former);
        }
        if let Some(live) = self.live.get_mut(&to) {
            live.servers.adopt(server);
        }
    }

    /// Drops those that a reload has removed and that have no request any more.
    pub(super) fn forget_unused(&mut self) {
        let current: Vec<UpstreamId> = self.by_name.values().copied().collect();
        self.live.retain(|id, live| {
            live.is_former = !current.contains(id);
            !live.is_over()
        });
    }

    /// A request has left an upstream: drops it if a reload has removed it and this was its last request.
    pub(in crate::site) fn forget_if_over(&mut self, id: UpstreamId) {
        if self.live.get(&id).is_some_and(Live::is_over) {
            self.live.remove(&id);
        }
    }

    pub(in crate::site) fn named(&self, name: &str) -> Option<UpstreamId> {
        self.by_name.get(name).copied()
    }

    pub(in crate::site) fn get(&self, id: UpstreamId) -> Option<&Live> {
        self.live.get(&id)
    }

    /// An upstream, mutable.
    pub(in crate::site) fn get_mut(&mut self, id: UpstreamId) -> Option<&mut Live> {
        self.live.get_mut(&id)
    }

    /// The state of the current ones, by name.
    pub(in crate::site) fn report(&self, now_ns: u64) -> Vec<UpstreamReport> {
        let live = self.by_name.values().filter_map(|id| self.live.get(id));
        let mut reports: Vec<UpstreamReport> = live.map(|live| live.report(now_ns)).collect();
        reports.sort_by(|one, other| one.name.cmp(&other.name));
        reports
    }

    /// The names of the current ones, and how long their servers took.
    pub(in crate::site) fn times(&self) -> impl Iterator<Item = (&str, &Histogram)> {
        let live = self.by_name.values().filter_map(|id| self.live.get(id));
        live.filter_map(|live| Some((&*live.config.name, live.times.as_ref()?)))
    }

    /// All upstreams, mutable.
    pub(in crate::site) fn all_mut(&mut self) -> impl Iterator<Item = (UpstreamId, &mut Live)> {
        self.live.iter_mut().map(|(id, live)| (*id, live))
    }
}

impl Live {
    /// Whether it was made of this configuration, wherever that stands in its file.
    fn is_of(&self, config: &config::UpstreamSettings) -> bool {
        let own = config::UpstreamSettings { place: config.place, ..self.config.clone() };
        own == *config
    }

    /// Whether no request comes to it or is at it.
    fn is_over(&self) -> bool {
        self.is_former && self.servers.open() + self.servers.waiting() == 0
    }

    /// Its configuration.
    pub(in crate::site) fn config(&self) -> &config::UpstreamSettings {
        &self.config
    }

    /// Servers that this upstream did not have before a reload begin with a small share.
    fn warm_up_beside(&mut self, before: &Self, now_ns: u64) {
        for (place, server) in (0..).zip(&self.config.servers) {
            let is_it = |known: &config::UpstreamServer| known.address == server.address;
            if !before.config.servers.iter().any(is_it) {
                self.servers.warm_up(ServerIndex(place), now_ns);
            }
        }
    }

    fn report(&self, now_ns: u64) -> UpstreamReport {
        let servers = self.config.servers.iter().zip(self.servers.views());
        let servers = servers.map(|(server, view)| ServerReport {
            address: server.address.to_string(),
            view,
            for_s: now_ns.saturating_sub(view.since_ns) / 1_000_000_000,
        });
        UpstreamReport {
            name: self.config.name.clone(),
            waiting: self.servers.waiting(),
            servers: servers.collect(),
        }
    }

    /// A server has answered, or failed, a request that it got so many nanoseconds before this turn.
    pub(in crate::site) fn time(&mut self, since_ns: u64) {
        self.times.get_or_insert_default().count(ticks_since(since_ns));
    }

    /// Does what an operator has ordered.
    pub(in crate::site) fn obey(&mut self, order: &UpstreamOrder, now_ns: u64) {
        let is_it = |server: &config::UpstreamServer| server.address.to_string() == order.server;
        let place = self.config.servers.iter().position(is_it);
        let server = place.and_then(|place| u8::try_from(place).ok()).map(ServerIndex);
        if let Some(server) = server {
            self.servers.set_readiness(server, order.readiness, now_ns);
        }
    }

    /// The place to connect to for a server.
    pub(in crate::site) fn endpoint(&self, server: ServerIndex) -> Option<&ForwardTarget> {
        self.endpoints.get(usize::from(server.0))?.as_ref()
    }

    /// The address of a server, for logs.
    pub(in crate::site) fn address(&self, server: ServerIndex) -> String {
        let known = self.config.servers.get(usize::from(server.0));
        known.map_or_else(String::new, |server| server.address.to_string())
    }

    pub(in crate::site) fn identity(&self, server: ServerIndex) -> Option<u64> {
        let known = self.servers.rules().servers.get(usize::from(server.0));
        known.map(|server| server.identity)
    }

    /// Tells the log what a server has done, unless it was told enough in this second.
    pub(super) fn warn(&mut self, server: ServerIndex, what: &dyn Fn(&str) -> String, now_ns: u64) {
        if let Some(left_out) = self.gate.admit(now_ns) {
            let (name, address) = (&self.config.name, self.address(server));
            let what = what(&address);
            diagnostic::write(
                Level::Warn,
                format_args!("upstream {name}, {address}: {what}{left_out}"),
            );
        }
    }

    /// The wish of a request about its server.
    pub(in crate::site) fn wish_of(&self, request: &Request<'_>, path: &str) -> ServerPreference {
        let key = match &self.config.balance {
            config::BalanceMethod::Hash(by) => key_of(by, request, path),
            _ => None,
        };
        let sticky = self.config.sticky.as_ref().and_then(|name| {
            let cookie = sticky::cookie_of(request, name)?;
            let is_it =
                |server: &ServerRules| sticky::value_of(server.identity).as_bytes() == cookie;
            let place = self.servers.rules().servers.iter().position(is_it)?;
            u8::try_from(place).ok().map(ServerIndex)
        });
        ServerPreference { key, sticky, ..ServerPreference::default() }
    }
}

fn key_of(by: &HashBy, request: &Request<'_>, path: &str) -> Option<u64> {
    match by {
        HashBy::Path => Some(proxy::hash(path.as_bytes())),
        HashBy::Address => Some(proxy::hash(request.peer.address.to_string().as_bytes())),
        HashBy::Field(name) => request.field(name).map(proxy::hash),
        HashBy::Cookie(name) => sticky::cookie_of(request, name).map(proxy::hash),
    }
}

fn rules_of(config: &config::UpstreamSettings) -> UpstreamRules {
    let server = |server: &config::UpstreamServer| ServerRules {
        weight: server.weight,
        identity: proxy::hash(server.address.to_string().as_bytes()),
    };
    let balance = match config.balance {
        config::BalanceMethod::TwoChoices => proxy::Balance::TwoChoices,
        config::BalanceMethod::RoundRobin => proxy::Balance::RoundRobin,
        config::BalanceMethod::Least => proxy::Balance::Least,
        config::BalanceMethod::Hash(_) => proxy::Balance::Hash,
    };
    let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    UpstreamRules {
        servers: config.servers.iter().map(server).collect(),
        balance,
        connections: count(config.connections),
        line: count(config.queue),
        line_ns: nanoseconds(config.queue_timeout),
        slow_start_ns: config.slow_start.map_or(0, nanoseconds),
        health: HealthRules {
            failures: u32::try_from(config.health.failures).unwrap_or(u32::MAX),
            pause_ns: nanoseconds(config.health.pause),
            slow_ns: config.health.slow_after.map(nanoseconds),
        },
    }
}

fn endpoints_of(
    config: &config::UpstreamSettings,
    connector: Option<&Connector>,
) -> Vec<Option<ForwardTarget>> {
    let transport =
        if config.tls.is_some() { OriginTransport::Encrypted } else { OriginTransport::Plain };
    let server_name = config.tls.as_ref().and_then(|tls| tls.server_name.as_deref());
    let endpoint = |server: &config::UpstreamServer| {
        let (host, port) = match &server.address {
            ServerAddress::Tcp(address, port) => (OriginHost::Address(*address), *port),
            ServerAddress::Name(name, port) => (OriginHost::Name(name.as_str().into()), *port),
            ServerAddress::Unix(path) => (OriginHost::Socket(Arc::from(path.as_path())), 0),
        };
        let origin = ServerOrigin { transport, host, port };
        let made = ForwardTarget::new(origin, connector.cloned(), server_name);
        let made = made.map(|target| match config.version {
            UpstreamVersion::Http1 => target,
            UpstreamVersion::Http2 => target.with_prior_knowledge(),
        });
        made.map_err(|why| {
            let (name, address) = (&config.name, &server.address);
            let told =
                format_args!("upstream {name}: no request goes to {address}: {why}").to_string();
            diagnostic::write(Level::Error, format_args!("{told}"));
        })
        .ok()
    };
    config.servers.iter().map(endpoint).collect()
}
