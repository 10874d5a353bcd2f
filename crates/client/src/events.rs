//! The meaning of an event of an outgoing connection for its exchange.
//!
//! Owns this choice. Never changes an exchange itself: the client does.

use runtime::service::{CloseReason, Context, Event, Next, Progress};

use crate::client::Client;
use crate::failure::{Deadline, ExchangeFailure};
use crate::outbound::{End, Outbound, Past, Purpose};
use crate::pool::Promise;

impl Outbound {
    /// Input has arrived.
    pub fn on_input<M>(
        &mut self,
        client: &mut Client,
        input: &[u8],
        context: &mut Context<'_, M>,
    ) -> Progress {
        if self.h2.is_some() {
            return client.take_frames(self, input, context);
        }
        let Some(id) = self.exchange else {
            // Input without a request: the next answer on this connection could not be trusted.
            client.forget_idle(self);
            return Progress { consumed: input.len(), next: Next::Abort };
        };
        client.take_input(id, self, input, context)
    }

    /// Another event.
    pub fn on_event<M>(
        &mut self,
        client: &mut Client,
        event: Event,
        context: &mut Context<'_, M>,
    ) -> Next {
        if self.h2.is_some() {
            return client.on_shared_event(self, event, context);
        }
        match event {
            // The handshake comes first.
            Event::Connected if self.to.connector.is_some() => Next::Read,
            Event::Connected => {
                self.past = Past::Fresh;
                if self.promise == Promise::Shared {
                    return client.begin_shared(self, context);
                }
                if let Purpose::Private(lead) = &self.purpose {
                    context.output.buffer().extend_from_slice(lead);
                }
                client.begin_talking(self, context)
            }
            Event::ConnectFailed(kind) => {
                client.break_promise(self);
                if let Some(id) = self.exchange.take() {
                    let failure = ExchangeFailure::of_connecting(kind);
                    client.connect_failed(id, failure, context.now.monotonic_ns);
                }
                Next::Abort
            }
            // The service runs it for a reason of its own, or a part of the handshake was sent.
            Event::Resumed | Event::OutputDrained if self.past == Past::Connecting => Next::Read,
            Event::Resumed if self.exchange.is_none() => {
                self.exchange = client.assigned_to(self.id);
                client.begin_talking(self, context)
            }
            Event::Resumed | Event::OutputDrained => client.send_more(self, context),
            Event::InputEnded => {
                client.forget_idle(self);
                if let Some(id) = self.exchange.take() {
                    client.ended(id, self, End::Orderly);
                }
                Next::Finish
            }
            Event::DeadlineReached | Event::Draining if self.exchange.is_none() => {
                client.forget_idle(self);
                Next::Finish
            }
            // The time for this address is over.
            Event::DeadlineReached if self.past == Past::Connecting => {
                client.break_promise(self);
                if let Some(id) = self.exchange.take() {
                    let failure = ExchangeFailure::Timeout(Deadline::Connect);
                    client.connect_failed(id, failure, context.now.monotonic_ns);
                }
                Next::Abort
            }
            // The time for the other server's consent to a body is over.
            Event::DeadlineReached => client.send_unasked(self, context),
            Event::Draining | Event::PeerFinished => {
                self.exchange.map_or(Next::Read, |id| client.appetite(id))
            }
            // Only accepted connections get this.
            Event::Overloaded => Next::Abort,
        }
    }

    /// The connection has ended.
    pub fn on_close(mut self, client: &mut Client, reason: CloseReason) {
        client.forget_idle(&self);
        if self.h2.is_some() {
            client.close_shared(self, reason);
            return;
        }
        let exchange = self.exchange.take().or_else(|| client.assigned_to(self.id));
        // Before its exchange begins again: it may need the place.
        client.release(&self.to, self.promise);
        let Some(id) = exchange else { return };
        match reason {
            CloseReason::Stopped => client.fail(id, ExchangeFailure::Stopping),
            CloseReason::InboxFull => client.fail(id, ExchangeFailure::HeadTooLong),
            _ => client.ended(id, &self, End::Broken),
        }
    }
}
