//! The steps of the site that a trace shows: the route of a request, what lets it in or refuses it, its page, its
//! server, the store.
//!
//! Owns what is said of them. Called only while there is a trace.

use config::route::Found;
use http::{Request, traced};
use runtime::slots::ProcessId;
use runtime::trace::{self, Actor, Kind, What};
use wire::http::status::Status;

const ROUTE: What = What::within("route");
const LET_IN: What = What::within("let in");
const REFUSED: What = What::within("refused");
const PAGE: What = What::between(Actor::Scheduler, Actor::Page, "page begins").begins();
const ORDER: What = What::between(Actor::Scheduler, Actor::Store, "order").begins();
const STORED: What = What::between(Actor::Store, Actor::Scheduler, "done").ends();
const SENT: What = What::between(Actor::Scheduler, Actor::Server, "passed on").begins();
const ANSWERED: What = What::between(Actor::Server, Actor::Scheduler, "answer begins");
const COMPLETE: What = What::between(Actor::Server, Actor::Scheduler, "answer complete").ends();
const FAILED: What = What::between(Actor::Server, Actor::Scheduler, "failed").ends();
const COMMAND: What = What::between(Actor::Client, Actor::Scheduler, "command");
const REPLY: What = What::between(Actor::Scheduler, Actor::Client, "reply");

/// The route of a request is found.
#[cold]
pub(super) fn route(process: ProcessId, found: &Found<'_>) {
    let name = if found.name.is_empty() { "(files)" } else { found.name };
    trace::step(process, ROUTE, format_args!("{name}"));
}

/// The rules of access let a request in.
#[cold]
pub(super) fn let_in(process: ProcessId, request: &Request<'_>, user: Option<&str>) {
    let user = user.unwrap_or_default();
    traced::know(Kind::User, process, request, format_args!("{user}"));
    trace::step(process, LET_IN, format_args!("{user}"));
}

/// A request is refused.
#[cold]
pub(super) fn refused(process: ProcessId, status: Status) {
    trace::step(process, REFUSED, format_args!("{}", status.code()));
}

/// A page begins to answer a request.
#[cold]
pub(super) fn page(process: ProcessId, request: &Request<'_>, file: &str) {
    traced::know(Kind::Page, process, request, format_args!("{file}"));
    trace::step(process, PAGE, format_args!("{file}"));
}

/// A request is about a key of the store.
#[cold]
pub(super) fn key(process: ProcessId, request: &Request<'_>, key: &[u8]) {
    let key = String::from_utf8_lossy(key);
    traced::know(Kind::Key, process, request, format_args!("{key}"));
}

/// A process orders a change of the store.
#[cold]
pub(super) fn order(process: ProcessId) {
    trace::step(process, ORDER, format_args!(""));
}

/// The writer of the store has answered a process.
#[cold]
pub(super) fn stored(process: ProcessId, is_done: Result<(), &store::Failure>) {
    match is_done {
        Ok(()) => trace::step(process, STORED, format_args!("")),
        Err(failure) => trace::step(process, STORED, format_args!("failed: {failure}")),
    }
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
pub(super) fn failed(process: ProcessId, failure: &client::Failure) {
    trace::step(process, FAILED, format_args!("{failure}"));
}

/// A Redis client sends a command, perhaps about a key.
#[cold]
pub(crate) fn command(process: ProcessId, verb: &[u8], key: &[u8]) {
    let (verb, key) = (String::from_utf8_lossy(verb), String::from_utf8_lossy(key));
    trace::end(process);
    trace::offer(Kind::Key, process, format_args!("{key}"));
    let (verb, shown) = (verb.to_uppercase(), if trace::names_keys() { &*key } else { "" });
    trace::step_of_two(process, COMMAND, (format_args!("{verb}"), format_args!("{verb} {shown}")));
}

/// The command is replied to.
#[cold]
pub(crate) fn reply(process: ProcessId) {
    trace::step(process, REPLY, format_args!(""));
    trace::end(process);
}
