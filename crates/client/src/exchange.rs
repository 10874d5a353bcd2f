//! One exchange: a request, its answer, and how far both are.
//!
//! Owns what news there is next and when the exchange takes too long. Which connection serves it is decided in `way`
//! and `traffic`.

use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use runtime::clock::nanoseconds;
use runtime::slots::ProcessId;

use crate::deadlines::Deadlines;
use crate::failure::{Deadline, ExchangeFailure};
use crate::id::Requester;
use crate::incoming::Incoming;
use crate::limits::UNSERVED_REPEATS;
use crate::news::ExchangeNews;
use crate::origin::Destination;
use crate::outgoing::Outgoing;
use crate::reach::Reach;
use crate::request::{AnswerTo, Repeatable};
use crate::version::Sharing;

/// Bytes that the client holds for one exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Of the body of the request, without what its connection has taken to send (at most
    /// [`OUTPUT_BYTES`](crate::limits::OUTPUT_BYTES)).
    pub request: usize,
    /// Of the body of the answer.
    pub answer: usize,
}

#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) to: Rc<Destination>,
    pub(crate) reach: Rc<dyn Reach>,
    /// The bytes that its connection begins with, which no other exchange may use then.
    pub(crate) lead: Option<Rc<[u8]>>,
    requester: Requester,
    repeatable: Repeatable,
    answer_to: AnswerTo,
    pub(crate) outgoing: Outgoing,
    pub(crate) incoming: Incoming,
    state: State,
    told: Told,
    reading: Reading,
    head: Given,
    /// Addresses of the host that were not tried yet; the next one is last.
    pub(crate) untried: Vec<IpAddr>,
    pub(crate) connection: Option<ProcessId>,
    /// Its stream, if the connection is shared; 0 before it has a number.
    pub(crate) stream: Option<u32>,
    /// How often it began again because a server had not served it.
    repeats: u8,
    sharing: Sharing,
    deadlines: Deadlines,
    whole_due_ns: u64,
    /// When it got an established connection; 0 before.
    talking_since_ns: u64,
    /// When something last happened that a deadline counts from.
    since_ns: u64,
    /// When the last byte of the request was passed on to its connection.
    sent_ns: Option<u64>,
    /// The time under which it is on the agenda.
    pub(crate) listed_ns: u64,
}

// There is one for each page that waits for an answer, and the table has up to twice as many places as entries: so it
// is boxed.
const _: () = assert!(size_of::<Exchange>() <= 544);

/// How far an exchange is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It has no established connection.
    Finding,
    Talking,
    /// The answer was received completely.
    Over,
    Failed(ExchangeFailure),
}

/// Whether the requester knows that there is news.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    No,
    Yes,
}

/// Whether its connection is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    On,
    /// Enough of the answer waits. So it stays until the requester has taken that and asks for more: what it does not
    /// ask for yet waits in the other server, and not here.
    Stopped,
}

/// Whether the requester has got the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Given {
    No,
    Yes,
}

/// The parts of an exchange apart from its bytes.
#[derive(Debug)]
pub(crate) struct Terms {
    pub(crate) to: Rc<Destination>,
    pub(crate) reach: Rc<dyn Reach>,
    pub(crate) requester: Requester,
    pub(crate) repeatable: Repeatable,
    pub(crate) answer_to: AnswerTo,
    pub(crate) deadlines: Deadlines,
    pub(crate) lead: Option<Rc<[u8]>>,
}

impl Exchange {
    pub(crate) fn new(terms: Terms, outgoing: Outgoing, now_ns: u64) -> Self {
        let Terms { to, reach, requester, repeatable, answer_to, deadlines, lead } = terms;
        // Another protocol takes its connection over.
        let is_alone = lead.is_some() || answer_to == AnswerTo::Upgrade;
        let sharing = if is_alone { Sharing::Alone } else { Sharing::Shared };
        Self {
            to,
            reach,
            lead,
            requester,
            repeatable,
            answer_to,
            outgoing,
            incoming: Incoming::new(answer_to),
            state: State::Finding,
            told: Told::No,
            reading: Reading::On,
            head: Given::No,
            untried: Vec::new(),
            connection: None,
            stream: None,
            repeats: 0,
            sharing,
            deadlines,
            whole_due_ns: after(now_ns, deadlines.whole),
            talking_since_ns: 0,
            since_ns: now_ns,
            sent_ns: None,
            listed_ns: u64::MAX,
        }
    }

    /// Its connection is established.
    pub(crate) fn begin_talking(&mut self, now_ns: u64) {
        self.state = State::Talking;
        self.talking_since_ns = now_ns;
        self.since_ns = now_ns;
    }

    /// Bytes have moved, or may move again after the requester stopped them: the time for the next ones begins.
    pub(crate) fn note_progress(&mut self, now_ns: u64) {
        self.since_ns = now_ns;
    }

    /// When it got its connection.
    pub(crate) fn talking_since_ns(&self) -> Option<u64> {
        Some(self.talking_since_ns).filter(|since_ns| *since_ns > 0)
    }

    /// Notes when the request was sent completely.
    pub(crate) fn note_sent(&mut self, now_ns: u64) {
        if self.sent_ns.is_none() && self.outgoing.is_over() {
            self.sent_ns = Some(now_ns);
        }
    }

    /// When the request was sent completely, if it was.
    pub(crate) fn sent_ns(&self) -> Option<u64> {
        self.sent_ns
    }

    /// Whether its connection is established, and neither the answer nor a failure has ended it.
    pub(crate) fn is_talking(&self) -> bool {
        self.state == State::Talking
    }

    /// Whether it has not ended.
    pub(crate) fn is_running(&self) -> bool {
        matches!(self.state, State::Finding | State::Talking)
    }

    /// The answer was received completely.
    pub(crate) fn complete(&mut self) {
        self.state = State::Over;
        (self.connection, self.stream) = (None, None);
    }

    /// It has failed.
    pub(crate) fn fail(&mut self, failure: ExchangeFailure) {
        self.state = State::Failed(failure);
        (self.connection, self.stream) = (None, None);
    }

    /// Whether the request may be sent once more after a connection ended that had brought no byte of an answer:
    /// nothing of it was sent, or it does no harm twice (RFC 9110, 9.2.2; RFC 9112, 9.3.1).
    pub(crate) fn may_repeat(&self) -> bool {
        self.outgoing.is_untouched() || self.repeatable == Repeatable::Yes
    }

    /// Begins again, for another connection.
    pub(crate) fn rewind(&mut self) {
        self.outgoing.rewind();
        self.incoming = Incoming::new(self.answer_to);
        (self.state, self.reading) = (State::Finding, Reading::On);
        (self.connection, self.stream) = (None, None);
        self.sent_ns = None;
    }

    /// Whether the request may be sent once more after a server had not begun to serve it (RFC 9113, 8.7): all of it is
    /// still here, and that did not happen too often. Counts it.
    pub(crate) fn take_repeat(&mut self) -> bool {
        let may_repeat = self.repeats < UNSERVED_REPEATS && self.outgoing.is_kept();
        self.repeats += u8::from(may_repeat);
        may_repeat
    }

    /// Begins on a stream of a shared connection.
    pub(crate) fn begin_stream(&mut self, connection: ProcessId, number: u32, now_ns: u64) {
        (self.connection, self.stream) = (Some(connection), Some(number));
        self.incoming = Incoming::in_frames(self.answer_to);
        self.begin_talking(now_ns);
    }

    /// Whether it may share a connection.
    pub(crate) fn sharing(&self) -> Sharing {
        self.sharing
    }

    /// A server wants it over HTTP/1.1 (RFC 9113, 7).
    pub(crate) fn stay_alone(&mut self) {
        self.sharing = Sharing::Alone;
    }

    /// Sets until when it may run.
    pub(crate) fn set_whole_due(&mut self, due_ns: u64) {
        self.whole_due_ns = due_ns;
    }

    /// When it takes too long, and which deadline that is.
    pub(crate) fn due(&self) -> (u64, Deadline) {
        if !self.is_running() {
            return (u64::MAX, Deadline::Whole);
        }
        let (span, deadline) = match self.state {
            State::Finding => (self.deadlines.connect, Deadline::Connect),
            _ if self.outgoing.is_raw() => (None, Deadline::Pause),
            _ if self.outgoing.has_more() => (self.deadlines.pause, Deadline::Pause),
            _ if self.incoming.has_head() && self.is_stopped() => (None, Deadline::Pause),
            _ if self.incoming.has_head() => (self.deadlines.pause, Deadline::Pause),
            _ if self.outgoing.is_over() => (self.deadlines.head, Deadline::Head),
            // The requester has to send more, or the other server's consent is awaited, which has a time of its own.
            _ => (None, Deadline::Head),
        };
        let due_ns = after(self.since_ns, span);
        if self.whole_due_ns <= due_ns {
            let is_own = self.awaits_requester();
            let deadline = if is_own { Deadline::Requester } else { Deadline::Whole };
            return (self.whole_due_ns, deadline);
        }
        (due_ns, deadline)
    }

    /// Whether the other server can do nothing until the requester sends or takes bytes.
    fn awaits_requester(&self) -> bool {
        let is_unsent = !self.outgoing.is_over() && !self.outgoing.awaits_consent();
        let wants_bytes = self.state == State::Talking && !self.outgoing.has_more() && is_unsent;
        wants_bytes || self.head == Given::Yes && self.is_answer_left()
    }

    /// The next news, with at most this many bytes of a body.
    pub(crate) fn next(&mut self, most: usize) -> Option<ExchangeNews> {
        self.told = Told::No;
        if let Some(head) = self.incoming.take_interim() {
            return Some(ExchangeNews::Interim(head));
        }
        if let Some(head) = self.incoming.take_head() {
            self.head = Given::Yes;
            return Some(ExchangeNews::Head(head));
        }
        if self.is_running() && self.outgoing.take_room() {
            return Some(ExchangeNews::Room);
        }
        if self.head == Given::Yes && self.incoming.held_bytes() > 0 {
            return self.incoming.take_body(most).map(ExchangeNews::Body);
        }
        match self.state {
            State::Finding | State::Talking => None,
            State::Over => Some(
                self.incoming.take_trailers().map_or(ExchangeNews::End, ExchangeNews::Trailers),
            ),
            State::Failed(failure) => Some(ExchangeNews::Failed(failure)),
        }
    }

    /// Stops the reading of its connection if enough waits, until [`go_on_reading`](Self::go_on_reading). Returns
    /// whether it is read.
    pub(crate) fn stop_if_full(&mut self) -> bool {
        if self.incoming.is_full() {
            self.reading = Reading::Stopped;
        }
        self.reading == Reading::On
    }

    /// Whether the other server waits until the requester takes bytes.
    fn is_stopped(&self) -> bool {
        self.reading == Reading::Stopped || self.incoming.is_full()
    }

    /// Whether there is more of the answer as soon as the requester takes it.
    pub(crate) fn is_answer_left(&self) -> bool {
        self.incoming.held_bytes() > 0 || self.reading == Reading::Stopped
    }

    /// The requester has taken what there was, and asks for more. Returns whether its connection was not read.
    pub(crate) fn go_on_reading(&mut self) -> bool {
        std::mem::replace(&mut self.reading, Reading::On) == Reading::Stopped
    }

    /// The requester leaves the news there is, and has to be told of further news.
    pub(crate) fn listen(&mut self) {
        self.told = Told::No;
    }

    /// Why it has failed, if it has.
    pub(crate) fn failure(&self) -> Option<ExchangeFailure> {
        match self.state {
            State::Failed(failure) => Some(failure),
            State::Finding | State::Talking | State::Over => None,
        }
    }

    /// The requester that has to be told of news; `None` if it was told and has not taken the news yet.
    pub(crate) fn tell(&mut self) -> Option<Requester> {
        let is_new = self.told == Told::No;
        self.told = Told::Yes;
        is_new.then_some(self.requester)
    }

    /// The service takes its news from now on.
    pub(crate) fn hand_over(&mut self) {
        self.requester = Requester::Service;
    }

    pub(crate) fn held(&self) -> Held {
        Held { request: self.outgoing.held_bytes(), answer: self.incoming.held_bytes() }
    }
}

fn after(now_ns: u64, span: Option<Duration>) -> u64 {
    span.map_or(u64::MAX, |span| now_ns.saturating_add(nanoseconds(span)))
}
