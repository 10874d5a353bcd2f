//! One request on its way to a server and back.
//!
//! Owns what is known of it between two calls. Never sends or receives.

use std::collections::VecDeque;
use std::net::IpAddr;

use client::{ExchangeId, HeadWriter, OutgoingBody, ResponseHead};
use http::{FieldList, Fields, Method};
use proxy::{RequestOutcome, ServerIndex, ServerPreference};
use wire::proxy::ProxiedClient;

use super::hop::names;
use super::upstreams::UpstreamId;
use crate::limits::PROXY_REPLAY_SIZE;

/// A request that a server of an upstream answers.
#[derive(Debug)]
pub(in crate::site) struct Carried {
    /// `None`: a reload has removed it.
    pub(in crate::site) upstream: Option<UpstreamId>,
    pub(in crate::site) wish: ServerPreference,
    /// The client.
    pub(in crate::site) client: ProxiedClient,
    /// Servers that have failed it, in this order.
    pub(in crate::site) met: Vec<ServerIndex>,
    /// How many times it was sent again.
    pub(in crate::site) repeats: u64,
    /// When it came.
    pub(in crate::site) began_ns: u64,
    /// The server at which it has a place.
    pub(in crate::site) place: Option<Place>,
    pub(in crate::site) exchange: Option<ExchangeId>,
    pub(in crate::site) stage: Stage,
    /// The question whether it may pass, if that is asked here and it does not go on itself.
    pub(in crate::site) question: Option<Box<Parcel>>,
    /// Its body; `None`: it has none.
    pub(in crate::site) upload: Option<Box<Upload>>,
    /// Heads of an answer that came before the end of the body and were not passed on yet.
    pub(in crate::site) early: VecDeque<ResponseHead>,
    pub(in crate::site) idempotence: Idempotence,
    /// The failure at the last server, if there was one.
    pub(in crate::site) failed: Option<Refused>,
}

/// Whether a request does no harm twice (RFC 9110 section 9.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::site) enum Idempotence {
    Yes,
    No,
}

impl Idempotence {
    pub(in crate::site) fn of(method: Method) -> Self {
        match method {
            Method::Get | Method::Head | Method::Put | Method::Delete | Method::Options => {
                Self::Yes
            }
            Method::Post | Method::Patch => Self::No,
        }
    }
}

/// A place at a server.
#[derive(Clone, Copy, Debug)]
pub(in crate::site) struct Place {
    pub(in crate::site) upstream: UpstreamId,
    pub(in crate::site) server: ServerIndex,
    /// When the request got it.
    pub(in crate::site) since_ns: u64,
    /// How long the first byte of the answer took since the request was sent, once it is there.
    pub(in crate::site) first_byte_ns: Option<u64>,
    /// How long it took until the head of the answer was there.
    pub(in crate::site) answered_ns: Option<u64>,
    /// How long the connection took.
    pub(in crate::site) connect_ns: Option<u64>,
    /// The status of the answer.
    pub(in crate::site) status: Option<u16>,
    pub(in crate::site) judged: Judged,
}

/// Whether the health of a server knows of an answer that counts as a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::site) enum Judged {
    No,
    Failed,
}

/// How far a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::site) enum Stage {
    /// It waits for a place at a server.
    InLine,
    /// A server has it.
    Sent,
    /// It has waited for a place too long.
    TooLate,
    /// It is refused, for this reason.
    Refused(Refused),
}

/// Why a request has no answer of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::site) enum Refused {
    /// No server takes requests, or too many requests wait for one.
    Busy,
    /// The server failed.
    Failed,
    /// It took too long.
    TooLate,
    /// The request cannot be passed on.
    Request,
}

/// The request as any server of the upstream gets it.
#[derive(Clone, Debug)]
pub(in crate::site) struct Parcel {
    pub(in crate::site) method: &'static str,
    pub(in crate::site) head: HeadWriter,
    pub(in crate::site) body: OutgoingBody,
    pub(in crate::site) upgrade: Option<String>,
}

/// The body of a request while it arrives.
#[derive(Debug)]
pub(in crate::site) struct Upload {
    pub(in crate::site) parcel: Parcel,
    /// Bytes that have arrived and that the exchange has not taken.
    rest: Vec<u8>,
    /// Everything that has arrived, for another server; `None` once it is too much.
    replay: Option<Vec<u8>>,
    pub(in crate::site) progress: Progress,
    /// The values of `Connection` of the request.
    connection: Box<[u8]>,
    /// The fields behind it, for any server.
    trailers: FieldList,
}

/// How much of a body has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::site) enum Progress {
    Arriving,
    /// All of it.
    Over,
    /// The rest will not be read, so a server must not take it for whole.
    Cut,
}

impl Upload {
    /// The body of a request with these fields.
    pub(in crate::site) fn new(parcel: Parcel, fields: &Fields<'_, '_>) -> Self {
        let (rest, replay, progress) = (Vec::new(), Some(Vec::new()), Progress::Arriving);
        let connection = match fields.has("connection") {
            true => fields.all("connection").collect::<Vec<_>>().join(&b","[..]).into(),
            false => Box::default(),
        };
        Self { parcel, rest, replay, progress, connection, trailers: FieldList::new() }
    }

    /// All of it has arrived, and these fields behind it. Those that are for one connection are not passed on (RFC
    /// 9110, 7.6.1).
    pub(in crate::site) fn end(&mut self, trailers: &FieldList) {
        self.progress = Progress::Over;
        for (name, value) in trailers.fields().iter() {
            if !names(&self.connection, name) {
                // It fits, because the whole list did.
                let _fits = self.trailers.add(name, value);
            }
        }
    }

    /// The fields behind it that are passed on.
    pub(in crate::site) fn trailers(&self) -> &FieldList {
        &self.trailers
    }

    /// A piece has arrived.
    pub(in crate::site) fn add(&mut self, piece: &[u8]) {
        self.rest.extend_from_slice(piece);
        if let Some(replay) = &mut self.replay {
            if replay.len() + piece.len() <= PROXY_REPLAY_SIZE {
                replay.extend_from_slice(piece);
            } else {
                self.replay = None;
            }
        }
    }

    /// Hands on what has arrived, and keeps what is not taken.
    pub(in crate::site) fn hand_on(&mut self, take: impl FnOnce(&[u8]) -> usize) -> Handed {
        let taken = take(&self.rest).min(self.rest.len());
        if taken == self.rest.len() {
            // An upload may be slow, so an empty buffer keeps no memory.
            self.rest = Vec::new();
            return Handed::All;
        }
        self.rest.drain(..taken);
        Handed::Part
    }

    /// Begins again, for another server. `false`: what has arrived is no longer there.
    pub(in crate::site) fn rewind(&mut self) -> bool {
        let Some(replay) = &self.replay else { return false };
        self.rest.clone_from(replay);
        true
    }

    /// Whether it can begin again.
    pub(in crate::site) fn is_whole(&self) -> bool {
        self.replay.is_some()
    }

    /// Bytes that it holds.
    pub(in crate::site) fn held_bytes(&self) -> usize {
        let replayed = self.replay.as_ref().map_or(0, Vec::capacity);
        self.rest.capacity() + replayed + self.connection.len() + self.trailers.cost()
    }
}

/// Whether everything was handed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::site) enum Handed {
    All,
    Part,
}

impl Carried {
    /// A request that has just come.
    pub(in crate::site) fn of(
        wished: Option<(UpstreamId, ServerPreference)>,
        client: ProxiedClient,
        idempotence: Idempotence,
        now_ns: u64,
    ) -> Self {
        let (upstream, wish) = wished.unzip();
        Self {
            upstream,
            wish: wish.unwrap_or_default(),
            client,
            met: Vec::new(),
            repeats: 0,
            began_ns: now_ns,
            place: None,
            exchange: None,
            stage: Stage::InLine,
            question: None,
            upload: None,
            early: VecDeque::new(),
            idempotence,
            failed: None,
        }
    }
}

impl Place {
    /// A request gets a place.
    pub(in crate::site) fn new(upstream: UpstreamId, server: ServerIndex, now_ns: u64) -> Self {
        Self {
            upstream,
            server,
            since_ns: now_ns,
            first_byte_ns: None,
            answered_ns: None,
            connect_ns: None,
            status: None,
            judged: Judged::No,
        }
    }

    /// The verdict of the answer on the server, now that it has ended.
    pub(in crate::site) fn outcome(&self) -> RequestOutcome {
        match (self.judged, self.first_byte_ns) {
            (Judged::Failed, _) => RequestOutcome::Failed,
            (Judged::No, Some(first_byte_ns)) => RequestOutcome::Answered { first_byte_ns },
            (Judged::No, None) => RequestOutcome::Abandoned,
        }
    }
}

impl Carried {
    /// Whether a server has begun to answer.
    pub(in crate::site) fn is_answered(&self) -> bool {
        self.early.back().is_some_and(|head| head.status >= 200)
            || self.place.is_some_and(|place| place.first_byte_ns.is_some())
    }
}

/// A connection that has changed to another protocol, between a client and a server.
#[derive(Debug)]
pub(crate) struct Tunnelled {
    /// The exchange with the server.
    pub(crate) exchange: ExchangeId,
    /// The address of the client.
    pub(crate) client: IpAddr,
    pub(in crate::site) place: Place,
}
