//! One request on its way to a server and back.
//!
//! Owns what is known of it between two calls. Never sends or receives.

use std::collections::VecDeque;
use std::net::IpAddr;

use client::{ExchangeFailure, ExchangeId, HeadWriter, OutgoingBody};
use config::HeaderEdits;
use http::{FieldList, Fields, Method};
use proxy::{RequestOutcome, ServerIndex, ServerPreference};
use wire::proxy::ProxiedClient;

use super::hop::HopFields;
use super::upstreams::UpstreamId;
use super::{Carried, Place};
use crate::limits::PROXY_REPLAY_SIZE;

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

/// The request as any server of the upstream gets it. Plain data.
#[derive(Clone, Debug)]
pub(crate) struct Parcel {
    pub(crate) method: &'static str,
    pub(crate) head: HeadWriter,
    pub(crate) body: OutgoingBody,
    pub(crate) upgrade: Option<String>,
}

/// The body of a request while it arrives.
#[derive(Debug)]
pub(in crate::site) struct Upload {
    parcel: Parcel,
    /// Bytes that have arrived and that the exchange has not taken.
    rest: Vec<u8>,
    /// Everything that has arrived, for another server; `None` once it is too much and a server may have got some of
    /// it.
    replay: Option<Vec<u8>>,
    progress: Progress,
    /// The values of `Connection` of the request.
    connection: Box<[u8]>,
    /// The changes of the fields of the head: what they drop there is dropped behind the body too.
    edits: HeaderEdits,
    /// The fields behind it, for any server.
    trailers: FieldList,
}

/// How much of a body has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Arriving,
    /// All of it.
    Over,
    /// The rest will not be read, so a server must not take it for whole.
    Cut,
}

impl Upload {
    /// The body of a request with these fields, of which a route changes some.
    pub(in crate::site) fn new(
        parcel: Parcel,
        edits: &HeaderEdits,
        fields: &Fields<'_, '_>,
    ) -> Self {
        let (rest, replay, progress) = (Vec::new(), Some(Vec::new()), Progress::Arriving);
        let connection = match fields.has("connection") {
            true => fields.all("connection").collect::<Vec<_>>().join(&b","[..]).into(),
            false => Box::default(),
        };
        let (edits, trailers) = (edits.clone(), FieldList::new());
        Self { parcel, rest, replay, progress, connection, edits, trailers }
    }

    /// The request that it belongs to.
    pub(super) fn parcel(&self) -> Parcel {
        self.parcel.clone()
    }

    /// The rest will not be read.
    pub(super) fn cut(&mut self) {
        self.progress = Progress::Cut;
    }

    /// Whether all of it has arrived.
    pub(super) fn is_over(&self) -> bool {
        self.progress == Progress::Over
    }

    /// All of it has arrived, and these fields behind it. Those that are for one connection are not passed on (RFC
    /// 9110, 7.6.1), nor those that the route sets or removes.
    pub(in crate::site) fn end(&mut self, trailers: &FieldList) {
        self.progress = Progress::Over;
        self.trailers = HopFields::named_by(&self.connection)
            .without(trailers, |name| self.edits.drop_field(name));
    }

    /// The fields behind it that are passed on.
    pub(in crate::site) fn trailers(&self) -> &FieldList {
        &self.trailers
    }

    /// A piece has arrived, and no exchange takes it yet.
    pub(in crate::site) fn add(&mut self, piece: &[u8]) {
        self.hand_on(piece, |_| 0);
    }

    /// There is a connection to a server, which may get what has arrived. Until then no more of it arrives than an
    /// exchange takes, so all of it is kept.
    pub(in crate::site) fn on_connection(&mut self) {
        self.replay.take_if(|replay| replay.len() > PROXY_REPLAY_SIZE);
    }

    /// Hands on what has arrived, this piece as the last, and keeps what is not taken. Returns whether that is nothing.
    pub(in crate::site) fn hand_on(
        &mut self,
        piece: &[u8],
        take: impl FnOnce(&[u8]) -> usize,
    ) -> bool {
        if let Some(replay) = &mut self.replay {
            if replay.capacity() > PROXY_REPLAY_SIZE / 2 {
                // No room for twice as much, which would never be used.
                replay.reserve_exact(PROXY_REPLAY_SIZE.saturating_sub(replay.len()));
            }
            replay.extend_from_slice(piece);
        }
        if self.rest.is_empty() {
            let left = piece.get(take(piece)..).unwrap_or_default();
            self.rest.extend_from_slice(left);
            return left.is_empty();
        }
        self.rest.extend_from_slice(piece);
        let taken = take(&self.rest).min(self.rest.len());
        if taken == self.rest.len() {
            // An upload may be slow, so an empty buffer keeps no memory.
            self.rest = Vec::new();
            return true;
        }
        self.rest.drain(..taken);
        false
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

    /// The same, whose body begins to arrive behind these fields. It is refused if it could not be made.
    pub(in crate::site) fn with_body(
        mut self,
        parcel: Result<Parcel, ExchangeFailure>,
        edits: &HeaderEdits,
        fields: &Fields<'_, '_>,
    ) -> Self {
        match parcel {
            Ok(parcel) => self.upload = Some(Box::new(Upload::new(parcel, edits, fields))),
            Err(_) => self.stage = Stage::Refused(Refused::Request),
        }
        self
    }

    pub(super) fn refuse(&mut self, why: Refused) -> Stage {
        self.stage = Stage::Refused(why);
        self.stage
    }

    /// Its exchange is over, and its place at the server is given back.
    pub(super) fn leave_server(&mut self) -> Option<Place> {
        self.exchange = None;
        self.place.take()
    }

    /// Whether a server has begun to answer.
    pub(super) fn is_answered(&self) -> bool {
        self.early.back().is_some_and(|head| head.status >= 200)
            || self.place.is_some_and(|place| place.first_byte_ns.is_some())
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
            has_failed: false,
        }
    }

    /// The verdict of the answer on the server, now that it has ended.
    pub(in crate::site) fn outcome(&self) -> RequestOutcome {
        match (self.has_failed, self.first_byte_ns) {
            (true, _) => RequestOutcome::Failed,
            (false, Some(first_byte_ns)) => RequestOutcome::Answered { first_byte_ns },
            (false, None) => RequestOutcome::Abandoned,
        }
    }
}

/// A connection that has changed to another protocol, between a client and a server. Plain data.
#[derive(Debug)]
pub(crate) struct Tunnelled {
    /// The exchange with the server.
    pub(crate) exchange: ExchangeId,
    /// The address of the client.
    pub(crate) client: IpAddr,
    pub(crate) place: Place,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upload() -> Upload {
        let head = HeadWriter::new("PUT", "/", 64).expect("a method and a target");
        let body = OutgoingBody::Streamed(None);
        let parcel = Parcel { method: "PUT", head, body, upgrade: None };
        Upload::new(parcel, &HeaderEdits::default(), &FieldList::new().fields())
    }

    #[test]
    fn kept_body_for_a_second_server_takes_no_more_than_its_bound() {
        for size in [900, 20_000, 33_000] {
            let mut upload = upload();
            let mut most = 0;
            for _ in 0..100 {
                assert!(upload.hand_on(&vec![b'x'; size], <[u8]>::len), "all is taken");
                upload.on_connection();
                most = most.max(upload.held_bytes());
            }
            assert!(most <= PROXY_REPLAY_SIZE, "{most} bytes with pieces of {size}");
            assert!(!upload.is_whole(), "too much has arrived");
            assert_eq!(upload.held_bytes(), 0, "pieces of {size}");
        }
    }

    #[test]
    fn pieces_that_no_server_has_taken_keep_their_order() {
        let mut upload = upload();
        upload.add(b"ab");
        assert!(!upload.hand_on(b"cd", |_| 3));
        let mut seen = Vec::new();
        let take = |bytes: &[u8]| {
            seen.extend_from_slice(bytes);
            bytes.len()
        };
        assert!(upload.hand_on(b"e", take));
        assert_eq!(seen, b"de");
        assert!(upload.rewind());
        assert_eq!(upload.rest, b"abcde");
    }
}
