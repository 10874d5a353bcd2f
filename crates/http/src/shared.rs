//! What all HTTP connections of one scheduler share.
//!
//! Owns the application, the settings, the prepared reply pieces, the log and the counters. Never
//! handles an event of a connection.

use std::sync::Arc;

use runtime::service::ListenerIndex;
use runtime::slots::ProcessId;
use wire::http::head::FieldSlots;
use wire::network::Network;

use super::log::AccessLog;
use super::pending::CutShort;
use super::reply::ReplyParts;
use super::settings::Settings;
use super::stats::HttpStats;
use super::stream::Begun;

/// The HTTP service of one scheduler. A service with several protocols contains one and forwards the events of HTTP connections
/// to it.
///
/// The example of [`AccessLog`] makes one by hand; [`App::into_service`](crate::App::into_service) makes one of an app.
pub struct Http<A> {
    pub(super) application: A,
    pub(super) settings: Arc<Settings>,
    pub(super) parts: ReplyParts,
    pub(super) log: Option<AccessLog>,
    pub(super) stats: HttpStats,
    /// Room for the fields of the head that is being parsed; `None` while it is lent.
    slots: Option<Box<FieldSlots>>,
    /// The process of the connection that ran last: when that ends with a panic, it is what the application was asked about.
    pub(super) last: ProcessId,
    /// What the part that was just written began. Not in the outcome, which every answer has.
    pub(super) begun: Option<Begun>,
    /// Processes whose client has taken a part.
    pub(super) taken: Vec<ProcessId>,
    /// Answers to be logged as they are.
    pub(super) cut_short: Vec<CutShort>,
}

impl<A> Http<A> {
    /// A service whose requests this application answers.
    pub fn new(application: A, settings: Arc<Settings>, log: Option<AccessLog>) -> Self {
        Self {
            application,
            settings,
            parts: ReplyParts::new(),
            log,
            stats: HttpStats::default(),
            slots: None,
            last: ProcessId::from_bits(0),
            begun: None,
            taken: Vec::new(),
            cut_short: Vec::new(),
        }
    }

    /// The application.
    pub fn application(&self) -> &A {
        &self.application
    }

    /// The application, to change it.
    pub fn application_mut(&mut self) -> &mut A {
        &mut self.application
    }

    /// What was counted.
    pub fn stats(&self) -> &HttpStats {
        &self.stats
    }

    /// Room for a head's fields: made once, because clearing it for every request would cost more than parsing.
    pub(super) fn lend_slots(&mut self) -> Box<FieldSlots> {
        self.slots.take().unwrap_or_default()
    }

    pub(super) fn return_slots(&mut self, slots: Box<FieldSlots>) {
        self.slots = Some(slots);
    }

    pub(super) fn stats_mut(&mut self) -> &mut HttpStats {
        &mut self.stats
    }

    /// Replaces the settings; open connections meet them at their next deadline or head.
    pub fn set_settings(&mut self, settings: Arc<Settings>) {
        self.settings = settings;
    }

    /// The settings in force.
    #[inline]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The access log, if there is one.
    pub fn log_mut(&mut self) -> &mut Option<AccessLog> {
        &mut self.log
    }

    /// Counts log lines that had to be dropped because the disk could not follow.
    pub fn count_lost_lines(&mut self, lines: u64) {
        self.stats.log_dropped_lines += lines;
    }

    pub(super) fn proxy_rules(&self, listener: ListenerIndex) -> &[Network] {
        let rules = self.settings.listeners.get(usize::from(listener.0));
        rules.map_or(&[], |rules| &rules.proxy_protocol_from)
    }
}
