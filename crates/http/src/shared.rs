//! The state that all HTTP connections of one scheduler share.
//!
//! Owns the application, the settings, the prepared reply pieces, the log and the counters. Never
//! handles an event of a connection.

mod answering;

use std::any::Any;
use std::sync::Arc;

use runtime::account::{moment_ns, nanoseconds_of};
use runtime::clock::Now;
use runtime::diagnostic::{self, Level};
use runtime::limits::COMPLAINT_INTERVAL_NS;
use runtime::output::Output;
use runtime::service::ListenerIndex;
use runtime::slots::ProcessId;
use sys::socket::Peer;
use wire::h2::RequestFields;
use wire::http::head::FieldSlots;
use wire::http::status::Status;
use wire::network::Network;

pub(super) use answering::NO_ANSWER;

use super::application::Application;
use super::begun::Begun;
use super::encoder::{Encoder, ReplyParts};
use super::h2_streams::SpareRooms;
use super::log::AccessLog;
use super::notes::Notes;
use super::request::{Begin, Request};
use super::settings::{HttpSettings, PriorKnowledge};
use super::slow::SlowRequest;
use super::stats::HttpStats;
use super::times::RequestTimes;
use super::unanswered::Ended;

/// The HTTP service of one scheduler. A service with several protocols contains one and forwards the events of HTTP
/// connections to it.
///
/// The example of [`AccessLog`] makes one by hand; [`App::into_service`](crate::App::into_service) makes one of an app.
pub struct Http<A> {
    application: A,
    settings: Arc<HttpSettings>,
    parts: ReplyParts,
    log: Option<AccessLog>,
    stats: HttpStats,
    times: RequestTimes,
    /// Room for the fields of the head that is being parsed; `None` while it is lent.
    slots: Option<Box<FieldSlots>>,
    /// Room for a head that comes as values; `None` while it is lent.
    fields: Option<Box<RequestFields>>,
    /// Room for the open streams of connections.
    spare_rooms: SpareRooms,
    /// Room for the fields that stay of a head, if some are left out; `None` while it is lent.
    slots_that_stay: Option<Box<FieldSlots>>,
    /// The process of the connection that ran last: if that run ends with a panic, this is the request about which the
    /// application was asked.
    last: ProcessId,
    /// The answer that the part just written has begun. Kept here, not in the outcome, because every answer has an
    /// outcome.
    begun: Option<Begun>,
    /// The value that the application keeps with the request about which it is being asked. Kept here for the same
    /// reason.
    kept: Option<Box<dyn Any>>,
    /// Processes whose client has read a part.
    taken: Vec<ProcessId>,
    /// Processes that have written a part while they read the body of its request.
    written: Vec<ProcessId>,
    /// Requests without an answer, or the end of one, that have to be logged.
    ended: Vec<Ended>,
    /// The notes of the application on the request that it answers, for the access log.
    notes: Notes,
    /// The number of this service, and that of its next request.
    service: u64,
    serial: u64,
    /// When more may be said of malformed fields of trusted proxies.
    complain_again_ns: u64,
}

impl<A> Http<A> {
    /// A service whose requests this application answers.
    pub fn new(application: A, settings: Arc<HttpSettings>, log: Option<AccessLog>) -> Self {
        Self {
            application,
            settings,
            parts: ReplyParts::new(),
            log,
            stats: HttpStats::default(),
            times: RequestTimes::default(),
            slots: None,
            fields: None,
            spare_rooms: SpareRooms::default(),
            slots_that_stay: None,
            last: ProcessId::from_bits(0),
            begun: None,
            kept: None,
            taken: Vec::new(),
            written: Vec::new(),
            ended: Vec::new(),
            notes: Notes::default(),
            service: 0,
            serial: 0,
            complain_again_ns: 0,
        }
    }

    /// The application.
    pub fn application(&self) -> &A {
        &self.application
    }

    /// The application, mutable.
    pub fn application_mut(&mut self) -> &mut A {
        &mut self.application
    }

    /// The counters.
    pub fn stats(&self) -> &HttpStats {
        &self.stats
    }

    /// The times that requests took.
    pub fn times(&self) -> &RequestTimes {
        &self.times
    }

    /// The numbers of [`TimedAs`](crate::TimedAs) mean something else from now on: forgets the times.
    pub fn forget_times(&mut self) {
        self.times = RequestTimes::default();
    }

    /// Sets the number by which the names of its requests differ from those of other services.
    pub fn set_number(&mut self, number: u64) {
        self.service = number;
    }

    /// A request begins.
    #[inline(always)]
    pub(super) fn begin_request(&mut self, now: Now) -> Begin {
        self.serial += 1;
        Begin::new(self.service, self.serial, now)
    }

    /// Room for the fields of a head. It is made once, because clearing it for every request would cost more than
    /// parsing.
    pub(super) fn lend_slots(&mut self) -> Box<FieldSlots> {
        self.slots.take().unwrap_or_default()
    }

    pub(super) fn return_slots(&mut self, slots: Box<FieldSlots>) {
        self.slots = Some(slots);
    }

    /// Room for a head that comes as values.
    pub(super) fn lend_fields(&mut self) -> Box<RequestFields> {
        self.fields.take().unwrap_or_default()
    }

    pub(super) fn return_fields(&mut self, fields: Box<RequestFields>) {
        self.fields = Some(fields);
    }

    /// Room for the open streams of connections.
    pub(super) fn spare_rooms(&mut self) -> &mut SpareRooms {
        &mut self.spare_rooms
    }

    /// Room for the fields that stay of a head.
    pub(super) fn lend_slots_that_stay(&mut self) -> Box<FieldSlots> {
        self.slots_that_stay.take().unwrap_or_default()
    }

    pub(super) fn return_slots_that_stay(&mut self, slots: Box<FieldSlots>) {
        self.slots_that_stay = Some(slots);
    }

    pub(super) fn stats_mut(&mut self) -> &mut HttpStats {
        &mut self.stats
    }

    /// Replaces the settings. Open connections use them from their next deadline or head on.
    pub fn set_settings(&mut self, settings: Arc<HttpSettings>) {
        self.settings = settings;
    }

    /// The current settings.
    #[inline]
    pub fn settings(&self) -> &HttpSettings {
        &self.settings
    }

    /// The access log, if there is one.
    pub fn log_mut(&mut self) -> &mut Option<AccessLog> {
        &mut self.log
    }

    /// Counts log lines that were dropped because the disk could not keep up.
    pub fn count_lost_lines(&mut self, lines: u64) {
        self.stats.log_dropped_lines += lines;
    }

    /// Whether connections of a listener begin with a PROXY header.
    pub fn expects_proxy_header(&self, listener: ListenerIndex) -> bool {
        !self.proxy_rules(listener).is_empty()
    }

    /// Whether a connection of a listener may begin with HTTP/2 without encryption.
    pub(super) fn prior_knowledge(&self, listener: ListenerIndex) -> PriorKnowledge {
        let rules = self.settings.listeners.get(usize::from(listener.0));
        rules.map_or(PriorKnowledge::Refused, |rules| rules.prior_knowledge)
    }

    pub(super) fn proxy_rules(&self, listener: ListenerIndex) -> &[Network] {
        let rules = self.settings.listeners.get(usize::from(listener.0));
        rules.map_or(&[], |rules| &rules.proxy_protocol_from)
    }

    /// Counts a request of a trusted proxy that is refused, and says so from time to time.
    pub(super) fn note_malformed_forwarding(&mut self, peer: Peer, now: Now) {
        self.stats.forwarded_refused += 1;
        if now.monotonic_ns < self.complain_again_ns {
            return;
        }
        self.complain_again_ns = now.monotonic_ns.saturating_add(COMPLAINT_INTERVAL_NS);
        diagnostic::write(
            Level::Warn,
            format_args!(
                "requests from the trusted proxy {} are refused ({} so far): their Forwarded and \
                 X-Forwarded fields are malformed or contradict each other; see `trusted_fields`",
                peer.address, self.stats.forwarded_refused
            ),
        );
    }

    /// Sets the value that the application keeps with the request about which it will be asked.
    #[inline]
    pub(super) fn lend_kept(&mut self, kept: Option<Box<dyn Any>>) {
        self.kept = kept;
    }

    /// The value that the application keeps with the request about which it was asked.
    #[inline]
    pub(super) fn take_kept(&mut self) -> Option<Box<dyn Any>> {
        self.kept.take()
    }

    /// The answer that the part just written has begun.
    #[inline]
    pub(super) fn take_begun(&mut self) -> Option<Begun> {
        self.begun.take()
    }

    /// Tells a client that waits before it sends a body to go on.
    pub(super) fn invite(&mut self, encoder: Encoder, output: &mut Output) {
        encoder.go_on(&mut self.parts, output);
    }
}

impl<A: Application> Http<A> {
    /// Tells the application of a request that was answered after so many ticks, if that was long.
    #[inline]
    fn tell_slow(&mut self, request: &Request<'_>, process: ProcessId, status: Status, ticks: u64) {
        if self.settings.slow_ns.is_some() {
            self.tell_if_slow(request, process, status, nanoseconds_of(ticks));
        }
    }

    /// The same of a request that has ended now without its answer, or the end of it.
    pub(crate) fn tell_slow_end(
        &mut self,
        request: &Request<'_>,
        process: ProcessId,
        status: Status,
    ) {
        if self.settings.slow_ns.is_some() {
            let took_ns = moment_ns().saturating_sub(request.begin.began_ns());
            self.tell_if_slow(request, process, status, took_ns);
        }
    }

    fn tell_if_slow(
        &mut self,
        request: &Request<'_>,
        process: ProcessId,
        status: Status,
        took_ns: u64,
    ) {
        if self.settings.slow_ns.is_some_and(|slow_ns| took_ns >= slow_ns) {
            let began_ns = request.begin.began_ns();
            let notes = &self.notes;
            let slow = SlowRequest { process, status, began_ns, took_ns, notes };
            self.application.on_slow(request, &slow);
        }
    }
}
