//! The trace to which a request belongs, told to the servers that its page asks; and the steps of pages that a trace of
//! this server shows.
//!
//! Owns which fields say so, and what is said of a step. A request that says nothing of a trace passes nothing on.

use std::fmt;

use actors::RunKey;
use http::Request;
use runtime::slots::ProcessId;
use runtime::trace::{self, Actor, StepAction, TracedKind};
use store::Order;
use wire::http::trace_context::{TRACE_PARENT, TRACE_STATE};

use crate::fetch::{ExchangeFailure, FetchRequest, Got, fields as lines};

pub(super) const WAITS: StepAction =
    StepAction::between(Actor::Page, Actor::Scheduler, "waits for");
pub(super) const GOES_ON: StepAction =
    StepAction::between(Actor::Scheduler, Actor::Page, "goes on");
pub(super) const ENDS: StepAction =
    StepAction::between(Actor::Page, Actor::Scheduler, "page ends").ends();
pub(super) const FAILS: StepAction =
    StepAction::between(Actor::Page, Actor::Scheduler, "page fails").ends();
const FETCHES: StepAction = StepAction::between(Actor::Page, Actor::Server, "fetch").begins();
const FETCHED: StepAction = StepAction::between(Actor::Server, Actor::Page, "fetched").ends();
const ORDERS: StepAction = StepAction::between(Actor::Page, Actor::Store, "order").begins();
pub(super) const ORDERED: StepAction =
    StepAction::between(Actor::Store, Actor::Page, "done").ends();
const READS: StepAction = StepAction::between(Actor::Page, Actor::Store, "reads");

/// Adds what a request says of its trace to the fields of one that its page sends, each as two lines. A page that sets
/// its own says what is true.
pub(super) fn pass_on(request: &Request<'_>, fields: &mut Vec<u8>) {
    let Some(parent) = request.parent_of_others() else { return };
    let is_parent = |name: &[u8]| name.eq_ignore_ascii_case(TRACE_PARENT.as_bytes());
    if lines(fields).any(|(name, _)| is_parent(name)) {
        return;
    }
    let mut add = |name: &str, value: &[u8]| {
        for part in [name.as_bytes(), b"\n", value, b"\n"] {
            fields.extend_from_slice(part);
        }
    };
    add(TRACE_PARENT, parent.to_string().as_bytes());
    for state in request.head.fields.all(TRACE_STATE) {
        add(TRACE_STATE, state);
    }
}

/// A page answers a request, or talks with its client, and makes a step.
#[inline]
pub(super) fn note(key: RunKey, what: StepAction, detail: fmt::Arguments<'_>) {
    if let (RunKey::Request(process) | RunKey::Socket(process), true) = (key, trace::is_noting()) {
        trace::step(process, what, detail);
    }
}

/// A page asks another server. Its query is not shown, because it may have a key.
#[cold]
pub(super) fn fetch(key: RunKey, asked: &FetchRequest) {
    let url = String::from_utf8_lossy(&asked.url);
    let url = url.split(['?', '#']).next().unwrap_or_default();
    note(key, FETCHES, format_args!("{} {url}", asked.method));
}

/// Another server has answered a page, or a part of it.
#[cold]
pub(super) fn fetched(key: RunKey, result: &Result<Got, ExchangeFailure>) {
    match result {
        Ok(Got::Whole(answer) | Got::Head(answer)) => {
            note(key, FETCHED, format_args!("{}", answer.status));
        }
        Ok(Got::Piece(piece)) => note(key, FETCHED, format_args!("{} bytes", piece.len())),
        Ok(Got::End) => note(key, FETCHED, format_args!("the end")),
        Err(failure) => note(key, FETCHED, format_args!("failed: {failure}")),
    }
}

/// A page orders a change of the store.
#[cold]
pub(super) fn orders(key: RunKey, order: &Order) {
    if let (RunKey::Request(process) | RunKey::Socket(process), true) = (key, trace::is_noting()) {
        let count = order.steps.len();
        let first = order.keys().next().filter(|_| trace::names_keys());
        let first = String::from_utf8_lossy(first.map_or(b"", |(_, key)| key));
        let plain = format_args!("{count} steps");
        trace::step_of_two(process, ORDERS, plain, format_args!("{count} steps {first}"));
    }
}

/// A page reads keys of the store, or one.
#[cold]
pub(super) fn reads(process: ProcessId, request: &Request<'_>, key: &[u8]) {
    let key = String::from_utf8_lossy(key);
    http::traced::know(TracedKind::Key, process, request, format_args!("{key}"));
    let shown = if trace::names_keys() { &*key } else { "" };
    trace::step_of_two(process, READS, format_args!(""), format_args!("{shown}"));
}
