//! One connection of the generator, between two of its runs.
//!
//! Owns the state of a connection: the requests in flight, the answer being read, and since when it
//! has been free. Never decides what is sent next.

use std::collections::VecDeque;

use wire::http::method::Method;
use wire::http::received::ResponseReader;

use super::pending::Pending;
use super::replies::ReplyReader;
use super::streams::Streams;
use crate::plan::{AnswerBody, BodyProgress};

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
    pub(super) number: u32,
    /// Requests sent on it so far.
    pub(super) sent: u64,
    pub(super) phase: Phase,
    /// Whether it counts as open.
    pub(super) stands: bool,
    /// Whether any answer was received on it.
    pub(super) has_answered: bool,
    /// Since when it is being connected, shakes hands, or is idle.
    pub(super) since_ns: u64,
    pub(super) reader: ResponseReader,
    /// The reader of a store's replies.
    pub(super) replies: ReplyReader,
    pub(super) body: BodyProgress,
    pub(super) body_bytes: u64,
    /// The streams of HTTP/2, whose requests are not among those below.
    pub(super) streams: Option<Box<Streams>>,
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
}
