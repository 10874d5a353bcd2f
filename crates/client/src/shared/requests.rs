//! Requests on streams: their heads, and their content as far as windows allow.
//!
//! Owns which stream sends next and how much. Never reads a frame.

use runtime::clock::nanoseconds;
use wire::h2::{
    AfterFrame, FRAME_HEAD_BYTES, OutputWindow, RequestText, begin_headers, end_headers,
    write_data_head, write_window_update,
};
use wire::hpack::Indexing;

use super::Run;
use crate::failure::ExchangeFailure;
use crate::h2::{Stream, StreamOrder};
use crate::id::ExchangeId;
use crate::limits::{CONNECTION_WINDOW_BYTES, CONTINUE_TIME, DATA_BYTES};
use crate::outgoing::NextFrame;

/// The next step with a stream that could send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Served {
    /// It has nothing now, or its window has no room, whose opening is told.
    Done,
    /// It has more.
    More,
    /// The window of the connection has no room.
    Blocked,
}

impl Run<'_> {
    /// Does what exchanges have ordered. That may make room for those in line.
    pub(super) fn obey(&mut self) {
        loop {
            let orders = self.client.orders.take(self.outbound.id);
            if orders.is_empty() {
                return;
            }
            for order in orders {
                match order {
                    StreamOrder::Begin(id) => self.begin(id),
                    StreamOrder::Send(stream) => self.link.queue_stream(stream),
                    StreamOrder::Open { stream, increment } => {
                        if self.link.streams.get(stream).is_some() {
                            write_window_update(stream, increment, self.out);
                        }
                    }
                    StreamOrder::End(stream) => self.give_up(stream),
                }
            }
        }
    }

    /// Begins the stream of an exchange, unless that has ended meanwhile.
    fn begin(&mut self, id: ExchangeId) {
        let number = self.link.streams.next_number().filter(|_| !self.link.is_leaving());
        let Self { client, outbound, link, out, .. } = self;
        let Some(exchange) = client.exchanges.running(id) else { return self.leave() };
        let Some(number) = number else {
            (exchange.connection, exchange.stream) = (None, None);
            self.retire();
            self.client.find(id, self.link.now_ns);
            return;
        };
        let text = RequestText::read(exchange.outgoing.take_head());
        if text.check_authority().is_err() {
            (exchange.connection, exchange.stream) = (None, None);
            self.client.fail(id, ExchangeFailure::Field);
            return self.leave();
        }
        let begin = begin_headers(out);
        link.encoder.begin_block(out);
        text.visit(outbound.to.scheme(), |name, value| {
            link.encoder.encode_bytes(name, value, indexing_of(name), out);
        });
        if let Some(names) = exchange.outgoing.declared() {
            link.encoder.encode("trailer", names, Indexing::Add, out);
        }
        // This side takes trailers (RFC 9110, 10.1.4).
        link.encoder.encode("te", b"trailers", Indexing::Add, out);
        let is_over = exchange.outgoing.is_over();
        let after = if is_over { AfterFrame::Nothing } else { AfterFrame::More };
        end_headers(begin, number, after, link.peer.frame_bytes(), out);
        if link.streams.is_empty() {
            link.heard_ns = link.now_ns;
        }
        client.counted.http2_requests += 1;
        exchange.begin_stream(outbound.id, number, link.now_ns);
        exchange.note_sent(link.now_ns);
        let consent_due_ns = if exchange.outgoing.awaits_consent() {
            link.now_ns.saturating_add(nanoseconds(CONTINUE_TIME))
        } else {
            u64::MAX
        };
        let output = OutputWindow::of(link.peer.window_bytes());
        let is_queued = false;
        link.streams.add(Stream { number, exchange: id, output, is_queued, consent_due_ns });
        link.queue_stream(number);
        client.schedule(id);
    }

    /// The body of a stream waits no longer for the server's consent.
    pub(super) fn consented(&mut self, number: u32) {
        if let Some(stream) = self.link.streams.get(number) {
            stream.consent_due_ns = u64::MAX;
        }
        self.link.queue_stream(number);
    }

    /// Sends what streams have, one frame of each in turn.
    pub(super) fn send(&mut self) {
        let mut blocked = Vec::new();
        while let Some(number) = self.link.queue.pop_front() {
            let room = self.room_end.saturating_sub(self.out.len());
            if room <= FRAME_HEAD_BYTES {
                self.link.queue.push_front(number);
                break;
            }
            match self.serve(number, room - FRAME_HEAD_BYTES) {
                Served::More => self.link.queue.push_back(number),
                Served::Blocked => blocked.push(number),
                Served::Done => {
                    if let Some(stream) = self.link.streams.get(number) {
                        stream.is_queued = false;
                    }
                }
            }
        }
        if let Some(increment) = self.link.input.take_due(CONNECTION_WINDOW_BYTES) {
            write_window_update(0, increment, self.out);
        }
        if !self.link.queue.is_empty() && self.out.len() > self.begun_at {
            // If the socket takes this at once, nothing else will say so.
            self.again();
        }
        self.link.queue.extend(blocked);
    }

    /// Sends a frame of the body of a stream.
    fn serve(&mut self, number: u32, room: usize) -> Served {
        let Self { client, link, out, .. } = self;
        let Some(stream) = link.streams.get(number) else { return Served::Done };
        let id = stream.exchange;
        let Some(exchange) = client.exchanges.running(id) else { return Served::Done };
        let (own, shared) = (stream.output.room(), link.output.room());
        let most = own.min(shared).min(room).min(DATA_BYTES).min(link.peer.frame_bytes() as usize);
        match exchange.outgoing.next_frame(most) {
            NextFrame::Nothing => {
                let is_blocked = exchange.outgoing.has_more() && own > 0 && shared == 0;
                return if is_blocked { Served::Blocked } else { Served::Done };
            }
            NextFrame::Content(piece, after) => {
                let bytes = piece.len();
                write_data_head(number, bytes as u32, after, out);
                out.extend_from_slice(piece);
                exchange.outgoing.pass_on(bytes);
                stream.output.spend(bytes);
                link.output.spend(bytes);
                link.budget.on_body(bytes);
            }
            NextFrame::End(None) => write_data_head(number, 0, AfterFrame::Nothing, out),
            NextFrame::End(Some(trailers)) => {
                let begin = begin_headers(out);
                link.encoder.begin_block(out);
                for (name, value) in trailers.fields().iter() {
                    let name = name.to_ascii_lowercase();
                    link.encoder.encode(&name, value, Indexing::Skip, out);
                }
                end_headers(begin, number, AfterFrame::Nothing, link.peer.frame_bytes(), out);
            }
        }
        exchange.note_progress(link.now_ns);
        exchange.note_sent(link.now_ns);
        let has_more = exchange.outgoing.has_more();
        let has_room = exchange.outgoing.has_room();
        client.schedule(id);
        if has_room {
            client.tell(id);
        }
        if has_more { Served::More } else { Served::Done }
    }
}

/// Whether the server may keep a field. Exchanges of several requesters share its table, so a secret must not be
/// guessed from sizes (RFC 7541, 7.1.3).
fn indexing_of(name: &[u8]) -> Indexing {
    match name {
        b"authorization" | b"proxy-authorization" | b"cookie" => Indexing::Never,
        b":path" | b"content-length" => Indexing::Skip,
        _ => Indexing::Add,
    }
}
