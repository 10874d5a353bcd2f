//! The admin service as an application of the control scheduler.

mod look;
mod orders;
mod promotion;
mod settings;

use std::sync::Arc;

use self::promotion::Promotion;
use runtime::mailbox::Endpoint;
use runtime::service::{ListenerIndex, SchedulerCommand};
use runtime::slots::ProcessId;
use runtime::transport::Transport;
use sys::signal::{Signal, send_to_self};
use wire::http::method::Method;
use wire::http::status::Status;

use super::certificates::Certificates;
use super::dashboard::{self, Streams};
use super::events::Events;
use super::facts::{Phase, StartFacts};
use super::gate::{Gate, Permission};
use super::profiling::Profiling;
use super::round::{PATIENCE_MS, Round};
use super::settings::Settings;
use super::tracing::Tracing;
use super::{memory, metrics, status};
use crate::maintenance::{MaintenanceSource, Switches};
use crate::message::{
    AnswerContext, Inquiry, Message, PagesRead, ReloadReport, ServiceContext, ToControl,
};
use crate::origin::is_forged;
use crate::site_data::SiteData;
use http::{Answer, Application, BodyPolicy, ClientInterest, Http, Patience, Reply, Request};

/// The answer to a request that names a host elsewhere.
const MISDIRECTED: &[u8] =
    b"Host has to be an address, localhost, or a name without a dot: other sites can \
                             lead theirs here\n";

/// The endpoints that the control scheduler talks to.
#[derive(Clone, Debug)]
pub struct ControlPeers {
    /// The number of schedulers; their endpoints are numbered from 0.
    pub schedulers: usize,
    /// The log writer, if there is one.
    pub log: Option<Endpoint>,
    /// The disks of caches, if any has one.
    pub cache_disk: Option<Endpoint>,
    /// The writer of the store, if there is one.
    pub store: Option<Endpoint>,
    /// The profiler.
    pub profiler: Endpoint,
    /// Whether there is a continuous profile.
    pub keeps_profile: bool,
}

impl ControlPeers {
    /// The endpoints of the schedulers.
    pub(super) fn endpoints(&self) -> impl Iterator<Item = Endpoint> + use<> {
        let last = u16::try_from(self.schedulers).expect("endpoints are numbered in u16");
        (0..last).map(Endpoint)
    }
}

/// The admin application.
pub struct Admin {
    facts: Arc<StartFacts>,
    peers: ControlPeers,
    round: Round,
    waiting: Vec<ProcessId>,
    /// Requests that wait for a reload, each with the number of reloads at that time.
    reloading: Vec<(ProcessId, u64)>,
    promotion: Promotion,
    /// Requests that wait until all schedulers have a setting.
    setting: Vec<ProcessId>,
    settings: Settings,
    last_reload: Arc<ReloadReport>,
    pages: Arc<PagesRead>,
    certificates: Certificates,
    events: Events,
    phase: Phase,
    maintenance: Switches,
    gate: Gate,
    streams: Streams,
    tracing: Tracing,
    profiling: Profiling,
}

impl Admin {
    /// An admin service for these schedulers, which begin with this configuration.
    pub fn new(
        facts: Arc<StartFacts>,
        peers: ControlPeers,
        gate: Gate,
        data: Arc<SiteData>,
    ) -> Self {
        let events = Events::new(&peers);
        Self {
            facts,
            peers,
            round: Round::default(),
            waiting: Vec::new(),
            reloading: Vec::new(),
            promotion: Promotion::default(),
            setting: Vec::new(),
            settings: Settings::of(data),
            last_reload: Arc::default(),
            pages: Arc::default(),
            certificates: Certificates::default(),
            events,
            phase: Phase::Serving,
            maintenance: Switches::default(),
            gate,
            streams: Streams::default(),
            tracing: Tracing::default(),
            profiling: Profiling::default(),
        }
    }

    /// Queries all schedulers unless their last answers are recent enough. `true` if they are.
    fn has_answers(&mut self, question: &Inquiry, context: &mut AnswerContext<'_>) -> bool {
        let now_ms = context.now.monotonic_ms();
        if self.round.is_good(question, now_ms) {
            return true;
        }
        if !self.round.is_open() {
            self.round.ask(question.clone(), &self.peers, now_ms, context.mail);
        }
        self.waiting.push(context.id);
        false
    }

    /// Signals the main thread to reload the configuration, and waits for the result.
    fn reload(&mut self, reply: &mut Reply<'_>, id: ProcessId) -> Answer {
        let asked = self.reloading.iter().position(|(process, _)| *process == id);
        let Some(index) = asked else {
            if send_to_self(Signal::Hangup).is_err() {
                reply.empty(Status::INTERNAL_SERVER_ERROR);
                return Answer::Done;
            }
            self.reloading.push((id, self.last_reload.number));
            return Answer::Wait;
        };
        if self.reloading.get(index).is_some_and(|(_, before)| self.last_reload.number <= *before) {
            return Answer::Wait;
        }
        self.reloading.swap_remove(index);
        reply.json(&status::reloaded(&self.last_reload, &self.pages));
        Answer::Done
    }

    fn control(
        &mut self,
        request: &Request<'_>,
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        match (request.method(), request.path()) {
            (Method::Get, "/status") if self.has_answers(&Inquiry::Counters, context) => {
                let now = context.now.unix_seconds;
                let (reload, pages) = (&self.last_reload, &self.pages);
                let certificates = &self.certificates;
                let (facts, phase, maintenance) = (&*self.facts, self.phase, self.maintenance);
                let known =
                    status::Known { facts, phase, maintenance, reload, pages, certificates };
                reply.json(&status::status(&known, &self.round, now));
                Answer::Done
            }
            (Method::Get, "/stats") if self.has_answers(&Inquiry::Counters, context) => {
                reply.json(&status::stats(&self.facts, &self.round));
                Answer::Done
            }
            (Method::Get, "/native-code") if self.has_answers(&Inquiry::NativeCode, context) => {
                reply.text(&status::native_code(&self.round));
                Answer::Done
            }
            (Method::Get, "/settings") => {
                reply.json(&self.settings.list(self.maintenance));
                Answer::Done
            }
            (Method::Post, "/settings") => self.set(request, reply, context),
            (Method::Get, "/upstreams") if self.has_answers(&Inquiry::Counters, context) => {
                reply.json(&status::upstreams(&self.round));
                Answer::Done
            }
            (Method::Get, "/cache") if self.has_answers(&Inquiry::Counters, context) => {
                reply.json(&status::caches(&self.round));
                Answer::Done
            }
            (Method::Get, "/memory") if self.has_answers(&Inquiry::Counters, context) => {
                reply.json(&memory::shown(&self.facts, &self.round));
                Answer::Done
            }
            (Method::Get, "/events") => self.events.answer(request, reply),
            (Method::Post, "/trace") => {
                self.tracing.answer(self.peers.schedulers, request, reply, context)
            }
            (Method::Post, "/profile") => self.profile(request, reply, context),
            (Method::Get, "/live") => self.live(request, reply, context),
            (Method::Get, dashboard::EVENTS_PATH) => self.stream(request, reply, context),
            (Method::Get, "/info") => self.info(request, reply, context),
            (Method::Post, "/kill") => self.end(request, reply, context),
            (
                Method::Get,
                "/status" | "/stats" | "/memory" | "/native-code" | "/upstreams" | "/cache",
            ) => Answer::Wait,
            (Method::Post, "/cache/purge") => self.purge(request, reply, context),
            (Method::Post, "/upstreams") if self.has_answers(&Inquiry::Counters, context) => {
                self.order(request, reply, context)
            }
            (Method::Post, "/upstreams") => Answer::Wait,
            (Method::Post, "/store/promote") => self.promote(reply, context),
            (Method::Post, "/reload") => self.reload(reply, context.id),
            (Method::Post, "/drain") => orders::drain(reply),
            _ => self.metrics(request, reply, context),
        }
    }

    fn metrics(
        &mut self,
        request: &Request<'_>,
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        match (request.method(), request.path()) {
            (Method::Get | Method::Head, "/metrics") => {
                if !self.has_answers(&Inquiry::Counters, context) {
                    return Answer::Wait;
                }
                let text = metrics::write(&self.facts, &self.round, &self.certificates);
                reply.send(Status::OK, metrics::MEDIA_TYPE, text.as_bytes());
            }
            (Method::Get | Method::Head, "/health") => reply.text("ok\n"),
            _ => reply.empty(Status::NOT_FOUND),
        }
        Answer::Done
    }

    /// Whether an answer goes on until its client leaves: a stream of snapshots, or a trace.
    fn is_endless(&self, process: ProcessId) -> bool {
        self.streams.has(process) || self.tracing.is_reader(process)
    }

    fn wake_waiting(&mut self, context: &mut ServiceContext<'_>) {
        for process in self.waiting.drain(..) {
            context.command(SchedulerCommand::Resume(process));
        }
    }
}

impl Application for Admin {
    type Message = Message;

    fn transport(&mut self, listener: ListenerIndex) -> Option<Box<dyn Transport>> {
        self.gate.transport(listener)
    }

    fn body_policy(
        &mut self,
        _request: &Request<'_>,
        _context: &mut AnswerContext<'_>,
    ) -> BodyPolicy {
        BodyPolicy::Collect { limit: crate::limits::ADMIN_BODY_SIZE }
    }

    fn on_request(
        &mut self,
        request: &Request<'_>,
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        if !self.gate.is_meant(request) {
            reply.send(Status::MISDIRECTED_REQUEST, "text/plain; charset=utf-8", MISDIRECTED);
            return Answer::Done;
        }
        if is_forged(request, &[]) {
            reply.empty(Status::FORBIDDEN);
            return Answer::Done;
        }
        if self.gate.has_dashboard(request.listener) && dashboard::is_asked_for(request) {
            dashboard::show(request, reply);
            return Answer::Done;
        }
        match self.gate.permission(request) {
            Permission::Control => self.control(request, reply, context),
            Permission::Metrics => self.metrics(request, reply, context),
            Permission::Nothing => {
                reply.begin(Status::UNAUTHORIZED);
                let _valid = reply.field("WWW-Authenticate", b"Bearer");
                reply.end_head_with_length(0);
                Answer::Done
            }
        }
    }

    fn on_message(
        http: &mut Http<Self>,
        from: Endpoint,
        message: Message,
        context: &mut ServiceContext<'_>,
    ) {
        let Message::Control(message) = message else { return };
        let admin = http.application_mut();
        match message {
            ToControl::Report(report) => admin.round.add(from, *report),
            ToControl::Vitals(vitals) => admin.events.take(from, vitals, context),
            ToControl::Trouble(trouble) => admin.events.add(*trouble, context.now),
            ToControl::LogReport(report) => {
                admin.round.add_log(report);
                admin.events.look_at_log(report, context);
            }
            ToControl::Traced(batch) => admin.tracing.add(from, &batch),
            ToControl::StoreWriter(stats) => admin.round.add_store_writer(*stats),
            ToControl::Promoted(promoted) => admin.promotion.take(promoted, context),
            ToControl::Profiled(profiled) => {
                if let Some(process) = admin.profiling.take(*profiled) {
                    context.command(SchedulerCommand::Resume(process));
                }
            }
            ToControl::CacheDisk(report) => admin.round.add_disk(report),
            ToControl::Configured(data) => {
                if let Some(event) = admin.settings.on_configured(data) {
                    admin.events.add(event, context.now);
                }
            }
            ToControl::Reloaded(report) => {
                admin.last_reload = report;
                for (process, _) in &admin.reloading {
                    context.command(SchedulerCommand::Resume(*process));
                }
            }
            ToControl::PagesLoaded(report) => admin.pages = report,
            ToControl::Certificates(tls) => {
                admin.gate.on_shown(Arc::clone(&tls));
                admin.events.look_at_certificates();
                admin.certificates.on_shown(tls);
            }
            ToControl::CertificatesRefused(why) => admin.certificates.on_refused(why),
            ToControl::Orders(orders) => admin.certificates.on_orders(orders),
            ToControl::Maintenance(switch) => {
                admin.maintenance.set(MaintenanceSource::File, switch)
            }
            ToControl::Draining => admin.phase = Phase::Draining,
            ToControl::Stop => {
                context.command(SchedulerCommand::Drain { deadline_ms: 0, idle_grace_ms: 0 });
            }
        }
    }

    fn on_turn_end(http: &mut Http<Self>, context: &mut ServiceContext<'_>) {
        let admin = http.application_mut();
        admin.events.keep_watch((admin.phase, admin.certificates.tls()), context);
        admin.events.keep_minutes(admin.peers.profiler, context.mail);
        admin.tracing.end_turn(admin.peers.schedulers, context);
        if admin.round.close_if_due(context.now.monotonic_ms()) {
            admin.wake_waiting(context);
        } else if admin.round.is_open() {
            context.wake_after_ms(PATIENCE_MS);
        }
        admin.wake_streams(context);
    }

    fn patience(&self, process: ProcessId) -> Patience {
        if self.is_endless(process) || self.profiling.is_asked_by(process) {
            Patience::Endless
        } else {
            Patience::Settings
        }
    }

    fn on_peer_finished(&mut self, process: ProcessId) -> ClientInterest {
        // A stream has no end that its client could wait for.
        if self.is_endless(process) { ClientInterest::Lost } else { ClientInterest::Kept }
    }

    fn on_gone(&mut self, process: ProcessId) {
        self.streams.on_gone(process);
        self.tracing.on_gone(process);
        self.setting.retain(|waiting| *waiting != process);
        self.reloading.retain(|(waiting, _)| *waiting != process);
        self.promotion.on_gone(process);
        self.profiling.on_gone(process);
    }
}
