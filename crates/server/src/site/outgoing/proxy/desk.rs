//! All requests of this scheduler that are passed on.
//!
//! Owns the table of them, and who is to be run at the end of a turn. Never answers.

use std::collections::VecDeque;

use ahash::HashMap;
use client::{Client, ExchangeId, ResponseHead};
use config::ProxiedBodies;
use http::{ProxiedNotes, Request};
use proxy::{RequestOutcome, ServerPreference};
use runtime::service::SchedulerCommand;
use runtime::slots::ProcessId;

use super::carried::{Parcel, Stage, Tunnelled};
use super::checks::Checks;
use super::sticky;
use super::upstreams::{Succession, UpstreamId, Upstreams};
use super::{Carried, Live, Place};
use crate::message::ServiceContext;
use crate::site_data::SiteData;
use crate::upstream_report::{UpstreamOrder, UpstreamReport};

/// The upstreams of a scheduler, and the requests that are passed on to them.
#[derive(Debug, Default)]
pub(crate) struct Proxies {
    upstreams: Upstreams,
    /// Boxed because the table has up to twice as many places as entries.
    underway: HashMap<ProcessId, Box<Carried>>,
    /// Requests that have to ask for a place again, or have waited too long.
    called: Vec<ProcessId>,
    /// Tunnels whose output may have been sent at once, and that have more.
    again: Vec<ProcessId>,
    checks: Checks,
    /// The tunnel that the connection becomes whose request was just answered.
    tunnelled: Option<Tunnelled>,
    seed: u64,
}

impl Proxies {
    /// The upstreams of a configuration, before the scheduler starts.
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    /// Takes over a configuration.
    pub(crate) fn load(&mut self, data: &SiteData, now_ns: u64) {
        let successions = self.upstreams.load(data, self.seed, now_ns);
        for succession in &successions {
            let carried = self.underway.values_mut();
            carried.for_each(|carried| carried.follow(succession, &mut self.upstreams));
        }
        self.upstreams.forget_unused();
    }

    /// Obeys an operator. The server may have been removed meanwhile.
    pub(crate) fn obey(&mut self, order: &UpstreamOrder, now_ns: u64) {
        if let Some(live) = self.upstreams.named(&order.upstream)
            && let Some(live) = self.upstreams.get_mut(live)
        {
            live.obey(order, now_ns);
        }
    }

    /// The state of the upstreams, for operators.
    pub(crate) fn report(&self, now_ns: u64) -> Vec<UpstreamReport> {
        self.upstreams.report(now_ns)
    }

    /// The upstreams, and how long their servers took for the heads of answers.
    pub(crate) fn times(&self) -> impl Iterator<Item = (&str, &metric::Histogram)> {
        self.upstreams.times()
    }

    /// Whether the request of a process is passed on.
    pub(crate) fn carries(&self, process: ProcessId) -> bool {
        !self.underway.is_empty() && self.underway.contains_key(&process)
    }

    pub(in crate::site) fn insert(&mut self, process: ProcessId, carried: Carried) {
        self.underway.insert(process, Box::new(carried));
    }

    /// The request of a process.
    pub(super) fn get(&self, process: ProcessId) -> Option<&Carried> {
        self.underway.get(&process).map(|carried| &**carried)
    }

    /// The upstreams, and the request of a process.
    pub(super) fn parts(&mut self, process: ProcessId) -> (&mut Upstreams, Option<&mut Carried>) {
        (&mut self.upstreams, self.underway.get_mut(&process).map(|carried| &mut **carried))
    }

    /// An upstream, unless it was removed meanwhile.
    pub(super) fn upstream_mut(&mut self, id: UpstreamId) -> Option<&mut Live> {
        self.upstreams.get_mut(id)
    }

    /// A server has accepted the change of a protocol: the connection becomes this tunnel.
    pub(in crate::site) fn begin_tunnel(&mut self, tunnel: Option<Tunnelled>) {
        self.tunnelled = tunnel;
    }

    /// The upstream with this name, and what a request wants of it.
    pub(in crate::site) fn wish_of(
        &self,
        upstream: &str,
        request: &Request<'_>,
        path: &str,
    ) -> Option<(UpstreamId, ServerPreference)> {
        let id = self.upstreams.named(upstream)?;
        Some((id, self.upstreams.get(id)?.wish_of(request, path)))
    }

    /// When servers of the upstream with this name get a request with a body.
    pub(in crate::site) fn bodies_of(&self, upstream: &str) -> ProxiedBodies {
        let live = self.upstreams.named(upstream).and_then(|id| self.upstreams.get(id));
        live.map_or(ProxiedBodies::Streamed, |live| live.config().bodies)
    }

    /// Whether a server has the request of a process.
    pub(in crate::site) fn is_sent(&mut self, process: ProcessId) -> bool {
        matches!(self.parts(process), (_, Some(carried)) if carried.stage == Stage::Sent)
    }

    /// How far a request is; while it waits for a server, with what that gets if its body arrives meanwhile.
    pub(in crate::site) fn stage_of(&self, process: ProcessId) -> Option<(Stage, Option<Parcel>)> {
        let carried = self.get(process)?;
        let upload = carried.upload.as_ref().filter(|_| carried.stage == Stage::InLine);
        Some((carried.stage, upload.map(|upload| upload.parcel())))
    }

    /// The exchange of a request with its server, and the heads that came from there before the end of the body.
    pub(in crate::site) fn take_early(
        &mut self,
        process: ProcessId,
    ) -> Option<(ExchangeId, VecDeque<ResponseHead>)> {
        let carried = self.underway.get_mut(&process)?;
        Some((carried.exchange?, std::mem::take(&mut carried.early)))
    }

    /// The answer of a server is of no use, and the request goes to a server again.
    pub(in crate::site) fn recall(&mut self, process: ProcessId, now_ns: u64) {
        self.begin_again(process);
        let (_, carried) = self.parts(process);
        if let Some(place) = carried.and_then(Carried::leave_server) {
            self.end(place, now_ns);
        }
    }

    /// The head of the answer to a request that belongs to no process is there.
    pub(in crate::site) fn note_head_apart(&mut self, place: &mut Place, now_ns: u64) {
        if let Some(live) = self.upstreams.get_mut(place.upstream) {
            let first_byte_ns = now_ns.saturating_sub(place.since_ns);
            place.first_byte_ns = Some(first_byte_ns);
            live.servers.on_head(place.server, first_byte_ns, now_ns);
        }
    }

    /// The head of an answer is there. Returns the cookie for a client that has to stay at the server.
    pub(in crate::site) fn note_head(
        &mut self,
        process: ProcessId,
        (status, request): (u16, &Request<'_>),
        client: &Client,
        now_ns: u64,
    ) -> Option<String> {
        let (upstreams, carried) = self.parts(process);
        let carried = carried?;
        let connected_ns = carried.exchange.and_then(|id| client.connected_ns(id));
        let place = carried.place.as_mut()?;
        place.status = Some(status);
        place.answered_ns = Some(now_ns.saturating_sub(place.since_ns));
        place.connect_ns = connected_ns.map(|at_ns| at_ns.saturating_sub(place.since_ns));
        let live = upstreams.get_mut(place.upstream)?;
        // A server that answers before it has the whole request is not slow, however slowly its client sends.
        let sent_ns = carried.exchange.and_then(|id| client.sent_ns(id));
        let first_byte_ns = sent_ns.map_or(0, |sent_ns| now_ns.saturating_sub(sent_ns));
        let is_first = place.first_byte_ns.replace(first_byte_ns).is_none();
        if is_first {
            live.time(now_ns.saturating_sub(place.since_ns));
        }
        if !place.has_failed {
            live.servers.on_head(place.server, first_byte_ns, now_ns);
        }
        let name = live.config().sticky.as_ref()?;
        if carried.wish.sticky == Some(place.server) {
            return None;
        }
        Some(sticky::field_of(name, live.identity(place.server)?, request))
    }

    /// Removes the request of a process, which has its answer. Returns its place.
    pub(in crate::site) fn remove(&mut self, process: ProcessId) -> Option<Place> {
        self.underway.remove(&process)?.place
    }

    /// How the request of a process went, for the access log. `ended_ns`: when its answer had ended; `None`: with the
    /// request.
    pub(in crate::site) fn account_of(
        &self,
        process: ProcessId,
        ended_ns: Option<u64>,
    ) -> Option<ProxiedNotes> {
        let carried = self.underway.get(&process)?;
        let live = self.upstreams.get(carried.upstream?)?;
        let place = carried.place.as_ref();
        let last =
            place.and_then(|place| Some((self.upstreams.get(place.upstream)?, place.server)));
        let servers = carried.met.iter().map(|server| (live, *server)).chain(last);
        let addresses: Vec<String> = servers.map(|(live, server)| live.address(server)).collect();
        let milliseconds = |span_ns: u64| span_ns as f64 / 1e6;
        Some(ProxiedNotes {
            upstream: live.config().name.clone(),
            addresses: addresses.join(", "),
            status: place.and_then(|place| place.status),
            connect_ms: place.and_then(|place| place.connect_ns).map(milliseconds),
            first_byte_ms: place.and_then(|place| place.answered_ns).map(milliseconds),
            began_ns: carried.began_ns,
            ended_ns,
        })
    }

    /// Bytes that are held of the body of a request.
    pub(crate) fn held_bytes(
        &self,
        process: ProcessId,
        client: &pages::fetch::PageFetches,
    ) -> usize {
        let Some(carried) = self.underway.get(&process) else { return 0 };
        let of_exchange = carried.exchange.map_or(0, |id| client.held(id).request);
        of_exchange + carried.upload.as_ref().map_or(0, |upload| upload.held_bytes())
    }

    /// The process of a request has ended, or the request was answered otherwise.
    pub(crate) fn forget(&mut self, process: ProcessId, client: &mut Client) {
        let Some(carried) = self.underway.remove(&process) else { return };
        if let Some(exchange) = carried.exchange {
            client.cancel(exchange);
        }
        match carried.place {
            Some(place) => self.give_up(place),
            None => {
                if let Some(id) = carried.upstream
                    && let Some(live) = self.upstreams.get_mut(id)
                {
                    live.servers.leave(process);
                    self.upstreams.forget_if_over(id);
                }
            }
        }
    }

    /// A request gives back its place at a server, which has answered or not. This is the one verdict about the server.
    pub(in crate::site) fn release(&mut self, place: Place, outcome: RequestOutcome, now_ns: u64) {
        if let Some(live) = self.upstreams.get_mut(place.upstream) {
            live.servers.judge(place.server, outcome, now_ns);
            live.servers.release(place.server);
            self.upstreams.forget_if_over(place.upstream);
        }
    }

    /// The same for a request whose answer has ended, or is not wanted any further: what was heard of it counts.
    pub(in crate::site) fn end(&mut self, place: Place, now_ns: u64) {
        self.release(place, place.outcome(), now_ns);
    }

    /// The same for a request whose answer nobody wants any more. It says nothing of the server, so no time has to pass
    /// before another request may try it.
    pub(in crate::site) fn give_up(&mut self, place: Place) {
        self.release(place, RequestOutcome::Abandoned, 0);
    }

    /// The tunnel that the connection becomes whose request was just answered.
    pub(crate) fn take_tunnelled(&mut self) -> Option<Tunnelled> {
        self.tunnelled.take()
    }

    /// A tunnel has ended.
    pub(crate) fn end_tunnel(&mut self, tunnel: &Tunnelled) {
        self.give_up(tunnel.place);
    }

    /// A process is run again at the end of the turn.
    pub(crate) fn run_again(&mut self, process: ProcessId) {
        self.again.push(process);
    }

    /// Servers have answered checks, or have not. Returns the exchanges with news that are not of checks.
    pub(crate) fn hear_checks(
        &mut self,
        client: &mut pages::fetch::PageFetches,
        now_ns: u64,
    ) -> Vec<ExchangeId> {
        let mut others = Vec::new();
        for exchange in client.take_heard_of_others(now_ns) {
            if !self.checks.has(exchange) {
                others.push(exchange);
                continue;
            }
            let live = |id| self.upstreams.get(id);
            let ended = self.checks.hear(exchange, client.exchanges(), now_ns, live);
            if let Some(ended) = ended
                && let Some(live) = self.upstreams.get_mut(ended.upstream)
            {
                live.note_check(ended.server, ended.failure, now_ns);
            }
        }
        others
    }

    /// Ends a turn: calls those that wait and may have a place now, or have waited too long.
    pub(crate) fn end_turn(
        &mut self,
        client: &mut pages::fetch::PageFetches,
        context: &mut ServiceContext<'_>,
    ) {
        let now_ns = context.now.monotonic_ns;
        for (id, live) in self.upstreams.all_mut() {
            if live.config().check.is_some() && !live.is_former {
                self.checks.begin(id, live, client.exchanges(), now_ns);
                live.schedule.next_ns().into_iter().for_each(|due_ns| context.wake_at_ns(due_ns));
            }
            while let Some(late) = live.servers.take_late(now_ns) {
                if let Some(carried) = self.underway.get_mut(&late) {
                    carried.stage = Stage::TooLate;
                    self.called.push(late);
                }
            }
            self.called.extend(std::iter::from_fn(|| live.servers.call(now_ns)));
            if let Some(due_ns) = live.servers.due_ns(now_ns) {
                context.wake_at_ns(due_ns);
            }
        }
        for process in self.called.drain(..) {
            context.command(SchedulerCommand::Resume(process));
        }
        for process in self.again.drain(..) {
            context.command(SchedulerCommand::Run(process));
        }
    }
}

impl Carried {
    /// Goes on under the new rules, also at a server that they no longer have.
    pub(super) fn follow(&mut self, succession: &Succession, upstreams: &mut Upstreams) {
        let Succession { former, current, servers } = succession;
        if self.upstream != Some(*former) {
            return;
        }
        self.upstream = Some(*current);
        self.wish.tried = servers.among(self.wish.tried);
        self.wish.sticky = self.wish.sticky.and_then(|server| servers.now(server));
        self.met = self.met.iter().filter_map(|server| servers.now(*server)).collect();
        if let Some(place) = &mut self.place
            && let Some(server) = servers.now(place.server)
        {
            upstreams.move_place((*former, place.server), (*current, server));
            (place.upstream, place.server) = (*current, server);
        }
    }
}
