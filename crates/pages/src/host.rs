//! A request as its page sees it: each part is read from the head when the page uses it.
//!
//! Owns the reading of forms. Never keeps anything: the request is lent for one call.

use std::cell::RefCell;
use std::time::Duration;

use config::HostName;
use http::{FieldList, Request};
use quota::{Limiter, QuotaDecision};
use runtime::clock::Now;
use runtime::diagnostic;
use runtime::slots::ProcessId;
use runtime::trace::{self, TracedKind};
use script::engine::{self, HostAnswer, PageHost, PageLogLevel, PublishedValue, RequestPart};
use wire::http::link::check_link;

use super::log_gate::{GatedWriter, LineWriter, LogGate};
use super::publications::Publications;
use super::records::StoreRecords;
use super::request_parts::{FIELDS_SEEN, each_argument, each_cookie, list_headers, list_values};
use super::secured::{self, scheme_of};
use super::traced;
use crate::uploads::UploadForm;

/// The host of one call of a page.
pub struct RequestHost<'a> {
    /// The process of the request.
    pub process: ProcessId,
    /// The request.
    pub request: &'a Request<'a>,
    /// The path, decoded.
    pub path: &'a str,
    /// The part of it after the prefix of a module's route.
    pub rest: &'a str,
    /// The writer of its log lines.
    pub writer: GatedWriter<'a>,
    /// The turn's time.
    pub now: Now,
    /// The name of its host, if it is one of `[[host]]`.
    pub site: Option<&'a HostName>,
    /// The user whom the rules of access have let in, if one was asked for.
    pub user: Option<&'a str>,
    /// The form with files in its body.
    pub form: Option<&'a UploadForm>,
    /// The limits that it uses.
    pub limiter: &'a RefCell<Limiter>,
    /// Receives the messages it publishes.
    pub publications: &'a Publications,
    /// Reads the store.
    pub records: &'a StoreRecords,
    /// The links that the page gives its client before the answer, as fields.
    pub hints: FieldList,
}

/// The host of modules while they are loaded: there is no request.
pub(super) struct LoadHost {
    now: Duration,
    log: LoadLog,
}

/// Whether lines that modules log while they are loaded are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoadLog {
    /// Yes, once, by the code that reads the modules.
    Told,
    /// No, they were written already.
    Dropped,
}

impl LoadHost {
    /// A host at this time.
    pub(super) fn new(unix_seconds: u64, log: LoadLog) -> Self {
        Self { now: Duration::from_secs(unix_seconds), log }
    }
}

impl PageHost for LoadHost {
    fn request(&mut self, _part: RequestPart, _answer: &mut HostAnswer) {}

    fn now(&mut self) -> Duration {
        self.now
    }

    fn log(&mut self, level: PageLogLevel, text: &[u8]) {
        if self.log == LoadLog::Told {
            diagnostic::write(diagnostic_level(level), format_args!("app: {}", shown(text)));
        }
    }
}

impl PageHost for RequestHost<'_> {
    fn request(&mut self, part: RequestPart, answer: &mut HostAnswer) {
        let request = self.request;
        match part {
            RequestPart::Method => answer.text(request.method().as_str().as_bytes()),
            RequestPart::Path => answer.text(self.path.as_bytes()),
            RequestPart::Rest => answer.text(self.rest.as_bytes()),
            RequestPart::QueryText => answer.text(request.query().unwrap_or_default().as_bytes()),
            RequestPart::Query => {
                answer.fields();
                let query = request.query().unwrap_or_default().as_bytes();
                each_argument(query, |name, value| answer.field(name, value));
            }
            RequestPart::QueryLists => {
                let query = request.query().unwrap_or_default().as_bytes();
                list_values(answer, |take| each_argument(query, take));
            }
            RequestPart::Headers => list_headers(request.head.fields.iter(), answer),
            RequestPart::Cookies => {
                answer.fields();
                each_cookie(request.head.fields.iter(), |name, value| answer.field(name, value));
            }
            RequestPart::CookieLists => {
                list_values(answer, |take| each_cookie(request.head.fields.iter(), take));
            }
            RequestPart::Body => answer.text(request.body),
            RequestPart::Trailers => {
                let none = FieldList::new();
                list_headers(request.trailers.unwrap_or(&none).fields().iter(), answer);
            }
            RequestPart::Form => {
                answer.fields();
                self.each_form_field(|name, value| answer.field(name, value));
            }
            RequestPart::FormLists => list_values(answer, |take| self.each_form_field(take)),
            RequestPart::Files => {
                answer.fields();
                if let Some(form) = self.form {
                    list_files(form, answer);
                }
            }
            RequestPart::Peer => answer.text(request.peer.address.to_string().as_bytes()),
            RequestPart::Scheme => answer.text(scheme_of(request.scheme())),
            RequestPart::Tls => secured::tell(request.secured, answer),
            RequestPart::Id => answer.text(request.id().as_bytes()),
            RequestPart::Trace => {
                if let Some(trace) = request.trace() {
                    answer.text(trace.to_string().as_bytes());
                }
            }
            RequestPart::User => {
                if let Some(user) = self.user {
                    answer.text(user.as_bytes());
                }
            }
            // Only a module that is asked about a channel sees these (`asking`).
            RequestPart::Channel | RequestPart::Message | RequestPart::Claims => {}
        }
    }

    fn now(&mut self) -> Duration {
        Duration::from_millis(self.now.unix_ms())
    }

    fn clock(&mut self) -> Duration {
        Duration::from_nanos(sys::clock::monotonic_ns())
    }

    fn site(&mut self, name: &mut Vec<u8>) {
        if let Some(site) = self.site {
            name.extend_from_slice(site.to_string().as_bytes());
        }
    }

    fn pass_on(&mut self, fields: &mut Vec<u8>) {
        traced::pass_on(self.request, fields);
    }

    fn take_limit(&mut self, name: &[u8], key: &[u8]) -> Option<Duration> {
        let mut limiter = self.limiter.borrow_mut();
        let limit = limiter.find(name)?;
        let key = limiter.key(limit, ("page", key));
        match limiter.take_for_page(limit, key, self.now.monotonic_ns) {
            QuotaDecision::Allowed => Some(Duration::ZERO),
            QuotaDecision::After(wait) | QuotaDecision::Refused(wait) => Some(wait),
        }
    }

    fn hint(&mut self, link: &[u8]) -> Result<(), String> {
        check_link(link).map_err(|why| why.to_string())?;
        self.hints.add("Link", link).map_err(|why| why.to_string())
    }

    fn publish(&mut self, channel: &[u8], value: PublishedValue<'_>) -> Result<(), String> {
        self.publications.publish(channel, value)
    }

    fn record(
        &mut self,
        database: &[u8],
        key: &[u8],
        answer: &mut HostAnswer,
    ) -> Result<(), String> {
        if trace::is_on() {
            traced::reads(self.process, self.request, key);
        }
        self.records.record(database, key, self.now.unix_ms(), answer)
    }

    fn orders(&mut self, keys: &mut dyn Iterator<Item = &[u8]>) {
        http::traced::know_one_of(TracedKind::Key, self.process, self.request, keys);
    }

    fn records(
        &mut self,
        wanted: engine::RecordScan<'_>,
        answer: &mut HostAnswer,
    ) -> Result<(), String> {
        if trace::is_on() {
            traced::reads(self.process, self.request, wanted.prefix);
        }
        self.records.records(wanted, self.now.unix_ms(), answer)
    }

    fn log(&mut self, level: PageLogLevel, text: &[u8]) {
        write_line(level, self.writer, self.path, text);
    }
}

impl RequestHost<'_> {
    fn each_form_field(&self, mut take: impl FnMut(&[u8], &[u8])) {
        for (name, value) in self.form.iter().flat_map(|form| form.fields()).take(FIELDS_SEEN) {
            take(name, value);
        }
        if is_form(self.request) {
            for (name, value) in form_urlencoded::parse(self.request.body).take(FIELDS_SEEN) {
                take(name.as_bytes(), value.as_bytes());
            }
        }
    }
}

/// The properties of a form's files, by number and kind.
fn list_files(form: &UploadForm, answer: &mut HostAnswer) {
    let files = form.files();
    answer.field(b"form", form.number().to_string().as_bytes());
    answer.field(b"count", files.len().to_string().as_bytes());
    for (number, file) in (1..).zip(files).take(FIELDS_SEEN) {
        let mut fact = |what: &str, value: &[u8]| {
            answer.field(format!("{number}.{what}").as_bytes(), value);
        };
        fact("field", &file.field);
        fact("name", &file.name);
        if !file.media_type.is_empty() {
            fact("type", &file.media_type);
        }
        fact("size", file.size.to_string().as_bytes());
    }
}

/// The host of code that answers no request, or whose request has ended. Plain data.
pub(super) struct BackgroundHost<'a> {
    /// The file of its page.
    pub(crate) file: &'a str,
    /// The rate limit for its log lines.
    pub(crate) gate: &'a LogGate,
    /// Receives the messages it publishes.
    pub(crate) publications: &'a Publications,
    /// Reads the store.
    pub(crate) records: &'a StoreRecords,
    /// Milliseconds since 1970.
    pub(crate) unix_ms: u64,
}

impl PageHost for BackgroundHost<'_> {
    fn request(&mut self, _part: RequestPart, answer: &mut HostAnswer) {
        answer.refuse();
    }

    fn now(&mut self) -> Duration {
        Duration::from_millis(self.unix_ms)
    }

    fn clock(&mut self) -> Duration {
        Duration::from_nanos(sys::clock::monotonic_ns())
    }

    fn publish(&mut self, channel: &[u8], value: PublishedValue<'_>) -> Result<(), String> {
        self.publications.publish(channel, value)
    }

    fn record(
        &mut self,
        database: &[u8],
        key: &[u8],
        answer: &mut HostAnswer,
    ) -> Result<(), String> {
        self.records.record(database, key, self.unix_ms, answer)
    }

    fn records(
        &mut self,
        wanted: engine::RecordScan<'_>,
        answer: &mut HostAnswer,
    ) -> Result<(), String> {
        self.records.records(wanted, self.unix_ms, answer)
    }

    fn log(&mut self, level: PageLogLevel, text: &[u8]) {
        let writer = self.gate.of(LineWriter::Processes(self.file));
        write_line(level, writer, self.file, text);
    }
}

/// Writes a line to a page's log.
pub(super) fn write_line(level: PageLogLevel, writer: GatedWriter<'_>, name: &str, text: &[u8]) {
    let level = diagnostic_level(level);
    if writer.admits(level, name, text.len()) {
        diagnostic::write(level, format_args!("{name}: {}", shown(text)));
    }
}

/// The text of a page's log line, in one line.
fn shown(text: &[u8]) -> String {
    String::from_utf8_lossy(text).replace(char::is_control, " ")
}

fn diagnostic_level(level: PageLogLevel) -> diagnostic::Level {
    match level {
        PageLogLevel::Debug => diagnostic::Level::Debug,
        PageLogLevel::Info => diagnostic::Level::Info,
        PageLogLevel::Warning => diagnostic::Level::Warn,
        PageLogLevel::Error => diagnostic::Level::Error,
    }
}

/// Whether the body is a form in the default encoding of browsers.
fn is_form(request: &Request<'_>) -> bool {
    let media_type = request.field("content-type").unwrap_or_default();
    let essence = media_type.split(|byte| *byte == b';').next().unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(b"application/x-www-form-urlencoded")
}
