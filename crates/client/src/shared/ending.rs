//! The end of streams and of their connection.
//!
//! Owns what becomes of an exchange whose stream ends early: whether its request is sent again, or fails and how.

use runtime::service::CloseReason;
use wire::h2::{ErrorCode, write_goaway, write_reset};

use super::Run;
use super::input::Broken;
use crate::client::Client;
use crate::failure::ExchangeFailure;
use crate::h2::{Phase, StreamOrder};
use crate::id::ExchangeId;
use crate::incoming::Cut;
use crate::limits::{SILENT_TIME, STREAM_WINDOW_BYTES, STREAMS};
use crate::outbound::{End, Outbound, Past};
use crate::pool::Kept;

impl Run<'_> {
    /// The answer of a stream is whole.
    pub(super) fn finish(&mut self, number: u32) {
        let Some(stream) = self.link.streams.remove(number) else { return };
        let id = stream.exchange;
        let exchange = self.client.exchanges.running(id);
        if exchange.is_some_and(|exchange| !exchange.outgoing.is_over()) {
            // The server does not need the rest of the request (RFC 9113, 8.1).
            write_reset(number, ErrorCode::Cancel, self.out);
        }
        self.outbound.past = Past::Used;
        self.link.budget.on_answer();
        self.client.complete(id);
        self.widen();
        self.leave();
    }

    /// One stream less is open: those in line may join. If nobody does, and there are enough idle connections, it ends.
    pub(super) fn leave(&mut self) {
        let (to, id) = (&self.outbound.to, self.outbound.id);
        self.client.pool.leave(to, id);
        self.client.serve_line(to);
        if self.client.pool.keep_shared(to, id) == Kept::No {
            self.retire();
            write_goaway(0, ErrorCode::NoError, "", self.out);
        }
    }

    /// At most so many streams are open from now on.
    pub(super) fn limit(&mut self, most: usize) {
        self.link.most = most;
        self.client.pool.limit(&self.outbound.to, self.outbound.id, most);
        self.client.serve_line(&self.outbound.to);
    }

    /// After an answer, one stream more is tried than the server has refused, up to what it allows.
    fn widen(&mut self) {
        if self.link.most < self.allowed() {
            self.limit(self.link.most + 1);
        }
    }

    /// How many streams the server and this side allow.
    fn allowed(&self) -> usize {
        usize::try_from(self.link.peer.streams()).unwrap_or(usize::MAX).min(STREAMS)
    }

    /// No more streams begin here.
    pub(super) fn retire(&mut self) {
        if !self.link.is_leaving() {
            self.link.phase = Phase::Leaving(None);
        }
        self.client.forget_idle(self.outbound);
        self.client.serve_line(&self.outbound.to);
    }

    /// The exchange of a stream is over before its answer.
    pub(super) fn give_up(&mut self, number: u32) {
        if self.link.streams.remove(number).is_none() {
            return;
        }
        self.reset(number, ErrorCode::Cancel);
        let silent_ns = self.link.now_ns.saturating_sub(self.link.heard_ns);
        if u128::from(silent_ns) >= SILENT_TIME.as_nanos() {
            self.retire();
        }
        self.leave();
    }

    /// Tells the server that a stream ends, which may have sent more on it already.
    fn reset(&mut self, number: u32, code: ErrorCode) {
        write_reset(number, code, self.out);
        self.link.late_bytes += u64::from(STREAM_WINDOW_BYTES);
        // The frames that it has sent on it were asked for.
        self.link.budget.on_answer();
    }

    /// The answer of a stream cannot be used.
    pub(super) fn refuse(&mut self, number: u32, code: ErrorCode, failure: ExchangeFailure) {
        let Some(stream) = self.link.streams.remove(number) else { return };
        self.reset(number, code);
        self.client.fail_stream(stream.exchange, failure);
        self.leave();
    }

    /// The server has ended a stream.
    pub(super) fn take_reset(&mut self, number: u32, code: ErrorCode) {
        let Some(stream) = self.link.streams.remove(number) else { return };
        let failure = ExchangeFailure::StreamReset(code);
        self.client.counted.http2_resets += 1;
        self.link.budget.on_answer();
        if code == ErrorCode::RefusedStream {
            self.limit(self.link.streams.len().max(1).min(self.allowed()));
        }
        self.leave();
        if code == ErrorCode::RefusedStream || wants_http1(failure) {
            self.client.send_unserved(stream.exchange, failure, self.link.now_ns);
        } else {
            self.client.fail_stream(stream.exchange, failure);
        }
    }

    /// RFC 9113, 6.8: the streams behind the last one were not begun.
    pub(super) fn take_goaway(&mut self, last: u32, code: ErrorCode) {
        self.link.phase = Phase::Leaving(Some(code));
        self.client.counted.http2_goaways += 1;
        self.client.forget_idle(self.outbound);
        for stream in self.link.streams.remove_behind(last) {
            let failure = ExchangeFailure::NotServed(code);
            self.client.send_unserved(stream.exchange, failure, self.link.now_ns);
        }
        self.client.serve_line(&self.outbound.to);
    }

    /// The connection cannot go on.
    pub(super) fn break_off(&mut self, (code, rule): Broken) {
        write_goaway(0, code, rule, self.out);
        self.link.phase = Phase::Over;
        self.client.counted.http2_broken += 1;
        self.client.forget_idle(self.outbound);
        for stream in self.link.streams.remove_behind(0) {
            self.client.fail_stream(stream.exchange, ExchangeFailure::Http2(rule));
        }
    }

    /// The time for being idle, or for consent to a body, is over.
    pub(super) fn on_deadline(&mut self) {
        if self.link.streams.is_empty() {
            self.retire();
            write_goaway(0, ErrorCode::NoError, "", self.out);
            return;
        }
        let now_ns = self.link.now_ns;
        let due = self.link.streams.iter().filter(|stream| stream.consent_due_ns <= now_ns);
        let due: Vec<u32> = due.map(|stream| stream.number).collect();
        for number in due {
            if let Some((_, exchange)) = self.exchange_of(number) {
                exchange.outgoing.open_gate();
            }
            self.consented(number);
        }
    }
}

impl Client {
    /// An exchange has failed whose stream has ended.
    fn fail_stream(&mut self, id: ExchangeId, failure: ExchangeFailure) {
        self.detach(id);
        self.fail(id, failure);
    }

    /// A server has not begun to serve a request: it is sent again, as if nothing had been sent (RFC 9113, 8.7).
    fn send_unserved(&mut self, id: ExchangeId, failure: ExchangeFailure, now_ns: u64) {
        self.detach(id);
        let Some(exchange) = self.exchanges.running(id) else { return };
        // A server that has begun to answer cannot take that back.
        let is_unanswered = exchange.incoming.close() == Err(Cut::BeforeFirstByte);
        if wants_http1(failure) {
            exchange.stay_alone();
        }
        if is_unanswered && exchange.take_repeat() {
            self.counted.http2_repeats += 1;
            exchange.rewind();
            exchange.note_progress(now_ns);
            self.find(id, now_ns);
        } else if is_unanswered {
            self.fail(id, failure);
        } else {
            // It has seen the request, whatever it says: nobody is to send it elsewhere.
            self.fail(id, ExchangeFailure::Closed);
        }
    }

    fn detach(&mut self, id: ExchangeId) {
        if let Some(exchange) = self.exchanges.running(id) {
            (exchange.connection, exchange.stream) = (None, None);
        }
    }

    /// A connection has ended: so have its streams, and those that were ordered.
    pub(crate) fn end_streams(&mut self, outbound: &mut Outbound, end: End) {
        let Some(link) = &mut outbound.h2 else { return };
        let (now_ns, phase) = (link.now_ns, link.phase);
        self.counted.http2_streams -= link.streams.len();
        let mut ended: Vec<ExchangeId> =
            link.streams.remove_behind(0).into_iter().map(|stream| stream.exchange).collect();
        ended.extend(self.orders.take(outbound.id).into_iter().filter_map(|order| match order {
            StreamOrder::Begin(id) => Some(id),
            StreamOrder::Send(_) | StreamOrder::Open { .. } | StreamOrder::End(_) => None,
        }));
        let failure = match (end, phase) {
            (End::Refused(why), _) => ExchangeFailure::Tls(why),
            (_, Phase::Leaving(Some(code))) if code != ErrorCode::NoError => {
                ExchangeFailure::GoneAway(code)
            }
            _ => ExchangeFailure::Closed,
        };
        for id in ended {
            self.end_stream(id, outbound.past, failure, now_ns);
        }
    }

    /// The other side may have closed the connection while it was idle, before it saw the request (RFC 9112, 9.3.1).
    fn end_stream(&mut self, id: ExchangeId, past: Past, failure: ExchangeFailure, now_ns: u64) {
        self.detach(id);
        let Some(exchange) = self.exchanges.running(id) else { return };
        let may_repeat =
            exchange.outgoing.is_untouched() || past == Past::Used && exchange.may_repeat();
        if may_repeat {
            self.send_unserved(id, failure, now_ns);
        } else {
            self.fail(id, failure);
        }
    }

    /// A shared connection has ended.
    pub(crate) fn close_shared(&mut self, mut outbound: Outbound, reason: CloseReason) {
        // Before its exchanges begin again: they may need the place.
        self.release(&outbound.to, outbound.promise);
        self.counted.http2_connections -= 1;
        if reason == CloseReason::Stopped {
            let link = outbound.h2.as_mut();
            for stream in link.into_iter().flat_map(|link| link.streams.remove_behind(0)) {
                self.counted.http2_streams -= 1;
                self.fail_stream(stream.exchange, ExchangeFailure::Stopping);
            }
        }
        self.end_streams(&mut outbound, End::Broken);
    }
}

/// Whether a server wants a request over HTTP/1.1.
fn wants_http1(failure: ExchangeFailure) -> bool {
    matches!(
        failure,
        ExchangeFailure::StreamReset(ErrorCode::Http11Required)
            | ExchangeFailure::NotServed(ErrorCode::Http11Required)
    )
}
