//! Bytes of an exchange through its connection, and what the end of an answer or of a connection means.
//!
//! Owns that a connection is read no faster than its requester takes, and when it is used again. Never chooses a
//! connection.

use runtime::clock::milliseconds;
use runtime::service::{Context, Next, Progress, SchedulerCommand};

use crate::client::Client;
use crate::failure::ExchangeFailure;
use crate::id::ExchangeId;
use crate::incoming::{Cut, Extent};
use crate::limits::{CONTINUE_TIME, IDLE_TIME, OUTPUT_BYTES};
use crate::outbound::{End, Outbound, Past, Purpose};
use crate::pool::Kept;

/// Whether bytes followed an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    Nothing,
    Bytes,
}

impl Client {
    /// A connection begins with an exchange.
    pub(crate) fn begin_talking<M>(
        &mut self,
        outbound: &mut Outbound,
        context: &mut Context<'_, M>,
    ) -> Next {
        context.clear_deadline();
        let Some(id) = outbound.exchange else { return Next::Read };
        let Some(exchange) = self.exchanges.running(id) else { return Next::Abort };
        exchange.begin_talking(context.now.monotonic_ns);
        if exchange.outgoing.awaits_consent() {
            context.set_deadline_after_ms(milliseconds(CONTINUE_TIME));
        }
        self.send_more(outbound, context)
    }

    /// The other server has not consented to a body in time: it is sent (RFC 9110, 10.1.1).
    pub(crate) fn send_unasked<M>(
        &mut self,
        outbound: &mut Outbound,
        context: &mut Context<'_, M>,
    ) -> Next {
        let exchange = outbound.exchange.and_then(|id| self.exchanges.running(id));
        if let Some(exchange) = exchange {
            exchange.outgoing.open_gate();
        }
        self.send_more(outbound, context)
    }

    /// Sends as much of a request as the output of its connection has room for.
    pub(crate) fn send_more<M>(
        &mut self,
        outbound: &mut Outbound,
        context: &mut Context<'_, M>,
    ) -> Next {
        let Some(id) = outbound.exchange else { return Next::Read };
        let Some(exchange) = self.exchanges.running(id) else { return Next::Abort };
        let mut written = 0;
        while let Some(room) = OUTPUT_BYTES.checked_sub(context.queued_bytes()) {
            let more = exchange.outgoing.write(room, context.output.buffer());
            written += more;
            if more == 0 {
                break;
            }
        }
        if outbound.past == Past::Fresh {
            // It is never sent again: only a connection that has served an exchange may be closed by its server before
            // the server reads the next request (`ended`).
            exchange.outgoing.forget();
        }
        exchange.note_sent(context.now.monotonic_ns);
        let has_room = exchange.outgoing.has_room();
        let is_raw_end = exchange.outgoing.is_raw() && exchange.outgoing.is_over();
        if written > 0 {
            exchange.note_progress(context.now.monotonic_ns);
            if exchange.outgoing.has_more() {
                // If the socket takes this at once, nothing else will say so.
                self.commands.push(SchedulerCommand::Run(outbound.id));
            }
        }
        self.schedule(id);
        if has_room {
            self.tell(id);
        }
        if is_raw_end {
            outbound.exchange = None;
            self.complete(id);
            return Next::Finish;
        }
        self.appetite(id)
    }

    /// Whether to read the connection of an exchange: not while enough of its answer is waiting.
    pub(crate) fn appetite(&mut self, id: ExchangeId) -> Next {
        let is_read = self.exchanges.get_mut(id).is_none_or(|exchange| exchange.stop_if_full());
        if is_read { Next::Read } else { Next::Park }
    }

    /// Input of an answer has arrived.
    pub(crate) fn take_input<M>(
        &mut self,
        id: ExchangeId,
        outbound: &mut Outbound,
        input: &[u8],
        context: &mut Context<'_, M>,
    ) -> Progress {
        let aborted = Progress { consumed: input.len(), next: Next::Abort };
        let Some(exchange) = self.exchanges.running(id) else { return aborted };
        let taken = match exchange.incoming.take(input) {
            Ok(taken) => taken,
            Err(failure) => {
                outbound.exchange = None;
                self.fail(id, failure);
                return aborted;
            }
        };
        exchange.note_progress(context.now.monotonic_ns);
        if exchange.incoming.take_consent() {
            exchange.outgoing.open_gate();
        }
        if exchange.incoming.has_changed_protocol() && !exchange.outgoing.is_raw() {
            exchange.outgoing.change_protocol();
        } else if exchange.incoming.has_head() {
            exchange.outgoing.answered();
        }
        self.tell(id);
        match taken.extent {
            Extent::Partial => {
                let next = self.send_more(outbound, context);
                Progress { consumed: taken.consumed, next }
            }
            Extent::Whole => {
                let is_last = taken.consumed == input.len();
                let after = if is_last { After::Nothing } else { After::Bytes };
                let next = self.settle(id, outbound, after, context);
                Progress { consumed: input.len(), next }
            }
        }
    }

    /// An answer is complete: keeps its connection if it can be used again.
    fn settle<M>(
        &mut self,
        id: ExchangeId,
        outbound: &mut Outbound,
        after: After,
        context: &mut Context<'_, M>,
    ) -> Next {
        outbound.exchange = None;
        outbound.past = Past::Used;
        let Some(exchange) = self.exchanges.running(id) else { return Next::Abort };
        let is_sent = exchange.outgoing.is_over();
        // Bytes after an answer were not requested: the next answer on this connection could not be trusted.
        let is_clean = after == After::Nothing && exchange.incoming.is_persistent();
        self.complete(id);
        if !is_sent {
            return Next::Abort;
        }
        let is_shared = outbound.purpose == Purpose::Shared;
        let is_usable = is_clean && is_shared && !context.is_draining();
        if is_usable && self.pool.put(&outbound.to, outbound.address, outbound.id) == Kept::Yes {
            context.set_deadline_after_ms(milliseconds(IDLE_TIME));
            self.serve_line(&outbound.to);
            return Next::Read;
        }
        Next::Finish
    }

    /// A connection has ended, which may be the end of its answer.
    pub(crate) fn ended(&mut self, id: ExchangeId, outbound: &Outbound, end: End) {
        let Some(exchange) = self.exchanges.running(id) else { return };
        match (end, exchange.incoming.close()) {
            (End::Orderly, Ok(())) => self.complete(id),
            // The other side closed the connection while it was idle, before it saw the request: RFC 9112, 9.3.1.
            (_, Err(Cut::BeforeFirstByte))
                if outbound.past == Past::Used && exchange.may_repeat() =>
            {
                exchange.rewind();
                self.connect(id);
            }
            (End::Refused(why), _) => self.fail(id, ExchangeFailure::Tls(why)),
            _ => self.fail(id, ExchangeFailure::Closed),
        }
    }
}
