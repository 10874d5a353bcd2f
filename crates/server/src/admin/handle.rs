//! The admin service as an application of the control scheduler.

use std::sync::Arc;

use proxy::Readiness;
use runtime::mailbox::{Endpoint, Mailbox};
use runtime::service::{Command, ListenerIndex, ServiceContext};
use runtime::slots::ProcessId;
use runtime::transport::Transport;
use sys::signal::{Signal, send_to_self};
use wire::http::method::Method;
use wire::http::status::Status;

use super::certificates::Certificates;
use super::facts::{Facts, Phase};
use super::gate::{Gate, Permission};
use super::round::{Expected, PATIENCE_MS, Round};
use super::{metrics, status};
use crate::cache_order::CacheOrder;
use crate::maintenance::{Source, Switch, Switches};
use crate::message::{
    Inquiry, Message, PagesRead, ReloadReport, ToCacheDisk, ToControl, ToLogWriter, ToScheduler,
};
use crate::origin::is_forged;
use crate::upstream_report::UpstreamOrder;
use http::{Answer, AnswerContext, Application, BodyPolicy, Http, Reply, Request};

/// The endpoints that the control scheduler talks to.
#[derive(Clone, Debug)]
pub struct Peers {
    /// The number of schedulers; their endpoints are numbered from 0.
    pub schedulers: usize,
    /// The log writer, if there is one.
    pub log: Option<Endpoint>,
    /// The disks of caches, if any has one.
    pub cache_disk: Option<Endpoint>,
}

/// The admin application.
pub struct Admin {
    facts: Arc<Facts>,
    peers: Peers,
    round: Round,
    waiting: Vec<ProcessId>,
    /// Requests that wait for a reload, each with the number of reloads at that time.
    reloading: Vec<(ProcessId, u64)>,
    last_reload: Arc<ReloadReport>,
    pages: Arc<PagesRead>,
    certificates: Certificates,
    phase: Phase,
    maintenance: Switches,
    gate: Gate,
}

impl Admin {
    /// An admin service for these schedulers.
    pub fn new(facts: Arc<Facts>, peers: Peers, gate: Gate) -> Self {
        Self {
            facts,
            peers,
            round: Round::default(),
            waiting: Vec::new(),
            reloading: Vec::new(),
            last_reload: Arc::default(),
            pages: Arc::default(),
            certificates: Certificates::default(),
            phase: Phase::Serving,
            maintenance: Switches::default(),
            gate,
        }
    }

    /// Queries all schedulers unless their last answers are recent enough. `true` if they are.
    fn has_answers(&mut self, question: Inquiry, context: &mut AnswerContext<'_, Message>) -> bool {
        let now_ms = context.now.monotonic_ms();
        if self.round.is_good(question, now_ms) {
            return true;
        }
        if !self.round.is_open() {
            self.ask(question, now_ms, context.mail);
        }
        self.waiting.push(context.id);
        false
    }

    fn ask(&mut self, question: Inquiry, now_ms: u64, mail: &mut Mailbox<Message>) {
        let (log, disk) = (self.peers.log, self.peers.cache_disk);
        let expected = Expected { log: log.is_some(), disk: disk.is_some() };
        self.round.ask(question, self.peers.schedulers, expected, now_ms);
        for number in 0..self.peers.schedulers {
            let endpoint = Endpoint(u16::try_from(number).expect("endpoints are numbered in u16"));
            // A scheduler with a full mailbox is stuck; it is reported as not answering.
            let _not_answering = mail.send_part(endpoint, ToScheduler::AskReport(question));
        }
        if let Some(log) = log {
            let _not_answering = mail.send_part(log, ToLogWriter::AskReport);
        }
        if let Some(disk) = disk {
            let _not_answering = mail.send_part(disk, ToCacheDisk::AskReport);
        }
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

    /// Tells all schedulers whether the site is maintained.
    fn maintain(
        &mut self,
        switch: Switch,
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_, Message>,
    ) -> Answer {
        for number in 0..self.peers.schedulers {
            let endpoint = Endpoint(u16::try_from(number).expect("endpoints are numbered in u16"));
            let message = ToScheduler::Maintenance(Source::Operator, switch);
            if context.mail.send_part(endpoint, message).is_err() {
                // Those before it have it; asked again, all have it.
                reply.empty(Status::SERVICE_UNAVAILABLE);
                return Answer::Done;
            }
        }
        self.maintenance.set(Source::Operator, switch);
        reply.json(&serde_json::json!({ "maintenance": self.maintenance.as_str() }));
        Answer::Done
    }

    fn control(
        &mut self,
        request: &Request<'_>,
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_, Message>,
    ) -> Answer {
        match (request.method(), request.path()) {
            (Method::Get, "/status") if self.has_answers(Inquiry::Counters, context) => {
                let now = context.now.unix_seconds;
                let (reload, pages) = (&self.last_reload, &self.pages);
                let certificates = &self.certificates;
                let (facts, phase, maintenance) = (&*self.facts, self.phase, self.maintenance);
                let known =
                    status::Known { facts, phase, maintenance, reload, pages, certificates };
                reply.json(&status::status(&known, &self.round, now));
                Answer::Done
            }
            (Method::Get, "/stats") if self.has_answers(Inquiry::Counters, context) => {
                reply.json(&status::stats(&self.facts, &self.round));
                Answer::Done
            }
            (Method::Get, "/native-code") if self.has_answers(Inquiry::NativeCode, context) => {
                reply.text(&status::native_code(&self.round));
                Answer::Done
            }
            (Method::Post, "/maintenance/on") => self.maintain(Switch::On, reply, context),
            (Method::Post, "/maintenance/off") => self.maintain(Switch::Off, reply, context),
            (Method::Get, "/upstreams") if self.has_answers(Inquiry::Counters, context) => {
                reply.json(&status::upstreams(&self.round));
                Answer::Done
            }
            (Method::Get, "/cache") if self.has_answers(Inquiry::Counters, context) => {
                reply.json(&status::caches(&self.round));
                Answer::Done
            }
            (Method::Get, "/status" | "/stats" | "/native-code" | "/upstreams" | "/cache") => {
                Answer::Wait
            }
            (Method::Post, "/cache/purge") => self.purge(request, reply, context),
            (Method::Post, "/upstreams") if self.has_answers(Inquiry::Counters, context) => {
                self.order(request, reply, context)
            }
            (Method::Post, "/upstreams") => Answer::Wait,
            (Method::Post, "/reload") => self.reload(reply, context.id),
            (Method::Post, "/drain") => {
                let status = match send_to_self(Signal::Terminate) {
                    Ok(()) => Status::ACCEPTED,
                    Err(_) => Status::INTERNAL_SERVER_ERROR,
                };
                reply.empty(status);
                Answer::Done
            }
            _ => self.metrics(request, reply, context),
        }
    }

    /// Passes on an order about a server of an upstream: `drain UPSTREAM SERVER` or `up UPSTREAM SERVER`.
    fn order(
        &mut self,
        request: &Request<'_>,
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_, Message>,
    ) -> Answer {
        let words = str::from_utf8(request.body).unwrap_or_default();
        let words: Vec<&str> = words.split(' ').collect();
        let known = |upstream: &str, server: &str| {
            let reports = self.round.reports.iter().flatten().flat_map(|report| &report.upstreams);
            let mut named = reports.filter(|report| report.name == upstream);
            named.any(|report| report.servers.iter().any(|known| known.address == server))
        };
        let order = match words[..] {
            ["drain", upstream, server] => Some((upstream, server, Readiness::Drained)),
            ["up", upstream, server] => Some((upstream, server, Readiness::Ready)),
            _ => None,
        };
        let Some((upstream, server, readiness)) = order.filter(|it| known(it.0, it.1)) else {
            reply.empty(Status::NOT_FOUND);
            return Answer::Done;
        };
        let order = Box::new(UpstreamOrder {
            upstream: upstream.to_owned(),
            server: server.to_owned(),
            readiness,
        });
        let mut sent = true;
        for number in 0..self.peers.schedulers {
            let endpoint = Endpoint(u16::try_from(number).expect("endpoints are numbered in u16"));
            let message = ToScheduler::Upstream(order.clone());
            sent &= context.mail.send_part(endpoint, message).is_ok();
        }
        // The state that was just asked for is another one now.
        self.round = Round::default();
        reply.empty(if sent { Status::OK } else { Status::SERVICE_UNAVAILABLE });
        Answer::Done
    }

    /// Has all schedulers forget stored answers.
    fn purge(
        &mut self,
        request: &Request<'_>,
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_, Message>,
    ) -> Answer {
        let text = str::from_utf8(request.body).unwrap_or_default();
        let Ok(pattern) = cache::Pattern::parse(text) else {
            reply.empty(Status::BAD_REQUEST);
            return Answer::Done;
        };
        let mut sent = true;
        for number in 0..self.peers.schedulers {
            let endpoint = Endpoint(u16::try_from(number).expect("endpoints are numbered in u16"));
            let message = ToScheduler::Cache(Box::new(CacheOrder::Purge(pattern.clone())));
            // Those that have it have purged; asked again, all have.
            sent &= context.mail.send_part(endpoint, message).is_ok();
        }
        self.round = Round::default();
        reply.empty(if sent { Status::OK } else { Status::SERVICE_UNAVAILABLE });
        Answer::Done
    }

    fn metrics(
        &mut self,
        request: &Request<'_>,
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_, Message>,
    ) -> Answer {
        match (request.method(), request.path()) {
            (Method::Get | Method::Head, "/metrics") => {
                if !self.has_answers(Inquiry::Counters, context) {
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

    fn wake_waiting(&mut self, context: &mut ServiceContext<'_, Message>) {
        for process in self.waiting.drain(..) {
            context.command(Command::Resume(process));
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
        _context: &mut AnswerContext<'_, Self::Message>,
    ) -> BodyPolicy {
        BodyPolicy::Collect { limit: crate::limits::ADMIN_BODY_SIZE }
    }

    fn on_request(
        &mut self,
        request: &Request<'_>,
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_, Message>,
    ) -> Answer {
        if is_forged(request, &[]) {
            reply.empty(Status::FORBIDDEN);
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
        context: &mut ServiceContext<'_, Message>,
    ) {
        let Message::Control(message) = message else { return };
        let admin = http.application_mut();
        match message {
            ToControl::Report(report) => admin.round.add(from, *report),
            ToControl::LogReport(report) => admin.round.log = Some(report),
            ToControl::CacheDisk(report) => admin.round.disk = Some(report),
            ToControl::Reloaded(report) => {
                admin.last_reload = report;
                for (process, _) in &admin.reloading {
                    context.command(Command::Resume(*process));
                }
            }
            ToControl::PagesLoaded(report) => admin.pages = report,
            ToControl::Certificates(tls) => {
                admin.gate.on_shown(Arc::clone(&tls));
                admin.certificates.on_shown(tls);
            }
            ToControl::Orders(orders) => admin.certificates.on_orders(orders),
            ToControl::Maintenance(switch) => admin.maintenance.set(Source::File, switch),
            ToControl::Draining => admin.phase = Phase::Draining,
            ToControl::Stop => {
                context.command(Command::Drain { deadline_ms: 0, idle_grace_ms: 0 });
            }
        }
    }

    fn on_turn_end(http: &mut Http<Self>, context: &mut ServiceContext<'_, Message>) {
        let admin = http.application_mut();
        if admin.round.close_if_due(context.now.monotonic_ms()) {
            admin.wake_waiting(context);
        } else if admin.round.is_open() {
            context.wake_after_ms(PATIENCE_MS);
        }
    }
}
