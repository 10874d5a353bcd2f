//! Upstreams, and the requests on their way to their servers.
//!
//! Owns the shapes. `upstreams` has the upstreams of this scheduler, `carried` what is known of one request on its way,
//! `desk` all of them. `dispatch` gives a request a server, `upload` hands on its body, `failing` says what a failure
//! means. What a server is told of a client before the first byte is in `introduction`, what is changed in heads is in
//! `request_head` and `answer_head`, and `upgrade` says to which protocols both may change. Which server is chosen is
//! the decision of the crate `proxy`; the exchange with it belongs to `client`. The site's side is in `proxied`.

pub(in crate::site) mod answer_head;
pub(in crate::site) mod carried;
mod checks;
mod desk;
mod dispatch;
pub(in crate::site) mod failing;
pub(in crate::site) mod hop;
pub(in crate::site) mod introduction;
mod log_gate;
pub(in crate::site) mod question;
pub(in crate::site) mod request_head;
mod same_servers;
mod schedule;
mod sticky;
pub(in crate::site) mod target;
pub(in crate::site) mod upgrade;
mod upload;
mod upstreams;

use std::collections::VecDeque;

use client::{ExchangeId, ForwardTarget, ResponseHead};
use metric::Histogram;
use proxy::{ServerIndex, ServerPreference, Upstream};
use runtime::slots::ProcessId;
use wire::proxy::ProxiedClient;

use self::carried::{Idempotence, Parcel, Refused, Stage, Upload};
use self::log_gate::LogGate;
use self::schedule::Schedule;
use self::upstreams::UpstreamId;

pub(crate) use self::carried::Tunnelled;
pub(crate) use self::desk::Proxies;

/// A request that a server of an upstream answers.
#[derive(Debug)]
pub(in crate::site) struct Carried {
    /// `None`: a reload has removed it.
    upstream: Option<UpstreamId>,
    wish: ServerPreference,
    /// The client.
    client: ProxiedClient,
    /// Servers that have failed it, in this order.
    met: Vec<ServerIndex>,
    /// How many times it was sent again.
    repeats: u64,
    /// When it came.
    began_ns: u64,
    /// The server at which it has a place.
    place: Option<Place>,
    exchange: Option<ExchangeId>,
    stage: Stage,
    /// The question whether it may pass, if that is asked here and it does not go on itself.
    question: Option<Box<Parcel>>,
    /// Its body; `None`: it has none.
    upload: Option<Box<Upload>>,
    /// Heads of an answer that came before the end of the body and were not passed on yet.
    early: VecDeque<ResponseHead>,
    idempotence: Idempotence,
    /// The failure at the last server, if there was one.
    failed: Option<Refused>,
}

/// A place at a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    upstream: UpstreamId,
    server: ServerIndex,
    /// When the request got it.
    since_ns: u64,
    /// How long the first byte of the answer took since the request was sent, once it is there.
    first_byte_ns: Option<u64>,
    /// How long it took until the head of the answer was there.
    answered_ns: Option<u64>,
    /// How long the connection took.
    connect_ns: Option<u64>,
    /// The status of the answer.
    status: Option<u16>,
    /// Whether the health of the server knows of an answer that counts as a failure.
    has_failed: bool,
}

/// An upstream.
#[derive(Debug)]
pub(in crate::site) struct Live {
    config: config::UpstreamSettings,
    servers: Upstream<ProcessId>,
    gate: LogGate,
    schedule: Schedule,
    /// A place to connect to for each server; `None`: it cannot be connected to, and the reason was told.
    endpoints: Vec<Option<ForwardTarget>>,
    /// Whether a reload has removed or changed it: no new requests come.
    is_former: bool,
    /// How long its servers took for the heads of their answers, or until they failed.
    times: Option<Histogram>,
}
