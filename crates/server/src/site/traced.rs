//! The steps of the site that a trace shows: the route of a request, what lets it in or refuses it, its page, its
//! server, the store.
//!
//! Owns what is said of them. Called only while there is a trace.

use config::route::FoundRoute;
use http::{Request, traced};
use runtime::slots::ProcessId;
use runtime::trace::{self, Actor, StepAction, TracedKind};
use wire::http::status::Status;

const ROUTE: StepAction = StepAction::within("route");
const LET_IN: StepAction = StepAction::within("let in");
const REFUSED: StepAction = StepAction::within("refused");
const PAGE: StepAction = StepAction::between(Actor::Scheduler, Actor::Page, "page begins").begins();
const SENT: StepAction = StepAction::between(Actor::Scheduler, Actor::Server, "passed on").begins();
const ANSWERED: StepAction = StepAction::between(Actor::Server, Actor::Scheduler, "answer begins");
const COMPLETE: StepAction =
    StepAction::between(Actor::Server, Actor::Scheduler, "answer complete").ends();
const FAILED: StepAction = StepAction::between(Actor::Server, Actor::Scheduler, "failed").ends();

/// The route of a request is found.
#[cold]
pub(super) fn route(process: ProcessId, found: &FoundRoute<'_>) {
    let name = if found.terms.name.is_empty() { "(files)" } else { &found.terms.name };
    trace::step(process, ROUTE, format_args!("{name}"));
}

/// The rules of access let a request in.
#[cold]
pub(super) fn let_in(process: ProcessId, request: &Request<'_>, user: Option<&str>) {
    let user = user.unwrap_or_default();
    traced::know(TracedKind::User, process, request, format_args!("{user}"));
    trace::step(process, LET_IN, format_args!("{user}"));
}

/// A request is refused.
#[cold]
pub(super) fn refused(process: ProcessId, status: Status) {
    trace::step(process, REFUSED, format_args!("{}", status.code()));
}

/// A page begins to answer a request. It has two names.
#[cold]
pub(super) fn page(process: ProcessId, request: &Request<'_>, names: &[String; 2]) {
    let all = names.iter().map(String::as_bytes);
    traced::know_one_of(TracedKind::Page, process, request, all);
    let [file, _] = names;
    trace::step(process, PAGE, format_args!("{file}"));
}

/// A request is about a key of the store.
#[cold]
pub(super) fn key(process: ProcessId, request: &Request<'_>, key: &[u8]) {
    let key = String::from_utf8_lossy(key);
    traced::know(TracedKind::Key, process, request, format_args!("{key}"));
}

/// A request is passed on to a server of an upstream.
#[cold]
pub(super) fn sent(process: ProcessId, upstream: &str, server: &str) {
    trace::step(process, SENT, format_args!("{upstream}, {server}"));
}

/// Its answer begins.
#[cold]
pub(super) fn answered(process: ProcessId, status: u16) {
    trace::step(process, ANSWERED, format_args!("{status}"));
}

/// Its answer is complete.
#[cold]
pub(super) fn complete(process: ProcessId) {
    trace::step(process, COMPLETE, format_args!(""));
}

/// The server has failed.
#[cold]
pub(super) fn failed(process: ProcessId, failure: &client::ExchangeFailure) {
    trace::step(process, FAILED, format_args!("{failure}"));
}
