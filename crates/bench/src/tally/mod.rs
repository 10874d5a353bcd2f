//! The measurements of one thread, and how those of all threads are combined.
//!
//! Owns the counters and histograms of a thread. Never reads a clock, and knows nothing of sockets: times and sizes are
//! arguments. After construction it allocates only for a first handshake, and for new agreements and causes of failure.

mod blob;
mod failure;
mod fault;
mod handshakes;
mod latency;
mod seconds;
mod spent;
mod streams;

use runtime::transport::Agreed;
use serde::{Deserialize, Serialize};

pub use blob::BlobError;
pub use failure::{FailureCounts, FailureKind};
pub use fault::HandshakeFault;
pub use handshakes::{AgreedTerms, HandshakeTally};
pub use latency::Latency;
pub use seconds::{Second, Seconds};
pub use spent::SpentTime;
pub use streams::{StreamEnding, StreamTally};

/// The loop that decides when a request is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loop {
    /// The answer before it: a request is due when it is sent, and its response time is its service time.
    Closed,
    /// A schedule: response time counts from the moment the request was due.
    Open,
}

/// The fate at [`Tally::begin`] of connects made until then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// They count: connections live through the run, and there will be no others.
    Kept,
    /// They go with the warm-up: connections are made all the time.
    Cleared,
}

/// The three moments of a send, in nanoseconds of the monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sending {
    /// When the schedule wanted it. In a closed loop the same as `sent_ns`.
    pub due_ns: u64,
    /// Since when a connection was free to carry it. Waiting for one is the server's doing, not ours.
    pub free_ns: u64,
    /// When it was handed to the kernel.
    pub sent_ns: u64,
}

/// The three moments of an answer, in nanoseconds of the monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answering {
    /// When the request was due.
    pub due_ns: u64,
    /// When it was handed to the kernel.
    pub sent_ns: u64,
    /// When the last byte of the answer was read.
    pub answered_ns: u64,
}

/// Connections of one thread, or of all of a run, as stored in its report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionTally {
    /// How many are to be open at once.
    pub asked: u64,
    /// The most that were open at once since [`Tally::begin`].
    pub open: u64,
    /// How many attempts succeeded; for kept connections including the warm-up, as the next two.
    pub opened: u64,
    /// How many attempts failed: refused, timed out, or nowhere to go.
    pub refused: u64,
    /// How many ended: by either side, in order or not.
    pub closed: u64,
}

/// The findings of reads of a store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Values {
    /// Reads of a key that was there.
    pub found: u64,
    /// Reads of one that was not.
    pub missing: u64,
}

/// The measurements of one thread. Built once, [`begin`](Tally::begin) after the warm-up, merged at the end.
#[derive(Debug, Clone, PartialEq)]
pub struct Tally {
    pace: Loop,
    /// Requests that became due.
    pub asked: u64,
    /// Requests handed to the kernel.
    pub sent: u64,
    /// Requests that were due while every connection was busy.
    pub waited: u64,
    /// Whole answers that were as expected.
    pub answered: u64,
    /// Requests that came to nothing good, by kind.
    pub failed: FailureCounts,
    /// Requests without an outcome when the counting began.
    pub in_flight_start: u64,
    /// Requests due that no connection had taken when the counting began.
    pub unsent_start: u64,
    /// The same when it ended.
    pub unsent_end: u64,
    /// Times of connections that are in no histogram.
    pub spent: SpentTime,
    /// Answers, or bytes behind one, that belong to no request. They are among the failures, as garbage.
    pub unasked: u64,
    /// The findings of reads of a store.
    pub values: Values,
    /// Connections that are open now.
    pub open_now: u64,
    /// Connections of this thread.
    pub connections: ConnectionTally,
    /// The handshakes of encrypted ones; `None` before the first.
    pub handshakes: Option<Box<HandshakeTally>>,
    /// The events of HTTP/2's streams; `None` before the first such thing.
    pub streams: Option<Box<StreamTally>>,
    /// Bytes read from sockets, without what encryption adds.
    pub bytes_in: u64,
    /// Bytes written to sockets, without what encryption adds.
    pub bytes_out: u64,
    /// From the send to the last byte of the answer.
    service: Latency,
    /// From the moment due to the last byte of the answer; unused in a closed loop.
    response: Latency,
    /// From the begin of a connect to its end.
    connect: Latency,
    /// From the moment a request was due and could go to its send: the generator's own fault; unused in a closed loop.
    late: Latency,
    /// The same, second by second.
    seconds: Seconds,
}

impl Tally {
    /// An empty tally for a run of at most `duration_ns` by a thread that is to hold `connections`.
    pub fn new(pace: Loop, connections: u64, duration_ns: u64) -> Tally {
        Tally {
            pace,
            asked: 0,
            sent: 0,
            waited: 0,
            answered: 0,
            failed: FailureCounts::default(),
            in_flight_start: 0,
            unsent_start: 0,
            unsent_end: 0,
            spent: SpentTime::default(),
            unasked: 0,
            values: Values::default(),
            open_now: 0,
            connections: ConnectionTally { asked: connections, ..ConnectionTally::default() },
            handshakes: None,
            streams: None,
            bytes_in: 0,
            bytes_out: 0,
            service: Latency::new(),
            response: Latency::new(),
            connect: Latency::new(),
            late: Latency::new(),
            seconds: Seconds::new(duration_ns),
        }
    }

    /// The warm-up begins. It is counted second by second too, for those who look on.
    pub fn warm_up(&mut self, start_ns: u64) {
        self.seconds.begin(start_ns);
    }

    /// Forgets the warm-up: counting begins at `start_ns`, which is the same for all threads. Open connections stay
    /// open, and requests without an outcome are carried over.
    pub fn begin(&mut self, start_ns: u64, opening: Opening) {
        self.in_flight_start = self.in_flight();
        self.asked = 0;
        self.sent = 0;
        self.waited = 0;
        self.answered = 0;
        self.failed = FailureCounts::default();
        self.spent = SpentTime::default();
        self.unasked = 0;
        self.values = Values::default();
        if let Some(streams) = &mut self.streams {
            streams.begin();
        }
        self.bytes_in = 0;
        self.bytes_out = 0;
        self.service.clear();
        self.response.clear();
        self.late.clear();
        self.seconds.begin(start_ns);
        self.connections.open = self.open_now;
        if opening == Opening::Cleared {
            self.connections.opened = 0;
            self.connections.refused = 0;
            self.connections.closed = 0;
            self.connect.clear();
            self.handshakes = None;
        }
    }

    /// A request became due.
    #[inline]
    pub fn ask(&mut self) {
        self.asked += 1;
    }

    /// A request that was sent was not begun by the server, and will be asked again.
    pub fn unask(&mut self, sent_ns: u64, now_ns: u64) {
        match self.asked.checked_sub(1) {
            Some(asked) => self.asked = asked,
            None => self.in_flight_start = self.in_flight_start.saturating_sub(1),
        }
        self.spent.failed_ns += now_ns.saturating_sub(sent_ns);
    }

    /// A request was handed to the kernel.
    #[inline]
    pub fn send(&mut self, at: Sending) {
        self.sent += 1;
        self.seconds.send(at.sent_ns);
        if self.pace == Loop::Open {
            self.waited += u64::from(at.free_ns > at.due_ns);
            self.late.record(at.sent_ns.saturating_sub(at.due_ns.max(at.free_ns)));
        }
    }

    /// A whole answer came that was as expected.
    #[inline]
    pub fn answer(&mut self, at: Answering) {
        self.answered += 1;
        let service_ns = at.answered_ns.saturating_sub(at.sent_ns);
        self.service.record(service_ns);
        let response_ns = match self.pace {
            Loop::Closed => service_ns,
            Loop::Open => {
                let response_ns = at.answered_ns.saturating_sub(at.due_ns);
                self.response.record(response_ns);
                response_ns
            }
        };
        self.seconds.answer(at.answered_ns, response_ns);
    }

    /// A request came to nothing good.
    #[inline]
    pub fn fail(&mut self, kind: FailureKind, now_ns: u64) {
        self.failed.add(kind);
        self.seconds.fail(now_ns);
    }

    /// A request that was sent came to nothing good.
    #[inline]
    pub fn fail_sent(&mut self, kind: FailureKind, sent_ns: u64, now_ns: u64) {
        self.spent.failed_ns += now_ns.saturating_sub(sent_ns);
        self.fail(kind, now_ns);
    }

    /// Counts an answer, or bytes behind one, that belongs to no request.
    #[cold]
    pub fn hear_unasked(&mut self, now_ns: u64) {
        self.unasked += 1;
        self.fail(FailureKind::Garbage, now_ns);
    }

    /// The run ended before a request had its answer: in an open loop its age counts as a response time, which was at
    /// least that.
    pub fn leave(&mut self, due_ns: u64, end_ns: u64) {
        if self.pace == Loop::Open {
            self.response.record(end_ns.saturating_sub(due_ns));
        }
    }

    /// A connection is established, after so long.
    #[inline]
    pub fn connected(&mut self, connect_ns: u64) {
        self.connect.record(connect_ns);
        self.spent.connect_ns += connect_ns;
    }

    /// The handshake of an established connection is over, after so long.
    pub fn agree(&mut self, agreed: &Agreed, handshake_ns: u64) {
        self.handshakes.get_or_insert_default().agree(agreed, handshake_ns);
        self.spent.connect_ns += handshake_ns;
    }

    /// A connection can carry requests.
    #[inline]
    pub fn open(&mut self) {
        self.open_now += 1;
        self.connections.opened += 1;
        self.connections.open = self.connections.open.max(self.open_now);
    }

    /// A connection could not be opened, which took so long.
    #[inline]
    pub fn refuse(&mut self, connect_ns: u64) {
        self.connections.refused += 1;
        self.spent.unopened_ns += connect_ns;
    }

    /// An open connection ended.
    #[inline]
    pub fn close(&mut self) {
        self.connections.closed += 1;
        self.open_now = self.open_now.saturating_sub(1);
    }

    /// Requests that became due and have no outcome yet.
    pub fn in_flight(&self) -> u64 {
        let asked = self.in_flight_start + self.asked + self.unasked;
        asked.saturating_sub(self.answered + self.failed.total())
    }

    /// The loop that decided when a request was due.
    pub fn pace(&self) -> Loop {
        self.pace
    }

    /// From the send to the last byte of the answer, of answered requests.
    pub fn service(&self) -> &Latency {
        &self.service
    }

    /// From the moment due to the last byte of the answer, of answered requests. In a closed loop the service time.
    pub fn response(&self) -> &Latency {
        match self.pace {
            Loop::Closed => &self.service,
            Loop::Open => &self.response,
        }
    }

    /// From the begin of a connect to its end.
    pub fn connect(&self) -> &Latency {
        &self.connect
    }

    /// How much later requests were sent than they were due and could go. Empty in a closed loop.
    pub fn late(&self) -> &Latency {
        &self.late
    }

    /// The series of seconds.
    pub fn seconds(&self) -> &Seconds {
        &self.seconds
    }

    /// Adds what another thread measured in the same run.
    pub fn merge(&mut self, other: &Tally) {
        assert_eq!(self.pace, other.pace, "threads of one run share its pace");
        self.asked += other.asked;
        self.sent += other.sent;
        self.waited += other.waited;
        self.answered += other.answered;
        self.failed.merge(&other.failed);
        self.in_flight_start += other.in_flight_start;
        self.unsent_start += other.unsent_start;
        self.unsent_end += other.unsent_end;
        self.spent.merge(&other.spent);
        self.unasked += other.unasked;
        self.values.found += other.values.found;
        self.values.missing += other.values.missing;
        self.open_now += other.open_now;
        self.connections.merge(&other.connections);
        if let Some(handshakes) = &other.handshakes {
            self.handshakes.get_or_insert_default().merge(handshakes);
        }
        if let Some(streams) = &other.streams {
            self.streams.get_or_insert_default().merge(streams);
        }
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        self.service.merge(&other.service);
        self.response.merge(&other.response);
        self.connect.merge(&other.connect);
        self.late.merge(&other.late);
        self.seconds.merge(&other.seconds);
    }
}

impl ConnectionTally {
    /// Peaks add up too: each thread holds its own connections.
    pub(crate) fn merge(&mut self, other: &ConnectionTally) {
        self.asked += other.asked;
        self.open += other.open;
        self.opened += other.opened;
        self.refused += other.refused;
        self.closed += other.closed;
    }
}
