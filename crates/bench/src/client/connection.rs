//! One connection of the generator, between two of its runs.
//!
//! Owns the state of a connection: the requests in flight, the answer being read, and since when it
//! has been free. Never decides what is sent next.

use std::collections::VecDeque;

use wire::http::method::Method;
use wire::http::received::{Reading, ResponseError, ResponseReader};

use super::pending::Pending;
use super::replies::{NoReply, Reply, ReplyReader};
use super::streams::Streams;
use crate::plan::{AnswerBody, BodyCheck, BodyProgress, StorePlan};

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Not established yet.
    Connecting,
    /// Established; its handshake is under way.
    ShakingHands,
    /// Established over HTTP/2; the server's settings are still to come.
    AwaitingSettings,
    /// It accepts requests.
    Open,
    /// Its last request is in flight.
    LastSent,
    /// It no longer counts; it only has to be closed.
    Over,
}

/// One connection.
#[derive(Debug)]
pub struct LoadConnection {
    /// Its number among those of its thread.
    number: u32,
    /// Requests sent on it so far.
    sent: u64,
    phase: Phase,
    /// Whether it counts as open.
    stands: bool,
    /// Whether any answer was received on it.
    has_answered: bool,
    /// Since when it is being connected, shakes hands, or is idle.
    since_ns: u64,
    reader: ResponseReader,
    /// The reader of a store's replies.
    replies: ReplyReader,
    body: BodyProgress,
    body_bytes: u64,
    /// The streams of HTTP/2, whose requests are not among those below.
    streams: Option<Box<Streams>>,
    first: Option<Pending>,
    /// Those after the first, for pipelined requests.
    #[expect(
        clippy::box_collection,
        reason = "8 bytes of a slot in place of 32: few connections have one"
    )]
    others: Option<Box<VecDeque<Pending>>>,
}

impl LoadConnection {
    pub(super) fn new(number: u32, since_ns: u64) -> Self {
        Self {
            number,
            sent: 0,
            phase: Phase::Connecting,
            stands: false,
            has_answered: false,
            since_ns,
            reader: ResponseReader::new(Method::Get),
            replies: ReplyReader::default(),
            body: BodyProgress::default(),
            body_bytes: 0,
            streams: None,
            first: None,
            others: None,
        }
    }

    /// Its number among those of its thread.
    #[inline]
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    #[inline]
    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    /// Since when it is being connected, shakes hands, or is idle.
    #[inline]
    pub(super) fn since_ns(&self) -> u64 {
        self.since_ns
    }

    /// Whether it counts as open.
    #[inline]
    pub(super) fn stands(&self) -> bool {
        self.stands
    }

    /// Whether any answer was received on it.
    pub(super) fn has_answered(&self) -> bool {
        self.has_answered
    }

    /// Requests sent on it so far.
    #[inline]
    pub(super) fn sent(&self) -> u64 {
        self.sent
    }

    /// It is established, and its handshake begins.
    pub(super) fn begin_handshake(&mut self, now_ns: u64) {
        (self.phase, self.since_ns) = (Phase::ShakingHands, now_ns);
    }

    /// It is established, and the server's settings are to come.
    pub(super) fn begin_streams(&mut self, now_ns: u64) {
        (self.phase, self.since_ns) = (Phase::AwaitingSettings, now_ns);
        self.streams = Some(Box::new(Streams::new(now_ns)));
    }

    /// It accepts requests.
    pub(super) fn begin_requests(&mut self) {
        self.phase = Phase::Open;
    }

    /// It counts as open.
    pub(super) fn stand(&mut self) {
        self.stands = true;
    }

    /// It is idle, as far as requests can use it.
    #[inline]
    pub(super) fn idle_since(&mut self, now_ns: u64) {
        self.since_ns = now_ns;
    }

    /// An answer is whole.
    #[inline]
    pub(super) fn take_answer(&mut self, now_ns: u64) {
        (self.since_ns, self.has_answered) = (now_ns, true);
    }

    /// A request was sent on it.
    #[inline]
    pub(super) fn count_sent(&mut self) {
        self.sent += 1;
    }

    /// It takes no further request.
    pub(super) fn close_to_requests(&mut self) {
        self.phase = Phase::LastSent;
    }

    /// It no longer counts.
    pub(super) fn give_up(&mut self) {
        self.phase = Phase::Over;
    }

    /// Whether its requests have streams of their own.
    #[inline]
    pub(super) fn has_streams(&self) -> bool {
        self.streams.is_some()
    }

    #[inline]
    pub(super) fn streams(&mut self) -> Option<&mut Streams> {
        self.streams.as_deref_mut()
    }

    /// Lends its streams while their frames are read; [`Self::put_back`] ends that.
    pub(super) fn lend_streams(&mut self) -> Option<Box<Streams>> {
        self.streams.take()
    }

    pub(super) fn put_back(&mut self, streams: Box<Streams>) {
        self.streams = Some(streams);
    }

    /// Requests on their way.
    #[inline]
    pub(super) fn in_flight(&self) -> usize {
        if let Some(streams) = &self.streams {
            return streams.open();
        }
        let others = self.others.as_ref().map_or(0, |others| others.len());
        usize::from(self.first.is_some()) + others
    }

    /// The request that is answered next.
    #[inline]
    pub(super) fn oldest(&self) -> Option<&Pending> {
        match &self.streams {
            Some(streams) => streams.oldest(),
            None => self.first.as_ref(),
        }
    }

    #[inline]
    pub(super) fn push(&mut self, pending: Pending, answer: AnswerBody) {
        if self.first.is_none() {
            self.first = Some(pending);
            self.expect(answer);
            return;
        }
        self.others.get_or_insert_default().push_back(pending);
    }

    /// Removes the oldest request. The caller sets what is expected next, with [`Self::expect`].
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Pending> {
        if let Some(streams) = &mut self.streams {
            return streams.end_oldest();
        }
        let settled = self.first.take();
        self.first = self.others.as_mut().and_then(|others| others.pop_front());
        settled
    }

    /// How many requests may be in flight, of so many that are wanted.
    #[inline]
    pub(super) fn room(&self, wanted: usize) -> usize {
        self.streams.as_ref().map_or(wanted, |streams| streams.room(wanted))
    }

    /// Prepares for the answer to the oldest request.
    #[inline]
    pub(super) fn expect(&mut self, answer: AnswerBody) {
        let method = match answer {
            AnswerBody::AsFramed => Method::Get,
            AnswerBody::Never => Method::Head,
        };
        self.reader = ResponseReader::new(method);
        self.body_bytes = 0;
    }

    /// Reads on in the answer to the oldest request.
    #[inline]
    pub(super) fn read<'i>(&mut self, input: &'i [u8]) -> Result<Reading<'i>, ResponseError> {
        let step = self.reader.read(input)?;
        self.body_bytes += step.body.len() as u64;
        Ok(step)
    }

    /// Reads on in the reply of a store to the oldest request, for this key.
    #[inline]
    pub(super) fn read_reply(
        &mut self,
        input: &[u8],
        store: StorePlan,
        key: u64,
    ) -> Result<(usize, Option<Reply>), NoReply> {
        self.replies.read(input, store, key)
    }

    /// Bytes of the answer's body so far.
    #[inline]
    pub(super) fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    #[inline]
    pub(super) fn check_piece(&mut self, check: &BodyCheck, piece: &[u8]) {
        check.take(&mut self.body, piece);
    }

    /// Whether the whole body is right.
    #[inline]
    pub(super) fn check_body(&mut self, check: &BodyCheck) -> bool {
        check.finish(&mut self.body)
    }

    /// The status of the answer; 0 without one.
    #[inline]
    pub(super) fn status(&self) -> u16 {
        self.reader.status().unwrap_or(0)
    }

    /// Whether the server keeps it open after the answer.
    #[inline]
    pub(super) fn is_persistent(&self) -> bool {
        self.reader.is_persistent()
    }

    /// The server ended its output: whether that is the end of the answer.
    pub(super) fn ends_answer(&mut self) -> bool {
        self.reader.close(0).is_ok()
    }
}
